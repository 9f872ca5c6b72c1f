"""What esxtop prints for I/O: adapters, paths, devices and all that is on them, NFS volumes, vSAN, network ports.

Every row is a part or a sum of the flows: a device's own, the part of it that took a path, the sum that went through an
adapter, one world's. GAVG is printed as DAVG + KAVG of the unrounded numbers. Failed commands and aborts take part of
the paths and worlds of their device as its commands do.

Only uplinks have a link: the others say 0 for all that is said of one. Sizes are whole bytes, cut off; megabits are
2**20 bits, as a capture of ESXi 6.5 has them.

Of each vSAN datastore the rows are three roles: the client is where the VMs' I/O comes in, the owner coordinates
objects (in an even cluster as many as the client asks for), the component manager serves the host's own disks.

Assumed: a failed command had the mean size of its device's; `World Q Depth` is zero where no such limit is set; what
each role of vSAN counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from esxparse_simulator.esxtop.host_rows import Part, part
from esxparse_simulator.host import Nic
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.network import nics_of
from esxparse_simulator.model.sample import Snapshot, Traffic, summed
from esxparse_simulator.model.sums import Numbers, added_rows, divided, index
from esxparse_simulator.model.targets import columns, component_flows, paths_of, shares

_SHARES = 1000.0
_RATES = 4  # rows of a `Traffic` that are rates; the others are latencies
_TRAFFIC = (
    "Commands/sec",
    "Reads/sec",
    "Writes/sec",
    "MBytes Read/sec",
    "MBytes Written/sec",
    *(
        f"Average {part} MilliSec/{per}"
        for per in ("Command", "Read", "Write")
        for part in ("Driver", "Kernel", "Guest", "Queue")
    ),
)
_COMMANDS, _DRIVER, _KERNEL, _QUEUE = (
    _TRAFFIC.index(name)
    for name in (
        "Commands/sec",
        "Average Driver MilliSec/Command",
        "Average Kernel MilliSec/Command",
        "Average Queue MilliSec/Command",
    )
)
_STATES = ("Adapter Q Depth", "Device Q Depth", "World Q Depth", "Active Commands", "Queued Commands", "% Used", "Load")
_EVENTS = (
    "Failed Commands/sec",
    "Failed Reads/sec",
    "Failed Writes/sec",
    "Failed Bytes Read/sec",
    "Failed Bytes Written/sec",
    "Aborts/sec",
    "Resets/sec",
    "Reserves/sec",
    "Conflicts/sec",
)
_FAILED_BYTES = slice(3, 5)
_QUEUES = ("Device Q Depth", "Active Commands", "Queued Commands", "% Used", "Load")
_VIRTUAL = (*_TRAFFIC[:5], "Average MilliSec/Read", "Average MilliSec/Write")
_GUESTS = [*range(5), *(_TRAFFIC.index(f"Average Guest MilliSec/{way}") for way in ("Read", "Write"))]
_ROLE = (
    *("Reads/sec", "MBRead/sec", "Avg Read Latency in ms"),
    *("Writes/sec", "MBWrite/sec", "Avg Write Latency in ms"),
)
_MEGABIT = 2.0**20


class _Places:
    """Which flows and devices the rows of each table stand for."""

    def __init__(self, layout: Layout) -> None:
        devices, targets, uses = layout.scenario.devices, len(layout.targets), len(layout.uses)
        partitions = [(place, n) for place, device in enumerate(devices) for n in range(device.partitions)]
        first = np.cumsum([0, *(1 + len(vm.disks) for vm in layout.vms)]).tolist()
        disks = [(place, flow) for place, flow in enumerate(layout.flows) if flow.kind == "disk"]
        own = index(place for place, _ in disks)
        disk_row = index(first[flow.vm] + 1 + flow.disk for _, flow in disks)
        vm_row = index(first[flow.vm] for _, flow in disks)
        every = np.arange(len(layout.flows))
        # The flows that are added up, those of virtual disks for themselves and for their VMs, and into which rows: of
        # targets, of (target, group), of VMs each with its disks behind it.
        self.flows = np.concatenate([every, every, own, own])
        self.into = np.concatenate(
            [layout.flow_target, targets + layout.flow_use, targets + uses + disk_row, targets + uses + vm_row]
        )
        self.virtual = targets + uses
        self.size = self.virtual + first[-1]
        self.adapter_depth = np.array([adapter.queue_depth for adapter in layout.scenario.adapters], dtype=np.float64)
        # [Per-Device-Per-World rows] the device of each.
        self.use_device = index(target for target, _ in layout.uses if target < len(devices))
        # [partitions] the device.
        self.partition = index(place for place, _ in partitions)
        # [partitions] 1 for the last of its device, where the datastore is.
        self.last = np.array([n + 1 == devices[place].partitions for place, n in partitions], dtype=np.float64)


_places = OncePerLayout(_Places)


def disk_rows(now: Snapshot, layout: Layout) -> Iterator[Part]:
    """The rows of every table of disks."""
    at, paths, count = _places(layout), paths_of(layout), layout.devices
    whole = summed(now.storage.flows.taken(at.flows), at.into, at.size)
    share = shares(layout, now.storage.alive)
    on_path = whole.taken(paths.device).scaled(share)
    listed = np.flatnonzero(paths.adapter >= 0)
    adapter, adapters = paths.adapter[listed], len(at.adapter_depth)
    of_adapters = summed(on_path.taken(listed), adapter, adapters)
    traffic = _traffic(Traffic(np.concatenate([whole.values, on_path.values, of_adapters.values], axis=1)))
    path, through = traffic[:, at.size : at.size + len(share)], traffic[:, at.size + len(share) :]
    targets, first = len(layout.targets), len(layout.targets) + len(at.use_device)
    device, world, virtual = traffic[:, :count], traffic[:, targets:first], traffic[:, at.virtual : at.size]
    volumes = slice(count, count + len(layout.scenario.nfs))
    volume, partition = traffic[:, volumes], traffic[:, at.partition]
    events = _events(now, Traffic(whole.values[:, :targets]))
    of_path = events[:, paths.device] * share
    of_world = divided(world[_COMMANDS], device[_COMMANDS][at.use_device])
    limits = columns(layout, now.targets)
    depths = np.append(at.adapter_depth, 0.0)  # adapter -1: a path through one that is not listed
    for table, mine, wrong in (
        ("Physical Disk Adapter", through, added_rows(of_path[:, listed], adapter, adapters)),
        ("Physical Disk", path, of_path),
        ("Physical Disk Path", path, of_path),
        ("Physical Disk SCSI Device", device, events[:, :count]),
        ("Physical Disk Per-Device-Per-World", world, events[:, at.use_device] * of_world),
        ("Physical Disk NFS Volume", volume, events[:, volumes]),
    ):
        yield Part(table, _TRAFFIC, mine)
        yield Part(table, _EVENTS, wrong)
    yield Part("Physical Disk Partition", _TRAFFIC, partition * at.last)
    yield part("Physical Disk/adapter", {"Adapter Q Depth": at.adapter_depth})
    yield part("Physical Disk", {"Adapter Q Depth": depths[paths.adapter]})
    yield _queue("Physical Disk SCSI Device", device, limits.queue_depth[:count])
    yield _queue("Physical Disk Per-Device-Per-World", world, limits.queue_depth[at.use_device])
    limit = limits.world_queue_depth[at.use_device]
    yield part("Physical Disk Per-Device-Per-World", {"World Q Depth": limit, "Shares": np.full_like(limit, _SHARES)})
    failed_mb = events[_FAILED_BYTES, volumes] / 2**20
    yield Part("Physical Disk NFS Volume", ("Failed MBytes Read/sec", "Failed MBytes Written/sec"), failed_mb)
    active = volume[_COMMANDS] * (volume[_DRIVER] + volume[_KERNEL]) / 1000.0
    yield part("Physical Disk NFS Volume", {"Active Commands": active})
    # what a guest sees of its disk is the time in the device and in the VMkernel
    yield Part("Virtual Disk", _VIRTUAL, virtual[_GUESTS])


def at_first(parts: Iterable[Part]) -> Iterator[Part]:
    """What the first sample of a capture has of disks: states of queues alone, so that the rest is 0, shares and all.

    Evidence: a capture of ESXi 6.5, whose depths of queues are there from the start. Its other states are 0 throughout:
    that they are there too is assumed.
    """
    for table, names, values in parts:
        yield Part(table, names, np.where([[name in _STATES] for name in names], values, 0.0))


def _traffic(whole: Traffic) -> Numbers:
    """The numbers of `_TRAFFIC` [names, rows]."""
    rates, latencies = whole.values[:_RATES], whole.values[_RATES:].reshape(3, 2, -1)
    found = np.empty((len(_TRAFFIC), whole.values.shape[1]))
    found[_COMMANDS] = whole.commands
    found[1 : 1 + _RATES] = rates
    printed = found[1 + _RATES :].reshape(3, 4, -1)
    # [driver, kernel, queue; per command, read, write]
    driver, kernel, queue = np.concatenate([whole.per_command()[:, np.newaxis], latencies], axis=1)
    printed[:, 0], printed[:, 1], printed[:, 2], printed[:, 3] = driver, kernel, driver + kernel, queue
    return found


def _events(now: Snapshot, targets: Traffic) -> Numbers:
    """What goes wrong, per second along the targets: the numbers of `_EVENTS`."""
    of = now.storage
    return np.stack(
        [
            of.failed_reads + of.failed_writes,
            of.failed_reads,
            of.failed_writes,
            divided(targets.read_mb * of.failed_reads, targets.reads) * 2**20,
            divided(targets.written_mb * of.failed_writes, targets.writes) * 2**20,
            of.aborts,
            of.resets,
            of.reserves,
            of.conflicts,
        ]
    )


def _queue(table: str, traffic: Numbers, depth: Numbers) -> Part:
    """Commands in flight by Little's law, in whole commands as esxtop counts them."""
    commands, driver, queue = (traffic[place] for place in (_COMMANDS, _DRIVER, _QUEUE))
    active = np.minimum(depth, np.rint(commands * driver / 1000.0))
    queued = np.rint(commands * queue / 1000.0)
    used, load = 100.0 * active / depth, (active + queued) / depth
    return Part(table, _QUEUES, np.array([depth, active, queued, used, load]))


