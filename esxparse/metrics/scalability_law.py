"""The universal scalability law: a curve fitted to a sweep, with its peak and their uncertainty.

    value(N) = rate N / (1 + contention (N - 1) + coherency N (N - 1))

rate is the value of one unit. contention is the serial share, the only parameter of Amdahl's law. coherency is the
cost of agreement per pair of units. With coherency above 0 the curve has a peak at sqrt((1 - contention) / coherency)
units and falls beyond it. Values that rise faster than units, or fall from the first unit on, do not follow such a
curve; see `verdict`.

Noise alone gives half of all curves without a peak a coherency above 0. So a sweep peaks only if the peak lies within
the measured units and the interval of the coherency lies above 0. `benchmarks/coverage.py` counts the verdicts.

Source: N. J. Gunther, "Guerrilla Capacity Planning" (2007), chapters 4 to 6, with the advice of at least six points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError, check_known
from esxparse.schema import schema

from ._inputs import AT_LEAST_0, checked
from ._series import half_unit
from .frames import names, need
from .interval import Numbers, check_confidence, needs_scipy

FEWEST: Final = 3
"""Fewest different numbers of units for a fit of the three parameters."""
ENOUGH: Final = 6
_NOTHING: Final = 1e-9
_ROUNDS: Final = 6
_SCATTERS: Final = 0.1
_DOUBT: Final = 0.99
"""Confidence that no law comes near, before a sweep is called superlinear or a misfit."""

Noise = Literal["relative", "absolute"]
Verdict = Literal["peaks", "no peak within the data", "falls", "superlinear", "does not fit"]


@dataclass(frozen=True)
class ScalabilityLaw:
    """A fitted law; each pair is the confidence interval of the preceding number."""

    points: int
    """Different numbers of units."""
    rate: float
    rate_interval: tuple[float, float]
    contention: float
    contention_interval: tuple[float, float]
    coherency: float
    coherency_interval: tuple[float, float]
    peak_units: float | None
    """Peak of the curve, if it lies within the data and the interval of the coherency above 0; the smallest units if
    values fall from there; else None. `warnings` mention a peak beyond the data."""
    peak_value: float | None
    r_squared: float
    verdict: Verdict
    """`peaks`, at `peak_units`; `no peak within the data`: the peak lies beyond the largest units, or the interval of
    the coherency includes 0; `falls`, or gains nothing, from the smallest point on; `superlinear`: values rise
    faster than units; `does not fit`: no law comes near the values."""
    warnings: tuple[str, ...]
    """Reasons to distrust the fit, one sentence each."""

    def value(self, units: float) -> float:
        """Return the value of the law for a number of units."""
        return float(_law(np.array([float(units)]), self.rate, self.contention, self.coherency)[0])


def _law(units: Numbers, rate: float, contention: float, coherency: float) -> Numbers:
    return rate * units / (1 + contention * (units - 1) + coherency * units * (units - 1))


def fit(
    units: Sequence[float], values: Sequence[float], confidence: float = 0.95, noise: Noise = "relative"
) -> ScalabilityLaw:
    """Fit the law to a sweep by least squares.

    The inverted law is linear: units / value = a + b (units - 1) + c units (units - 1), with rate 1 / a, contention b
    / a, coherency c / a. The weight of each row follows from its noise. Contention and coherency are at least 0,
    unless the values are below beyond doubt: such a sweep is superlinear.

    Intervals are Student's for a, with rows - 3 degrees of freedom, and Fieller's for the two ratios, cut off at 0;
    unbounded with three rows. 95 % intervals held the truth in 94.1 to 95.9 % of 4,000 sweeps each of 7, 10, 12 and 18
    rows with relative noise of 1, 3 and 5 %; for a coherency of 0, where the interval is cut off, in 97.0 to 97.8 %
    (`tests/metrics/test_metrics_scalability_law.py` repeats a part of it). Rows of the same units are repetitions.
    Residuals are at least as large as half a unit of the last printed decimal makes them.

    `units`: hosts, VMs, threads. `values`: their throughput, higher is better. `confidence`: of the intervals.
    `noise`: `relative`: proportional to the value; `absolute`: the same for all values.

    Raises EsxparseError: Fewer than 3 different numbers of units, numbers not above 0, another noise, or scipy is not
    installed.

    >>> n = [1, 2, 4, 8, 16, 32, 48]
    >>> law = fit(n, [1000 * x / (1 + 0.02 * (x - 1) + 0.0005 * x * (x - 1)) for x in n])
    >>> round(law.rate), round(law.contention, 4), round(law.coherency, 6), round(law.peak_units), law.warnings
    (1000, 0.02, 0.0005, 44, ())
    """
    n, y = _checked(units, values, confidence, noise)
    points, freedom = len(np.unique(n)), len(n) - 3
    half = half_unit(y)
    free = _solved(n, y, noise, half, (0, 1, 2))
    bounds = _bounds(free, freedom, confidence)
    law = free
    if not free.lawful:
        some = (_solved(n, y, noise, half, kept) for kept in ((0, 1), (0, 2), (0,)))
        law = min((one for one in some if one.lawful), key=lambda one: one.left)
    # Rounding errors of an exact fit are not doubt.
    doubtful = law.left > free.left + _t2(freedom, _DOUBT) * free.variance + 1e-12 * len(n)
    beyond = doubtful and bool((free.over_line(n) < 1 - _NOTHING).any())
    superlinear = free.a > 0 and (beyond or _gains_per_unit(n, y))
    misfit = doubtful and not superlinear
    law = free if superlinear else law
    rate, contention, coherency = 1 / law.a, law.b / law.a, law.c / law.a
    fitted = _law(n, rate, contention, coherency)
    # By the curve, or by the values themselves: a peak between the first two points was not measured.
    at_first = n == n.min()
    falls = any(row[at_first].mean() >= row[~at_first].max() * (1 - _NOTHING) for row in (fitted, y))
    # A curve without coherency rises forever.
    fitted_peak = math.sqrt(max(1 - contention, 0.0) / coherency) if coherency > _NOTHING else None
    certain = bounds.coherency[0] > 0 and fitted_peak is not None and fitted_peak <= n.max()
    verdict: Verdict = (
        "superlinear"
        if superlinear
        else "does not fit"
        if misfit
        else "falls"
        if falls
        else "peaks"
        if certain
        else "no peak within the data"
    )
    peak = float(n.min()) if falls else fitted_peak if certain else None
    spread = float(((y - y.mean()) ** 2).sum())
    found = ScalabilityLaw(
        points=points,
        rate=rate,
        rate_interval=bounds.rate,
        contention=contention,
        contention_interval=bounds.contention,
        coherency=coherency,
        coherency_interval=bounds.coherency,
        peak_units=peak,
        peak_value=None if peak is None else float(_law(np.array([peak]), rate, contention, coherency)[0]),
        r_squared=1 - float(((y - fitted) ** 2).sum()) / spread if spread > 0 else math.nan,
        verdict=verdict,
        warnings=(),
    )
    scatter = float(np.sqrt(np.mean((y / fitted - 1) ** 2)))
    return replace(found, warnings=tuple(_warnings(found, freedom, n, scatter, fitted_peak)))


def _checked(units: Sequence[float], values: Sequence[float], confidence: float, noise: str) -> tuple[Numbers, Numbers]:
    check_confidence(confidence)
    check_known("noise", noise, get_args(Noise))
    n, y = np.asarray(units, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if n.shape != y.shape:
        raise EsxparseError(f"a fit needs a value for each number of units: {n.size} numbers of units, {y.size} values")
    if not (np.isfinite(n).all() and np.isfinite(y).all() and (n > 0).all() and (y > 0).all()):
        msg = "a fit needs units and values above 0: leave out runs without a number or without throughput"
        raise EsxparseError(msg)
    points = len(np.unique(n))
    if points < FEWEST:
        msg = f"{points} different numbers of units: the law has three parameters and needs {FEWEST} or more"
        raise EsxparseError(msg)
    needs_scipy()
    return n, y


class _Solution(NamedTuple):
    """The linear law with some of its parameters at 0."""

    a: float
    b: float
    c: float
    left: float
    """Weighted sum of squared residuals; for relative noise, in squared shares."""
    variance: float
    """Variance of one row, by its degrees of freedom."""
    covariance: Numbers

    @property
    def lawful(self) -> bool:
        """Return whether it is a law: a rate above 0, contention and coherency 0 or more."""
        return self.a > 0 and self.b >= 0 and self.c >= 0

    def over_line(self, n: Numbers) -> Numbers:
        """Return the divisor of linear scaling; less than 1 is superlinear."""
        return 1 + (self.b * (n - 1) + self.c * n * (n - 1)) / self.a


def _solved(n: Numbers, y: Numbers, noise: Noise, half: float, kept: tuple[int, ...]) -> _Solution:
    """Solve weighted least squares of units / value; the weights follow from the fitted values, in a few rounds."""
    # Scaled by the smallest point's rate, all parameters have a similar size.
    scale = float((y / n)[n == n.min()].mean())
    turned = n / (y / scale)
    columns = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)])
    design = columns[:, list(kept)]
    about = turned
    for _ in range(_ROUNDS):
        # d(n / y) is n / y^2 dy: relative noise of y is relative noise of n / y.
        error = about if noise == "relative" else about**2 / n
        solved, *_ = np.linalg.lstsq(design / error[:, None], turned / error, rcond=None)
        fitted = design @ solved
        if not (fitted > 0).all():
            break
        about = fitted
    parts = np.zeros(3)
    parts[list(kept)] = solved
    rest = (turned - design @ solved) / error
    left = float(rest @ rest)
    rounding = (half / y if noise == "relative" else np.full_like(y, half / scale)) ** 2 / 3
    variance = max(left / max(len(n) - 3, 1), float(rounding.mean()))
    covariance = np.zeros((3, 3))
    weighted = design / error[:, None]
    covariance[np.ix_(kept, kept)] = np.linalg.pinv(weighted.T @ weighted) * variance
    a, b, c = (float(part) / scale for part in parts)
    return _Solution(a, b, c, left, variance, covariance / scale**2)


class _Bounds(NamedTuple):
    rate: tuple[float, float]
    contention: tuple[float, float]
    coherency: tuple[float, float]


def _t2(freedom: int, confidence: float) -> float:
    """Return the square of Student's t; 0 if three rows are fitted exactly."""
    from scipy.special import stdtrit  # noqa: PLC0415  (an extra, and slow to import)

    return float(stdtrit(freedom, (1 + confidence) / 2)) ** 2 if freedom else 0.0


