"""Numbers of one series: straight line, waves, unit of the last digit, and the lag between two clocks.

A printed number is known to half a unit of its last digit: 9.40 may have been 9.395 or 9.405. The values of a column
show how many decimals it was printed with: no value has more. A mean of different values has every decimal a float can
hold. Its precision follows from its scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.schema import TIME

Numbers = NDArray[np.float64]


def seconds_since(times: pl.Series, zero: datetime) -> Numbers:
    """Return the times of a series in seconds since `zero`."""
    since = (times.cast(TIME) - zero).dt.total_microseconds()
    return np.asarray(since.to_numpy() / 1e6, dtype=np.float64)


_ALIKE = 0.02
"""Peaks this close to the best count as equally good; the shortest of their lags wins."""
_FEWEST_SHARED = 20
"""Fewest points that two series must share for a correlation."""
_SHARE = 0.5
_MOST_POINTS = 1 << 20


@dataclass(frozen=True)
class Lag:
    """The correlation of two series without a shift, and at their best lag."""

    seconds: float
    """To be added to the times of the second series."""
    correlation: float
    """Correlation at this lag, -1 to 1."""
    unshifted: float
    """Correlation without a shift; NaN if they share too few points."""
    step: float
    """Precision of the lag, s."""


def _gridded(seconds: Numbers, values: Numbers, start: float, step: float, points: int, gap: float) -> Numbers:
    """Return the series on a regular grid; NaN outside it and in its gaps."""
    grid = start + step * np.arange(points)
    found = np.interp(grid, seconds, values, left=np.nan, right=np.nan)
    after = np.searchsorted(seconds, grid)
    inside = (after > 0) & (after < len(seconds))
    width = np.zeros(points)
    width[inside] = seconds[after[inside]] - seconds[after[inside] - 1]
    found[width > gap] = np.nan
    return np.asarray(found, dtype=np.float64)


def _smoothed(seconds: Numbers, values: Numbers, step: float) -> tuple[Numbers, Numbers]:
    """Return means over periods of `step`, for a series with shorter steps."""
    bins = np.floor((seconds - seconds[0]) / step).astype(np.int64)
    _, inverse, counts = np.unique(bins, return_inverse=True, return_counts=True)
    return np.bincount(inverse, seconds) / counts, np.bincount(inverse, values) / counts


def _correlations(first: Numbers, second: Numbers, fewest: int) -> Numbers:
    """Return the correlation of the shared points at every lag from -(len(second) - 1) points on."""
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
    # A flat stretch correlates with nothing; without this check, rounding errors would correlate.
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
    """Return the lag, within `furthest` seconds either way, at which two series (seconds, values) correlate best.

    Add the lag to the times of the second series to match the first. None if there are too few points, or if one of
    the two series is constant.
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
    fewest = max(_FEWEST_SHARED, int(_SHARE * min(known)))
    if min(known) < _FEWEST_SHARED:
        return None
    found = _correlations(series[0][1], series[1][1], fewest)
    lags = (np.arange(len(found)) - (len(series[1][1]) - 1)) * step + series[0][0] - series[1][0]
    found = np.where(np.abs(lags) <= furthest, found, np.nan)
    if not np.isfinite(found).any():
        return None
    good = np.flatnonzero(found >= np.nanmax(found) - _ALIKE)
    place = int(good[np.argmin(np.abs(lags[good]))])
    # Climb from the foot of a peak to its top.
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


_MOST_DECIMALS: Final = 10
"""Numbers with more decimals were computed, not printed."""
_SAME: Final = 1e-12
"""Relative rounding error of arithmetic: the mean of five times 9.4 is 9.400000000000002."""


def half_unit(values: NDArray[Any]) -> float:
    """Return half a unit of the last decimal in these values; 0 if they have more decimals than anyone prints.

    Whole numbers are known to 0.5: the zeros of 9400 may be significant digits.

    >>> half_unit(np.array([9.4, 9.39])), half_unit(np.array([9400.0])), half_unit(np.array([1 / 3]))
    (0.005, 0.5, 0.0)
    """
    numbers = values[np.isfinite(values)]
    near = _SAME * np.abs(numbers)

    def fit(decimals: int) -> bool:
        return bool((np.abs(numbers - np.round(numbers, decimals)) <= near).all())

    if not fit(_MOST_DECIMALS):
        return 0.0
    return 0.5 * 10.0 ** -next(filter(fit, range(_MOST_DECIMALS + 1)))


def half_unit_of(values: pl.Expr) -> pl.Expr:
    """Return `half_unit` of an expression, as an aggregate.

    >>> pl.DataFrame({"a": [9.4, 9.39, None]}).select(half_unit_of(pl.col("a"))).item()
    0.005
    """
    # One Python call: a pure expression would need a column for each number of decimals.
    return values.cast(pl.Float64).map_batches(
        lambda numbers: half_unit(numbers.drop_nulls().to_numpy()), return_dtype=pl.Float64, returns_scalar=True
    )


BLOCKS: Final = 120
MISTAKEN: Final = 0.01
"""Share of pure noise series in which a wave is found."""
_CAREFUL: Final = 1.4
"""Standard errors added to the correlation of neighbours, so that the interval covers 95 %."""
_LARGEST_PHI: Final = 0.99
_FEWEST_DEGREES: Final = 2.0
"""Fewest degrees of freedom, however alike neighbours are; with fewer, no short series would show a trend."""
_PHI: Final = np.array([*np.linspace(-0.9, 0.9, 37), 0.925, 0.95, 0.97, 0.98, 0.99])
# Student's t, 97.5 %, by degrees of freedom; its logarithm is nearly straight over 1 / degrees.
_DEGREES: Final = np.array([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 30, 60, np.inf])
_T: Final = np.array(
    [12.7062, 8.6488, 6.0167, 4.3027, 3.5747, 3.1824, 2.7764, 2.5706, 2.3646, 2.2281, 2.1314, 2.0423, 2.0003, 1.96]
)


