"""Time stamps to UTC, and re-saved ones back to esxtop's form: dates in any order, or times of day alone.

esxtop always writes the month first. In captures that other programs saved, a number above 12 shows the order of the
whole file, or the user sets it. Dates that a spreadsheet swapped are swapped back, refused or warned about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop.grammar import STAMP, STAMP_BYTES, text_of
from esxparse.formats.kit.orders import HOW, SWAPPED_BACK, doubt, find_swap, order_of, orders_by_time, two_forms
from esxparse.formats.kit.stamps import days_after
from esxparse.formats.opening import DateOrder
from esxparse.recording import Note, counted
from esxparse.schema import TIME

# A year of another century has a wrong digit.
_STAMP = f"^{STAMP}$".replace(r"\d{4}", r"(?:19|20|21)\d\d")
_USUAL = re.compile(r"(\d\d)/(\d\d)/((?:19|20|21)\d\d) (\d\d):(\d\d):([0-5]\d)(?:\.(\d{1,6}))?", re.ASCII)
_OF_HEADER = re.compile(rb"PDH|CSV|TSV|\) ?\(")
"""A part of `(PDH-CSV 4.0) (UTC)(0)`."""
_DATE = re.compile(rb'("?)(\d\d)/(\d\d)/(\d{4} )')
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:[.,](?P<fraction>\d+))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_TIME = re.compile(_CLOCK)
_ANY_STAMP = re.compile(r"(?P<first>\d{1,4})(?P<mark>[/.-])(?P<middle>\d{1,2})(?P=mark)(?P<last>\d{1,4})[ T]+" + _CLOCK)
_CENTURY = 2000
_MONTHLY = timedelta(days=20)
"""A swap of day and month moves a date by four weeks or more."""


@dataclass(frozen=True)
class Dates:
    """User settings for dates that the file does not show."""

    order: DateOrder | None = None  # order of day, month and year
    day: date | None = None  # the day of the first sample, for time stamps without one

    def notes(self) -> list[Note]:
        """Return notes on a given `date_order` or `date` for a capture with dates as esxtop writes them."""
        notes = []
        if self.order not in {None, "mdy"}:
            message = (
                f"dates read as {self.order}, as requested: esxtop itself writes the month first, so leave "
                "date_order out if this file is as esxtop wrote it"
            )
            notes.append(Note(message, line=2, column=1, severity="warning"))
        return notes + self.day_unused()

    def day_unused(self) -> list[Note]:
        """Return the note on a given `date` that is unused because time stamps have dates."""
        if self.day is None:
            return []
        message = f"date {self.day} is not used: the time stamps have dates"
        return [Note(message, line=2, column=1, severity="warning")]


def stamp_text(line: bytes) -> str:
    """Return the first cell of a line.

    >>> stamp_text(b'"04/24/2018 10:49:12","0.78",')
    '04/24/2018 10:49:12'
    >>> stamp_text(b'"04/24/2018 10:50:00"04/24/2018 11:30:14","3"')
    '04/24/2018 10:50:00"04/24/2018 11:30:14'
    """
    line = line[:STAMP_BYTES]
    quoted = line.startswith(b'"')
    cell = line[1:].partition(b'",')[0] if quoted else line.partition(b",")[0]
    return text_of(cell.removesuffix(b'"') if quoted else cell)


def is_of_header(line: bytes) -> bool:
    """Return whether the first cell of a line without a time is from a header with a damaged beginning.

    >>> is_of_header(b'"(PDH-SV 4.0) (UTC)(0)","'), is_of_header(b'"PH-CSV 4.0"'), is_of_header(b'"04/24/20l8 10:49"')
    (True, True, False)
    """
    return _OF_HEADER.search(line.partition(b'",')[0][:STAMP_BYTES].replace(b"\0", b"")) is not None


def month_first(line: bytes, order: DateOrder | None) -> bytes:
    """Return a line with a time stamp in that order, changed to have the month first.

    >>> month_first(b'"13/04/2026 23:59:30","1"', "dmy")
    b'"04/13/2026 23:59:30","1"'
    """
    return _DATE.sub(rb"\1\3/\2/\4", line, count=1) if order == "dmy" and _DATE.match(line) else line


def parse(texts: Sequence[str], bias: int) -> pl.Series:
    """Return the times in UTC of stamps `month/day/year hour:minute:second[.fraction]`; null for any other text.

    `bias` is in minutes, as in a PDH header (UTC = local + bias).
    """
    text = pl.Series("time", texts, dtype=pl.String)
    text = text.set(~text.str.contains(_STAMP), None)
    times = text.str.to_datetime("%m/%d/%Y %H:%M:%S%.f", time_unit="us", strict=False)
    return (times + timedelta(minutes=bias)).dt.replace_time_zone("UTC").cast(TIME).alias("time")


def time_of(text: str, bias: int) -> datetime | None:
    """Return the result of `parse` for one stamp; fast for nearly all stamps."""
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


def may_be_swapped(times: pl.Series) -> bool:
    """Return whether a step between times is so long that a swap of day and month may explain it."""
    return bool((times.diff().abs() > _MONTHLY).any())


def judge(texts: Sequence[str], lines: Sequence[int]) -> tuple[list[bool], list[Note]]:
    """Return which time stamps of a capture a spreadsheet swapped, and notes; esxtop writes the month first.

    Raises:
        EsxparseError: The day comes first, or it is uncertain which dates are swapped.
    """
    times = [time_of(text, 0) for text in texts]
    others = [time_of(with_month_first(text), 0) for text in texts]
    _refuse_day_first(texts, times, others)
    known = [at for at, time in enumerate(times) if time]
    swap = find_swap([time for time in times if time], [others[at] for at in known])
    if swap is None:
        return [False] * len(texts), []
    if not swap.is_sure:
        note = doubt([texts[at] for at in known], swap, lines[known[swap.place + 1]])
        return [False] * len(texts), [note]
    is_swapped = [bool(time and other and time != other) for time, other in zip(times, others, strict=True)]
    return is_swapped, [Note(SWAPPED_BACK, lines[is_swapped.index(True)], 1, severity="warning")]


def with_month_first(text: str) -> str:
    """Return a day-first time stamp with the month first.

    >>> with_month_first("13/04/2026 23:59:30")
    '04/13/2026 23:59:30'
    """
    return month_first(text.encode(), "dmy").decode()


def _refuse_day_first(
    texts: Sequence[str], times: Sequence[datetime | None], others: Sequence[datetime | None]
) -> None:
    """Refuse time stamps that have the day first: all of them, or at least some that cannot have the month first.

    A damaged digit makes one odd stamp, but no file of dates with the day first.
    """
    odd = [at for at, time in enumerate(times) if time is None and others[at]]
    if not odd:
        return
    steps = [_longest_step([time for time in each if time]) for each in (times, others)]
    is_day_first = not any(time and not other for time, other in zip(times, others, strict=True)) and _goes_on(others)
    is_mixed = len(odd) > 1 and _goes_on([time or other for time, other in zip(times, others, strict=True)])
    if is_mixed or (is_day_first and (len(odd) > 1 or steps[1] <= steps[0] or not steps[0])):
        raise EsxparseError(
            f"dates such as {texts[odd[0]]!r} have the day first, and others may be in either order: set "
            f"date_order= to mdy or dmy {HOW}"
        )


def _longest_step(times: Sequence[datetime]) -> timedelta:
    return max((after - before for before, after in pairwise(times)), default=timedelta(0))


def _goes_on(times: Sequence[datetime | None]) -> bool:
    return all(before <= after for before, after in pairwise(filter(None, times)))


def median(numbers: NDArray[Any]) -> float:
    """Return the median. `np.median` would import numpy's masked arrays, a tenth of the time to open a file."""
    ordered = np.sort(numbers)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def interval(times: pl.Series) -> float | None:
    """Return the seconds between samples: the median of the steps; None with fewer than two samples.

    Spreadsheets save stamps to the minute, which repeat. The result is then the mean step, to 0.01 seconds.
    """
    micros = times.dt.timestamp("us").to_numpy()
    if len(micros) < 2:  # noqa: PLR2004  a step needs two
        return None
    step = median(np.diff(micros))
    if step == 0:
        return round(float(micros[-1] - micros[0]) / (len(micros) - 1) / 1e6, 2)
    return step / 1e6


