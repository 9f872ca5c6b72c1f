"""The things a simulated host is made of, as frozen data.

Nothing here moves: a `Scenario` says what there is and what is asked of it at which second. What becomes of that is
worked out by `model`, sample by sample.

Units are in the names or said here: `*_mb` 2**20 bytes, `*_kb` 2**10 bytes, `*_ms` milliseconds, `*_us` microseconds,
`*_mbits` 10**6 bits per second, times of phases in seconds from the start of the capture, CPU percentages of one vCPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class Phase:
    """A spell of the capture, `start <= second < end`, in which some numbers of a thing have other values.

    It takes `rise` seconds to come and `fall` seconds, its last, to go. On an untidy host a sample that it begins or
    ends in shows the mean over its interval.
    """

    start: float
    end: float
    load: Mapping[str, float]
    rise: float = 0.0
    fall: float = 0.0

    def part(self, second: float, span: float) -> float:
        """How much of it there is in the `span` seconds before `second` (0: just then), 0 to 1."""
        if span <= 0.0:
            return float(self.start <= second < self.end)

        def ramped(until: float, begins: float, lasts: float) -> float:
            gone = max(0.0, until - begins)
            return gone - lasts / 2.0 if gone >= lasts else gone * gone / (2.0 * lasts)

        return (
            sum(
                sign * (ramped(second, *ramp) - ramped(second - span, *ramp))
                for sign, ramp in ((1.0, (self.start, self.rise)), (-1.0, (self.end - self.fall, self.fall)))
            )
            / span
        )


@dataclass(frozen=True, slots=True)
class Host:
    """Processors, memory and power of one host.

    `all_core_mhz` is the clock with every core busy, `turbo_mhz` with one core busy; `p_states_mhz` are the ACPI states
    as esxtop lists them (the first, one MHz above nominal, stands for "turbo allowed").

    `policy` is the power policy; `cap_mhz` a clock that heat or a power limit does not let pass (0: none). What the
    VMkernel spends on I/O: `disk_us` for a command in the world of the adapter and `sys_disk_us` in the context of the
    vCPU that asked, `net_us` and `sys_net_us` likewise for a packet. `remote_part` of run time is what a vCPU loses
    whose memory is all on another node. `compressed_part` of pages taken back beyond the balloon are such that
    compress well; the others are swapped. `deep_idle` is how much of the idle time that would be spent in the deepest
    C-state may be (0: firmware has switched it off). Phases may change any of the numbers from `cap_watts` on.
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
    policy: Literal["high performance", "balanced", "low power"] = "balanced"
    cap_mhz: float = 0.0
    throttled_pct: float = 0.0
    disk_us: float = 9.0
    sys_disk_us: float = 5.0
    net_us: float = 1.1
    sys_net_us: float = 0.35
    remote_part: float = 0.35
    compression: bool = True
    compressed_part: float = 0.1
    deep_idle: float = 1.0
    phases: tuple[Phase, ...] = ()

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
    """A host bus adapter (`vmhbaN`); its interrupts fall on `interrupt_pcpus` PCPUs."""

    name: str
    queue_depth: int
    interrupt_pcpus: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """What stands behind a device or a datastore.

    `read_ms` and `write_ms` are its response times without load; `service_ms` and `mb_per_s` say what one command costs
    it, and so where it saturates. `failed_part` of the commands fail. `shared` is how much the service varies with what
    other hosts do on the same array (0: it has no others). Phases may change any of the numbers.

    The array's cache: a read that misses it takes `media_ms` more (0: all flash, nothing misses). Sequential reads up
    to `read_ahead_kb` are there before they are asked for; random reads hit as far as `cache_mb` covers the guest's
    working set. A write that does not fill blocks of `block_kb` is a read before it is a write.
    """

    read_ms: float
    write_ms: float
    service_ms: float
    mb_per_s: float
    media_ms: float = 0.0
    cache_mb: float = 0.0
    read_ahead_kb: float = 1024.0
    block_kb: float = 0.0
    failed_part: float = 0.0
    shared: float = 0.2
    phases: tuple[Phase, ...] = ()


@dataclass(frozen=True, slots=True)
class Device(Store):
    """A SCSI device (LUN or local disk) and the array behind it. Commands take the `paths` in turn.

    Trouble: `world_queue_depth` commands of one world while others use the device too (0: no such limit), `dead_paths`
    that give no answer, `aborts`, `resets`, `reserves` and `conflicts` per second.

    A LUN of the software iSCSI initiator is reached over the network, through the VMkernel port `vmk` (empty: it is
    not), and gets no more than its uplink carries. `polled` commands a second the VMkernel sends whoever uses it.
    """

    name: str
    paths: tuple[str, ...]
    queue_depth: int
    partitions: int
    world_queue_depth: float = 0.0
    dead_paths: float = 0.0
    aborts: float = 0.0
    resets: float = 0.0
    reserves: float = 0.0
    conflicts: float = 0.0
    vmk: str = ""
    polled: float = 0.0


