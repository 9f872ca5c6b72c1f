"""Power and load averaged over the same intervals, for fitting a line.

A meter's readings and a capture's samples are means over different intervals. Watts spread over the samples of a
capture, fitted on its load, give a slope that is too low: 2.56 W per % instead of 3.57. So both are averaged over
intervals that begin and end at readings, each the nearest to the end of a sample:

- a meter coarser than the capture: one interval for each reading, the load averaged over it;
- a meter finer than the capture: as many whole readings as fit a sample, their watts averaged, the load likewise.

A reading covers the time since the previous one, or its own shorter interval. Readings of a single moment, or late
readings, fit better a little earlier or later than their timestamps. If the load shows this clearly, readings are
shifted for the fit, by twice the longer of the two intervals at most.

Source: least squares with the mean load over the same interval as the watts. The unknown load within an interval is
then noise that does not change the slope (general knowledge: Berkson's model of errors).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from esxparse.schema import TIME

from ._series import seconds_since
from .energy import LONGEST_GAP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._series import Numbers

_FEWEST: Final = 10
"""Fewest intervals for finding a shift of the readings."""
_SURE: Final = 0.8
"""Smallest correlation for a shift."""
_BETTER: Final = 0.01
"""Smallest gain in correlation for a shift."""
_FINE: Final = 10
"""The precision of a shift is a step of the search divided by this."""
_MOST_STEPS: Final = 40
"""Most steps of the search either way."""


class Shared(NamedTuple):
    """Watts and load over the same intervals."""

    table: pl.DataFrame
    """time (end of the interval), interval_s (covered seconds), watts, and the columns of the load, null if unknown."""
    shift_s: float
    """Seconds added to the times of the readings."""


class _Spans(NamedTuple):
    """Intervals with a value each: (begin, end], in s, rounded to the microseconds of timestamps."""

    begins: Numbers
    ends: Numbers

    def later(self, seconds: float) -> _Spans:
        return _Spans(np.round(self.begins + seconds, 6), np.round(self.ends + seconds, 6))


def shared(load: pl.DataFrame, readings: pl.DataFrame) -> Shared:
    """Average power and load over the same intervals.

    Args:
        load: One row per sample of a capture, in order of time without repeats: `time`, the end of the sample, and
            columns of numbers; the first column with values decides the shift of the readings.
        readings: Readings of one sensor, in order of time without repeats: `time`, `watts`, and `own_s`, the seconds
            that a reading averages, if known.

    >>> from datetime import datetime, timedelta, timezone
    >>> at = [datetime(2026, 3, 2, tzinfo=timezone.utc) + timedelta(seconds=20 * n) for n in range(4)]
    >>> load = pl.DataFrame({"time": at, "util_pct": [10.0, 20.0, 60.0, 20.0]})
    >>> meter = pl.DataFrame({"time": at[1::2], "watts": [115.0, 140.0], "own_s": [40.0, 40.0]})
    >>> shared(load, meter).table.select("interval_s", "watts", "util_pct").rows()
    [(40.0, 140.0, 40.0)]
    """
    names = [name for name in load.columns if name != "time"]
    if load.height < 2 or readings.height < 2:  # noqa: PLR2004  two ends
        return Shared(_table(load, names, np.empty(0), np.empty((0, 2 + len(names)))), 0.0)
    zero = load["time"][0]
    samples = _spans(seconds_since(load["time"], zero), None)
    loads = load.select(pl.col(names).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
    own = readings["own_s"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    meter = _spans(seconds_since(readings["time"], zero), own)
    watts = readings["watts"].cast(pl.Float64).to_numpy()
    first_known = loads[:, np.isfinite(loads).any(axis=0)][:, :1]
    shift = _shift(samples, first_known, meter, watts)
    ends, means = _means(samples, loads, meter.later(shift), watts)
    return Shared(_table(load, names, ends, means), shift)


def _table(load: pl.DataFrame, names: list[str], ends: Numbers, means: Numbers) -> pl.DataFrame:
    zero = pl.lit(load["time"].cast(TIME).min()).cast(TIME)
    numbers = dict.fromkeys(["_end", "interval_s", "watts", *names], pl.Float64)
    frame = pl.DataFrame(np.column_stack((ends, means)), schema=numbers, orient="row").fill_nan(None)
    time = zero + pl.duration(microseconds=(pl.col("_end") * 1e6).round().cast(pl.Int64))
    return frame.select(time.alias("time"), pl.exclude("_end"))


def _spans(ends: Numbers, own: Numbers | None) -> _Spans:
    """Return the span of each value: since the previous value, the usual step after a gap, or its own interval.

    The first span is empty, unless its own interval is known.
    """
    steps = np.diff(ends)
    usual = float(np.median(steps))
    lengths = np.concatenate(([usual], np.where(steps > LONGEST_GAP * usual, usual, steps)))
    if own is None:
        own = np.full(len(ends), np.nan)
    lengths = np.where(own > 0, np.minimum(own, lengths), lengths)
    lengths[0] = lengths[0] if own[0] > 0 else 0.0
    return _Spans(np.round(ends - lengths, 6), np.round(ends, 6))


def _cells(spans: _Spans, middles: Numbers) -> Numbers:
    """Return the span that contains each moment; -1 if no span does."""
    place = np.searchsorted(spans.ends, middles)
    inside = np.minimum(place, len(spans.ends) - 1)
    return np.where((place < len(spans.ends)) & (spans.begins[inside] < middles), inside, -1)


def _means(samples: _Spans, loads: Numbers, meter: _Spans, watts: Numbers) -> tuple[Numbers, Numbers]:
    """Return the ends of the intervals, and for each: covered seconds, watts, and the columns of the load."""
    edges = np.unique(np.concatenate((meter.begins, meter.ends)))
    # Samples before and after all readings have no end of a reading nearby.
    room = float(np.median(meter.ends - meter.begins)) / 2
    ends = samples.ends[(samples.ends >= edges[0] - room) & (samples.ends <= edges[-1] + room)]
    right = np.clip(np.searchsorted(edges, ends), 1, len(edges) - 1)
    nearest = np.where(ends - edges[right - 1] <= edges[right] - ends, right - 1, right)
    bounds = edges[np.unique(nearest)]
    if len(bounds) < 2:  # noqa: PLR2004  two ends
        return np.empty(0), np.empty((0, 2 + loads.shape[1]))
    knots = np.unique(np.concatenate((edges, samples.begins, samples.ends)))
    knots = knots[(knots >= bounds[0]) & (knots <= bounds[-1])]
    lengths, middles = np.diff(knots), (knots[:-1] + knots[1:]) / 2
    reading, sample = _cells(meter, middles), _cells(samples, middles)
    covered = reading >= 0
    window = np.searchsorted(bounds, middles) - 1

    def total(weights: Numbers) -> Numbers:
        return np.asarray(np.bincount(window, weights), dtype=np.float64)

    known = total(np.where(covered, lengths, 0.0))
    # Rounded timestamps leave slivers of a microsecond.
    sliver = 1e-5 * np.maximum(known, 1.0)
    columns = [known, total(np.where(covered, lengths * watts[reading], 0.0)) / np.maximum(known, 1e-9)]
    for number in range(loads.shape[1]):
        values = np.where(sample >= 0, loads[sample, number], np.nan)
        there = covered & np.isfinite(values)
        seconds = total(np.where(there, lengths, 0.0))
        mean = total(np.where(there, lengths * np.nan_to_num(values), 0.0)) / np.maximum(seconds, 1e-9)
        columns.append(np.where(seconds >= known - sliver, mean, np.nan))
    table = np.column_stack(columns)
    kept = (known > sliver) & np.isfinite(table[:, 2:]).any(axis=1)
    return bounds[1:][kept], table[kept]


def _correlation(samples: _Spans, load: Numbers, meter: _Spans, watts: Numbers) -> float:
    _, means = _means(samples, load, meter, watts)
    both = means[np.isfinite(means).all(axis=1)]
    if len(both) < _FEWEST or np.ptp(both[:, 1]) == 0 or np.ptp(both[:, 2]) == 0:
        return float("nan")
    return float(np.corrcoef(both[:, 1], both[:, 2])[0, 1])


def _shift(samples: _Spans, load: Numbers, meter: _Spans, watts: Numbers) -> float:
    """Return the seconds to add to the times of the readings for the best correlation with the load; 0 if unclear."""
    here = _correlation(samples, load, meter, watts)
    if not np.isfinite(here):
        return 0.0

    def best(tried: NDArray[Any]) -> tuple[float, float]:
        found = np.array([_correlation(samples, load, meter.later(shift), watts) for shift in tried])
        place = int(np.argmax(np.nan_to_num(found, nan=-2.0)))
        return float(tried[place]), float(found[place])

    apart = [float(np.median(np.diff(one.ends))) for one in (samples, meter)]
    furthest = 2 * max(apart)
    step = max(min(apart) / 3, furthest / _MOST_STEPS)
    shift, _ = best(step * np.arange(-round(furthest / step), round(furthest / step) + 1))
    shift, correlation = best(shift + step / _FINE * np.arange(-_FINE, _FINE + 1))
    return shift if correlation >= _SURE and correlation - here >= _BETTER else 0.0