def _clock(match: re.Match[str]) -> tuple[int, int, int]:
    """Return hour, minute and second; an hour of 12 AM is 0."""
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    return hour % 12 + (12 if match["half"] in "Pp" else 0) if match["half"] else hour, minute, second


def _moment(stamp: re.Match[str], order: str) -> datetime | None:
    """Return the time of a stamp, on the clock of the file; None for a date that does not exist."""
    numbers = dict(zip(order, (int(stamp[part]) for part in ("first", "middle", "last")), strict=True))
    year = numbers["y"] + (_CENTURY if numbers["y"] < 100 else 0)  # noqa: PLR2004  two digits
    try:
        # No zone: the header has the bias.
        return datetime(year, numbers["m"], numbers["d"], *_clock(stamp))  # noqa: DTZ001
    except ValueError:
        return None


def _time(stamp: re.Match[str], order: str) -> str | None:
    """Return a stamp as esxtop writes it."""
    time = _moment(stamp, order)
    if time is None:
        return None
    return f"{time:%m/%d/%Y %H:%M:%S}" + (f".{stamp['fraction'][:6]}" if stamp["fraction"] else "")


def _orders(stamps: Sequence[re.Match[str]], usual: DateOrder | None) -> tuple[dict[str, str], list[Note]]:
    """Return the order of each time stamp by its text, and notes; `usual` is the order without any swap."""
    if orders := two_forms(stamps, _moment):
        return orders, [Note(SWAPPED_BACK, line=2, column=1, severity="warning")]
    order, notes = (usual, []) if usual else order_of(stamps, _moment)
    if order is None and all(int(stamp["first"]) == int(stamp["middle"]) for stamp in stamps):
        order = "mdy"
    if order is None:
        raise EsxparseError(
            f"the file does not show which is day and which is month in dates such as {stamps[0][0]!r}: "
            f"set date_order= to mdy or dmy {HOW}"
        )
    orders, swap_notes = orders_by_time(stamps, dict.fromkeys((stamp[0] for stamp in stamps), order), _moment, 2)
    return orders, [*notes, *swap_notes]


