"""What Iometer's workers count (I/Os, bytes, ticks of the timer, latency bins) and what its machines tell of CPUs.

The program computes all it prints from these counters; see `iometer` for the evidence and what is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from math import ceil, fsum
from typing import Final

from esxparse_simulator.measured import Side, Worker
from esxparse_simulator.model.noise import Noise

HZ: Final = 2.4e9 / 1024.0
"""Ticks of the timer in a second."""
BINS: Final = 21
_PARTS: Final = (20000, 10000, 5000, 2000, 1000, 500, 200, 100, 67, 50, 33, 20, 10, 5, 2)
_LIMITS_MS: Final = (*(1000.0 / part for part in _PARTS), 1000.0, 2000.0, 4000.0, 5000.0, 10000.0)
"""Upper limits of all bins but the last, as the program has them, whatever its column titles say."""

_CLOCK_HZ: Final = 64.0
_IDLE_PCT: Final = 1e-6
"""What is printed as 0: an effectiveness of I/Os by that would have no digits left that mean anything."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Counters of a disk, a worker, a machine or all: counts, bytes, ticks, and I/Os by bin."""

    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    read_ticks: int = 0
    write_ticks: int = 0
    read_max_ticks: int = 0
    write_max_ticks: int = 0
    bins: tuple[int, ...] = (0,) * BINS


@dataclass(frozen=True, slots=True)
class Cpu:
    """One processor: percent used (in user and privileged mode, of that for DPCs and interrupts), interrupts per s."""

    used: float
    user: float
    privileged: float
    dpc: float
    interrupt: float
    interrupts_per_s: float

    @property
    def shares(self) -> tuple[float, float, float, float, float]:
        """In the order of the columns."""
        return self.used, self.user, self.privileged, self.dpc, self.interrupt


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: its workers with their counters, its processors, packets per second of its network interfaces."""

    name: str
    workers: tuple[tuple[Worker, Raw], ...]
    processors: tuple[Cpu, ...]
    packets_per_s: float

    @property
    def raw(self) -> Raw:
        """All of its workers."""
        return total(raw for _, raw in self.workers)

    @property
    def cpu(self) -> Cpu:
        """Means over its processors; interrupts are a sum."""
        return mean_of(self.processors)


def mean_of(cpus: Sequence[Cpu]) -> Cpu:
    """All together: the mean of each share; interrupts are a sum."""
    shares = [fsum(values) / len(cpus) for values in zip(*(cpu.shares for cpu in cpus), strict=True)]
    return Cpu(*shares, fsum(cpu.interrupts_per_s for cpu in cpus))  # type: ignore[call-arg]


def total(raws: Iterable[Raw]) -> Raw:
    """The counters of all together: sums, and the largest of each maximum."""
    *counts, bins = zip(*map(astuple, raws), strict=True)
    sums = [*map(sum, counts[:6]), *map(max, counts[6:])]
    return Raw(*sums, tuple(map(sum, zip(*bins, strict=True))))  # type: ignore[call-arg]


def raw_of(worker: Worker, seconds: float, noise: Noise, label: str) -> Raw:
    """The counters of a worker and its disk; `label` tells it from others in the noise."""
    reads, read_bytes, read_ticks, read_max, read_bins = _side(worker.read, seconds, noise.uniform(f"{label}/read"))
    writes, write_bytes, write_ticks, write_max, write_bins = _side(
        worker.write, seconds, noise.uniform(f"{label}/write")
    )
    bins = tuple(map(sum, zip(read_bins, write_bins, strict=True)))
    return Raw(reads, writes, read_bytes, write_bytes, read_ticks, write_ticks, read_max, write_max, bins)


def _side(side: Side | None, seconds: float, drawn: float) -> tuple[int, int, int, int, tuple[int, ...]]:
    """I/Os, their bytes, their ticks in all and of the longest, and by bin."""
    count = round(side.iops * seconds) if side else 0
    if side is None or count == 0:
        return 0, 0, 0, 0, (0,) * BINS
    ticks = round(side.latency.mean * count * HZ / 1000.0)
    # The longest of many is about where one of them is expected to lie beyond.
    beyond = min((0.2 + 1.6 * drawn) / count, 0.5)
    longest = max(round(side.latency.quantile(1.0 - beyond) * HZ / 1000.0), ceil(ticks / count))
    below = [0]
    for limit in _LIMITS_MS:
        share = side.latency.share_below(limit)
        below.append(count if longest < limit * HZ / 1000.0 else min(round(share * count), count - 1))
    # What took longer than the last limit is in no bin: the program looks for a bin below each limit only.
    bins = (*(high - low for low, high in pairwise(below)), 0)
    return count, count * side.block_bytes, ticks, longest, bins


def machine_of(
    workers: Sequence[Worker], raws: Sequence[Raw], iops: float, processors: int, noise: Noise, label: str
) -> Machine:
    """A machine whose processors are used as its workers say, on average."""
    used = workers[0].cpu_pct if workers[0].cpu_pct > _IDLE_PCT else 0.0
    leaning = [noise.uniform(f"{label}/cpu{number}") for number in range(processors)]
    middle = fsum(leaning) / processors
    user = 0.1 + 0.05 * noise.uniform(f"{label}/user")
    dpc = 0.08 + 0.04 * noise.uniform(f"{label}/dpc")
    interrupt = 0.04 + 0.03 * noise.uniform(f"{label}/interrupt")
    per_io = 0.9 + 0.1 * noise.uniform(f"{label}/coalesced")
    cpus = []
    for lean in leaning:
        own = used + 0.4 * min(used, 100.0 - used) * (lean - middle)
        share = own / (used * processors) if used > 0.0 else 1.0 / processors
        cpus.append(
            Cpu(own, user * own, own - user * own, dpc * own, interrupt * own, _CLOCK_HZ + per_io * iops * share)
        )
    packets = 4.0 + 8.0 * noise.uniform(f"{label}/packets")
    return Machine(workers[0].manager, tuple(zip(workers, raws, strict=True)), tuple(cpus), packets)
