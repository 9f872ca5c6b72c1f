"""Scaling: the gain from more hosts, VMs, vCPUs or servers.

    speedup = value / value of the smallest point        efficiency = value / (rate of the smallest point x units)

The straight line through the origin and the smallest measured point is linear scaling, as in the studies.

Sources: "Introducing the Zephyr Benchmark" ("The dotted line shows linear scaling of the maximum load extrapolated
from the single application server result"; "The peak load supported by a configuration is the maximum load at which
the configuration can satisfy all of the QoS requirements"); "VDI Benchmarking Using View Planner on VMware Virtual SAN
- Part 2" (VMs per host). `scalability_law` fits a curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl
from polars import selectors

from esxparse.errors import EsxparseError

from ._inputs import ABOVE_0, AT_LEAST_0, check, checked
from ._series import half_unit_of
from .frames import above_zero, finite, names, need
from .ratio import ratios

TOLERANCE_PCT: Final = 5.0
"""A point up to this much below the line still counts as linear. Our choice: the studies judge by eye."""


def efficiency(curve: pl.LazyFrame, units: str, value: str, by: Sequence[str] = ()) -> pl.LazyFrame:
    """Compare each point of a sweep with the linear extrapolation of its smallest point.

    Needs `units` (hosts, vCPUs, servers), `value` (higher is better) and the columns `by`, which identify sweeps. Rows
    of the same units are repetitions: each is compared with the mean of the smallest point. Adds:

    linear          mean value at the smallest units / smallest units x units
    efficiency      value / linear: 1 is linear scaling
    efficiency_low, efficiency_high   its bounds, with half a unit of the last printed decimal either way
    speedup         value / mean value at the smallest units
    per_unit        value / units

    Null if there is no value, or the divisor is not above 0.

    Raises EsxparseError: A column is missing; on collecting, a number of units is negative.

    >>> vdi = pl.LazyFrame({"hosts": [3, 5, 8], "desktops": [286, 473, 767]})
    >>> table = efficiency(vdi, "hosts", "desktops").collect()
    >>> [round(share, 3) for share in table["efficiency"]], [round(desktops) for desktops in table["per_unit"]]
    ([1.0, 0.992, 1.006], [95, 95, 96])
    """
    curve = checked(curve, {units: AT_LEAST_0})
    need(
        names(curve),
        units,
        value,
        *by,
        results=["linear", "efficiency", "efficiency_low", "efficiency_high", "speedup", "per_unit"],
    )
    n, y = above_zero(pl.col(units).cast(pl.Float64)), pl.col(value).cast(pl.Float64)
    smallest = n.filter(y.is_not_null()).min()
    first = y.filter(n == smallest).mean()
    half = half_unit_of(y)
    if by:
        smallest, first, half = smallest.over(by), first.over(by), half.over(by)
    sound = pl.when(first > 0).then(first)
    least = pl.when(first > half).then(first - half)
    return curve.with_columns(
        (sound / smallest * n).alias("linear"),
        (y / (sound / smallest * n)).alias("efficiency"),
        ((y - half) / ((sound + half) / smallest * n)).alias("efficiency_low"),
        ((y + half) / (least / smallest * n)).alias("efficiency_high"),
        (y / sound).alias("speedup"),
        (y / n).alias("per_unit"),
    )


def leaves_linear(
    curve: pl.LazyFrame, units: str, value: str, by: Sequence[str] = (), tolerance_pct: float = TOLERANCE_PCT
) -> pl.LazyFrame:
    """Find the point up to which a sweep scales linearly, and the point where it leaves the line.

    Needs the columns of `efficiency`; repetitions count by their mean. Returns one row per sweep, sorted by `by`:

    *by
    points           i64   different units with a value
    linear_up_to     largest units before the first point more than `tolerance_pct` below the line, however its printed
                     value was rounded
    leaves_at        units of that first point; null if the whole sweep is linear
    efficiency_there efficiency of that point
    efficiency_last  efficiency of the largest point

    With one point `linear_up_to` is that point, which shows nothing: check `points`.

    Raises EsxparseError: A column is missing, or the tolerance is not from 0 to 100.

    >>> zephyr = pl.LazyFrame({"servers": [1, 2, 4, 6, 7], "users": [1000, 2000, 3980, 5900, 6200]})
    >>> leaves_linear(zephyr, "servers", "users").select("linear_up_to", "leaves_at").collect().row(0)
    (6, 7)
    """
    if not 0 <= tolerance_pct < 100:  # noqa: PLR2004  (percent)
        raise EsxparseError(f"the tolerance must be from 0 to less than 100 percent, not {tolerance_pct!r}")
    keys = [*by, units]
    need(
        names(curve),
        value,
        *keys,
        results=["points", "linear_up_to", "leaves_at", "efficiency_there", "efficiency_last"],
    )
    n, share = pl.col(units), pl.col("efficiency")
    below = pl.col("efficiency_high") < 1 - tolerance_pct / 100
    left = n.filter(below).min()
    points = (
        efficiency(curve, units, value, by)
        .filter(share.is_not_null())
        .group_by(keys)
        .agg(share.mean(), pl.col("efficiency_high").mean())
        .sort(keys)
        .with_columns(pl.lit(0).alias("_all"))
    )
    return (
        points.group_by(list(by) or ["_all"], maintain_order=True)
        .agg(
            n.len().cast(pl.Int64).alias("points"),
            n.filter((n < left).fill_null(value=True)).max().alias("linear_up_to"),
            left.alias("leaves_at"),
            share.filter(below).first().alias("efficiency_there"),
            share.last().alias("efficiency_last"),
        )
        .drop("_all", strict=False)
    )


def peak_load(records: pl.LazyFrame, load: str, rules: Mapping[str, pl.Expr], by: Sequence[str] = ()) -> pl.LazyFrame:
    """Find the largest load that meets every rule of quality of service.

    Needs one or more rows per load (one per operation, for example), the column `load` and the columns `by`. `rules`
    maps the name of a rule to an expression that is true if a row meets the rule. A load meets a rule if all of its
    rows do. A row without a measurement (null or NaN) neither meets nor fails a rule. Returns one row per `by`, sorted
    by them:

    *by
    loads              i64   different loads tested
    peak_load          largest load that meets every rule; null if none does
    fails_at           smallest load above the peak that fails a rule; null if none does
    failed_rules       str   names of the rules that fail at `fails_at`
    failed_below_peak  i64   smaller loads that fail nevertheless: if any, the peak is in doubt
    unknown_loads      i64   loads with an unknown rule and without a failed one: if any, the peak may be wrong

    Raises EsxparseError: A column is missing, there are no rules, or a rule is not true or false for a row.

    >>> records = pl.LazyFrame({
    ...     "users": [100, 100, 200, 200, 300, 300], "operation": ["login", "bid"] * 3,
    ...     "p99_ms": [90.0, 40.0, 180.0, 60.0, 390.0, 80.0], "limit_ms": [250.0, 100.0] * 3,
    ... })
    >>> rules = {"p99": pl.col("p99_ms") <= pl.col("limit_ms")}
    >>> peak_load(records, "users", rules).collect().rows()
    [(3, 200, 300, 'p99', 0, 0)]
    """
    records = finite(records)
    need(
        names(records),
        load,
        *by,
        results=["loads", "peak_load", "fails_at", "failed_rules", "failed_below_peak", "unknown_loads"],
    )
    if not rules:
        raise EsxparseError('a peak load needs a rule to meet, such as {"p95": pl.col("p95_ms") <= 100}')
    for name, rule in rules.items():
        _check_rule(records, name, rule)
    level = pl.col(load)
    met = {name: rule.all(ignore_nulls=False).alias(f"_rule_{place}") for place, (name, rule) in _numbered(rules)}
    passed = pl.all_horizontal(f"_rule_{place}" for place in range(len(rules)))
    failed = pl.concat_list(
        pl.when(~pl.col(f"_rule_{place}")).then(pl.lit(name)) for place, (name, _) in _numbered(rules)
    )
    peak = level.filter("_passed").max()
    fails = ~pl.col("_passed")
    after = level.filter(fails & (level > peak).fill_null(value=True)).min()
    return (
        records.filter(level.is_not_null())
        .with_columns(selectors.float().fill_nan(None))
        .group_by(*by, load)
        .agg(*met.values())
        .with_columns(passed.alias("_passed"), failed.list.drop_nulls().list.join(", ").alias("_failed"))
        .with_columns(pl.lit(0).alias("_all"))
        .sort(*by, load)
        .group_by(list(by) or ["_all"], maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("loads"),
            peak.alias("peak_load"),
            after.alias("fails_at"),
            pl.col("_failed").filter(level == after).first().alias("failed_rules"),
            ((level < peak) & fails).sum().cast(pl.Int64).alias("failed_below_peak"),
            pl.col("_passed").is_null().sum().cast(pl.Int64).alias("unknown_loads"),
        )
        .drop("_all", strict=False)
    )


def generation_ratio(
    runs: pl.LazyFrame, value: str, generation: str, older: Any, units: Sequence[str] = ()
) -> pl.LazyFrame:
    """Divide a generation of hosts or a release by an older one, at the same number of units.

    Calls `ratio.ratios` with the baseline `{generation: older}` and the labels `generation` and `units`; its inputs
    and results are the same.

    >>> runs = pl.LazyFrame({"vsphere": ["6.5", "6.7"], "ops_per_s": [8.3, 16.7]})
    >>> round(generation_ratio(runs, "ops_per_s", "vsphere", "6.5").collect()["ratio"][1], 1)
    2.0
    """
    return ratios(runs, value, [generation, *units], {generation: older})


def scale_up_efficiency(units: float, value: float, base_units: float, base_value: float) -> float:
    """Return the efficiency of one point against another: `(value / base_value) / (units / base_units)`; 1 is linear.

    For a fair comparison both sides must share hardware threads alike. Compare 120 vCPUs on four sockets with 60 on
    two, as in "VMware vSphere 6 and Oracle 12c Scalability Study", not with 60 that have a core each.

    Raises EsxparseError: A divisor is not above 0.

    >>> scale_up_efficiency(120, 190.0, base_units=60, base_value=100.0)
    0.95
    """
    for number, what in ((units, "units"), (base_units, "base units"), (base_value, "base value")):
        check(f"the {what} of a scale-up", number, ABOVE_0)
    return (value / base_value) / (units / base_units)


def _check_rule(records: pl.LazyFrame, name: str, rule: object) -> None:
    kind = None
    if isinstance(rule, pl.Expr):
        try:
            kind = records.select(rule.alias("rule")).collect_schema()["rule"]
        except pl.exceptions.PolarsError as error:
            raise EsxparseError(f"the rule {name!r} does not fit the table: {str(error).splitlines()[0]}") from None
    if kind not in {pl.Boolean, pl.Null}:
        msg = f'the rule {name!r} must be true or false for each row, such as pl.col("p95_ms") <= 100 is, not {rule}'
        raise EsxparseError(msg)


def _numbered(rules: Mapping[str, pl.Expr]) -> list[tuple[int, tuple[str, pl.Expr]]]:
    """Return the rules with their places, for use in column names: rule names are free text."""
    return list(enumerate(rules.items()))
