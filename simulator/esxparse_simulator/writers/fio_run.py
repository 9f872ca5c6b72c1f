"""A run of fio: what the writers of its outputs and logs are given.

`FioRun` is a measurement with what only fio knows. Outputs and logs of one `FioRun` tell of the same I/Os.

Versions: 2.1.3 (microseconds, no JSON+), 3.7, 3.28, 3.33, 3.36.

Evidence: stat.c, diskutil.c, libfio.c of fio 2.1 and 3.33.

Assumptions
-----------
- `start` is when fio began; the ramp comes first and is in no count (fio counts all anew after it), disks included.
- The latency given is fio's `lat`, its mean exact; `slat_us` of it is submission (shape cached), the rest completion.
  With a synchronous engine fio measures no submission, and completion is all of it (really some 30 ns less).
- Every job keeps its queue full: the first I/Os go out at depths 1, 2, 3 ..., all others at the full depth; they are
  submitted and reaped one by one, and what is in flight at the end at once.
- Rates are sampled every 500 ms; they wander by `rate_spread` around the mean.
- A disk is busy for iops x latency of its time up to 0.9 of it, and 1 - 0.09 / (iops x latency) above.
- Nothing was cut short, dropped, trimmed or failed; CPU and faults are what the run says, the same for each job.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import timedelta
from math import fsum, isfinite
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.fio_latency import Sample

if TYPE_CHECKING:
    from datetime import datetime

    from esxparse_simulator.results import Measured, Side, Worker

__all__ = ["SYNCHRONOUS", "Disk", "FioRun", "Version", "centred", "check", "draws"]

Version = Literal["fio-2.1.3", "fio-3.7", "fio-3.28", "fio-3.33", "fio-3.36"]
SYNCHRONOUS = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})


@dataclass(frozen=True, slots=True)
class Disk:
    """What the kernel counted of a disk: I/Os, merges, sectors of 512 bytes, ticks (ms), each of reads and writes."""

    name: str
    ios: tuple[int, int]
    merges: tuple[int, int]
    sectors: tuple[int, int]
    ticks: tuple[int, int]
    in_queue: int
    io_ticks: int
    msec: int

    @property
    def util(self) -> float:
        """Percent of the time that it had something to do."""
        return min(100.0, 100.0 * self.io_ticks / self.msec) if self.msec else 0.0


@dataclass(frozen=True, slots=True)
class FioRun:
    """One run of fio: `measured` has its jobs as workers, and their options as access.

    `start` of `measured` needs a time zone, which is the machine's: fio prints local time without one.
    `slat_us` is the mean time until submission (not measured with a `SYNCHRONOUS` engine), CPU is percent of one CPU
    per job, `rate_spread` a part of the rate, `disks` what `disk_util` shows: by default the disks of the workers.
    """

    measured: Measured
    version: Version = "fio-3.28"
    seed: int = 1
    ioengine: str = "libaio"
    group_reporting: bool = False
    slat_us: float = 3.0
    usr_cpu_pct: float = 1.5
    sys_cpu_pct: float = 4.0
    switches_per_io: float = 1.0
    minor_faults: int = 12
    rate_spread: float = 0.04
    first_pid: int = 4711
    disks: tuple[Disk, ...] | None = None

    @property
    def modern(self) -> bool:
        """Whether it is fio 3: nanoseconds and bytes."""
        return self.version != "fio-2.1.3"

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of the version."""
        return tuple(int(part) for part in self.version.removeprefix("fio-").split("."))

    @property
    def groups(self) -> int:
        """Groups of 64 bins in its histograms."""
        return 29 if self.modern else 19

    @property
    def unit_ms(self) -> float:
        """Its units of latency in a millisecond."""
        return 1e6 if self.modern else 1e3

    @property
    def runtime_ms(self) -> int:
        """Milliseconds measured."""
        return int(self.measured.seconds * 1000.0 + 0.5)

    @property
    def end(self) -> datetime:
        """When fio printed its output."""
        return self.measured.start + timedelta(seconds=self.measured.ramp_s + self.measured.seconds)

    @property
    def depth(self) -> int:
        """I/Os that a job keeps in flight: what was asked for, one with a synchronous engine."""
        return 1 if self.ioengine in SYNCHRONOUS else self.measured.access.outstanding

    @property
    def rw(self) -> str:
        """The option of that name."""
        access = self.measured.access
        random = access.random_pct > 0.0
        if access.read_pct >= 100.0:  # noqa: PLR2004  percent
            return "randread" if random else "read"
        if access.read_pct <= 0.0:
            return "randwrite" if random else "write"
        return "randrw" if random else "rw"

    def sides(self, worker: Worker) -> dict[str, Side]:
        """What a job did, by direction."""
        found = {"read": worker.read, "write": worker.write}
        return {name: side for name, side in found.items() if side is not None and self.ios(side) > 0}

    def ios(self, side: Side) -> int:
        """Whole I/Os that a direction of a job did."""
        return int(side.iops * self.runtime_ms / 1000.0 + 0.5)

    def latencies(self, side: Side) -> tuple[Sample | None, Sample, float, float]:
        """Submission (none where it is not measured) and completion of a direction's I/Os; the means of both."""
        number, shape = self.ios(side), side.latency.shape
        whole = side.latency.mean * self.unit_ms
        until = 0.0 if self.ioengine in SYNCHRONOUS else self.slat_us * self.unit_ms / 1e3
        submission = Sample.of(until, "cached", number) if until else None
        return submission, Sample.of(whole - until, shape, number), until, whole - until


