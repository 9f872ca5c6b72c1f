"""The unit of the values in a fio log, with the evidence: the log itself does not say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Release = tuple[int, int]
Entry = Mapping[str, int]

LATENCIES = ("lat", "clat", "slat")

_RELEASE = re.compile(rb"\bfio-(\d{1,2})\.(\d{1,3})")
_LOOK = 64 << 10
_NEIGHBOURS = 64

_MICROSECONDS_BELOW = {"slat": 200, "clat": 5_000, "lat": 5_000}
"""A median below it is too quick for nanoseconds: a guess."""
_OUTSTANDING = 0.02
"""Fewer I/Os in flight than that, on average, if values were nanoseconds, speak for microseconds: a guess."""
_PER_SECOND = 4.0
"""As many entries a second and direction, or fewer, are averages, though they name a block size (fio before 2.11)."""


@dataclass(frozen=True)
class Unit:
    """How values become bytes per second, I/Os per second or milliseconds."""

    name: str
    """As in `meta`: ns, us, KiB/s, kB/s, IOPS, I/Os, unknown."""
    factor: float
    """A whole number or, below 1, the inverse of one."""
    evidence: str
    guessed: bool = False

    @property
    def ratio(self) -> tuple[int, int]:
        """The factor as numerator and denominator: 6004 us over 1000 are 6.004 ms, times 0.001 6.0040000000000004."""
        return (1, round(1 / self.factor)) if self.factor < 1 else (round(self.factor), 1)


def release_in(head: bytes) -> Release | None:
    """The release an output of fio names in its beginning."""
    match = _RELEASE.search(head[:_LOOK])
    return (int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True)
class Told:
    """A release that is known, and what says so."""

    release: Release
    by: str

    def __str__(self) -> str:
        """As evidence."""
        return f"release {self.release[0]}.{self.release[1]}, as {self.by} says"


def release_beside(path: Path | None) -> Told | None:
    """The release that the outputs of fio beside a log name; none if they do not agree."""
    if path is None:
        return None
    found: dict[Release, str] = {}
    try:
        for number, one in enumerate(sorted(path.parent.iterdir())):
            if number >= _NEIGHBOURS:
                break
            if one == path or not one.is_file() or one.suffix == ".log":
                continue
            with one.open("rb") as file:
                release = release_in(file.read(_LOOK))
            if release:
                found.setdefault(release, one.name)
    except OSError:
        return None
    return Told(*next(iter(found.items()))) if len(found) == 1 else None


def _latency(metric: str, rows: Sequence[Entry], columns: Sequence[str], told: Told | None) -> Unit:
    def unit(*, nanoseconds: bool, evidence: str, guessed: bool = False) -> Unit:
        return Unit("ns", 1e-6, evidence, guessed) if nanoseconds else Unit("us", 1e-3, evidence, guessed)

    if told:
        # 2.99 was the first with nanoseconds.
        return unit(nanoseconds=told.release >= (2, 99), evidence=str(told))
    if "priority" in columns:
        return unit(nanoseconds=True, evidence="lines have a priority, which fio writes from 3.19 on")
    values = [row["value"] for row in rows]
    span = rows[-1]["time"] - rows[0]["time"]
    if rows[0]["size"] and span > 0 and metric != "slat":
        flying = sum(values) * 1e-6 / span
        why = f"as nanoseconds {flying:.2g} I/Os would have been in flight on average"
        return unit(nanoseconds=flying >= _OUTSTANDING, evidence=why, guessed=True)
    typical = median(values)
    slow = typical >= _MICROSECONDS_BELOW[metric]
    return unit(nanoseconds=slow, evidence=f"the median value is {typical:,.0f}", guessed=True)


def _bandwidth(rows: Sequence[Entry], told: Told | None) -> Unit:
    if not rows[0]["size"]:
        return Unit("KiB/s", 1024.0, "averages over a time")
    if told is not None and told.release < (2, 11):
        return Unit("KiB/s", 1024.0, str(told))
    seconds = (rows[-1]["time"] - rows[0]["time"]) / 1000
    directions = len({row["direction"] for row in rows})
    if told is None and len(rows) > directions and len(rows) / directions <= _PER_SECOND * seconds + 1:
        return Unit("KiB/s", 1024.0, "few entries a second: averages, as fio before 2.11 wrote them", guessed=True)
    return Unit("kB/s", 1000.0, "an entry for each I/O")


def unit_of(metric: str, rows: Sequence[Entry], columns: Sequence[str], told: Told | None) -> Unit:
    """The unit of a log's values, told by its first entries: `time` (ms), `value`, `direction`, `size` ..."""
    if metric in LATENCIES:
        return _latency(metric, rows, columns, told)
    if metric == "bw":
        return _bandwidth(rows, told)
    if metric == "iops":
        if not rows[0]["size"]:
            return Unit("IOPS", 1.0, "averages over a time")
        if any(row["value"] > 1 for row in rows):
            return Unit("IOPS", 1.0, "values above 1: averages, as fio before 2.11 wrote them")
        return Unit("I/Os", 1.0, "an entry for each I/O")
    return Unit("unknown", 1.0, "the file's name does not tell the metric", guessed=True)
