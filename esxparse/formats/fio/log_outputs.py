"""Whether an output of fio is from the run that wrote a log: by job names and log prefixes, rates and latencies.

A log's name is its job, or the prefix in an option such as `write_lat_log`. An output with that name is of the same run
if its mean latency is the log's in one unit. Averages of a beginning differ from the mean of the run; in that case
the rates must agree as well.

Source: fio's HOWTO, "write_lat_log"; stat.c, several releases, for the release in each output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from esxparse.formats.fio.log_clues import LATENCIES, PROOF, Clue, Log
from esxparse.formats.fio.log_facts import DIRECTION
from esxparse.formats.fio.options import NANOSECONDS_SINCE

_MEANS = {"lat": "latency_mean_ms", "clat": "clat_mean_ms", "slat": "slat_mean_ms"}
_PREFIXES = ("write_lat_log", "write_iops_log", "write_bw_log", "write_hist_log")
_COLUMNS = ("job", "direction", "iops", "bandwidth_bytes_per_s", *_MEANS.values())
_SAME = 1.25
"""Largest factor between two measurements of one run."""
_LIKE = 10.0
"""Largest factor between the beginning of a log and its mean."""
_UNITS_MS = ((True, 1e-6), (False, 1e-3))
"""Whether a unit of latencies is nanoseconds, and its milliseconds."""
_KIB = 1024

Rows = Sequence[Mapping[str, int]]
Release = tuple[int, int]

_ERAS: tuple[Release, ...] = ((2, 11), NANOSECONDS_SINCE)
"""The releases that changed the unit of a log: bandwidth of a single I/O, then latencies."""
_RELEASE = re.compile(rb'(?:^|"fio version"\s*:\s*"|^[345];|\bfio=)fio-(\d{1,2})\.(\d{1,3})', re.MULTILINE)
"""The release in JSON, terse lines, servers of a client, normal output or `fio --version`."""
LOOK = 64 << 10


@dataclass(frozen=True)
class KnownRelease:
    """A release of fio, and the file that shows it."""

    release: Release
    source: str
    doubt: str = ""
    """Why the file may belong to another run; empty if it belongs to the run of the log."""

    @property
    def nanoseconds(self) -> bool:
        """Whether it writes latencies in nanoseconds."""
        return self.release >= NANOSECONDS_SINCE

    def __str__(self) -> str:
        doubt = ", perhaps of another run" if self.doubt else ""
        return f"release {self.release[0]}.{self.release[1]} in {self.source}{doubt}"


def release_in(head: bytes) -> Release | None:
    """Return the release in the beginning of a fio output."""
    match = _RELEASE.search(head[:LOOK])
    return (int(match[1]), int(match[2])) if match else None


def common_release(found: Iterable[KnownRelease]) -> KnownRelease | None:
    """Return the newest of the releases; None without any, or if their logs differ in units."""
    releases = sorted(found, key=lambda one: one.release)
    eras = {sum(one.release >= begin for begin in _ERAS) for one in releases}
    return releases[-1] if len(eras) == 1 else None


@dataclass(frozen=True)
class Output:
    """An output of fio: its release, and the jobs to compare with a log."""

    name: str
    release: Release | None
    jobs: Sequence[Mapping[str, Any]] = ()
    prefixes: frozenset[tuple[str, str]] = frozenset()
    """Job and prefix of its logs."""
    unread: str = ""
    """Why its jobs were not read, if they were not."""

    def of_run(self, base: str) -> list[Mapping[str, Any]]:
        """Return the jobs with logs that fio names `base`."""
        return [job for job in self.jobs if job["job"] == base or (job["job"], base) in self.prefixes]


def compared_output(name: str, release: Release | None, tables: Mapping[str, pl.LazyFrame]) -> Output:
    """Return an output with the tables `jobs` and `options` of its reader."""
    jobs = tables["jobs"].select(_COLUMNS).collect().to_dicts()
    prefixes: frozenset[tuple[str, str]] = frozenset()
    if "options" in tables:
        rows = tables["options"].filter(pl.col("option").is_in(_PREFIXES)).select("job", "value").collect().rows()
        prefixes = frozenset((job, PurePosixPath(value).name) for job, value in rows if value)
    return Output(name, release, jobs, prefixes)


def _within(factor: float, one: float, other: float) -> bool:
    return other > 0 and 1 / factor <= one / other <= factor


def _rate(log: Log, rows: Rows) -> tuple[str, float]:
    """Return the rate in some lines of a log, with its column in `jobs`."""
    mean = sum(row["value"] for row in rows) / len(rows)
    if log.metric == "bw" and log.averaged:
        return "bandwidth_bytes_per_s", mean * _KIB
    if log.metric == "iops" and log.averaged:
        return "iops", mean
    span = max(row["time"] for row in rows) - min(row["time"] for row in rows) + 1
    return "iops", len(rows) * 1000 / span


def _compared(logs: Sequence[Log], jobs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Log, Rows, Mapping[str, Any]]]:
    """Yield the lines of each log in each direction, with each job that has the same direction."""
    for log in logs:
        for job in jobs:
            mixed = job["direction"] == "mixed"
            rows = [row for row in log.rows if mixed or DIRECTION.categories[row["direction"]] == job["direction"]]
            if rows:
                yield log, rows, job


def _same_rate(logs: Sequence[Log], jobs: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a log and a job have the same rate in a direction."""
    for log, rows, job in _compared(logs, jobs):
        if log.metric not in LATENCIES or not log.averaged:
            column, rate = _rate(log, rows)
            if job[column] and _within(_SAME, rate, job[column]):
                return True
    return False


def _fitting_units(
    logs: Sequence[Log], jobs: Sequence[Mapping[str, Any]], source: str, factor: float
) -> dict[bool, str]:
    """Return the units (whether nanoseconds) in which a mean latency is within a factor of a job's, with evidence."""
    units: dict[bool, str] = {}
    for log, rows, job in _compared(logs, jobs):
        expected = job[_MEANS[log.metric]]
        mean = sum(row["value"] for row in rows) / len(rows)
        for nanoseconds, unit in _UNITS_MS:
            if expected and _within(factor, mean * unit, expected):
                why = f"{source} has {expected:.3g} ms: mean {log.metric} is {mean * unit:.3g} ms as read here"
                units.setdefault(nanoseconds, why)
    return units


def compare_output(output: Output, base: str, logs: Sequence[Log]) -> Clue | str:
    """Return the unit of latencies by an output of the same run, or a reason why the output may be of another run.

    Args:
        output: The output.
        base: The job name or prefix in the names of the logs.
        logs: The logs with that name.
    """
    if output.unread:
        return output.unread
    jobs = output.of_run(base)
    if not jobs:
        return f"no job or log prefix {base} in it"
    known = KnownRelease(output.release, output.name) if output.release else None
    latencies = [log for log in logs if log.metric in LATENCIES]
    same_rate = _same_rate(logs, jobs)
    if not latencies:
        return Clue(known.nanoseconds, str(known), PROOF) if known and same_rate else "its rates are not the log's"
    units = _fitting_units(latencies, jobs, output.name, _SAME)
    if not units and same_rate:
        units = _fitting_units(latencies, jobs, output.name, _LIKE)
    if len(units) != 1:
        return "its latencies are not the log's in either unit"
    ((nanoseconds, why),) = units.items()
    if known and known.nanoseconds != nanoseconds:
        return f"its latencies fit the log in {'ns' if nanoseconds else 'us'}, but its release does not"
    return Clue(nanoseconds, why, PROOF)
