"""The counts that all outputs of fio print, of each job or of all with `group_reporting`: its `thread_stat`.

Evidence: `sum_thread_stats`, `stat_calc_dist`, `stat_calc_lat` of stat.c, `io_u_mark_depth`, `io_u_mark_latency` of
io_u.c (2.1, 3.33). What is assumed is listed in `fio_run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING

from esxparse_simulator.writers.fio_latency import Moments
from esxparse_simulator.writers.fio_run import Disk, centred, check

if TYPE_CHECKING:
    from esxparse_simulator.results import Side, Worker
    from esxparse_simulator.writers.fio_latency import Sample
    from esxparse_simulator.writers.fio_run import FioRun

__all__ = ["DIRECTIONS", "Counts", "Row", "disks", "rows"]

DIRECTIONS = ("read", "write", "trim")

_STEPS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_NANOSECONDS = _STEPS
_MICROSECONDS = tuple(step * 1000 for step in _STEPS)
_MILLISECONDS = tuple(step * 1_000_000 for step in (*_STEPS, 2000))
_DEPTHS = 7
_BUSY = 0.9
_SAMPLE_MS = 500
_EVENT_BATCH = 4

_NOTHING = Moments()


@dataclass(frozen=True, slots=True)
class Counts:
    """One direction of a row: I/Os, bytes, time, latencies in the version's unit, bins of `clat`, sampled rates."""

    ios: int = 0
    total_bytes: int = 0
    runtime_ms: int = 0
    slat: Moments = _NOTHING
    clat: Moments = _NOTHING
    lat: Moments = _NOTHING
    bins: tuple[tuple[int, int], ...] = ()
    coarse: tuple[int, ...] = (0,) * 32
    """I/Os by fio's 10 steps of nanoseconds, 10 of microseconds, 12 of milliseconds."""
    kib_per_s: Moments = _NOTHING
    iops: Moments = _NOTHING

    @property
    def bytes_per_s(self) -> int:
        """Whole bytes per second."""
        return 1000 * self.total_bytes // self.runtime_ms if self.runtime_ms else 0


@dataclass(frozen=True, slots=True)
class Row:
    """What fio prints of a job, or of all jobs with `group_reporting`."""

    name: str
    members: int
    pid: int
    options: tuple[tuple[str, str], ...]
    directions: tuple[Counts, Counts, Counts]
    """Read, write, trim."""
    run_ms: int
    usr_ms: int
    sys_ms: int
    switches: int
    major_faults: int
    minor_faults: int
    depths: tuple[int, ...]
    """I/Os by depth they went out at: 1, 2, 4 ... 64 and above."""
    completed: tuple[int, ...]
    """Rounds of reaping by I/Os they found: none, up to 4, 8 ... 64, more."""

    @property
    def ios(self) -> int:
        """Of all directions."""
        return sum(one.ios for one in self.directions)

    def share(self, counts: tuple[int, ...], least: float) -> list[float]:
        """Percent of a total; fio shows what is there but less than `least` as that."""
        total = sum(counts)
        return [max(least, 100.0 * (count / total)) if count else 0.0 for count in counts]

    def coarse(self, start: int, end: int) -> list[float]:
        """Percent of all I/Os in some of the coarse steps."""
        total = tuple(map(sum, zip(*(one.coarse for one in self.directions), strict=True)))
        return self.share(total, 0.01)[start:end]

    @property
    def cpu_pct(self) -> tuple[float, float]:
        """User and system, percent of one CPU."""
        return self.usr_ms * 100.0 / self.run_ms, self.sys_ms * 100.0 / self.run_ms


