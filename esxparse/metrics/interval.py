"""How sure a ratio of two means is: Fieller's interval, and the bootstrap beside it.

A study repeats each run a few times. With `y` the repetitions of a configuration and `x` those of the baseline, the
ratio is mean(y) / mean(x), and its interval holds the true ratio in 95 % of studies (or another `confidence`).

Measured coverage of 95 % intervals, by `python benchmarks/coverage.py` (100,000 studies a case, normal and log-normal
noise of 2 to 20 %, the same on both sides or five times as large on one):

repetitions  Fieller           bootstrap
3            94.0 to 96.6 %    75 to 81 %
5            94.6 to 95.8 %    83 to 88 %
10           94.8 to 95.2 %    90 to 93 %

Fieller's is therefore the default everywhere. With noise of 20 % and 3 repetitions 1 study in 100 or 200 has no bounded
interval, and is told so. Both take the runs for independent of each other.

What was printed is known to half a unit of its last digit, so each mean is moved by half a unit up and down: 9.40 three
times against 9.39 three times is no difference shown. The unit is that of the last decimal that any value of the two
sides has, unless `resolution` says it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from esxparse.errors import EsxparseError, choose_from
from esxparse.recording import counted

from ._series import half_unit

Numbers = NDArray[np.float64]
Method = Literal["fieller", "bootstrap"]
Verdict = Literal["higher", "lower", "no difference shown"]

FEWEST: Final = 2
"""Repetitions that an interval needs of each side."""
RESAMPLES: Final = 10_000
SAME: Final = 1e-9
"""What rounding can make of a ratio of 1: five and three repetitions of 9.4 differ in the last digit of their means."""


@dataclass(frozen=True)
class Interval:
    """A ratio of means with the interval that its true value is taken to be in."""

    ratio: float
    low: float
    high: float
    confidence: float
    method: Method

    @property
    def verdict(self) -> Verdict:
        """What the interval says of the ratio: it is above 1, below 1, or no difference is shown since it holds 1."""
        if self.low > 1 + SAME:
            return "higher"
        return "lower" if self.high < 1 - SAME else "no difference shown"


def needs_scipy() -> None:
    """Say what to install where `scipy` is not there.

    Raises EsxparseError: It is not installed.
    """
    if find_spec("scipy") is None:
        raise EsxparseError('fits and confidence intervals need scipy: pip install "esxparse[study]"')


def check_confidence(confidence: float) -> None:
    """Reject an invalid confidence."""
    if not 0 < confidence < 1:
        raise EsxparseError(f"confidence must lie between 0 and 1, not {confidence!r} (0.95 is usual)")


def _sample(values: Sequence[float], what: str) -> Numbers:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise EsxparseError(f"{what} has a repetition without a value: leave it out")
    if len(numbers) < FEWEST:
        msg = f"{what} has {counted(len(numbers), 'repetition')}: an interval needs {FEWEST} or more"
        raise EsxparseError(msg)
    return numbers


def _baseline_mean(baseline: Numbers) -> float:
    mean = float(baseline.mean())
    if mean == 0:
        raise EsxparseError("the baseline's mean is 0: cannot divide by it")
    return mean


def _scattered(baseline: Numbers) -> EsxparseError:
    msg = (
        f"the baseline scatters too much ({len(baseline)} repetitions, mean {baseline.mean():g}, standard deviation "
        f"{baseline.std(ddof=1):g}): its mean cannot be told from 0; repeat the runs"
    )
    return EsxparseError(msg)


def fieller_bounds(
    mean: Numbers,
    variance: Numbers,
    runs: NDArray[Any],
    base_mean: Numbers,
    base_variance: Numbers,
    base_runs: NDArray[Any],
    confidence: float = 0.95,
    halves: tuple[Numbers, Numbers] | None = None,
) -> tuple[Numbers, Numbers]:
    """Lower and upper bounds of many ratios at once, from means, variances (n - 1) and numbers of repetitions.

    NaN where there is no bounded interval: fewer than 2 repetitions on a side, or a baseline whose mean cannot be told
    from 0. See `fieller` for the formula.

    Args:
        mean: Of the configurations.
        variance: Theirs.
        runs: Their repetitions.
        base_mean: Of the baselines.
        base_variance: Theirs.
        base_runs: Their repetitions.
        confidence: Of the intervals.
        halves: Half a unit of the last digit printed, of the configurations and of the baselines; none: exact numbers.

    >>> from numpy import array
    >>> low, high = fieller_bounds(array([98.0]), array([1.0]), array([5]), array([100.0]), array([1.0]), array([5]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.966, 0.995)
    """
    check_confidence(confidence)
    needs_scipy()
    if halves is not None:
        (own, base), still = halves, (variance, runs)
        with np.errstate(invalid="ignore"):
            # A baseline that rounding alone can make 0 cannot be divided by.
            away = np.where(np.abs(base_mean) > base, 1.0, np.nan)
        corners = [
            fieller_bounds(
                mean + one * own, *still, away * (base_mean + other * base), base_variance, base_runs, confidence
            )
            for one in (-1, 1)
            for other in (-1, 1)
        ]
        return np.minimum.reduce([low for low, _ in corners]), np.maximum.reduce([high for _, high in corners])
    from scipy.special import stdtrit  # noqa: PLC0415  (an extra, and slow to import)

    with np.errstate(all="ignore"):
        square = np.where(runs >= FEWEST, variance / runs, np.nan)
        base_square = np.where(base_runs >= FEWEST, base_variance / base_runs, np.nan)
        scaled = (mean / base_mean) ** 2 * base_square
        spread = square**2 / (runs - 1) + scaled**2 / (base_runs - 1)
        freedom = np.where(spread > 0, (square + scaled) ** 2 / spread, 1.0)
        t2 = stdtrit(freedom, (1 + confidence) / 2) ** 2
        divisor = base_mean**2 - t2 * base_square
        # The discriminant without the difference of two large squares.
        root = np.sqrt(t2 * np.maximum(square * divisor + mean**2 * base_square, 0.0))
        middle = mean * base_mean
        bounded = divisor > 0
        low = np.where(bounded, (middle - root) / divisor, np.nan)
        high = np.where(bounded, (middle + root) / divisor, np.nan)
    return low, high


def check_resolution(resolution: float | None) -> None:
    """Reject an invalid resolution."""
    if resolution is not None and not (math.isfinite(resolution) and resolution >= 0):
        msg = f"resolution must be the unit of the last printed digit, 0 or more (0.01 for 9.40), not {resolution!r}"
        raise EsxparseError(msg)


def _half(values: Numbers, baseline: Numbers, resolution: float | None) -> float:
    """Half a unit of the last digit of both sides, as said or else as their decimals tell."""
    check_resolution(resolution)
    return half_unit(np.concatenate([values, baseline])) if resolution is None else resolution / 2


def fieller(
    values: Sequence[float], baseline: Sequence[float], confidence: float = 0.95, resolution: float | None = None
) -> Interval:
    """Fieller's interval of mean(values) / mean(baseline).

    All ratios R for which `mean(y) - R x mean(x)` lies within t standard errors of 0:

        (mean(y) - R mean(x))^2 <= t^2 (var(y) / n + R^2 var(x) / m)

    a quadratic in R. t is Student's, at Welch and Satterthwaite's degrees of freedom with the measured ratio put in, so
    that the two sides may scatter differently. Exact for two normal means of known variance; see the module for what
    it covers with few repetitions. Both means are moved by half of `resolution` either way, the unit of the last digit
    that was printed; without it, that of the last decimal there is.

    Source: E. C. Fieller, "Some Problems in Interval Estimation" (1954); degrees of freedom: A. C. Tamhane and
    B. R. Logan, "Finding the Maximum Safe Dose Level for Heteroscedastic Data" (2004).

    Raises EsxparseError: Fewer than 2 repetitions, a mean of 0, or a baseline that scatters so much that its mean
    cannot be told from 0, where no bounded interval exists.

    >>> found = fieller([98.0, 99.0, 97.0, 98.5, 97.5], [100.0, 101.0, 99.0, 100.5, 99.5])
    >>> round(found.ratio, 3), round(found.low, 3), round(found.high, 3), found.verdict
    (0.98, 0.968, 0.992, 'lower')
    >>> fieller([9.39] * 3, [9.40] * 3).verdict
    'no difference shown'
    """
    y, x = _sample(values, "the configuration"), _sample(baseline, "the baseline")
    base, half = _baseline_mean(x), np.array([_half(y, x, resolution)])
    low, high = fieller_bounds(
        np.array([y.mean()]),
        np.array([y.var(ddof=1)]),
        np.array([len(y)]),
        np.array([base]),
        np.array([x.var(ddof=1)]),
        np.array([len(x)]),
        confidence,
        (half, half),
    )
    if math.isnan(low[0]):
        raise _scattered(x)
    return Interval(float(y.mean()) / base, float(low[0]), float(high[0]), confidence, "fieller")


def bootstrap(
    values: Sequence[float],
    baseline: Sequence[float],
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    resolution: float | None = None,
) -> Interval:
    """The percentile bootstrap's interval of mean(values) / mean(baseline); the same for the same seed.

    Repetitions of each side are drawn again with replacement, `resamples` times; the interval lies between the
    percentiles of the ratios of their means, each moved by half of `resolution` either way, as in `fieller`.

    It is too narrow with few repetitions: called 95 %, it covers the truth in 75 to 81 % of studies with 3, 83 to 88 %
    with 5 and 90 to 93 % with 10 (see the module). It assumes no shape of the noise, which is worth something from
    some 20 on.

    Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.

    Raises EsxparseError: As `fieller`, or no resamples.

    >>> found = bootstrap([98.0, 99.0, 97.0, 98.5, 97.5], [100.0, 101.0, 99.0, 100.5, 99.5])
    >>> round(found.ratio, 3), round(found.low, 2), round(found.high, 2), found.verdict
    (0.98, 0.97, 0.99, 'lower')
    """
    check_confidence(confidence)
    if resamples < 1:
        raise EsxparseError(f"the bootstrap needs 1 resample or more, not {resamples!r} ({RESAMPLES:,} is usual)")
    y, x = _sample(values, "the configuration"), _sample(baseline, "the baseline")
    ratio = float(y.mean()) / _baseline_mean(x)
    random = np.random.default_rng(seed)
    ys = y[random.integers(0, len(y), (resamples, len(y)))].mean(axis=1)
    xs = x[random.integers(0, len(x), (resamples, len(x)))].mean(axis=1)
    half = _half(y, x, resolution)
    if (xs * np.sign(x.mean()) <= half).any():
        raise _scattered(x)
    corners = [(ys + one * half) / (xs + other * half) for one in (-1, 1) for other in (-1, 1)]
    low = np.quantile(np.minimum.reduce(corners), (1 - confidence) / 2)
    high = np.quantile(np.maximum.reduce(corners), (1 + confidence) / 2)
    return Interval(ratio, float(low), float(high), confidence, "bootstrap")


def check_method(method: str) -> None:
    """Refuse an unknown kind of interval."""
    if method not in get_args(Method):
        raise EsxparseError(f"unknown interval {method!r}: {choose_from(method, get_args(Method))}")
