"""Confidence intervals of ratios of two means: Fieller's interval, and the bootstrap for comparison.

A study repeats each run a few times. Let `y` be the repetitions of a configuration and `x` the baseline's. The ratio
is mean(y) / mean(x), and its interval holds the true ratio in 95 % of studies (or another `confidence`).

Measured coverage of 95 % intervals over 2 to 10 repetitions of either side, normal and log-normal noise of 0.5 to 20 %,
up to 20 times as large on one side as on the other (`python benchmarks/coverage.py`; the worst of all cases):

fewest repetitions  Fieller           bootstrap
2                   93.6 % or more    none
3                   93.9 % or more    78 to 80 %
5                   94.3 % or more    86 to 89 %
7                   94.4 % or more    89 to 91 %

Fieller's is therefore the default everywhere. The usual degrees of freedom (Welch and Satterthwaite) are too many if
the side with the fewest runs scatters the most: they cover 86 % with two repetitions against seven. `usable_freedom`
lowers them. With two repetitions the interval is wide, 13 standard errors either way; a third run is worth its time.
Both methods assume independent runs.

A ratio needs a baseline whose mean is above 0: a percentage of 0 or less has no meaning, and its sign would reverse
the verdict. The verdict follows the sign of the difference.

A printed number is known to half a unit of its last digit, so each mean is moved by half a unit up and down: 9.40
three times against 9.39 three times shows no difference. The unit is the last decimal of any value on the two sides,
unless `resolution` gives it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from esxparse.errors import EsxparseError, check_known
from esxparse.recording import counted

from ._series import half_unit

Numbers = NDArray[np.float64]
Method = Literal["fieller", "bootstrap"]
Verdict = Literal["higher", "lower", "no difference shown"]

FEWEST: Final = 2
"""Repetitions that an interval needs on each side."""
FEWEST_RESAMPLED: Final = 3
"""Repetitions that the bootstrap needs: with two, half of all resamples repeat one run."""
RESAMPLES: Final = 10_000
_DOUBT: Final = 8.0
"""Extra weight of the variance of few repetitions; see `usable_freedom`."""
SAME: Final = 1e-9
"""Rounding error in a ratio of 1: the means of five and of three repetitions of 9.4 differ in the last digit."""


@dataclass(frozen=True)
class Interval:
    """A ratio of means with its confidence interval."""

    ratio: float
    low: float
    high: float
    confidence: float
    method: Method

    @property
    def verdict(self) -> Verdict:
        """The position of the interval: above 1, below 1, or around 1, which shows no difference.

        The baseline's mean is above 0, so a ratio above 1 is a higher mean.
        """
        if self.low > 1 + SAME:
            return "higher"
        return "lower" if self.high < 1 - SAME else "no difference shown"


def needs_scipy() -> None:
    """Check that scipy is installed.

    Raises EsxparseError: scipy is not installed.
    """
    if find_spec("scipy") is None:
        raise EsxparseError('fits and confidence intervals need scipy: pip install "esxparse[study]"')


def check_confidence(confidence: float) -> None:
    """Reject an invalid confidence."""
    if not 0 < confidence < 1:
        raise EsxparseError(f"confidence must lie between 0 and 1, not {confidence!r} (0.95 is usual)")


def _sample(values: Sequence[float], what: str, fewest: int) -> Numbers:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise EsxparseError(f"{what} has a repetition without a value: leave it out")
    if len(numbers) < fewest:
        raise EsxparseError(f"{what} has {counted(len(numbers), 'repetition')}: an interval needs {fewest} or more")
    return numbers


def _baseline_mean(baseline: Numbers) -> float:
    mean = float(baseline.mean())
    if mean <= 0:
        raise EsxparseError(f"the baseline's mean is {mean:g}: a ratio needs a baseline above 0; compare differences")
    return mean


def _scattered(baseline: Numbers) -> EsxparseError:
    msg = (
        f"the baseline scatters too much ({len(baseline)} repetitions, mean {baseline.mean():g}, standard deviation "
        f"{baseline.std(ddof=1):g}): its mean is indistinguishable from 0; repeat the runs"
    )
    return EsxparseError(msg)


def usable_freedom(square: Numbers, base_square: Numbers, runs: NDArray[Any], base_runs: NDArray[Any]) -> Numbers:
    """Return the degrees of freedom of a difference of two means that intervals may rely on.

    They follow Welch and Satterthwaite, (A + B)^2 / (A^2 / (n - 1) + B^2 / (m - 1)), with A the squared standard error
    of one side times 1 + 8 / (n - 1)^2, and B likewise; 1 if a side has two repetitions. The factor is ours: the
    variance of few repetitions often comes out too small, and then the other side's freedom counts for both.

    Args:
        square: Squared standard error of the first mean.
        base_square: Squared standard error of the second mean.
        runs: Repetitions behind the first mean.
        base_runs: Repetitions behind the second mean.

    >>> from numpy import array
    >>> one, other = array([1.0, 1.0, 1.0]), array([1.0, 1.0, 0.1])
    >>> usable_freedom(one, other, array([5, 2, 3]), array([5, 10, 10])).round(1).tolist()
    [8.0, 1.0, 2.1]
    """
    with np.errstate(all="ignore"):
        first = square * (1 + _DOUBT / (runs - 1) ** 2)
        second = base_square * (1 + _DOUBT / (base_runs - 1) ** 2)
        spread = first**2 / (runs - 1) + second**2 / (base_runs - 1)
        freedom = np.where(spread > 0, (first + second) ** 2 / spread, 1.0)
    return np.where(np.minimum(runs, base_runs) > FEWEST, freedom, 1.0)


class Difference(NamedTuple):
    """Differences of many means from their baselines; NaN with fewer than 2 repetitions on a side."""

    low: Numbers
    high: Numbers
    p_value: Numbers
    """Probability of a difference of that size by chance alone; the ratio's interval at 1 - p ends at 1."""
    freedom: Numbers