def _bounds(free: _Solution, freedom: int, confidence: float) -> _Bounds:
    """Return Student's interval of 1 / a, Fieller's of b / a and c / a, cut off at 0."""
    if not freedom:
        # Three rows are fitted exactly, whatever their noise: the error is unknown.
        return _Bounds((0.0, math.inf), (0.0, math.inf), (0.0, math.inf))
    t2 = _t2(freedom, confidence)
    reach = math.sqrt(t2 * free.covariance[0, 0])
    low, high = free.a - reach, free.a + reach
    rate = (1 / high if high > 0 else 0.0, 1 / low if low > 0 else math.inf)

    def over_a(place: int, value: float) -> tuple[float, float]:
        first, both, own = (float(free.covariance[one]) for one in ((0, 0), (0, place), (place, place)))
        divisor, middle = free.a**2 - t2 * first, free.a * value - t2 * both
        # Rewrites middle^2 - divisor * (value^2 - t2 * own) without the large terms that cancel.
        around = free.a**2 * own - 2 * free.a * value * both + value**2 * first
        square = t2 * (around - t2 * (first * own - both**2))
        if divisor <= 0 or square < 0:
            return 0.0, math.inf
        return max((middle - math.sqrt(square)) / divisor, 0.0), max((middle + math.sqrt(square)) / divisor, 0.0)

    return _Bounds(rate, over_a(1, free.b), over_a(2, free.c))


