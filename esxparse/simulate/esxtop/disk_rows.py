"""What esxtop prints for adapters, paths, devices, worlds on devices, partitions, NFS volumes and virtual disks.

Every row is a part or a sum of the flows: a device's own, the part of it that took a path, the sum that went through an
adapter, one world's. GAVG is printed as DAVG + KAVG of the unrounded numbers. Failed commands and aborts take part of
the paths and worlds of their device as its commands do.

Assumed: a failed command had the mean size of its device's; `World Q Depth` is zero where no such limit is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse.simulate.model.once import OncePerLayout
from esxparse.simulate.model.paths import paths_of, shares
from esxparse.simulate.model.sample import summed
from esxparse.simulate.model.sums import added, divided

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from esxparse.simulate.model.layout import Index, Layout
    from esxparse.simulate.model.sample import Numbers, Snapshot, Traffic

__all__ = ["rows"]

Table = dict[str, "Numbers | float"]

_SHARES = 1000.0


@dataclass(frozen=True, slots=True)
class _Places:
    """Which flows and devices the rows of each table stand for."""

    adapter_depth: Numbers
    use_of: Index
    """Flows on devices, and [those] their (device, group)."""
    use_row: Index
    use_device: Index
    """[Per-Device-Per-World rows] the device of each."""
    partition: Index
    """[partitions] the device."""
    last: Numbers
    """[partitions] 1 for the last of its device, where the datastore is."""
    disk: Index
    """[virtual disks] their flows."""
    disk_row: Index
    """[virtual disks] their rows; and those of their VMs."""
    vm_row: Index
    disk_rows: int


def _make(layout: Layout) -> _Places:
    devices = layout.scenario.devices
    on_device = [place for place, flow in enumerate(layout.flows) if flow.target < len(devices)]
    uses = [target for target, _ in layout.uses if target < len(devices)]
    partitions = [
        (place, n == device.partitions) for place, device in enumerate(devices) for n in _ones(device.partitions)
    ]
    first: list[int] = []
    row = 0
    for vm in layout.vms:
        first.append(row)
        row += 1 + len(vm.disks)
    disks = [(place, flow) for place, flow in enumerate(layout.flows) if flow.kind == "disk"]
    return _Places(
        adapter_depth=np.array([adapter.queue_depth for adapter in layout.scenario.adapters], dtype=np.float64),
        use_of=_index(on_device),
        use_row=layout.flow_use[_index(on_device)],
        use_device=_index(uses),
        partition=_index(place for place, _ in partitions),
        last=np.array([last for _, last in partitions], dtype=np.float64),
        disk=_index(place for place, _ in disks),
        disk_row=_index(first[flow.vm] + 1 + flow.disk for _, flow in disks),
        vm_row=_index(first[flow.vm] for _, flow in disks),
        disk_rows=row,
    )


def _ones(count: int) -> range:
    return range(1, count + 1)


def _index(values: Iterable[int]) -> Index:
    return np.fromiter(values, dtype=np.intp)


_places = OncePerLayout(_make)


def rows(now: Snapshot, layout: Layout) -> dict[str, Table]:
    """The tables of disks."""
    at, paths = _places(layout), paths_of(layout)
    targets = summed(now.storage.flows, layout.flow_target, len(layout.targets))
    count = layout.devices
    devices = targets.taken(range(count))
    device_depth = np.array([getattr(target, "queue_depth", 0.0) for target in now.targets[:count]], dtype=np.float64)
    events = _events(now, targets)
    of_devices = {name: values[:count] for name, values in events.items()}
    share = shares(layout, now.storage.alive)
    on_path = devices.taken(paths.device).scaled(share)
    of_path: Table = {name: values[paths.device] * share for name, values in of_devices.items()}
    path = {**_traffic(on_path), **of_path}
    depths = np.append(at.adapter_depth, 0.0)  # adapter -1: a path through one that is not listed
    return {
        "Physical Disk/adapter": {"Adapter Q Depth": at.adapter_depth},
        "Physical Disk Adapter": _adapters(layout, on_path, of_path),
        "Physical Disk": {**path, "Adapter Q Depth": depths[paths.adapter]},
        "Physical Disk Path": path,
        "Physical Disk SCSI Device": {**_traffic(devices), **_queue(devices, device_depth), **of_devices},
        "Physical Disk Per-Device-Per-World": _worlds(now, at, devices, of_devices, device_depth),
        "Physical Disk Partition": {
            name: values * at.last for name, values in _traffic(devices.taken(at.partition)).items()
        },
        "Physical Disk NFS Volume": _volumes(layout, targets, events),
        "Virtual Disk": _virtual(now, at),
    }


def _events(now: Snapshot, targets: Traffic) -> dict[str, Numbers]:
    """What goes wrong, per second along the targets."""
    of = now.storage
    return {
        "Failed Commands/sec": of.failed_reads + of.failed_writes,
        "Failed Reads/sec": of.failed_reads,
        "Failed Writes/sec": of.failed_writes,
        "Failed Bytes Read/sec": divided(targets.read_mb * of.failed_reads, targets.reads) * 2**20,
        "Failed Bytes Written/sec": divided(targets.written_mb * of.failed_writes, targets.writes) * 2**20,
        "Aborts/sec": of.aborts,
        "Resets/sec": of.resets,
        "Reserves/sec": of.reserves,
        "Conflicts/sec": of.conflicts,
    }


def _adapters(layout: Layout, on_path: Traffic, of_path: Mapping[str, Numbers | float]) -> Table:
    adapter = paths_of(layout).adapter
    listed = np.flatnonzero(adapter >= 0)
    into, count = adapter[listed], len(layout.scenario.adapters)
    events = {name: added(np.asarray(values)[listed], into, count) for name, values in of_path.items()}
    return {**_traffic(summed(on_path.taken(listed), into, count)), **events}


def _worlds(
    now: Snapshot, at: _Places, devices: Traffic, events: Mapping[str, Numbers], device_depth: Numbers
) -> Table:
    mine = summed(now.storage.flows.taken(at.use_of), at.use_row, len(at.use_device))
    part = divided(mine.commands, devices.commands[at.use_device])
    limits = np.array([getattr(target, "world_queue_depth", 0.0) for target in now.targets], dtype=np.float64)
    return {
        **_traffic(mine),
        **_queue(mine, device_depth[at.use_device]),
        **{name: values[at.use_device] * part for name, values in events.items()},
        "World Q Depth": limits[at.use_device],
        "Shares": _SHARES,
    }


def _volumes(layout: Layout, targets: Traffic, events: Mapping[str, Numbers]) -> Table:
    first = layout.devices
    mine = range(first, first + len(layout.scenario.nfs))
    traffic = targets.taken(mine)
    in_flight = traffic.commands * (traffic.per_command("driver") + traffic.per_command("kernel")) / 1000.0
    failed: Table = {name: values[mine] for name, values in events.items()}
    megabytes: Table = {
        f"Failed MBytes {way}/sec": events[f"Failed Bytes {way}/sec"][mine] / 2**20 for way in ("Read", "Written")
    }
    return {**_traffic(traffic), **failed, **megabytes, "Active Commands": in_flight}


def _virtual(now: Snapshot, at: _Places) -> Table:
    """Each VM's row is the sum of its disks, whose rows follow it."""
    disks = now.storage.flows.taken(at.disk)
    both = disks.taken(np.concatenate([np.arange(len(at.disk))] * 2))
    traffic = summed(both, np.concatenate([at.disk_row, at.vm_row]), at.disk_rows)
    return {
        **_rates(traffic),
        "Average MilliSec/Read": traffic.driver_read + traffic.kernel_read,
        "Average MilliSec/Write": traffic.driver_write + traffic.kernel_write,
    }


