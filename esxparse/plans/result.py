"""The result of a planner, or of an audit: sections of tables, as text, Markdown, HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import polars as pl

from esxparse import aligned
from esxparse.plans.forms import Form
from esxparse.plans.values import ALL, Known, Range, Value, cell_text
from esxparse.recording import as_html, as_markdown
from esxparse.sortable import table

VERSION: Final = 1
"""Version of the JSON."""

Row = Sequence[str]


class Section(NamedTuple):
    """A table with its title; rows of one cell are a list."""

    title: str
    heads: Row
    rows: Sequence[Row]


def as_text(title: str, sections: Sequence[Section]) -> str:
    """Return sections as text for a terminal."""
    lines = [title]
    for one in sections:
        rows = aligned.lines([one.heads, *one.rows])
        lines += ["", one.title, *(f"  {row}" for row in (rows if any(one.heads) else rows[1:]))]
    return "\n".join(lines)


def markdown_of(title: str, sections: Sequence[Section]) -> str:
    """Return sections as Markdown."""
    parts = [f"# {as_markdown(title)}"]
    for one in sections:
        parts.append(f"## {as_markdown(one.title)}")
        if any(one.heads):
            parts.append(aligned.markdown(one.heads, one.rows))
        else:
            parts.append("\n".join(f"- {as_markdown(' '.join(row))}" for row in one.rows))
    return "\n\n".join(parts)


def html_of(title: str, sections: Sequence[Section]) -> str:
    """Return sections as a fragment of HTML."""
    parts = [f"<h3>{as_html(title)}</h3>"]
    for one in sections:
        rows = [[as_html(cell) for cell in row] for row in one.rows]
        parts.append(f"<p><b>{as_html(one.title)}</b></p>{table([as_html(head) for head in one.heads], rows)}")
    return "".join(parts)


@dataclass(frozen=True, repr=False)
class Plan:
    """The answer of a planner.

    `inputs`: by case and input, each with its origin. `results`: by case and result: a number, a `Range` over all
    combinations of ranged inputs, text, true or false, or None. `verdicts`: a sentence for each case. `sensitivity`:
    one row for each combination of ranged inputs. `tables`: tables from recordings, beside the inputs.
    """

    form: Form
    inputs: Mapping[str, Mapping[str, Known]]
    results: Mapping[str, Mapping[str, Any]]
    verdicts: Mapping[str, str]
    sensitivity: Sequence[Mapping[str, Any]] = ()
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def frame(self) -> pl.DataFrame:
        """Return the results: `case`, `result`, `low`, `high` (f64, null for text), `text`, `unit`, `meaning`."""
        rows = [
            (case, name, *_ends(value), cell_text(value), self.form.results[name].unit, self.form.results[name].meaning)
            for case, found in self.results.items()
            for name, value in found.items()
        ]
        kinds = [pl.String, pl.String, pl.Float64, pl.Float64, pl.String, pl.String, pl.String]
        heads = ("case", "result", "low", "high", "text", "unit", "meaning")
        return pl.DataFrame(rows, schema=dict(zip(heads, kinds, strict=True)), orient="row")

    def sections(self) -> list[Section]:
        """Return the sections below the title, for every form of output."""
        return [one for one in self._all_sections() if one.rows]

    def _all_sections(self) -> Iterator[Section]:
        cases = list(self.results)
        sentences = [f"{case}: {text}" if case else text for case, text in self.verdicts.items()]
        yield Section("Answer", ("",), [(one,) for one in sentences])
        yield Section("Results", ("result", *(case or "value" for case in cases), "unit"), self._result_rows(cases))
        heads = [*self.sensitivity[0]] if self.sensitivity else []
        yield Section("Sensitivity", heads, [[cell_text(one[head]) for head in heads] for one in self.sensitivity])
        for title, frame in self.tables.items():
            yield Section(title, frame.columns, [[cell_text(cell) for cell in row] for row in frame.rows()])
        yield Section("Inputs", ("input", "value", "unit", "origin", "meaning"), list(self._input_rows(cases)))
        yield Section("Notes", ("",), [(one,) for one in self.notes])
        yield Section("Sources", ("",), [(one,) for one in self.form.sources])

    def _result_rows(self, cases: Sequence[str]) -> list[Row]:
        rows: list[Row] = []
        for name, result in self.form.results.items():
            values = [cell_text(self.results[case].get(name)) for case in cases]
            if any(values):
                rows.append((result.meaning, *values, result.unit))
        return rows

    def _input_rows(self, cases: Sequence[str]) -> Iterator[Row]:
        """Yield a row for an input that is the same in all cases, else one for each case."""
        for name, one in self.form.inputs.items():
            found = {case: self.inputs[case][name] for case in cases if name in self.inputs[case]}
            if len(set(found.values())) == 1 and len(found) == len(cases):
                found = {ALL: next(iter(found.values()))}
            for case, known in found.items():
                label = f"{name}, {case}" if case else name
                yield label, cell_text(known.value), one.unit, known.origin, one.meaning

    def text(self) -> str:
        """Return everything as text for a terminal."""
        return as_text(self.form.title, self.sections())

    def markdown(self) -> str:
        """Return everything as Markdown."""
        return markdown_of(self.form.title, self.sections())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as in the JSON."""
        return {
            "version": VERSION,
            "planner": self.form.name,
            "verdicts": [{"case": case, "verdict": text} for case, text in self.verdicts.items()],
            "results": [
                {"case": case, "name": name, **_plain(value), "unit": self.form.results[name].unit}
                for case, found in self.results.items()
                for name, value in found.items()
            ],
            "inputs": [
                {
                    "case": case,
                    "name": name,
                    **_plain(one.value),
                    "unit": self.form.inputs[name].unit,
                    "origin": one.origin,
                }
                for case, found in self.inputs.items()
                for name, one in found.items()
            ],
            "sensitivity": [dict(one) for one in self.sensitivity],
            "tables": {title: frame.to_dicts() for title, frame in self.tables.items()},
            "notes": list(self.notes),
            "sources": list(self.form.sources),
        }

    def json(self) -> str:
        """Return everything as JSON; a range has `low` and `high` in place of `value`."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False, default=str)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return html_of(self.form.title, self.sections())


def _ends(value: Any) -> tuple[float | None, float | None]:
    """Return the lowest and highest value of a number."""
    if isinstance(value, Range):
        return value.low, value.high
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return number, number


def _plain(value: Value | bool | None) -> dict[str, Any]:
    return {"low": value.low, "high": value.high} if isinstance(value, Range) else {"value": value}
