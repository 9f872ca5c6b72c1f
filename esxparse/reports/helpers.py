"""Functions for the cells of a report on recordings: `title`, `section`, `table`, `chart`, `finding` and others.

Each returns something that a cell displays, as its last line or by `display`. Text is data: names of VMs are never
read as HTML or Markdown. docs/templates.md shows examples.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from esxparse.clock import spoken_span
from esxparse.errors import EsxparseError, did_you_mean
from esxparse.recording import counted
from esxparse.reports import blocks, page
from esxparse.reports.blocks import (
    Block,
    Column,
    Figure,
    Header,
    Section,
    facts,
    headline,
    missing,
    moment,
    number,
    points,
    stack,
    tiles,
)
from esxparse.reports.cards import Verdict, listed
from esxparse.reports.columns import columns_of
from esxparse.reports.page import if_present, show, some, together

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from esxparse.recording import Recording

__all__ = [
    "Column",
    "Section",
    "Verdict",
    "chart",
    "columns_of",
    "counted",
    "facts",
    "finding",
    "headline",
    "if_present",
    "listed",
    "missing",
    "moment",
    "number",
    "points",
    "provenance",
    "section",
    "show",
    "some",
    "spoken_span",
    "stack",
    "table",
    "tiles",
    "title",
    "together",
]


def title(text: str, below: str = "", recordings: Sequence[Recording] = ()) -> Header:
    """Return the report's title, and the line below it; also prepares charts, so call it first.

    `recordings`: the report's recordings; the host's name, if one of them has it, follows the title.
    """
    page.prepare()
    return page.header(text, recordings, below)


def section(name: str, text: str = "") -> Section:
    """Begin a part of the report, with a heading in the contents; a Markdown cell `## Name` does the same."""
    return Section(name, text)


def table(
    frame: pl.DataFrame | pl.LazyFrame,
    caption: str,
    heads: Mapping[str, str] | Sequence[Column] | None = None,
    *,
    digits: int = 1,
    empty: str = "",
    missing: str = "",
    look: Literal["", "cards", "folded"] = "",
) -> Block:
    """Return a table of a frame.

    Args:
        frame: Shows all of its columns, or the columns of `heads`.
        caption: One line above the table.
        heads: The header of each column, with the unit in brackets: {"ready_pct": "Ready [%]"}. Or columns from
            `columns_of`, in which case missing ones are left out.
        digits: Decimals of numbers with a fraction; columns have their own.
        empty: Text for a table without rows.
        missing: Text for a table without rows because the recordings do not have the data. The page leaves out a
            section with only such text, and lists the reason.
        look: "folded" collapses the table under its caption; "cards" makes each row a card on a narrow screen.

    Raises EsxparseError: The frame does not have a column of `heads`.
    """
    rows = frame.lazy().collect()
    if missing and rows.is_empty():
        return blocks.missing(missing)
    if heads is not None and not isinstance(heads, Mapping):
        return blocks.table(rows, heads, caption, empty, look)
    headings = dict(heads) if heads else {name: name for name in rows.columns}
    if lacking := [name for name in headings if name not in rows.columns]:
        raise EsxparseError(
            f"the table {caption!r} has no column {lacking[0]!r}: "
            + did_you_mean(lacking[0], rows.columns)
            + f"it has {', '.join(rows.columns)}"
        )
    columns = []
    for name, head in headings.items():
        before, unit = blocks.parted(head)
        columns.append(Column(name, before, unit, digits if rows.schema[name].is_float() else None))
    return blocks.table(rows, columns, caption, empty, look)


def chart(made: alt.Chart | alt.LayerChart | None, about: str = "") -> Figure | Block:
    """Return a chart of altair or `esxparse.charts` as a figure; a sentence if it is None, with nothing to draw.

    `about`: the alternative text; by default the chart's title.
    """
    if made is None:
        return blocks.note(about or "There is nothing to draw.")
    from esxparse.reports.datasets import filled  # noqa: PLC0415  altair

    spec = filled(made.to_dict())
    words = spec.get("title", "")
    words = words.get("text", "") if isinstance(words, dict) else words
    description = about or spec.get("description") or (" ".join(words) if isinstance(words, list) else words) or "chart"
    # In an open notebook, altair's renderer draws the chart; in a report the page does.
    live = {} if "ESXPARSE_REPORT" in os.environ else made._repr_mimebundle_()
    live = live[0] if isinstance(live, tuple) else live
    return Figure({"width": "container", **spec, "description": description}, dict(live or {}), not live)


def finding(text: str, level: str = "info", said: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> Block:
    """Return a verdict in a box: `level` is ok, info, warning or critical; `said`: points below it, under words."""
    box = blocks.note(text, level)
    points = list(said.items() if isinstance(said, Mapping) else said)
    return blocks.stack(box, blocks.facts(points)) if points else box


def provenance(recordings: Recording | Sequence[Recording], template: str, **parameters: Any) -> Block:
    """Return the report's sources: notes of the readers, files with their fingerprints, program, parameters, time."""
    found = list(recordings) if isinstance(recordings, Sequence) else [recordings]
    return blocks.stack(page.reader_notes(found), page.provenance(found, template, parameters))
