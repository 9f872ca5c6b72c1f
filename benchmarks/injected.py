"""Scores the diagnosis on real captures into whose cells troubles are edited.

    python benchmarks/injected.py --output benchmarks/SCORE.md      every situation, into a part of its own
    python benchmarks/injected.py --only queue-full --keep DIR      some of them, with the captures

`injecting` makes the captures and knows nothing of esxparse; `accepted.toml` alone knows which findings are right.
Every situation is judged in three strengths with all counters, and medium and strong with about half of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import sections
from injecting.capture import Capture, Writer, read_capture
from injecting.fields import drop, drop_half
from injecting.host import Host, known_paths
from injecting.situations import STRENGTHS, Roles, Situation, draw_roles, draw_window, inject, read_situations, settle
from injecting.stretch import stretched
from injecting.wide import widened

import esxparse as ex

SCORE = Path(__file__).parent / "SCORE.md"
HEADING = "Troubles edited into a real capture"
_ACCEPTED = Path(__file__).parent / "accepted.toml"
_NOISES = 2
"""How many differently stretched captures there are of each host."""
_SURE, _CLOSE = 0.8, 2
_INVENTED = ("storage.vsan*",)
"""Never right: the recording has no vSAN."""
_STANDING = {"recorded": ("memory.balloon",), "wide": ()}
"""What the recording shows throughout by itself: five of its eight GB are in balloons."""
_PLACEHOLDER = re.compile(r"(?<![\w?])\?(?![\w?])|\b(?:None|nan|NaN|COALESCE|SELECT)\b")


@dataclass(frozen=True)
class Told:
    """A finding, with its times as numbers of samples."""

    trouble: str
    kind: str
    name: str
    severity: str
    confidence: float
    start: float
    end: float
    verdict: str
    placeholder: bool


@dataclass(frozen=True)
class Judged:
    """A situation in one strength and with some fields: what was edited, and what was found."""

    id: str
    family: str
    strength: str
    fields: str
    harmless: bool
    standing: bool
    host: str
    objects: list[tuple[str, str]]
    window: tuple[int, int]
    found: list[Told]

    @property
    def name(self) -> str:
        """Of its capture."""
        return f"{self.id}-{self.strength}-{self.fields}"

    @property
    def told(self) -> list[Told]:
        """Findings that are more than information."""
        return [one for one in self.found if one.severity != "info"]

    @property
    def first(self) -> Told | None:
        """What is reported first: a warning, or information if there is none."""
        return next(iter(self.told or self.found), None)


class Key:
    """Which findings are right for a situation."""

    def __init__(self, path: Path = _ACCEPTED) -> None:
        self._accepted: dict[str, dict[str, list[str]]] = tomllib.loads(path.read_text(encoding="utf-8"))

    def _matches(self, one: Judged, part: str, trouble: str) -> bool:
        return any(fnmatchcase(trouble, pattern) for pattern in self._accepted.get(one.id, {}).get(part, []))

    def names(self, one: Judged, finding: Told | None) -> bool:
        """Whether a finding has a right trouble."""
        return finding is not None and self._matches(one, "right", finding.trouble)

    def right(self, one: Judged, finding: Told | None) -> bool:
        """Whether a finding has a right trouble on a right object."""
        return finding is not None and self.names(one, finding) and on_object(one, finding)

    def wrong(self, one: Judged, finding: Told) -> bool:
        """Whether a finding is neither right, nor true as well, nor true of the recording by itself."""
        true = self._matches(one, "also", finding.trouble)
        own = finding.trouble in _STANDING[one.host] and finding.severity != "critical"
        return not (self.right(one, finding) or true or own)

    def forbidden(self, one: Judged, finding: Told) -> bool:
        """Whether a finding may not be told at any severity."""
        invented = any(fnmatchcase(finding.trouble, pattern) for pattern in _INVENTED)
        return invented or self._matches(one, "never", finding.trouble)


def on_object(one: Judged, finding: Told) -> bool:
    """Whether a finding is about an object that was edited; a port may be named by its last part."""
    return any(
        finding.kind == kind and (name in {finding.name, "*"} or name.endswith(f":{finding.name}"))
        for kind, name in one.objects
    )


def recordings(real: Path) -> dict[str, Capture]:
    """The hosts to edit: the recording itself, and the larger one made of it."""
    recorded = read_capture(real)
    recorded.paths = known_paths(recorded)
    return {"recorded": recorded, "wide": widened(recorded)}


class Bench:
    """Makes captures with a situation, and judges them."""

    def __init__(self, real: Path, seed: int = 1) -> None:
        self._recorded = recordings(real)
        self._bases: dict[tuple[str, int], Capture] = {}
        self._writer = Writer()
        self._seed = seed

    def _base(self, host: str, noise: int) -> Capture:
        if (host, noise) not in self._bases:
            made = Host(stretched(self._recorded[host], self._seed + noise))
            settle(made, everything=True)
            self._bases[host, noise] = made.capture
        return self._bases[host, noise]

    def make(
        self, situation: Situation, strength: str, fields: str, path: Path
    ) -> tuple[Roles, tuple[int, int], Capture]:
        """Write the capture of a situation; returns its objects, its first and last sample and its cells."""
        seed = self._seed + 10 * STRENGTHS.index(strength)
        base = self._base(situation.host, seed % _NOISES)
        host = Host(base.copy(), seed)
        roles, window = draw_roles(host, situation, seed), draw_window(host, situation, seed)
        inject(host, situation, strength, roles, window)
        drop(host.capture, situation.drops)
        if fields == "half":
            drop_half(host.capture, situation, seed)
        self._writer.write(host.capture, path)
        return roles, window, host.capture

    def judge(self, situation: Situation, strength: str, fields: str, path: Path) -> Judged:
        """Write the capture of a situation and diagnose it."""
        roles, window, capture = self.make(situation, strength, fields, path)
        times = [one.replace(tzinfo=UTC) for one in capture.times]
        step = (times[1] - times[0]).total_seconds()
        found = []
        for one in ex.diagnose(ex.open(path)):
            start, end = ((at - times[0]).total_seconds() / step if at else 0.0 for at in (one.start, one.end))
            words = " ".join([one.verdict, one.next, *one.evidence, *one.against])
            kind, name = one.entity["kind"], one.entity["name"]
            vague = bool(_PLACEHOLDER.search(words))
            confidence = round(one.confidence, 3)
            found.append(Told(one.trouble, kind, name, one.severity, confidence, start, end, one.verdict, vague))
        objects = sorted(roles.names(situation.where))
        return Judged(
            situation.id,
            situation.family,
            strength,
            fields,
            situation.harmless,
            situation.standing,
            situation.host,
            objects,
            window,
            found,
        )


def judge_all(real: Path, only: Sequence[str], keep: Path, seed: int, *, keep_all: bool) -> Iterator[Judged]:
    """Every situation in every strength, with all counters and with half of them."""
    bench = Bench(real, seed)
    for situation in read_situations():
        if only and not any(fnmatchcase(situation.id, pattern) for pattern in only):
            continue
        for strength in STRENGTHS:
            for fields in ("all", "half") if strength != "weak" else ("all",):
                path = keep / f"{situation.id}-{strength}-{fields}.csv"
                yield bench.judge(situation, strength, fields, path)
                if not keep_all:
                    path.unlink()


def share(part: int, of: int) -> str:
    """A share in percent, with its numbers."""
    return f"{100 * part / of:.0f} % ({part} of {of})" if of else "none"


def score_table(judged: Sequence[Judged], key: Key) -> list[str]:
    """How often the right trouble is first and among the findings, and start and end are close, as Markdown."""
    lines = ["| | first, on the object | among findings | start | end |", "|---|---|---|---|---|"]
    groups = [
        (f"{fields} counters, {strength}", [strength], fields)
        for fields in ("all", "half")
        for strength in STRENGTHS
        if (fields, strength) != ("half", "weak")
    ]
    groups += [
        (f"**{fields} counters, medium and strong**", ["medium", "strong"], fields) for fields in ("all", "half")
    ]
    for title, strengths, fields in groups:
        mine = [one for one in judged if not one.harmless and one.strength in strengths and one.fields == fields]
        first = [one for one in mine if key.right(one, one.first)]
        among = [one for one in mine if any(key.right(one, finding) for finding in one.found)]
        timed = [one for one in first if not one.standing]
        starts, ends = (
            sum(abs(getattr(one.first, name) - one.window[place]) <= _CLOSE for one in timed)
            for place, name in enumerate(("start", "end"))
        )
        cells = [
            share(len(first), len(mine)),
            share(len(among), len(mine)),
            share(starts, len(timed)),
            share(ends, len(timed)),
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def alarm_table(judged: Sequence[Judged], key: Key) -> list[str]:
    """Harmless situations with a warning, sure and wrong verdicts, forbidden findings and placeholders, as Markdown."""
    lines = ["| | all counters | half of the counters |", "|---|---|---|"]
    rows: dict[str, list[str]] = {}
    for fields in ("all", "half"):
        mine = [one for one in judged if one.fields == fields]
        calm = [one for one in mine if one.harmless]
        sure = [(one, told) for one in mine for told in one.told if told.confidence >= _SURE]
        for title, part, of in (
            ("harmless with a warning", [one for one in calm if any(key.wrong(one, told) for told in one.told)], calm),
            (
                "harmless with a critical finding",
                [one for one in calm if any(told.severity == "critical" for told in one.told)],
                calm,
            ),
            ("verdicts of 0.8 and more that are wrong", [pair for pair in sure if key.wrong(*pair)], sure),
            (
                "captures with a forbidden finding",
                [one for one in mine if any(key.forbidden(one, told) for told in one.found)],
                mine,
            ),
            ("captures with a placeholder", [one for one in mine if any(told.placeholder for told in one.found)], mine),
        ):
            rows.setdefault(title, []).append(share(len(part), len(of)))
    return lines + [f"| {title} | {' | '.join(cells)} |" for title, cells in rows.items()]


def reliability_table(pairs: Sequence[tuple[float, bool]]) -> list[str]:
    """How often findings of a confidence are right, as Markdown."""
    lines = ["| confidence | findings | right |", "|---|---|---|"]
    for tenth in range(10):
        mine = [right for value, right in pairs if min(int(value * 10), 9) == tenth]
        lines.append(f"| {tenth / 10:.1f} to {(tenth + 1) / 10:.1f} | {len(mine)} | {share(sum(mine), len(mine))} |")
    return lines


def confusion_table(judged: Sequence[Judged], key: Key) -> list[str]:
    """Of each trouble, medium and strong: how often it came first, and what came first instead, as Markdown."""
    lines = ["| trouble | all counters | half of the counters |", "|---|---|---|"]
    for name in dict.fromkeys(one.id for one in judged if not one.harmless):
        cells = []
        for fields in ("all", "half"):
            mine = [one for one in judged if one.id == name and one.fields == fields and one.strength != "weak"]
            right = [one for one in mine if key.right(one, one.first)]
            others = Counter(_taken_for(one, key) for one in mine if one not in right)
            cells.append(
                ", ".join([f"{len(right)} of {len(mine)}", *(f"{got} {count}" for got, count in others.most_common())])
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _taken_for(one: Judged, key: Key) -> str:
    if one.first is None:
        return "nothing"
    return f"`{one.first.trouble}`" + (" on another object" if key.names(one, one.first) else "")


def harmless_table(judged: Sequence[Judged], key: Key) -> list[str]:
    """Harmless situations that were taken for a trouble, as Markdown."""
    lines = ["| harmless | strength, counters | reported |", "|---|---|---|"]
    for one in judged:
        wrong = [told for told in one.told if key.wrong(one, told)]
        if one.harmless and wrong:
            words = ", ".join(
                f"`{told.trouble}` of {told.name} ({told.severity} {told.confidence:.2f})" for told in wrong[:3]
            )
            lines.append(f"| {one.id} | {one.strength}, {one.fields} | {words} |")
    return lines


def report(judged: Sequence[Judged], key: Key, seed: int) -> list[str]:
    """The part of SCORE.md."""
    troubles = {one.id for one in judged if not one.harmless}
    calm = {one.id for one in judged if one.harmless}
    pairs = [(told.confidence, not key.wrong(one, told)) for one in judged for told in one.told]
    return [
        "Made by `make score`; `benchmarks/injected.py` says how. No simulator: a recording of ESXi 6.5, stretched,",
        f"with {len(troubles)} troubles and {len(calm)} harmless situations edited into its cells, in three strengths",
        f"with all counters, medium and strong also with half of them; {len(judged)} captures, seed {seed}.",
        "",
        *score_table(judged, key),
        "",
        *alarm_table(judged, key),
        "",
        "Warnings and critical findings by confidence:",
        "",
        *reliability_table(pairs),
        "",
        "What came first, medium and strong:",
        "",
        *confusion_table(judged, key),
        "",
        "Harmless situations with a warning:",
        "",
        *harmless_table(judged, key),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Score every situation, or those that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capture", type=Path, help="a real capture (default: that of ESXPARSE_REAL_DATA)")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="situations, by name or pattern")
    parser.add_argument("--seed", type=int, default=1, help="draws VMs, disks, times and fields")
    parser.add_argument("--keep", type=Path, help="keep all captures there")
    parser.add_argument("--log", type=Path, help="write every judgement there, a line of JSON each")
    parser.add_argument("-o", "--output", type=Path, help="write the part into this file instead")
    options = parser.parse_args(arguments)
    root = os.environ.get("ESXPARSE_REAL_DATA")
    real = options.capture or (Path(root) / "esxtop" / "esxi65_all_counters.csv" if root else None)
    if real is None or not real.exists():
        print("Not scored: no real capture (set ESXPARSE_REAL_DATA, or use --capture).", file=sys.stderr)
        return 0
    began = time.perf_counter()
    judged = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for one in judge_all(real, options.only, folder, options.seed, keep_all=options.keep is not None):
            judged.append(one)
            if options.log:
                with options.log.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(_as_dict(one)) + "\n")
    lines = report(judged, Key(), options.seed)
    if options.output:
        sections.put(HEADING, lines, options.output)
    else:
        print("\n".join(lines))
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


def _as_dict(one: Judged) -> dict[str, Any]:
    return {"name": one.name, **asdict(one)}


if __name__ == "__main__":
    raise SystemExit(main())
