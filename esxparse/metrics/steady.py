"""Steady state: the part of a run that counts, whether it was steady, and which intervals are outliers.

A sample covers the interval that ends at its time, as in esxtop. So a warm-up of 120 s removes the samples up to and
including 120 s, and the measured 120 s after it end with the sample at 240 s.

Only the warm-up is removed: outliers are marked, and stay in every mean.

Means weight each sample by the time it covers (`over_time`). The straight line, the waves and the outliers do not:
each sample is one observation, whatever its length.

Neighbouring samples are correlated: n samples carry as much information as `n (1 - phi) / (1 + phi)` independent ones,
with phi the correlation of neighbours (an AR(1) process, the standard formula). phi has to be estimated from the same
samples, and is taken larger than the estimate. Measured coverage of the 95 % interval of the drift, in 8,000 series
each (4,000 of 240) without drift, by phi (`tests/metrics/test_metrics_steady.py` covers a part of it):

samples   0       0.3     0.5     0.7     0.8     0.9     0.95
5         98.6 %  96.9 %  95.6 %  94.1 %  93.0 %  92.2 %  91.6 %
7         98.4 %  97.5 %  96.6 %  95.2 %  94.0 %  92.7 %  92.1 %
12        98.8 %  98.0 %  97.4 %  96.5 %  95.7 %  94.9 %  94.3 %
24        98.4 %  98.1 %  97.8 %  97.4 %  97.0 %  96.2 %  95.2 %
60        97.6 %  97.5 %  97.7 %  97.9 %  97.9 %  97.4 %  96.8 %
240       97.0 %  97.2 %  97.8 %  98.5 %  98.7 %  99.2 %  99.1 %

Sources: "Scaling Performance for VAIO in vSphere 6.0 U1" (2 minutes of warm-up, the next 2 minutes measured). Limits
of 10 % for the straight line and 20 % for the values, over five parts: SNIA, Solid State Storage Performance Test
Specification, "Steady State". Outliers: B. Iglewicz and D. C. Hoaglin, "How to Detect and Handle Outliers" (1993),
with a limit for few samples that is ours. Swings: R. A. Fisher, "Tests of Significance in Harmonic Analysis" (1929),
repeated without the waves already found as in A. F. Siegel, "Testing for Periodicity in a Time Series" (1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.errors import EsxparseError
from esxparse.schema import schema

from . import over_time
from ._series import half_unit, half_unit_of, swing, trend
from .frames import names, need

DRIFT_PCT: Final = 10.0
RANGE_PCT: Final = 20.0
PARTS: Final = 5
FAR_OUT: Final = 3.5
"""Modified z-scores beyond this mark an outlier of a long run; short runs have a higher limit."""

TOO_FEW: Final = "too few samples to tell"
_NORMAL_MEDIAN: Final = 0.6745
_NORMAL_MEAN: Final = 0.7979
# At most 1 in 100 series of n values of noise has a score beyond 3.5 x (1.23 + 16.5 / (n - 2) ** 1.3).
_LONG, _SHORT, _POWER = 1.23, 16.5, 1.3
_OUTPUT: Final = schema(
    "samples outliers i64, span_s mean drift_pct drift_low_pct drift_high_pct effective_samples range_pct "
    "swing_pct f64, verdict str"
)


def measured_span(
    first: datetime, last: datetime, warmup_s: float, measure_s: float | None = None
) -> tuple[datetime, datetime]:
    """Return the start and the end of the measured part of a run, which must lie in its recording.

    `first + warmup_s` and `measure_s` after it; without `measure_s` the rest of the recording.

    Raises EsxparseError: A length is negative or invalid, or the recording ends before the span does.

    >>> from datetime import datetime
    >>> start, end = measured_span(datetime(2015, 11, 2, 9, 0), datetime(2015, 11, 2, 9, 5), 120, 120)
    >>> f"{start:%H:%M:%S} {end:%H:%M:%S}"
    '09:02:00 09:04:00'
    """
    _lengths(warmup_s, measure_s)
    if first == last:
        when = f"it starts and ends at {first:%H:%M:%S}"
        raise EsxparseError(
            f"{when}: it has one sample (or one time), but an interval needs two: record longer, or widen the window"
        )
    try:
        start = first + timedelta(seconds=warmup_s)
        end = last if measure_s is None else start + timedelta(seconds=measure_s)
    except OverflowError:
        # Further away than any date, so after the end of any recording.
        start = end = datetime.max.replace(tzinfo=last.tzinfo)
    if start >= last or end > last:
        there = (last - first).total_seconds()
        wanted = f"{warmup_s:g} s of warm-up" + (f" and {measure_s:g} s measured" if measure_s is not None else "")
        msg = f"the recording is {there:g} s long, too short for {wanted}: record longer, or shorten the window"
        raise EsxparseError(msg)
    return start, end


def _lengths(warmup_s: float, measure_s: float | None) -> None:
    if not (math.isfinite(warmup_s) and warmup_s >= 0):
        raise EsxparseError(f"the warm-up must be 0 seconds or more, not {warmup_s!r}")
    if measure_s is not None and not (math.isfinite(measure_s) and measure_s > 0):
        raise EsxparseError(f"the measured span must be longer than 0 seconds, not {measure_s!r}")


def cut(samples: pl.LazyFrame, warmup_s: float, measure_s: float | None = None, by: Sequence[str] = ()) -> pl.LazyFrame:
    """Keep the measured part: without the warm-up, and up to the end of the measured span.

    Needs `time` and the columns `by`, which identify runs. Keeps `warmup_s < time - first <= warmup_s + measure_s`,
    counted from the first sample of each run. All columns stay. A recording that ends too early returns fewer samples;
    `measured_span` rejects it.

    Raises EsxparseError: A length is negative or invalid.

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
    # Without a warm-up, keep the first sample too.
    return samples.filter(inside if warmup_s else inside | (seconds == 0))