def _coarse(completion: Sample, *, modern: bool) -> tuple[int, ...]:
    edges = (*_NANOSECONDS, *_MICROSECONDS, *_MILLISECONDS)
    if not modern:
        edges = (*(0,) * len(_STEPS), *(edge // 1000 for edge in edges[len(_STEPS) :]))
    below = [*accumulate((completion.below(edge) for edge in edges), max), completion.number]
    return tuple(high - low for low, high in zip([0, *below[:-1]], below, strict=True))


def _counts(run: FioRun, label: str, side: Side) -> Counts:
    number, milliseconds = run.ios(side), run.runtime_ms
    submission, completion, until, after = run.latencies(side)
    both = submission.plus(completion) if submission else completion
    wander = centred(run.seed, f"{label} rate", milliseconds // _SAMPLE_MS)
    rates = [max(1.0, number * 1000.0 / milliseconds * (1.0 + run.rate_spread * one)) for one in wander]
    return Counts(
        number,
        number * side.block_bytes,
        milliseconds,
        submission.moments(until) if submission else Moments(),
        completion.moments(after),
        both.moments(until + after),
        tuple(completion.bins(run.groups).items()),
        _coarse(completion, modern=run.modern),
        Moments.of([int(rate * side.block_bytes / 1024.0) for rate in rates]),
        Moments.of([int(rate) for rate in rates]),
    )


def _place(depth: int) -> int:
    """The step a depth is counted in: 1, 2, 4 ... 64."""
    return min(depth.bit_length() - 1, _DEPTHS - 1)


def _depths(depth: int, ios: int) -> tuple[int, ...]:
    counts = [0] * _DEPTHS
    filling = min(depth - 1, ios)
    for one in range(filling):
        counts[_place(one + 1)] += 1
    counts[_place(depth)] += ios - filling
    return tuple(counts)


def _completed(depth: int, ios: int) -> tuple[int, ...]:
    counts = [0] * _DEPTHS
    last = depth if depth > _EVENT_BATCH and ios > depth else 0
    counts[1] = ios - last
    if last:
        counts[min((last - 1).bit_length() - 1, _DEPTHS - 1)] += 1
    return tuple(counts)


def _row(run: FioRun, place: int, worker: Worker) -> Row:
    sides = run.sides(worker)
    directions = [
        _counts(run, f"{worker.name}/{place}/{name}", sides[name]) if name in sides else Counts() for name in DIRECTIONS
    ]
    ios = sum(one.ios for one in directions)
    access = run.measured.access
    mixed = (("rwmixread", f"{access.read_pct:.0f}"),) if 0.0 < access.read_pct < 100.0 else ()  # noqa: PLR2004  percent
    many = sum(one.name == worker.name for one in run.measured.workers)
    # fio reads `filename` after the other options, wherever it stands.
    own = (("rw", run.rw), *mixed, ("numjobs", str(many)), ("filename", worker.disk))
    return Row(
        worker.name,
        1,
        run.first_pid + place,
        own,
        (directions[0], directions[1], directions[2]),
        run.runtime_ms,
        int(run.usr_cpu_pct * run.runtime_ms / 100.0 + 0.5),
        int(run.sys_cpu_pct * run.runtime_ms / 100.0 + 0.5),
        int(ios * run.switches_per_io + 0.5),
        0,
        run.minor_faults,
        _depths(run.depth, ios),
        _completed(run.depth, ios),
    )


def _summed(run: FioRun, one: Counts, other: Counts) -> Counts:
    bins = dict(one.bins)
    for index, count in other.bins:
        bins[index] = bins.get(index, 0) + count
    # fio 2.1 takes rates of several jobs for values of one.
    rates = Moments.added if run.modern else Moments.merged
    return Counts(
        one.ios + other.ios,
        one.total_bytes + other.total_bytes,
        max(one.runtime_ms, other.runtime_ms),
        one.slat.merged(other.slat),
        one.clat.merged(other.clat),
        one.lat.merged(other.lat),
        tuple(sorted(bins.items())),
        tuple(map(sum, zip(one.coarse, other.coarse, strict=True))),
        rates(one.kib_per_s, other.kib_per_s),
        rates(one.iops, other.iops),
    )


def rows(run: FioRun) -> list[Row]:
    """What fio prints of its jobs, one by one or, with `group_reporting`, of all.

    Raises:
        EsxparseError: No fio can have measured that.
    """
    check(run)
    jobs = [_row(run, place, worker) for place, worker in enumerate(run.measured.workers)]
    if not run.group_reporting:
        return jobs
    first = jobs[0]
    read, write, trim = (
        reduce(lambda one, other: _summed(run, one, other), (job.directions[place] for job in jobs))
        for place in range(len(DIRECTIONS))
    )
    return [
        Row(
            first.name,
            len(jobs),
            first.pid,
            jobs[-1].options,
            (read, write, trim),
            sum(job.run_ms for job in jobs),
            sum(job.usr_ms for job in jobs),
            sum(job.sys_ms for job in jobs),
            sum(job.switches for job in jobs),
            sum(job.major_faults for job in jobs),
            sum(job.minor_faults for job in jobs),
            tuple(map(sum, zip(*(job.depths for job in jobs), strict=True))),
            tuple(map(sum, zip(*(job.completed for job in jobs), strict=True))),
        )
    ]


def disks(run: FioRun) -> tuple[Disk, ...]:
    """The disks that the output shows: those given, or those of the workers."""
    if run.disks is not None:
        return run.disks
    found: list[Disk] = []
    for name in dict.fromkeys(worker.disk for worker in run.measured.workers):
        sides = [
            (key, side) for one in run.measured.workers if one.disk == name for key, side in run.sides(one).items()
        ]
        of = {key: [side for one, side in sides if one == key] for key in DIRECTIONS[:2]}
        ios = [sum(map(run.ios, of[key])) for key in of]
        sectors = [sum(run.ios(side) * side.block_bytes // 512 for side in of[key]) for key in of]
        ticks = [int(fsum(run.ios(side) * side.latency.mean for side in of[key])) for key in of]
        flying = sum(ticks) / run.runtime_ms
        busy = flying if flying <= _BUSY else 1.0 - _BUSY * (1.0 - _BUSY) / flying
        found.append(
            Disk(
                name.rpartition("/")[2],
                (ios[0], ios[1]),
                (0, 0),
                (sectors[0], sectors[1]),
                (ticks[0], ticks[1]),
                sum(ticks),
                int(busy * run.runtime_ms),
                run.runtime_ms,
            )
        )
    return tuple(found)
