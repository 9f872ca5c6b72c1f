"""Which of day and month comes first in time stamps that are otherwise written as esxtop writes them.

esxtop writes the month first. Programs that save captures with quotes around every cell may write the day first, and
then nothing but a number above 12 shows it. What the caller says counts; the reader and the slicer ask here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError
from esxparse.recording import Note

if TYPE_CHECKING:
    from datetime import date, datetime

    from esxparse.formats.esxtop.resaved import Dates
    from esxparse.formats.opening import DateOrder

_LINE_STAMP = re.compile(rb'("?)(\d\d)/(\d\d)/(\d{4} )')
_MARK = "/"


def month_first(text: str, order: DateOrder | None) -> str:
    """A time stamp with the month first, as esxtop writes it, from one of that order; any other text as it is.

    >>> month_first("13/04/2026 23:59:30", "dmy")
    '04/13/2026 23:59:30'
    """
    if order == "dmy" and text[2:3] == text[5:6] == _MARK:
        return text[3:6] + text[:3] + text[6:]
    return text


def line_month_first(line: bytes, order: DateOrder | None) -> bytes:
    """A line whose time stamp is of that order, with the month first."""
    return _LINE_STAMP.sub(rb"\1\3/\2/\4", line, count=1) if order == "dmy" and _LINE_STAMP.match(line) else line


@dataclass
class Doubt:
    """Whether time stamps that go by one after another have the day first: `times.day_first`, for those who meet each.

    They do where one cannot have the month first, all can have the day first, and time goes on as evenly so.
    """

    misfit: str = ""
    """The first time stamp that cannot have the month first."""
    possible: bool = True
    _last: list[datetime | None] = field(default_factory=lambda: [None, None])
    _longest: list[timedelta] = field(default_factory=lambda: [timedelta(0), timedelta(0)])

    def add(self, text: str, time: datetime | None, swapped: datetime | None) -> None:
        """Looks at the next time stamp, with its time read either way; None where it has none."""
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
            raise unsaid(self.misfit)


def unsaid(stamp: str) -> EsxparseError:
    """The error on time stamps of which one has the day first, where nobody said the order."""
    return EsxparseError(
        f"dates such as {stamp!r} have the day first, and others may be of either order: say which with date_order= "
        "(mdy or dmy), on the command line --date-order"
    )


def notes(dates: Dates) -> list[Note]:
    """What is said of dates that were told, where time stamps are written as esxtop writes them."""
    said = []
    if dates.order not in {None, "mdy"}:
        message = (
            f"dates read as {dates.order}, as told: esxtop itself writes the month first, so leave date_order out if "
            "this file is as esxtop wrote it"
        )
        said.append(Note(message, line=2, column=1, severity="warning"))
    if dates.day is not None:
        said.append(day_unused(dates.day))
    return said


def day_unused(day: date) -> Note:
    """The note on a day that was told, where time stamps have one."""
    return Note(f"date {day} is not used: time stamps hold theirs", line=2, column=1, severity="warning")
