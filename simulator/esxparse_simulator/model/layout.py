"""Who and what a scenario has, in fixed orders: what `sample` holds are arrays in these.

A layout is made once for a capture. Index arrays say how one order leads to another (`world_group[w]` is the group of
world `w`), so that a sum over a group or a device is one `bincount`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from esxparse_simulator.model.worlds import groups_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from esxparse_simulator.host import Device, NfsVolume, Scenario, Vm, VsanDatastore
    from esxparse_simulator.model.worlds import Group, World

    Index = NDArray[np.intp]
    Target = Device | NfsVolume | VsanDatastore

FlowKind = Literal["disk", "swap", "snapshot", "log", "vsan"]
PortKind = Literal["management", "uplink", "shadow", "vmk", "vm"]


@dataclass(frozen=True, slots=True)
class FlowOf:
    """The I/O of one group to one target: of a virtual disk (`slot`), or of the VMkernel on its behalf.

    `snapshot`: a consolidation; `swap`: its swap file; `log`: hostd's; `vsan`: what a vSAN datastore (`source`, its
    place among the targets) does to one of the host's devices.
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


@dataclass(frozen=True, slots=True)
class Layout:
    """Every order there is.

    Lengths: G groups, W worlds, K vCPUs, P PCPUs, V VMs, T targets (devices, then NFS volumes, then vSAN datastores),
    F flows, Q ports, U uplinks, X interrupt vectors.
    """

    scenario: Scenario
    groups: tuple[Group, ...]
    worlds: tuple[World, ...]
    world_group: Index
    world_vm: Index
    """[W] the VM's place among the VMs, -1 for other worlds."""
    world_node: Index
    """[W] the NUMA node it runs on."""
    vcpus: Index
    """[K] places of the vCPUs among the worlds, VM after VM."""
    idlers: Index
    """[P] places among the worlds of each PCPU's idle world."""
    vms: tuple[Vm, ...]
    vm_group: Index
    targets: tuple[Target, ...]
    flows: tuple[FlowOf, ...]
    flow_group: Index
    flow_target: Index
    flow_vm: Index
    uses: tuple[tuple[int, int], ...]
    """(target, group) of every group that has I/O to do on a target, target after target."""
    flow_use: Index
    """[F] the place of each flow's target and group among the uses."""
    ports: tuple[PortOf, ...]
    vectors: tuple[VectorOf, ...]

    @property
    def devices(self) -> int:
        """How many of the targets are SCSI devices; they come first."""
        return len(self.scenario.devices)

    @property
    def uplinks(self) -> int:
        """How many uplinks the host has, switch after switch."""
        return sum(len(switch.uplinks) for switch in self.scenario.switches)


def layout_of(scenario: Scenario) -> Layout:
    """The layout of a scenario."""
    groups = groups_of(scenario)
    guests = [number for number, group in enumerate(groups) if group.vm]
    vm_of = {number: place for place, number in enumerate(guests)}
    flat = [(number, group, world) for number, group in enumerate(groups) for world in group.worlds]
    flows = tuple(_flows(scenario, groups, vm_of))
    uses = sorted({(flow.target, flow.group) for flow in flows})
    place_of = {use: place for place, use in enumerate(uses)}
    idle = {world.index: place for place, (_, _, world) in enumerate(flat) if world.kind == "idle"}
    return Layout(
        scenario=scenario,
        groups=groups,
        worlds=tuple(world for _, _, world in flat),
        world_group=_index(number for number, _, _ in flat),
        world_vm=_index(vm_of.get(number, -1) for number, _, _ in flat),
        world_node=_index(_node(scenario, number, group, world) for number, group, world in flat),
        vcpus=_index(place for place, (_, _, world) in enumerate(flat) if world.kind == "vcpu"),
        idlers=_index(idle[pcpu] for pcpu in range(scenario.host.pcpus)),
        vms=tuple(group.vm for group in groups if group.vm),
        vm_group=_index(guests),
        targets=(*scenario.devices, *scenario.nfs, *scenario.vsan),
        flows=flows,
        flow_group=_index(flow.group for flow in flows),
        flow_target=_index(flow.target for flow in flows),
        flow_vm=_index(flow.vm for flow in flows),
        uses=tuple(uses),
        flow_use=_index(place_of[flow.target, flow.group] for flow in flows),
        ports=tuple(_ports(scenario, groups, vm_of)),
        vectors=tuple(_vectors(scenario)),
    )


def _index(values: Iterable[int]) -> Index:
    return np.fromiter(values, dtype=np.intp)


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
                for device in datastore.devices:
                    yield FlowOf("vsan", number, places[device], source=place)


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
    number = 0
    for place in range(len(scenario.adapters)):
        yield VectorOf("adapter", f"0x{0x21 + number:x}", place)
        number += 1
    for place in range(sum(len(switch.uplinks) for switch in scenario.switches)):
        yield VectorOf("uplink", f"0x{0x21 + number:x}", place)
        number += 1
    yield VectorOf("timer", "0xef")
    yield VectorOf("ipi", "0xf6")
