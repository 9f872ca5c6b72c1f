"""The requested part of a recording, by time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.errors import EsxparseError
from esxparse.formats.opening import EVERYTHING, Window
from esxparse.schema import TIME


def inside(times: pl.Series, bounds: Window) -> NDArray[np.int64]:
    """Return the places of the times in the window."""
    frame = times.to_frame("time").with_row_index("place")
    if bounds.start:
        frame = frame.filter(pl.col("time") >= bounds.start)
    if bounds.end:
        frame = frame.filter(pl.col("time") <= bounds.end)
    if bounds.every and frame.height:
        since = (pl.col("time") - pl.col("time").min()).dt.total_microseconds() // (
            bounds.every // timedelta(microseconds=1)
        )
        frame = frame.filter(since != since.shift(1, fill_value=-1))
    return frame["place"].to_numpy().astype(np.int64)


def filtered(tables: Mapping[str, pl.LazyFrame], wanted: pl.Expr) -> dict[str, pl.LazyFrame]:
    """Return the tables with the rows whose `time` is wanted; tables without a time stay whole."""
    return {name: table.filter(wanted) if "time" in table.collect_schema() else table for name, table in tables.items()}


def cut(tables: Mapping[str, pl.LazyFrame], bounds: Window) -> dict[str, pl.LazyFrame]:
    """Return the tables with the rows in the window; tables without a time stay whole.

    Of each period of `every`, counted from the first time in the window, the rows of the first time are kept.

    Raises:
        EsxparseError: There are times, but none in the window.
    """
    dated = [name for name, frame in tables.items() if frame.collect_schema().get("time") == TIME]
    if bounds == EVERYTHING or not dated:
        return dict(tables)
    every_time = pl.concat([tables[name].select("time") for name in dated]).unique().sort("time").collect()["time"]
    every_time = every_time.drop_nulls()
    kept = every_time.gather(inside(every_time, bounds))
    if every_time.len() and not kept.len():
        raise EsxparseError(
            f"nothing in the requested window ({bounds}): times run from {every_time[0]:%Y-%m-%dT%H:%M:%S} "
            f"to {every_time[-1]:%Y-%m-%dT%H:%M:%S} UTC"
        )
    wanted = pl.col("time").is_in(kept.implode())
    return {name: frame.filter(wanted) if name in dated else frame for name, frame in tables.items()}
