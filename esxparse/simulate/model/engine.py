"""One host through time: asks every part of the model what happens in a sample and keeps what outlives it.

`capture` gives a `Capture`; going through it yields a `Snapshot` per sample, computed as it is asked for, so that the
length of a capture costs no memory. Going through it again gives the same snapshots.

Order within a sample: guests' wants, memory, disks, CPU (which waits for disks and swap), clocks, ports, interrupts,
watts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import fsum
from typing import TYPE_CHECKING

from esxparse.simulate.model.cpu import Guest, NodeTimes, PcpuTimes, WorldTimes, run_host
from esxparse.simulate.model.interrupts import Interrupt, device_interrupt, ipi_interrupt, timer_interrupt
from esxparse.simulate.model.memory import VmMemory, first_memory, next_memory
from esxparse.simulate.model.network import PortTraffic, sum_ports, vm_port, vmkernel_port
from esxparse.simulate.model.noise import Noise
from esxparse.simulate.model.power import host_watts
from esxparse.simulate.model.storage import Flow, Traffic, serve, together
from esxparse.simulate.model.worlds import Group, groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from esxparse.simulate.host import Device, Load, NfsVolume, Scenario, Vm

__all__ = ["Capture", "Snapshot", "capture"]

_PAGE_KB = 4.0
_PAGES_PER_MB = 256.0
_LOG_FLOW = (1.5, 9.0)  # reads and writes per second of hostd's logs on the first local device
_OTHERS = 0.2  # how much the service of an array varies with what other hosts do there
_AVERAGES = (60.0, 300.0, 900.0)  # the spans of esxtop's 1, 5 and 15 minute averages


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a capture says about one sample.

    Keyed by world number (`worlds`), group id (`memory`, `vm_ports`, `vm_watts`), (owner, device) with the owner's
    world number (`flows`), (group id, slot) (`disks`) or printed name (`vmk_ports`, `uplinks`).
    """

    time: datetime
    worlds: Mapping[int, WorldTimes]
    pcpus: Sequence[PcpuTimes]
    nodes: Sequence[NodeTimes]
    cpu_load: Sequence[float]
    memory: Mapping[int, VmMemory]
    flows: Mapping[tuple[int, str], Traffic]
    disks: Mapping[tuple[int, str], Traffic]
    vm_ports: Mapping[int, PortTraffic]
    vmk_ports: Mapping[str, PortTraffic]
    uplinks: Mapping[str, PortTraffic]
    interrupts: Sequence[Interrupt]
    watts: float
    vm_watts: Mapping[int, float]

    def target(self, name: str) -> Traffic:
        """All traffic of one device or NFS volume."""
        return together(traffic for (_, target), traffic in self.flows.items() if target == name)


@dataclass(frozen=True, slots=True)
class Capture:
    """A scenario, how often and how many times it is looked at, and the seed of its noise."""

    scenario: Scenario
    samples: int
    interval: float
    seed: int
    groups: tuple[Group, ...]

    def __iter__(self) -> Iterator[Snapshot]:
        state = _State(Noise(self.seed))
        for number in range(self.samples):
            yield _sample(self, state, number)


def capture(
    scenario: Scenario, *, samples: int | None = None, interval: float | None = None, seed: int | None = None
) -> Capture:
    """A capture of the scenario: `samples` rows, `interval` seconds apart; the scenario says what is not given."""
    return Capture(
        scenario,
        scenario.samples if samples is None else samples,
        scenario.interval if interval is None else interval,
        scenario.seed if seed is None else seed,
        groups_of(scenario),
    )


@dataclass(slots=True)
class _State:
    """What one sample leaves to the next."""

    noise: Noise
    memory: dict[int, VmMemory] = field(default_factory=dict)
    demand: dict[int, float] = field(default_factory=dict)
    clocks: list[float] = field(default_factory=list)
    cpu_load: list[float] = field(default_factory=list)


