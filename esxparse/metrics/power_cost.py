"""Power costs of a year, and the price of saving power in ready time.

    cost per year = hosts x price per kWh x kW x 24 x 365 x climate factor

The climate factor adds cooling: 1.5 is 50 W of cooling for each 100 W of a host. The watts are a host's mean; a
reading from the busiest hour overstates the yearly cost. `energy` has energy from readings, and watts per unit of work
over time.

Source: v(e)Xpertise, "vSphere and CPU power management: performance vs. costs in the VDI field" (formula; climate
factor 1.3 to 1.5; 0.10 to 0.25 EUR per kWh; targets of 3 % ready and 0 % co-stop per vCPU).
"""

from __future__ import annotations

import math
from typing import Final

import polars as pl

from esxparse.errors import EsxparseError

from ._inputs import AT_LEAST_0, Bound, check, checked
from .frames import column, names
from .scheduling import pct_to_ms

HOURS_PER_YEAR: Final = 24 * 365
READY_TARGET_PCT: Final = 3.0
COSTOP_TARGET_PCT: Final = 0.0
TARGET_RESOLUTION_PCT: Final = 1.0
"""The unit in which the source prints these targets."""


_CLIMATE: Final = Bound(least=1.0, hint="1.5 is 50 % on top for cooling")
_BOUNDS: Final = dict.fromkeys(("hosts", "watts", "price_per_kwh", "units"), AT_LEAST_0) | {"climate_factor": _CLIMATE}


def energy_kwh_per_year(hosts: float, watts: float, climate_factor: float = 1.0) -> float:
    """Return the energy of hosts that draw `watts` each, all year: hosts x watts / 1000 x 24 x 365 x climate factor.

    Raises EsxparseError: A number is negative, or the climate factor is below 1.

    >>> energy_kwh_per_year(20, 170), energy_kwh_per_year(20, 170, climate_factor=1.5)
    (29784.0, 44676.0)
    """
    check("hosts", hosts)
    check("watts", watts)
    check("the climate factor", climate_factor, _CLIMATE)
    return hosts * watts * HOURS_PER_YEAR * climate_factor / 1000


def cost_per_year(hosts: float, watts: float, price_per_kwh: float, climate_factor: float = 1.0) -> float:
    """Return the cost of a year, in the currency of the price: hosts x price x kW x 24 x 365 x climate factor.

    Raises EsxparseError: See `energy_kwh_per_year`, or the price is negative.

    >>> cost_per_year(20, 170, 0.25, 1.5), cost_per_year(20, 230, 0.25, 1.5)
    (11169.0, 15111.0)
    """
    check("price_per_kwh", price_per_kwh)
    return energy_kwh_per_year(hosts, watts, climate_factor) * price_per_kwh


def watts_per_unit(hosts: float, watts: float, units: float) -> float:
    """Return the power per desktop, VM or transaction per second: hosts x watts / units.

    Raises EsxparseError: The number of units is not above 0, or a number is negative.

    >>> watts_per_unit(20, 170, 1000), watts_per_unit(20, 230, 1000)
    (3.4, 4.6)
    """
    check("hosts", hosts)
    check("watts", watts)
    if not (math.isfinite(units) and units > 0):
        msg = f"power cannot be divided by {units!r} units: give their number, or the rate of the work done"
        raise EsxparseError(msg)
    return hosts * watts / units


def yearly(runs: pl.LazyFrame) -> pl.LazyFrame:
    """Add energy and cost of a year to each row.

    Needs `hosts`, `watts` (W of one host) and any of `price_per_kwh`, `climate_factor` (default 1), `units`.
    Adds, null if a number is missing:

    energy_kwh_per_year   f64  cooling included
    cost_per_year         f64  in the currency of the price
    watts_per_unit        f64  hosts x watts / units, without cooling; null without units

    Raises EsxparseError: On collecting, a number is negative, or a climate factor below 1.

    >>> runs = pl.LazyFrame({"hosts": [20], "watts": [170.0], "price_per_kwh": [0.25], "climate_factor": [1.5]})
    >>> yearly(runs).select("energy_kwh_per_year", "cost_per_year").collect().row(0)
    (44676.0, 11169.0)
    """
    runs = checked(runs, _BOUNDS)
    there = names(runs)
    drawn = column(there, "hosts") * column(there, "watts")
    climate = column(there, "climate_factor") if "climate_factor" in there else pl.lit(1.0)
    units = column(there, "units")
    energy = drawn * HOURS_PER_YEAR * climate / 1000
    return runs.with_columns(
        energy.alias("energy_kwh_per_year"),
        (energy * column(there, "price_per_kwh")).alias("cost_per_year"),
        pl.when(units > 0).then(drawn / units).alias("watts_per_unit"),
    )


