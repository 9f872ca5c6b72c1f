"""The order of day, month and year in the dates of a power meter's CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from esxparse.errors import EsxparseError
from esxparse.formats.kit.orders import HOW, SWAPPED_BACK, changed_over, order_of, orders_by_time, two_forms
from esxparse.formats.power.readings import Stamp, stamp
from esxparse.recording import Note

_NUMBERS = re.compile(
    r"(?P<first>\d{4}|\d{1,2})(?P<mark>[/.-])(?P<middle>\d{1,2})(?P=mark)(?P<last>\d{4}|\d{1,2})(?P<rest>\D.*)?"
)
_CENTURY, _BETWEEN = "20", " ,T-\t"


def may_be_date(text: str) -> bool:
    """Return whether a text begins with three numbers that are a date in some order."""
    return _NUMBERS.fullmatch(text) is not None


def read_date(text: str, order: str) -> Stamp | None:
    """Return the time in a text, in that order; None for a date that does not exist.

    >>> read_date("13/04/2026 08:00", "dmy").time.isoformat(), read_date("13/04/2026 08:00", "mdy")
    ('2026-04-13T08:00:00+00:00', None)
    """
    match = _NUMBERS.fullmatch(text)
    return stamp(with_year_first_in(match, order)) if match else None


def with_year_first_in(date: re.Match[str], order: str) -> str:
    """Return a date in an order, with the year first, and the time of day after it."""
    parts = dict(zip(order, (date["first"], date["middle"], date["last"]), strict=True))
    year = parts["y"] if len(parts["y"]) > len("26") else _CENTURY + parts["y"]
    return f"{year}-{parts['m']}-{parts['d']} {(date['rest'] or '').lstrip(_BETWEEN) or '00:00'}"


def moment(date: re.Match[str], order: str) -> datetime | None:
    """Return the time of a date in an order; None for a date that does not exist."""
    found = stamp(with_year_first_in(date, order))
    return found.time if found else None


def orders_of(texts: Sequence[str], date_order: str | None) -> tuple[dict[str, str], list[Note]]:
    """Return the order of each text such as 03/04/2026 08:00, and notes; other texts have no order.

    Raises:
        EsxparseError: Nothing in the file proves an order, or some dates are swapped.
    """
    dates = [match for text in texts if (match := _NUMBERS.fullmatch(text))]
    others = [date for date in dates if len(date["first"]) < len("2026")]
    years = {date[0]: "ymd" for date in dates if len(date["first"]) == len("2026")}
    if date_order:
        return years | {date[0]: date_order for date in others}, []
    if orders := two_forms(dates, moment):
        return orders, [Note(SWAPPED_BACK, severity="warning")]
    order, notes = _order_of(others) if others else ("ymd", [])
    plain = years | {date[0]: order for date in others}
    orders, swap_notes = orders_by_time(dates, plain, moment)
    if others and not swap_notes:
        _raise_on_one_odd_date(others, order)
    return orders, [*notes, *swap_notes]


def _order_of(dates: Sequence[re.Match[str]]) -> tuple[str, list[Note]]:
    """Return the one order of the file, and notes on it."""
    order, notes = order_of(dates, moment)
    if order:
        return order, notes
    fits = [order for order in ("mdy", "dmy") if _goes_on(dates, order)]
    if len(fits) == 1:
        return fits[0], []
    raise EsxparseError(f"{dates[0][0]!r} may be day/month or month/day: set date_order= to dmy or mdy {HOW}")


def _raise_on_one_odd_date(dates: Sequence[re.Match[str]], order: str) -> None:
    """Refuse an order that one date alone proves, if time goes on only without this date and in the other order."""
    changed = changed_over(order)
    fitting = [date for date in dates if moment(date, changed)]
    odd = {date[0] for date in dates if not moment(date, changed) and moment(date, order)}
    is_only = len(odd) == 1 < len({date[0] for date in fitting})
    if is_only and not _goes_on(dates, order) and _goes_on(fitting, changed):
        raise EsxparseError(
            f"only {odd.pop()!r} has a number above 12, and time does not go on there: set date_order= to dmy or mdy "
            f"{HOW}"
        )


def _goes_on(dates: Sequence[re.Match[str]], order: str) -> bool:
    """Return whether every text is a date in this order, and time goes on."""
    times = [moment(date, order) for date in dates]
    known = [time for time in times if time]
    return len(known) == len(times) and all(before <= after for before, after in pairwise(known))
