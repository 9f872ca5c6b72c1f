"""Time stamps as other programs save them, back to esxtop's: dates of any order, or times of day without a date.

Nobody should guess a date in silence: which of day and month comes first is told by the whole file, by a number above
12, or has to be said.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop.notes import counted
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.formats.esxtop.times import Dates
    from esxparse.formats.opening import DateOrder

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:[.,](?P<fraction>\d+))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_TIME = re.compile(_CLOCK)
_STAMP = re.compile(r"(?P<first>\d{1,4})(?P<mark>[/.-])(?P<middle>\d{1,2})(?P=mark)(?P<last>\d{1,4})[ T]+" + _CLOCK)
_MONTHS = 12
_YEAR_DIGITS = 4
_CENTURY = 2000
_SET_BACK = 3600.0
"""Seconds by which a clock is set back at the end of daylight saving: no midnight lies between two such samples."""


def _order_of(stamps: Sequence[re.Match[str]], asked: DateOrder | None) -> DateOrder:
    """Order of day, month and year, by the whole file."""
    if asked:
        return asked
    if any(len(stamp["first"]) == _YEAR_DIGITS for stamp in stamps):
        return "ymd"
    if any(stamp["mark"] == "." for stamp in stamps):
        return "dmy"  # nobody writes month.day.year
    day_first = next((stamp[0] for stamp in stamps if int(stamp["first"]) > _MONTHS), None)
    month_first = next((stamp[0] for stamp in stamps if int(stamp["middle"]) > _MONTHS), None)
    if day_first and month_first:
        why = f"dates such as {day_first!r} and {month_first!r} are not of one order, and others may be of either"
    elif day_first:
        return "dmy"
    elif month_first or all(int(stamp["first"]) == int(stamp["middle"]) for stamp in stamps):
        return "mdy"
    else:
        why = f"nothing in the file tells day from month in dates such as {stamps[0][0]!r}"
    msg = f"{why}: say which with date_order= (mdy or dmy), on the command line --date-order"
    raise EsxparseError(msg)


def _clock(match: re.Match[str]) -> tuple[int, int, int]:
    """Hour, minute and second; an hour of 12 AM is 0."""
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    return hour % 12 + (12 if match["half"] in "Pp" else 0) if match["half"] else hour, minute, second


def _time(stamp: re.Match[str], order: DateOrder) -> str | None:
    numbers = dict(zip(order, (int(stamp[part]) for part in ("first", "middle", "last")), strict=True))
    year = numbers["y"] + (_CENTURY if numbers["y"] < 100 else 0)  # noqa: PLR2004  two digits
    try:
        # No zone: the header's bias tells it.
        time = datetime(year, numbers["m"], numbers["d"], *_clock(stamp))  # noqa: DTZ001
    except ValueError:
        return None
    return f"{time:%m/%d/%Y %H:%M:%S}" + (f".{stamp['fraction'][:6]}" if stamp["fraction"] else "")


def as_esxtop_writes(texts: Sequence[str], dates: Dates) -> tuple[list[str], list[Note]]:
    """Time stamps as esxtop writes them; a text that is no time stamp stays as it is.

    Raises:
        EsxparseError: Nothing tells day from month, or the date, and nobody said.
    """
    matches = [_STAMP.fullmatch(text.strip()) for text in texts]
    dated = [match for match in matches if match]
    if not dated:
        return _without_dates(texts, dates.day)
    order = _order_of(dated, dates.order)
    notes = dates.day_unused()
    # A date that does not fit this order would be taken for one of esxtop's own later, and be wrong.
    found = [
        (_time(match, order) or f"{text.strip()} (not {order})") if match else text
        for match, text in zip(matches, texts, strict=True)
    ]
    if not any(match["second"] for match in dated):
        notes.append(Note("time stamps to the minute only: samples of a minute have one time", line=2, column=1))
    if order != "mdy":
        notes.append(Note(f"dates read as {order} (d day, m month, y year)", line=2, column=1))
    return found, notes


def _without_dates(texts: Sequence[str], day: date | None) -> tuple[list[str], list[Note]]:
    """Times of day as time stamps from that day on; past midnight the next day begins."""
    matches = [_TIME.fullmatch(text.strip()) for text in texts]
    first = next((text for text, match in zip(texts, matches, strict=True) if match), None)
    if first is None:
        return list(texts), []
    if day is None:
        msg = (
            f"time stamps such as {first!r} hold no date: say the day of the first with date= (2026-03-11), "
            "on the command line --date"
        )
        raise EsxparseError(msg)
    days = days_after([_seconds(match) if match else None for match in matches])
    found = []
    for text, match, after in zip(texts, matches, days, strict=True):
        try:
            stamp = _STAMP.fullmatch(f"{day + timedelta(days=after):%Y-%m-%d} {match[0]}") if match else None
        except OverflowError:
            msg = f"date {day} is too late for a capture of {max(days)} days more: say the day of the first sample"
            raise EsxparseError(msg) from None
        found.append((_time(stamp, "ymd") or f"{stamp[0]} (not ymd)") if stamp else text)
    past = f", and {counted(max(days), 'midnight')} passed" if max(days) else ""
    notes = [Note(f"time stamps hold no date: {day:%Y-%m-%d} as told{past}", line=2, column=1)]
    if not any(match["second"] for match in matches if match):
        notes.append(Note("time stamps to the minute only: samples of a minute have one time", line=2, column=1))
    return found, notes


def _seconds(match: re.Match[str]) -> float:
    """Seconds since midnight."""
    hour, minute, second = _clock(match)
    return 3600.0 * hour + 60.0 * minute + second


def days_after(clocks: Sequence[float | None]) -> list[int]:
    """For each time of day, how many midnights lie between it and the first.

    One damaged stamp is no midnight: the samples before a midnight are all later in the day than those after it.

    >>> days_after([86380, 86390, 0, 10, 20]), days_after([10, 86390, 20, 30]), days_after([86380, 5, 86395])
    ([0, 0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0])
    """
    known = [clock for clock in clocks if clock is not None]
    passed = 0
    days = []
    place = -1
    for clock in clocks:
        if clock is not None:
            place += 1
            before, after = known[max(place - 2, 0) : place], known[place + 1 : place + 2]
            if place and clock < known[place - 1] - _SET_BACK:
                passed += all(clock < one for one in before) and all(one < known[place - 1] for one in after)
        days.append(passed)
    return days