def _still_links(layout: Layout) -> Part | None:
    """The links of a host whose links stay as they are."""
    moves = any(nic.phases for switch in layout.scenario.switches for nic in switch.uplinks)
    return None if moves else _links(layout, nics_of(layout, 0.0))


_still = OncePerLayout(_still_links)


def _links(layout: Layout, nics: tuple[Nic, ...]) -> Part:
    """Link up, its speed and its duplex, along the ports."""
    links = np.zeros((3, len(layout.ports)))
    for place, port in enumerate(layout.ports):
        if port.kind == "uplink":
            nic = nics[port.uplink]
            links[:, place] = nic.up, nic.mbits if nic.up else 0, nic.up and nic.full_duplex
    return Part("Network Port", ("Link Up?", "Link Speed (Mb/s)", "Full Duplex?"), links)


def port_rows(now: Snapshot, layout: Layout) -> Iterator[Part]:
    """The table of network ports."""
    of = now.ports
    yield _still(layout) or _links(layout, nics_of(layout, now.second))
    counters = {
        "Packets Transmitted/sec": of.tx,
        "MBits Transmitted/sec": of.tx * of.tx_bytes * 8.0 / _MEGABIT,
        "Average Packet Size  Transmitted (Bytes)": np.trunc(of.tx_bytes),
        "Packets Received/sec": of.rx,
        "MBits Received/sec": of.rx * of.rx_bytes * 8.0 / _MEGABIT,
        "Average Packet Size  Received (Bytes)": np.trunc(of.rx_bytes),
        "% Outbound Packets Dropped": _percent(of.tx_dropped, of.tx),
        "% Received Packets Dropped": _percent(of.rx_dropped, of.rx),
        "Multicast Packets Received/sec": of.multicast,
        "Broadcast Packets Received/sec": of.broadcast,
    }
    yield part("Network Port", counters)


def _percent(dropped: Numbers, passed: Numbers) -> Numbers:
    """Dropped of all there were."""
    there = passed + dropped
    return divided(100.0 * dropped, there)


def vsan_rows(now: Snapshot, layout: Layout) -> Iterator[Part]:
    """The tables of vSAN; without a datastore only that there is none."""
    count = len(layout.scenario.vsan)
    yield part("VSAN", {"Enabled?": float(count > 0)})
    if not count:
        return
    first = len(layout.targets) - count
    client = summed(now.storage.flows, layout.flow_target, len(layout.targets)).taken(range(first, first + count))
    places = component_flows(layout)
    disks = summed(now.storage.flows.taken(places.flows), places.source - first, count)
    # by datastore the three roles
    rows = np.stack([_role(traffic) for traffic in (client, client, disks)], axis=2).reshape(len(_ROLE), -1)
    yield Part("VSAN/role", _ROLE, rows)
    yield part("VSAN/role", {"Congestion": np.repeat(now.storage.congestion[first:], 3)})


def _role(of: Traffic) -> Numbers:
    read_ms, write_ms = of.driver_read + of.kernel_read, of.driver_write + of.kernel_write
    return np.array([of.reads, of.read_mb, read_ms, of.writes, of.written_mb, write_ms])