def _sample(of: Capture, state: _State, number: int) -> Snapshot:
    scenario, second = of.scenario, number * of.interval
    guests = [(group, group.vm) for group in of.groups if group.vm]
    loads = {group.gid: _wanted(vm, second, state.noise) for group, vm in guests}
    for group, vm in guests:
        before = state.memory.get(group.gid) or first_memory(loads[group.gid])
        state.memory[group.gid] = next_memory(before, vm, loads[group.gid], of.interval)
    flows, disks = _storage(of, loads, state)
    asks = {group.gid: _guest(group.gid, loads[group.gid], state.memory[group.gid], disks) for group, _ in guests}
    cpu = run_host(
        scenario.host,
        of.groups,
        asks,
        noise=state.noise,
        speeds=state.clocks,
        demand=state.demand,
        interval=of.interval,
    )
    state.clocks = [node.speed for node in cpu.nodes]
    vm_ports = {group.gid: vm_port(vm, loads[group.gid], _mean_ready(group, cpu.worlds)) for group, vm in guests}
    vmk_ports = _vmkernel_ports(scenario, flows)
    uplinks = _uplinks(scenario, [group for group, _ in guests], vm_ports, vmk_ports)
    busy = [pcpu.util / 100.0 for pcpu in cpu.pcpus]
    threads = scenario.host.threads_per_core
    cores = range(0, scenario.host.pcpus, threads)
    moved = fsum(traffic.read_mb + traffic.written_mb for traffic in flows.values())
    watts = host_watts(
        scenario.host,
        [cpu.pcpus[first].core_util / 100.0 for first in cores],
        [fsum(busy[first : first + threads]) for first in cores],
        [max(cpu.pcpus[first + n].power.clock for n in range(threads)) for first in cores],
        moved,
    )
    used = {group.gid: fsum(cpu.worlds[world.number].used for world in group.worlds) for group, _ in guests}
    per_used = (watts - scenario.host.idle_watts) / max(1.0, fsum(pcpu.used for pcpu in cpu.pcpus))
    wanting = fsum(times.run + times.ready - times.max_limited for times in cpu.worlds.values() if not times.idler)
    return Snapshot(
        time=scenario.start + timedelta(seconds=second),
        worlds=cpu.worlds,
        pcpus=cpu.pcpus,
        nodes=cpu.nodes,
        cpu_load=_averaged(state, wanting / 100.0 / scenario.host.pcpus, of.interval),
        memory=dict(state.memory),
        flows=flows,
        disks=disks,
        vm_ports=vm_ports,
        vmk_ports=vmk_ports,
        uplinks=uplinks,
        interrupts=_interrupts(scenario, busy, cpu.worlds, flows, uplinks),
        watts=watts,
        vm_watts={gid: per_used * value for gid, value in used.items()},
    )


def _wanted(vm: Vm, second: float, noise: Noise) -> Load:
    """The load of `vm` at `second` with its noise: one wobble for its work, one for its packets."""
    load = vm.load_at(second)
    work = noise.around(f"{vm.name}/work", 1.0, vm.jitter)
    packets = noise.around(f"{vm.name}/packets", 1.0, vm.jitter)
    return replace(
        load,
        cpu=min(99.0, load.cpu * work),
        read_iops=load.read_iops * work * noise.around(f"{vm.name}/reads", 1.0, vm.jitter),
        write_iops=load.write_iops * work * noise.around(f"{vm.name}/writes", 1.0, vm.jitter),
        outstanding=load.outstanding * noise.around(f"{vm.name}/outstanding", 1.0, 0.6 * vm.jitter),
        tx_pps=load.tx_pps * packets,
        rx_pps=load.rx_pps * packets,
        rx_bytes=load.rx_bytes * (1.0 + 0.05 * noise.wobble(f"{vm.name}/sizes")),
        timers=load.timers * (0.9 + 0.2 * work),
    )


def _storage(
    of: Capture, loads: Mapping[int, Load], state: _State
) -> tuple[dict[tuple[int, str], Traffic], dict[tuple[int, str], Traffic]]:
    """Traffic by (owner, device) and, for virtual disks, by (group id, slot)."""
    scenario = of.scenario
    asked: list[tuple[int, Flow]] = []
    for group in of.groups:
        if group.vm:
            asked += [
                (group.gid, flow) for flow in _vm_flows(group, group.vm, loads[group.gid], state.memory[group.gid])
            ]
        elif group.label == "hostd" and scenario.devices:
            reads, writes = _LOG_FLOW
            flow = Flow(group.leader, scenario.devices[0].name, None, reads, writes, _PAGE_KB, _PAGE_KB, 4.0)
            asked.append((group.gid, flow))
    flows: dict[tuple[int, str], Traffic] = {}
    disks: dict[tuple[int, str], Traffic] = {}
    targets: tuple[Device | NfsVolume, ...] = (*scenario.devices, *scenario.nfs)
    for target in targets:
        mine = [(gid, flow) for gid, flow in asked if flow.target == target.name]
        slower = state.noise.around(f"{target.name}/others", 1.0, _OTHERS)
        served = serve(target, [flow for _, flow in mine], slower)
        for (gid, flow), traffic in zip(mine, served, strict=True):
            key = (flow.owner, flow.target)
            flows[key] = together([flows[key], traffic]) if key in flows else traffic
            if flow.slot is not None:
                disks[gid, flow.slot] = traffic
    return flows, disks


