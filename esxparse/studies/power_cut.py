"""Power readings cut to a span: the energy between two moments, which need not be those of readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from esxparse.metrics.energy import LONGEST_GAP

_MEANS = ("watts_average", "interval_s")

if TYPE_CHECKING:
    from datetime import datetime


def energy_between(readings: pl.LazyFrame, start: datetime, end: datetime) -> pl.LazyFrame:
    """Give the energy of each sensor from `start` to `end`, J, as far as readings tell it.

    Needs `time`, `watts`, without nulls, and any of `source`, `sensor`. As `metrics.power_join` has it, power goes in
    straight lines between readings, or in steps where each reading is the mean since the one before it
    (`watts_average`, `interval_s`); of gaps nothing is known. Returns one row per source and sensor:

    source, sensor  (those that are there)
    readings        i64  in the span
    covered_s       f64  s of the span that the energy is of
    energy_joules   f64  null where nothing is covered
    watts_mean      f64  energy_joules / covered_s; where nothing is covered the mean of the readings in the span

    >>> from datetime import datetime, timedelta
    >>> zero = datetime(2026, 3, 2)
    >>> times = [zero + timedelta(seconds=second) for second in (0, 10, 20)]
    >>> table = pl.LazyFrame({"time": times, "watts": [100.0, 200.0, 200.0]})
    >>> energy_between(table, times[0] + timedelta(seconds=5), times[1]).collect()["energy_joules"].item()
    875.0
    """
    there = readings.collect_schema().names()
    named = [name for name in ("source", "sensor") if name in there]
    keys: list[str] = [*named] or ["_all"]
    watts, before = pl.col("watts"), pl.col("_before")

    def since(moment: pl.Expr) -> pl.Expr:
        return moment.dt.total_microseconds() / 1e6

    sorted_rows = (
        readings.with_columns(pl.lit(0).alias("_all"), since(pl.col("time") - start).alias("_at"))
        .sort(*keys, "_at", maintain_order=True)
        .with_columns(pl.col("_at").shift(1).over(keys).alias("_before"), watts.shift(1).over(keys).alias("_from"))
        .with_columns((pl.col("_at") - before).alias("_step"))
        .with_columns(pl.col("_step").filter(pl.col("_step") > 0).median().over(keys).alias("_usual"))
    )
    length = (end - start).total_seconds()
    known = (pl.col("_step") > 0) & (pl.col("_step") <= LONGEST_GAP * pl.col("_usual"))
    low, high = pl.max_horizontal(before, 0.0), pl.min_horizontal("_at", length)
    line = pl.col("_from") + (watts - pl.col("_from")) * ((low + high) / 2 - before) / pl.col("_step")
    inside = (pl.col("_at") > 0) & (pl.col("_at") <= length)
    seconds, total = pl.col("_seconds").sum(), pl.col("_joules").sum()
    stepped = pl.lit(value=False)
    if set(_MEANS) <= set(there):
        mean, recent = watts == pl.col("watts_average"), pl.col("interval_s") <= 2 * pl.col("_usual")
        stepped = (mean & recent).fill_null(value=False).all().over(keys)
    return (
        sorted_rows.with_columns(pl.when(known & (high > low)).then(high - low).otherwise(0.0).alias("_seconds"))
        .with_columns(
            pl.when(pl.col("_seconds") > 0)
            .then(pl.when(stepped).then(watts).otherwise(line) * pl.col("_seconds"))
            .alias("_joules")
        )
        .group_by(keys, maintain_order=True)
        .agg(
            inside.sum().cast(pl.Int64).alias("readings"),
            seconds.alias("covered_s"),
            pl.when(seconds > 0).then(total).alias("energy_joules"),
            pl.when(seconds > 0).then(total / seconds).otherwise(watts.filter(inside).mean()).alias("watts_mean"),
        )
        .drop("_all", strict=False)
    )
