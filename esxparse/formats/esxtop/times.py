"""Time stamps as esxtop writes them: text to UTC, and whether the day comes first in them.

esxtop writes the month first. Programs that quote every cell when they save a capture may write the day first; then
nothing but a number above 12 shows it, and what the caller says counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop.grammar import STAMP, STAMP_BYTES
from esxparse.formats.window import TIME
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.formats.opening import DateOrder

# A year of another century has a wrong digit.
_STAMP = f"^{STAMP}$".replace(r"\d{4}", r"(?:19|20|21)\d\d")
_FORMATS = ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S%.f")
_USUAL = re.compile(r"(\d\d)/(\d\d)/((?:19|20|21)\d\d) (\d\d):(\d\d):([0-5]\d)(?:\.(\d{1,6}))?", re.ASCII)
"""Nearly every time stamp; any other is left to `parse`, which takes its time."""
_DATE = re.compile(rb'("?)(\d\d)/(\d\d)/(\d{4} )')


@dataclass(frozen=True)
class Dates:
    """What is known of the dates beyond what the file says."""

    order: DateOrder | None = None  # order of day, month and year
    day: date | None = None  # the day of the first sample, for time stamps without one

    def notes(self) -> list[Note]:
        """Notes on dates that were told, where time stamps are written as esxtop writes them."""
        notes = []
        if self.order not in {None, "mdy"}:
            message = (
                f"dates read as {self.order}, as told: esxtop itself writes the month first, so leave date_order out "
                "if this file is as esxtop wrote it"
            )
            notes.append(Note(message, line=2, column=1, severity="warning"))
        return notes + self.day_unused()

    def day_unused(self) -> list[Note]:
        """The note on a day that was told, where time stamps have one."""
        if self.day is None:
            return []
        message = f"date {self.day} is not used: time stamps hold theirs"
        return [Note(message, line=2, column=1, severity="warning")]


def stamp_text(line: bytes) -> str:
    """The first cell of a line.

    >>> stamp_text(b'"04/24/2018 10:49:12","0.78",')
    '04/24/2018 10:49:12'
    >>> stamp_text(b'"04/24/2018 10:50:00"04/24/2018 11:30:14","3"')
    '04/24/2018 10:50:00"04/24/2018 11:30:14'
    """
    line = line[:STAMP_BYTES]
    quoted = line.startswith(b'"')
    cell = line[1:].partition(b'",')[0] if quoted else line.partition(b",")[0]
    cell = cell.removesuffix(b'"') if quoted else cell
    return cell.decode("utf-8", errors="replace").strip()


def month_first(line: bytes, order: DateOrder | None) -> bytes:
    """A line whose time stamp is of that order, with the month first.

    >>> month_first(b'"13/04/2026 23:59:30","1"', "dmy")
    b'"04/13/2026 23:59:30","1"'
    """
    return _DATE.sub(rb"\1\3/\2/\4", line, count=1) if order == "dmy" and _DATE.match(line) else line


def parse(texts: Sequence[str], bias: int) -> pl.Series:
    """Times in UTC of stamps `month/day/year hour:minute:second[.fraction]`; null for any other text.

    `bias` is in minutes, as a PDH header states it (UTC = local + bias).
    """
    text = pl.Series("time", texts, dtype=pl.String)
    text = text.set(~text.str.contains(_STAMP), None)
    times = pl.Series("time", [None] * len(text), dtype=pl.Datetime("us"))
    for pattern in _FORMATS:
        if not times.null_count():
            break
        times = times.fill_null(text.str.to_datetime(pattern, time_unit="us", strict=False, exact=True))
    return (times + timedelta(minutes=bias)).dt.replace_time_zone("UTC").cast(TIME).alias("time")


def time_of(text: str, bias: int) -> datetime | None:
    """As `parse`, for one stamp."""
    usual = _USUAL.fullmatch(text)
    if not usual:
        other: datetime | None = parse([text], bias)[0] if re.match(_STAMP, text) else None
        return other
    month, day, year, hour, minute, second = map(int, usual.groups()[:6])
    micros = int((usual[7] or "").ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC) + timedelta(minutes=bias)
    except ValueError:
        return None


@dataclass
class Doubt:
    """Whether time stamps have the day first.

    They do where one cannot have the month first, all can have the day first, and time goes on as evenly so. A damaged
    digit makes an odd stamp, but no file of dates with the day first.
    """

    misfit: str = ""  # the first time stamp that cannot have the month first
    possible: bool = True
    _last: list[datetime | None] = field(default_factory=lambda: [None, None])
    _longest: list[timedelta] = field(default_factory=lambda: [timedelta(0), timedelta(0)])

    def add(self, line: bytes) -> None:
        """Looks at the time stamp that the next row begins with."""
        if not self.possible:
            return
        text = stamp_text(line)
        time, swapped = time_of(text, 0), time_of(stamp_text(month_first(line, "dmy")), 0)
        last = self._last[1]
        if swapped is None or (last and swapped < last):
            self.possible = False
        if time is None:
            self.misfit = self.misfit or text
        for place, now in enumerate((time, swapped)):
            if now and (before := self._last[place]):
                self._longest[place] = max(self._longest[place], now - before)
            self._last[place] = now or self._last[place]

    def raise_if_sure(self) -> None:
        """Refuses time stamps that have the day first.

        Raises:
            EsxparseError: They do.
        """
        evenly = self._longest[1] <= self._longest[0] or not self._longest[0]
        if self.misfit and self.possible and evenly:
            msg = (
                f"dates such as {self.misfit!r} have the day first, and others may be of either order: say which with "
                "date_order= (mdy or dmy), on the command line --date-order"
            )
            raise EsxparseError(msg)


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
