"""Time stamps of a capture: text to UTC."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.formats.window import TIME

if TYPE_CHECKING:
    from collections.abc import Sequence


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