def meets(value: pl.Expr, target: float, resolution: float = TARGET_RESOLUTION_PCT) -> pl.Expr:
    """Return whether a value is at most a target as printed: below the target plus half a unit of its last digit.

    >>> pl.select(meets(pl.Series([0.08, 0.49, 0.5]), 0.0)).to_series().to_list()
    [True, True, False]
    """
    return value < target + resolution / 2


def compare_policies(runs: pl.LazyFrame, baseline: str, interval_s: float = 20.0) -> pl.LazyFrame:
    """Compare power policies: the savings against the baseline, and the extra waits of the VMs.

    Needs `policy`, the columns of `yearly`, and any of `ready_pct`, `costop_pct` (mean per vCPU,
    `scheduling.per_vcpu`). Pass one row per policy: average its repetitions first. Returns the rows in their order:

    policy
    watts, energy_kwh_per_year, cost_per_year, watts_per_unit   as in `yearly`
    saved_watts             f64  W of one host below the baseline; negative if above
    saved_cost_per_year     f64  currency
    saved_pct               f64  of the baseline's cost
    ready_pct, costop_pct   f64  % per vCPU, as passed in
    ready_ms                f64  ms of ready time in an interval of `interval_s` (20 s: vCenter's real-time charts)
    ready_penalty_pct       f64  percentage points above the baseline
    ready_penalty_ms        f64  ms more in each interval
    meets_targets           bool  ready of 3 % and co-stop of 0 % at most, in whole percent as printed (below 3.5 and
                                  0.5 %); false if one is known to be above its target, null if one is unknown and the
                                  other meets its target

    The differences may be chance: a test for that needs repetitions.

    Raises EsxparseError: The baseline is missing or in several rows (when the result is collected).

    >>> runs = pl.LazyFrame({
    ...     "policy": ["dynamic", "static high"], "hosts": [20, 20], "watts": [170.0, 230.0],
    ...     "price_per_kwh": [0.25, 0.25], "climate_factor": [1.5, 1.5], "ready_pct": [2.0, 1.0],
    ... })
    >>> wanted = ["cost_per_year", "saved_cost_per_year", "ready_penalty_pct", "ready_penalty_ms"]
    >>> compare_policies(runs, baseline="static high").select(wanted).collect().rows()
    [(11169.0, 3942.0, 1.0, 200.0), (15111.0, 0.0, 0.0, 0.0)]
    """
    there = names(runs)

    def checked(frame: pl.DataFrame) -> pl.DataFrame:
        counts = frame.group_by("policy", maintain_order=True).len()
        found = counts.filter(pl.col("policy") == baseline)["len"].sum()
        if found != 1:
            known = ", ".join(repr(name) for name in counts["policy"])
            msg = f"the baseline policy {baseline!r} must be in exactly one row, not {found}; policies: {known}"
            raise EsxparseError(msg)
        return frame

    ready, costop = pl.col("ready_pct"), pl.col("costop_pct")
    known = (
        yearly(runs)
        .map_batches(checked, validate_output_schema=False)
        .with_columns(column(there, name).cast(pl.Float64).fill_nan(None) for name in ("ready_pct", "costop_pct"))
        .with_columns(pct_to_ms(ready, interval_s).alias("ready_ms"))
    )
    base = known.filter(pl.col("policy") == baseline).select(
        *(pl.col(name).alias(f"_{name}") for name in ("watts", "cost_per_year", "ready_pct", "ready_ms"))
    )
    saved = pl.col("_cost_per_year") - pl.col("cost_per_year")
    return known.join(base, how="cross", maintain_order="left").select(
        "policy",
        pl.col("watts").cast(pl.Float64),
        "energy_kwh_per_year",
        "cost_per_year",
        "watts_per_unit",
        (pl.col("_watts") - pl.col("watts")).cast(pl.Float64).alias("saved_watts"),
        saved.alias("saved_cost_per_year"),
        pl.when(pl.col("_cost_per_year") > 0).then(saved / pl.col("_cost_per_year") * 100).alias("saved_pct"),
        "ready_pct",
        "costop_pct",
        "ready_ms",
        (ready - pl.col("_ready_pct")).alias("ready_penalty_pct"),
        (pl.col("ready_ms") - pl.col("_ready_ms")).alias("ready_penalty_ms"),
        (meets(ready, READY_TARGET_PCT) & meets(costop, COSTOP_TARGET_PCT)).alias("meets_targets"),
    )
