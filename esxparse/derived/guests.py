"""Measurements by the tools of guests in common terms: sar, mpstat, iostat, vmstat, perfmon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from esxparse import toml
from esxparse.recording import Recording

_QUANTITIES: Final = toml.beside(__file__)["quantity"]
FORMATS: Final = tuple(dict.fromkeys(name for one in _QUANTITIES for name in one["formats"]))
"""Formats of these tools."""
BUSY: Final = "guest busy"
"""Column of `readings`: CPU use reported by the guest, %."""


def readings(read: Recording) -> pl.DataFrame | None:
    """Return `time` and a column for each quantity that the tool measured, in order of time; None without any.

    `read`: a recording of one of `FORMATS`. Columns are named as in `guests.toml`, such as `BUSY`.
    """
    made = [
        frame for one in _QUANTITIES if read.format in one["formats"] and (frame := _quantity(read, one)) is not None
    ]
    if not made:
        return None
    together = pl.concat(made, how="diagonal").group_by("time").agg(pl.col(pl.Float64).drop_nulls().first())
    return together.sort("time")


def _quantity(read: Recording, one: Mapping[str, Any]) -> pl.DataFrame | None:
    frame = read.tables.get(one["table"])
    names = frame.collect_schema().names() if frame is not None else []
    columns = one.get("columns") or one["less"]
    if frame is None or not {"time", *columns} <= set(names):
        return None
    # The first report of some tools is a mean since boot.
    if "since_boot" in names:
        frame = frame.filter(~pl.col("since_boot"))
    for column, value in one.get("only", {}).items():
        frame = frame.filter(pl.col(column) == value)
    for column, value in one.get("without", {}).items():
        frame = frame.filter(pl.col(column) != value)
    value = pl.sum_horizontal(columns) * one.get("times", 1.0)
    value = 100 - value if "less" in one else value
    whole = value.sum() if one.get("how") == "sum" else value.mean()
    if "weight" in one:
        weight = pl.col(one["weight"]).filter(value.is_not_null())
        whole = (value * pl.col(one["weight"])).sum() / pl.when(weight.sum() > 0).then(weight.sum())
    return frame.drop_nulls("time").group_by("time").agg(whole.cast(pl.Float64).alias(one["name"])).collect()
