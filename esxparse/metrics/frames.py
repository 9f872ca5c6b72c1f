"""Helpers of all metrics: columns that may be missing, weighted means, and samples with equal timestamps.

Several samples share a timestamp if a spreadsheet dropped the seconds, or a file was appended to itself. A sample has
each instance once. So the first row of each instance at a time belongs to one sample, the second row to the next. Sums
over the instances of a sample must not group by time alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import polars as pl
from polars import selectors

from esxparse.errors import EsxparseError, did_you_mean

SAMPLE: Final = ("time", "_place")
"""Columns that identify a sample: its time, and its place among samples with that time."""


def names(frame: pl.LazyFrame) -> frozenset[str]:
    """Return the names of a frame's columns.

    On a lazy frame this resolves the plan: call it once per function and pass the result on.
    """
    return frozenset(frame.collect_schema().names())


def finite(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the frame with null for NaN and infinity: a value that was not measured is missing.

    >>> finite(pl.LazyFrame({"n": [1.0, float("nan"), float("inf")]})).collect()["n"].to_list()
    [1.0, None, None]
    """
    number = selectors.float()
    return frame.with_columns(pl.when(number.is_finite()).then(number))


def need(there: Collection[str], *wanted: str, results: Collection[str] = ()) -> None:
    """Raise EsxparseError if the table misses a column, or has a column with the name of a result."""
    for name in wanted:
        if name not in there:
            raise EsxparseError(
                f"no column {name!r}: {did_you_mean(name, there)}the table has {', '.join(sorted(there))}"
            )
        if name in results:
            raise EsxparseError(f"the column {name!r} clashes with a result column: rename it")


def above_zero(value: pl.Expr) -> pl.Expr:
    """Return the numbers above zero; null for others, NaN and infinity.

    >>> pl.LazyFrame({"n": [1.0, 0.0, float("inf")]}).select(above_zero(pl.col("n"))).collect()["n"].to_list()
    [1.0, None, None]
    """
    return pl.when(value.is_finite() & (value > 0)).then(value)


def column(there: Collection[str], name: str) -> pl.Expr:
    """Return the column `name` as Float64, or nulls of that type if the capture does not have the counter.

    >>> frame = pl.LazyFrame({"pct_used": [1.0]})
    >>> frame.select(column(names(frame), "pct_used"), column(names(frame), "pct_ready")).collect().row(0)
    (1.0, None)
    """
    if name in there:
        return pl.col(name).cast(pl.Float64)
    return pl.lit(None, dtype=pl.Float64).alias(name)


def completed(frame: pl.LazyFrame, *wanted: str) -> pl.LazyFrame:
    """Add missing columns as nulls: a derived table has only the columns that its capture supports.

    >>> completed(pl.LazyFrame({"gavg_ms": [1.0]}), "gavg_ms", "kavg_ms").collect().row(0)
    (1.0, None)
    """
    there = names(frame)
    return frame.with_columns(column(there, name) for name in wanted if name not in there)


def renamed(there: Collection[str], columns: Mapping[str, str]) -> list[pl.Expr]:
    """Return one expression for each `metric name -> counter column`; see `column`."""
    return [column(there, counter).alias(metric) for metric, counter in columns.items()]


def first_true(*cases: tuple[pl.Expr, str | None], otherwise: str | None = None) -> pl.Expr:
    """Return the text of the first condition that holds; `otherwise` if none holds.

    >>> number = pl.col("n")
    >>> table = pl.LazyFrame({"n": [1, 5, None]})
    >>> size = first_true((number > 9, "high"), (number > 3, "middle"), otherwise="low")
    >>> table.select(size=size).collect()["size"].to_list()
    ['low', 'middle', 'low']
    """
    found = pl.lit(otherwise, dtype=pl.String)
    for condition, text in reversed(cases):
        found = pl.when(condition).then(pl.lit(text, dtype=pl.String)).otherwise(found)
    return found


def share_pct(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return a part in percent of the whole; null if the whole is not above 0."""
    return pl.when(whole > 0).then(100.0 * part / whole)


def total(value: pl.Expr) -> pl.Expr:
    """Aggregate `value` by its sum; null if all values are null, because an empty sum looks like a measured 0.

    Counters have two decimals: digits past the ninth depend only on the order of the rows.

    >>> frame = pl.LazyFrame({"known": [1.0, None], "lacking": [None, None]}, schema_overrides={"lacking": pl.Float64})
    >>> frame.select(total(pl.col("known")), total(pl.col("lacking"))).collect().row(0)
    (1.0, None)
    """
    return pl.when(value.count() > 0).then(value.sum().round(9))


def weighted_mean(value: pl.Expr, weight: pl.Expr) -> pl.Expr:
    """Aggregate `value` by its mean weighted by `weight`; null if no value has a weight above 0.

    sum(value x weight) / sum(weight), over the rows that have both; the weight of a null value does not count.

    >>> frame = pl.LazyFrame({"ms": [1.0, 10.0, None], "commands": [90.0, 10.0, 1000.0]})
    >>> frame.select(weighted_mean(pl.col("ms"), pl.col("commands"))).collect().item()
    1.9
    """
    counted = weight.filter(value.is_not_null()).sum()
    return pl.when(counted > 0).then((value * weight).sum() / counted)


def placed(rows: pl.LazyFrame, *instance: str) -> pl.LazyFrame:
    """Number the samples of each timestamp from 0, by the columns of an instance; sorts by time.

    >>> rows = pl.LazyFrame({"time": [0, 0, 0, 0], "device": ["a", "b", "a", "b"], "iops": [1.0, 2.0, 3.0, 4.0]})
    >>> placed(rows, "device").group_by(SAMPLE).agg(pl.col("iops").sum()).sort(SAMPLE).collect()["iops"].to_list()
    [3.0, 7.0]
    """
    # By instance alone, in order of time: grouping by time and instance would make as many groups as rows.
    rows = finite(rows)
    number, time = pl.int_range(pl.len()), pl.col("time")
    first = pl.when(time.ne_missing(time.shift(1))).then(number).forward_fill()
    place = (number - first).over(instance) if instance else number - first
    return rows.sort("time", maintain_order=True).with_columns(place.alias("_place"))
