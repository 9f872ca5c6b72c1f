"""The top n VMs, PCPUs, devices or ports, by mean, percentile, maximum or variability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import polars as pl

from esxparse.errors import EsxparseError, check_known

from . import over_time
from .frames import finite, names, need, weighted_mean

Order = Literal["mean", "p95", "max", "variability"]


def top(
    frame: pl.LazyFrame,
    by: str | Sequence[str],
    value: str,
    n: int = 10,
    order: Order = "p95",
    weight: str | None = None,
) -> pl.LazyFrame:
    """Rank the groups of the columns `by` by a value over time.

    Needs the columns `by` and `value`. Leaves out rows whose value is null or NaN, and rows with a null in `by`. In
    the tables of a recording, a null part marks a roll-up (`_Total`, the VM's own row among its disks), which repeats
    the other rows. Returns at most `n` rows:

    *by
    mean         mean over time (`over_time`), or weighted by `weight` too
    p95          95th percentile over time (`over_time.quantile`)
    max          largest sample
    variability  standard deviation / mean, both over time and without `weight`; null if the mean is 0
    samples      i64  number of samples with a value

    sorted by `order`, largest first (nulls last); ties are sorted by `by`, so that the result is reproducible.
    Exclude idle and helper worlds first: `inventory.only_kinds(vcpu, "vcpu")` before ranking worlds.
    The average latency of a sample counts as often as the sample has commands: pass their column as `weight`. Samples
    without weight are left out only if the value is 0: a port that drops all its packets has no passed packets, and
    drops 100 %. A group that never has a weight gets the mean over time.

    Raises EsxparseError: `n` is less than 1, `order` is unknown, or a column is missing.

    >>> ready = pl.LazyFrame({"vm": ["a", "a", "b", "b", "c"], "ready_pct": [1.0, 2.0, 9.0, None, 9.0]})
    >>> top(ready, "vm", "ready_pct", n=2).collect().rows()
    [('b', 9.0, 9.0, 9.0, None, 1), ('c', 9.0, 9.0, 9.0, None, 1)]
    """
    frame = finite(frame)
    keys = [by] if isinstance(by, str) else list(by)
    _check(frame, keys, [value, *([weight] if weight else [])], n, order)
    number = pl.col(value).cast(pl.Float64)
    frame = over_time.with_covered(frame)
    by_time = mean = over_time.mean(number)
    if weight is not None:
        mean = pl.coalesce(weighted_mean(number, pl.col(weight) * over_time.seconds()), mean)
        frame = frame.filter((pl.col(weight) > 0) | (number != 0))
    return (
        frame.filter(number.is_not_null() & number.is_not_nan(), *(pl.col(key).is_not_null() for key in keys))
        .group_by(keys)
        .agg(
            mean.alias("mean"),
            over_time.quantile(number, 0.95).alias("p95"),
            number.max().alias("max"),
            pl.when(by_time != 0).then(over_time.deviation(number) / by_time.abs()).alias("variability"),
            number.len().cast(pl.Int64).alias("samples"),
        )
        .sort([order, *keys], descending=[True, *([False] * len(keys))], nulls_last=True)
        .head(n)
    )


def _check(frame: pl.LazyFrame, keys: Sequence[str], columns: Sequence[str], n: int, order: str) -> None:
    if not isinstance(n, int) or n < 1:
        raise EsxparseError(f"a ranking needs n of 1 or more, not {n!r}")
    check_known("order", order, get_args(Order))
    if not keys:
        raise EsxparseError("a ranking needs at least one column to rank by")
    need(names(frame), *keys, *columns)
