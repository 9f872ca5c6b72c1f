"""What `perf stat` counted, before it is printed: the input of the writers of its text, CSV and JSON lines.

A count is what perf prints, estimated to the whole time where an event had a counter for a part of it only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, isfinite, sqrt
from typing import TYPE_CHECKING, Literal

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = [
    "CLOCKS",
    "Event",
    "Interval",
    "Run",
    "State",
    "Version",
    "check",
    "enabled_ns",
    "error_of_mean",
    "mean",
    "relative_error_pct",
]

_WHOLE = 100.0

Version = Literal["2.6.32", "3.6", "5.4", "6.1", "6.8"]
"""Releases whose output differs; each stands for those near it."""

State = Literal["counted", "not counted", "not supported"]

CLOCKS = ("task-clock", "cpu-clock")
"""Events that count the time of processors, in ms."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name as perf prints it, and a count for each repetition of the command.

    `unit` is empty for plain counts, `msec` for clocks (the counts are ms then), `Joules` and the like.
    `running_pct` is the part of the time the event had a counter.
    """

    name: str
    counts: tuple[float, ...]
    unit: str = ""
    running_pct: float = 100.0
    state: State = "counted"


@dataclass(frozen=True, slots=True)
class Run:
    """A recording of a command: how long each repetition took (s), and what was counted.

    `cpus` is set where all processors of a machine were counted (`-a`), and is their number. `user_s` and `sys_s` are
    printed by newer releases after one repetition of a command. `started_local` stands on top of files of `-o`.
    """

    command: str
    elapsed_s: tuple[float, ...]
    events: tuple[Event, ...]
    user_s: float | None = None
    sys_s: float | None = None
    cpus: int | None = None
    started_local: datetime | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """One interval of `-I`: seconds from the start to its end, and what was counted in it."""

    end_s: float
    events: tuple[Event, ...]


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing, as perf has it."""
    return fsum(values) / len(values) if values else 0.0


def error_of_mean(values: Sequence[float]) -> float:
    """The standard error of the mean, as perf's `stddev_stats`."""
    count = len(values)
    if count < 2:  # noqa: PLR2004  one value has no deviation
        return 0.0
    middle = mean(values)
    return sqrt(fsum((value - middle) * (value - middle) for value in values) / (count - 1) / count)


def relative_error_pct(values: Sequence[float]) -> float:
    """The standard error of the mean in percent of the mean (`+-`)."""
    middle = mean(values)
    return 100.0 * error_of_mean(values) / middle if middle else 0.0


def enabled_ns(events: Sequence[Event], elapsed_s: float, cpus: int | None) -> int:
    """Nanoseconds that counters were enabled: as long as the command ran on processors, or all processors together."""
    clock = next((event for event in events if event.name.partition(":")[0] in CLOCKS and event.counts), None)
    if clock is not None and clock.state == "counted":
        return round(mean(clock.counts) * 1e6)
    return round(elapsed_s * 1e9) * (cpus or 1)


def check(events: Sequence[Event], repetitions: int, where: str) -> None:
    """Refuses what no perf could print.

    Raises:
        EsxparseError: A count is negative or missing, or a share is none.
    """
    if not events:
        msg = f"{where}: perf stat needs an event to count: give one"
        raise EsxparseError(msg)
    for event in events:
        wanted = repetitions if event.state == "counted" else len(event.counts)
        if len(event.counts) != wanted:
            msg = f"{where}: {event.name} has {len(event.counts)} counts for {wanted} repetitions: give one for each"
            raise EsxparseError(msg)
        if not all(isfinite(count) and count >= 0.0 for count in event.counts):
            msg = f"{where}: {event.name} counts below zero or no number: give numbers from 0"
            raise EsxparseError(msg)
        if not 0.0 <= event.running_pct <= _WHOLE or (event.state == "counted" and event.running_pct == 0.0):
            msg = f"{where}: {event.name} ran {event.running_pct:g} % of the time: give more than 0, 100 at most"
            raise EsxparseError(msg)
        if not event.name or any(sign in event.name for sign in '"\n\r'):
            msg = f"{where}: {event.name!r} is no name of an event: give one as perf list prints it"
            raise EsxparseError(msg)
