"""Results of a check: pass, warn or fail for each expectation, with the entity, time and value at fault."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from esxparse.recording import printable
from esxparse.sortable import table

if TYPE_CHECKING:
    import polars as pl

STATUSES: Final = ("fail", "warn", "pass", "not judged")
_COLOURS: Final = {"fail": "#b3261e", "warn": "#9a6700", "pass": "#1a7f37", "not judged": "#57606a"}
_MOST_FAULTS: Final = 40
_HEADS: Final = ("", "Table", "What", "Where", "When (UTC)", "Value", "Expected", "Meaning")


class Fault(NamedTuple):
    """A row of a profile that violates an expectation: its worst value, with entity and time."""

    counter: str
    """The counter, or the identity of several counters."""
    name: str
    """The same in words."""
    entity: str
    time: datetime | None
    value: float | str | None
    of_all: bool = False
    """Whether it concerns all instances: the counter is frozen."""


@dataclass(frozen=True)
class Expectation:
    """One expectation of a suite, judged."""

    suite: str
    id: str
    status: str
    """One of `STATUSES`; `not judged` if it applies to no row of the table."""
    table: str
    means: str
    expected: str
    judged: int = 0
    """Rows of the profile, or of the table, that were judged."""
    failed: int = 0
    """Judged rows that violate the expectation."""
    name: str = ""
    """The counter or quantity of the worst row."""
    entity: str = ""
    time: datetime | None = None
    value: float | str | None = None
    faults: tuple[Fault, ...] = ()
    """All rows at fault in a profile, the worst first."""

    def about(self, faults: Sequence[Fault]) -> Expectation:
        """Return the expectation with only these faults."""
        worst = faults[0]
        made = replace(self, name=worst.name, entity=worst.entity, time=worst.time, value=worst.value)
        return replace(made, failed=len(faults), faults=tuple(faults))

    def __str__(self) -> str:
        """Describe the fault in a line: its place and time, and the expected value."""
        value_text = f"{self.value:,.6g}" if isinstance(self.value, float | int) else str(self.value)
        at = "".join(
            (f" of {self.entity}" if self.entity else "", f" at {self.time:%Y-%m-%d %H:%M:%S}" if self.time else "")
        )
        more = f" (and {self.failed - 1} more)" if self.failed > 1 else ""
        return f"{self.table}: {self.name}{at} is {value_text}{more}, expected {self.expected}. {self.means}"

    def as_dict(self) -> dict[str, Any]:
        """Return the entry for the JSON."""
        fields = {name: value for name, value in vars(self).items() if name != "faults"}
        return {**fields, "time": self.time.isoformat() if self.time else None}


@dataclass(frozen=True, repr=False)
class Quality(Sequence[Expectation]):
    """The expectations of a recording or of the files of a study, failures first."""

    expectations: tuple[Expectation, ...]
    source: str = ""
    engine: str = "esxparse"

    def __getitem__(self, place: Any) -> Any:
        return self.expectations[place]

    def __len__(self) -> int:
        return len(self.expectations)

    def __iter__(self) -> Iterator[Expectation]:
        return iter(self.expectations)

    def of(self, status: str) -> tuple[Expectation, ...]:
        """Return the expectations with that status."""
        return tuple(one for one in self.expectations if one.status == status)

    @property
    def failed(self) -> tuple[Expectation, ...]:
        """Violated hard expectations: numbers of this recording are wrong."""
        return self.of("fail")

    @property
    def warned(self) -> tuple[Expectation, ...]:
        """Other violated expectations: check before you trust the numbers."""
        return self.of("warn")

    @property
    def status(self) -> str:
        """The worst status: pass, warn or fail."""
        return "fail" if self.failed else "warn" if self.warned else "pass"

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        count = Counter(one.status for one in self)
        judged = len(self) - count["not judged"]
        if not judged:
            return "No expectation fits this recording."
        if self.status == "pass":
            return f"All {judged} expectations are met."
        words = (("fail", "failed"), ("warn", "warned"))
        wrong = " and ".join(f"{count[one]} {word}" for one, word in words if count[one])
        return f"{wrong} of {judged} expectations."

    def frame(self) -> pl.DataFrame:
        """Return one row per expectation, with the fields of `Expectation`; `value` as text."""
        import polars as pl  # noqa: PLC0415

        schema: dict[str, Any] = {
            **dict.fromkeys(("status", "table", "id", "name", "entity"), pl.String),
            "time": pl.Datetime("us", "UTC"),
            **dict.fromkeys(("value", "expected", "means"), pl.String),
            **dict.fromkeys(("judged", "failed"), pl.Int64),
            "suite": pl.String,
        }
        rows = [{**vars(one), "value": None if one.value is None else str(one.value)} for one in self]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def text(self, *, every: bool = False) -> str:
        """Return text for a terminal: the verdict, and violated expectations; `every`: also the ones that are met."""
        lines = [self.verdict]
        listed = self.expectations if every else (*self.failed, *self.warned)
        for one in listed:
            sentence = str(one) if one.status in {"fail", "warn"} else f"{one.table}: {one.id}. {one.means}"
            lines.append(f"  {one.status:<10}  {printable(sentence)}")
        return "\n".join(lines)

    def json(self) -> str:
        """Return JSON for programs: source, status, verdict and all expectations."""
        summary = {"source": self.source, "status": self.status, "verdict": self.verdict, "engine": self.engine}
        return json.dumps({**summary, "expectations": [one.as_dict() for one in self]}, indent=1, ensure_ascii=False)

    def __repr__(self) -> str:
        return f"Quality({self.source}: {self.text()})"

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return a fragment of HTML: the verdict, and a table of faults."""
        bad = (*self.failed, *self.warned)
        more = f"<p>and {len(bad) - _MOST_FAULTS} more</p>" if len(bad) > _MOST_FAULTS else ""
        faults = table(_HEADS, map(_cells, bad[:_MOST_FAULTS])) if bad else ""
        return f"<p><b>Data quality</b>: {html.escape(self.verdict)}</p>{faults}{more}"


def joined(source: object, parts: Sequence[tuple[str, Sequence[Quality]]]) -> Quality:
    """Combine the results of several recordings, with the part's name in the table of each expectation."""
    found = [
        replace(one, table=f"{name}, {Path(quality.source).name}: {one.table}")
        for name, qualities in parts
        for quality in qualities
        for one in quality
    ]
    return Quality(tuple(sorted(found, key=lambda one: STATUSES.index(one.status))), str(source))


def _cells(one: Expectation) -> list[str]:
    value = f"{one.value:,.6g}" if isinstance(one.value, float | int) else one.value or ""
    time = f"{one.time:%Y-%m-%d %H:%M:%S}" if one.time else ""
    texts = (one.table, one.name, one.entity, time, value, one.expected, one.means)
    mark = f'<b style="color:{_COLOURS[one.status]}">{one.status}</b>'
    return [mark, *(html.escape(printable(str(text))) for text in texts)]
