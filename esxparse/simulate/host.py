"""The things a simulated host is made of, as frozen data.

Nothing here moves: a `Scenario` says what there is and what is asked of it at which second. What becomes of that is
worked out by the modules beside this one, sample by sample.

Units are in the names or said here: `*_mb` 2**20 bytes, `*_kb` 2**10 bytes, `*_ms` milliseconds, `*_mbits` 10**6 bits
per second, times of phases in seconds from the start of the capture, CPU percentages of one vCPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["Adapter", "Device", "Host", "Load", "NfsVolume", "Nic", "Phase", "Scenario", "Switch", "VirtualDisk", "Vm"]


@dataclass(frozen=True, slots=True)
class Host:
    """Processors, memory and power of one host.

    `all_core_mhz` is the clock with every core busy, `turbo_mhz` with one core busy; `p_states_mhz` are the ACPI states
    as esxtop lists them (the first, one MHz above nominal, stands for "turbo allowed").
    """

    name: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    mhz: int
    turbo_mhz: int
    all_core_mhz: int
    p_states_mhz: tuple[int, ...]
    t_states: int
    memory_mb: int
    kernel_mb: int
    idle_watts: float
    core_watts: float
    cap_watts: int

    @property
    def cores(self) -> int:
        """Physical cores of the host."""
        return self.sockets * self.cores_per_socket

    @property
    def pcpus_per_node(self) -> int:
        """Logical processors of one NUMA node (one socket is one node)."""
        return self.cores_per_socket * self.threads_per_core

    @property
    def pcpus(self) -> int:
        """Logical processors of the host, what esxtop calls PCPUs."""
        return self.sockets * self.pcpus_per_node


@dataclass(frozen=True, slots=True)
class Adapter:
    """A host bus adapter (`vmhbaN`)."""

    name: str
    queue_depth: int


@dataclass(frozen=True, slots=True)
class Device:
    """A SCSI device (LUN or local disk) and the array behind it.

    `read_ms` and `write_ms` are the response times of an unloaded device; `service_ms` and `mb_per_s` say what one
    command costs the device, and so where it saturates. Commands take the `paths` in turn.
    """

    name: str
    paths: tuple[str, ...]
    queue_depth: int
    partitions: int
    read_ms: float
    write_ms: float
    service_ms: float
    mb_per_s: float


@dataclass(frozen=True, slots=True)
class NfsVolume:
    """An NFS datastore: a file server reached through the VMkernel port `vmk`."""

    name: str
    vmk: str
    read_ms: float
    write_ms: float
    service_ms: float
    mb_per_s: float


@dataclass(frozen=True, slots=True)
class Nic:
    """A physical network adapter (`vmnicN`)."""

    name: str
    mbits: int


@dataclass(frozen=True, slots=True)
class Switch:
    """A standard virtual switch with its uplinks and VMkernel ports."""

    name: str
    uplinks: tuple[Nic, ...]
    vmkernel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VirtualDisk:
    """A virtual disk: its SCSI slot (`scsi0:0`), what is under it, and its parts of the VM's reads and writes."""

    slot: str
    target: str
    reads: float = 1.0
    writes: float = 1.0


@dataclass(frozen=True, slots=True)
class Load:
    """What the guest of one VM asks for.

    `cpu` is the run time each vCPU would take on an idle host, in percent; `io_bound` is the part of it (0..1) that
    goes away when I/O does not complete. `read_iops` and `write_iops` are wanted; with `outstanding` commands in flight
    the guest asks for no more. `used_mb` is guest memory in use, `active_mb` what it touches.
    """

    cpu: float = 1.0
    io_bound: float = 0.0
    read_iops: float = 0.0
    write_iops: float = 0.0
    read_kb: float = 8.0
    write_kb: float = 8.0
    outstanding: float = 16.0
    used_mb: float = 0.0
    active_mb: float = 0.0
    tx_pps: float = 1.0
    rx_pps: float = 1.0
    tx_bytes: float = 200.0
    rx_bytes: float = 200.0
    timers: float = 100.0


@dataclass(frozen=True, slots=True)
class Phase:
    """A spell of the capture, `start <= second < end`, in which some fields of a VM's load have other values."""

    start: float
    end: float
    load: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Vm:
    """A virtual machine: its shape, its limits and what its guest does over time.

    Limits are None when there is none. `rx_limit_pps` is the rate its receive ring keeps up with on an idle host.
    `jitter` is the relative size of the noise on what it asks for (0.1 = mostly within ten percent).
    """

    name: str
    vcpus: int
    memory_mb: int
    node: int
    switch: str
    disks: tuple[VirtualDisk, ...]
    load: Load
    phases: tuple[Phase, ...] = ()
    cpu_limit_mhz: int | None = None
    cpu_reservation_mhz: int = 0
    memory_limit_mb: int | None = None
    shares_per_vcpu: int = 1000
    rx_limit_pps: float = 400_000.0
    jitter: float = 0.1

    def load_at(self, second: float) -> Load:
        """The load wanted at `second`: the base load with every phase that covers it laid over, in order."""
        load = self.load
        for phase in self.phases:
            if phase.start <= second < phase.end:
                load = replace(load, **phase.load)
        return load


@dataclass(frozen=True, slots=True)
class Scenario:
    """A host, what stands on it, and how to record it unless told otherwise."""

    name: str
    title: str
    start: datetime
    samples: int
    interval: float
    seed: int
    host: Host
    adapters: tuple[Adapter, ...]
    devices: tuple[Device, ...]
    switches: tuple[Switch, ...]
    vms: tuple[Vm, ...]
    nfs: tuple[NfsVolume, ...] = field(default=())
