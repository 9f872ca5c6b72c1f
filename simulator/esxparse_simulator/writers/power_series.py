"""Watts over time, and what a BMC makes of them: the last reading, means and extremes of windows, histories.

A reading is the mean power of the span from the reading before it up to its time; the first spans as much as the
second. So a window's mean weighs readings by time, and what two documents say of one span is the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import fsum, isfinite
from typing import TYPE_CHECKING, NamedTuple

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Reading", "Series", "Span", "Window", "history", "later", "series", "span", "stamp", "window"]

_ALONE_S = 10.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading: watts as a mean, with the extremes within it where they are known (else the mean itself).

    Processor use in %, their frequency in MHz, the air that is taken in in degrees C, and W of parts.
    """

    time: datetime
    watts: float
    minimum_watts: float | None = None
    maximum_watts: float | None = None
    cpu_util_pct: float = 0.0
    cpu_mhz: float = 0.0
    inlet_celsius: float = 22.0
    cpu_watts: float = 0.0
    dimm_watts: float = 0.0

    @property
    def low(self) -> float:
        """The least watts."""
        return self.watts if self.minimum_watts is None else self.minimum_watts

    @property
    def high(self) -> float:
        """The most watts."""
        return self.watts if self.maximum_watts is None else self.maximum_watts


@dataclass(frozen=True, slots=True)
class Series:
    """Readings in the order of time, and their seconds since 1970."""

    readings: tuple[Reading, ...]
    seconds: tuple[float, ...]

    def begin(self, place: int) -> float:
        """When the span of a reading begins."""
        if place:
            return self.seconds[place - 1]
        return self.seconds[0] - (self.seconds[1] - self.seconds[0] if len(self.seconds) > 1 else _ALONE_S)

    def last(self, at: datetime) -> Reading:
        """The last reading at a time; before the first, that one."""
        return self.readings[max(0, bisect_right(self.seconds, at.timestamp()) - 1)]


class Window(NamedTuple):
    """Watts over a window."""

    average: float
    minimum: float
    maximum: float


class Span(NamedTuple):
    """A sample of a history: watts and all else over the span up to `end`."""

    end: datetime
    watts: Window
    cpu_util_pct: float
    cpu_mhz: float
    inlet_celsius: float
    cpu_watts: float
    dimm_watts: float


def series(readings: Iterable[Reading]) -> Series:
    """Readings, checked.

    Raises:
        EsxparseError: There are none, they are not in order, or one of them cannot be.
    """
    found = tuple(readings)
    if not found:
        msg = "no power readings: give one or more"
        raise EsxparseError(msg)
    for one in found:
        if one.time.tzinfo is None:
            msg = f"the reading of {one.time.isoformat()} has no time zone: give times in UTC"
            raise EsxparseError(msg)
        numbers = (one.watts, one.low, one.high, one.cpu_util_pct, one.cpu_mhz, one.cpu_watts, one.dimm_watts)
        if not all(isfinite(number) and number >= 0.0 for number in numbers) or not isfinite(one.inlet_celsius):
            msg = f"the reading of {one.time.isoformat()} has a number below 0 or none: give watts, % and MHz from 0"
            raise EsxparseError(msg)
        if not one.low <= one.watts <= one.high or one.cpu_util_pct > 100.0:  # noqa: PLR2004  of the processors
            msg = f"the reading of {one.time.isoformat()}: minimum, mean and maximum are no order, or more than 100 %"
            raise EsxparseError(msg)
    seconds = tuple(one.time.timestamp() for one in found)
    if any(after <= before for before, after in pairwise(seconds)):
        msg = "power readings are not in the order of time: sort them, one for each time"
        raise EsxparseError(msg)
    return Series(found, seconds)


def _weights(of: Series, end: float, length_s: float) -> list[tuple[float, Reading]]:
    """Seconds of each reading within a window; the nearest reading where the window holds none."""
    begin = end - length_s
    first, last = bisect_right(of.seconds, begin), bisect_left(of.seconds, end)
    found = []
    for place in range(first, min(last, len(of.seconds) - 1) + 1):
        seconds = min(end, of.seconds[place]) - max(begin, of.begin(place))
        if seconds > 0.0:
            found.append((seconds, of.readings[place]))
    return found or [(1.0, of.last(datetime.fromtimestamp(end, UTC)))]


def window(of: Series, end: datetime, length_s: float) -> Window:
    """Watts over the window of so many seconds up to `end`, as far as there are readings."""
    return _watts(_weights(of, end.timestamp(), length_s))


def _watts(weights: list[tuple[float, Reading]]) -> Window:
    seconds = fsum(weight for weight, _ in weights)
    average = fsum(weight * one.watts for weight, one in weights) / seconds
    low, high = min(one.low for _, one in weights), max(one.high for _, one in weights)
    return Window(min(max(average, low), high), low, high)


def span(of: Series, end: datetime, length_s: float) -> Span:
    """A sample of a history."""
    weights = _weights(of, end.timestamp(), length_s)
    seconds = fsum(weight for weight, _ in weights)

    def mean(name: str) -> float:
        return fsum(weight * float(getattr(one, name)) for weight, one in weights) / seconds

    return Span(
        end,
        _watts(weights),
        mean("cpu_util_pct"),
        mean("cpu_mhz"),
        mean("inlet_celsius"),
        mean("cpu_watts"),
        mean("dimm_watts"),
    )


def history(of: Series, now: datetime, step_s: int, length_s: int) -> list[Span]:
    """Samples every `step_s` seconds of the last `length_s`, at full steps of the clock, where there are readings."""
    last = int(min(now.timestamp(), of.seconds[-1] + step_s)) // step_s * step_s
    ends = range(last, last - length_s, -step_s)
    return [span(of, datetime.fromtimestamp(end, UTC), step_s) for end in reversed(ends) if end > of.begin(0)]


def stamp(moment: datetime, precision: str = "seconds") -> str:
    """A time as Redfish writes it, in UTC."""
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def later(moment: datetime, seconds: float) -> datetime:
    """A time so many seconds later."""
    return moment + timedelta(seconds=seconds)
