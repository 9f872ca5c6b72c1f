"""The audit: every item, for the host or for each VM, with its evidence."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from esxparse.audits.checks import CHECKS, Status, Verdict
from esxparse.audits.evidence import Evidence, Fact, Machine, gather
from esxparse.audits.items import Item, items
from esxparse.errors import EsxparseError, choose_from
from esxparse.plans.result import Section, html_of, markdown_of
from esxparse.reading import as_recording
from esxparse.recording import Recording, printable

STATUSES: Final[tuple[Status, ...]] = ("not met", "unknown", "met")
VERSION: Final = 1
"""Version of the JSON."""
_TITLE: Final = "Configuration audit"
_HOST: Final = "host"


@dataclass(frozen=True)
class Judged:
    """One item, judged for the host or a VM."""

    id: str
    area: str
    title: str
    subject: str
    """`host`, or the name of the VM."""
    status: Status
    evidence: str
    """Values with file and line, or the missing facts."""
    next: str
    """Advice; empty unless the item is not met."""
    source: str


@dataclass(frozen=True, repr=False)
class Audit(Sequence[Judged]):
    """The items of an audit, in the order of the catalogue."""

    judged: tuple[Judged, ...]

    def __getitem__(self, place: Any) -> Any:
        return self.judged[place]

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def verdict(self) -> str:
        """The counts in a sentence."""
        counts = Counter(one.status for one in self.judged)
        return f"{', '.join(f'{counts[status]} {status}' for status in STATUSES)} of {len(self)} items."

    def frame(self) -> pl.DataFrame:
        """Return one row per item, with the fields of `Judged` (str)."""
        return pl.DataFrame(
            [asdict(one) for one in self.judged], schema=dict.fromkeys(Judged.__dataclass_fields__, pl.String)
        )

    def sections(self) -> list[Section]:
        """Return the sections of every form of output: a table for each status, starting with "not met"."""
        return [Section("Verdict", ("",), [(self.verdict,)]), *filter(lambda one: one.rows, self._by_status())]

    def _by_status(self) -> Iterator[Section]:
        for status in STATUSES:
            rows = [one for one in self.judged if one.status == status]
            cells = [(one.id, one.subject, one.title, one.evidence, one.next, one.source) for one in rows]
            heads = ("item", "subject", "met if", "evidence", "next", "source")
            yield Section(status[0].upper() + status[1:], heads, cells)

    def text(self) -> str:
        """Return everything as text for a terminal, an item in a few lines."""
        lines = [f"{_TITLE}: {self.verdict}"]
        for status in STATUSES:
            for one in (row for row in self.judged if row.status == status):
                lines += ["", f"{status}: {one.title} [{one.id}, {one.subject}]", f"  evidence: {one.evidence}"]
                lines += [f"  next:     {one.next}"] if one.next else []
                lines.append(f"  source:   {one.source}")
        return "\n".join(map(printable, lines))

    def markdown(self) -> str:
        """Return everything as Markdown."""
        return markdown_of(_TITLE, self.sections())

    def json(self) -> str:
        """Return everything as JSON."""
        found = {"version": VERSION, "verdict": self.verdict, "items": [asdict(one) for one in self.judged]}
        return json.dumps(found, ensure_ascii=False, indent=2)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return html_of(_TITLE, self.sections())


def audit(files: Sequence[Recording | str | os.PathLike[str]], *, connection_servers: Sequence[str] = ()) -> Audit:
    """Judge the configuration of a host and its VMs against prerequisites and best practice.

    Args:
        files: Recordings or paths of one host: .vmx files, outputs of esxcli and vim-cmd, esxtop captures.
        connection_servers: Names of the VMs that run View Connection Server.

    Facts in no file are unknown, never met. A setting that is not in a file has its documented default.

    Raises EsxparseError: A file cannot be read, has nothing to audit, or contradicts another; or a connection server
        has no .vmx.

    >>> import esxparse as ex
    >>> found = audit([ex.datasets_dir() / "formats" / "vmx-database.vmx"])
    >>> [one.status for one in found if one.id in ("vpmc.hardware", "vpmc.enable", "vpmc.release")]
    ['unknown', 'met', 'not met']
    """
    found = gather(as_recording(file) for file in files)
    names = [machine.name for machine in found.machines]
    for name in connection_servers:
        if name not in names:
            raise EsxparseError(f"no .vmx describes the connection server {name!r}: {choose_from(name, names)}")
    return Audit(tuple(one for item in items() for one in _judge(item, found, connection_servers)))


def _judge(item: Item, found: Evidence, connection_servers: Sequence[str]) -> Iterator[Judged]:
    """Yield the item for the host, or for each VM it is about."""
    for machine in _subjects(item, found, connection_servers):
        verdict = CHECKS[item.check](found, machine) if item.check else _by_setting(item, found, machine)
        subject = machine.name if machine else _HOST if item.subject == _HOST else "any VM"
        todo = item.next if verdict.status == "not met" else ""
        yield Judged(item.id, item.area, item.title, subject, verdict.status, verdict.evidence, todo, item.source)


def _subjects(item: Item, found: Evidence, connection_servers: Sequence[str]) -> list[Machine | None]:
    """Return the VMs that an item is about; None for the host, and for VMs if no .vmx is given."""
    if item.subject == _HOST:
        return [None]
    if item.subject == "vm":
        return [*found.machines] or [None]
    return [machine for machine in found.machines if machine.name in connection_servers]


def _by_setting(item: Item, found: Evidence, machine: Machine | None) -> Verdict:
    """Judge an item that a setting decides; if there are several settings (adapters), all have to meet it."""
    if item.subject == _HOST:
        facts = found.settings.get(item.setting.lower(), [])
        if not facts:
            return Verdict("unknown", f"{item.setting} is in no file")
    elif machine is None:
        return Verdict("unknown", "no .vmx is given")
    else:
        fact = machine.settings.get(item.setting.lower())
        if fact is None and (item.default is None or not machine.whole):
            return Verdict("unknown", f"{item.setting} is not in what was read of {machine.source}")
        facts = [fact or Fact(item.default or "", f"{item.setting} is not set, default", machine.source)]
    failing = [fact for fact in facts if not _meets(item, fact.value)]
    return Verdict("not met" if failing else "met", "; ".join(map(str, failing or facts)))


def _meets(item: Item, value: str) -> bool:
    if item.least is not None:
        return value.strip().isdecimal() and int(value) >= item.least
    return value.strip().lower() in item.allowed
