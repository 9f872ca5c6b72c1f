"""Who and what a scenario has, in fixed orders: what `sample` holds are arrays in these.

A layout is made once for a capture. Index arrays say how one order leads to another (`world_group[w]` is the group of
world `w`), so that a sum over a group or a device is one `bincount`.

Evidence: groups, worlds and their ids of a capture of ESXi 6.5. Assumed: which few of them a tidy host lists.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Generic, Literal, TypeVar

import numpy as np

from esxparse_simulator.host import Device, NfsVolume, Scenario, Vm, VsanDatastore
from esxparse_simulator.model.sums import Numbers, added, index

Target = Device | NfsVolume | VsanDatastore
T = TypeVar("T")

Kind = Literal["idle", "system", "vmx", "net", "mks", "vcpu", "pvscsi"]
FlowKind = Literal["disk", "swap", "snapshot", "log", "vsan", "poll"]
PortKind = Literal["management", "uplink", "shadow", "vmk", "vm"]

_FIRST_IDLE = 50  # of worlds that hardly do anything
_WORLDS = tomllib.loads((files("esxparse_simulator") / "model" / "worlds.toml").read_text(encoding="utf-8"))
_BEATS, _SYSTEM, _HELPERS, _DRIVERS = (_WORLDS[name] for name in ("beats", "system", "helpers", "drivers"))
_FIRST_PROCESS = 620  # where process worlds begin after the VMkernel's own
_FIRST_VM = 3_318


@dataclass(frozen=True, slots=True)
class World:
    """One schedulable thing. `number` counts from the release's first id; `busy` is its run time in percent.

    `beats` is how often a second it is switched to for hardly any time.
    """

    number: int
    name: str
    kind: Kind
    index: int = 0
    busy: float = 0.0
    beats: float = 0.0

    def label(self, base: int, leader: int) -> str:
        """The world's name as printed; network and disk worlds carry the id of their VM's leader."""
        return self.name.replace("{leader}", str(base + leader)) if self.kind in {"net", "pvscsi"} else self.name


@dataclass(frozen=True, slots=True)
class Group:
    """A group of worlds: a VM (`vm` is set), the VMkernel's own, or a user world process.

    `own` groups (system, helper, drivers) have no memory row; processes are named `name.<leader's id>`.
    """

    gid: int
    label: str
    worlds: tuple[World, ...]
    vm: Vm | None = None
    own: bool = False

    @property
    def leader(self) -> int:
        """Number of the world that leads: the unlisted vmm leader of a VM, else the first world."""
        return self.worlds[0].number + (1 if self.vm else 0)

    def name(self, base: int) -> str:
        """The group's name as printed for a release whose first world id is `base`."""
        return self.label if self.own or self.vm else f"{self.label}.{base + self.worlds[0].number}"


def groups_of(scenario: Scenario) -> tuple[Group, ...]:
    """Every group of the host in the order of a capture: VMkernel, processes, VMs, the session that runs esxtop."""
    vms = tuple(_vm_groups(scenario))
    last = vms[-1].worlds[-1].number if vms else _FIRST_VM
    return (
        *_own_groups(scenario.host.pcpus, scenario.idle_worlds),
        *_processes(_WORLDS["before_vms"], _FIRST_PROCESS, 5_320),
        *vms,
        *_processes(_WORLDS["after_vms"], last + 214, 52_400),
    )


def _own_groups(pcpus: int, idlers: int) -> Iterator[Group]:
    # idle0 comes after the worlds the boot processor starts before it can idle
    idle = [World(n, f"idle{n}", "idle", n) for n in range(1, pcpus)]
    last = World(pcpus + len(_SYSTEM), "idle0", "idle", 0)
    system = [World(pcpus + n, name, "system", busy=busy) for n, (name, busy) in enumerate(_SYSTEM)]
    system += [
        World(
            pcpus + _FIRST_IDLE + n,
            f"{name}{f'-{n // len(_BEATS)}' if n >= len(_BEATS) else ''}",
            "system",
            beats=beats,
        )
        for n, (name, beats) in ((n, _BEATS[n % len(_BEATS)]) for n in range(idlers))
    ]
    yield Group(1, "system", (*idle, *system, last), own=True)
    helpers = tuple(World(pcpus + 40 + n, name, "system", busy=busy) for n, (name, busy) in enumerate(_HELPERS))
    yield Group(8, "helper", helpers, own=True)
    drivers = tuple(World(pcpus + 30 + n, name, "system", busy=busy) for n, (name, busy) in enumerate(_DRIVERS))
    yield Group(9, "drivers", drivers, own=True)


