"""Level changes in series: their place and size, for thousands of series at once, arrays in and out.

The running sum of a series minus its mean begins and ends at 0. The sum climbs while the series is high and falls
while it is low. Between the lowest and highest sums lies the part of the series that differs most from the rest: a
spell, or everything after a step. The climb over the square root of the samples is Kuiper's statistic. Noise alone
passes 2 in about one series in 100. Every sample counts alike, whatever time it covers.

Source: N. H. Kuiper 1960, the statistic; B. Levin and J. Kline 1985, a level that changes and comes back. Neighbouring
samples of a host are alike, so noise counts as (1 + r) / (1 - r) of itself, r the correlation from one sample to the
next (general knowledge of AR(1) processes). `beyond` is our own; `benchmarks/changes.py` compares it with its peers.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Numbers = NDArray[np.float64]

_CLIPPED = 8.0
"""Deviations are clipped to this many spreads: a single extreme value is not a change of level."""
_SPREAD = 1.4826
"""Standard deviation of normal noise over its median absolute deviation."""
_MOST_ALIKE = 0.9
_PASSED = 0.8
"""Quantile of distances that counts: a fifth of the samples are farther away."""
_SOON = 24
"""Number of samples in which a short spell is looked for."""
_FLOOR = 0.02
"""Smallest deviation that counts, as a share of the level or of the unit: twice the precision of printed counters."""


class Parts(NamedTuple):
    """The part of each series that differs most from the rest: one value per series."""

    begin: NDArray[np.int64]
    """First sample of the part."""
    end: NDArray[np.int64]
    """First sample after the part."""
    statistic: Numbers
    """Kuiper's statistic; 0 for a constant series."""


def parts(series: Matrix) -> Parts:
    """Find the part of each series whose level differs most from the rest.

    `series`: one row per series, one column per sample, NaN for missing values.

    >>> found = parts(np.array([[1, 1, 1, 1, 5, 5, 5, 1, 1, 1]], np.float32))
    >>> found.begin.tolist(), found.end.tolist()
    ([4], [7])
    """
    off = np.nan_to_num(series - quantile(series, 0.5)[:, None])
    spread = _SPREAD * np.median(np.abs(off), axis=1)
    # More than half of the samples are equal: use the root mean square as the noise.
    spread = np.where(spread > 0, spread, np.sqrt((off**2).mean(axis=1)))
    scaled = np.clip(off / np.where(spread > 0, spread, 1)[:, None], -_CLIPPED, _CLIPPED)
    scaled -= scaled.mean(axis=1, keepdims=True)
    climbed = np.cumsum(scaled, axis=1)
    high, low = climbed.argmax(axis=1), climbed.argmin(axis=1)
    way = np.take_along_axis(climbed, high[:, None], 1) - np.take_along_axis(climbed, low[:, None], 1)
    begin, end = np.minimum(high, low) + 1, np.maximum(high, low) + 1
    place = np.arange(series.shape[1])
    inside = (place >= begin[:, None]) & (place < end[:, None])
    count = inside.sum(axis=1)
    within = (scaled * inside).sum(axis=1) / np.maximum(count, 1)
    # The mean of all is 0.
    outside = -within * count / np.maximum(series.shape[1] - count, 1)
    left = scaled - np.where(inside, within[:, None], outside[:, None])
    squares = np.maximum((left**2).sum(axis=1), 1e-12)
    alike = np.clip((left[:, 1:] * left[:, :-1]).sum(axis=1) / squares, 0, _MOST_ALIKE)
    deviation = np.maximum(scaled.std(axis=1), 1e-12)
    statistic = way[:, 0] / (deviation * np.sqrt(series.shape[1] * (1 + alike) / (1 - alike)))
    return Parts(begin, end, np.where(spread > 0, statistic, 0).astype(np.float64))


