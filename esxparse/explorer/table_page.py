"""A table of a recording as a notebook shows it: its first rows, and the unit of each column."""

from __future__ import annotations

import html
from functools import partial
from typing import Final

import polars as pl

from esxparse.derived.tables import described
from esxparse.metrics.inventory import only_kinds
from esxparse.recording import counted, printable
from esxparse.sortable import shown_as, table

_ROWS: Final = 8


def with_page(name: str, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the table of that name, which a notebook shows as rows instead of a query plan."""
    return shown_as(frame, partial(page, name))


def page(name: str, frame: pl.LazyFrame) -> str:
    """Return the first rows, with the columns, their names on the screen and their units above them."""
    # The idle loops of physical CPUs are the first worlds of a capture, and the least interesting.
    head, of = _of_vcpus(frame) if name == "vcpu" else None, " of vCPUs"
    if head is None or head.is_empty():
        head, of = frame.head(_ROWS).collect(), ""
    known = [described(name, column) for column in head.columns]
    heads = [
        f"{html.escape(printable(column))}<br><small>"
        f"{html.escape(', '.join(filter(None, (one.screen, one.unit))) if one else _kind(kind))}</small>"
        for (column, kind), one in zip(head.schema.items(), known, strict=True)
    ]
    head = head.with_columns(pl.col(pl.Datetime).dt.replace_time_zone(None))
    rows = [["" if cell is None else html.escape(printable(str(cell))) for cell in row] for row in head.iter_rows()]
    size = f"{counted(head.width, 'column')}, the first {counted(head.height, 'row')}{of}"
    heading = f"<b>{html.escape(printable(name))}</b>: {size}; a lazy table of polars"
    return f"<p>{heading}</p>{table(heads, rows)}"


def _of_vcpus(frame: pl.LazyFrame) -> pl.DataFrame | None:
    """Return the first rows of vCPUs; None if the table does not identify worlds."""
    if not {"group_id", "group", "world"} <= set(frame.collect_schema().names()):
        return None
    return only_kinds(frame, "vcpu").drop("kind").head(_ROWS).collect()


def _kind(kind: pl.DataType) -> str:
    return kind.time_zone or "local time" if isinstance(kind, pl.Datetime) else str(kind)
