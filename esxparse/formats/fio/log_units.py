"""The unit of the values of fio's logs, with the evidence: the files of one run speak for each other.

Source: fio's stat.c and iolog.c, several releases; microseconds in flight are Little's law.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from esxparse.formats.fio import histogram
from esxparse.formats.fio.log_facts import DIRECTION, layout, log_name, numbered, sample

Release = tuple[int, int]
Entry = Mapping[str, int]

LATENCIES = ("lat", "clat", "slat")

_RELEASE = re.compile(rb"\bfio-(\d{1,2})\.(\d{1,3})")
_LOOK = 64 << 10
_BEGINNING = 8 << 10
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
    """A known release, and the evidence."""

    release: Release
    by: str

    def __str__(self) -> str:
        return f"release {self.release[0]}.{self.release[1]}, as {self.by} says"


def _neighbours(path: Path) -> list[Path]:
    """The first files of the directory, in order of their names."""
    try:
        return [one for one in sorted(path.parent.iterdir())[:_NEIGHBOURS] if one.is_file()]
    except OSError:
        return []


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LOOK)
    except OSError:
        return b""


def agreed(found: Iterable[tuple[Release, str]]) -> Told | None:
    """The release that all outputs name, and the first of them; None if they disagree."""
    first = dict(reversed(list(found)))
    return Told(*next(iter(first.items()))) if len(first) == 1 else None


def release_beside(path: Path | None) -> Told | None:
    """The release that the outputs of fio beside a log name; None if they disagree."""
    others = [one for one in _neighbours(path) if one != path and one.suffix != ".log"] if path else []
    return agreed((release, one.name) for one in others if (release := release_in(_beginning(one))))


@dataclass(frozen=True)
class Clue:
    """What a log says of the unit of latencies, which all logs of a run have in common."""

    nanoseconds: bool
    why: str
    strength: int
    """The log was written so: 3. What must have been in flight: 2. A likely time of submission: 1. A likely time: 0."""

    @property
    def unit(self) -> Unit:
        """The unit it speaks for."""
        return Unit(*(("ns", 1e-6) if self.nanoseconds else ("us", 1e-3)), self.why, self.strength < _SURE)


_SURE = 3
_SUBMITTED = range(200, 1000)
"""A median of slat that may be nanoseconds or microseconds."""


def _flying(values: float, span_ms: float) -> Clue:
    """By I/Os in flight: what the latencies add up to over a time, were they nanoseconds."""
    flying = values * 1e-6 / span_ms
    why = f"as nanoseconds {flying:.2g} I/Os would have been in flight on average"
    return Clue(flying >= _OUTSTANDING, why, 2)


def clue(metric: str, rows: Sequence[Entry], columns: Sequence[str]) -> Clue:
    """What the lines of a log of latencies tell."""
    if "priority" in columns:
        return Clue(nanoseconds=True, why="lines have a priority, which fio writes from 3.19 on", strength=_SURE)
    values = [row["value"] for row in rows]
    span = rows[-1]["time"] - rows[0]["time"]
    if rows[0]["size"] and span > 0 and metric != "slat":
        return _flying(sum(values), span)
    typical = median(values)
    strength = int(metric == "slat" and typical not in _SUBMITTED)
    return Clue(typical >= _MICROSECONDS_BELOW[metric], f"the median value is {typical:,.0f}", strength)


def clue_of_run(logs: Iterable[tuple[str, str]]) -> Clue | None:
    """The strongest clue in the logs of a run: fio writes all latencies of a run in one unit.

    Args:
        logs: Name and beginning of each.
    """
    clues: list[tuple[str, Clue]] = []
    averages: dict[tuple[str, int | None, str], list[Entry]] = {}
    for file, text in logs:
        name = log_name(file)
        bins = histogram.first_line(text) if name.metric == "clat_hist" else None
        if bins and (known := histogram.of_line(bins)):
            clues.append((file, Clue(known.unit == "ns", known.evidence, _SURE)))
            continue
        cells = sample(text[:_BEGINNING])
        columns = layout(cells)
        rows: list[Entry] = [
            row for one in cells if columns and len(one) == len(columns) and (row := numbered(columns, one))
        ]
        if not rows or not columns or name.metric not in {*LATENCIES, "iops"}:
            continue
        if not rows[0]["size"]:
            averages[name.base, name.number, name.metric] = rows
        if name.metric in LATENCIES:
            clues.append((file, clue(name.metric, rows, columns)))
    for (base, number, metric), rows in averages.items():
        rates = averages.get((base, number, "iops"), [])
        if rates and metric in {"lat", "clat"}:
            # A second of so many I/Os, each of the typical latency.
            per_ms = sum(_mean(rates, way) * _mean(rows, way) for way in range(len(DIRECTION.categories))) / 1000
            clues.append((f"the logs of {base}", _flying(per_ms, 1)))
    if not clues:
        return None
    strongest = max(one.strength for _, one in clues)
    best = [(file, one) for file, one in clues if one.strength == strongest]
    nanoseconds = 2 * sum(one.nanoseconds for _, one in best) >= len(best)
    file, found = next((file, one) for file, one in best if one.nanoseconds == nanoseconds)
    return replace(found, why=f"{found.why}, in {file}")


def _mean(rows: Sequence[Entry], way: int) -> float:
    values = [row["value"] for row in rows if row["direction"] == way]
    return sum(values) / len(values) if values else 0.0


def _latency(
    metric: str, rows: Sequence[Entry], columns: Sequence[str], told: Told | None, of_run: Clue | None
) -> Unit:
    if told:
        # 2.99 was the first with nanoseconds.
        return Clue(told.release >= (2, 99), str(told), _SURE).unit
    own = clue(metric, rows, columns)
    return (own if of_run is None or own.strength > of_run.strength else of_run).unit


def _bandwidth(rows: Sequence[Entry], told: Told | None) -> Unit:
    if not rows[0]["size"]:
        return Unit("KiB/s", 1024.0, "averages over a time")
    if told is not None and told.release < (2, 11):
        return Unit("KiB/s", 1024.0, str(told))
    seconds = (rows[-1]["time"] - rows[0]["time"]) / 1000
    directions = len({row["direction"] for row in rows})
    if told is None and len(rows) > directions and len(rows) / directions <= _PER_SECOND * seconds + 1:
        return Unit("KiB/s", 1024.0, "few entries a second: averages, as fio before 2.11 wrote them", guessed=True)
    return Unit("kB/s", 1000.0, "one entry per I/O")


def unit_of(
    metric: str, rows: Sequence[Entry], columns: Sequence[str], told: Told | None, of_run: Clue | None = None
) -> Unit:
    """The unit of a log's values, told by its first entries: `time` (ms), `value`, `direction`, `size` ..."""
    if metric in LATENCIES:
        return _latency(metric, rows, columns, told, of_run)
    if metric == "bw":
        return _bandwidth(rows, told)
    if metric == "iops":
        if not rows[0]["size"]:
            return Unit("IOPS", 1.0, "averages over a time")
        if any(row["value"] > 1 for row in rows):
            return Unit("IOPS", 1.0, "values above 1: averages, as fio before 2.11 wrote them")
        return Unit("I/Os", 1.0, "one entry per I/O")
    return Unit("unknown", 1.0, "the file's name does not give the metric", guessed=True)


def clue_beside(path: Path | None) -> Clue | None:
    """The strongest clue in a log and the others in its directory."""
    if path is None:
        return None
    logs = [file for file in _neighbours(path) if log_name(file.name).metric not in {"unknown", "bw"}]
    return clue_of_run((file.name, _beginning(file).decode(errors="replace")) for file in logs)
