"""Time stamps that were saved without a date: on which day after the first each of them is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:[.,]\d+)?(?: ?([AaPp])\.?[Mm]\.?)?")
"""A time of day: `8:05`, `23:59:30`, `11:59:30 PM`."""

_SET_BACK = 3600.0
"""Seconds by which a clock is set back at the end of daylight saving: no midnight lies between two such samples."""


def seconds(text: str) -> float | None:
    """Seconds since midnight; None where the text does not hold a time of day.

    >>> seconds("12:00:05 AM"), seconds("23:59"), seconds("03/02/2026 08:00:00")
    (5.0, 86340.0, None)
    """
    match = CLOCK.fullmatch(text.strip())
    if not match:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if match[4]:
        hour = hour % 12 + (12 if match[4] in "Pp" else 0)
    return 3600.0 * hour + 60.0 * minute + second


def days_after(clocks: Sequence[float | None]) -> list[int]:
    """For each time of day, how many midnights lie between it and the first.

    One damaged stamp is no midnight: of a day that has passed, the samples before it are all later in the day, and so
    is none of those after it.

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
