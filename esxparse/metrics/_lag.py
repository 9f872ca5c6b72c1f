"""How far two clocks are apart, told by what both have seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_ALIKE = 0.02
"""Peaks this close to the best count as good as it: of those the shortest lag is meant."""
_FEWEST = 20
"""Points that two series have to share for a correlation to say anything."""
_SHARE = 0.5
_MOST_POINTS = 1 << 20


@dataclass(frozen=True)
class Lag:
    """How well two series go together as they are, and where they do best."""

    seconds: float
    """To be added to the times of the second series."""
    correlation: float
    """There, -1 to 1."""
    unshifted: float
    """Correlation as they are; NaN where they share too few points."""
    step: float
    """s, how exactly the lag is known."""


def _gridded(seconds: Numbers, values: Numbers, start: float, step: float, points: int, gap: float) -> Numbers:
    """The series on a regular grid; NaN outside and in its gaps."""
    grid = start + step * np.arange(points)
    found = np.interp(grid, seconds, values, left=np.nan, right=np.nan)
    after = np.searchsorted(seconds, grid)
    inside = (after > 0) & (after < len(seconds))
    width = np.zeros(points)
    width[inside] = seconds[after[inside]] - seconds[after[inside] - 1]
    found[width > gap] = np.nan
    return np.asarray(found, dtype=np.float64)


def _smoothed(seconds: Numbers, values: Numbers, step: float) -> tuple[Numbers, Numbers]:
    """Means over periods of `step`, for a series that is finer than that."""
    bins = np.floor((seconds - seconds[0]) / step).astype(np.int64)
    _, inverse, counts = np.unique(bins, return_inverse=True, return_counts=True)
    return np.bincount(inverse, seconds) / counts, np.bincount(inverse, values) / counts


def _correlations(first: Numbers, second: Numbers, fewest: int) -> Numbers:
    """Correlation of the points both have, at every lag from -(len(second) - 1) points on."""
    size = 1 << int(np.ceil(np.log2(len(first) + len(second))))

    def cross(one: Numbers, other: Numbers) -> Numbers:
        product = np.fft.rfft(one, size) * np.conj(np.fft.rfft(other, size))
        ring = np.fft.irfft(product, size)
        return np.concatenate((ring[size - len(second) + 1 :], ring[: len(first)]))

    has_first, has_second = np.isfinite(first).astype(float), np.isfinite(second).astype(float)
    one = np.where(has_first > 0, first - np.nanmean(first), 0.0)
    other = np.where(has_second > 0, second - np.nanmean(second), 0.0)
    shared = np.maximum(np.round(cross(has_first, has_second)), 0)
    count = np.maximum(shared, 1)
    sum_one, sum_other = cross(one, has_second), cross(has_first, other)
    spread_one = cross(one**2, has_second) - sum_one**2 / count
    spread_other = cross(has_first, other**2) - sum_other**2 / count
    # A flat stretch correlates with nothing; rounding would make something of it.
    flat = (spread_one < 1e-3 * np.sum(one**2) * count / max(has_first.sum(), 1)) | (
        spread_other < 1e-3 * np.sum(other**2) * count / max(has_second.sum(), 1)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (cross(one, other) - sum_one * sum_other / count) / np.sqrt(spread_one * spread_other)
    return np.where((shared >= fewest) & ~flat & np.isfinite(found), np.clip(found, -1, 1), np.nan)


def _usual(seconds: Numbers) -> float:
    steps = np.diff(seconds)
    return float(np.median(steps[steps > 0])) if np.any(steps > 0) else 0.0


def best_lag(
    first: tuple[Numbers, Numbers], second: tuple[Numbers, Numbers], furthest: float, gap: float
) -> Lag | None:
    """The lag, within `furthest` seconds either way, at which two series (seconds, values) go together best.

    The second series' times plus the lag are the first's. None where nothing can be said: too few points, or one of
    the two does not move.
    """
    step = max(_usual(first[0]), _usual(second[0]))
    if step <= 0:
        return None
    span = max(first[0][-1] - first[0][0], second[0][-1] - second[0][0])
    step = max(step, span / _MOST_POINTS)
    series = []
    for seconds, values in (first, second):
        ready = _smoothed(seconds, values, step) if _usual(seconds) < step / 2 else (seconds, values)
        start = np.floor(ready[0][0] / step) * step
        points = int((ready[0][-1] - start) / step) + 1
        series.append((start, _gridded(*ready, start, step, points, max(gap, 3 * step))))
    known = [int(np.isfinite(values).sum()) for _, values in series]
    fewest = max(_FEWEST, int(_SHARE * min(known)))
    if min(known) < _FEWEST:
        return None
    found = _correlations(series[0][1], series[1][1], fewest)
    lags = (np.arange(len(found)) - (len(series[1][1]) - 1)) * step + series[0][0] - series[1][0]
    found = np.where(np.abs(lags) <= furthest, found, np.nan)
    if not np.isfinite(found).any():
        return None
    good = np.flatnonzero(found >= np.nanmax(found) - _ALIKE)
    place = int(good[np.argmin(np.abs(lags[good]))])
    # From the foot of a peak to its top.
    while True:
        near = max(
            range(max(place - 1, 0), min(place + 2, len(found))), key=lambda at: np.nan_to_num(found[at], nan=-2.0)
        )
        if near == place:
            break
        place = near
    zero = int(np.argmin(np.abs(lags)))
    unshifted = float(found[zero]) if abs(lags[zero]) <= step else float("nan")
    return Lag(float(lags[place]), float(found[place]), unshifted, step)
