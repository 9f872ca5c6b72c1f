"""Dates and clocks as programs print them in the locale of their machine: numbers, in any order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from esxparse.formats.opening import DateOrder, zone_of

DATE = re.compile(
    r"(?<![\d:])(?P<first>\d{1,4})(?:(?P<mark>[/.-])|\s?[年년])\s?(?P<middle>\d{1,2})(?:(?P=mark)|\s?[月월])\s?"
    r"(?P<last>\d{1,4})(?![\d:])"
)
_CLOCK = (
    r"(?P<before>上午|下午|午前|午後|오전|오후)?\s?(?P<hour>\d{1,2})(?P<mark>[:.,]|\s?[时時시]\s?)(?P<minute>\d{2})"
    r"(?:[:.,]|\s?[分분]\s?)(?P<second>\d{2})\s?[秒초]?(?:\s?(?P<half>(?:[AaPp]\.?\s?[Mm]\.?|[πμ]μ)(?!\w)))?"
)
_ISO = re.compile(r"\s*\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[+-]\d{2}:?\d{2}|Z)\s*$")
_EPOCH = re.compile(r"\s*(\d{10})\s*$")
_IN_UTC = re.compile(r".*\d(?: [AaPp][Mm])? (?:UTC|GMT)\s*$")
_AT_START = re.compile(rf"{_CLOCK}(?!\S)")
_ANYWHERE = re.compile(_CLOCK)
_AFTERNOON = ("p", "μ", "下", "午後", "오후")
_AFTER_DAY = "일日號. "
SET_BACK_S = 3600.0
"""Seconds by which a clock is set back at the end of daylight saving. Such a step does not cross midnight."""
_CENTURY, _YEAR_DIGITS = 2000, 4


def clock(text: str) -> tuple[float, int] | None:
    """Return the time of day at the beginning of a line, in seconds since midnight, and its end in the line.

    >>> clock("08:20:05 PM  all"), clock("20.20.05 all"), clock("20时20分05秒 all"), clock("12:00:01 AM")
    ((73205.0, 11), (73205.0, 8), (73205.0, 9), (1.0, 11))
    """
    found = _AT_START.match(text)
    return (_seconds(found), found.end()) if found and _is_one(found) else None


def _is_one(found: re.Match[str]) -> bool:
    return int(found["hour"]) < 24 and int(found["minute"]) < 60 and int(found["second"]) <= 60  # noqa: PLR2004


def _seconds(found: re.Match[str]) -> float:
    hour = int(found["hour"])
    if half := (found["before"] or found["half"] or "").lower():
        hour = hour % 12 + 12 * half.startswith(_AFTERNOON)
    return 3600.0 * hour + 60.0 * int(found["minute"]) + int(found["second"])


def is_clock(text: str) -> bool:
    """Return whether a text is a time of day, with a zone at most.

    >>> is_clock("20.42.21 CET"), is_clock("20.04.21 20:42:21")
    (True, False)
    """
    found = clock(text)
    rest = text[found[1] :] if found else ""
    return found is not None and len(rest.split()) <= 1 and not has_clock(rest)


def in_halves(text: str) -> bool:
    """Return whether a time of day in a text is from a clock with AM and PM."""
    found = _ANYWHERE.search(text)
    return bool(found and (found["half"] or found["before"]))


def has_clock(text: str) -> bool:
    """Return whether a text has a time of day."""
    return bool(_ANYWHERE.search(text))


def has_date(text: str) -> bool:
    """Return whether a text has a numeric date."""
    return bool(DATE.search(text))


def day_of(text: str, order: str) -> date | None:
    """Return the date in a text; None if there is no date in that order.

    >>> day_of("22. 11. 2026", "dmy"), day_of("2026年11月22日", "ymd"), day_of("13/13/26", "mdy")
    (datetime.date(2026, 11, 22), datetime.date(2026, 11, 22), None)
    """
    if (found := DATE.search(text)) is None:
        return None
    parts = dict(zip(order, found.group("first", "middle", "last"), strict=True))
    if len(parts["y"]) not in {2, _YEAR_DIGITS}:
        return None
    try:
        year = int(parts["y"]) + (0 if len(parts["y"]) == _YEAR_DIGITS else _CENTURY)
        return date(year, int(parts["m"]), int(parts["d"]))
    except ValueError:
        return None


def with_zone(text: str) -> bool:
    """Return whether a time needs no zone: ISO 8601 with an offset, seconds since 1970, or marked as UTC.

    >>> with_zone("2026-11-22T20:42:24+0100"), with_zone("1795380141"), with_zone("2026-11-22 20:42:24 UTC")
    (True, True, True)
    """
    return any(pattern.match(text) for pattern in (_ISO, _EPOCH, _IN_UTC))


def is_moment(line: str) -> bool:
    """Return whether a line is a date and a time of day, with a zone at most.

    >>> [is_moment(line) for line in ("2026년 11월 22일 20시 42분 05초", "11/22/26 08:42:05 PM IST", "sda 1.00")]
    [True, True, False]
    """
    if _ISO.match(line) or _EPOCH.match(line):
        return True
    bare = line.strip()
    if (day := DATE.match(bare)) is None:
        return False
    rest = bare[day.end() :].lstrip(_AFTER_DAY)
    return is_clock(rest)


def moment(text: str, order: DateOrder, zone: str | None = None) -> datetime | None:
    """Return the time in a text: date and time of day, or seconds since 1970; in `zone` or UTC if it has no zone.

    >>> moment("22.11.26 20:42:24", "dmy").isoformat(), moment("2026-11-22T20:42:24+0100", "ymd").isoformat()
    ('2026-11-22T20:42:24+00:00', '2026-11-22T19:42:24+00:00')
    """
    if epoch := _EPOCH.match(text):
        return datetime.fromtimestamp(int(epoch[1]), UTC)
    if _ISO.match(text):
        try:
            return datetime.fromisoformat(text.strip()).astimezone(UTC)
        except ValueError:
            return None
    day, clocked = day_of(text, order), _ANYWHERE.search(text, getattr(DATE.search(text), "end", int)())
    if day is None or clocked is None or not _is_one(clocked):
        return None
    return in_utc(
        datetime.combine(day, time()) + timedelta(seconds=_seconds(clocked)), None if with_zone(text) else zone
    )


def in_utc(moment: datetime, zone: str | None) -> datetime:
    """Return a time by the clock of that zone, in UTC; without a zone, the clock is UTC.

    >>> in_utc(datetime(2026, 7, 1, 12), "Europe/Berlin").isoformat(), in_utc(datetime(2026, 7, 1), "-05:30").hour
    ('2026-07-01T10:00:00+00:00', 5)
    """
    return moment.replace(tzinfo=zone_of(zone) if zone else UTC).astimezone(UTC)


def of_zone(zone: str | None) -> str:
    """Return a note's text about times without a zone."""
    return f"times have no zone: taken as {zone}, as requested" if zone else "times have no zone: taken as UTC"


def unused_zone(zone: str) -> str:
    """Return the warning about a given zone that is not used."""
    return f"zone {zone} is not used: no time in the file is without a zone"


def of_order(text: str, order: DateOrder) -> str:
    """Return the warning about dates with a guessed order."""
    example = text[:20].split("\t", maxsplit=1)[0].strip()
    first = {"m": "month", "d": "day", "y": "year"}[order[0]]
    return f"dates such as {example!r} are read with the {first} first: set date_order if that is wrong"


def days(first: date, clocks: Sequence[float]) -> list[date]:
    """Return the day of each time of day, from the first day on; past midnight the next day begins.

    >>> days(date(2026, 11, 22), [86380.0, 86390.0, 10.0])[-1]
    datetime.date(2026, 11, 23)
    """
    return [first + timedelta(days=after) for after in days_after(clocks)]


def days_after(clocks: Sequence[float | None]) -> list[int]:
    """Return, for each time of day, the number of midnights since the first.

    One damaged stamp is not a midnight: all samples before a midnight are later in the day than all after it.

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
            if place and clock < known[place - 1] - SET_BACK_S:
                passed += all(clock < one for one in before) and all(one < known[place - 1] for one in after)
        days.append(passed)
    return days