def _vm_flows(group: Group, vm: Vm, load: Load, memory: VmMemory) -> Iterator[Flow]:
    for disk in vm.disks:
        yield Flow(
            owner=group.leader,
            target=disk.target,
            slot=disk.slot,
            reads=load.read_iops * disk.reads,
            writes=load.write_iops * disk.writes,
            read_kb=load.read_kb,
            write_kb=load.write_kb,
            outstanding=max(1.0, load.outstanding * max(disk.reads, disk.writes)),
        )
    if vm.disks and memory.swap_in + memory.swap_out > 0.0:
        # the swap file lies beside the first disk; the VMkernel reads and writes it, not the guest
        reads, writes = memory.swap_in * _PAGES_PER_MB, memory.swap_out * _PAGES_PER_MB / 16.0
        yield Flow(group.leader, vm.disks[0].target, None, reads, writes, _PAGE_KB, _PAGE_KB * 16.0, 32.0)


def _guest(gid: int, load: Load, memory: VmMemory, disks: Mapping[tuple[int, str], Traffic]) -> Guest:
    commands = fsum(traffic.commands for (owner, _), traffic in disks.items() if owner == gid)
    wanted = load.read_iops + load.write_iops
    return Guest(load, memory.swap_wait, commands, min(1.0, commands / wanted) if wanted > 0.0 else 1.0)


def _mean_ready(group: Group, worlds: Mapping[int, WorldTimes]) -> float:
    ready = [worlds[world.number].ready for world in group.worlds if world.kind == "vcpu"]
    return fsum(ready) / len(ready)


def _vmkernel_ports(scenario: Scenario, flows: Mapping[tuple[int, str], Traffic]) -> dict[str, PortTraffic]:
    ports = {}
    for switch in scenario.switches:
        for vmk in switch.vmkernel:
            volumes = {volume.name for volume in scenario.nfs if volume.vmk == vmk}
            mine = [traffic for (_, target), traffic in flows.items() if target in volumes]
            ports[vmk] = vmkernel_port(fsum(row.read_mb for row in mine), fsum(row.written_mb for row in mine))
    return ports


def _uplinks(
    scenario: Scenario,
    guests: Sequence[Group],
    vm_ports: Mapping[int, PortTraffic],
    vmk_ports: Mapping[str, PortTraffic],
) -> dict[str, PortTraffic]:
    """Teaming by port: the ports of a switch take its uplinks in turn, VMkernel ports the first."""
    uplinks = {}
    for switch in (switch for switch in scenario.switches if switch.uplinks):
        teams: list[list[PortTraffic]] = [[] for _ in switch.uplinks]
        teams[0] += [vmk_ports[vmk] for vmk in switch.vmkernel]
        mine = [group for group in guests if group.vm and group.vm.switch == switch.name]
        for number, group in enumerate(mine):
            teams[number % len(teams)].append(vm_ports[group.gid])
        for nic, team in zip(switch.uplinks, teams, strict=True):
            uplinks[nic.name] = sum_ports(team)
    return uplinks


def _interrupts(
    scenario: Scenario,
    busy: Sequence[float],
    worlds: Mapping[int, WorldTimes],
    flows: Mapping[tuple[int, str], Traffic],
    uplinks: Mapping[str, PortTraffic],
) -> tuple[Interrupt, ...]:
    commands = dict.fromkeys((adapter.name for adapter in scenario.adapters), 0.0)
    for device in scenario.devices:
        total = fsum(traffic.commands for (_, target), traffic in flows.items() if target == device.name)
        for path in device.paths:
            commands[path.partition(":")[0]] += total / len(device.paths)
    events = [(value, True) for value in commands.values()]
    events += [(port.tx + port.rx, False) for port in uplinks.values()]
    wakeups = fsum(times.wakeups for times in worlds.values())
    devices = [
        device_interrupt(f"0x{0x21 + n:x}", value, storage, len(busy), 3 * n)
        for n, (value, storage) in enumerate(events)
    ]
    return (*devices, timer_interrupt(busy), ipi_interrupt(wakeups, busy))


def _averaged(state: _State, now: float, interval: float) -> tuple[float, ...]:
    if not state.cpu_load:
        state.cpu_load = [now] * len(_AVERAGES)
    state.cpu_load = [
        value + (now - value) * min(1.0, interval / span) for value, span in zip(state.cpu_load, _AVERAGES, strict=True)
    ]
    return tuple(state.cpu_load)
