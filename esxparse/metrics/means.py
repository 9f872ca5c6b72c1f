"""Means of many series at once, and the differences of pairs of means, for series with correlated neighbours.

The squared error of a mean is the long-run variance of its series over the number of samples. It is estimated in three
steps. First, remove the correlation from one sample to the next, corrected for its bias in short series. Second,
measure the rest with two or three cosines of the lowest frequencies. Third, put the correlation back in, larger than
estimated: in a short series the estimate may be small by chance. So few cosines give Student's t few degrees of
freedom, and wide intervals that hold. More cosines would find more changes, but hosts move slowly. With half of the
independent samples to the power of 2/3, a fifth of all pairs of equal hosts would differ.

Noise on top of a slow movement hides the correlation of neighbours. So the same estimate is made from the means of
some 24 blocks of samples, in which noise cancels out, and the larger error counts.

A series counts as n (1 - r) / (1 + r) independent samples. With fewer than 3 on a side there is no interval: r cannot
be estimated from so few. A higher limit would not help: among highly correlated series it keeps only the series whose
r came out too small. `benchmarks/compare.py` measures coverage, false alarms and power.

Source: M. G. Kendall 1954, the bias of r; E. Lazarus, D. Lewis, J. Stock and M. Watson 2018, "HAR Inference", cosines
of equal weight and their t; D. Andrews and J. Monahan 1992, taking r out first; B. L. Welch 1947, two variances;
Y. Benjamini and Y. Hochberg 1995, many comparisons.
"""

from __future__ import annotations

import warnings
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from esxparse.metrics.interval import check_confidence, needs_scipy

Numbers = NDArray[np.float64]
Matrix = NDArray[np.float64]
Marks = NDArray[np.bool_]

FEWEST: Final = 12
"""Fewest values of a series for an error of its mean."""
FEWEST_EFFECTIVE: Final = 3.0
"""Fewest independent samples for an error of a mean."""
_MOST_ALIKE: Final = 0.98
_BLOCKS: Final = 24
_SLOW: Final = 0.5
"""Correlation of neighbouring blocks from which the blocks decide; lower values may be chance."""
_SHORT: Final = 60
"""Below this many samples two cosines measure a series; from here on three."""
_CAUTION: Final = 7.0
"""A correlation is raised by this share over the number of samples; measured, so that intervals of short series hold.
From _SHORT samples on the share falls faster than their number rises."""
_CLEAR: Final = 0.7
"""Correlation up to which a longer series is not raised."""


class Means(NamedTuple):
    """Means of series and their precision: one value per series."""

    mean: Numbers
    """NaN without a value."""
    square: Numbers
    """Squared standard error; NaN with fewer than 12 values, 0 if the series is constant."""
    freedom: Numbers
    """Degrees of freedom of `square`."""
    effective: Numbers
    """Number of independent samples with the same information."""
    known: Numbers
    """Samples with a value."""


class Differences(NamedTuple):
    """Differences of means, after - before: one value per series."""

    change: Numbers
    low: Numbers
    """Bounds of the interval; NaN without one."""
    high: Numbers
    p_value: Numbers
    """Probability of such a difference by chance alone; NaN without an interval."""
    too_few: Marks
    """Whether a side has too few independent samples for an interval."""
    still: Marks
    """Whether the series has one constant value on both sides, so that it cannot differ."""


