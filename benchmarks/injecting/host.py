"""Finds the objects of a capture and how they depend on each other: VM, worlds, devices, paths, adapters, ports."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from .capture import Capture, Cells, Key
from .stretch import generator, wobble

WORLD, GROUP = "Vcpu", "Group Cpu"
DEVICE, PATH, PER_WORLD = "Physical Disk SCSI Device", "Physical Disk Path", "Physical Disk Per-Device-Per-World"
ADAPTER, PER_PATH, VIRTUAL = "Physical Disk Adapter", "Physical Disk", "Virtual Disk"
NFS, PORT, MEMORY = "Physical Disk NFS Volume", "Network Port", "Group Memory"
_NOISE = 0.08
"""Standard deviation of what is edited, as a share of its level."""


@dataclass
class Vm:
    """A VM: its group, its worlds by instance, its virtual disks and its ports."""

    name: str
    group: str
    vcpus: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    disks: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)
    leader: str = ""
    """The world under which devices count its commands."""


@dataclass
class Device:
    """A disk with its paths, and the instances of worlds that use it."""

    name: str
    paths: list[str]
    worlds: list[str] = field(default_factory=list)


class Host:
    """A capture with its objects, the part of it in which a trouble shows, and how strong the trouble is."""

    def __init__(self, capture: Capture, seed: int = 0) -> None:
        self.capture = capture
        self.seed = seed
        self.window = np.zeros(capture.samples)
        """1 in the samples of the trouble, 0 in the others."""
        self.vms = _vms(capture)
        self.devices = _devices(capture)
        self.pcpus = [one for one in _instances(capture, "Physical Cpu") if one.isdigit()]
        self.original = dict(capture.columns)
        """Columns as they were before the first edit."""
        used, util = (
            sum(float(self.get("Physical Cpu", one, counter).mean()) for one in self.pcpus)
            for counter in ("% Processor Time", "% Util Time")
        )
        self.clock = np.full(capture.samples, used / util if util else 1.0)
        """%USED / %UTIL of the physical CPUs."""
        self.clocks: dict[str, Cells] = {}
        """The same of worlds that have another clock."""
        self.stuck: dict[str, tuple[Cells, Cells]] = {}
        """Commands that a disk leaves active and queued beyond those that it answers."""
        self.shares: dict[str, tuple[Cells, list[float]]] = {}
        """When a disk's paths have other shares of its commands, and which."""
        self.failing: dict[str, int] = {}
        """Which path of a disk fails commands."""
        self.unseen: dict[str, Cells] = {}
        """The share of a VM's commands that its virtual disks issue, if not all."""
        self.virtual_extra: dict[str, Cells] = {}
        """Milliseconds that a virtual disk waits before its disk sees the command."""
        self.flooded: set[str] = set()
        """Switches with a flood of broadcasts."""

    def __contains__(self, key: tuple[str, str, str]) -> bool:
        return Key(*key) in self.capture.columns

    def get(self, kind: str, instance: str, counter: str) -> Cells:
        """The cells of a column; zeros if the capture lacks it."""
        found = self.capture.columns.get(Key(kind, instance, counter))
        return np.zeros(self.capture.samples) if found is None else found

    def before(self, kind: str, instance: str, counter: str) -> Cells:
        """The cells as they were before the first edit."""
        found = self.original.get(Key(kind, instance, counter))
        return np.zeros(self.capture.samples) if found is None else found

    def put(self, kind: str, instance: str, counter: str, cells: Cells) -> None:
        """Replace the cells of a column that exists; another is left out, as the release does not print it."""
        key = Key(kind, instance, counter)
        old = self.capture.columns.get(key)
        if old is not None and not np.array_equal(old, cells):
            self.capture.columns[key] = cells

    def edit(self, kind: str, instance: str, counter: str, level: float, *, noise: float = _NOISE) -> None:
        """Bring a column to a level while the trouble lasts, with noise around it."""
        self.put(
            kind,
            instance,
            counter,
            self.blend(self.get(kind, instance, counter), level, counter, instance, noise=noise),
        )

    def blend(self, cells: Cells, level: float, *names: str, noise: float = _NOISE) -> Cells:
        """Cells that leave their own level for another one while the trouble lasts; the names choose the noise."""
        target = level * wobble(len(cells), noise, generator(self.seed, *names))
        return cells * (1 - self.window) + target * self.window

    def instances(self, kind: str) -> list[str]:
        """The instances of an object, in the order of the header."""
        return _instances(self.capture, kind)

    def vm(self, name: str) -> Vm:
        """The VM of a name."""
        return next(one for one in self.vms if one.name == name)

    @property
    def nfs_of(self) -> dict[str, str]:
        """The NFS volume of each VM that lies on one."""
        return self.capture.on_nfs

    def device(self, name: str) -> Device:
        """The disk of a name."""
        return next(one for one in self.devices if one.name == name)

    def world_of(self, vm: Vm, device: str) -> str:
        """The instance under which a device counts the commands of a VM; "" if the VM does not use it."""
        name = f"{device}-{vm.leader}"
        return name if name in self.device(device).worlds else ""

    def devices_of(self, vm: Vm) -> list[str]:
        """The disks that a VM uses, that with most commands first."""
        mine = [one.name for one in self.devices if self.world_of(vm, one.name)]
        return sorted(mine, key=lambda one: -self.get(PER_WORLD, self.world_of(vm, one), "Commands/sec").mean())