def check(run: FioRun) -> None:
    """Refuses what no fio can have measured.

    Raises:
        EsxparseError: What is wrong, and where.
    """
    measured = run.measured
    if run.version not in get_args(Version):
        msg = f"{run.version}: not a version of fio that can be written; take one of {', '.join(get_args(Version))}"
        raise EsxparseError(msg)
    if measured.start.tzinfo is None:
        msg = "the start of a run of fio has no time zone: give it one, fio prints local time"
        raise EsxparseError(msg)
    if not measured.workers or run.runtime_ms <= 0 or measured.ramp_s < 0.0:
        msg = f"a run of fio of {measured.seconds} s with {len(measured.workers)} jobs: give it jobs and a time above 0"
        raise EsxparseError(msg)
    for worker in measured.workers:
        for side in (one for one in (worker.read, worker.write) if one):
            if not (side.iops >= 0.0 and isfinite(side.iops) and side.block_bytes > 0):
                msg = (
                    f"job {worker.name}: {side.iops} I/Os per second of {side.block_bytes} bytes: give both as above 0"
                )
                raise EsxparseError(msg)
            if side.latency.mean * run.unit_ms <= (
                0.0 if run.ioengine in SYNCHRONOUS else run.slat_us * run.unit_ms / 1e3
            ):
                msg = (
                    f"job {worker.name}: latency {side.latency.mean} ms is not above slat_us={run.slat_us}: lower that"
                )
                raise EsxparseError(msg)
        if not run.sides(worker):
            msg = f"job {worker.name} did no whole I/O in {measured.seconds} s: raise its iops or leave it out"
            raise EsxparseError(msg)


def draws(seed: int, label: str, number: int, block: int = 0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """`number` draws from [0, 1), the same on every machine; each label and block has its own."""
    words = [seed, zlib.crc32(label.encode()), block]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))).random(number)


def centred(seed: int, label: str, number: int, block: int = 0) -> list[float]:
    """`number` deviations within about -1..1 whose mean is 0."""
    if not number:
        return []
    drawn = [2.0 * value - 1.0 for value in draws(seed, label, number, block).tolist()]
    mean = fsum(drawn) / number
    return [value - mean for value in drawn]
