"""Numbers that planners take from captures."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.derived import of_recording
from esxparse.errors import EsxparseError, choose_from
from esxparse.metrics import over_time
from esxparse.recording import Recording

BUSY: Final = 0.95
"""The share of time in which a load is at most what planners take it for."""


def series(rec: Recording, table: str, column: str, instance: str | None = None) -> pl.LazyFrame:
    """One column of a derived table over time: `time`, `value`; the sum over all instances if none is named.

    Raises EsxparseError: The recording cannot give the column, or has no such instance.
    """
    rows = of_recording.table(rec, table, [column])
    if instance is not None:
        there = rows.select("instance").unique().collect()["instance"].sort().to_list()
        if instance not in there:
            raise EsxparseError(f"{rec.source} has no {table} {instance!r}: {choose_from(instance, there)}")
        rows = rows.filter(instance=instance)
    return rows.group_by("time").agg(value=pl.col(column).sum()).sort("time")


def busiest(rows: pl.LazyFrame) -> float:
    """The value that is not exceeded in 95 % of the time, of what `series` gives."""
    return _one(rows, over_time.quantile(pl.col("value"), BUSY))


def mean(rows: pl.LazyFrame) -> float:
    """The mean over time of what `series` gives."""
    return _one(rows, over_time.mean(pl.col("value")))


def _one(rows: pl.LazyFrame, value: pl.Expr) -> float:
    return float(over_time.with_covered(rows).select(value).collect().item())
