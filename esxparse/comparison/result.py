"""The result of a comparison: the table, findings that came and went, and an answer for each area."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import polars as pl

from esxparse.comparison import troubles, wording
from esxparse.comparison.loads import effect
from esxparse.comparison.pairs import pairs
from esxparse.comparison.series import Gathered
from esxparse.comparison.table import BETTER, CHANGED, SAME, SMALL, TOO_FEW, WORSE
from esxparse.diagnosis.finding import NOUNS
from esxparse.recording import as_html, as_markdown, counted, first_few, printable
from esxparse.schema import schema
from esxparse.sortable import table

AREAS: Final = ("CPU", "Memory", "Storage", "Network", "Power", "Other")
MIXED: Final = "better and worse"
WITH_LOAD: Final = "changed with the load"
VERSION: Final = 1
"""Version of the JSON."""
_MOST: Final = 5
_AREAS: Final = schema("area answer str, better worse with_load changed small same too_few i64")
_COUNTED: Final = {
    "better": BETTER,
    "worse": WORSE,
    "changed": CHANGED,
    "small": SMALL,
    "same": SAME,
    "too_few": TOO_FEW,
}
_OF_SIDE: Final = {"before": "disappeared", "after": "appeared"}
"""The word for objects that only this side has."""
_NAMED: Final = 8


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two sides compared; `ex.compare` makes it and explains the columns of `frame`."""

    frame: pl.DataFrame
    """One row per series of both sides, the surest change first."""
    unmatched: pl.DataFrame
    """Objects that only one side has: `side` (before: they disappeared; after: they appeared), `table`, `instance`."""
    before: Gathered = field(compare=False)
    after: Gathered = field(compare=False)
    profile: str = "standard"
    renamed: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def findings(self) -> pl.DataFrame:
        """Findings of the diagnosis that came, went, got worse, got milder or stayed; harmless ones are left out.

        `what`, `trouble`, `kind`, `name`, `severity_before`, `severity_after`, `verdict`, `next`.
        """
        return troubles.troubles(self.before, self.after, self.renamed, self.profile)

    @cached_property
    def areas(self) -> pl.DataFrame:
        """The answer for each area, with the number of series behind it.

        `better` and `worse` are changes of 5 % and more that the load does not explain; `with_load` changes that it
        can.
        """
        rows = []
        for area in AREAS:
            mine = self.frame.filter(area=area)
            if mine.is_empty():
                continue
            by_load = pl.col("verdict").is_in([BETTER, WORSE]) & pl.col("load_explains")
            count = dict(mine.filter(~by_load)["verdict"].value_counts().rows())
            row = {name: count.get(verdict, 0) for name, verdict in _COUNTED.items()}
            row["with_load"] = mine.filter(by_load).height
            rows.append({"area": area, "answer": _answer(row), **row})
        return pl.DataFrame(rows, schema=_AREAS)

    @property
    def verdict(self) -> str:
        """A sentence for each kind of answer."""
        by_answer: dict[str, list[str]] = {}
        for area, answer in self.areas.select("area", "answer").rows():
            by_answer.setdefault(answer, []).append(area)
        order = (WORSE, MIXED, BETTER, WITH_LOAD, CHANGED, SAME, TOO_FEW)
        sentences = [
            f"{answer.capitalize()}: {', '.join(by_answer[answer])}." for answer in order if answer in by_answer
        ]
        for side, word in _OF_SIDE.items():
            if many := self.unmatched.filter(side=side, table="vm").height:
                sentences.append(f"{counted(many, 'VM')} {word}.")
        return " ".join(sentences) or "Nothing can be compared: the two sides have no series of the same name."

    @property
    def is_worse(self) -> bool:
        """Whether something got worse that the load does not explain.

        Findings do not count: near a limit they come and go by chance.
        """
        return bool(self.areas["worse"].sum() > 0)

    def largest(self, most: int = _MOST, area: str | None = None) -> pl.DataFrame:
        """Return rows of the largest changes for better or worse, one for each object and area.

        The largest of each area comes before the second largest of any. Paths and adapters are left out if there are
        changes of devices.
        """
        found = self.frame.filter(pl.col("verdict").is_in([BETTER, WORSE]))
        if area is not None:
            found = found.filter(area=area)
        if not found.filter(table="device").is_empty():
            found = found.filter(~pl.col("table").is_in(["path", "adapter"]))
        abouts = [effect(table, column) for table, column in found.select("table", "column").rows()]
        # Among changes of about one size, columns with a known limit come first.
        found = found.with_columns(
            _size=pl.col("size").round(1),
            _known=pl.Series([bool(one and one.has_limit) for one in abouts], dtype=pl.Boolean),
        )
        order = {"load_explains": False, "_size": True, "_known": True, "size": True, "p": False}
        ordered = found.sort(list(order), descending=list(order.values()), maintain_order=True).drop("_size", "_known")
        each = ordered.unique(["area", "instance", "table"], keep="first", maintain_order=True)
        first_of_area = pl.int_range(pl.len()).over("area", "load_explains") > 0
        return each.sort("load_explains", first_of_area, maintain_order=True).head(most)

    def series(self, table: str, column: str, instance: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return one series before and after: `time`, `value`. `instance` is the name after."""
        names = self.before.panels[table].names, self.after.panels[table].names
        found = pairs(*names, self.renamed)
        place = found.names.index(instance)
        return (
            self.before.frame(table, column, names[0][found.before[place]]),
            self.after.frame(table, column, instance),
        )

    def changes(self) -> list[str]:
        """Return sentences on the largest changes."""
        return [wording.sentence(row) for row in self.largest().iter_rows(named=True)]

    def missing(self) -> list[str]:
        """Return sentences on series that cannot be compared."""
        sentences = []
        for side, word in _OF_SIDE.items():
            mine = self.unmatched.filter(side=side)
            for kind in mine["table"].unique(maintain_order=True):
                names = [printable(name) for name in mine.filter(table=kind)["instance"]]
                # Some tables are plurals already.
                plural = kind not in NOUNS and kind.endswith("s")
                count = (
                    f"{counted(len(names), 'row')} of {kind}" if plural else counted(len(names), NOUNS.get(kind, kind))
                )
                sentences.append(f"{count} {word}: {first_few(names, _NAMED)}")
        few = self.frame.filter(verdict=TOO_FEW)
        if not few.is_empty():
            needed = few["samples_needed"].median()
            enough = f"; half of them need {needed:,.0f} or more" if isinstance(needed, float) else ""
            sentences.append(f"{len(few):,} of {len(self.frame):,} series have too few independent samples{enough}")
        return sentences

    def _lists(self) -> dict[str, list[str]]:
        """Return the lists below the verdict, by heading, for every form of output."""
        findings = [f"{what}: {verdict}" for what, verdict in self.findings.select("what", "verdict").rows()]
        return {"Largest changes": self.changes(), "Findings": findings, "Not compared": self.missing()}

    def text(self) -> str:
        """Return everything as text for a terminal."""
        lines = [f"before: {self._side(self.before)}", f"after:  {self._side(self.after)}", "", self.verdict]
        for name, entries in self._lists().items():
            if entries:
                lines += ["", f"{name}:", *(f"  {printable(one)}" for one in entries)]
        return "\n".join(lines)

    def _side(self, side: Gathered) -> str:
        return f"{side.side.label} ({counted(side.samples, 'sample')})"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as in the JSON; `series` has only the ones that differ."""
        return {
            "version": VERSION,
            "before": {"label": self.before.side.label, "samples": self.before.samples},
            "after": {"label": self.after.side.label, "samples": self.after.samples},
            "verdict": self.verdict,
            "areas": self.areas.to_dicts(),
            "largest": self.changes(),
            "findings": self.findings.to_dicts(),
            "series": self.frame.filter("differs").to_dicts(),
            "unmatched": self.unmatched.to_dicts(),
        }

    def json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def markdown(self) -> str:
        """Return everything as Markdown."""
        parts = [
            f"# {as_markdown(self.before.side.label)} against {as_markdown(self.after.side.label)}",
            as_markdown(self.verdict),
        ]
        for name, lines in self._lists().items():
            if lines:
                parts += [f"## {name}", "\n".join(f"- {as_markdown(one)}" for one in lines)]
        return "\n\n".join(parts)

    def html(self) -> str:
        """Return a page with everything that `text` has."""
        sides = f"{self._side(self.before)} against {self._side(self.after)}"
        parts = [f"<p>{as_html(sides)}</p><p><b>{as_html(self.verdict)}</b></p>{self._areas_html()}"]
        for name, lines in self._lists().items():
            items = "".join(f"<li>{as_html(one)}</li>" for one in lines)
            parts.append(f"<h2>{name}</h2><ul>{items}</ul>" if items else "")
        viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
        head = f'<meta charset="utf-8">{viewport}<title>Before and after</title>'
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'

    def _areas_html(self) -> str:
        heads = ("area", "answer", "better", "worse", "with the load", "too few samples")
        columns = ("area", "answer", "better", "worse", "with_load", "too_few")
        rows = [[as_html(str(one)) for one in row] for row in self.areas.select(columns).rows()]
        return table(heads, rows) if rows else ""

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{as_html(one)}</li>" for one in self.changes())
        largest = f"<p>Largest changes</p><ul>{items}</ul>" if items else ""
        return f"<p><b>{as_html(self.verdict)}</b></p>{self._areas_html()}{largest}"


def _answer(count: Mapping[str, int]) -> str:
    """Return the answer for an area, from the number of series with each verdict."""
    if count["better"] and count["worse"]:
        return MIXED
    if count["better"] or count["worse"]:
        return WORSE if count["worse"] else BETTER
    if count["with_load"]:
        return WITH_LOAD
    if count["changed"]:
        return CHANGED
    return TOO_FEW if count["too_few"] > count["small"] + count["same"] else SAME
