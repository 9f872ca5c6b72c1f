"""Numbers of one series over time: its straight line and how far that may be off, and what comes and goes in waves."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

BLOCKS: Final = 120
MISTAKEN: Final = 0.01
"""Share of runs of noise in which a wave is found."""
_CAREFUL: Final = 1.4
"""Standard errors that neighbours are taken to resemble each other more than they seem to: what covers 95 %."""
_MOST: Final = 0.99
_FEWEST: Final = 2.0
"""Degrees of freedom that are left however alike neighbours are: with fewer, no short series would tell anything."""
_PHI: Final = np.array([*np.linspace(-0.9, 0.9, 37), 0.925, 0.95, 0.97, 0.98, 0.99])
# Student's t, 97.5 %, by degrees of freedom; between them the logarithm is straight over 1 / degrees, nearly.
_DEGREES: Final = np.array([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 30, 60, np.inf])
_T: Final = np.array(
    [12.7062, 8.6488, 6.0167, 4.3027, 3.5747, 3.1824, 2.7764, 2.5706, 2.3646, 2.2281, 2.1314, 2.0423, 2.0003, 1.96]
)


class Trend(NamedTuple):
    """The straight line through a series."""

    change: float
    """From the first moment to the last."""
    reach: float
    """How far that may be off either way: 95 %."""
    least_reach: float
    """The same if no value resembled the one before."""
    effective: float
    """Values that do not resemble each other and tell as much."""


def student(degrees: float) -> float:
    """Student's t, 97.5 %, to 1 in 100 for any degrees of freedom from 1 on.

    >>> student(1), round(student(20), 2), round(student(1.3), 1)
    (12.7062, 2.09, 7.5)
    """
    return float(np.exp(np.interp(-1 / degrees, -1 / _DEGREES, np.log(_T))))


def blocks(seconds: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """The means of blocks of equal length; the values themselves where there are no more than that."""
    if len(values) <= BLOCKS:
        return seconds, values
    ends = np.linspace(0, len(values), BLOCKS + 1).astype(int)
    counts = np.diff(ends)
    return np.add.reduceat(seconds, ends[:-1]) / counts, np.add.reduceat(values, ends[:-1]) / counts


@lru_cache(maxsize=256)
def _under_ar1(shape: bytes) -> tuple[Numbers, Numbers]:
    """By phi of `_PHI`: the variance of a slope over the residuals' sum of squares, and their expected correlation.

    Args:
        shape: Times about their mean, of length 1, as bytes.
    """
    x = np.frombuffer(shape)
    n = len(x)
    basis = np.column_stack([np.full(n, n**-0.5), x])
    residual = np.eye(n) - basis @ basis.T
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    variance, correlation = [], []
    for phi in _PHI:
        like = np.where(apart == 0, 1.0, phi**apart)
        left = residual @ like @ residual
        trace = np.trace(left)
        variance.append(x @ like @ x / trace)
        correlation.append(np.trace(left, offset=1) / trace)
    return np.array(variance), np.array(correlation)


def trend(seconds: Numbers, values: Numbers, half: float = 0.0) -> Trend:
    """The straight line through a series by least squares, its error for neighbours that resemble each other, AR(1).

    phi is the one whose residuals are expected to correlate as these do, and 1.4 standard errors more; degrees of
    freedom are those of `n (1 - phi) / (1 + phi)` values, at least 2. `half` is half a unit of the last digit
    printed: residuals are no smaller than it makes them.
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
    # What arithmetic leaves of a straight line is no noise.
    noise = left > (1e-12 * float(np.abs(y).max())) ** 2 * n
    seen = float(residuals[1:] @ residuals[:-1]) / left if noise else 0.0
    variance, correlation = _under_ar1(np.round(x, 9).tobytes())
    phi = float(np.interp(seen, correlation, _PHI))
    phi = float(np.clip(phi + _CAREFUL * np.sqrt((1 - phi**2) / n), 0.0, _MOST))
    effective = n * (1 - phi) / (1 + phi)
    error = np.sqrt(np.interp(phi, _PHI, variance) * left)
    least = np.sqrt(np.interp(0.0, _PHI, variance) * left)
    scale = span / length
    return Trend(
        slope * scale,
        float(student(max(effective - 2, _FEWEST)) * error * scale),
        float(student(n - 2) * least * scale),
        effective * len(values) / n,
    )


def swing(seconds: Numbers, values: Numbers) -> float:
    """From trough to crest of the waves in a series about its straight line; 0 where noise explains them.

    Fisher's test of the largest ordinate of the periodogram, again without it while it is more than chance; a sine wave
    of the same variance as all that were found is as high.
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
