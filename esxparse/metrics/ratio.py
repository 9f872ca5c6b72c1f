"""Ratios to a baseline, with repetitions, interval and verdict.

    ratio = mean of the repetitions / mean of the baseline's repetitions

`ratio_min` and `ratio_max` are the smallest and largest repetition over the baseline's mean, the error bars of the
studies; `ratio_low` and `ratio_high` are the confidence interval (see `interval`).

A verdict follows from the difference of the means and its p-value. So it has the right direction even for a baseline
below 0, which has no ratio. It allows for the number of comparisons in one answer (see `evidence`). Each interval is
for one comparison: among many, one may exclude 1 by chance, and its verdict is then "no difference shown".

Sources: "Docker Containers Performance in VMware vSphere", figure 9 ("a ratio with respect to native of the mean
throughput over the 5 runs (error bars show the range of variability over those runs)"); "NFS & iSCSI: Performance
Characterization and Best Practices in ESX 3.5", slide "Protocol Comparison" (ratio to Fibre Channel: "if < 1, FC data
value is larger"); "Persistent Memory Performance in vSphere 6.7" (virtual-to-native ratio). Geometric mean of ratios:
P. J. Fleming and J. J. Wallace, "How Not to Lie with Statistics" (1986).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError

from . import interval, units
from ._ratios import OUTPUT, Settings, beside_baseline, configurations, text, with_intervals
from .frames import column, names, need

if TYPE_CHECKING:
    from .evidence import Family

_SHOWN: Final = 12


def percent_change(value: float, baseline: float) -> float:
    """Return the change against the baseline in percent of it: `(value / baseline - 1) x 100`.

    "207.59 % of" the baseline is a change of 107.59 %: people often confuse the two.

    Raises EsxparseError: The baseline is not above 0, so a percentage of it has no meaning.

    >>> round(percent_change(510, 470), 1)
    8.5
    """
    return (value / _divisor(baseline) - 1) * 100


def performance(value: float, baseline: float, *, higher_is_better: bool) -> float:
    """Return the performance as a multiple of the baseline: above 1 is better, whatever the metric.

    `value / baseline` if higher is better, `baseline / value` if lower is better (latency, memory, run time). With
    native as baseline this is the virtual-to-native ratio, with an older release its improvement factor.

    Raises EsxparseError: The divisor is not above 0.

    >>> performance(9.4, 9.4, higher_is_better=True), performance(5.0, 4.0, higher_is_better=False)
    (1.0, 0.8)
    """
    return value / _divisor(baseline) if higher_is_better else baseline / _divisor(value)


def _divisor(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise EsxparseError(f"a ratio to {value:g} has no meaning: give the difference, or check that run")
    return value


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean: `exp(mean(ln(value)))`, which does not depend on the choice of the baseline.

    Raises EsxparseError: There are no values, or one is not above 0.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    if not values or not all(math.isfinite(value) and value > 0 for value in values):
        msg = f"a geometric mean needs ratios above 0, not {', '.join(f'{value:g}' for value in values) or 'none'}"
        raise EsxparseError(msg)
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def ratios(
    runs: pl.LazyFrame,
    value: str,
    labels: Sequence[str],
    baseline: Mapping[str, Any],
    *,
    within: Sequence[str] | None = None,
    method: interval.Method = "fieller",
    confidence: float = 0.95,
    seed: int = 0,
    resolution: str | None = None,
    family: Family | None = None,
    which: str = "",
) -> pl.LazyFrame:
    """Divide each configuration by its baseline.

    Needs one row per run: `value` and the columns `labels`, which identify configurations (rows with equal labels are
    repetitions). `baseline` selects the configuration to divide by: `{"filter": "default"}`. Each other configuration
    is divided by the baseline with the same labels in `within`, by default all labels outside `baseline`. `seed` is
    for the bootstrap. `resolution` is an optional column with the unit of the last printed digit of each value.
    Without it, or if it is null, the unit is the last decimal among the values of a configuration and its baseline
    (see `interval`). `family` are the comparisons of the whole answer (`evidence.find_family`); by default the
    comparisons of this table. `which` words the open question: "faster" for times, else "higher". Returns one row per
    configuration, in the order of the runs:

    *labels
    quantity, baseline str   name of the value; the baseline as text, `filter=default`
    is_baseline        bool
    runs               i64   repetitions with a number
    mean, min, max     f64   over them, in the unit of `value`
    baseline_runs, baseline_mean
    difference         mean - baseline_mean; null in the baseline's row, as are all later columns but the first ratios
    difference_low, difference_high   its confidence interval
    ratio              mean / baseline_mean; null unless the baseline's mean is above 0
    ratio_min, ratio_max   min / baseline_mean and max / baseline_mean: the published error bars
    ratio_low, ratio_high  confidence interval of this ratio alone
    change_pct         (ratio - 1) x 100, %
    p_value            probability of such a difference by chance alone; null with a single run on a side
    comparisons        i64   comparisons in the answer
    verdict            higher, lower, or no difference shown: the p-value is above the answer's cutoff
    undecided          str   the conclusion of a comparison without a verdict of higher or lower, in words
    runs_needed, runs_needed_low, runs_needed_high   i64  runs per side that would show the difference, with bounds
    gap                str   reason why the ratio or its interval is null, in words

    Raises EsxparseError: A column is missing, `value` is not numeric, or `confidence` or `method` is invalid; on
    collecting, no run matches the baseline, or it is not unique.

    >>> runs = pl.LazyFrame({
    ...     "platform": ["native"] * 3 + ["vm"] * 3, "ops": [100.0, 101.0, 99.0, 95.5, 96.0, 96.5],
    ... })
    >>> found = ratios(runs, "ops", ["platform"], {"platform": "native"}).collect().row(1, named=True)
    >>> found["ratio"], round(found["ratio_low"], 3), round(found["ratio_high"], 3), found["verdict"]
    (0.96, 0.94, 0.981, 'lower')
    """
    there = names(runs)
    keys = list(labels)
    need(there, *keys, *baseline, value, *([resolution] if resolution else []))
    if not baseline or not set(baseline) <= set(keys):
        msg = f"the baseline must name one or more of the labels {', '.join(keys)}, not {', '.join(baseline) or 'none'}"
        raise EsxparseError(msg)
    if taken := set(keys) & set(OUTPUT):
        raise EsxparseError(f"the label {min(taken)!r} clashes with a result column: rename it")
    kinds = runs.collect_schema()
    if not (kinds[value].is_numeric() or kinds[value] == pl.Null):
        # Counts are rarely compared: list measurements first.
        numbers = [name for name, kind in kinds.items() if kind.is_float() and name not in keys]
        numbers += [name for name, kind in kinds.items() if kind.is_integer() and name not in keys]
        listed = ", ".join(numbers[:_SHOWN]) + (" ..." if len(numbers) > _SHOWN else "")
        raise EsxparseError(f"{value} is not numeric and cannot be compared; numeric columns: {listed or 'none'}")
    interval.check_confidence(confidence)
    interval.check_method(method)
    others = [name for name in keys if name not in baseline]
    shared = others if within is None else list(within)
    if not set(shared) <= set(others):
        msg = f"`within` must name labels that are not in the baseline: {', '.join(others) or 'there are none'}"
        raise EsxparseError(msg)
    printed = pl.col(resolution) if resolution else pl.lit(None)
    settings = Settings(method, confidence, seed, family, which or ("faster" if _is_time(value) else "higher"))
    chosen = runs.select(
        *keys, pl.col(value).cast(pl.Float64).alias("_value"), printed.cast(pl.Float64).alias("_resolution")
    )
    schema = chosen.collect_schema()

    def compare(frame: pl.DataFrame) -> pl.DataFrame:
        joined = beside_baseline(configurations(frame, keys), keys, baseline, shared)
        columns = pl.lit(value).alias("quantity"), pl.lit(text(baseline)).alias("baseline")
        return with_intervals(joined, settings).with_columns(*columns).select(*keys, *OUTPUT)

    return chosen.map_batches(compare, schema={**{name: schema[name] for name in keys}, **OUTPUT})


def _is_time(value: str) -> bool:
    """Return whether a column's name ends in a unit of time and is not a rate."""
    unit = value.rpartition("_")[2]
    return "_per_" not in value and unit in units.UNITS and units.UNITS[unit].kind == "time"