def _processes(rows: Sequence[tuple[str, Sequence[tuple[str, float]]]], first: int, gid: int) -> Iterator[Group]:
    for n, (label, worlds) in enumerate(rows):
        start = first + 71 * n
        of = (World(start + k, name, "system", busy=busy) for k, (name, busy) in enumerate(worlds))
        yield Group(gid + 137 * n, label, tuple(of))


def _vm_groups(scenario: Scenario) -> Iterator[Group]:
    number, gid = _FIRST_VM, 21_764
    for vm in scenario.vms:
        worlds = [
            World(number, "vmx", "vmx", busy=0.05),
            World(number + 2, "NetWorld-VM-{leader}", "net"),
            World(number + 4, f"vmx-mks:{vm.name}", "mks", busy=0.004),
        ]
        # ids: the PVSCSI world is made when the first vCPU runs, between vcpu-0 and vcpu-1
        controllers = sorted({disk.slot.removeprefix("scsi").partition(":")[0] for disk in vm.disks})
        first = number + 5
        after = first + 1 + len(controllers)
        ids = [first, *range(after, after + vm.vcpus - 1)]
        worlds += [World(ids[n], f"vmx-vcpu-{n}:{vm.name}", "vcpu", n) for n in range(vm.vcpus)]
        worlds += [World(first + 1 + n, f"PVSCSI-{{leader}}:{c}", "pvscsi", n) for n, c in enumerate(controllers)]
        yield Group(gid, vm.name, tuple(worlds), vm)
        number = after + vm.vcpus + 11
        gid += 975


@dataclass(frozen=True, slots=True)
class FlowOf:
    """The I/O of one group to one target: of a virtual disk (`slot`), or of the VMkernel on its behalf.

    `snapshot`: a consolidation; `swap`: its swap file; `log`: hostd's; `poll`: the VMkernel's own; `vsan`:
    what a vSAN datastore (`source`, its place among the targets) does to one of the host's devices.
    """

    kind: FlowKind
    group: int
    target: int
    vm: int = -1
    slot: str | None = None
    disk: int = -1
    source: int = -1


@dataclass(frozen=True, slots=True)
class PortOf:
    """A port of a switch: `number` is its place in `scenario.switches[switch].uplinks` or `.vmkernel`, or its VM.

    `uplink` is the place, among all uplinks of the host, of the one that carries it (-1: none).
    """

    kind: PortKind
    switch: int
    name: str
    number: int = -1
    uplink: int = -1


@dataclass(frozen=True, slots=True)
class VectorOf:
    """An interrupt vector: of a disk adapter, an uplink (`number`: its place among those), the timers or the IPIs."""

    kind: Literal["adapter", "uplink", "timer", "ipi"]
    cookie: str
    number: int = -1


class Layout:
    """Every order there is.

    Lengths: G groups, W worlds, K vCPUs, P PCPUs, V VMs, T targets (devices, then NFS volumes, then vSAN datastores),
    F flows, Q ports, U uplinks, X interrupt vectors.
    """

    def __init__(self, scenario: Scenario) -> None:
        """That of a scenario."""
        groups = groups_of(scenario)
        guests = [number for number, group in enumerate(groups) if group.vm]
        vm_of = {number: place for place, number in enumerate(guests)}
        flat = [(number, group, world) for number, group in enumerate(groups) for world in group.worlds]
        flows = tuple(_flows(scenario, groups, vm_of))
        uses = sorted({(flow.target, flow.group) for flow in flows})
        place_of = {use: place for place, use in enumerate(uses)}
        idle = {world.index: place for place, (_, _, world) in enumerate(flat) if world.kind == "idle"}
        self.scenario = scenario
        self.groups = groups
        self.worlds = tuple(world for _, _, world in flat)
        self.world_group = index(number for number, _, _ in flat)
        # [W] the VM's place among the VMs, -1 for other worlds
        self.world_vm = index(vm_of.get(number, -1) for number, _, _ in flat)
        # [W] the NUMA node it runs on
        self.world_node = index(_node(scenario, number, group, world) for number, group, world in flat)
        # [K] places of the vCPUs among the worlds, VM after VM
        self.vcpus = index(place for place, (_, _, world) in enumerate(flat) if world.kind == "vcpu")
        # [P] places among the worlds of each PCPU's idle world
        self.idlers = index(idle[pcpu] for pcpu in range(scenario.host.pcpus))
        self.vms = tuple(group.vm for group in groups if group.vm)
        self.vm_group = index(guests)
        self.targets: tuple[Target, ...] = (*scenario.devices, *scenario.nfs, *scenario.vsan)
        self.flows = flows
        self.flow_target = index(flow.target for flow in flows)
        self.flow_vm = index(flow.vm for flow in flows)
        # (target, group) of every group that has I/O to do on a target, target after target
        self.uses = tuple(uses)
        # [F] the place of each flow's target and group among the uses
        self.flow_use = index(place_of[flow.target, flow.group] for flow in flows)
        self.ports = tuple(_ports(scenario, groups, vm_of))
        self.vectors = tuple(_vectors(scenario))

    @property
    def devices(self) -> int:
        """How many of the targets are SCSI devices; they come first."""
        return len(self.scenario.devices)