def outliers(samples: pl.LazyFrame, value: str, by: Sequence[str] = (), far_out: float = FAR_OUT) -> pl.LazyFrame:
    """Mark the outliers of a run; none is deleted.

    Modified z-score: `0.6745 x (value - median) / MAD`, with MAD the median of the absolute deviations from the
    median, at least half a unit of the last printed decimal. If that is 0: `0.7979 x (value - median) / (mean absolute
    deviation)`. The median of few deviations is often small by chance, so short runs have a higher limit, `far_out x
    (1.23 + 16.5 / (n - 2)^1.3)`. At most 1 in 100 runs of 5 to 240 values of normal noise then has an outlier, and 2
    in 100 runs of 5 values with the heavy tails of Student's t of 3 degrees.
    Needs `value` and the columns `by`. Adds:

    `value`_deviation  f64   the score; 0 if all values are equal, null without a value
    `value`_outlier    bool  |score| beyond the limit; null without a value, and in runs of fewer than 5

    A run that drifts widens its own MAD: check `steadiness` first.

    Raises EsxparseError: A column is missing, or `far_out` is not above 0.

    >>> samples = pl.LazyFrame({"iops": [1000.0, 1010.0, 990.0, 1005.0, 995.0, 400.0]})
    >>> outliers(samples, "iops").collect()["iops_outlier"].to_list()
    [False, False, False, False, False, True]
    """
    need(names(samples), value, *by)
    if not far_out > 0:
        raise EsxparseError(f"the score of an outlier must be above 0, not {far_out!r} (3.5 is usual)")
    number = pl.col(value).cast(pl.Float64)
    number = pl.when(number.is_finite()).then(number)

    def over(expression: pl.Expr) -> pl.Expr:
        return expression.over(by) if by else expression

    away, count, median = pl.col("_away"), pl.col("_count"), pl.max_horizontal("_median", "_half")
    score = (
        pl.when(median > 0)
        .then(_NORMAL_MEDIAN * away / median)
        .when(pl.col("_mean") > 0)
        .then(_NORMAL_MEAN * away / pl.col("_mean"))
        .when(away.is_not_null())
        .then(0.0)
    )
    limit = pl.when(count >= PARTS).then(far_out * (_LONG + _SHORT / (count.cast(pl.Float64) - 2) ** _POWER))
    return (
        samples.with_columns(
            (number - over(number.median())).alias("_away"),
            over(number.count()).alias("_count"),
            over(half_unit_of(number)).alias("_half"),
        )
        .with_columns(over(away.abs().median()).alias("_median"), over(away.abs().mean()).alias("_mean"))
        .with_columns(score.alias(f"{value}_deviation"), (score.abs() > limit).alias(f"{value}_outlier"))
        .drop("_away", "_count", "_half", "_median", "_mean")
    )