def _instances(capture: Capture, kind: str) -> list[str]:
    return list(dict.fromkeys(key.instance for key in capture.columns if key.object == kind))


def _vms(capture: Capture) -> list[Vm]:
    """Groups that have a world named `vmx-vcpu-0`."""
    found: dict[str, Vm] = {}
    worlds: dict[str, list[str]] = {}
    for instance in _instances(capture, WORLD):
        gid, name, _ = instance.split(":", 2)
        worlds.setdefault(f"{gid}:{name}", []).append(instance)
    for group, mine in worlds.items():
        if any(":vmx-vcpu-" in one for one in mine):
            name = group.partition(":")[2]
            vm = Vm(
                name,
                group,
                [one for one in mine if ":vmx-vcpu-" in one],
                [one for one in mine if ":vmx-vcpu-" not in one],
            )
            leaders = [match[1] for one in mine if (match := re.search(r":NetWorld-VM-(\d+)", one))]
            vm.leader = leaders[0] if leaders else ""
            found[name] = vm
    for disk in _instances(capture, VIRTUAL):
        name = disk.partition(":")[0]
        if name in found and disk != name:
            found[name].disks.append(disk)
    for port in _instances(capture, PORT):
        name = port.rpartition(":")[2]
        if name in found:
            found[name].ports.append(port)
    return list(found.values())


def known_paths(recorded: Capture) -> dict[str, list[str]]:
    """The paths of each disk of a recording: by name, by equal commands per second, else in order."""
    free = _instances(recorded, PATH)
    found: dict[str, list[str]] = {}
    devices = _instances(recorded, DEVICE)
    for name in devices:
        mine = recorded.columns.get(Key(DEVICE, name, "Commands/sec"))
        paths = [one for one in free if name.endswith(one)]
        if not paths and mine is not None and mine.any():
            paths = [one for one in free if np.array_equal(recorded.columns[Key(PATH, one, "Commands/sec")], mine)]
        found[name] = paths
        free = [one for one in free if one not in paths]
    for name in devices:
        if not found[name] and free:
            found[name] = [free.pop()]
    return found


def _devices(capture: Capture) -> list[Device]:
    """Disks with the paths that are known, and the worlds that use them."""
    per_world = _instances(capture, PER_WORLD)
    return [
        Device(name, capture.paths.get(name, []), [one for one in per_world if one.startswith(f"{name}-")])
        for name in _instances(capture, DEVICE)
    ]
