"""Time stamps of a capture: text to UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TIME = pl.Datetime("us", "UTC")

_STAMP = r"^\s*\d{1,2}/\d{1,2}/(?:19|20|21)\d\d \d"
_FORMATS = ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S%.f", "%m/%d/%Y %H:%M")


def stamp_text(beginning: bytes) -> str:
    """The first cell of a line, from the line's beginning.

    >>> stamp_text(b'"04/24/2018 10:49:12","0.78",')
    '04/24/2018 10:49:12'
    >>> stamp_text(b"3/26/2015 22:42,24.41")
    '3/26/2015 22:42'
    """
    cell = beginning[1:].partition(b'"')[0] if beginning.startswith(b'"') else beginning.partition(b",")[0]
    return cell.decode("utf-8", errors="replace").strip()


def parse(texts: Sequence[str], bias: int) -> pl.Series:
    """Times in UTC of stamps `month/day/year hour:minute[:second[.fraction]]`; null for any other text.

    Args:
        texts: Stamps on the capture's clock.
        bias: Minutes to add to get UTC, as a PDH header states it (UTC = local + bias).
    """
    text = pl.Series("time", texts, dtype=pl.String)
    text = text.set(~text.str.contains(_STAMP), None)
    times = pl.Series("time", [None] * len(text), dtype=pl.Datetime("us"))
    for pattern in _FORMATS:
        if not times.null_count():
            break
        times = times.fill_null(text.str.to_datetime(pattern, time_unit="us", strict=False, exact=True))
    return (times + timedelta(minutes=bias)).dt.replace_time_zone("UTC").cast(TIME).alias("time")


def interval(times: pl.Series) -> float | None:
    """Seconds between samples: the median of the steps; None with fewer than two samples.

    Stamps to the minute, as spreadsheets save them, repeat: then it is the mean step, to a hundredth of a second.
    """
    micros = times.dt.timestamp("us").to_numpy()
    if len(micros) < 2:  # noqa: PLR2004  a step needs two
        return None
    median = float(np.median(np.diff(micros)))
    if median == 0:
        return round(float(micros[-1] - micros[0]) / (len(micros) - 1) / 1e6, 2)
    return median / 1e6


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
