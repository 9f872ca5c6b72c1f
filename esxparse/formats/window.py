"""The part of a recording that is asked for, by time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

TIME = pl.Datetime("us", "UTC")
"""The type of the column `time` in every table that has one."""


@dataclass(frozen=True)
class Window:
    """The samples to read: from `start` to `end`, both included, and of those the first in each period of `every`."""

    start: datetime | None = None
    end: datetime | None = None
    every: timedelta | None = None

    def __str__(self) -> str:
        """The window in words."""
        parts = [
            f"from {self.start:%Y-%m-%dT%H:%M:%S}" if self.start else "",
            f"to {self.end:%Y-%m-%dT%H:%M:%S}" if self.end else "",
        ]
        return " ".join(part for part in parts if part) or "all of it"


EVERYTHING = Window()

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>s|sec|m|min|h|d)")
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def moment(text: str | datetime | None, name: str) -> datetime | None:
    """A time in UTC: a datetime (one without a zone is taken for UTC), or text such as `2026-03-11T09:02`.

    Raises:
        EsxparseError: The text is no time.
    """
    if text is None or text == "":
        return None
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else text
    except ValueError:
        msg = f"{name} {text!r} is no time: write it as 2026-03-11T09:02 or 2026-03-11 09:02:30 (UTC)"
        raise EsxparseError(msg) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def period(text: str | timedelta | None, name: str) -> timedelta | None:
    """A length of time: a timedelta, or text such as `30s`, `5m`, `1h`.

    Raises:
        EsxparseError: The text is no length of time, or it is not above zero.
    """
    if text is None or text == "":
        return None
    length = text
    if isinstance(text, str):
        match = _DURATION.fullmatch(text.strip())
        length = timedelta(seconds=float(match["number"]) * _SECONDS[match["unit"]]) if match else timedelta(0)
    if not isinstance(length, timedelta) or length <= timedelta(0):
        msg = f"{name} {text!r} is no length of time: write it as 30s, 5m or 1h"
        raise EsxparseError(msg)
    return length


def window(start: str | datetime | None, end: str | datetime | None, every: str | timedelta | None) -> Window:
    """The window of these bounds.

    Raises:
        EsxparseError: A bound is no time, or the end is before the start.
    """
    bounds = Window(moment(start, "start"), moment(end, "end"), period(every, "every"))
    if bounds.start and bounds.end and bounds.end < bounds.start:
        msg = f"the window ends before it begins ({bounds}): change start or end"
        raise EsxparseError(msg)
    return bounds


def inside(times: pl.Series, bounds: Window) -> NDArray[np.int64]:
    """Places of the times that are in the window."""
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


def cut(tables: Mapping[str, pl.LazyFrame], bounds: Window) -> dict[str, pl.LazyFrame]:
    """The tables with the rows in the window; those without a time stay whole.

    Of each period of `every`, counted from the first time in the window, the rows of the first time are kept.

    Raises:
        EsxparseError: There are times, and none is in the window.
    """
    dated = [name for name, frame in tables.items() if frame.collect_schema().get("time") == TIME]
    if bounds == EVERYTHING or not dated:
        return dict(tables)
    every_time = pl.concat([tables[name].select("time") for name in dated]).unique().sort("time").collect()["time"]
    every_time = every_time.drop_nulls()
    kept = every_time.gather(inside(every_time, bounds))
    if every_time.len() and not kept.len():
        msg = (
            f"nothing in the window asked for ({bounds}): times go from {every_time[0]:%Y-%m-%dT%H:%M:%S} "
            f"to {every_time[-1]:%Y-%m-%dT%H:%M:%S} UTC"
        )
        raise EsxparseError(msg)
    wanted = pl.col("time").is_in(kept.implode())
    return {name: frame.filter(wanted) if name in dated else frame for name, frame in tables.items()}
