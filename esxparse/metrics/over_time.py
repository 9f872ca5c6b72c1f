"""Means, shares and percentiles over time: each sample counts for the time that it covers.

A row of esxtop holds rates since its previous sample, so it covers the time since that sample. In a capture with a
constant interval every sample covers the same time, and a plain mean is right. If the interval changes, a plain mean
is wrong: 60 samples of 5 s at 10 % and one of 300 s at 90 % are 50.3 % of the time, and 11.3 % of the samples. The
rules:

- The interval of the first row is unknown. It counts like the others if the interval is constant, and not at all if it
  changes.
- A long step between two short ones is a gap, not a changed interval: rows are missing, and the sample after them
  covers only the usual time. The same step at an end of the capture, or several long steps in a row, are a changed
  interval. So is every step that no neighbour contradicts.
- Jitter is not a change. The interval is constant if no sample is further from an even grid than one of these: a second
  (esxtop cuts timestamps to seconds), a fifth of the interval, or 2 % of the capture, gaps left out.
- Without times of day all samples count alike.

Call `with_covered` first, on the rows of a whole capture; the other functions weight expressions by its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from esxparse.schema import TIME

from .frames import names, weighted_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._series import Numbers

COVERED: Final = "covered_s"
"""Seconds that a row covers; null in all rows of a capture with a constant interval."""

_LONGER: Final = 1.5
"""A step more than this many times longer than both neighbours is a gap."""
_JITTER_S: Final = 1.0
_JITTER_SHARE: Final = 0.2
_DRIFT: Final = 0.02


def with_covered(rows: pl.LazyFrame, *hosts: str) -> pl.LazyFrame:
    """Add `covered_s`, the time that each row covers, s: null in all rows if the interval is constant.

    Several rows may share a `time`; without that column the intervals are unknown. `hosts`: columns that separate
    captures, if there are several. A table that has `covered_s` keeps it: parts of a capture have no intervals of
    their own.

    >>> from datetime import datetime, timedelta
    >>> at = [datetime(2026, 3, 2) + timedelta(seconds=second) for second in (0, 5, 10, 15, 315)]
    >>> with_covered(pl.LazyFrame({"time": at})).collect()["covered_s"].to_list()
    [0.0, 5.0, 5.0, 5.0, 300.0]
    >>> with_covered(pl.LazyFrame({"time": at[:4]})).collect()["covered_s"].to_list()
    [None, None, None, None]
    """
    there = names(rows)
    if COVERED in there:
        return rows
    if "time" not in there:
        return rows.with_columns(pl.lit(None, dtype=pl.Float64).alias(COVERED))
    covered = pl.col("time").map_batches(_covered, return_dtype=pl.Float64)
    return rows.with_columns((covered.over(hosts) if hosts else covered).alias(COVERED))


def _covered(times: pl.Series) -> pl.Series:
    unknown = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(times))
    if not isinstance(times.dtype, pl.Datetime) or times.null_count():
        return unknown
    moments = times.dt.epoch("us").to_numpy()
    ends = np.unique(moments)
    if len(ends) < 3:  # noqa: PLR2004  two steps
        return unknown
    steps = np.diff(ends) / 1e6
    beside = np.concatenate(([np.inf], np.maximum(steps[:-2], steps[2:]), [np.inf]))
    lengths = np.where(steps > _LONGER * beside, beside, steps)
    total, usual = lengths.sum(), lengths.mean()
    off = np.abs(np.cumsum(lengths) - usual * np.arange(1, len(lengths) + 1)).max()
    if off <= max(_JITTER_S, _JITTER_SHARE * usual, _DRIFT * total):
        return unknown
    return pl.Series(np.concatenate(([0.0], lengths))[np.searchsorted(ends, moments)])


def weights(times: Sequence[datetime]) -> Numbers | None:
    """Return the seconds that each sample covers, for arithmetic with numpy; None if the interval is constant.

    `times`: of each sample, in order.
    """
    covered = _covered(pl.Series(times, dtype=TIME))
    return None if covered.null_count() == len(covered) else covered.to_numpy()


def known(values: Numbers, covered: Numbers | None) -> tuple[Numbers, Numbers | None]:
    """Return the values that are not NaN, and the seconds that each of them covers."""
    there = ~np.isnan(values)
    return values[there], None if covered is None else covered[there]


def averages(values: NDArray[Any], covered: Numbers | None) -> NDArray[Any]:
    """Return the mean over time of each column; `covered`: the seconds of each row (sample), from `weights`."""
    weights = covered if covered is not None and covered.any() else None
    return np.asarray(np.average(values, axis=0, weights=weights))


def average(values: NDArray[Any], covered: Numbers | None) -> float:
    """Return the mean of samples over time; `covered`: the seconds of each, from `weights`."""
    return float(averages(values, covered))


def percentile(values: Numbers, share: float, covered: Numbers | None) -> float:
    """Return the value that was not exceeded in a share (0 to 1) of the time; see `quantile`.

    >>> percentile(np.array([90.0, 10.0, 20.0]), 0.5, np.array([300.0, 5.0, 5.0]))
    90.0
    """
    if covered is None or not covered.sum():
        return float(np.percentile(values, 100 * share))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(covered[order]) >= share * covered.sum()
    return float(values[order][np.argmax(reached)])


def seconds() -> pl.Expr:
    """Return the time factor for other weights: the seconds that a row covers, 1 if the interval is constant.

    For a mean of latencies by commands, the weight is `commands per second * seconds()`.
    """
    return pl.col(COVERED).fill_null(1.0)


def mean(value: pl.Expr) -> pl.Expr:
    """Aggregate by the mean over time.

    >>> rows = pl.LazyFrame({"pct": [10.0, 10.0, 90.0], "covered_s": [0.0, 5.0, 300.0]})
    >>> rows.select(mean(pl.col("pct")).round(1)).collect().item()
    88.7
    """
    return pl.when(_alike(value)).then(value.mean()).otherwise(weighted_mean(value, seconds()))


def deviation(value: pl.Expr) -> pl.Expr:
    """Aggregate by the standard deviation over time; null with a single sample.

    With a constant interval it is the deviation of n samples, n - 1 in the denominator, as in polars.

    >>> rows = pl.LazyFrame({"pct": [10.0, 10.0, 90.0], "covered_s": [0.0, 300.0, 300.0]})
    >>> rows.select(deviation(pl.col("pct"))).collect().item()
    40.0
    """
    by_time = weighted_mean((value - mean(value)) ** 2, seconds()).sqrt()
    return pl.when(_alike(value)).then(value.std()).otherwise(by_time)


def share(condition: pl.Expr) -> pl.Expr:
    """Aggregate by the share of the time, 0 to 1, in which a condition holds; null conditions do not count."""
    return mean(condition.cast(pl.Float64))


def quantile(value: pl.Expr, share: float) -> pl.Expr:
    """Aggregate by the value that was not exceeded in a share of the time.

    With a constant interval it is interpolated between samples, as in polars; otherwise it is a sample's value.

    >>> rows = pl.LazyFrame({"pct": [10.0, 10.0, 90.0], "covered_s": [0.0, 5.0, 300.0]})
    >>> rows.select(quantile(pl.col("pct"), 0.5)).collect().item()
    90.0
    """
    order = pl.struct(value.alias("value"), seconds().alias("weight")).filter(value.is_not_null()).sort()
    reached = order.struct["weight"].cum_sum() >= share * order.struct["weight"].sum()
    by_time = order.struct["value"].filter(reached).first()
    return pl.when(_alike(value)).then(value.quantile(share, "linear")).otherwise(by_time)


def _alike(value: pl.Expr) -> pl.Expr:
    """Return whether all samples count alike: the interval is constant, or only the first row has a value."""
    return (pl.col(COVERED).filter(value.is_not_null()).fill_null(0.0) == 0).all()