def _gains_per_unit(n: Numbers, y: Numbers) -> bool:
    """Return whether the value per unit clearly grows with the units: the slope of its logarithm over theirs."""
    x, z = np.log(n), np.log(y / n)
    x, z = x - x.mean(), z - z.mean()
    slope = float(x @ z) / float(x @ x)
    error = float(((z - slope * x) ** 2).sum()) / max(len(n) - 2, 1) / float(x @ x)
    return slope > _NOTHING and slope**2 > _t2(len(n) - 2, _DOUBT) * error


def _warnings(law: ScalabilityLaw, freedom: int, n: Numbers, scatter: float, peak: float | None) -> list[str]:
    """Return reasons for doubt; `peak` is the peak of the fitted curve, within the data or beyond."""
    found, largest = [], float(n.max())
    if law.points < ENOUGH:
        found.append(f"only {law.points} different numbers of units: {ENOUGH} or more are advised")
    if not freedom:
        found.append("as many parameters as points: the curve passes through all points, so its error is unknown")
    if law.verdict == "superlinear":
        found.append(
            "superlinear: values rise faster than units, which the law excludes; contention or coherency below 0 stand "
            "for it, and neither means contention or coherency"
        )
    if law.verdict == "does not fit":
        found.append("the law does not fit: no contention and coherency give a curve of this shape")
    if scatter > _SCATTERS:
        found.append(f"values are typically {scatter:.0%} off the curve: the law may not apply")
    if law.verdict == "falls":
        found.append("values fall from the smallest point on: there is no gain and no peak")
    elif law.verdict == "no peak within the data" and peak is not None and peak > largest:
        found.append(f"the curve peaks at {peak:.4g} units, beyond the largest measured, {largest:g}: an extrapolation")
    elif law.verdict == "no peak within the data" and peak is not None and freedom:
        found.append("the interval of the coherency includes 0: the curve's peak may be chance")
    return found


