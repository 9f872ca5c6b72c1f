"""Troubles and alarming but harmless situations as data: read from the TOML files here, and edited into a host.

A situation has `id`, `title`, `source`, `family`, `host` ("recorded" or "wide"), `where` (the objects that a finding
may name: "vm", "device", "host" ...), `shows` (counters without which nobody could see it), `drops` and `edits`. Each
edit has `do` (a name of `_EDITS`), `on` (a role) and levels: one number, or one each for weak, medium and strong.
`standing`: the situation lasts throughout; `untimed`: no sample shows its start or end. `always` makes one edit last
throughout; `pulse = [period, length]` lets it come and go.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import cpu, memory, network, platform, storage
from .host import PER_WORLD, PORT, Host, Vm
from .stretch import generator

STRENGTHS = ("weak", "medium", "strong")
_LISTS = {"shares", "pulse"}
_EDGE = 20
"""Samples that are left at either end of a capture, at least."""


@dataclass(frozen=True)
class Situation:
    """A trouble, or something that only looks like one."""

    id: str
    title: str
    source: str
    family: str
    edits: list[dict[str, Any]]
    where: list[str]
    host: str = "wide"
    harmless: bool = False
    standing: bool = False
    untimed: bool = False
    """Whether its start and end cannot be read off the samples, as of a clock that was set."""
    vcpus: int = 1
    """How many vCPUs the VM has at least."""
    on_nfs: bool = False
    shows: list[str] = field(default_factory=list)
    drops: list[str] = field(default_factory=list)
    """Objects, or counters as `object:counter`, that the capture lacks."""


@dataclass
class Roles:
    """The objects that a situation is about, drawn by a seed."""

    vm: Vm
    vm2: Vm
    others: list[Vm]
    device: str
    device2: str
    uplink: str
    uplink2: str
    vmkernel: str
    pcpu: str
    nfs: str

    def vms(self, role: str) -> list[Vm]:
        """The VMs of a role."""
        return {"vm": [self.vm], "vm2": [self.vm2], "others": self.others, "all": [self.vm, *self.others]}[role]

    def names(self, where: list[str]) -> set[tuple[str, str]]:
        """Kind and name of each object that a finding may name."""
        found = {
            "vm": [("vm", self.vm.name)],
            "vm2": [("vm", self.vm2.name)],
            "others": [("vm", one.name) for one in self.others],
            "device": [("device", self.device)],
            "device2": [("device", self.device2)],
            "adapter": [("adapter", "*")],
            "path": [("path", "*")],
            "uplink": [("port", self.uplink)],
            "uplink2": [("port", self.uplink2)],
            "vmkernel": [("port", self.vmkernel)],
            "ports": [("port", one) for one in self.vm.ports],
            "pcpu": [("pcpu", self.pcpu)],
            "nfs": [("nfs", self.nfs)],
            "host": [("host", "host")],
        }
        return {one for role in where for one in found[role]}


def read_situations(folder: Path = Path(__file__).parent) -> list[Situation]:
    """Every situation of the TOML files, troubles first."""
    found = []
    for file in sorted(folder.glob("*.toml")):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        for kind, harmless in (("trouble", False), ("harmless", True)):
            found += [Situation(**one, harmless=harmless) for one in data.get(kind, [])]
    return sorted(found, key=lambda one: one.harmless)


def draw_roles(host: Host, situation: Situation, seed: int) -> Roles:
    """Choose VM, disks, uplinks and PCPU."""
    random = generator(seed, situation.id, "roles")
    able = [
        one for one in host.vms if len(one.vcpus) >= situation.vcpus and (one.name in host.nfs_of) == situation.on_nfs
    ]
    vm = able[int(random.integers(len(able)))]
    others = [one for one in host.vms if one is not vm]
    mine = host.devices_of(vm)
    vm2 = next(
        (one for one in random.permutation(np.array(others, dtype=object)) if set(host.devices_of(one)) & set(mine)),
        others[0],
    )
    disks = [one.name for one in host.devices if one.worlds]
    device = mine[0] if mine else disks[0]
    links = network.uplinks(host)
    mine_link = network.uplink_of(host, network.port_of(host, vm)) or links[0]
    ports = [one for one in host.instances(PORT) if ":vmk" in one]
    return Roles(
        vm=vm,
        vm2=vm2,
        others=others,
        device=device,
        device2=next((one for one in disks if one != device), device),
        uplink=mine_link,
        uplink2=next((one for one in links if one != mine_link), mine_link),
        vmkernel=ports[-1] if ports else "",
        pcpu=host.pcpus[int(random.integers(len(host.pcpus))) // 2 * 2],
        nfs=host.nfs_of.get(vm.name, ""),
    )


def draw_window(host: Host, situation: Situation, seed: int) -> tuple[int, int]:
    """First and last sample of the situation, both inclusive."""
    samples = host.capture.samples
    if situation.standing:
        return 0, samples - 1
    random = generator(seed, situation.id, "window")
    length = int(random.integers(samples // 4, samples // 2))
    start = int(random.integers(_EDGE, samples - length - _EDGE // 2))
    return start, start + length - 1


def inject(host: Host, situation: Situation, strength: str, roles: Roles, window: tuple[int, int]) -> tuple[int, int]:
    """Edit a situation into a host, and make all sums true again; returns the first and last sample that show it."""
    whole = np.zeros(host.capture.samples)
    whole[window[0] : window[1] + 1] = 1.0
    shown = np.zeros_like(whole)
    for one in situation.edits:
        edit = {name: _level(name, value, strength) for name, value in one.items()}
        pulse = edit.pop("pulse", None)
        lasting = edit.pop("always", False)
        host.window = np.ones_like(whole) if lasting else whole
        if pulse:
            place = np.arange(len(whole)) - window[0]
            host.window = host.window * (place % pulse[0] < pulse[1])
        _EDITS[edit.pop("do")](host, roles, **edit)
        if not lasting:
            shown += host.window
    host.window = whole
    settle(host)
    at = np.flatnonzero(shown)
    return (int(at[0]), int(at[-1])) if len(at) else window


def settle(host: Host, *, everything: bool = False) -> None:
    """Make all sums of a host true."""
    memory.settle_memory(host, everything=everything)
    storage.settle_storage(host)
    network.settle_network(host)
    cpu.settle_cpu(host, everything=everything)
    if everything:
        platform.settle_states(host)


def _level(name: str, value: Any, strength: str) -> Any:
    return value[STRENGTHS.index(strength)] if isinstance(value, list) and name not in _LISTS else value


def _vcpus(host: Host, roles: Roles, on: str = "vm", which: str | int = "all", **levels: float) -> None:
    for vm in roles.vms(on):
        cpu.edit_vcpus(host, vm, which, **levels)


def _fill(host: Host, roles: Roles, busy: float, **levels: float) -> None:
    """All vCPUs run alike, until the PCPUs are busy for this share."""
    vcpus = sum(len(one.vcpus) for one in roles.vms("all"))
    run = min(100 * busy * len(host.pcpus) / vcpus, 98.0)
    for vm in roles.vms("all"):
        cpu.edit_vcpus(host, vm, "all", run=run, **levels)


def _helpers(host: Host, roles: Roles, name: str, on: str = "vm", **levels: float) -> None:
    for vm in roles.vms(on):
        cpu.edit_helpers(host, vm, name, **levels)


def _cpu_limit(host: Host, roles: Roles, mhz: float) -> None:
    cpu.limit_cpu(host, roles.vm, mhz)


def _group(host: Host, _: Roles, name: str, **levels: Any) -> None:
    cpu.edit_group(host, name, **levels)


def _memory(host: Host, roles: Roles, on: str = "vm", **levels: float) -> None:
    for vm in roles.vms(on):
        memory.edit_memory(host, vm, **levels)


def _follow(host: Host, roles: Roles, counter: str, rate: str, on: str = "vm", sign: float = 1.0) -> None:
    for vm in roles.vms(on):
        memory.follow(host, vm, counter, rate, sign)


def _wait_for_memory(host: Host, roles: Roles, percent: float, on: str = "vm") -> None:
    for vm in roles.vms(on):
        memory.wait_for_memory(host, vm, percent)


def _squeeze(host: Host, roles: Roles, free: float, on: str = "vm") -> None:
    memory.squeeze(host, roles.vms(on)[0], free)


def _io(host: Host, roles: Roles, on: str = "vm", device: str = "device", **levels: float) -> None:
    for vm in roles.vms(on):
        storage.edit_io(host, vm, getattr(roles, device), **levels)


def _device(host: Host, roles: Roles, device: str = "device", only: str = "", **levels: Any) -> None:
    storage.edit_device(host, getattr(roles, device), only=roles.vms(only)[0] if only else None, **levels)


def _every_device(host: Host, _: Roles, **levels: Any) -> None:
    for device in host.devices:
        if device.worlds and host.get(PER_WORLD, device.worlds[0], "Device Q Depth").any():
            storage.edit_device(host, device.name, **levels)


def _active(host: Host, roles: Roles, active: float, queued: float = 0.0, device: str = "device") -> None:
    storage.edit_active(host, getattr(roles, device), active, queued)


def _fill_queue(host: Host, roles: Roles, device: str = "device", **levels: Any) -> None:
    storage.fill_queue(host, getattr(roles, device), **levels)


def _depth(host: Host, roles: Roles, depth: float, device: str = "device") -> None:
    storage.edit_depth(host, getattr(roles, device), depth)


def _paths(host: Host, roles: Roles, shares: list[float], failing: int = -1, device: str = "device") -> None:
    storage.edit_shares(host, getattr(roles, device), shares, failing)


def _nfs(host: Host, roles: Roles, **levels: float) -> None:
    storage.edit_nfs(host, roles.nfs, **levels)


def _optical(host: Host, _: Roles, **levels: Any) -> None:
    drive = next(one.name for one in host.devices if one.name.startswith("mpx."))
    storage.edit_device(host, drive, **levels)


def _unseen(host: Host, roles: Roles, share: float) -> None:
    host.unseen[roles.vm.name] = 1 - (1 - share) * host.window


def _virtual(host: Host, roles: Roles, extra: float) -> None:
    host.virtual_extra[roles.vm.name] = np.where(host.window > 0, extra, 0.05)


def _port(host: Host, roles: Roles, on: str = "vm", **levels: float) -> None:
    if on.startswith("uplink"):
        network.edit_port(host, getattr(roles, on), **levels)
    else:
        for vm in roles.vms(on):
            network.edit_port(host, network.port_of(host, vm), **levels)


def _vmkernel_port(host: Host, roles: Roles, **levels: float) -> None:
    network.edit_port(host, roles.vmkernel, **levels)


def _take_down(host: Host, roles: Roles, link: str, other: str) -> None:
    network.take_down(host, getattr(roles, link), getattr(roles, other))


def _broadcasts(host: Host, roles: Roles, rate: float, drop_rx: float = 0.0) -> None:
    network.edit_broadcasts(host, roles.uplink.partition(":")[0], rate, drop_rx=drop_rx)


def _interrupts(host: Host, roles: Roles, rate: float, micros: float) -> None:
    platform.edit_interrupts(host, roles.pcpu, rate, micros)


_EDITS: dict[str, Callable[..., None]] = {
    "vcpus": _vcpus,
    "fill": _fill,
    "cpu_limit": _cpu_limit,
    "helpers": _helpers,
    "group": _group,
    "memory": _memory,
    "follow": _follow,
    "wait_for_memory": _wait_for_memory,
    "squeeze": _squeeze,
    "io": _io,
    "device": _device,
    "every_device": _every_device,
    "active": _active,
    "fill_queue": _fill_queue,
    "depth": _depth,
    "paths": _paths,
    "nfs": _nfs,
    "optical": _optical,
    "unseen": _unseen,
    "virtual": _virtual,
    "port": _port,
    "vmkernel_port": _vmkernel_port,
    "take_down": _take_down,
    "broadcasts": _broadcasts,
    "interrupts": _interrupts,
    "clock": lambda host, _, ratio: cpu.edit_clock(host, ratio),
    "p_states": lambda host, _, **levels: platform.edit_p_states(host, **levels),
    "t_states": lambda host, _, **levels: platform.edit_t_states(host, **levels),
    "c_states": lambda host, _, **levels: platform.edit_c_states(host, **levels),
    "power": lambda host, _, **levels: platform.edit_power(host, **levels),
    "gap": lambda host, _, seconds: platform.leave_gap(host, seconds),
    "clock_back": lambda host, _, seconds: platform.set_clock_back(host, seconds),
}
