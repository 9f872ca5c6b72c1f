"""The result of a diagnosis: findings, most important first, and everything that could not be judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse import clock
from esxparse.diagnosis.blind import Group, groups
from esxparse.diagnosis.finding import Finding, as_table
from esxparse.diagnosis.series import Series
from esxparse.recording import as_html, as_markdown, counted, printable
from esxparse.schema import schema

if TYPE_CHECKING:
    import altair as alt

SEVERITIES: Final = ("critical", "warning", "info")
VERSION: Final = 1
"""Version of the JSON; docs/diagnosis.schema.json describes it."""
_FEW_SAMPLES: Final = 12
"""A minute of esxtop's usual 5 s: rules ask for 3 samples in a row, and bursts may come once in some minutes."""


@dataclass(frozen=True, repr=False)
class Findings(Sequence[Finding]):
    """The findings of one capture, or of the runs of a study.

    `findings`: most important first. `not_judged`: everything that was skipped: `what` (case, rule or experiment),
    `id`, `title`, `reason`, and for a capture the reason's parts: `why`, and `of`, the missing counters or kinds of
    objects, one a line. `symptoms`: violations of rules, whether a finding explains them or not.
    """

    findings: tuple[Finding, ...]
    not_judged: tuple[dict[str, str], ...] = ()
    symptoms: tuple[dict[str, Any], ...] = ()
    source: str = ""
    profile: str = "standard"
    judged: int = 0
    """Number of rules and cases that were judged."""
    of: int = field(default=0)
    series: Series | None = field(default=None, compare=False)
    """The series of the capture, for charts; None for a study."""
    times: Sequence[datetime] = field(default=(), compare=False)
    """The time of each sample."""

    def __getitem__(self, place: Any) -> Any:
        return self.findings[place]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        worst = [one for one in self.findings if one.severity != "info"]
        unseen = f" ({self.judged} of {self.of} judged)" if self.of else ""
        if worst:
            return worst[0].verdict
        return f"Nothing found by the checks that were possible{unseen}."

    @property
    def caution(self) -> str:
        """A warning to read before the verdict if the recording is short; otherwise, or for a study, empty."""
        if not 0 < len(self.times) < _FEW_SAMPLES:
            return ""
        span = clock.spoken_span((self.times[-1] - self.times[0]).total_seconds())
        return f"Only {counted(len(self.times), 'sample')} in {span}: troubles that come and go may be missing."

    @property
    def summary(self) -> str:
        """The caution and the verdict."""
        return " ".join(filter(None, (self.caution, self.verdict)))

    def charts(self, place: int = 0, most: int = 1) -> list[alt.LayerChart]:
        """Chart the series of a finding over time, its object in colour and its spell shaded; empty without a series.

        `place`: which finding, from 0. `most`: how many series; the one that bounds the spell comes first.
        """
        from esxparse.charts.findings import spell  # noqa: PLC0415  altair takes more than a second
        from esxparse.diagnosis.evidence import of  # noqa: PLC0415

        if self.series is None or not self.findings:
            return []
        seen = of(self.findings[place], self.series, self.times, self.profile, most)
        return [chart for one in seen if (chart := spell(one)) is not None]

    def chart(self, place: int = 0) -> alt.LayerChart | None:
        """Return the first of `charts`."""
        return next(iter(self.charts(place)), None)

    def unseen(self) -> list[Group]:
        """Return everything that was not judged, a group for each reason."""
        return groups(self.not_judged)

    def frame(self) -> pl.DataFrame:
        """Return one row per finding: the fields of a finding, its entity as kind and name, lists as text."""
        columns = schema(
            "id trouble severity str, confidence f64, kind name str, start end time, verdict evidence against next str"
        )
        rows = [
            {
                **vars(one),
                **one.entity,
                "id": one.id,
                "evidence": "; ".join(one.evidence),
                "against": "; ".join(one.against),
            }
            for one in self.findings
        ]
        return pl.DataFrame([{name: row[name] for name in columns} for row in rows], schema=columns)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as in the JSON."""
        return {
            "version": VERSION,
            "source": self.source,
            "profile": self.profile,
            "verdict": self.summary,
            "judged": self.judged,
            "of": self.of,
            "findings": [one.as_dict() for one in self.findings],
            "symptoms": list(self.symptoms),
            "not_judged": list(self.not_judged),
        }

    def json(self) -> str:
        """Return everything as JSON; the schema is docs/diagnosis.schema.json."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    def markdown(self) -> str:
        """Return everything as Markdown."""
        lines = [f"# {as_markdown(self.source)}", "", as_markdown(self.summary), ""]
        for one in self.findings:
            lines += [
                f"## {one.severity}: {as_markdown(one.heading)}",
                "",
                f"{as_markdown(one.verdict)} {one.when}{_sure(one)}.",
                "",
                *(f"- for: {as_markdown(text)}" for text in one.evidence),
                *(f"- against: {as_markdown(text)}" for text in one.against),
                *(f"- unknown: {as_markdown(text)}" for text in one.missing),
                f"- next: {as_markdown(one.next)}",
                "",
            ]
        if self.not_judged:
            lines += [
                "## Not judged",
                "",
                *(f"- {as_markdown(one.reason)}. Not judged: {as_markdown(one.items)}" for one in self.unseen()),
                "",
            ]
        return "\n".join(lines)

    def text(self) -> str:
        """Return everything as text for a terminal."""
        lines = [printable(self.summary)]
        for one in self.findings:
            lines += [
                "",
                f"{one.severity.upper()}: {printable(one.heading)}, {one.when}{_sure(one)}",
                f"  {printable(one.verdict)}",
                *(f"    + {printable(text)}" for text in one.evidence),
                *(f"    - {printable(text)}" for text in one.against),
                *(f"    ? {printable(text)}" for text in one.missing),
                f"    next: {printable(one.next)}",
            ]
        if self.not_judged:
            lines += ["", f"Not judged ({len(self.not_judged)} of {self.of}):"]
            for group in self.unseen():
                lines += [f"  {printable(group.reason)}", f"    {printable(group.items)}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        unseen = "".join(f"<li>{as_html(one.reason)}<br>{as_html(one.items)}</li>" for one in self.unseen())
        more = f"<details><summary>Not judged: {len(self.not_judged)}</summary><ul>{unseen}</ul></details>"
        return f"<p><b>{as_html(self.summary)}</b></p>{as_table(self.findings)}{more if unseen else ''}"


def _sure(one: Finding) -> str:
    return f", {one.likelihood}" if one.likelihood else ""
