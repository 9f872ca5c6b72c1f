"""Tables of ratios: configurations, their baselines, intervals and verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError
from esxparse.schema import schema

from . import evidence, interval
from ._series import half_unit
from .frames import first_true

OUTPUT: Final = schema(
    "quantity baseline str, is_baseline bool, runs i64, mean min max f64, baseline_runs i64, baseline_mean f64, "
    "difference difference_low difference_high ratio ratio_min ratio_max ratio_low ratio_high change_pct p_value f64, "
    "comparisons i64, verdict undecided str, runs_needed runs_needed_low runs_needed_high i64, gap str"
)


def text(baseline: Mapping[str, Any]) -> str:
    """Return the baseline as text for messages and tables."""
    return ", ".join(f"{name}={wanted}" for name, wanted in baseline.items())


def configurations(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return one row per configuration, with its repetitions."""
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
    """Join each configuration with its baseline."""
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
        differences = "; ".join(f"{name} is {_some(first[name])}" for name in differ)
        which = f"name which in the baseline, or compare within {differ[0]}"
        raise EsxparseError(f"the baseline {text(baseline)} is not unique: {differences}; {which}")
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


class Settings(NamedTuple):
    """How intervals are computed and differences decided."""

    method: interval.Method = "fieller"
    confidence: float = 0.95
    seed: int = 0
    family: evidence.Family | None = None
    """The comparisons of the answer; None for the comparisons of the table."""
    which: str = "higher"
    """The open question of a comparison that is not significant."""


