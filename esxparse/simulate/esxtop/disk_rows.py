"""What esxtop prints for adapters, paths, devices, worlds on devices, partitions, NFS volumes and virtual disks.

Every row is a `Traffic`: a device's own, the part of it that took a path, the sum that went through an adapter, one
world's. GAVG is printed as DAVG + KAVG of the unrounded numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from esxparse.simulate.model.storage import Traffic, together

if TYPE_CHECKING:
    from esxparse.simulate.model.engine import Capture, Snapshot
    from esxparse.simulate.esxtop.columns import Key
    from esxparse.simulate.host import Adapter, Device

__all__ = ["DISK_TABLES"]

Values = Mapping[str, float]
_SHARES = 1000.0


def _adapter(key: Key, now: Snapshot, of: Capture) -> Values:
    parts = []
    for device in of.scenario.devices:
        mine = [path for path in device.paths if path.startswith(f"{key[1]}:")]
        if mine:
            parts.append(now.target(device.name).scaled(len(mine) / len(device.paths)))
    return _traffic(together(parts))


def _adapter_queue(key: Key, _now: Snapshot, of: Capture) -> Values:
    return {"Adapter Q Depth": float(_of_name(of, str(key[1])).queue_depth)}


def _path(key: Key, now: Snapshot, of: Capture) -> Values:
    device = _device(key, of)
    return _traffic(now.target(device.name).scaled(1.0 / len(device.paths)))


def _disk(key: Key, now: Snapshot, of: Capture) -> Values:
    adapter = _of_name(of, str(key[2]).partition(":")[0])
    return {**_path(key, now, of), "Adapter Q Depth": float(adapter.queue_depth)}


def _scsi_device(key: Key, now: Snapshot, of: Capture) -> Values:
    traffic = now.target(str(key[1]))
    return {**_traffic(traffic), **_queue(traffic, _device(key, of))}


def _per_world(key: Key, now: Snapshot, of: Capture) -> Values:
    traffic = now.flows.get((cast("int", key[2]), str(key[1])), Traffic())
    return {**_traffic(traffic), **_queue(traffic, _device(key, of)), "Shares": _SHARES}


def _partition(key: Key, now: Snapshot, of: Capture) -> Values:
    """All I/O falls into the last partition, where the datastore is."""
    last = key[2] == _device(key, of).partitions
    return _traffic(now.target(str(key[1]))) if last else {}


def _nfs(key: Key, now: Snapshot, _of: Capture) -> Values:
    traffic = now.target(str(key[1]))
    return {**_traffic(traffic), "Active Commands": traffic.commands * (traffic.driver + traffic.kernel) / 1000.0}


def _virtual_disk(key: Key, now: Snapshot, _of: Capture) -> Values:
    mine = [row for (gid, slot), row in now.disks.items() if gid == key[1] and key[2] in {None, slot}]
    traffic = together(mine)
    return {
        **_rates(traffic),
        "Average MilliSec/Read": traffic.driver_read + traffic.kernel_read,
        "Average MilliSec/Write": traffic.driver_write + traffic.kernel_write,
    }


def _rates(traffic: Traffic) -> dict[str, float]:
    return {
        "Commands/sec": traffic.commands,
        "Reads/sec": traffic.reads,
        "Writes/sec": traffic.writes,
        "MBytes Read/sec": traffic.read_mb,
        "MBytes Written/sec": traffic.written_mb,
    }


def _traffic(traffic: Traffic) -> dict[str, float]:
    return {
        **_rates(traffic),
        **_latency("Command", traffic.driver, traffic.kernel, traffic.queue),
        **_latency("Read", traffic.driver_read, traffic.kernel_read, traffic.queue_read),
        **_latency("Write", traffic.driver_write, traffic.kernel_write, traffic.queue_write),
    }


def _latency(per: str, driver: float, kernel: float, queue: float) -> dict[str, float]:
    return {
        f"Average Driver MilliSec/{per}": driver,
        f"Average Kernel MilliSec/{per}": kernel,
        f"Average Guest MilliSec/{per}": driver + kernel,
        f"Average Queue MilliSec/{per}": queue,
    }


def _queue(traffic: Traffic, device: Device) -> dict[str, float]:
    """Commands in flight by Little's law, in whole commands as esxtop counts them."""
    active = round(traffic.commands * traffic.driver / 1000.0)
    queued = round(traffic.commands * traffic.queue / 1000.0)
    return {
        "Device Q Depth": float(device.queue_depth),
        "Active Commands": float(active),
        "Queued Commands": float(queued),
        "% Used": 100.0 * active / device.queue_depth,
        "Load": (active + queued) / device.queue_depth,
    }


def _device(key: Key, of: Capture) -> Device:
    return next(device for device in of.scenario.devices if device.name == key[1])


def _of_name(of: Capture, name: str) -> Adapter:
    return next(adapter for adapter in of.scenario.adapters if adapter.name == name)


DISK_TABLES: dict[str, Callable[[Key, Snapshot, Capture], Values]] = {
    "Physical Disk/adapter": _adapter_queue,
    "Physical Disk Adapter": _adapter,
    "Physical Disk": _disk,
    "Physical Disk Path": _path,
    "Physical Disk SCSI Device": _scsi_device,
    "Physical Disk Per-Device-Per-World": _per_world,
    "Physical Disk Partition": _partition,
    "Physical Disk NFS Volume": _nfs,
    "Virtual Disk": _virtual_disk,
}
"""Functions by table of counters (a key of `counters.COUNTERS`)."""