class Beyond(NamedTuple):
    """How far each series went beyond its earlier values: one value per series."""

    before: Numbers
    """Median before."""
    passed: Numbers
    """Distance from `before` that a fifth of the later samples pass, of all or of the first 24."""
    farthest: Numbers
    """Largest distance before; at least the standard deviation before, and 2 % of the level or the unit."""
    after: Numbers
    """Median after; for a shorter change beyond the usual, the level that a fifth of the samples reach."""

    def times(self, counter: NDArray[np.int64]) -> Numbers:
        """Return `passed` over `farthest`, or over the upper quartile of `farthest` per `counter` if larger.

        A series that was idle before may become as noisy as its neighbours always were. 0 if a side has no value.
        """
        known = pl.DataFrame({"counter": counter, "farthest": self.farthest}).with_columns(
            pl.col("farthest").fill_nan(0)
        )
        usual = known.select(pl.col("farthest").quantile(0.75).over("counter")).to_series().to_numpy()
        with np.errstate(invalid="ignore"):
            over: Numbers = self.passed / np.maximum(self.farthest, usual)
        over[np.isnan(over)] = 0
        return over


def beyond(series: Matrix, at: int | NDArray[np.int64]) -> Beyond:
    """Measure how far each series went, from sample `at` on, beyond its earlier values.

    `at`: one sample for all, or one for each series.

    >>> series = np.array([[10, 11, 9, 10, 12, 12, 12], [1, 2, 1, 2, 1, 2, 1]], np.float32)
    >>> beyond(series, 4).times(np.array([0, 1])).round(2).tolist()
    [2.0, 1.0]
    >>> beyond(series, np.array([4, 5])).before.tolist()
    [10.0, 1.0]
    """
    before, after, soon = _split(series, at)
    level = quantile(before, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        farthest = np.nanmax(np.abs(before - level[:, None]), axis=1)
        floor = np.maximum(np.nanstd(before, axis=1), _FLOOR * np.maximum(np.abs(level), 1))
        passed = np.fmax(*(quantile(np.abs(one - level[:, None]), _PASSED) for one in (after, soon)))
    usual = np.maximum(farthest, floor)
    with np.errstate(invalid="ignore"):
        reached = np.where(passed > usual, _reached(after, soon, level, passed), quantile(after, 0.5))
    return Beyond(*(one.astype(np.float64) for one in (level, passed, usual, reached)))


def _split(series: Matrix, at: int | NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
    """Return the samples before `at`, the samples from `at` on, and the first 24 of the latter."""
    if isinstance(at, int):
        return series[:, :at], series[:, at:], series[:, at : at + _SOON]
    place, begin = np.arange(series.shape[1]), at[:, None]
    nothing = np.float32(np.nan)
    inside = (place < begin, place >= begin, (place >= begin) & (place < begin + _SOON))
    before, after, soon = (np.where(one, series, nothing) for one in inside)
    return before, after, soon


def _reached(after: Matrix, soon: Matrix, level: Matrix, passed: Matrix) -> Matrix:
    """Return the level after: the median, unless a scored change lasts less than half of the time."""
    ends = [quantile(one, share) for one in (after, soon) for share in (1 - _PASSED, _PASSED)]
    away = np.stack(ends) - level
    farthest = np.nanargmax(np.nan_to_num(np.abs(away), nan=-1.0), axis=0)
    end = np.take_along_axis(np.stack(ends), farthest[None, :], 0)[0]
    middle = quantile(after, 0.5)
    with np.errstate(invalid="ignore"):
        reached: Matrix = np.where(np.abs(middle - level) >= passed / 2, middle, end)
    return reached


def quantile(series: Matrix, share: float) -> Matrix:
    """Return a quantile of each row, interpolated between samples; NaN if a row has no value."""
    ordered = np.sort(series, axis=1)
    known = series.shape[1] - np.isnan(ordered).sum(axis=1)
    place = np.maximum(known - 1, 0) * share
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, np.maximum(known - 1, 0))
    rows = np.arange(len(series))
    low, high = ordered[rows, lower], ordered[rows, upper]
    between: Matrix = (low + (high - low) * (place - lower)).astype(np.float32)
    return between
