"""Energy from power readings, and power per unit of work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from . import over_time
from .frames import finite, names

if TYPE_CHECKING:
    from ._series import Numbers

LONGEST_GAP = 3.0
"""Readings more than this many usual intervals apart are a gap: the power in between is unknown."""

_JOULES_PER_KWH = 3_600_000.0
_FEWEST_FOR_A_LINE = 10


def energy(power: pl.LazyFrame) -> pl.LazyFrame:
    """Return the energy of each sensor, J and kWh, by the trapezoid between readings; gaps are left out.

    Needs `time`, `watts`, and any of `source`, `sensor`; rows without watts do not count. A gap is longer than 3 times
    the median interval of the sensor's readings. Returns one row per source and sensor, in their order:

    source, sensor  (if present)
    readings        i64  rows with a number
    start, end      UTC
    covered_s       f64  s covered by the energy
    gaps, gap_s     i64, f64  gaps between start and end, and their total length in s
    energy_joules, energy_kwh  f64  null with a single reading
    watts_mean      f64  energy_joules / covered_s

    >>> from datetime import datetime, timedelta
    >>> times = [datetime(2026, 3, 2) + timedelta(seconds=second) for second in (0, 10, 20)]
    >>> energy(pl.LazyFrame({"time": times, "watts": [100.0, 200.0, 200.0]})).collect()["energy_joules"].item()
    3500.0
    """
    power = finite(power)
    keys: list[str] = [name for name in ("source", "sensor") if name in names(power)]
    watts, time = pl.col("watts"), pl.col("time")
    step = time.diff().dt.total_microseconds() / 1e6
    joules = (watts + watts.shift(1)) / 2 * step
    rows = power.filter(watts.is_not_null() & time.is_not_null()).select(*keys, "time", "watts")
    if not keys:
        rows = rows.with_columns(pl.lit(0).alias("_all"))
    by = keys or ["_all"]
    known = (
        rows.sort(*by, "time")
        .with_columns(step.over(by).alias("_step"), joules.over(by).alias("_joules"))
        .with_columns(
            (pl.col("_step") > LONGEST_GAP * pl.col("_step").filter(pl.col("_step") > 0).median().over(by))
            .fill_null(value=False)
            .alias("_gap")
        )
    )
    covered = ~pl.col("_gap") & pl.col("_step").is_not_null()
    total = pl.when(covered.any()).then(pl.col("_joules").filter(covered).sum())
    seconds = pl.col("_step").filter(covered).sum()
    return (
        known.group_by(by, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("readings"),
            time.min().alias("start"),
            time.max().alias("end"),
            seconds.alias("covered_s"),
            pl.col("_gap").sum().cast(pl.Int64).alias("gaps"),
            pl.col("_step").filter("_gap").sum().alias("gap_s"),
            total.alias("energy_joules"),
            (total / _JOULES_PER_KWH).alias("energy_kwh"),
            pl.when(seconds > 0).then(total / seconds).alias("watts_mean"),
        )
        .drop("_all", strict=False)
    )


def by_counter(power: pl.LazyFrame) -> pl.LazyFrame:
    """Return the energy of each sensor by its meter's counter: the sum of the steps up.

    A counter that restarts or wraps steps down. The energy of that interval is unknown and left out.

    Needs `time`, `energy_joules` (a counter), and any of `source`, `sensor`. Returns one row per source and sensor, in
    their order:

    source, sensor  (if present)
    counted_joules  f64  null with fewer than two readings of the counter
    restarts        list of the times (UTC) of the first reading after each restart

    >>> from datetime import datetime
    >>> times = [datetime(2026, 3, 2, hour) for hour in range(4)]
    >>> table = pl.LazyFrame({"time": times, "energy_joules": [100.0, 160.0, 5.0, 45.0]})
    >>> by_counter(table).collect().rows()
    [(100.0, [datetime.datetime(2026, 3, 2, 2, 0)])]
    """
    keys: list[str] = [name for name in ("source", "sensor") if name in names(power)]
    by = keys or ["_all"]
    step = pl.col("energy_joules").diff()
    return (
        power.with_columns(pl.lit(0).alias("_all"))
        .filter(pl.col("energy_joules").is_finite(), pl.col("time").is_not_null())
        .sort(*by, "time", maintain_order=True)
        .group_by(by, maintain_order=True)
        .agg(
            pl.when(pl.len() > 1).then(step.clip(lower_bound=0).sum()).alias("counted_joules"),
            pl.col("time").filter(step < 0).alias("restarts"),
        )
        .drop("_all", strict=False)
    )


def watts_per_unit(table: pl.LazyFrame, rate: str, watts: str = "watts") -> pl.LazyFrame:
    """Add the power cost of a unit of work, row by row.

    Needs `watts` (W) and the column `rate` (units per second: I/Os, transactions, MB). Adds the columns below, null if
    the rate or the power is not above zero:

    watts_per_unit   f64  watts / rate, that is joules for each unit
    units_per_joule  f64  rate / watts

    >>> watts_per_unit(pl.LazyFrame({"watts": [300.0], "iops": [1500.0]}), "iops").collect().row(0)
    (300.0, 1500.0, 0.2, 5.0)
    """
    table = finite(table)
    work, power = pl.col(rate).cast(pl.Float64), pl.col(watts).cast(pl.Float64)
    sound = (work > 0) & (power > 0)
    return table.with_columns(
        pl.when(sound).then(power / work).alias("watts_per_unit"),
        pl.when(sound).then(work / power).alias("units_per_joule"),
    )


def fit(points: pl.DataFrame) -> tuple[float, float, float] | None:
    """Fit a line: slope (W per % util), intercept (W) and correlation; None if the points do not allow a line.

    Needs `util_pct` and `watts`, both means over the same intervals (`power_intervals`). Each interval is weighted by
    its length (`lengths`).

    >>> fit(pl.DataFrame({"util_pct": [float(n) for n in range(10)], "watts": [100.0 + 2 * n for n in range(10)]}))
    (2.0, 100.0, 1.0)
    """
    if points.height < _FEWEST_FOR_A_LINE or points["util_pct"].n_unique() < _FEWEST_FOR_A_LINE // 2:
        return None
    weight = lengths(points)
    if not weight.any():
        return None
    util, watts = (points[name].to_numpy() for name in ("util_pct", "watts"))
    middle = [float(np.average(one, weights=weight)) for one in (util, watts)]
    across, up = util - middle[0], watts - middle[1]
    both, wide, high = (float(weight @ (one * other)) for one, other in ((across, up), (across, across), (up, up)))
    if not wide * high > 0:
        return None
    slope = both / wide
    return round(slope, 6), round(middle[1] - slope * middle[0], 6), round(both / math.sqrt(wide * high), 6)


def lengths(points: pl.DataFrame) -> Numbers:
    """Return each interval's length: `interval_s`, else the time that its sample covers (`over_time`), else 1 for all.

    >>> lengths(pl.DataFrame({"interval_s": [5.0, None, 300.0]})).tolist()
    [5.0, 0.0, 300.0]
    """
    if "interval_s" in points.columns and points["interval_s"].count():
        return points["interval_s"].fill_null(0.0).to_numpy()
    covered = over_time.weights(points["time"].to_list()) if "time" in points.columns else None
    return np.ones(points.height) if covered is None else covered
