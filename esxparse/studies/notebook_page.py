"""A study in a few lines, for notebooks and prompts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from esxparse.recording import counted, first_few, printable
from esxparse.sortable import table
from esxparse.studies import export
from esxparse.studies.report_section import Computed

if TYPE_CHECKING:
    import polars as pl

_ROWS: Final = 30
_COLUMNS: Final = 8
"""Columns besides the labels."""
_WHOLE: Final = 1000
"""Numbers from here on have no decimals."""
_LEVELS: Final = 6
"""Most levels of a label to list."""


def facts(study: Computed) -> list[tuple[str, str]]:
    """Return the facts of a study: name and value."""
    runs = study.runs.collect()
    rows = [("title", study.title), ("file", str(study.path)), ("runs", f"{runs.height:,}")]
    for label in study.labels:
        levels = runs[label].drop_nulls().unique(maintain_order=True).to_list()
        rows.append((f"label {label}", first_few(list(map(str, levels)), _LEVELS)))
    if study.baseline:
        rows.append(("baseline", ", ".join(f"{label} = {level}" for label, level in study.baseline.items())))
    measures = [one.name for one in runs if one.dtype.is_float() and one.name not in study.labels]
    return [*rows, ("measures", ", ".join(measures)), ("notes", f"{len(study.notes)}")]


def text(study: Computed) -> str:
    """Return the text for a prompt."""
    return "\n".join(["Study", *(f"  {name}: {printable(value)}" for name, value in facts(study))])


def page(study: Computed) -> str:
    """Return the HTML for a notebook: the study's facts, and its runs."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(printable(value))}</td></tr>" for name, value in facts(study)
    )
    return f"<table>{rows}</table>{_runs(study)}"


def runs_page(labels: Sequence[str], results: pl.LazyFrame | None, frame: pl.LazyFrame) -> str:
    """Return the first runs as HTML for a notebook: labels and main columns, and the names of the others."""
    runs = frame.collect()
    main_table, columns = _main(runs, labels, results)
    others = [name for name in runs.columns if name not in columns]
    others_text = f" Not shown: {escape(printable(', '.join(others)))}." if others else ""
    size = f"{counted(runs.height, 'run')}, {counted(runs.width, 'column')}"
    of = f", the first {_ROWS}" if runs.height > _ROWS else ""
    return f"<p><b>runs</b>: {size}{of}; a lazy table of polars</p>{main_table}<p>{others_text}</p>"


def _runs(study: Computed) -> str:
    """Return the labels and main columns of the runs."""
    runs = study.runs.collect()
    main_table, _ = _main(runs, study.labels, study.results)
    of = f"the first {_ROWS} of " if runs.height > _ROWS else ""
    return f"{main_table}<p>The main columns of {of}{counted(runs.height, 'run')}; <code>study.runs</code> has all.</p>"


def _main(runs: pl.DataFrame, labels: Sequence[str], results: pl.LazyFrame | None) -> tuple[str, list[str]]:
    """Return the first runs as HTML, and the names of the columns in it."""
    kept = runs.select(export.chosen(runs, labels, None)[: len(labels) + _COLUMNS])
    units = export.declared(results)
    headings = (export.heading(name, units) for name in kept.columns)
    heads = [export.two_lines(printable(text), unit) for text, unit in headings]
    return table(heads, ([_cell(one) for one in row] for row in kept.head(_ROWS).iter_rows())), kept.columns


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"
    return "" if value is None else escape(printable(str(value)))