def virtual_to_native(
    results: pl.LazyFrame,
    label: str = "platform",
    native: str = "native",
    *,
    method: interval.Method = "fieller",
    confidence: float = 0.95,
    seed: int = 0,
    family: Family | None = None,
) -> pl.LazyFrame:
    """Compare benchmark results of virtual machines and containers with native ones: above 1 is better than native.

    Works on the table `benchmark_results` of several recordings, concatenated, with a column `label` for the platform
    of each row. Needs `benchmark`, `test`, `configuration`, `metric`, `value`, `unit`, `higher_is_better`; runs whose
    `valid` is false are left out and counted. The optional column `resolution` is the unit of the last printed digit
    of each value; for it and `family`, see `ratios`. Returns one row per figure and platform:

    benchmark, test, configuration, metric, `label`
    unit, higher_is_better
    invalid_runs       i64   left out: the program's own check failed
    the columns of `ratios` from `is_baseline` to `change_pct`
    performance        ratio if higher is better, 1 / ratio if lower is better; null if neither is known
    performance_min, performance_max   of the single runs, against the native mean
    performance_low, performance_high  confidence interval
    p_value, comparisons, undecided, runs_needed, runs_needed_low, runs_needed_high   as in `ratios`
    verdict            better, worse, or no difference shown: the p-value is above the answer's cutoff
    gap                str   reason for a null; `units differ: MB/s, MiB/s` if native and virtual do not match

    Raises EsxparseError: As `ratios`.

    >>> results = pl.LazyFrame({
    ...     "benchmark": ["netperf"] * 6, "test": ["TCP_RR"] * 6, "configuration": [""] * 6,
    ...     "platform": ["native"] * 3 + ["vm"] * 3, "metric": ["latency_mean"] * 6, "unit": ["us"] * 6,
    ...     "value": [29.0, 30.0, 31.0, 44.0, 45.0, 46.0], "higher_is_better": [False] * 6,
    ... })
    >>> found = virtual_to_native(results).collect().row(1, named=True)
    >>> found["ratio"], round(found["performance"], 3), found["verdict"]
    (1.5, 0.667, 'worse')
    """
    keys = ["benchmark", "test", "configuration", "metric"]
    invalid = (~column(names(results), "valid").cast(pl.Boolean)).fill_null(value=False)
    unit, better = pl.col("unit"), pl.col("higher_is_better")
    facts = results.group_by(keys).agg(
        unit.drop_nulls().unique(maintain_order=True).alias("_units"), better.drop_nulls().first()
    )
    left_out = results.group_by(*keys, label).agg(invalid.sum().cast(pl.Int64).alias("invalid_runs"))
    compared = ratios(
        results.with_columns(pl.when(~invalid).then("value").alias("value")),
        "value",
        [*keys, label],
        {label: native},
        method=method,
        confidence=confidence,
        seed=seed,
        resolution="resolution" if "resolution" in names(results) else None,
        family=family,
        which="better",
    )
    mixed = pl.col("_units").list.len() > 1
    numbers = [name for name in OUTPUT if name.startswith(_OF_ONE_UNIT)]
    return (
        compared.join(facts, on=keys, how="left", nulls_equal=True, maintain_order="left")
        .join(left_out, on=[*keys, label], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.when(~mixed).then(pl.col(name)).alias(name) for name in [*numbers, "verdict"])
        .with_columns(
            pl.when(mixed)
            .then(pl.format("units differ: {}", pl.col("_units").list.join(", ")))
            .otherwise("gap")
            .alias("gap"),
            pl.when(~mixed).then(pl.col("_units").list.first()).alias("unit"),
            *_as_performance(better),
        )
        .select(
            *keys,
            label,
            "unit",
            "higher_is_better",
            "invalid_runs",
            *[name for name in OUTPUT if name not in {"quantity", "baseline", "verdict", "gap"}],
            *[f"performance{end}" for end in ("", "_min", "_max", "_low", "_high")],
            "verdict",
            "gap",
        )
    )