def differences(
    mean: Numbers,
    variance: Numbers,
    runs: NDArray[Any],
    base_mean: Numbers,
    base_variance: Numbers,
    base_runs: NDArray[Any],
    confidence: float = 0.95,
    halves: tuple[Numbers, Numbers] | None = None,
) -> Difference:
    """Return interval and p-value of many differences of means at once, whatever their sign.

        difference +- (t x sqrt(variance / runs + base_variance / base_runs) + both halves)

    The arguments are the same as for `fieller_bounds`. t has `usable_freedom` at the measured ratio, as in `fieller`,
    so that both give the same verdict. A difference no larger than the halves has the p-value 1.

    >>> from numpy import array
    >>> five = array([5])
    >>> found = differences(array([98.0]), array([1.0]), five, array([100.0]), array([1.0]), five)
    >>> round(float(found.low[0]), 2), round(float(found.high[0]), 2), round(float(found.p_value[0]), 3)
    (-3.46, -0.54, 0.013)
    """
    check_confidence(confidence)
    needs_scipy()
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415  (an extra, and slow to import)

    own, base = halves if halves is not None else (np.zeros_like(mean), np.zeros_like(mean))
    difference, rounding = mean - base_mean, own + base
    sign = np.sign(difference)

    with np.errstate(all="ignore"):
        square = np.where(runs >= FEWEST, variance / runs, np.nan)
        base_square = np.where(base_runs >= FEWEST, base_variance / base_runs, np.nan)
        # Fieller excludes 1 if it does so for the closest pair of means that rounding allows.
        nearest, base_nearest = mean - sign * own, base_mean + sign * base
        weight = np.where(base_nearest > 0, (nearest / base_nearest) ** 2, 1.0)
        freedom = usable_freedom(square, weight * base_square, runs, base_runs)
        error = np.sqrt(square + base_square)
        left = np.abs(difference) - rounding
        # Differences of equal means that come from floating-point rounding do not count.
        left = np.where(left > SAME * np.maximum(np.abs(mean), np.abs(base_mean)), left, 0.0)
        p_value = np.where(left > 0, np.where(error > 0, 2 * stdtr(freedom, -left / error), 0.0), 1.0)
        reach = stdtrit(freedom, (1 + confidence) / 2) * error + rounding
    unknown = np.isnan(error)
    return Difference(difference - reach, difference + reach, np.where(unknown, np.nan, p_value), freedom)


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
    """Return lower and upper bounds of many ratios at once, from means, variances (n - 1) and repetitions.

    NaN if there is no bounded interval: fewer than 2 repetitions on a side, or a baseline whose mean is not above 0
    beyond its scatter. See `fieller` for the formula.

    Args:
        mean: Means of the configurations.
        variance: Variances of the configurations.
        runs: Repetitions of the configurations.
        base_mean: Means of the baselines.
        base_variance: Variances of the baselines.
        base_runs: Repetitions of the baselines.
        confidence: Confidence of the intervals.
        halves: Half a unit of the last printed digit, of the configurations and the baselines; None: exact numbers.

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
            # A baseline that may be 0 within its rounding cannot be a divisor.
            away = np.where(base_mean > base, 1.0, np.nan)
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
        freedom = usable_freedom(square, (mean / base_mean) ** 2 * base_square, runs, base_runs)
        t2 = stdtrit(freedom, (1 + confidence) / 2) ** 2
        divisor = base_mean**2 - t2 * base_square
        # The discriminant, written without the difference of two large squares.
        root = np.sqrt(t2 * np.maximum(square * divisor + mean**2 * base_square, 0.0))
        middle = mean * base_mean
        bounded = (divisor > 0) & (base_mean > 0)
        low = np.where(bounded, (middle - root) / divisor, np.nan)
        high = np.where(bounded, (middle + root) / divisor, np.nan)
    return low, high


def check_resolution(resolution: float | None) -> None:
    """Reject an invalid resolution."""
    if resolution is not None and not (math.isfinite(resolution) and resolution >= 0):
        msg = f"resolution must be the unit of the last printed digit, 0 or more (0.01 for 9.40), not {resolution!r}"
        raise EsxparseError(msg)


def _half(values: Numbers, baseline: Numbers, resolution: float | None) -> float:
    """Return half a unit of the last digit of both sides, from `resolution` or else from their decimals."""
    check_resolution(resolution)
    return half_unit(np.concatenate([values, baseline])) if resolution is None else resolution / 2


def fieller(
    values: Sequence[float], baseline: Sequence[float], confidence: float = 0.95, resolution: float | None = None
) -> Interval:
    """Return Fieller's interval of mean(values) / mean(baseline).

    All ratios R for which `mean(y) - R x mean(x)` lies within t standard errors of 0:

        (mean(y) - R mean(x))^2 <= t^2 (var(y) / n + R^2 var(x) / m)

    a quadratic in R. t is Student's, at `usable_freedom` with the measured ratio, so that the two sides may scatter
    differently. Exact for two normal means of known variance; the module docstring gives the coverage with few
    repetitions. Both means are moved by half of `resolution` either way, the unit of the last printed digit. Without
    `resolution`, the unit is the last decimal of the values.

    Source: E. C. Fieller, "Some Problems in Interval Estimation" (1954); degrees of freedom: A. C. Tamhane and
    B. R. Logan, "Finding the Maximum Safe Dose Level for Heteroscedastic Data" (2004).

    Raises EsxparseError: Fewer than 2 repetitions, or a baseline whose mean is 0 or less, or indistinguishable from 0
    because of its scatter, so that no bounded interval exists.

    >>> found = fieller([98.0, 99.0, 97.0, 98.5, 97.5], [100.0, 101.0, 99.0, 100.5, 99.5])
    >>> round(found.ratio, 3), round(found.low, 3), round(found.high, 3), found.verdict
    (0.98, 0.968, 0.992, 'lower')
    >>> fieller([9.39] * 3, [9.40] * 3).verdict
    'no difference shown'
    """
    y, x = _sample(values, "the configuration", FEWEST), _sample(baseline, "the baseline", FEWEST)
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
    """Return the percentile bootstrap's interval of mean(values) / mean(baseline); reproducible for a seed.

    Draws the repetitions of each side again with replacement, `resamples` times. The interval lies between the
    percentiles of the ratios of their means, each moved by half of `resolution` either way, as in `fieller`.

    Use it from some 20 repetitions on: it assumes no shape of the noise. With few it is too narrow: a 95 % interval
    covers the truth in 75 to 81 % of studies with 3 and 83 to 89 % with 5 (see the module).

    Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.

    Raises EsxparseError: Fewer than 3 repetitions, no resamples, or a baseline as in `fieller`.

    >>> found = bootstrap([98.0, 99.0, 97.0, 98.5, 97.5], [100.0, 101.0, 99.0, 100.5, 99.5])
    >>> round(found.ratio, 3), round(found.low, 2), round(found.high, 2), found.verdict
    (0.98, 0.97, 0.99, 'lower')
    """
    check_confidence(confidence)
    if resamples < 1:
        raise EsxparseError(f"the bootstrap needs 1 resample or more, not {resamples!r} ({RESAMPLES:,} is usual)")
    y = _sample(values, "the configuration", FEWEST_RESAMPLED)
    x = _sample(baseline, "the baseline", FEWEST_RESAMPLED)
    ratio = float(y.mean()) / _baseline_mean(x)
    random = np.random.default_rng(seed)
    ys = y[random.integers(0, len(y), (resamples, len(y)))].mean(axis=1)
    xs = x[random.integers(0, len(x), (resamples, len(x)))].mean(axis=1)
    half = _half(y, x, resolution)
    if (xs <= half).any():
        raise _scattered(x)
    corners = [(ys + one * half) / (xs + other * half) for one in (-1, 1) for other in (-1, 1)]
    low = np.quantile(np.minimum.reduce(corners), (1 - confidence) / 2)
    high = np.quantile(np.maximum.reduce(corners), (1 + confidence) / 2)
    return Interval(ratio, float(low), float(high), confidence, "bootstrap")


def check_method(method: str) -> None:
    """Reject an unknown kind of interval."""
    check_known("interval", method, get_args(Method))