def means(series: Matrix, weights: Matrix | None = None) -> Means:
    """Return the mean of each series, with its error.

    `series`: samples x series, NaN without a value. `weights`: the weight of each sample, same shape.

    >>> found = means(np.array([[1.0, 5.0], [3.0, 5.0]] * 8))
    >>> found.mean.tolist(), (found.square > 0).tolist(), found.effective.tolist()
    ([2.0, 5.0], [True, False], [16.0, 16.0])
    """
    there = ~np.isnan(series)
    known = there.sum(axis=0).astype(np.float64)
    weight = there.astype(np.float64) if weights is None else np.where(there, np.nan_to_num(weights), 0.0)
    samples = len(series)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = weight.sum(axis=0)
        mean = (weight * np.where(there, series, 0.0)).sum(axis=0) / np.where(total > 0, total, np.nan)
        # The contribution of each sample to the error of the mean; 0 for a sample without a value.
        off = np.where(there, weight * (series - mean), 0.0) * (samples / np.where(total > 0, total, 1.0))
    with warnings.catch_warnings():
        # A series without values has no minimum and maximum.
        warnings.simplefilter("ignore", RuntimeWarning)
        moves = np.nanmax(series, axis=0) > np.nanmin(series, axis=0) if samples else known > 0
    if samples < FEWEST:
        nothing = np.full(series.shape[1], np.nan)
        return Means(mean, nothing, np.ones_like(mean), np.zeros_like(mean), known)
    off = np.where(moves, off, 0.0)
    alike = _alike(off, known)
    share = _CAUTION / np.maximum(known, 1) / np.sqrt(np.maximum(known / _SHORT, 1))
    in_doubt = (known < _SHORT) | (alike > _CLEAR)
    raised = np.minimum(alike * np.where(in_doubt, 1 + share, 1), _MOST_ALIKE)
    count = 2 if samples < _SHORT else 3
    square = _long_run(off, alike, raised, count) / samples
    effective, surely = (known * (1 - one) / (1 + one) for one in (alike, raised))
    length = samples // _BLOCKS
    if length > 1:
        # Leave out the oldest samples that do not fill a block.
        blocks = off[samples % length :].reshape(samples // length, length, -1).mean(axis=1)
        blocks -= blocks.mean(axis=0)
        block_alike = _alike(blocks, known / length)
        square = np.maximum(square, _long_run(blocks, block_alike, block_alike, count) / len(blocks))
        slow = known / length * (1 - block_alike) / (1 + block_alike)
        effective, surely = (np.where(block_alike > _SLOW, np.minimum(one, slow), one) for one in (effective, surely))
    square = np.where((known >= FEWEST) & (total > 0), square, np.nan)
    freedom = np.clip(np.minimum(count, surely - 1), 0.5, None)
    return Means(mean, square, freedom, effective, known)


def _alike(off: Matrix, known: Numbers) -> Numbers:
    """Return the correlation from one sample to the next of series around 0, corrected for short series; 0 to 0.98."""
    squares = np.einsum("ij,ij->j", off, off)
    products = np.einsum("ij,ij->j", off[1:], off[:-1])
    raw = products / np.where(squares > 0, squares, 1.0)
    # The estimate falls short by (1 + 3 r) / n.
    corrected: Numbers = np.clip((known * raw + 1) / np.maximum(known - 3, 1), 0, _MOST_ALIKE)
    return np.where(squares > 0, corrected, 0.0)


def _long_run(off: Matrix, alike: Numbers, raised: Numbers, count: int) -> Numbers:
    """Return the long-run variance of series around 0, by `count` cosines.

    `alike`: the correlation to remove. `raised`: the correlation to put back in.
    """
    left = off[1:] - alike * off[:-1]
    rows = len(left)
    places = (np.arange(rows) + 0.5) / rows
    waves = np.sqrt(2 / rows) * np.cos(np.pi * np.outer(np.arange(1, count + 1), places))
    found: Numbers = ((waves @ left) ** 2).mean(axis=0) / (1 - raised) ** 2
    return found


def differences(before: Means, after: Means, confidence: float = 0.95, resolution: float = 0.0) -> Differences:
    """Return the difference of each pair of means with its interval; each interval holds individually.

    `resolution`: the smallest printed step; a difference up to this size counts as none, with a p of 1.

    Raises EsxparseError: scipy is not installed, or the confidence is not between 0 and 1.

    >>> random = np.random.default_rng(1)
    >>> one, other = (means(random.normal(level, 1, (60, 1))) for level in (10, 12))
    >>> found = differences(one, other)
    >>> bool(found.low[0] > 1), bool(found.high[0] < 3), bool(found.p_value[0] < 0.001)
    (True, True, True)
    """
    check_confidence(confidence)
    needs_scipy()
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415  (an extra, and slow to import)

    change = after.mean - before.mean
    with np.errstate(invalid="ignore", divide="ignore"):
        square = before.square + after.square
        parts = before.square**2 / before.freedom + after.square**2 / after.freedom
        freedom = np.maximum(np.where(parts > 0, square**2 / np.where(parts > 0, parts, 1.0), np.inf), 1.0)
        effective = np.minimum(before.effective, after.effective)
        too_few = ~(effective >= FEWEST_EFFECTIVE) | np.isnan(square)
        error = np.sqrt(square)
        chance = np.where(error > 0, 2 * stdtr(np.minimum(freedom, 1e6), -np.abs(change) / error), 0.0)
        reach = stdtrit(np.minimum(freedom, 1e6), (1 + confidence) / 2) * error
    none = np.abs(change) <= resolution * (1 + 1e-9)
    p_value = np.where(too_few, np.nan, np.where(none, 1.0, chance))
    low, high = (np.where(too_few, np.nan, change + side * reach) for side in (-1, 1))
    return Differences(change, low, high, p_value, too_few, ~too_few & (square == 0) & (change == 0))


def adjusted(p_values: Numbers) -> Numbers:
    """Return p-values after Benjamini and Hochberg; NaN is not counted.

    >>> adjusted(np.array([0.01, np.nan, 0.04, 0.5])).round(3).tolist()
    [0.03, nan, 0.06, 0.5]
    """
    found = np.full_like(p_values, np.nan)
    counted = np.flatnonzero(~np.isnan(p_values))
    order = counted[np.argsort(p_values[counted], kind="stable")]
    ranked = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    found[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1)
    return found