_OUTPUT: Final = schema(
    "points i64, rate rate_low rate_high contention contention_low contention_high coherency coherency_low "
    "coherency_high peak_units peak_value r_squared f64, verdict warnings gap str"
)


def fits(
    curve: pl.LazyFrame,
    units: str,
    value: str,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    noise: Noise = "relative",
) -> pl.LazyFrame:
    """Fit the law to each sweep of a table.

    Needs `units`, `value` and the columns `by`, which identify sweeps; rows without a value above 0 are left out.
    Returns one row per sweep, in their order: *by, then the fields of `ScalabilityLaw`, each interval as `_low` and
    `_high` (null if unbounded), `warnings` as one text (null without any), and `gap`, the reason for a missing fit.

    Raises EsxparseError: A column is missing, `confidence` is invalid, or scipy is not installed; on collecting, a
    number is negative.

    >>> sweep = pl.LazyFrame({"vms": [1, 2, 4, 8, 16, 32], "iops": [100.0, 190.0, 340.0, 560.0, 780.0, 890.0]})
    >>> fits(sweep, "vms", "iops").select(pl.col("contention", "r_squared").round(2)).collect().row(0)
    (0.06, 1.0)
    """
    need(names(curve), units, value, *by)
    check_confidence(confidence)
    needs_scipy()
    curve = checked(curve, {units: AT_LEAST_0, value: AT_LEAST_0})
    chosen = curve.select(*by, pl.col(units).cast(pl.Float64).alias("_n"), pl.col(value).cast(pl.Float64).alias("_y"))
    check_known("noise", noise, get_args(Noise))
    kinds = chosen.collect_schema()
    keys = {name: kinds[name] for name in by}

    def each(frame: pl.DataFrame) -> pl.DataFrame:
        sound = pl.col("_n").is_finite() & (pl.col("_n") > 0) & pl.col("_y").is_finite() & (pl.col("_y") > 0)
        grouped = frame.with_columns(pl.lit(0).alias("_all")).group_by(list(by) or ["_all"], maintain_order=True)
        sweeps = grouped.agg(pl.col("_n", "_y").filter(sound))
        found = [_row(n, y, confidence, noise) for n, y in sweeps.select("_n", "_y").iter_rows()]
        return pl.concat([sweeps.select(*by), pl.DataFrame(found, schema=_OUTPUT)], how="horizontal")

    return chosen.map_batches(each, schema={**keys, **_OUTPUT})


def _row(units: Sequence[float], values: Sequence[float], confidence: float, noise: Noise) -> dict[str, Any]:
    try:
        law = fit(units, values, confidence, noise)
    except EsxparseError as error:
        return {**dict.fromkeys(_OUTPUT), "points": len(set(units)), "gap": str(error)}
    row: dict[str, Any] = {name: getattr(law, name, None) for name in _OUTPUT}
    for name in ("rate", "contention", "coherency"):
        low, high = getattr(law, f"{name}_interval")
        row[f"{name}_low"], row[f"{name}_high"] = low, high if math.isfinite(high) else None
    return {**row, "warnings": "; ".join(law.warnings) or None, "gap": None}
