"""The order of day and month in logs of power readings, if programs print dates in the locale of their machine."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from esxparse.formats.kit.orders import may_begin_with_year, orders_by_time, proven_order
from esxparse.formats.kit.stamps import of_order
from esxparse.formats.opening import DateOrder
from esxparse.formats.power.dates import moment, with_year_first_in
from esxparse.formats.power.readings import stamp
from esxparse.recording import Note

Clock = Callable[[str], str | None]
"""The clock of a date, by the text before it in its line; None for a date that is not a time of the log."""

_DATE = re.compile(
    r"(?<![\w/.:-])(?P<first>\d{4}|\d\d?)\\?(?P<mark>[/.-])(?P<middle>\d\d?)\\?(?P=mark)(?P<last>\d{4}|\d\d?)"
    r"(?P<rest>(?:T|,?[ \t]+|[ \t]+-[ \t]+)\d{1,2}:\d{1,2}(?::\d{1,2})?(?:[ \t]*[AaPp]\.?[Mm]\b)?)"
)
"""A date and a time of day; JSON may have a backslash before each slash."""
_HEADER = re.compile(r"\s*Date:\s*", re.IGNORECASE)
_LOOKED_AT = 120
"""Characters before a date in which its clock may be named."""
_NEAR = timedelta(days=2)
"""Largest difference between the clocks of one machine, whatever their zones."""


@dataclass(frozen=True)
class _Date:
    line: int
    match: re.Match[str]

    @property
    def has_long_year(self) -> bool:
        """Whether the date begins with a year of four digits."""
        return len(self.match["first"]) == len("2026")


def line_clock(before: str) -> str | None:
    """Return the clock of a line of `date`, or of an HTTP header.

    >>> line_clock("Date: "), line_clock("<VALUE>")
    ('line', None)
    """
    return "line" if not _HEADER.sub("", before).strip(" \t['\"") else None


def with_year_first(
    lines: Sequence[str], clock_of: Clock, date_order: DateOrder | None
) -> tuple[list[str], list[Note]]:
    """Return the lines of a log with dates such as 04/13/26 as 2026-04-13, and notes on their order.

    The dates of one clock have one order; a clock printed by another program may have another order. A number above 12
    shows the order, else a time of another form nearby, else the order in which less time passes. If nothing shows
    the order, the month comes first, or the day if points are between the numbers, with a warning.

    Raises:
        EsxparseError: A clock has dates of several orders.
    """
    clocks: dict[str, list[_Date]] = {}
    for line, text in enumerate(lines, 1):
        for match in _DATE.finditer(text):
            if clock := clock_of(_before(text, match)):
                clocks.setdefault(clock, []).append(_Date(line, match))
    notes: list[Note] = []
    orders: dict[str, dict[str, str]] = {}
    for clock, dates in clocks.items():
        order, order_notes = _order_of(clock, clocks, lines, date_order)
        plain: dict[str, str] = {date.match[0]: "ymd" if date.has_long_year else order for date in dates}
        orders[clock], swap_notes = (
            (plain, []) if date_order else orders_by_time([date.match for date in dates], plain, moment, dates[0].line)
        )
        notes += [*order_notes, *swap_notes]

    if all(order == "ymd" for each in orders.values() for order in each.values()):
        return list(lines), notes

    def written(text: str) -> str:
        def with_order(match: re.Match[str]) -> str:
            clock = clock_of(_before(text, match))
            return with_year_first_in(match, orders[clock][match[0]]) if clock else match[0]

        return _DATE.sub(with_order, text)

    return [written(text) for text in lines], notes


def _before(text: str, match: re.Match[str]) -> str:
    return text[max(match.start() - _LOOKED_AT, 0) : match.start()]


def _order_of(
    clock: str, clocks: dict[str, list[_Date]], lines: Sequence[str], date_order: DateOrder | None
) -> tuple[DateOrder, list[Note]]:
    """Return the order of a clock's dates, and a warning if it is a guess."""
    dates = [date for date in clocks[clock] if not date.has_long_year]
    if date_order or not dates:
        return date_order or "ymd", []
    orders = _possible([date.match for date in dates])
    if len(orders) > 1:
        known = _known(clock, clocks, lines)
        close = {order: _count_close(dates, order, known) for order in orders}
        orders = [order for order in orders if close[order] == max(close.values())]
    if len(orders) > 1:
        passed = {order: _days_passed(dates, order) for order in orders}
        orders = [order for order in orders if passed[order] == min(passed.values())]
    is_doubtful = len(orders) > 1 and not all(date.match["first"] == date.match["middle"] for date in dates)
    if not is_doubtful:
        return orders[0], []
    example = dates[0].match[0].removesuffix(dates[0].match["rest"]).replace("\\", "")
    return orders[0], [Note(of_order(example, orders[0]), dates[0].line, severity="warning")]


def _possible(dates: Sequence[re.Match[str]]) -> list[DateOrder]:
    """Return the orders that the numbers of the dates allow, the most usual first."""
    has_points = any(date["mark"] == "." for date in dates)
    # ipmi-dcmi of FreeIPMI prints the month first in every locale, and a dash after the year.
    is_of_freeipmi = all(date["rest"].lstrip().startswith("-") for date in dates)
    proven = proven_order(dates)
    days: list[DateOrder] = [proven] if proven else ["dmy"] if has_points else ["mdy", "dmy"]
    if not proven and is_of_freeipmi:
        return ["mdy"]
    return [*days, "ymd"] if may_begin_with_year(dates) else days


def _known(clock: str, clocks: dict[str, list[_Date]], lines: Sequence[str]) -> list[tuple[int, datetime]]:
    """Return lines and times of known order: in other forms, or from clocks whose numbers show the order."""
    known = [(line, found.time) for line, text in enumerate(lines, 1) if (found := stamp(_HEADER.sub("", text)))]
    for other, dates in clocks.items():
        short = [date.match for date in dates if not date.has_long_year]
        possible = _possible(short) if short and other != clock else []
        sure = possible[0] if len(possible) == 1 else None
        orders = [(date, "ymd" if date.has_long_year else sure) for date in dates]
        known += [(date.line, time) for date, order in orders if order and (time := moment(date.match, order))]
    return sorted(known)


def _count_close(dates: Sequence[_Date], order: DateOrder, known: Sequence[tuple[int, datetime]]) -> int:
    """Return how many dates are near the known time beside them."""
    count = 0
    for date in dates:
        at = bisect_left(known, date.line, key=lambda one: one[0])
        beside = min(known[max(at - 1, 0) : at + 1], key=lambda one: abs(one[0] - date.line), default=None)
        time = moment(date.match, order)
        count += bool(beside and time and abs(time - beside[1]) <= _NEAR)
    return count


def _days_passed(dates: Sequence[_Date], order: DateOrder) -> int:
    days = [time for date in dates if (time := moment(date.match, order))]
    return sum(abs(after - before).days for before, after in pairwise(days))
