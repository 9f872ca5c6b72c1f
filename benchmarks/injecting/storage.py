"""Edits disk I/O; per-world rows, disks, paths, adapters and virtual disks follow.

GAVG = DAVG + KAVG, and QAVG is part of KAVG. Active = commands/s x DAVG, queued = commands/s x QAVG (Little's law).
A command's latency is the mean over reads, writes and others, weighted by their rates (Broadcom KB 309140).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .host import ADAPTER, DEVICE, NFS, PATH, PER_PATH, PER_WORLD, VIRTUAL, Device, Host, Vm
from .stretch import generator, wobble

if TYPE_CHECKING:
    from .capture import Cells

RATES = (
    "Commands/sec",
    "Reads/sec",
    "Writes/sec",
    "MBytes Read/sec",
    "MBytes Written/sec",
    "Reserves/sec",
    "Conflicts/sec",
    "Failed Commands/sec",
    "Failed Reads/sec",
    "Failed Writes/sec",
    "Failed Reserves/sec",
    "Aborts/sec",
    "Resets/sec",
)
PARTS = ("Driver", "Kernel", "Queue")
_KINDS = {"Read": "Reads/sec", "Write": "Writes/sec", "Command": "Commands/sec"}
_ERRORS = ("Failed Commands/sec", "Failed Reads/sec", "Failed Writes/sec", "Aborts/sec", "Resets/sec")
_NAMES = {
    "aborts": "Aborts/sec",
    "resets": "Resets/sec",
    "failed": "Failed Commands/sec",
    "failed_reads": "Failed Reads/sec",
    "failed_writes": "Failed Writes/sec",
    "conflicts": "Conflicts/sec",
    "reserves": "Reserves/sec",
}
_KIB = 1024.0
_USUAL_EXTRA = 0.05
"""Milliseconds between a virtual disk and its disk."""


def edit_io(host: Host, vm: Vm, device: str, *, iops: float, kb: float = 16.0, read: float = 0.7) -> None:
    """Let a VM issue so many commands per second of this size to a disk; `read` is the share of reads."""
    world = host.world_of(vm, device)
    if not world:
        return
    noise = wobble(host.capture.samples, 0.1, generator(host.seed, "io", world))
    rates = {"Reads/sec": read, "Writes/sec": 1 - read, "Commands/sec": 1.0}
    for counter, share in rates.items():
        _blend(host, PER_WORLD, world, counter, iops * share * noise)
    _blend(host, PER_WORLD, world, "MBytes Read/sec", iops * read * kb / _KIB * noise)
    _blend(host, PER_WORLD, world, "MBytes Written/sec", iops * (1 - read) * kb / _KIB * noise)
    for part in PARTS:
        typical = host.before(DEVICE, device, f"Average {part} MilliSec/Command").mean()
        for kind in _KINDS:
            counter = f"Average {part} MilliSec/{kind}"
            if not host.get(PER_WORLD, world, counter).any() and typical:
                host.put(PER_WORLD, world, counter, np.full(host.capture.samples, typical))


def _blend(host: Host, kind: str, instance: str, counter: str, target: Cells) -> None:
    host.put(kind, instance, counter, host.get(kind, instance, counter) * (1 - host.window) + target * host.window)


def edit_device(host: Host, name: str, *, of: str = "Command", only: Vm | None = None, **levels: float) -> None:
    """Bring a disk to these levels: `davg`, `kavg`, `qavg` in ms, `scale` of its commands, and rates of `_NAMES`.

    of: "Read" or "Write" if only one kind is slow. only: the VM whose commands alone are.
    """
    device = host.device(name)
    worlds = [host.world_of(only, name)] if only else device.worlds
    if "scale" in levels:
        for world in worlds:
            for counter in RATES:
                _blend(host, PER_WORLD, world, counter, host.get(PER_WORLD, world, counter) * levels["scale"])
    for part, key in (("Driver", "davg"), ("Kernel", "kavg"), ("Queue", "qavg")):
        if key in levels:
            noise = wobble(host.capture.samples, 0.12, generator(host.seed, key.replace("q", "k"), name))
            for world in worlds:
                for kind in _KINDS if of == "Command" else (of,):
                    _blend(host, PER_WORLD, world, f"Average {part} MilliSec/{kind}", levels[key] * noise)
    # What failed is counted under the world with most commands.
    busiest = max(worlds, key=lambda one: host.get(PER_WORLD, one, "Commands/sec").mean(), default="")
    for key, counter in _NAMES.items():
        if key in levels and busiest:
            host.edit(PER_WORLD, busiest, counter, levels[key], noise=0.2)


def edit_active(host: Host, name: str, active: float, queued: float = 0.0) -> None:
    """Leave so many commands active and queued that nobody answers, as on a disk all of whose paths are down."""
    host.stuck[name] = (active * host.window, queued * host.window)


def fill_queue(host: Host, name: str, *, davg: float, kb: float = 8.0, **levels: Any) -> None:
    """Let the VMs of a disk keep its queue full: depth / latency commands per second, shared among them."""
    users = [vm for vm in host.vms if host.world_of(vm, name)]
    depth = float(host.get(DEVICE, name, "Device Q Depth")[0])
    for vm in users:
        edit_io(host, vm, name, iops=1.05 * depth * 1000 / davg / len(users), kb=kb)
    edit_device(host, name, davg=davg, **levels)


def edit_depth(host: Host, name: str, depth: float) -> None:
    """Give a disk this queue depth throughout."""
    for kind, instances in ((DEVICE, [name]), (PER_WORLD, host.device(name).worlds)):
        for one in instances:
            host.put(kind, one, "Device Q Depth", np.full(host.capture.samples, depth))


def edit_shares(host: Host, name: str, shares: list[float], failing: int = -1) -> None:
    """Send the commands of a disk over its paths in these shares while the trouble lasts.

    failing: the path on which commands fail, if one does.
    """
    host.shares[name] = (host.window, shares)
    if failing >= 0:
        host.failing[name] = failing


def edit_nfs(host: Host, name: str, *, iops: float = 0.0, kb: float = 16.0, read: float = 0.7, **levels: float) -> None:
    """Bring an NFS volume to commands per second of a size, and `gavg`, `gavg_read`, `gavg_write` in ms."""
    if iops:
        for counter, level in {
            "Commands/sec": iops,
            "Reads/sec": iops * read,
            "Writes/sec": iops * (1 - read),
            "MBytes Read/sec": iops * read * kb / _KIB,
            "MBytes Written/sec": iops * (1 - read) * kb / _KIB,
        }.items():
            noise = wobble(host.capture.samples, 0.1, generator(host.seed, "nfs", name))
            _blend(host, NFS, name, counter, level * noise)
    for kind, key in (("Read", "gavg_read"), ("Write", "gavg_write")):
        slow = levels.get(key, levels.get("gavg"))
        if slow:
            noise = wobble(host.capture.samples, 0.12, generator(host.seed, key, name))
            _blend(host, NFS, name, f"Average Guest MilliSec/{kind}", slow * noise)


def settle_storage(host: Host) -> None:
    """Make rows of disks the sums and weighted means of their worlds', and paths, adapters and virtual disks follow."""
    for device in host.devices:
        for world in device.worlds:
            _settle_latency(host, PER_WORLD, world)
        _throttle(host, device)
        _merge(host, DEVICE, device.name, PER_WORLD, device.worlds)
        _settle_queue(host, device)
        _settle_paths(host, device)
    paths = host.instances(PATH)
    for adapter in host.instances(ADAPTER):
        _merge(host, ADAPTER, adapter, PATH, [one for one in paths if one.startswith(f"{adapter}:")])
    for vm in host.vms:
        _settle_virtual(host, vm)
    for volume in host.instances(NFS):
        _settle_nfs(host, volume)