def _rates(traffic: Traffic) -> dict[str, Numbers]:
    return {
        "Commands/sec": traffic.commands,
        "Reads/sec": traffic.reads,
        "Writes/sec": traffic.writes,
        "MBytes Read/sec": traffic.read_mb,
        "MBytes Written/sec": traffic.written_mb,
    }


def _traffic(traffic: Traffic) -> dict[str, Numbers]:
    driver, kernel, queue = (traffic.per_command(what) for what in ("driver", "kernel", "queue"))
    return {
        **_rates(traffic),
        **_latency("Command", driver, kernel, queue),
        **_latency("Read", traffic.driver_read, traffic.kernel_read, traffic.queue_read),
        **_latency("Write", traffic.driver_write, traffic.kernel_write, traffic.queue_write),
    }


def _latency(per: str, driver: Numbers, kernel: Numbers, queue: Numbers) -> dict[str, Numbers]:
    return {
        f"Average Driver MilliSec/{per}": driver,
        f"Average Kernel MilliSec/{per}": kernel,
        f"Average Guest MilliSec/{per}": driver + kernel,
        f"Average Queue MilliSec/{per}": queue,
    }


def _queue(traffic: Traffic, depth: Numbers) -> dict[str, Numbers]:
    """Commands in flight by Little's law, in whole commands as esxtop counts them."""
    active = np.rint(traffic.commands * traffic.per_command("driver") / 1000.0)
    queued = np.rint(traffic.commands * traffic.per_command("queue") / 1000.0)
    return {
        "Device Q Depth": depth,
        "Active Commands": active,
        "Queued Commands": queued,
        "% Used": 100.0 * active / depth,
        "Load": (active + queued) / depth,
    }