class Trend(NamedTuple):
    """The straight line through a series."""

    change: float
    """From the first sample to the last."""
    reach: float
    """Half width of the 95 % interval of the change."""
    least_reach: float
    """`reach` if neighbouring values were independent."""
    effective: float
    """Number of independent values with the same information."""


def student(degrees: float) -> float:
    """Return Student's t, 97.5 %, to 1 in 100 for any degrees of freedom from 1 on.

    >>> student(1), round(student(20), 2), round(student(1.3), 1)
    (12.7062, 2.09, 7.5)
    """
    return float(np.exp(np.interp(-1 / degrees, -1 / _DEGREES, np.log(_T))))


def blocks(seconds: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the means of blocks of equal length; the values themselves if there are too few for blocks."""
    if len(values) <= BLOCKS:
        return seconds, values
    ends = np.linspace(0, len(values), BLOCKS + 1).astype(int)
    counts = np.diff(ends)
    return np.add.reduceat(seconds, ends[:-1]) / counts, np.add.reduceat(values, ends[:-1]) / counts


@lru_cache(maxsize=256)
def _under_ar1(shape: bytes) -> tuple[Numbers, Numbers]:
    """Return variance of the slope / sum of squared residuals, and their expected correlation, for each `_PHI`.

    `shape`: times minus their mean, scaled to length 1, as bytes.
    """
    x = np.frombuffer(shape)
    n = len(x)
    basis = np.column_stack([np.full(n, n**-0.5), x])
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    variance, correlation = [], []
    # Of (1 - basis basis') like (1 - basis basis') only two diagonals count. The whole matrix would take a hundred
    # times as long, and every new set of times needs a new one.
    for power in np.power.outer(_PHI, np.arange(n)):
        seen = power[apart] @ basis
        within = basis.T @ seen
        twice = basis @ within
        trace = n - 2 * np.trace(within) + np.vdot(twice, basis)
        beside = (n - 1) * power[1] - np.vdot(basis[:-1], seen[1:]) - np.vdot(seen[:-1], basis[1:])
        variance.append(within[1, 1] / trace)
        correlation.append((beside + np.vdot(twice[:-1], basis[1:])) / trace)
    return np.array(variance), np.array(correlation)


def trend(seconds: Numbers, values: Numbers, half: float = 0.0) -> Trend:
    """Fit a straight line by least squares, with an error that allows for correlated neighbours, AR(1).

    phi is the value whose expected residuals correlate like the actual ones, plus 1.4 standard errors. The degrees of
    freedom follow from `n (1 - phi) / (1 + phi)` values, at least 2. `half` is half a unit of the last printed digit,
    which sets the smallest possible residuals.
    """
    span = float(seconds[-1] - seconds[0])
    x, y = blocks(seconds, values)
    n = len(y)
    x = x - x.mean()
    length = float(np.sqrt(x @ x))
    if not length:
        return Trend(0.0, np.inf, np.inf, 1.0)
    x = x / length
    slope = float(x @ y)
    residuals = y - y.mean() - slope * x
    left = max(float(residuals @ residuals), n * half**2 / 3 * (n / len(values)))
    # Rounding errors around a straight line are not noise.
    noise = left > (1e-12 * float(np.abs(y).max())) ** 2 * n
    seen = float(residuals[1:] @ residuals[:-1]) / left if noise else 0.0
    variance, correlation = _under_ar1(np.round(x, 9).tobytes())
    phi = float(np.interp(seen, correlation, _PHI))
    phi = float(np.clip(phi + _CAREFUL * np.sqrt((1 - phi**2) / n), 0.0, _LARGEST_PHI))
    effective = n * (1 - phi) / (1 + phi)
    error = np.sqrt(np.interp(phi, _PHI, variance) * left)
    least = np.sqrt(np.interp(0.0, _PHI, variance) * left)
    scale = span / length
    return Trend(
        slope * scale,
        float(student(max(effective - 2, _FEWEST_DEGREES)) * error * scale),
        float(student(n - 2) * least * scale),
        effective * len(values) / n,
    )


def swing(seconds: Numbers, values: Numbers) -> float:
    """Return the height of the waves about a series' straight line, trough to crest; 0 if noise explains them.

    Repeats Fisher's test on the largest ordinate of the periodogram until that ordinate may be chance. The height
    belongs to a sine wave with the total variance of the ordinates found.
    """
    n = len(values)
    x = seconds - seconds.mean()
    wide = float(x @ x)
    rest = values - values.mean() - (float(x @ values) / wide * x if wide else 0.0)
    power = 2 * np.abs(np.fft.rfft(rest)[1:]) ** 2 / n**2
    if n % 2 == 0:
        power[-1] /= 2
    found = 0.0
    if power.sum() <= (1e-9 * np.abs(values).max()) ** 2:
        return 0.0
    for place, one in enumerate(ordered := np.sort(power)[::-1]):
        others = len(ordered) - place
        chance = 1 - (MISTAKEN / others) ** (1 / (others - 1)) if others > 1 else 1.0
        if one <= chance * ordered[place:].sum():
            break
        found += float(one)
    return float(2 * np.sqrt(2 * found))
