"""Time stamps to UTC, and those that other programs save back to esxtop's: dates of any order, or times of day alone.

esxtop writes the month first. Nobody should guess a date in silence: which of day and month comes first is told by the
whole file, by a number above 12, or has to be said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop.grammar import STAMP, STAMP_BYTES, text_of
from esxparse.formats.kit.stamps import days_after
from esxparse.formats.window import TIME
from esxparse.recording import Note, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from esxparse.formats.opening import DateOrder

# A year of another century has a wrong digit.
_STAMP = f"^{STAMP}$".replace(r"\d{4}", r"(?:19|20|21)\d\d")
_USUAL = re.compile(r"(\d\d)/(\d\d)/((?:19|20|21)\d\d) (\d\d):(\d\d):([0-5]\d)(?:\.(\d{1,6}))?", re.ASCII)
_DATE = re.compile(rb'("?)(\d\d)/(\d\d)/(\d{4} )')
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:[.,](?P<fraction>\d+))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_TIME = re.compile(_CLOCK)
_ANY_STAMP = re.compile(r"(?P<first>\d{1,4})(?P<mark>[/.-])(?P<middle>\d{1,2})(?P=mark)(?P<last>\d{1,4})[ T]+" + _CLOCK)
_MONTHS, _YEAR_DIGITS, _CENTURY = 12, 4, 2000


@dataclass(frozen=True)
class Dates:
    """What is known of the dates beyond what the file says."""

    order: DateOrder | None = None  # order of day, month and year
    day: date | None = None  # the day of the first sample, for time stamps without one

    def notes(self) -> list[Note]:
        """Notes on a given `date_order` or `date` for a capture with dates as esxtop writes them."""
        notes = []
        if self.order not in {None, "mdy"}:
            message = (
                f"dates read as {self.order}, as requested: esxtop itself writes the month first, so leave "
                "date_order out if this file is as esxtop wrote it"
            )
            notes.append(Note(message, line=2, column=1, severity="warning"))
        return notes + self.day_unused()

    def day_unused(self) -> list[Note]:
        """The note on a given `date` that is not used, as time stamps have dates."""
        if self.day is None:
            return []
        message = f"date {self.day} is not used: the time stamps have dates"
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
    return text_of(cell.removesuffix(b'"') if quoted else cell)


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
    times = text.str.to_datetime("%m/%d/%Y %H:%M:%S%.f", time_unit="us", strict=False)
    return (times + timedelta(minutes=bias)).dt.replace_time_zone("UTC").cast(TIME).alias("time")


def time_of(text: str, bias: int) -> datetime | None:
    """As `parse`, for one stamp; fast for nearly every one."""
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
        """Refuses time stamps that have the day first."""
        evenly = self._longest[1] <= self._longest[0] or not self._longest[0]
        if self.misfit and self.possible and evenly:
            msg = (
                f"dates such as {self.misfit!r} have the day first, and others may be in either order: set "
                "date_order= to mdy or dmy (on the command line --date-order)"
            )
            raise EsxparseError(msg)


def median(numbers: NDArray[Any]) -> float:
    """The median of some numbers. `np.median` imports the masked arrays of numpy, a tenth of what opening takes."""
    ordered = np.sort(numbers)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def interval(times: pl.Series) -> float | None:
    """Seconds between samples: the median of the steps; None with fewer than two samples.

    Stamps to the minute, as spreadsheets save them, repeat: then it is the mean step, to a hundredth of a second.
    """
    micros = times.dt.timestamp("us").to_numpy()
    if len(micros) < 2:  # noqa: PLR2004  a step needs two
        return None
    step = median(np.diff(micros))
    if step == 0:
        return round(float(micros[-1] - micros[0]) / (len(micros) - 1) / 1e6, 2)
    return step / 1e6


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
    if not month_first and all(len(stamp["last"]) != _YEAR_DIGITS and _time(stamp, "ymd") for stamp in stamps):
        if not all(_time(stamp, "dmy") or _time(stamp, "mdy") for stamp in stamps):
            return "ymd"
        msg = (
            f"the year in dates such as {(day_first or stamps[0][0])!r} may come first or last: set date_order= to "
            "ymd, dmy or mdy (on the command line --date-order)"
        )
        raise EsxparseError(msg)
    if day_first and month_first:
        why = f"dates such as {day_first!r} and {month_first!r} are in different orders, and others may be in either"
    elif day_first:
        return "dmy"
    elif month_first or all(int(stamp["first"]) == int(stamp["middle"]) for stamp in stamps):
        return "mdy"
    else:
        why = f"nothing in the file tells day from month in dates such as {stamps[0][0]!r}"
    msg = f"{why}: set date_order= to mdy or dmy (on the command line --date-order)"
    raise EsxparseError(msg)


def _clock(match: re.Match[str]) -> tuple[int, int, int]:
    """Hour, minute and second; an hour of 12 AM is 0."""
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    return hour % 12 + (12 if match["half"] in "Pp" else 0) if match["half"] else hour, minute, second


def _moment(stamp: re.Match[str], order: str) -> datetime | None:
    """The time of a stamp, on the clock of the file; None if it has no such date."""
    numbers = dict(zip(order, (int(stamp[part]) for part in ("first", "middle", "last")), strict=True))
    year = numbers["y"] + (_CENTURY if numbers["y"] < 100 else 0)  # noqa: PLR2004  two digits
    try:
        # No zone: the header's bias tells it.
        return datetime(year, numbers["m"], numbers["d"], *_clock(stamp))  # noqa: DTZ001
    except ValueError:
        return None


def _time(stamp: re.Match[str], order: str) -> str | None:
    """A stamp as esxtop writes it."""
    time = _moment(stamp, order)
    if time is None:
        return None
    return f"{time:%m/%d/%Y %H:%M:%S}" + (f".{stamp['fraction'][:6]}" if stamp["fraction"] else "")


def _half_swapped(stamps: Sequence[re.Match[str]]) -> dict[str, str]:
    """The order of each stamp in a file in which a spreadsheet took days up to 12 for months; none in other files.

    The spreadsheet writes the dates it understood in its own form. The others stay texts in the form they had.
    """
    forms: dict[tuple[str, int, bool, bool], list[re.Match[str]]] = {}
    for stamp in stamps:
        form = stamp["mark"], len(stamp["first"]) // _YEAR_DIGITS, bool(stamp["second"]), bool(stamp["half"])
        forms.setdefault(form, []).append(stamp)
    if len(forms) != 2:  # noqa: PLR2004  the spreadsheet's own form and that of the texts
        return {}
    dated = {form: any(max(_two_numbers(stamp)) > _MONTHS for stamp in found) for form, found in forms.items()}
    if sorted(dated.values()) != [False, True]:
        return {}
    (swapped,) = (found for form, found in forms.items() if not dated[form])
    (kept,) = (found for form, found in forms.items() if dated[form])
    if not all(max(_two_numbers(stamp)) > _MONTHS for stamp in kept) or len(kept[0]["first"]) == _YEAR_DIGITS:
        return {}
    order = "mdy" if int(kept[0]["middle"]) > _MONTHS else "dmy"
    choices = ("ymd", "ydm") if len(swapped[0]["first"]) == _YEAR_DIGITS else ("mdy", "dmy")
    fitting = []
    for choice in choices:
        orders = {**{stamp[0]: choice for stamp in swapped}, **{stamp[0]: order for stamp in kept}}
        moments = [_moment(stamp, orders[stamp[0]]) for stamp in stamps]
        known = [moment for moment in moments if moment is not None]
        if len(known) == len(moments) and all(before <= after for before, after in pairwise(known)):
            fitting.append(orders)
    if len(fitting) == 1:
        return fitting[0]
    if len(swapped) < 2:  # noqa: PLR2004  one stamp may be damaged
        return {}
    msg = (
        f"dates such as {swapped[0][0]!r} and {kept[0][0]!r} are in two forms, as after a spreadsheet took days up to "
        "12 for months: export the original file again with its dates as text"
    )
    raise EsxparseError(msg)


def _two_numbers(stamp: re.Match[str]) -> tuple[int, int]:
    """Day and month of a stamp, in its order."""
    parts = ("middle", "last") if len(stamp["first"]) == _YEAR_DIGITS else ("first", "middle")
    return int(stamp[parts[0]]), int(stamp[parts[1]])


def as_esxtop_writes(texts: Sequence[str], dates: Dates) -> tuple[list[str], list[Note]]:
    """Time stamps as esxtop writes them; other texts stay as they are, dates that would be guessed are refused."""
    matches = [_ANY_STAMP.fullmatch(text.strip()) for text in texts]
    dated = [match for match in matches if match]
    if not dated:
        return _without_dates(texts, dates.day)
    if dates.order is None and (orders := _half_swapped(dated)):
        found = [
            _time(match, orders[match[0]]) or text if match else text
            for match, text in zip(matches, texts, strict=True)
        ]
        message = "a spreadsheet took days up to 12 for months in some dates: swapped back, so that time goes on"
        note = Note(message, line=2, column=1, severity="warning")
        return found, [*dates.day_unused(), *_to_the_minute(dated), note]
    order = _order_of(dated, dates.order)
    # A date that does not fit this order would be taken for one of esxtop's own later, and be wrong.
    found = [
        (_time(match, order) or f"{text.strip()} (not {order})") if match else text
        for match, text in zip(matches, texts, strict=True)
    ]
    notes = dates.day_unused() + _to_the_minute(dated)
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
            f"time stamps such as {first!r} have no date: give the day of the first with date= (2026-03-11), "
            "on the command line --date"
        )
        raise EsxparseError(msg)
    days = days_after([_seconds(match) if match else None for match in matches])
    found = []
    for text, match, after in zip(texts, matches, days, strict=True):
        try:
            stamp = _ANY_STAMP.fullmatch(f"{day + timedelta(days=after):%Y-%m-%d} {match[0]}") if match else None
        except OverflowError:
            msg = f"date {day} is too late for a capture of {max(days)} more days: give the day of the first sample"
            raise EsxparseError(msg) from None
        found.append((_time(stamp, "ymd") or f"{stamp[0]} (not ymd)") if stamp else text)
    past = f", and {counted(max(days), 'midnight')} passed" if max(days) else ""
    note = Note(f"time stamps have no date: {day:%Y-%m-%d} as given{past}", line=2, column=1)
    return found, [note, *_to_the_minute([match for match in matches if match])]


def _to_the_minute(matches: Sequence[re.Match[str]]) -> list[Note]:
    if any(match["second"] for match in matches):
        return []
    return [Note("time stamps to the minute only: samples within a minute share one time", line=2, column=1)]


def _seconds(match: re.Match[str]) -> float:
    hour, minute, second = _clock(match)
    return 3600.0 * hour + 60.0 * minute + second
