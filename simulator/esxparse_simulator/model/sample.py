"""What is true of a host in one sample: arrays in the orders of `layout`.

Percentages are of one core (or one PCPU) over the sample, rates per second, `*_mb` 2**20 bytes. Every class is a
structure of arrays; its docstring says along which order.

Evidence: the sums that docstrings name are esxtop's (VMware's texts). Assumed: nothing; the other modules do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from esxparse_simulator.host import Host, Load
from esxparse_simulator.model.layout import Target
from esxparse_simulator.model.sums import Index, Numbers, added_rows, divided

_RATES = slice(0, 4)
_DATA = slice(2, 4)
_OF_READS = slice(4, None, 2)
_OF_WRITES = slice(5, None, 2)


class Matrix:
    """Arrays by name: the rows of `values`, in the order of `names`."""

    names: ClassVar[tuple[str, ...]]

    def __init__(self, values: Numbers) -> None:
        """Those of these rows."""
        self.values = values
        self.__dict__.update(zip(self.names, values, strict=True))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Numbers: ...
        def __setattr__(self, name: str, value: Numbers) -> None: ...

    @classmethod
    def of(cls, **rows: Numbers) -> Self:
        """Those of these arrays."""
        return cls(np.array([rows[name] for name in cls.names]))


class Traffic(Matrix):
    """Along the flows: reads and writes per second, MB per second, and average milliseconds per read and per write.

    `driver` is the time in the device, `kernel` in the VMkernel, `queue` the part of kernel that is waiting in its
    queue.
    """

    names = (
        *("reads", "writes", "read_mb", "written_mb"),
        *("driver_read", "driver_write", "kernel_read", "kernel_write", "queue_read", "queue_write"),
    )

    @property
    def commands(self) -> Numbers:
        """Commands per second."""
        return self.reads + self.writes

    def per_command(self) -> Numbers:
        """[3, flows] average milliseconds per command of driver, kernel and queue: weighted by reads and writes."""
        weighted = self.reads * self.values[_OF_READS] + self.writes * self.values[_OF_WRITES]
        return divided(weighted, self.commands)

    def scaled(self, part: Numbers | float) -> Traffic:
        """The same latencies at `part` of the rates."""
        values = self.values.copy()
        values[_RATES] *= part
        return Traffic(values)

    def moving(self, part: Numbers) -> Traffic:
        """The same commands, with `part` of the data."""
        values = self.values.copy()
        values[_DATA] *= part
        return Traffic(values)

    def taken(self, places: Index | Sequence[int]) -> Traffic:
        """The flows at `places`, in their order."""
        return Traffic(self.values[:, places])


def summed(traffic: Traffic, into: Index, count: int) -> Traffic:
    """Flows added up into `count` others, `into` saying which: rates add, latencies are weighted by their commands.

    >>> flows = np.zeros((10, 2))
    >>> flows[0], flows[4] = (30.0, 10.0), (1.0, 5.0)
    >>> float(summed(Traffic(flows), np.array([0, 0]), 1).driver_read[0])
    2.0
    """
    values = traffic.values.copy()
    values[_OF_READS] *= traffic.reads
    values[_OF_WRITES] *= traffic.writes
    sums = added_rows(values, into, count)
    sums[_OF_READS] = divided(sums[_OF_READS], sums[0])
    sums[_OF_WRITES] = divided(sums[_OF_WRITES], sums[1])
    return Traffic(sums)


class Loads(Matrix):
    """What guests ask for in this sample, noise and patterns on it: the fields of `host.Load`, along the VMs."""

    names = tuple(field.name for field in fields(Load))


class WorldTimes(Matrix):
    """Times in percent and events per second, along the worlds.

    run + ready + costop + wait = 100; `max_limited` is a part of ready, `idle` and `swap_wait` are parts of wait;
    used = run x hyper-threading share x clock / nominal + system - overlap. `pcpu` is where it was seen last.
    """

    names = (
        *("used", "run", "system", "wait", "ready", "idle", "overlap", "costop", "max_limited", "swap_wait"),
        *("switches", "migrates", "expires", "wakeups", "latency", "memory_latency", "demand", "timers", "pcpu"),
    )


@dataclass(frozen=True, slots=True)
class PcpuTimes:
    """Along the PCPUs: not idle (`util`), the same in nominal cycles (`used`), its core not idle, power states.

    `c_states` [P, 3], `p_states` [P, states] and `t_states` [P, states] each add up to 100 along a row; `clock` is the
    clock while running over the nominal one (aperf/mperf).
    """

    util: Numbers
    used: Numbers
    core_util: Numbers
    c_states: Numbers
    p_states: Numbers
    t_states: Numbers
    clock: Numbers


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """Along the NUMA nodes: mean used time of their PCPUs, used per run (`speed`), of which hyper-threading's part."""

    used: Numbers
    speed: Numbers
    threading: Numbers


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Memory of VMs in MB and MB per second, along the VMs; `swap_wait` as a part (0..1) of a vCPU's time.

    `taken` is along the NUMA nodes: all that lies on each. `state` is the host's: 0 high, 1 clear (6.0 and later) or
    soft, 2 hard, 3 low, as `Kernel State` counts.
    """

    used: Numbers
    active: Numbers
    shared: Numbers
    balloon: Numbers
    balloon_target: Numbers
    compressed: Numbers
    swapped: Numbers
    swap_target: Numbers
    swap_in: Numbers
    swap_out: Numbers
    zip_rate: Numbers
    unzip_rate: Numbers
    swap_wait: Numbers
    remote: Numbers
    granted: Numbers
    consumed: Numbers
    taken: Numbers
    state: float


@dataclass(frozen=True, slots=True)
class StorageSample:
    """I/O: `flows` along the flows; the rest per second along the targets (0 for those that have no such thing).

    `alive` is the part (0..1) of a device's paths that answer. `congestion` is vSAN's (0..255).
    """

    flows: Traffic
    failed_reads: Numbers
    failed_writes: Numbers
    aborts: Numbers
    resets: Numbers
    reserves: Numbers
    conflicts: Numbers
    alive: Numbers
    congestion: Numbers


class PortTraffic(Matrix):
    """Along the ports: packets per second that got through and that were dropped, and mean bytes per packet."""

    names = ("tx", "rx", "tx_dropped", "rx_dropped", "multicast", "broadcast", "tx_bytes", "rx_bytes")


@dataclass(frozen=True, slots=True)
class Interrupts:
    """Interrupts per second [vectors, PCPUs], and whole microseconds for one of each vector [vectors]."""

    rates: Numbers
    microseconds: Numbers


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One sample: `second` since the start of the capture, `time` as the host's clock had it.

    `host` and `targets` are the scenario's with what their phases say for this second.
    """

    second: float
    time: datetime
    host: Host
    targets: tuple[Target, ...]
    loads: Loads
    worlds: WorldTimes
    pcpus: PcpuTimes
    nodes: NodeTimes
    cpu_load: tuple[float, ...]
    memory: MemorySample
    storage: StorageSample
    ports: PortTraffic
    interrupts: Interrupts
    watts: float
    group_watts: Numbers