def as_esxtop_writes(
    texts: Sequence[str], dates: Dates, usual: DateOrder | None = None
) -> tuple[list[str], list[Note]]:
    """Return time stamps as esxtop writes them and other texts unchanged; refuse dates that would need guessing.

    `usual` is the order of dates that no spreadsheet swapped, if it is known.
    """
    matches = [_ANY_STAMP.fullmatch(text.strip()) for text in texts]
    dated = [match for match in matches if match]
    if not dated:
        return _without_dates(texts, dates.day)
    orders, order_notes = (
        (dict.fromkeys((stamp[0] for stamp in dated), dates.order), []) if dates.order else _orders(dated, usual)
    )
    # A date that does not fit its order would later pass for one of esxtop's own, and be wrong.
    found = [
        (_time(match, orders[match[0]]) or f"{text.strip()} (not {orders[match[0]]})") if match else text
        for match, text in zip(matches, texts, strict=True)
    ]
    notes = [*dates.day_unused(), *_to_the_minute(dated), *order_notes]
    order = orders[dated[0][0]]
    if order != "mdy" and len(set(orders.values())) == 1:
        notes.append(Note(f"dates read as {order} (d day, m month, y year)", line=2, column=1))
    return found, notes


def _without_dates(texts: Sequence[str], day: date | None) -> tuple[list[str], list[Note]]:
    """Return times of day as time stamps from that day on; past midnight the next day begins."""
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