def _throttle(host: Host, device: Device) -> None:
    """Slow VMs down to what a disk's queue lets through: depth / latency."""
    active = np.zeros(host.capture.samples)
    for one in device.worlds:
        answered = host.get(PER_WORLD, one, "Average Driver MilliSec/Command") / 1000
        active = active + host.get(PER_WORLD, one, "Commands/sec") * answered
    depth = np.maximum(host.get(DEVICE, device.name, "Device Q Depth"), 1.0)
    factor = np.minimum(1.0, depth / np.maximum(active, 1e-9))
    if np.all(factor == 1.0):
        return
    for world in device.worlds:
        for counter in RATES:
            if counter not in _ERRORS:
                host.put(PER_WORLD, world, counter, host.get(PER_WORLD, world, counter) * factor)


def _settle_latency(host: Host, kind: str, instance: str) -> None:
    """Latency of a command from reads, writes and others; guest from driver and kernel."""
    rates = {one: host.get(kind, instance, counter) for one, counter in _KINDS.items()}
    some = rates["Read"] + rates["Write"]
    for part in PARTS:
        read, write, every = (
            host.get(kind, instance, f"Average {part} MilliSec/{one}") for one in ("Read", "Write", "Command")
        )
        others = np.clip(rates["Command"] - some, 0.0, None)
        total = np.maximum(some + others, 1e-12)
        mean = (rates["Read"] * read + rates["Write"] * write + others * every) / total
        host.put(kind, instance, f"Average {part} MilliSec/Command", np.where(rates["Command"] > 0, mean, 0.0))
    for one, rate in rates.items():
        for part in PARTS:
            cells = host.get(kind, instance, f"Average {part} MilliSec/{one}")
            host.put(kind, instance, f"Average {part} MilliSec/{one}", np.where(rate > 0.005, cells, 0.0))
        driver, kernel = (host.get(kind, instance, f"Average {part} MilliSec/{one}") for part in ("Driver", "Kernel"))
        host.put(kind, instance, f"Average Guest MilliSec/{one}", driver + kernel)


