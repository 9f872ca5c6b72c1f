"""How a table of ratios is put together: configurations, the baseline of each, intervals and verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError
from esxparse.schema import schema

from . import interval
from ._series import half_unit
from .frames import first_true

OUTPUT: Final = schema(
    "quantity baseline str, is_baseline bool, runs i64, mean min max f64, baseline_runs i64, baseline_mean f64, "
    "ratio ratio_min ratio_max ratio_low ratio_high change_pct f64, verdict gap str"
)


def text(baseline: Mapping[str, Any]) -> str:
    """A baseline as messages and tables name it."""
    return ", ".join(f"{name}={wanted}" for name, wanted in baseline.items())


def configurations(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """One row per configuration, with its repetitions."""
    number = pl.col("_value").filter(pl.col("_value").is_finite())
    return frame.group_by(keys, maintain_order=True).agg(
        number.len().cast(pl.Int64).alias("runs"),
        number.mean().alias("mean"),
        number.min().alias("min"),
        number.max().alias("max"),
        number.var().alias("_var"),
        number.alias("_values"),
        pl.col("_resolution").max(),
    )


def beside_baseline(
    table: pl.DataFrame, keys: Sequence[str], baseline: Mapping[str, Any], shared: Sequence[str]
) -> pl.DataFrame:
    """Each configuration beside the baseline it is divided by."""
    try:
        marked = table.with_columns(
            is_baseline=pl.all_horizontal(pl.col(name).eq_missing(pl.lit(value)) for name, value in baseline.items())
        )
    except (pl.exceptions.PolarsError, OverflowError) as error:
        msg = f"the baseline {text(baseline)} has a different type than the runs: {str(error).splitlines()[0]}"
        raise EsxparseError(msg) from None
    base = marked.filter("is_baseline")
    if base.is_empty():
        seen = "; ".join(f"{name} is {_some(table[name])}" for name in baseline)
        raise EsxparseError(f"no run matches the baseline {text(baseline)}: {seen}")
    double = base.filter(base.select(shared).is_duplicated()) if shared else base
    if double.height > 1:
        first = (
            double.join(double.head(1), on=shared, nulls_equal=True, how="semi", maintain_order="left")
            if shared
            else double
        )
        differ = [name for name in keys if first[name].n_unique() > 1]
        told = "; ".join(f"{name} is {_some(first[name])}" for name in differ)
        which = f"name which in the baseline, or compare within {differ[0]}"
        raise EsxparseError(f"the baseline {text(baseline)} is not unique: {told}; {which}")
    facts = {"runs": "baseline_runs", "mean": "baseline_mean"}
    facts |= {name: f"_base{name}" for name in ("_var", "_values", "_resolution")}
    right = base.select(*shared, *(pl.col(old).alias(new) for old, new in facts.items()))
    if not shared:
        return marked.join(right, how="cross", maintain_order="left")
    return marked.join(right, on=shared, how="left", nulls_equal=True, maintain_order="left")


def _some(values: pl.Series) -> str:
    different = values.unique(maintain_order=True).to_list()
    most = 5
    return ", ".join(map(str, different[:most])) + (" ..." if len(different) > most else "")


def with_intervals(table: pl.DataFrame, method: interval.Method, confidence: float, seed: int) -> pl.DataFrame:
    """Ratio, range, interval, verdict, and why one is lacking."""
    table = table.with_columns(
        _over_baseline(table, "mean").alias("ratio"),
        _over_baseline(table, "min").alias("ratio_min"),
        _over_baseline(table, "max").alias("ratio_max"),
    )
    bounds = _fieller(table, confidence) if method == "fieller" else _bootstrap(table, confidence, seed)
    low, high, own = pl.col("ratio_low"), pl.col("ratio_high"), pl.col("is_baseline")
    fewest = interval.FEWEST
    return table.with_columns(
        pl.when(~own).then(pl.Series("ratio_low", bounds[0], dtype=pl.Float64).fill_nan(None)).alias("ratio_low"),
        pl.when(~own).then(pl.Series("ratio_high", bounds[1], dtype=pl.Float64).fill_nan(None)).alias("ratio_high"),
        ((pl.col("ratio") - 1) * 100).alias("change_pct"),
    ).with_columns(
        verdict=first_true(
            (low > 1 + interval.SAME, "higher"),
            (high < 1 - interval.SAME, "lower"),
            (low.is_not_null(), "no difference shown"),
        ),
        gap=first_true(
            (pl.col("runs") == 0, "no run has a number"),
            (pl.col("baseline_runs").is_null(), "no baseline run with these labels"),
            (pl.col("baseline_runs") == 0, "no run of the baseline has a number"),
            (pl.col("baseline_mean") == 0, "the baseline's mean is 0"),
            (own, None),
            (pl.col("runs") < fewest, "1 repetition: an interval needs 2 or more"),
            (pl.col("baseline_runs") < fewest, "1 repetition of the baseline: an interval needs 2 or more"),
            (low.is_null() | high.is_null(), "the baseline varies too much: its mean is indistinguishable from 0"),
        ),
    )


def _over_baseline(table: pl.DataFrame, name: str) -> pl.Series:
    """A column divided by the baseline's mean; null where there is none, or it is 0.

    Polars multiplies by 1 / x where all rows are divided by one number, which makes 0.9999999999999999 of x / x.
    """
    base = table["baseline_mean"].cast(pl.Float64).replace(0.0, None).fill_null(math.nan).to_numpy()
    values = table[name].cast(pl.Float64).fill_null(math.nan).to_numpy()
    return pl.Series(name, values / base, dtype=pl.Float64).fill_nan(None)


def _resolutions(table: pl.DataFrame) -> Iterator[tuple[float, float]]:
    """Units of the last digit, of each configuration and of its baseline: as said, else as the values of both tell."""
    names = ("_resolution", "_base_resolution", "_values", "_base_values")
    for own, base, values, others in table.select(names).iter_rows():
        inferred = 0.0
        if own is None or base is None:
            inferred = 2 * half_unit(np.array([*values, *(others or [])], dtype=np.float64))
        yield (inferred if own is None else own), (inferred if base is None else base)


def _fieller(table: pl.DataFrame, confidence: float) -> tuple[Any, Any]:
    """Bounds of all rows; NaN where there are none."""

    def numbers(name: str) -> interval.Numbers:
        return table[name].cast(pl.Float64).fill_null(math.nan).to_numpy()

    units = np.array(list(_resolutions(table)), dtype=np.float64).reshape(-1, 2)
    return interval.fieller_bounds(
        numbers("mean"),
        numbers("_var"),
        numbers("runs"),
        numbers("baseline_mean"),
        numbers("_base_var"),
        numbers("baseline_runs"),
        confidence=confidence,
        halves=(units[:, 0] / 2, units[:, 1] / 2),
    )


def _bootstrap(table: pl.DataFrame, confidence: float, seed: int) -> tuple[Any, Any]:
    low, high = np.full(table.height, np.nan), np.full(table.height, np.nan)
    rows = table.select("_values", "_base_values", "baseline_mean").iter_rows()
    for place, ((values, base, mean), units) in enumerate(zip(rows, _resolutions(table), strict=True)):
        if base is not None and mean and min(len(values), len(base)) >= interval.FEWEST:
            with suppress(EsxparseError):
                found = interval.bootstrap(values, base, confidence, seed=seed, resolution=max(units))
                low[place], high[place] = found.low, found.high
    return low, high
