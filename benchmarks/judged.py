"""What the diagnosis said of captures with edited troubles, whether it is right, and the tables of that."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from injecting.situations import STRENGTHS

ACCEPTED = Path(__file__).parent / "accepted.toml"
_SURE, _CLOSE = 0.8, 2
_INVENTED = ("storage.vsan*",)
"""Never right: the recording has no vSAN."""
_STANDING = {"recorded": ("memory.balloon",), "wide": ()}
"""What the recording shows throughout by itself: five of its eight GB are in balloons."""


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
    timed: bool
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
        """The first finding: a warning, else information."""
        return next(iter(self.told or self.found), None)


class Key:
    """Which findings are right for a situation."""

    def __init__(self, path: Path = ACCEPTED) -> None:
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
        """Whether a finding is forbidden, whatever its severity."""
        invented = any(fnmatchcase(finding.trouble, pattern) for pattern in _INVENTED)
        return invented or self._matches(one, "never", finding.trouble)


def on_object(one: Judged, finding: Told) -> bool:
    """Whether a finding is about an object that was edited; a port may be named by its last part."""
    return any(
        finding.kind == kind and (name in {finding.name, "*"} or name.endswith(f":{finding.name}"))
        for kind, name in one.objects
    )


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
        timed = [one for one in first if one.timed]
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
        "The rules were tuned on seed 1, so that other real captures will give less.",
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
