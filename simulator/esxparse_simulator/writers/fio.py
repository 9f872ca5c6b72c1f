"""What fio 2.1.3 and 3.7 count of a run: the numbers that its JSON and its normal output print.

Evidence: stat.c, diskutil.c, libfio.c, io_u.c and lib/num2str.c of fio 2.1 and 3.33.

Assumptions:
- `start` is when fio began; the ramp comes first and is in no count, disks included.
- The latency given is fio's `lat`, its mean exact; 3 us of it are submission (shape cached), the rest completion. With
  a synchronous engine fio measures no submission, and completion is all of it.
- Every job keeps its queue full: the first I/Os go out at depths 1, 2, 3 ..., all others at the full depth; they are
  submitted and reaped one by one, and what is in flight at the end at once.
- Rates are sampled every 500 ms; they wander by 4 % around the mean.
- A disk is busy for iops x latency of its time up to 0.9 of it, and 1 - 0.09 / (iops x latency) above.
- Nothing was cut short, dropped, trimmed or failed; CPU use is the same for each job.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from itertools import accumulate
from math import fsum, isfinite

from esxparse_simulator.limits import need
from esxparse_simulator.measured import Measured, Side, Worker, draws
from esxparse_simulator.writers.fio_latency import Moments, Sample

VERSIONS = ("fio-2.1.3", "fio-3.7")
DIRECTIONS = ("read", "write", "trim")
STEPS = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")
LEVELS = ("1", "2", "4", "8", "16", "32", ">=64")
BATCHES = ("0", "4", "8", "16", "32", "64", ">=64")
_SYNCHRONOUS = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})
_EDGES = (*(int(step) * unit for unit in (1, 1000, 1_000_000) for step in STEPS), 2_000_000_000)
_SLAT_US = 3.0
_RATE_SPREAD = 0.04
_BUSY = 0.9
_SAMPLE_MS = 500
_FIRST_PID = 4711
_EVENT_BATCH = 4
_NOTHING = Moments()


@dataclass(frozen=True, slots=True)
class FioRun:
    """One run of fio: `measured` has its jobs as workers, and their options as access.

    `start` of `measured` needs a time zone, which is the machine's: fio prints local time without one. CPU is percent
    of one CPU for each job.
    """

    measured: Measured
    version: str = "fio-3.7"
    seed: int = 1
    ioengine: str = "libaio"
    group_reporting: bool = False
    usr_cpu_pct: float = 1.5
    sys_cpu_pct: float = 4.0

    @property
    def modern(self) -> bool:
        """Whether it is fio 3: nanoseconds and bytes."""
        return self.version != "fio-2.1.3"

    @property
    def unit_ms(self) -> float:
        """Its units of latency in a millisecond."""
        return 1e6 if self.modern else 1e3

    @property
    def slat(self) -> float:
        """Mean submission latency in its units; 0 where it is not measured."""
        return 0.0 if self.ioengine in _SYNCHRONOUS else _SLAT_US * self.unit_ms / 1e3

    @property
    def runtime_ms(self) -> int:
        """Milliseconds measured."""
        return int(self.measured.seconds * 1000.0 + 0.5)

    @property
    def end(self) -> datetime:
        """When fio printed its output."""
        return self.measured.start + timedelta(seconds=self.measured.ramp_s + self.measured.seconds)

    @property
    def rw(self) -> str:
        """The option of that name."""
        access = self.measured.access
        way = "read" if access.read_pct >= 100.0 else "write" if access.read_pct <= 0.0 else "rw"
        return f"rand{way}" if access.random_pct > 0.0 else way

    def sides(self, worker: Worker) -> dict[str, Side]:
        """What a job did, by direction."""
        found = {"read": worker.read, "write": worker.write}
        return {name: side for name, side in found.items() if side is not None and self.ios(side) > 0}

    def ios(self, side: Side) -> int:
        """Whole I/Os that a direction of a job did."""
        return int(side.iops * self.runtime_ms / 1000.0 + 0.5)


def _check(run: FioRun) -> None:
    measured = run.measured
    known = f"{run.version}: not a version of fio that can be written; take one of {', '.join(VERSIONS)}"
    need(run.version in VERSIONS, known)
    need(measured.start.tzinfo is not None, "the start of a run of fio has no time zone: fio prints local time")
    there = measured.workers and run.runtime_ms > 0 and measured.ramp_s >= 0.0
    jobs = f"a run of fio of {measured.seconds} s with {len(measured.workers)} jobs: give it jobs and a time above 0"
    need(there, jobs)
    for worker in measured.workers:
        for side in (one for one in (worker.read, worker.write) if one):
            rate = f"job {worker.name}: {side.iops} I/Os per second of {side.block_bytes} bytes: give both as above 0"
            need(side.iops >= 0.0 and isfinite(side.iops) and side.block_bytes > 0, rate)
            short = f"job {worker.name}: latency {side.latency.mean} ms is not above that of submission: raise it"
            need(side.latency.mean * run.unit_ms > run.slat, short)
        whole = f"job {worker.name} did no whole I/O in {measured.seconds} s: raise its iops or leave it out"
        need(run.sides(worker), whole)


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
    directions: tuple[Counts, ...]
    """Read, write, trim."""
    run_ms: int
    usr_ms: int
    sys_ms: int
    switches: int
    minor_faults: int
    depths: tuple[int, ...]
    """I/Os by depth they went out at: 1, 2, 4 ... 64 and above."""
    completed: tuple[int, ...]
    """Rounds of reaping by I/Os they found: none, up to 4, 8 ... 64, more."""

    @property
    def ios(self) -> int:
        """Of all directions."""
        return sum(one.ios for one in self.directions)

    def coarse(self, start: int, end: int) -> list[float]:
        """Percent of all I/Os in some of the coarse steps."""
        return shares(_sums(one.coarse for one in self.directions), 0.01)[start:end]

    @property
    def cpu_pct(self) -> tuple[float, float]:
        """User and system, percent of one CPU."""
        return self.usr_ms * 100.0 / self.run_ms, self.sys_ms * 100.0 / self.run_ms


def shares(counts: Sequence[int], least: float) -> list[float]:
    """Percent of a total; fio shows what is there but less than `least` as that."""
    total = sum(counts)
    return [max(least, 100.0 * (count / total)) if count else 0.0 for count in counts]


def _sums(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True)))


def _counts(run: FioRun, label: str, side: Side) -> Counts:
    number, milliseconds, slat = run.ios(side), run.runtime_ms, run.slat
    whole = side.latency.mean * run.unit_ms
    completion = Sample.of(whole - slat, side.latency.shape, number)
    submission = Sample.of(slat, "cached", number) if slat else None
    both = submission.plus(completion) if submission else completion
    drawn = [2.0 * one - 1.0 for one in draws(run.seed, f"{label} rate", milliseconds // _SAMPLE_MS, 0).tolist()]
    middle = fsum(drawn) / len(drawn) if drawn else 0.0
    rate = number * 1000.0 / milliseconds
    rates = [max(1.0, rate * (1.0 + _RATE_SPREAD * (one - middle))) for one in drawn]
    edges = _EDGES if run.modern else (*(0,) * len(STEPS), *(edge // 1000 for edge in _EDGES[len(STEPS) :]))
    below = [*accumulate((completion.below(edge) for edge in edges), max), number]
    return Counts(
        number,
        number * side.block_bytes,
        milliseconds,
        submission.moments(slat) if submission else _NOTHING,
        completion.moments(whole - slat),
        both.moments(slat + (whole - slat)),
        tuple(completion.bins(29 if run.modern else 19).items()),
        tuple(high - low for low, high in zip([0, *below[:-1]], below, strict=True)),
        Moments.of([int(one * side.block_bytes / 1024.0) for one in rates]),
        Moments.of([int(one) for one in rates]),
    )


def _depths(depth: int, ios: int) -> tuple[int, ...]:
    """I/Os by the depth they went out at."""
    counts = [0] * len(LEVELS)
    filling = min(depth - 1, ios)
    for one, many in (*((one, 1) for one in range(1, filling + 1)), (depth, ios - filling)):
        counts[min(one.bit_length() - 1, len(LEVELS) - 1)] += many
    return tuple(counts)


def _completed(depth: int, ios: int) -> tuple[int, ...]:
    counts = [0] * len(BATCHES)
    last = depth if depth > _EVENT_BATCH and ios > depth else 0
    counts[1] = ios - last
    if last:
        counts[min((last - 1).bit_length() - 1, len(BATCHES) - 1)] += 1
    return tuple(counts)


def _row(run: FioRun, place: int, worker: Worker) -> Row:
    sides, access = run.sides(worker), run.measured.access
    directions = tuple(
        _counts(run, f"{worker.name}/{place}/{name}", sides[name]) if name in sides else Counts() for name in DIRECTIONS
    )
    ios = sum(one.ios for one in directions)
    depth = 1 if run.ioengine in _SYNCHRONOUS else access.outstanding
    mixed = (("rwmixread", f"{access.read_pct:.0f}"),) if 0.0 < access.read_pct < 100.0 else ()
    many = sum(one.name == worker.name for one in run.measured.workers)
    return Row(
        worker.name,
        1,
        _FIRST_PID + place,
        # fio reads `filename` after the other options, wherever it stands.
        (("rw", run.rw), *mixed, ("numjobs", str(many)), ("filename", worker.disk)),
        directions,
        run.runtime_ms,
        int(run.usr_cpu_pct * run.runtime_ms / 100.0 + 0.5),
        int(run.sys_cpu_pct * run.runtime_ms / 100.0 + 0.5),
        ios,
        12,
        _depths(depth, ios),
        _completed(depth, ios),
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
        _sums((one.coarse, other.coarse)),
        rates(one.kib_per_s, other.kib_per_s),
        rates(one.iops, other.iops),
    )


def rows(run: FioRun) -> list[Row]:
    """What fio prints of its jobs, one by one or, with `group_reporting`, of all.

    Raises:
        ScenarioError: No fio can have measured that.
    """
    _check(run)
    jobs = [_row(run, place, worker) for place, worker in enumerate(run.measured.workers)]
    if not run.group_reporting:
        return jobs
    directions = zip(*(job.directions for job in jobs), strict=True)
    return [
        Row(
            jobs[0].name,
            len(jobs),
            jobs[0].pid,
            jobs[-1].options,
            tuple(reduce(lambda one, other: _summed(run, one, other), each) for each in directions),
            sum(job.run_ms for job in jobs),
            sum(job.usr_ms for job in jobs),
            sum(job.sys_ms for job in jobs),
            sum(job.switches for job in jobs),
            sum(job.minor_faults for job in jobs),
            _sums(job.depths for job in jobs),
            _sums(job.completed for job in jobs),
        )
    ]


@dataclass(frozen=True, slots=True)
class Disk:
    """What the kernel counted of a disk: I/Os and ticks (ms), each of reads and writes, ms with something to do."""

    name: str
    ios: tuple[int, ...]
    ticks: tuple[int, ...]
    util: float


def disks(run: FioRun) -> list[Disk]:
    """The disks of the workers."""
    found = []
    for name in dict.fromkeys(worker.disk for worker in run.measured.workers):
        sides = [pair for one in run.measured.workers if one.disk == name for pair in run.sides(one).items()]
        by_way = [[side for key, side in sides if key == way] for way in DIRECTIONS[:2]]
        ticks = tuple(int(fsum(run.ios(side) * side.latency.mean for side in own)) for own in by_way)
        flying = sum(ticks) / run.runtime_ms
        busy = flying if flying <= _BUSY else 1.0 - _BUSY * (1.0 - _BUSY) / flying
        util = min(100.0, 100.0 * int(busy * run.runtime_ms) / run.runtime_ms)
        found.append(Disk(name.rpartition("/")[2], tuple(sum(map(run.ios, own)) for own in by_way), ticks, util))
    return found


def aggregate(run: FioRun, found: Sequence[Row], place: int) -> int:
    """The rate of a direction of all jobs: bytes per second in fio 3, KiB per second in fio 2."""
    longest = max(row.directions[place].runtime_ms for row in found)
    unit = 1 if run.modern else 1024
    return sum(row.directions[place].total_bytes // unit for row in found) * 1000 // longest if longest else 0


def of_group(run: FioRun, found: Sequence[Row]) -> list[list[float]]:
    """For each row and direction, percent of the rate of the group; 0 where no rate was sampled."""
    parts: list[list[float]] = [[] for _ in found]
    for place, _ in enumerate(DIRECTIONS):
        rate = aggregate(run, found, place)
        whole = float(rate // 1024 if run.modern else rate)
        for row, own in zip(found, parts, strict=True):
            sampled = row.directions[place].kib_per_s
            part = min(100.0, sampled.mean * 100.0 / whole) if whole else 100.0
            own.append(part if sampled.samples else 0.0)
    return parts


def block(size: int) -> str:
    """A block size as people write it in a job file.

    >>> block(4096), block(1 << 20), block(512)
    ('4k', '1m', '512')
    """
    for letter, factor in (("m", 1 << 20), ("k", 1 << 10)):
        if size % factor == 0:
            return f"{size // factor}{letter}"
    return str(size)
