"""What the metrics share: columns that may be missing, and averages that are weighted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def names(frame: pl.LazyFrame) -> frozenset[str]:
    """Give the names of a frame's columns.

    On a lazy frame this resolves the plan: ask once in a function and hand the answer on.
    """
    return frozenset(frame.collect_schema().names())


def column(there: Collection[str], name: str) -> pl.Expr:
    """Give the column `name` as Float64, or nulls of that type if the capture lacks the counter.

    >>> frame = pl.LazyFrame({"pct_used": [1.0]})
    >>> frame.select(column(names(frame), "pct_used"), column(names(frame), "pct_ready")).collect().row(0)
    (1.0, None)
    """
    if name in there:
        return pl.col(name).cast(pl.Float64)
    return pl.lit(None, dtype=pl.Float64).alias(name)


def renamed(there: Collection[str], columns: Mapping[str, str]) -> list[pl.Expr]:
    """Give one expression for each `metric name -> counter column`; see `column`."""
    return [column(there, counter).alias(metric) for metric, counter in columns.items()]


def weighted_mean(value: pl.Expr, weight: pl.Expr) -> pl.Expr:
    """Aggregate `value` by its mean weighted by `weight`; null where no weight falls on a value.

    sum(value x weight) / sum(weight), over the rows that have both: a null value takes its weight with it.

    >>> frame = pl.LazyFrame({"ms": [1.0, 10.0, None], "commands": [90.0, 10.0, 1000.0]})
    >>> frame.select(weighted_mean(pl.col("ms"), pl.col("commands"))).collect().item()
    1.9
    """
    counted = weight.filter(value.is_not_null()).sum()
    return pl.when(counted > 0).then((value * weight).sum() / counted)
