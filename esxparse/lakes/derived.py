"""Derived tables across the captures of a lake: computed from each capture on request, never stored."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import polars as pl

from esxparse.derived import of_recording
from esxparse.derived.catalogue import TABLES
from esxparse.recording import Recording
from esxparse.schema import TIME

_READ: Final = re.compile(r'\b(?:from|join)\s+"?(\w+)')
"""The names after FROM and JOIN in a query: `host` is also a column of each table."""


def names(recs: Sequence[Recording], own: Collection[str]) -> tuple[str, ...]:
    """Return the derived tables that some capture of a lake can give; tables of the lake (`own`) take precedence."""
    there = {name for rec in recs for name in rec.derived}
    return tuple(name for name in TABLES if name in there and name not in own)


def read_by(query: str) -> frozenset[str]:
    """Return the derived tables that a query in SQL may read."""
    return frozenset(TABLES).intersection(_READ.findall(query.lower()))


def table(recs: Sequence[Recording], name: str, since: datetime | None, until: datetime | None) -> pl.LazyFrame:
    """Return a derived table with `date` and `host` as its last columns; columns missing from a capture are null."""
    # Without a capture in the requested time it is empty.
    frames = [pl.LazyFrame(schema={"time": TIME, "instance": pl.String, "date": pl.Date, "host": pl.String})]
    for rec in recs:
        if name in rec.derived:
            rows = of_recording.table(rec, name)
            frames.append(rows.with_columns(date=pl.col("time").dt.date(), host=pl.lit(rec.meta["host"])))
    return between(pl.concat(frames, how="diagonal").select(pl.exclude("date", "host"), "date", "host"), since, until)


def between(rows: pl.LazyFrame, since: datetime | None, until: datetime | None) -> pl.LazyFrame:
    """Return the rows from `since` to before `until`."""
    rows = rows.filter(pl.col("time") >= since) if since else rows
    return rows.filter(pl.col("time") < until) if until else rows
