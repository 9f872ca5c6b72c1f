"""The universal scalability law: a curve through a sweep, with what it says of the peak and how sure that is.

    value(N) = rate N / (1 + contention (N - 1) + coherency N (N - 1))

rate is the value of one unit, contention the share that is done one at a time (Amdahl's law has it alone), coherency
the cost of each pair of units agreeing. With coherency above 0 the curve has a peak at sqrt((1 - contention) /
coherency) units and falls beyond it.

Source: N. J. Gunther, "Guerrilla Capacity Planning" (2007), chapters 4 to 6, with the advice of at least six points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError

from ._columns import names
from .interval import Numbers, check_confidence, needs_scipy

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST: Final = 3
"""Different numbers of units without which the three parameters cannot be told at all."""
ENOUGH: Final = 6
_NOTHING: Final = 1e-9


@dataclass(frozen=True)
class ScalabilityLaw:
    """A fitted law; each pair is the confidence interval of the number before it."""

    points: int
    """Different numbers of units."""
    rate: float
    rate_interval: tuple[float, float]
    contention: float
    contention_interval: tuple[float, float]
    coherency: float
    coherency_interval: tuple[float, float]
    peak_units: float | None
    """Where the curve is highest; none if it rises for ever."""
    peak_value: float | None
    r_squared: float
    warnings: tuple[str, ...]
    """Why not to trust it, one sentence each."""

    def value(self, units: float) -> float:
        """What the law says for so many units."""
        return float(_law(np.array([float(units)]), self.rate, self.contention, self.coherency)[0])


def _law(units: Numbers, rate: float, contention: float, coherency: float) -> Numbers:
    """The formula."""
    return rate * units / (1 + contention * (units - 1) + coherency * units * (units - 1))


def fit(units: Sequence[float], values: Sequence[float], confidence: float = 0.95) -> ScalabilityLaw:
    """Fit the law to a sweep by least squares, no parameter below 0.

    Intervals are estimate -+ t x standard error with (rows - 3) degrees of freedom, cut off at 0: an approximation for
    a curve that is not straight, and unbounded with three rows. Rows of the same units are repetitions.

    Raises:
        EsxparseError: Fewer than 3 different numbers of units, numbers not above 0, or scipy is not there.

    >>> n = [1, 2, 4, 8, 16, 32, 48]
    >>> law = fit(n, [1000 * x / (1 + 0.02 * (x - 1) + 0.0005 * x * (x - 1)) for x in n])
    >>> round(law.rate), round(law.contention, 4), round(law.coherency, 6), round(law.peak_units), law.warnings
    (1000, 0.02, 0.0005, 44, ())
    """
    check_confidence(confidence)
    n, y = np.asarray(units, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if n.shape != y.shape:
        msg = f"a fit needs a value for each number of units: {n.size} numbers of units, {y.size} values"
        raise EsxparseError(msg)
    if not (np.isfinite(n).all() and np.isfinite(y).all() and (n > 0).all() and (y > 0).all()):
        msg = "a fit needs units and values above 0: leave runs without a number or without throughput out"
        raise EsxparseError(msg)
    points = len(np.unique(n))
    if points < FEWEST:
        msg = f"{points} different numbers of units: the law has three parameters and needs {FEWEST} or more"
        raise EsxparseError(msg)
    needs_scipy()
    from scipy.optimize import least_squares  # noqa: PLC0415  (an extra, and slow to import)
    from scipy.special import stdtrit  # noqa: PLC0415

    # In units of the smallest point's rate all three parameters are of a like size.
    scale = float((y / n)[n == n.min()].mean())
    found = least_squares(
        lambda parameters: _law(n, *parameters) - y / scale,
        x0=(1.0, 0.01, 1e-4),
        bounds=(0.0, np.inf),
        x_scale="jac",
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    rate, contention, coherency = (float(parameter) for parameter in found.x)
    freedom = len(n) - 3
    left = float((found.fun**2).sum())
    # Three rows are met exactly, whatever their noise: nothing is known of the error then.
    reach = np.full(3, math.inf)
    if freedom:
        covariance = np.linalg.pinv(found.jac.T @ found.jac) * left / freedom
        reach = float(stdtrit(freedom, (1 + confidence) / 2)) * np.sqrt(np.diag(covariance))
    bounds = [(max(low, 0.0), high) for low, high in zip(found.x - reach, found.x + reach, strict=True)]
    spread = float(((y - y.mean()) ** 2).sum()) / scale**2
    peak = math.sqrt((1 - contention) / coherency) if coherency > _NOTHING and contention < 1 else None
    return ScalabilityLaw(
        points=points,
        rate=rate * scale,
        rate_interval=(float(bounds[0][0]) * scale, float(bounds[0][1]) * scale),
        contention=contention,
        contention_interval=(float(bounds[1][0]), float(bounds[1][1])),
        coherency=coherency,
        coherency_interval=(float(bounds[2][0]), float(bounds[2][1])),
        peak_units=peak,
        peak_value=float(_law(np.array([peak]), rate, contention, coherency)[0]) * scale if peak else None,
        r_squared=1 - left / spread if spread > 0 else math.nan,
        warnings=tuple(_warnings(points, freedom, bounds[2], peak, float(n.max()))),
    )


def _warnings(
    points: int, freedom: int, coherency: tuple[float, float], peak: float | None, largest: float
) -> list[str]:
    """Reasons not to trust a fit."""
    found = []
    if points < ENOUGH:
        found.append(f"only {points} different numbers of units: {ENOUGH} or more are advised")
    if not freedom:
        found.append("as many parameters as points: the curve meets them all, and nothing is known of its error")
    if peak is not None and peak > largest:
        found.append(f"the peak at {peak:.4g} units lies beyond the largest measured, {largest:g}: an extrapolation")
    elif peak is not None and freedom and coherency[0] <= 0:
        found.append("the interval of the coherency holds 0: a peak is not shown")
    return found


_OUTPUT: Final[dict[str, Any]] = {
    "points": pl.Int64,
    "rate": pl.Float64,
    "rate_low": pl.Float64,
    "rate_high": pl.Float64,
    "contention": pl.Float64,
    "contention_low": pl.Float64,
    "contention_high": pl.Float64,
    "coherency": pl.Float64,
    "coherency_low": pl.Float64,
    "coherency_high": pl.Float64,
    "peak_units": pl.Float64,
    "peak_value": pl.Float64,
    "r_squared": pl.Float64,
    "warnings": pl.String,
    "gap": pl.String,
}


def fits(curve: pl.LazyFrame, units: str, value: str, by: Sequence[str] = (), confidence: float = 0.95) -> pl.LazyFrame:
    """Fit the law to each sweep of a table.

    Needs `units`, `value` and the columns `by`, which tell sweeps apart; rows without a value above 0 are left out.
    Returns one row per sweep, in their order: *by, then the fields of `ScalabilityLaw`, each interval as `_low` and
    `_high` (null where unbounded), `warnings` as one text (null without any), and `gap`: why there is no fit.

    Raises:
        EsxparseError: A column is missing, `confidence` is none, or scipy is not there.

    >>> sweep = pl.LazyFrame({"vms": [1, 2, 4, 8, 16, 32], "iops": [100.0, 190.0, 340.0, 560.0, 780.0, 890.0]})
    >>> fits(sweep, "vms", "iops").select(pl.col("contention", "r_squared").round(2)).collect().row(0)
    (0.06, 1.0)
    """
    there = names(curve)
    for name in (units, value, *by):
        if name not in there:
            msg = f"no column {name!r} to fit: the table has {', '.join(sorted(there))}"
            raise EsxparseError(msg)
    check_confidence(confidence)
    needs_scipy()
    chosen = curve.select(*by, pl.col(units).cast(pl.Float64).alias("_n"), pl.col(value).cast(pl.Float64).alias("_y"))
    schema = chosen.collect_schema()
    keys = {name: schema[name] for name in by}

    def each(frame: pl.DataFrame) -> pl.DataFrame:
        sound = pl.col("_n").is_finite() & (pl.col("_n") > 0) & pl.col("_y").is_finite() & (pl.col("_y") > 0)
        grouped = frame.with_columns(pl.lit(0).alias("_all")).group_by(list(by) or ["_all"], maintain_order=True)
        sweeps = grouped.agg(pl.col("_n", "_y").filter(sound))
        found = [_row(n, y, confidence) for n, y in sweeps.select("_n", "_y").iter_rows()]
        return pl.concat([sweeps.select(*by), pl.DataFrame(found, schema=_OUTPUT)], how="horizontal")

    return chosen.map_batches(each, schema={**keys, **_OUTPUT})


def _row(units: Sequence[float], values: Sequence[float], confidence: float) -> dict[str, Any]:
    """A fit as a row."""
    try:
        law = fit(units, values, confidence)
    except EsxparseError as error:
        return {**dict.fromkeys(_OUTPUT), "points": len(set(units)), "gap": str(error)}
    row: dict[str, Any] = {name: getattr(law, name, None) for name in _OUTPUT}
    for name in ("rate", "contention", "coherency"):
        low, high = getattr(law, f"{name}_interval")
        row[f"{name}_low"], row[f"{name}_high"] = low, high if math.isfinite(high) else None
    return {**row, "warnings": "; ".join(law.warnings) or None, "gap": None}
