"""The order of day, month and year in the dates of a file, and dates that a spreadsheet swapped.

Dates are matches with the groups `first`, `mark`, `middle` and `last`; `Moment` reads them in an order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Final

from esxparse.errors import EsxparseError
from esxparse.formats.kit.stamps import DATE, SET_BACK_S, day_of, is_clock, of_order
from esxparse.formats.opening import DateOrder
from esxparse.recording import Note

Moment = Callable[[re.Match[str], str], datetime | None]

_MONTHS, _DAYS = 12, 31
_MONTHLY_S = 20 * 86400.0
"""A change of day and month moves a date by four weeks or more."""
_YEAR_S = 366 * 86400.0
_USUAL_STEPS = 3
"""A step longer than this many usual ones is a jump."""
_DAMAGED = 1
"""One date out of order may have a damaged digit."""
_HALF_OF_DAY = re.compile(r"[AaPp]\.?[Mm]\b")

HOW: Final = "(on the command line --date-order)"
SWAPPED_BACK: Final = "a spreadsheet took days up to 12 for months in some dates: swapped back, so that time goes on"
FOREIGN_DATE: Final = (
    "a date in another form than the tool prints, left out: a spreadsheet may have swapped day and month in the others"
)
EXPORT_AGAIN: Final = "export the original file again with its dates as text"


@dataclass(frozen=True)
class Swap:
    """Times that look swapped: whether this is certain, and the first time before a jump."""

    is_sure: bool
    place: int


def changed_over(order: str) -> str:
    """Return the order with day and month exchanged.

    >>> changed_over("ymd")
    'ydm'
    """
    return order.translate(str.maketrans("dm", "md"))


def find_swap(plain: Sequence[datetime], changed: Sequence[datetime | None]) -> Swap | None:
    """Return whether a spreadsheet swapped every date that allows it, and how sure that is; None without a swap.

    Args:
        plain: All times, read in the one order that fits.
        changed: The same times with day and month exchanged; None if the day is above 12.

    Raises:
        EsxparseError: Time jumps in the one order, and the change mends only some of the jumps.
    """
    places = _without_damaged(plain, changed)
    plain, changed = [plain[at] for at in places], [changed[at] for at in places]
    movable = {before for before, after in zip(plain, changed, strict=True) if after is not None and after != before}
    if not movable:
        return None
    mended = [after or before for before, after in zip(plain, changed, strict=True)]
    steps, mended_steps = _steps(plain), _steps(mended)
    usual = min(median(map(abs, each.values())) for each in (steps, mended_steps))
    limit = max(_MONTHLY_S, _USUAL_STEPS * usual)
    jumps = {at: step for at, step in steps.items() if abs(step) > limit}
    left = [step for step in mended_steps.values() if abs(step) > limit]
    if not jumps:
        return None
    # Time that only jumps ahead may have gaps: then the change must leave none.
    is_forward = median(steps.values()) >= 0
    is_gap = all((jump > 0) == is_forward for jump in jumps.values())
    is_even = max(map(abs, mended_steps.values())) <= _USUAL_STEPS * usual
    goes_on = min(mended_steps.values()) >= -SET_BACK_S or max(mended_steps.values()) <= SET_BACK_S
    every = None not in changed
    # If the change fits every date, steps of whole months may come from a monthly reading.
    is_rare = 2 * len(jumps) < len(steps)
    found = places[next(iter(jumps))]
    if goes_on and len(left) < len(jumps) and (is_rare or not every) and (is_even or not (left or is_gap)):
        return Swap(True, found)
    if len(left) < len(jumps) and not is_gap and not every and len(movable) > _DAMAGED:
        raise EsxparseError(
            "days and months are swapped in some dates, as after a spreadsheet took days up to 12 for months: "
            f"{EXPORT_AGAIN}; if the dates are right, set date_order= {HOW}"
        )
    is_smoother = _of_a_year(left) < _of_a_year(jumps.values())
    return Swap(False, found) if goes_on and is_smoother else None


def _of_a_year(jumps: Iterable[float]) -> float:
    """Return the sum of the jumps that a swap may explain: a swap never changes the year."""
    return sum(size for jump in jumps if (size := abs(jump)) <= _YEAR_S)


def _without_damaged(plain: Sequence[datetime], changed: Sequence[datetime | None]) -> list[int]:
    """Return the places of the times, except single outliers that the change does not bring nearer."""

    def is_far(one: datetime, other: datetime) -> bool:
        return abs((one - other).total_seconds()) > _MONTHLY_S

    places = list(range(len(plain)))
    for at in range(1, len(plain) - 1):
        before, time, after = plain[at - 1 : at + 2]
        if is_far(before, time) and is_far(time, after) and not is_far(before, after):
            other = changed[at]
            if other is None or is_far(before, other):
                places.remove(at)
    return places


def _steps(moments: Sequence[datetime]) -> dict[int, float]:
    """Return the steps in seconds by the place of their first time, ignoring repeated times."""
    return {
        at: (after - before).total_seconds() for at, (before, after) in enumerate(pairwise(moments)) if after != before
    } or {0: 0.0}


def doubt(texts: Sequence[str], swap: Swap, line: int | None = None, *, has_option: bool = True) -> Note:
    """Return the warning about dates that may be swapped, unless the file has a gap.

    Args:
        texts: The dates.
        swap: The place of the jump.
        line: The line after the jump.
        has_option: Whether the reader has the option `date_order`, which removes the warning.
    """
    before, after = texts[swap.place : swap.place + 2]
    message = (
        f"time jumps from {before!r} to {after!r}: a spreadsheet may have swapped day and month in dates with days up "
        f"to 12. If so, {EXPORT_AGAIN}"
    )
    option = f"; if the dates are right, set date_order= {HOW}" if has_option else ""
    return Note(message + option, line, severity="warning")


def orders_by_time(
    dates: Sequence[re.Match[str]], orders: Mapping[str, str], moment: Moment, line: int | None = None
) -> tuple[dict[str, str], list[Note]]:
    """Return the order of each date by its text, and notes: dates that a spreadsheet swapped have the other order.

    Args:
        dates: The dates, in file order.
        orders: The order of each, as if none was swapped.
        moment: Reads a date in an order.
        line: The line of the first.

    Raises:
        EsxparseError: Some dates are swapped, and it is uncertain which.
    """
    known = [(date[0], time) for date in dates if (time := moment(date, orders[date[0]]))]
    if not any(abs(step) > _MONTHLY_S for step in _steps([time for _, time in known]).values()):
        return dict(orders), []
    others = {date[0]: moment(date, changed_over(orders[date[0]])) for date in dates}
    swap = find_swap([time for _, time in known], [others[text] for text, _ in known])
    if swap is None:
        return dict(orders), []
    if not swap.is_sure:
        return dict(orders), [doubt([text for text, _ in known], swap, line)]
    mended = {text: changed_over(order) if others.get(text) else order for text, order in orders.items()}
    return mended, [Note(SWAPPED_BACK, line, severity="warning")]


def proven_order(dates: Sequence[re.Match[str]]) -> DateOrder | None:
    """Return the order that a number above 12 shows; None without such a number.

    Raises:
        EsxparseError: Some dates have the day first, and others the month.
    """
    day_first = next((date[0].strip() for date in dates if int(date["first"]) > _MONTHS), None)
    month_first = next((date[0].strip() for date in dates if int(date["middle"]) > _MONTHS), None)
    if day_first and month_first:
        raise EsxparseError(
            f"dates such as {day_first!r} and {month_first!r} are in different orders: set date_order= to dmy or mdy "
            f"{HOW}"
        )
    return "dmy" if day_first else "mdy" if month_first else None


def may_begin_with_year(dates: Sequence[re.Match[str]]) -> bool:
    """Return whether the first number may be the year in all dates, and the last one the day."""
    return all(
        len(date["first"]) == len(date["last"]) == len("26")
        and int(date["middle"]) <= _MONTHS
        and int(date["last"]) <= _DAYS
        for date in dates
    )


def order_of(dates: Sequence[re.Match[str]], moment: Moment) -> tuple[DateOrder | None, list[Note]]:
    """Return the order that the numbers of the dates show, or None; and a warning if the year may come first or last.

    Nobody writes month.day.year.

    Raises:
        EsxparseError: The year may come first or last, or the dates have different orders.
    """
    if any(len(date["first"]) == len("2026") for date in dates):
        return "ymd", []
    has_points = any(date["mark"] == "." for date in dates)
    if may_begin_with_year(dates):
        if not all(moment(date, "dmy") or (moment(date, "mdy") and not has_points) for date in dates):
            return "ymd", []
        if not has_points:
            text = next((date[0] for date in dates if int(date["first"]) > _MONTHS), dates[0][0])
            raise EsxparseError(
                f"the year in dates such as {text!r} may come first or last: set date_order= to ymd, dmy or mdy {HOW}"
            )
        passed = {order: _time_passed(dates, order, moment) for order in ("ymd", "dmy")}
        order: DateOrder = "ymd" if passed["ymd"] < passed["dmy"] else "dmy"
        return order, [Note(of_order(dates[0][0], order), severity="warning")] if passed["ymd"] <= passed["dmy"] else []
    return proven_order(dates) or ("dmy" if has_points else None), []


def _time_passed(dates: Sequence[re.Match[str]], order: str, moment: Moment) -> float:
    times = [time for date in dates if (time := moment(date, order))]
    return sum(map(abs, _steps(times).values()))


def order_of_locale(
    texts: Sequence[str], date_order: DateOrder | None, *, in_halves: bool = False
) -> tuple[DateOrder, bool]:
    """Return the order of dates printed in a machine's locale, and whether it is certain.

    The order is certain if it was set, if a year of four digits comes first, or if a number is above 12. Points between
    the numbers also make it certain (nobody writes month.day.year), unless a year of two digits may come first or last.
    Otherwise the month comes first with an AM/PM clock (`in_halves`) or a year of two digits, as in the C locale.

    Raises:
        EsxparseError: Some dates have the day first, and others the month.

    >>> order_of_locale(["11/22/26"], None), order_of_locale(["22/11/46"], None), order_of_locale(["03/04/26"], None)
    (('mdy', True), ('dmy', True), ('mdy', False))
    """
    dates = [match for text in texts if not is_clock(text) and (match := DATE.search(text))]
    if date_order or not dates:
        return date_order or "mdy", True
    with_year = [date for date in dates if int(date["first"]) > _DAYS]
    if len(with_year) == len(dates):
        return "ymd", True
    if with_year:
        raise _of_two_forms(with_year[0], next(date for date in dates if date not in with_year))
    proven = proven_order(dates)
    if proven is None and any(date["mark"] == "." for date in dates):
        proven = "dmy"
    if may_begin_with_year(dates):
        usual: DateOrder = proven or "mdy"
        passed = {order: _time_passed(dates, order, _midnight) for order in (usual, "ymd")}
        return ("ymd" if passed["ymd"] < passed[usual] else usual), proven == "mdy" or passed["ymd"] != passed[usual]
    if proven or all(date["first"] == date["middle"] for date in dates):
        return proven or "mdy", True
    return ("mdy" if in_halves or len(dates[0]["last"]) < len("2026") else "dmy"), False


def _of_two_forms(date: re.Match[str], other: re.Match[str]) -> EsxparseError:
    return EsxparseError(
        f"dates such as {date[0]!r} and {other[0]!r} are in two forms, as after a spreadsheet took days up to 12 for "
        f"months: {EXPORT_AGAIN}"
    )


def _midnight(date: re.Match[str], order: str) -> datetime | None:
    """Return the beginning of the day of a date."""
    day = day_of(date[0], order)
    # No zone: these times are only compared with each other.
    return datetime(day.year, day.month, day.day) if day else None  # noqa: DTZ001


def two_forms(dates: Sequence[re.Match[str]], moment: Moment) -> dict[str, str]:
    """Return the order of each date if some are in a spreadsheet's form and others are not; empty otherwise.

    The spreadsheet took days up to 12 for months. It writes the dates that it understood in its own form. The others
    stay texts in their old form.

    Raises:
        EsxparseError: The dates have two forms, and it is uncertain in which order the spreadsheet wrote.
    """
    forms: dict[tuple[str, bool, int, bool], list[re.Match[str]]] = {}
    for date in dates:
        rest = date.string[date.end("last") :]
        is_year = len(date["first"]) == len("2026")
        form = date["mark"], is_year, rest.count(":"), _HALF_OF_DAY.search(rest) is not None
        forms.setdefault(form, []).append(date)
    if len(forms) != 2:  # noqa: PLR2004  the spreadsheet's own form and the texts' form
        return {}
    is_dated = {form: any(max(_two_numbers(date)) > _MONTHS for date in found) for form, found in forms.items()}
    if sorted(is_dated.values()) != [False, True]:
        return {}
    (own, swapped), (other, kept) = sorted(forms.items(), key=lambda form: is_dated[form[0]])
    if not all(max(_two_numbers(date)) > _MONTHS for date in kept) or other[1]:
        return {}
    order = "mdy" if int(kept[0]["middle"]) > _MONTHS else "dmy"
    choices = ("ymd", "ydm") if own[1] else ("mdy", "dmy")
    fitting = []
    for choice in choices:
        orders = {**{date[0]: choice for date in swapped}, **{date[0]: order for date in kept}}
        times = [moment(date, orders[date[0]]) for date in dates]
        known = [time for time in times if time is not None]
        if len(known) == len(times) and _goes_on_evenly(known):
            fitting.append(orders)
    if len(fitting) == 1:
        return fitting[0]
    if len(swapped) <= _DAMAGED and own[:2] == other[:2]:
        return {}
    raise _of_two_forms(swapped[0], kept[0])


def _goes_on_evenly(times: Sequence[datetime]) -> bool:
    """Return whether time goes on without a jump of months."""
    steps = [(after - before).total_seconds() for before, after in pairwise(times)]
    # With two steps, neither is the usual one.
    usual = median(steps) if len(steps) > 2 else 0.0  # noqa: PLR2004
    return not steps or (min(steps) >= 0 and max(steps) <= max(_MONTHLY_S, _USUAL_STEPS * usual))


def _two_numbers(date: re.Match[str]) -> tuple[int, int]:
    """Return day and month of a date, in its order."""
    parts = ("middle", "last") if len(date["first"]) == len("2026") else ("first", "middle")
    return int(date[parts[0]]), int(date[parts[1]])


def swap_notes(times: Sequence[datetime | None], *, has_option: bool = True) -> list[Note]:
    """Return the warning about times, in file order, that look swapped by a spreadsheet."""
    known = [time for time in times if time]
    try:
        swap = find_swap(known, [_swapped(time) for time in known])
    except EsxparseError:
        swap = Swap(False, 0)
    return [doubt([f"{time:%Y-%m-%d}" for time in known], swap, has_option=has_option)] if swap else []


def _swapped(time: datetime) -> datetime | None:
    return time.replace(month=time.day, day=time.month) if time.day <= _MONTHS else None
