"""One trouble that a diagnosis reports."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from esxparse import clock
from esxparse.diagnosis import confidence
from esxparse.recording import as_html
from esxparse.sortable import table

NOUNS: Final = {
    "vm": "VM",
    "nfs": "NFS volume",
    "pcpu": "PCPU",
    "node": "NUMA node",
    "vsan": "vSAN datastore",
}
"""Usual names of kinds of objects; other kinds keep their own names."""
_COLOURS: Final = {"critical": "#b3261e", "warning": "#9a6700", "info": "#57606a"}
_SHOWN: Final = 3
"""Most lines of evidence in a table."""


@dataclass(frozen=True)
class Finding:
    """One trouble of one object, for one time."""

    trouble: str
    severity: str
    confidence: float
    entity: dict[str, str]
    """`kind` and `name`."""
    start: datetime | None
    """None if the runs of a study have no times."""
    end: datetime | None
    verdict: str
    evidence: tuple[str, ...]
    against: tuple[str, ...]
    missing: tuple[str, ...]
    next: str
    source: str
    also: tuple[dict[str, str], ...] = ()
    """Symptoms and other objects listed under it: `trouble`, `kind`, `name`."""
    recording: str = ""
    title: str = ""
    """The trouble in words, from its case: for people; `trouble` is for programs."""
    vms: tuple[str, ...] = ()
    """VMs that it is about, or that its verdict has as a cause."""

    @property
    def id(self) -> str:
        """An id that is the same for the same trouble, object and time of the same capture."""
        parts = (self.recording, self.trouble, *self.entity.values(), stamp(self.start) or "")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @property
    def subject(self) -> str:
        """The object in words: "VM web-01", "host"."""
        kind, name = self.entity["kind"], self.entity["name"]
        return name if kind == name else f"{NOUNS.get(kind, kind)} {name}"

    @property
    def when(self) -> str:
        """Its spell in words."""
        if self.start is None or self.end is None:
            return "at an unknown time"
        return f"{clock.spell(self.start, self.end)} UTC"

    def _repr_html_(self) -> str:
        return as_table([self])

    @property
    def heading(self) -> str:
        """The trouble and its object in words; the object is left out if it is the host."""
        return self.title if self.entity["kind"] == "host" else f"{self.title} ({self.subject})"

    @property
    def likelihood(self) -> str:
        """The confidence in a word: likely, possible, weak or unlikely; empty for a cause that a study leaves open."""
        return confidence.word(self.confidence)

    @property
    def basis(self) -> str:
        """The confidence as a number with its calibration, in a sentence or two for tooltips."""
        return confidence.basis(self.confidence, of_study=self.entity["kind"] == "runs")

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as in the JSON."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        fields |= {"confidence": round(self.confidence, 3), "start": stamp(self.start), "end": stamp(self.end)}
        del fields["recording"], fields["vms"]
        return {"id": self.id, **fields}


def stamp(time: datetime | None) -> str | None:
    """Return a time as in the JSON."""
    return None if time is None else time.isoformat()


def as_table(findings: Iterable[Finding]) -> str:
    """Return findings as a table in HTML; empty without any."""
    rows = [
        (
            f'<b style="color:{_COLOURS[one.severity]}">{one.severity}</b>',
            f"{as_html(one.title)}<br>{as_html(one.subject)}<br>{one.when}",
            "<br>".join(
                (
                    as_html(one.verdict),
                    *_lines("for", one.evidence),
                    *_lines("against", one.against),
                    f"<i>{as_html(one.next)}</i>",
                )
            ),
            f'<span title="{as_html(one.basis)}">{one.likelihood}</span>',
        )
        for one in findings
    ]
    return table(("severity", "what", "why", "confidence"), rows) if rows else ""


def _lines(word: str, texts: tuple[str, ...]) -> list[str]:
    return [f"{word}: {as_html(text)}" for text in texts[:_SHOWN]]
