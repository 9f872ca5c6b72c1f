"""The time of each side: split at a time, two windows, or the end of a lake against the time before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from esxparse.comparison.sides import Edge, Given, Window, edges, words
from esxparse.errors import EsxparseError
from esxparse.formats.opening import moment, period
from esxparse.lakes import Lake

_MOMENT: Final = timedelta(microseconds=1)
_ONE_OF: Final = "give either at or windows or last, not several of them"


def windows_of(
    before: Given | Sequence[Given], at: Edge, windows: Sequence[Window | None], last: str | timedelta | None
) -> tuple[Window | None, Window | None]:
    """Return the window of each side; None for all of it.

    `last` counts back from the last sample of the lake, of any host, so that all hosts have the same weeks.

    Raises EsxparseError: Several of the three are given, a time or length is wrong, or `before` is not a lake.
    """
    if (at is not None) + bool(windows) + (last is not None) > 1:
        raise EsxparseError(_ONE_OF)
    time = moment(at, "at")
    if time is not None:
        return (None, time - _MOMENT), (time, None)
    if length := period(last, "last"):
        start, end = last_window(before, length)
        # A capture that ends at the same time each week has its last sample in its own week.
        return (start - length, start - _MOMENT), (start, end)
    if not windows:
        return None, None
    if len(windows) != 2:  # noqa: PLR2004
        raise EsxparseError(f"windows has {len(windows)} entries: give two, one for each side")
    return windows[0], windows[1]


def last_window(source: Given | Sequence[Given], length: timedelta) -> tuple[datetime, datetime]:
    """Return the last part of a lake, of that length: its first moment and its last.

    Raises EsxparseError: It is not a lake, or the lake has no capture with times.
    """
    end = _end_of_lake(source)
    return end - length + _MOMENT, end


def _end_of_lake(source: Given | Sequence[Given]) -> datetime:
    if not isinstance(source, Lake):
        raise EsxparseError("last counts back from the end of a lake: give a lake, or windows")
    ends = [end for one in source.whole.captures if (end := one.span[1])]
    if not ends:
        raise EsxparseError(f"lake {source.store.uri} has no capture with times: last has no end to count back from")
    return min(max(ends), source.until) if source.until else max(ends)


def apart(first: Window | None, second: Window | None) -> tuple[Window, Window]:
    """Return two windows of the same captures; a moment that both have is in the later one only.

    Raises EsxparseError: They have more than a moment in common, or one ends before it begins.
    """
    (start, end), (other_start, other_end) = edges(first), edges(second)
    if end and other_start and end <= other_start:
        return (start, min(end, other_start - _MOMENT)), (other_start, other_end)
    if other_end and start and other_end <= start:
        return (start, end), (other_start, min(other_end, start - _MOMENT))
    spans = f"{words(start, end)}, and {words(other_start, other_end)}"
    raise EsxparseError(f"the windows overlap ({spans}): samples would be on both sides")