_OF_ONE_UNIT: Final = ("difference", "ratio", "change_pct", "p_value", "undecided", "runs_needed")
"""Prefixes of the columns that are null if the units differ."""


def _as_performance(better: pl.Expr) -> list[pl.Expr]:
    """Return the ratio and its bounds inverted if lower is better, and the verdict as better or worse."""

    def turned(upright: str, upside_down: str) -> pl.Expr:
        below = pl.col(upside_down)
        return pl.when(better).then(pl.col(upright)).when(~better & (below > 0)).then(1 / below)

    verdict = pl.col("verdict")
    return [
        turned("ratio", "ratio").alias("performance"),
        turned("ratio_min", "ratio_max").alias("performance_min"),
        turned("ratio_max", "ratio_min").alias("performance_max"),
        turned("ratio_low", "ratio_high").alias("performance_low"),
        turned("ratio_high", "ratio_low").alias("performance_high"),
        pl.when(better.is_not_null() & (verdict == "no difference shown"))
        .then(verdict)
        .when((verdict == "higher") == better)
        .then(pl.lit("better"))
        .when((verdict == "higher") != better)
        .then(pl.lit("worse"))
        .alias("verdict"),
    ]


def geometric_means(table: pl.LazyFrame, by: str | Sequence[str], value: str = "performance") -> pl.LazyFrame:
    """Sum up ratios over tests: one geometric mean per `by`.

    Needs the columns `by` and `value`, from `virtual_to_native` or `ratios`, for example. Returns, in their order:

    *by
    tests            i64   ratios in the mean
    left_out         i64   rows without a ratio above 0
    geometric_mean   exp(mean(ln(value))); null without a ratio

    >>> table = pl.LazyFrame({"platform": ["vm"] * 3, "test": ["a", "b", "c"], "performance": [0.5, 2.0, None]})
    >>> geometric_means(table, "platform").collect().rows()
    [('vm', 2, 1, 1.0)]
    """
    number = pl.col(value).cast(pl.Float64)
    sound = (number.is_finite() & (number > 0)).fill_null(value=False)
    return table.group_by(by, maintain_order=True).agg(
        sound.sum().cast(pl.Int64).alias("tests"),
        (~sound).sum().cast(pl.Int64).alias("left_out"),
        number.filter(sound).log().mean().exp().alias("geometric_mean"),
    )