@dataclass(frozen=True, slots=True)
class NfsVolume(Store):
    """An NFS datastore: a file server reached through the VMkernel port `vmk`."""

    name: str
    vmk: str


@dataclass(frozen=True, slots=True)
class VsanDatastore(Store):
    """A vSAN datastore, of which this host is a member: reached through `vmk`, its own disks among the `devices`.

    A write goes to `copies` hosts of which this may be one; `congestion` (0..255, vSAN's own scale) delays every
    command by `congestion_ms` at 255.
    """

    name: str
    vmk: str
    devices: tuple[str, ...]
    copies: int = 2
    congestion: float = 0.0
    congestion_ms: float = 40.0


@dataclass(frozen=True, slots=True)
class Nic:
    """A physical network adapter (`vmnicN`). Half duplex, it sends and receives on the same `mbits`.

    Phases may change `mbits`, `full_duplex` and `up` (0 or 1): a link that flaps or is negotiated anew.
    """

    name: str
    mbits: int
    full_duplex: bool = True
    up: bool = True
    interrupt_pcpus: int = 2
    phases: tuple[Phase, ...] = ()


@dataclass(frozen=True, slots=True)
class Switch:
    """A standard virtual switch with its uplinks and VMkernel ports. vMotion leaves by its first VMkernel port."""

    name: str
    uplinks: tuple[Nic, ...]
    vmkernel: tuple[str, ...] = ()
    vmotion: bool = False


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

    `sequential` is the part of reads that follow one another, `working_set_mb` what the others spread over,
    `misaligned` the part of writes that do not lie on the blocks of the device. `tcp` is the part of packets that slow
    down rather than get lost on a full link. `consolidate_mb_per_s` is a snapshot being written back by the VMkernel,
    `vmotion_mb_per_s` the VM's memory leaving the host; once it has, the VM is `gone` (1). A VM that is gone
    first comes: its memory is received, and a capture has no columns of it.
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
    sequential: float = 0.0
    working_set_mb: float = 0.0
    misaligned: float = 0.0
    tcp: float = 1.0
    consolidate_mb_per_s: float = 0.0
    vmotion_mb_per_s: float = 0.0
    gone: float = 0.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """How what a guest asks for (CPU, I/O, packets) rises and falls around its base load.

    `steady` does not; `diurnal` goes from 1 - depth to 1 + depth and back in `period` seconds; `bursty` is at
    1 + depth for `busy` (0..1) of each period and at 1 for the rest; `batch` at 1 for `busy` of it, then at
    1 - depth. `offset` seconds shift it.
    """

    kind: Literal["steady", "diurnal", "bursty", "batch"] = "steady"
    period: float = 3600.0
    depth: float = 0.5
    busy: float = 0.25
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Vm:
    """A virtual machine: its shape, its limits and what its guest does over time.

    Limits are None if there are none. `rx_limit_pps` is the rate its receive ring keeps up with on an idle host,
    `tx_limit_pps` what its port sends. `jitter` is the relative size of the noise on what it asks for (0.1 = mostly
    within ten percent). `nodes` are the NUMA nodes of a wide VM, its vCPUs spread evenly (empty: `node` alone);
    `remote_memory` is the part of its memory that lies on a node where no vCPU of it runs. Without `balloon_driver`
    (no VMware Tools) memory is taken back by compression and swap only. `io_filter_us` is what an I/O filter (VAIO)
    spends on each of its commands. VMs of one `cause` have bursts together. `old_balloon_mb` and `old_swap_mb` were
    taken back long ago and are not touched; `stray_pps` are packets for others that its port receives and drops.
    """

    name: str
    vcpus: int
    memory_mb: int
    node: int
    switch: str
    disks: tuple[VirtualDisk, ...]
    load: Load
    phases: tuple[Phase, ...] = ()
    pattern: Pattern = field(default_factory=Pattern)
    cpu_limit_mhz: int | None = None
    cpu_reservation_mhz: int = 0
    memory_limit_mb: int | None = None
    memory_reservation_mb: int = 0
    shares_per_vcpu: int = 1000
    rx_limit_pps: float = 400_000.0
    tx_limit_pps: float = 2_000_000.0
    jitter: float = 0.1
    nodes: tuple[int, ...] = ()
    remote_memory: float = 0.0
    balloon_driver: bool = True
    io_filter_us: float = 0.0
    cause: str = ""
    old_balloon_mb: float = 0.0
    old_swap_mb: float = 0.0
    stray_pps: float = 0.0


@dataclass(frozen=True, slots=True)
class ClockJump:
    """At `second` somebody set the host's clock `by` seconds forward (or back)."""

    second: float
    by: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """A host, what stands on it, and how to record it unless told otherwise.

    `untidy` is how restless it is: 0 tidy, 1 as real hosts are. `idle_worlds` of the VMkernel's own hardly do anything.
    """

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
    nfs: tuple[NfsVolume, ...] = ()
    vsan: tuple[VsanDatastore, ...] = ()
    clock_jumps: tuple[ClockJump, ...] = ()
    untidy: float = 0.0
    idle_worlds: int = 0