def with_intervals(table: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Add ratio, range, interval, verdict, and the reason for each gap."""
    table = table.with_columns(
        _over_baseline(table, "mean").alias("ratio"),
        _over_baseline(table, "min").alias("ratio_min"),
        _over_baseline(table, "max").alias("ratio_max"),
    )
    numbers = _Numbers.of(table)
    low, high, differences = _bounds(table, numbers, settings)
    own = table["is_baseline"].fill_null(value=False).to_numpy()
    columns = {
        "difference": np.where(own, np.nan, numbers.mean - numbers.base_mean),
        "difference_low": differences.low,
        "difference_high": differences.high,
        "p_value": differences.p_value,
        "ratio_low": low,
        "ratio_high": high,
    }
    found = table.with_columns(
        *(pl.Series(name, np.where(own, np.nan, some)).fill_nan(None) for name, some in columns.items()),
        ((pl.col("ratio") - 1) * 100).alias("change_pct"),
        pl.Series("_freedom", differences.freedom),
    )
    family, p = settings.family or evidence.find_family(found["p_value"], settings.confidence), pl.col("p_value")
    significant = p <= family.cutoff
    decided = found.with_columns(
        pl.lit(family.comparisons, pl.Int64).alias("comparisons"),
        verdict=first_true(
            (significant & (pl.col("difference") > 0), "higher"),
            (significant & (pl.col("difference") < 0), "lower"),
            (p.is_not_null(), "no difference shown"),
        ),
        gap=_gap(),
    )
    rows = [_undecided(row, family, settings.which) for row in decided.iter_rows(named=True)]
    return decided.with_columns(pl.DataFrame(rows, schema=_UNDECIDED))


_UNDECIDED: Final = {name: OUTPUT[name] for name in OUTPUT if name.startswith(("undecided", "runs_needed"))}


def _gap() -> pl.Expr:
    """Return the reason why a ratio or its interval is null."""
    runs, base_runs, base = pl.col("runs"), pl.col("baseline_runs"), pl.col("baseline_mean")
    fewest = interval.FEWEST
    single = f"an interval needs {fewest} or more"
    return first_true(
        (runs == 0, "no run has a number"),
        (base_runs.is_null(), "no baseline run with these labels"),
        (base_runs == 0, "no run of the baseline has a number"),
        (base == 0, "the baseline's mean is 0: no ratio to it, compare the difference"),
        (base < 0, "the baseline's mean is below 0: no percentage of it, compare the difference"),
        (pl.col("is_baseline"), None),
        (runs < fewest, f"1 repetition: {single}"),
        (base_runs < fewest, f"1 repetition of the baseline: {single}"),
        (
            pl.col("ratio_low").is_null() & (pl.min_horizontal(runs, base_runs) < interval.FEWEST_RESAMPLED),
            "2 repetitions are too few for this interval: repeat the runs",
        ),
        (pl.col("ratio_low").is_null(), "the baseline varies too much: its mean is indistinguishable from 0"),
    )


def _undecided(row: Mapping[str, Any], family: evidence.Family, which: str) -> dict[str, Any]:
    """Return words and repetitions for a comparison that shows no difference; nulls for other comparisons."""
    nothing = dict.fromkeys(_UNDECIDED)
    difference, base, ratio = row["difference"], row["baseline_mean"], row["ratio"]
    if difference is None or row["verdict"] in {"higher", "lower"}:
        return nothing
    relative = ratio is not None
    change = f"{100 * (ratio - 1):+z.3g} %" if relative else f"{difference:+z.3g}"
    if row["p_value"] is None:
        return {**nothing, "undecided": evidence.describe_undecided(which, change, None, None, repeated=False)}
    # A difference too small to matter needs no proof: count the repetitions for the margin instead.
    wanted = max(abs(difference), evidence.EQUAL_PCT / 100 * abs(base))
    needed = evidence.count_repetitions(wanted, row["_var"], row["_base_var"], row["_freedom"], family.cutoff)
    if needed is not None and needed.runs <= min(row["runs"], row["baseline_runs"]):
        needed = needed._replace(runs=min(row["runs"], row["baseline_runs"]) + 1)
    low, high = row["ratio_low"], row["ratio_high"]
    words = evidence.describe_undecided(
        which,
        change,
        (100 * (low - 1), 100 * (high - 1)) if low is not None and high is not None else None,
        needed,
        target=f"{100 * wanted / base:.3g} %" if relative else f"a difference of {wanted:.3g}",
        comparisons=family.comparisons,
    )
    runs = dict(zip(list(_UNDECIDED)[1:], needed or (None,) * 3, strict=True))
    return {"undecided": words, **runs}


def _over_baseline(table: pl.DataFrame, name: str) -> pl.Series:
    """Divide a column by the baseline's mean; null if there is no baseline, or its mean is not above 0.

    Polars multiplies by 1 / x if all rows have the same divisor, so x / x would be 0.9999999999999999.
    """
    base, values = _numbers(table, "baseline_mean"), _numbers(table, name)
    return pl.Series(name, values / np.where(base > 0, base, np.nan), dtype=pl.Float64).fill_nan(None)


def _numbers(table: pl.DataFrame, name: str) -> interval.Numbers:
    """Return a column as a writable array, with NaN for null."""
    return table[name].cast(pl.Float64).fill_null(math.nan).to_numpy()


def _resolutions(table: pl.DataFrame) -> Iterator[tuple[float, float]]:
    """Return units of the last digit, per configuration and baseline: recorded, or inferred from the values."""
    names = ("_resolution", "_base_resolution", "_values", "_base_values")
    for own, base, values, others in table.select(names).iter_rows():
        inferred = 0.0
        if own is None or base is None:
            inferred = 2 * half_unit(np.array([*values, *(others or [])], dtype=np.float64))
        yield (inferred if own is None else own), (inferred if base is None else base)


class _Numbers(NamedTuple):
    """Inputs of `interval.fieller_bounds` and `differences` for each row."""

    mean: interval.Numbers
    variance: interval.Numbers
    runs: interval.Numbers
    base_mean: interval.Numbers
    base_variance: interval.Numbers
    base_runs: interval.Numbers

    @classmethod
    def of(cls, table: pl.DataFrame) -> _Numbers:
        names = ("mean", "_var", "runs", "baseline_mean", "_base_var", "baseline_runs")
        return cls(*(_numbers(table, name) for name in names))


def _bounds(
    table: pl.DataFrame, numbers: _Numbers, settings: Settings
) -> tuple[interval.Numbers, interval.Numbers, interval.Difference]:
    """Return the bounds of all ratios, NaN if there are none, and the differences behind the verdicts."""
    units = np.array(list(_resolutions(table)), dtype=np.float64).reshape(-1, 2)
    halves = (units[:, 0] / 2, units[:, 1] / 2)
    differences = interval.differences(*numbers, settings.confidence, halves)
    if settings.method == "fieller":
        return *interval.fieller_bounds(*numbers, settings.confidence, halves), differences
    return *_bootstrap(table, settings), differences


def _bootstrap(table: pl.DataFrame, settings: Settings) -> tuple[interval.Numbers, interval.Numbers]:
    low, high = np.full(table.height, np.nan), np.full(table.height, np.nan)
    rows = table.select("_values", "_base_values").iter_rows()
    for place, ((values, base), units) in enumerate(zip(rows, _resolutions(table), strict=True)):
        with suppress(EsxparseError):
            found = interval.bootstrap(
                values, base or [], settings.confidence, seed=settings.seed, resolution=max(units)
            )
            low[place], high[place] = found.low, found.high
    return low, high
