"""Recordings of given numbers, a sample every 5 seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

import esxparse as ex

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
SAMPLES = 120


def moment(place):
    return START + timedelta(seconds=5 * place)


def recording(tables, samples=SAMPLES, name="x.csv"):
    """A recording of `table -> instance -> counter -> numbers`."""
    times = [moment(place) for place in range(samples)]
    made = {}
    for table, instances in tables.items():
        frames = [
            pl.DataFrame({"time": times, "instance": instance, **counters}).with_columns(
                pl.col("time").dt.cast_time_unit("us"), pl.col(*counters).cast(pl.Float64)
            )
            for instance, counters in instances.items()
        ]
        made[table] = pl.concat(frames, how="diagonal").sort("time", maintain_order=True).lazy()
    return ex.Recording("esxtop", name, made)
