"""Spells for people: always the clock, and the day if it is not clear."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

CLOCK: Final = "%H:%M:%S"
DAY_AND_CLOCK: Final = "%Y-%m-%d %H:%M:%S"


def form(times: Sequence[datetime]) -> str:
    """Return the format for a time among `times`, in order: the clock alone if all are on one day.

    >>> from datetime import datetime
    >>> form([datetime(2015, 11, 2, 9), datetime(2015, 11, 2, 10)])
    '%H:%M:%S'
    """
    return CLOCK if len(times) and times[0].date() == times[-1].date() else DAY_AND_CLOCK


def always(start: datetime, end: datetime, times: Sequence[datetime]) -> bool:
    """Return whether a spell lasts all of `times`, which a clock set back may have put in any order."""
    return start <= min(times) and end >= max(times)


def spell(start: datetime, end: datetime, form: str = DAY_AND_CLOCK) -> str:
    """Return from `start`, in that format, to `end`, with its day if it is another one.

    >>> from datetime import datetime
    >>> spell(datetime(2015, 11, 2, 9), datetime(2015, 11, 2, 9, 5))
    '2015-11-02 09:00:00 to 09:05:00'
    >>> spell(datetime(2015, 11, 2, 23, 50), datetime(2015, 11, 3, 0, 10))
    '2015-11-02 23:50:00 to 2015-11-03 00:10:00'
    """
    return f"{start:{form}} to {end:{CLOCK if start.date() == end.date() else DAY_AND_CLOCK}}"


def spoken_span(seconds: float) -> str:
    """Return a length of time: `9 min 50 s`, `23 h 59 min`, `2 d 3 h`.

    >>> spoken_span(590), spoken_span(86340), spoken_span(5), spoken_span(7200)
    ('9 min 50 s', '23 h 59 min', '5 s', '2 h')
    """
    left = round(seconds)
    parts = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"
