"""Numbers that planners take from captures."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.derived import of_recording
from esxparse.errors import EsxparseError, MissingTableError, choose_from
from esxparse.metrics import inventory, over_time
from esxparse.recording import Recording

BUSY: Final = 0.95
"""The share of time in which a load does not exceed the planner's number for it."""


def series(
    rec: Recording, table: str, column: str, instance: str | None = None, *, highest: bool = False
) -> pl.LazyFrame:
    """Return one column of a derived table over time: `time`, `value`.

    Without `instance` it is the sum over all, or the highest of them.

    Raises EsxparseError: The recording cannot give the column, or has no such instance.
    """
    rows = of_recording.table(rec, table, [column])
    if instance is not None:
        names = rows.select("instance").unique().collect()["instance"].sort().to_list()
        if instance not in names:
            raise EsxparseError(f"{rec.source} has no {table} {instance!r}: {choose_from(instance, names)}")
        rows = rows.filter(instance=instance)
    value = pl.col(column).max() if highest else pl.col(column).sum()
    return rows.group_by("time").agg(value=value).sort("time")


def columns_of(rec: Recording) -> tuple[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame]:
    """Return the tables for `metrics.consolidation.host_load`: groups, VMs, PCPUs.

    Raises EsxparseError: One of them is missing from the recording.
    """
    for name in ("group_cpu", "vcpu", "physical_cpu"):
        if name not in rec.tables:
            raise EsxparseError(f"{rec.source} has no table {name}: give an esxtop capture with all counters")
    return rec.tables["group_cpu"], inventory.vms(rec.tables["vcpu"]), rec.tables["physical_cpu"]


def uplinks(rec: Recording) -> pl.LazyFrame | None:
    """Return the physical NICs over time; None if the recording has no ports."""
    try:
        ports = of_recording.table(rec, "port")
    except MissingTableError:
        return None
    if "is_uplink" not in ports.collect_schema().names():
        return None
    return ports.filter(pl.col("is_uplink") == 1)


def busiest(rows: pl.LazyFrame) -> float:
    """Return the value of `series` that is not exceeded in 95 % of the time.

    Raises EsxparseError: No sample has a number.
    """
    return _one(rows, over_time.quantile(pl.col("value"), BUSY))


def mean(rows: pl.LazyFrame) -> float:
    """Return the mean over time of a result of `series`.

    Raises EsxparseError: No sample has a number.
    """
    return _one(rows, over_time.mean(pl.col("value")))


def _one(rows: pl.LazyFrame, value: pl.Expr) -> float:
    found = over_time.with_covered(rows).select(value).collect().item()
    if found is None:
        raise EsxparseError("the capture has no sample with a number that the planner takes from it: give the input")
    return float(found)
