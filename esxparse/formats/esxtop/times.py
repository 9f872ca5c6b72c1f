"""Time stamps of a capture: text to UTC."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.formats.window import TIME

if TYPE_CHECKING:
    from collections.abc import Sequence


_STAMP = r"^\d\d/\d\d/(?:19|20|21)\d\d \d\d:\d\d:\d\d(?:\.\d+)?$"
"""As esxtop writes it, and `resaved` for others: a shorter one lost a part, and would be another time."""
_FORMATS = ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S%.f")


def stamp_text(beginning: bytes) -> str:
    """The first cell of a line, from the line's beginning.

    >>> stamp_text(b'"04/24/2018 10:49:12","0.78",')
    '04/24/2018 10:49:12'
    >>> stamp_text(b'"04/24/2018 10:50:00"04/24/2018 11:30:14","3"')
    '04/24/2018 10:50:00"04/24/2018 11:30:14'
    """
    quoted = beginning.startswith(b'"')
    cell = beginning[1:].partition(b'",')[0] if quoted else beginning.partition(b",")[0]
    cell = cell.removesuffix(b'"') if quoted else cell
    return cell.decode("utf-8", errors="replace").strip()


def parse(texts: Sequence[str], bias: int) -> pl.Series:
    """Times in UTC of stamps `month/day/year hour:minute:second[.fraction]`; null for any other text.

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


def day_first(texts: Sequence[str]) -> str | None:
    """A stamp that shows day before month, where all are dates so and times go on as evenly; None where none does.

    One damaged digit makes a stamp that is none with the month first, but not a file of dates with the day first.

    >>> day_first(["11/04/2015 22:42:00", "12/04/2015 22:42:00", "13/04/2015 22:42:00"])
    '13/04/2015 22:42:00'
    >>> day_first(["03/02/2026 08:00:00", "13/02/2026 08:00:05", "03/02/2026 08:00:10"]) is None
    True
    """
    as_is, swapped = parse(texts, 0), parse([text[3:6] + text[:3] + text[6:] for text in texts], 0)
    if not as_is.null_count() or swapped.null_count():
        return None
    steps, before = (np.diff(times.drop_nulls().dt.timestamp("us").to_numpy()) for times in (swapped, as_is))
    if (steps < 0).any() or (len(before) and steps.max() > before.max()):
        return None
    return texts[int(as_is.is_null().arg_max() or 0)]


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