def _merge(host: Host, kind: str, instance: str, of: str, parts: list[str]) -> None:
    """Sums of rates, and means of latencies weighted by them."""
    if not parts:
        return
    for counter in RATES:
        host.put(kind, instance, counter, np.sum([host.get(of, one, counter) for one in parts], axis=0))
    for name, rate in _KINDS.items():
        weights = np.array([host.get(of, one, rate) for one in parts])
        total = np.maximum(weights.sum(axis=0), 1e-12)
        for part in (*PARTS, "Guest"):
            counter = f"Average {part} MilliSec/{name}"
            cells = np.array([host.get(of, one, counter) for one in parts])
            host.put(kind, instance, counter, (cells * weights).sum(axis=0) / total)


def _settle_queue(host: Host, device: Device) -> None:
    extra = host.stuck.get(device.name, (np.zeros(host.capture.samples),) * 2)
    for kind, one in [(DEVICE, device.name), *((PER_WORLD, world) for world in device.worlds)]:
        rate = host.get(kind, one, "Commands/sec") / 1000
        share = 1.0 if kind == DEVICE else 1.0 / max(len(device.worlds), 1)
        active = np.round(rate * host.get(kind, one, "Average Driver MilliSec/Command") + extra[0] * share)
        queued = np.round(rate * host.get(kind, one, "Average Queue MilliSec/Command") + extra[1] * share)
        depth = np.maximum(host.get(kind, one, "Device Q Depth"), 1.0)
        over = np.clip(active - depth, 0.0, None)
        active, queued = active - over, np.maximum(queued, over)
        host.put(kind, one, "Active Commands", active)
        host.put(kind, one, "Queued Commands", queued)
        host.put(kind, one, "% Used", np.round(100 * active / depth))
        host.put(kind, one, "Load", (active + queued) / depth)


def _settle_paths(host: Host, device: Device) -> None:
    """Paths share the commands of their disk, by what they carried before unless told."""
    if not device.paths:
        return
    before = np.array([host.before(PATH, one, "Commands/sec") for one in device.paths])
    usual = before / np.maximum(before.sum(axis=0), 1e-12)
    if not before.any():
        usual[0] = 1.0
    if device.name in host.shares:
        window, shares = host.shares[device.name]
        usual = usual * (1 - window) + np.outer(shares, window)
    for path, share in zip(device.paths, usual, strict=True):
        adapter = path.partition(":")[0]
        for kind, one in ((PATH, path), (PER_PATH, f"{adapter}:{path}")):
            for counter in RATES:
                errors = counter in _ERRORS and device.name in host.failing
                part = float(device.paths[host.failing[device.name]] == path) if errors else share
                host.put(kind, one, counter, host.get(DEVICE, device.name, counter) * part)
            for name in _KINDS:
                for part in (*PARTS, "Guest"):
                    counter = f"Average {part} MilliSec/{name}"
                    host.put(kind, one, counter, np.where(share > 0, host.get(DEVICE, device.name, counter), 0.0))


def _settle_virtual(host: Host, vm: Vm) -> None:
    """A virtual disk follows the commands of its VM, less those that no virtual disk asked for."""
    if not vm.disks:
        return
    worlds = [host.world_of(vm, one) for one in host.devices_of(vm)]
    on_nfs = host.nfs_of.get(vm.name)
    pairs = [(NFS, on_nfs)] if on_nfs else [(PER_WORLD, one) for one in worlds]
    if not pairs:
        return
    changed = any(
        not np.array_equal(host.get(kind, one, counter), host.before(kind, one, counter))
        for kind, one in pairs
        for counter in ("Commands/sec", "Average Guest MilliSec/Read", "Average Guest MilliSec/Write")
    )
    if not changed and vm.name not in host.unseen and vm.name not in host.virtual_extra:
        return
    users = sum(volume == on_nfs for volume in host.nfs_of.values()) if on_nfs else 1
    seen = host.unseen.get(vm.name, 1.0) / users
    extra = host.virtual_extra.get(vm.name, np.full(host.capture.samples, _USUAL_EXTRA))
    for one in (vm.name, vm.disks[0]):
        for counter in ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec"):
            total = np.sum([host.get(kind, place, counter) for kind, place in pairs], axis=0)
            host.put(VIRTUAL, one, counter, total * seen)
        for name in ("Read", "Write"):
            weights = np.array([host.get(kind, place, f"{name}s/sec") for kind, place in pairs])
            cells = np.array([host.get(kind, place, f"Average Guest MilliSec/{name}") for kind, place in pairs])
            mean = (weights * cells).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-12)
            host.put(VIRTUAL, one, f"Average MilliSec/{name}", np.where(mean > 0, mean + extra, 0.0))


def _settle_nfs(host: Host, volume: str) -> None:
    read, write = (host.get(NFS, volume, f"{one}s/sec") for one in ("Read", "Write"))
    slow = [host.get(NFS, volume, f"Average Guest MilliSec/{one}") for one in ("Read", "Write")]
    every = (read * slow[0] + write * slow[1]) / np.maximum(read + write, 1e-12)
    host.put(NFS, volume, "Average Guest MilliSec/Command", every)
