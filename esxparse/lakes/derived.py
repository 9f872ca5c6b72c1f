"""Derived tables across the captures of a lake: made of each capture when they are asked for; none is stored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.derived import of_recording
from esxparse.derived.catalogue import TABLES
from esxparse.schema import TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse.lakes.query import Lake

_READ: Final = re.compile(r'\b(?:from|join)\s+"?(\w+)')
"""The tables that a query reads by name: `host` is also a column of each."""


def names(lake: Lake) -> tuple[str, ...]:
    """The derived tables that some capture can give; a table of the lake hides one of its name."""
    there = {name for one in lake.captures if one.format == "esxtop" for name in lake.recorded(one).derived}
    return tuple(name for name in TABLES if name in there and name not in lake)


def read_by(part: Lake, whole: Lake, query: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """The derived tables of a part of a lake that a query in SQL reads."""
    words = set(_READ.findall(query.lower()))
    for name in names(whole) if words & set(TABLES) else ():
        if name in words:
            yield name, table(part, name).collect()


def table(lake: Lake, name: str) -> pl.LazyFrame:
    """A derived table with `date` and `host` as its last columns; columns that a capture cannot give are null."""
    # Without a capture in the time that is asked for it is empty.
    frames = [pl.LazyFrame(schema={"time": TIME, "instance": pl.String, "date": pl.Date, "host": pl.String})]
    for entry in lake.captures:
        rec = lake.recorded(entry)
        if name in rec.derived:
            rows = of_recording.table(rec, name)
            frames.append(rows.with_columns(date=pl.col("time").dt.date(), host=pl.lit(entry.host)))
    whole = pl.concat(frames, how="diagonal").select(pl.exclude("date", "host"), "date", "host")
    kept = [pl.col("time") >= lake.since] if lake.since else []
    return whole.filter(*kept, *([pl.col("time") < lake.until] if lake.until else []))