def _node(scenario: Scenario, number: int, group: Group, world: World) -> int:
    if group.vm is None:
        return number % scenario.host.sockets
    if world.kind == "vcpu" and group.vm.nodes:
        return group.vm.nodes[world.index * len(group.vm.nodes) // group.vm.vcpus]
    return group.vm.nodes[0] if group.vm.nodes else group.vm.node


def _flows(scenario: Scenario, groups: tuple[Group, ...], vm_of: dict[int, int]) -> Iterator[FlowOf]:
    targets: tuple[Target, ...] = (*scenario.devices, *scenario.nfs, *scenario.vsan)
    places = {target.name: place for place, target in enumerate(targets)}
    for number, group in enumerate(groups):
        if group.vm:
            vm = vm_of[number]
            for place, disk in enumerate(group.vm.disks):
                yield FlowOf("disk", number, places[disk.target], vm, disk.slot, place)
            if group.vm.disks:
                # the swap file lies beside the first disk, and so does what is consolidated
                first = places[group.vm.disks[0].target]
                yield FlowOf("swap", number, first, vm)
                yield FlowOf("snapshot", number, first, vm)
        elif group.label == "hostd" and scenario.devices:
            yield FlowOf("log", number, 0)
        elif group.label == "system":
            for place, datastore in enumerate(scenario.vsan, len(scenario.devices) + len(scenario.nfs)):
                yield from (FlowOf("vsan", number, places[device], source=place) for device in datastore.devices)
            polled = (place for place, device in enumerate(scenario.devices) if device.polled)
            yield from (FlowOf("poll", number, place) for place in polled)


def _ports(scenario: Scenario, groups: tuple[Group, ...], vm_of: dict[int, int]) -> Iterator[PortOf]:
    """Teaming by port: the VMs of a switch take its uplinks in turn, VMkernel ports the first."""
    first = 0
    for number, switch in enumerate(scenario.switches):
        yield PortOf("management", number, "Management")
        for place, nic in enumerate(switch.uplinks):
            yield PortOf("uplink", number, nic.name, place, first + place)
            yield PortOf("shadow", number, f"Shadow of {nic.name}", place)
        for place, vmk in enumerate(switch.vmkernel):
            yield PortOf("vmk", number, vmk, place, first if switch.uplinks else -1)
        mine = [place for place, group in enumerate(groups) if group.vm and group.vm.switch == switch.name]
        for turn, place in enumerate(mine):
            uplink = first + turn % len(switch.uplinks) if switch.uplinks else -1
            yield PortOf("vm", number, groups[place].label, vm_of[place], uplink)
        first += len(switch.uplinks)


def _vectors(scenario: Scenario) -> Iterator[VectorOf]:
    adapters, uplinks = len(scenario.adapters), sum(len(switch.uplinks) for switch in scenario.switches)
    for number in range(adapters):
        yield VectorOf("adapter", f"0x{0x21 + number:x}", number)
    for number in range(uplinks):
        yield VectorOf("uplink", f"0x{0x21 + adapters + number:x}", number)
    yield VectorOf("timer", "0xef")
    yield VectorOf("ipi", "0xf6")


def over_vcpus(layout: Layout, values: Numbers) -> Numbers:
    """The mean over each VM's vCPUs of what is along the worlds; along the VMs, zero for one without vCPUs."""
    mine, count = layout.world_vm[layout.vcpus], len(layout.vms)
    return added(values[layout.vcpus], mine, count) / np.maximum(1, np.bincount(mine, minlength=count))


class OncePerLayout(Generic[T]):
    """`make(layout)`, kept for as long as it is asked for with the same layout.

    A layout is compared by identity: it is made once for a capture. Captures that take turns only make it again.
    """

    def __init__(self, make: Callable[[Layout], T]) -> None:
        """Keep nothing yet."""
        self._make = make
        self._kept: tuple[Layout, T] | None = None

    def __call__(self, layout: Layout) -> T:
        """What `make` gives for this layout."""
        kept = self._kept
        if kept is None or kept[0] is not layout:
            kept = self._kept = (layout, self._make(layout))
        return kept[1]