def steadiness(
    samples: pl.LazyFrame,
    value: str,
    by: Sequence[str] = (),
    *,
    drift_pct: float = DRIFT_PCT,
    range_pct: float = RANGE_PCT,
) -> pl.LazyFrame:
    """Judge whether a value was steady over the measured span.

    A straight line is fitted to the samples, or to the means of 120 blocks of equal length if there are more than 120
    samples. Its error allows for slightly more correlation of neighbours than these samples have (the module docstring
    gives the coverage). Waves are separated from noise by the share of a single frequency in the total (1 in 100 runs
    of noise is mistaken). The swing is the height of the sine waves found.

        drift = slope x length of the span / mean x 100        range = (max - min of five parts' means) / mean x 100
        The five parts are equally long.
        swing = crest - trough of the waves / mean x 100

    Needs `time`, `value` and the columns `by`; pass the measured part (`cut`). If the interval changes, call
    `over_time.with_covered` before the cut. Returns one row per run, in their order:

    *by
    samples, outliers     i64  samples with a value; samples marked by `outliers` (they stay in all numbers)
    span_s                f64  from the first to the last
    mean                  f64  over time
    drift_pct             f64  % of the mean, over the span; above 0 it rises
    drift_low_pct, drift_high_pct  95 % interval of the drift
    effective_samples     f64  number of independent samples with the same information
    range_pct             f64  % of the mean
    swing_pct             f64  % of the mean; 0 without waves
    verdict               str, the first that holds:
        too few samples   fewer than 5
        no throughput     the mean is 0
        drifts up, drifts down   the drift is beyond `drift_pct` and its interval does not include 0
        varies            the range or the swing is beyond `range_pct`
        too noisy to tell the interval of the drift would reach beyond `drift_pct` even if no sample resembled the next
        too few samples to tell   the interval reaches beyond `drift_pct`, for the correlation of neighbours is unclear,
                          and the five parts' means differ by more than `drift_pct`
        steady            of 100 runs without a drift and with 1.5 % of noise 100, with 5 % 59 of 24 samples and 95 of
                          48; of 100 that drift by 20 % at most 1, with neighbours that correlate by 0.9 up to 6

    Raises EsxparseError: A column is missing, or a limit is not above 0.

    >>> from datetime import datetime, timedelta
    >>> times = [datetime(2015, 11, 2) + timedelta(seconds=5 * place) for place in range(24)]
    >>> warming = pl.LazyFrame({"time": times, "iops": [1000.0 + 20 * place for place in range(24)]})
    >>> steadiness(warming, "iops").select("mean", pl.col("drift_pct").round(1), "verdict").collect().row(0)
    (1230.0, 37.4, 'drifts up')
    """
    need(names(samples), "time", value, *by)
    for limit, name in ((drift_pct, "drift_pct"), (range_pct, "range_pct")):
        if not limit > 0:
            raise EsxparseError(f"{name} must be above 0 percent, not {limit!r}")
    keys, number = [*by, "_all"], pl.col(value).cast(pl.Float64)
    known = number.is_finite() & pl.col("time").is_not_null()
    all_samples = over_time.with_covered(samples, *by).with_columns(pl.lit(0).alias("_all"))
    marked = all_samples.filter(known).sort("time", maintain_order=True).pipe(outliers, value, keys)
    since = (pl.col("time") - pl.col("time").min()).cast(pl.Duration("us")).dt.total_microseconds() / 1e6
    series = marked.group_by(keys).agg(
        since.alias("_x"),
        number.alias("_y"),
        pl.col(over_time.COVERED).alias("_s"),
        pl.col(f"{value}_outlier").sum().cast(pl.Int64).alias("outliers"),
    )
    runs = samples.select(*by, pl.lit(0).alias("_all")).unique(maintain_order=True)
    schema = {name: kind for name, kind in runs.collect_schema().items() if name != "_all"}

    def judge(frame: pl.DataFrame) -> pl.DataFrame:
        rows = [
            _judged(_array(x), _array(y), _array(covered), drift_pct, range_pct) | {"outliers": outliers or 0}
            for x, y, covered, outliers in frame.select("_x", "_y", "_s", "outliers").iter_rows()
        ]
        return pl.concat([frame.select(list(schema)), pl.DataFrame(rows, schema=_OUTPUT)], how="horizontal")

    joined = runs.join(series, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined.map_batches(judge, schema={**schema, **_OUTPUT})


def _array(numbers: Sequence[float | None] | None) -> NDArray[Any]:
    return np.array(numbers or [], dtype=np.float64)


def _part_means(values: NDArray[Any], covered: NDArray[Any] | None) -> list[float]:
    """Return the means of five equally long parts; a sample in two parts counts for its time in each."""
    if covered is None:
        return [float(part.mean()) for part in np.array_split(values, PARTS)]
    ends = np.cumsum(covered)
    edges = np.linspace(0.0, ends[-1], PARTS + 1)
    total = np.interp(edges, np.append(0.0, ends), np.append(0.0, np.cumsum(values * covered)))
    return [float(part) for part in np.diff(total) / np.diff(edges)]


def _judged(
    seconds: NDArray[Any], values: NDArray[Any], covered: NDArray[Any], drift_pct: float, range_pct: float
) -> dict[str, Any]:
    count = len(values)
    # A sum of 0 or NaN means a constant interval.
    weights = covered if covered.sum() > 0 else None
    mean = over_time.average(values, weights) if count else None
    found: dict[str, Any] = dict.fromkeys(_OUTPUT) | {"samples": count, "mean": mean}
    found["span_s"] = float(seconds[-1]) if count else None
    if count < PARTS:
        return found | {"verdict": "too few samples"}
    if not mean:
        return found | {"verdict": "no throughput"}
    line = trend(seconds, values, half_unit(values))
    scale = 100 / abs(mean)
    parts = _part_means(values, weights)
    drift, reach = line.change * scale, line.reach * scale
    found |= {
        "drift_pct": drift,
        "drift_low_pct": drift - reach if math.isfinite(reach) else None,
        "drift_high_pct": drift + reach if math.isfinite(reach) else None,
        "effective_samples": line.effective,
        "range_pct": (max(parts) - min(parts)) * scale,
        "swing_pct": swing(seconds, values) * scale,
    }
    if abs(drift) > drift_pct and abs(drift) > reach:
        verdict = "drifts up" if drift > 0 else "drifts down"
    elif max(found["range_pct"], found["swing_pct"]) > range_pct:
        verdict = "varies"
    elif abs(drift) + line.least_reach * scale > drift_pct:
        verdict = "too noisy to tell"
    elif abs(drift) + reach > drift_pct and found["range_pct"] > drift_pct:
        # Samples this correlated could hide a drift only by wandering back, but their range is small.
        verdict = TOO_FEW
    else:
        verdict = "steady"
    return found | {"verdict": verdict}
