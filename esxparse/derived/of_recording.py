"""Derived tables of a recording: `rec["vm"]`, and the reasons for missing columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from polars import selectors as cs

from esxparse.derived.capture import KEYS, VIEWS, Capture
from esxparse.derived.catalogue import TABLES, Column
from esxparse.derived.panels import panel, rows
from esxparse.derived.tables import capture_of, clock, columns, declared, sample_times, views_of
from esxparse.errors import EsxparseError, MissingTableError, choose_from
from esxparse.recording import Recording


def tables(rec: Recording) -> tuple[str, ...]:
    """Return the derived tables that a recording supports: none for other formats than esxtop.

    A table of the capture hides a derived table with the same name.
    """
    if rec.format != "esxtop":
        return ()
    one = Capture(rec.tables)
    return tuple(table for table in TABLES if table not in rec.tables and views_of(one, table))


def lacking(rec: Recording, table: str) -> dict[str, str]:
    """Return the columns that a recording does not support in a derived table, with reasons: "no counter NAME"."""
    there = {name: frozenset(frame.collect_schema().names()) for name, frame in rec.tables.items()}
    return {name: why for name, column in declared()[table].items() if (why := _why(column, there))}


def _why(column: Column, there: Mapping[str, frozenset[str]]) -> str:
    reasons = []
    for view in (one for one in VIEWS if one.table == column.table and column.column in columns(one)):
        absent = [table for table in view.needs if table not in there]
        counters: frozenset[str] = frozenset().union(*(there.get(table, frozenset()) for table in view.needs))
        if absent:
            reasons.append(f"no table {' and '.join(absent)}")
        elif why := column.missing_counter(counters):
            reasons.append(f"no counter {why}")
        else:
            return ""
    # A missing counter is more specific than a missing table.
    return min(reasons, key=lambda one: one.startswith("no table"), default="")


def missing(rec: Recording, table: str | None = None) -> pl.DataFrame:
    """Return the columns of derived tables that a recording does not support: `table`, `column`, `reason`.

    `table`: one derived table; by default all.

    Raises EsxparseError: There is no such derived table.
    """
    if table is not None and table not in TABLES:
        raise EsxparseError(f"no derived table {table!r}: {choose_from(table, TABLES)}")
    rows = [(one, column, why) for one in ([table] if table else TABLES) for column, why in lacking(rec, one).items()]
    return pl.DataFrame(rows, schema=dict.fromkeys(("table", "column", "reason"), pl.String), orient="row")


def table(rec: Recording, name: str, wanted: Sequence[str] | None = None) -> pl.LazyFrame:
    """Return a derived table: `time`, `instance` (the object's name) and columns, one row per sample and object.

    Columns that the recording does not support are left out; see `missing`. Unknown values in a sample are null.
    `wanted`: columns to compute; by default all.

    Raises MissingTableError: The recording does not support the table, or one of those columns.
    """
    if name not in tables(rec):
        needs = dict.fromkeys(view.needs[0] for view in VIEWS if view.table == name)
        raise MissingTableError(f"{rec.source} has no derived table {name!r}: it needs {' or '.join(needs)}")
    unavailable = lacking(rec, name)
    chosen = [one for one in (declared()[name] if wanted is None else wanted) if one not in unavailable]
    for one in wanted or ():
        if one in unavailable:
            raise MissingTableError(f"{rec.source} has no {one} of {name}: {unavailable[one]}")
    capture, times = capture_of(rec), sample_times(rec)
    views = [view for view in views_of(capture, name) if set(columns(view)) & set(chosen)]
    frames = [
        frame.select(cs.by_name(*KEYS, *chosen, require_all=False))
        for view in views
        if (frame := view.make(capture)) is not None
    ]
    made = panel(name, [*pl.collect_all(frames), *([clock(times)] if name == "host" else [])], times)
    known = pl.any_horizontal(pl.col(*chosen).is_not_null()) if chosen else pl.lit(value=True)
    return rows(made, times, chosen).filter(known).lazy()
