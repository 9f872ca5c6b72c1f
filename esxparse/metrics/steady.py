"""Steady state: which part of a run counts, whether it stood still, and which intervals stand out.

A sample tells of the interval that ends at its time, as esxtop's do. So a warm-up of 120 s takes the samples up to and
including 120 s away, and the measured 120 s after it end with the sample at 240 s.

Nothing is deleted here but the warm-up: outliers are marked, and stay in every mean.

Sources: "Scaling Performance for VAIO in vSphere 6.0 U1" (2 minutes of warm-up, the next 2 minutes measured). Limits of
10 % for the straight line and 20 % for the values, over five parts: SNIA, Solid State Storage Performance Test
Specification, "Steady State". Outliers: B. Iglewicz and D. C. Hoaglin, "How to Detect and Handle Outliers" (1993).
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError

from ._columns import names

if TYPE_CHECKING:
    from collections.abc import Sequence

DRIFT_PCT: Final = 10.0
RANGE_PCT: Final = 20.0
PARTS: Final = 5
FAR_OUT: Final = 3.5
"""Modified z-scores beyond this mark an outlier."""

_BLOCKS: Final = 10
# Student's t, 97.5 %, by degrees of freedom: blocks less the two numbers of a straight line.
_T: Final = {3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646, 8: 2.3060}
_NORMAL_MEDIAN: Final = 0.6745
_NORMAL_MEAN: Final = 0.7979


def measured_span(
    first: datetime, last: datetime, warmup_s: float, measure_s: float | None = None
) -> tuple[datetime, datetime]:
    """Give the start and the end of the measured part of a run, which must lie in its recording.

    `first + warmup_s` and `measure_s` after it; without `measure_s` all of the rest.

    Raises:
        EsxparseError: A length is negative or none, or the recording ends before the span does.

    >>> from datetime import datetime
    >>> start, end = measured_span(datetime(2015, 11, 2, 9, 0), datetime(2015, 11, 2, 9, 5), 120, 120)
    >>> f"{start:%H:%M:%S} {end:%H:%M:%S}"
    '09:02:00 09:04:00'
    """
    _lengths(warmup_s, measure_s)
    if first == last:
        when = f"it begins and ends at {first:%H:%M:%S}"
        msg = (
            f"{when}: there is one sample (or one time), and an interval needs two: record longer, or widen the window"
        )
        raise EsxparseError(msg)
    try:
        start = first + timedelta(seconds=warmup_s)
        end = last if measure_s is None else start + timedelta(seconds=measure_s)
    except OverflowError:
        # Further away than a date can be, so after the end of any recording.
        start = end = datetime.max.replace(tzinfo=last.tzinfo)
    if start >= last or end > last:
        there = (last - first).total_seconds()
        wanted = f"{warmup_s:g} s of warm-up" + (f" and {measure_s:g} s measured" if measure_s is not None else "")
        msg = f"the recording is {there:g} s long, too short for {wanted}: record longer, or shorten the window"
        raise EsxparseError(msg)
    return start, end


def _lengths(warmup_s: float, measure_s: float | None) -> None:
    """Refuse lengths of time that are none."""
    if not (math.isfinite(warmup_s) and warmup_s >= 0):
        msg = f"the warm-up must be 0 seconds or more, not {warmup_s!r}"
        raise EsxparseError(msg)
    if measure_s is not None and not (math.isfinite(measure_s) and measure_s > 0):
        msg = f"the measured span must be longer than 0 seconds, not {measure_s!r}"
        raise EsxparseError(msg)


def cut(samples: pl.LazyFrame, warmup_s: float, measure_s: float | None = None, by: Sequence[str] = ()) -> pl.LazyFrame:
    """Keep the measured part: without the warm-up, and up to the end of the measured span.

    Needs `time` and the columns `by`, which tell runs apart. Counted from the first sample of each run; kept are
    `warmup_s < time - first <= warmup_s + measure_s`. All columns stay. A recording that ends too early gives what
    there is: `measured_span` refuses it.

    Raises:
        EsxparseError: A length is negative or none.

    >>> from datetime import datetime, timedelta
    >>> times = [datetime(2015, 11, 2) + timedelta(seconds=second) for second in range(0, 301, 60)]
    >>> cut(pl.LazyFrame({"time": times, "iops": range(6)}), 120, 120).collect()["iops"].to_list()
    [3, 4]
    """
    _lengths(warmup_s, measure_s)
    time = pl.col("time")
    first = time.min().over(by) if by else time.min()
    seconds = (time - first).dt.total_microseconds() / 1e6
    inside = seconds > warmup_s
    if measure_s is not None:
        inside &= seconds <= warmup_s + measure_s
    # A run that starts with its warm-up over has its first sample too.
    return samples.filter(inside if warmup_s else inside | (seconds == 0))


def outliers(samples: pl.LazyFrame, value: str, by: Sequence[str] = (), far_out: float = FAR_OUT) -> pl.LazyFrame:
    """Mark the intervals that stand out from the rest of their run; none is deleted.

    Modified z-score: `0.6745 x (value - median) / MAD`, MAD being the median of the absolute deviations from the
    median; where more than half of the values are the same and MAD is 0, `0.7979 x (value - median) / (mean absolute
    deviation)`. Needs `value` and the columns `by`. Adds:

    `value`_deviation  f64   the score; 0 where all values are the same, null without a value
    `value`_outlier    bool  |score| > `far_out`; null without a value

    A run that drifts widens its own MAD: look at `steadiness` first.

    Raises:
        EsxparseError: A column is missing, or `far_out` is not above 0.

    >>> samples = pl.LazyFrame({"iops": [1000.0, 1010.0, 990.0, 1005.0, 995.0, 400.0]})
    >>> outliers(samples, "iops").collect()["iops_outlier"].to_list()
    [False, False, False, False, False, True]
    """
    _check(samples, [value, *by])
    if not far_out > 0:
        msg = f"the score of an outlier must be above 0, not {far_out!r} (3.5 is usual)"
        raise EsxparseError(msg)
    number = pl.col(value).cast(pl.Float64)
    number = pl.when(number.is_finite()).then(number)

    def over(expression: pl.Expr) -> pl.Expr:
        return expression.over(by) if by else expression

    away = pl.col("_away")
    score = (
        pl.when(pl.col("_median") > 0)
        .then(_NORMAL_MEDIAN * away / pl.col("_median"))
        .when(pl.col("_mean") > 0)
        .then(_NORMAL_MEAN * away / pl.col("_mean"))
        .when(away.is_not_null())
        .then(0.0)
    )
    return (
        samples.with_columns((number - over(number.median())).alias("_away"))
        .with_columns(over(away.abs().median()).alias("_median"), over(away.abs().mean()).alias("_mean"))
        .with_columns(score.alias(f"{value}_deviation"), (score.abs() > far_out).alias(f"{value}_outlier"))
        .drop("_away", "_median", "_mean")
    )


def steadiness(
    samples: pl.LazyFrame,
    value: str,
    by: Sequence[str] = (),
    *,
    drift_pct: float = DRIFT_PCT,
    range_pct: float = RANGE_PCT,
) -> pl.LazyFrame:
    """Say whether a value stood still over the measured span.

    A straight line is put through the means of ten blocks of equal length (the samples themselves where there are
    fewer); blocks, because neighbouring samples resemble each other and would make the line look surer than it is. A
    throughput that wanders so slowly that blocks resemble each other looks like a drift: measure longer.

        drift = slope x length of the span / mean x 100        range = (max - min of five parts' means) / mean x 100

    Needs `time`, `value` and the columns `by`; give it the measured part (`cut`). Returns one row per run, in
    their order:

    *by
    samples, outliers     i64  samples with a value; those that `outliers` marks (they are in all numbers)
    span_s                f64  from the first to the last
    mean                  f64
    drift_pct             f64  % of the mean, over the span; above 0 it rises
    drift_low_pct, drift_high_pct  95 % interval of the drift
    range_pct             f64  % of the mean
    verdict               str, the first that holds:
        too few samples   fewer than 5
        no throughput     the mean is 0
        drifts up, drifts down   the drift is beyond `drift_pct` and its interval does not hold 0
        varies            the range is beyond `range_pct`
        too noisy to tell the interval of the drift reaches beyond `drift_pct`
        steady

    Raises:
        EsxparseError: A column is missing, or a limit is not above 0.

    >>> from datetime import datetime, timedelta
    >>> times = [datetime(2015, 11, 2) + timedelta(seconds=5 * place) for place in range(24)]
    >>> warming = pl.LazyFrame({"time": times, "iops": [1000.0 + 20 * place for place in range(24)]})
    >>> steadiness(warming, "iops").select("mean", pl.col("drift_pct").round(1), "verdict").collect().row(0)
    (1230.0, 37.4, 'drifts up')
    """
    _check(samples, ["time", value, *by])
    for limit, name in ((drift_pct, "drift_pct"), (range_pct, "range_pct")):
        if not limit > 0:
            msg = f"{name} must be above 0 percent, not {limit!r}"
            raise EsxparseError(msg)
    keys = [*by, "_all"]
    place, count = pl.int_range(pl.len()).over(keys), pl.len().over(keys)
    number = pl.col(value).cast(pl.Float64)
    sorted_samples = (
        samples.with_columns(pl.lit(0).alias("_all"))
        .filter(number.is_finite() & pl.col("time").is_not_null())
        .sort(*by, "time", maintain_order=True)
        .pipe(outliers, value, keys)
        .select(
            *keys,
            ((pl.col("time") - pl.col("time").min().over(keys)).dt.total_microseconds() / 1e6).alias("_x"),
            number.alias("_y"),
            pl.col(f"{value}_outlier").alias("_outlier"),
            (place * pl.min_horizontal(count, _BLOCKS) // count).alias("_block"),
            (place * PARTS // count).alias("_part"),
        )
    )
    means = sorted_samples.group_by(*keys, "_block", maintain_order=True).agg(pl.col("_x", "_y").mean())
    parts = sorted_samples.group_by(*keys, "_part", maintain_order=True).agg(pl.col("_y").mean())
    whole = sorted_samples.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("samples"),
        pl.col("_outlier").sum().cast(pl.Int64).alias("outliers"),
        pl.col("_x").max().alias("span_s"),
        pl.col("_y").mean().alias("mean"),
    )
    ends = parts.group_by(keys).agg((pl.col("_y").max() - pl.col("_y").min()).alias("_range"))
    share = 100 * pl.col("span_s") / pl.col("mean").abs()
    enough = (pl.col("samples") >= PARTS) & (pl.col("mean") != 0)
    drift, reach = pl.col("_slope") * share, pl.col("_error") * share
    runs = samples.select(*by, pl.lit(0).alias("_all")).unique(maintain_order=True)
    return (
        runs.join(whole, on=keys, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col("samples", "outliers").fill_null(0))
        .join(_lines(means, keys), on=keys, how="left", nulls_equal=True, maintain_order="left")
        .join(ends, on=keys, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            pl.when(enough).then(drift).alias("drift_pct"),
            pl.when(enough).then(drift - reach).alias("drift_low_pct"),
            pl.when(enough).then(drift + reach).alias("drift_high_pct"),
            pl.when(enough).then(100 * pl.col("_range") / pl.col("mean").abs()).alias("range_pct"),
        )
        .with_columns(_verdict(drift_pct, range_pct).alias("verdict"))
        .drop("_all", "_slope", "_error", "_range")
    )


def _lines(means: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The slope through the means of the blocks, and how far it may be off either way (95 %)."""
    x, y = pl.col("_x"), pl.col("_y")
    dx, dy = x - x.mean(), y - y.mean()
    wide = dx.pow(2).sum()
    slope = (dx * dy).sum() / wide
    left = (dy - slope * dx).pow(2).sum()
    freedom = pl.len().cast(pl.Int64) - 2
    t = freedom.replace_strict(_T, default=None, return_dtype=pl.Float64)
    error = t * (left / freedom / wide).sqrt()
    return means.group_by(keys).agg(slope.alias("_slope"), error.alias("_error"))


def _verdict(drift_pct: float, range_pct: float) -> pl.Expr:
    """The words for a row of numbers."""
    drift, low, high = pl.col("drift_pct"), pl.col("drift_low_pct"), pl.col("drift_high_pct")
    words: list[tuple[pl.Expr, str]] = [
        (pl.col("samples") < PARTS, "too few samples"),
        (pl.col("mean") == 0, "no throughput"),
        ((drift > drift_pct) & (low > 0), "drifts up"),
        ((drift < -drift_pct) & (high < 0), "drifts down"),
        (pl.col("range_pct") > range_pct, "varies"),
        (pl.max_horizontal(low.abs(), high.abs()) > drift_pct, "too noisy to tell"),
    ]
    chain: Any = pl
    for holds, what in words:
        chain = chain.when(holds).then(pl.lit(what))
    found: pl.Expr = chain.otherwise(pl.lit("steady"))
    return found


def _check(frame: pl.LazyFrame, wanted: Sequence[str]) -> None:
    """Refuse a table that lacks a column."""
    there = names(frame)
    for name in wanted:
        if name not in there:
            msg = f"no column {name!r}: the table has {', '.join(sorted(there))}"
            raise EsxparseError(msg)
