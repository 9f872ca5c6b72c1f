"""CPU of the whole host in one sample: worlds, PCPUs and NUMA nodes whose times agree with one another.

`schedule.py` says what each vCPU gets; here the worlds that serve it are added, run time is laid on PCPUs, clocks and
hyper-threading turn run into used time, and VMkernel time is charged to those it served (system) and taken from those
it interrupted (overlap). So the used time of all worlds is the used time of all PCPUs, and likewise run and util.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from esxparse.simulate.model.power import PcpuPower, pcpu_power
from esxparse.simulate.model.schedule import HT_LOSS, Turn, Want, pcpu_shares, run_node

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence

    from esxparse.simulate.host import Host, Load, Vm
    from esxparse.simulate.model.noise import Noise
    from esxparse.simulate.model.worlds import Group, World

__all__ = ["CpuSample", "Guest", "NodeTimes", "PcpuTimes", "WorldTimes", "run_host"]

_DEMAND_SPAN = 60.0  # seconds over which esxtop's demand looks back
_NET_US = 1.1  # VMkernel microseconds for one packet, in the VM's network world
_DISK_US = 9.0  # for one command, in the VM's PVSCSI world
_SYS_DISK_US = 5.0  # and in the context of the vCPU that asked
_SYS_NET_US = 0.35


@dataclass(frozen=True, slots=True)
class Guest:
    """What a VM brings to the CPU: its load, its swap wait (0..1), commands per second, their part of those wanted."""

    load: Load
    swap_wait: float
    commands: float
    done: float


@dataclass(frozen=True, slots=True)
class WorldTimes:
    """Times of one world in percent of the sample, events per second; `idler` marks the idle worlds."""

    run: float = 0.0
    ready: float = 0.0
    costop: float = 0.0
    wait: float = 0.0
    idle: float = 0.0
    swap_wait: float = 0.0
    max_limited: float = 0.0
    used: float = 0.0
    system: float = 0.0
    overlap: float = 0.0
    latency: float = 0.0
    demand: float = 0.0
    switches: float = 0.0
    migrates: float = 0.0
    expires: float = 0.0
    wakeups: float = 0.0
    pcpu: int = 0
    idler: bool = False


@dataclass(frozen=True, slots=True)
class PcpuTimes:
    """One PCPU: not idle (`util`), the same in nominal cycles (`used`), its core not idle, and its power states."""

    util: float
    used: float
    core_util: float
    power: PcpuPower


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """One NUMA node: mean used time of its PCPUs, and used per run (`speed`), of which hyper-threading's part."""

    used: float
    speed: float
    threading: float


@dataclass(frozen=True, slots=True)
class CpuSample:
    """What `run_host` gives."""

    worlds: Mapping[int, WorldTimes]
    pcpus: tuple[PcpuTimes, ...]
    nodes: tuple[NodeTimes, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """One world on its way: where it runs, its turn, and VMkernel time on its behalf."""

    world: World
    node: int
    turn: Turn
    system: float


def run_host(
    host: Host,
    groups: Sequence[Group],
    guests: Mapping[int, Guest],
    *,
    noise: Noise,
    speeds: Sequence[float],
    demand: MutableMapping[int, float],
    interval: float,
) -> CpuSample:
    """One sample of `interval` seconds of every world and PCPU.

    `guests` is by group id. `speeds` are the nodes' used per run of the sample before (empty at first), by which CPU
    limits, being in MHz, are turned into run time. `demand` is updated in place: the running means behind `% Demand`.
    """
    speeds = speeds or [host.all_core_mhz / host.mhz] * host.sockets
    parts: list[_Part] = []
    for number, group in enumerate(groups):
        node = group.vm.node if group.vm else number % host.sockets
        guest = guests.get(group.gid)
        parts += [_helper(world, node, guest, noise) for world in group.worlds if world.kind not in _LATER]
    for node in range(host.sockets):
        taken = fsum(part.turn.run for part in parts if part.node == node) / 100.0
        worlds = [(world, group, vm) for group, vm in _on_node(groups, node) for world in _vcpus(group)]
        wants = [
            _want(world, vm, guests[group.gid], host, speed=speeds[node], noise=noise) for world, group, vm in worlds
        ]
        turns = run_node(wants, host.pcpus_per_node, taken)
        parts += [
            _Part(world, node, turn, _system(guests[group.gid], vm))
            for (world, group, vm), turn in zip(worlds, turns, strict=True)
        ]
    pcpus, nodes = _pcpus(host, parts, noise)
    times = _times(host, parts, nodes, noise=noise, demand=demand, interval=interval)
    idlers = [world for group in groups for world in group.worlds if world.kind == "idle"]
    return CpuSample(times | {world.number: _idle(world, pcpus[world.index]) for world in idlers}, pcpus, nodes)


_LATER = frozenset({"vcpu", "idle"})


def _on_node(groups: Sequence[Group], node: int) -> list[tuple[Group, Vm]]:
    return [(group, group.vm) for group in groups if group.vm and group.vm.node == node]


def _vcpus(group: Group) -> list[World]:
    return [world for world in group.worlds if world.kind == "vcpu"]


def _helper(world: World, node: int, guest: Guest | None, noise: Noise) -> _Part:
    """A world that is no vCPU: runs as its work asks, is hardly ever ready, waits for the rest."""
    microseconds = 0.0
    if guest and world.kind == "net":
        microseconds = (guest.load.tx_pps + guest.load.rx_pps) * _NET_US
    elif guest and world.kind == "pvscsi":
        microseconds = guest.commands * _DISK_US
    run = noise.around(f"world/{world.number}", world.busy + microseconds / 1e4, 0.3)
    turn = Turn(run=run, ready=run * 0.03, costop=0.0, idle=0.0, swap_wait=0.0, max_limited=0.0)
    return _Part(world, node, turn, 0.0)


def _want(world: World, vm: Vm, guest: Guest, host: Host, *, speed: float, noise: Noise) -> Want:
    run = guest.load.cpu / 100.0 * (1.0 - guest.load.io_bound * (1.0 - guest.done))
    return Want(
        run=min(0.995, noise.around(f"{vm.name}/vcpu{world.index}", run, 0.6 * vm.jitter)),
        limit=vm.cpu_limit_mhz / (host.mhz * speed * vm.vcpus) if vm.cpu_limit_mhz else None,
        shares=vm.shares_per_vcpu,
        siblings=vm.vcpus,
        swap_wait=guest.swap_wait,
    )


def _system(guest: Guest, vm: Vm) -> float:
    """VMkernel time in percent on behalf of each vCPU of a VM."""
    packets = guest.load.tx_pps + guest.load.rx_pps
    return (guest.commands * _SYS_DISK_US + packets * _SYS_NET_US) / 1e4 / vm.vcpus


def _pcpus(host: Host, parts: Sequence[_Part], noise: Noise) -> tuple[tuple[PcpuTimes, ...], tuple[NodeTimes, ...]]:
    pcpus: list[PcpuTimes] = []
    nodes: list[NodeTimes] = []
    for node in range(host.sockets):
        first = node * host.pcpus_per_node
        total = fsum(part.turn.run for part in parts if part.node == node) / 100.0
        weights = [1.0 + 0.25 * noise.wobble(f"pcpu/{first + n}") for n in range(host.pcpus_per_node)]
        busy = pcpu_shares(total, weights)
        mean = total / host.pcpus_per_node
        mine = []
        for core in range(0, host.pcpus_per_node, host.threads_per_core):
            threads = busy[core : core + host.threads_per_core]
            both = _both(threads)
            core_busy = fsum(threads) - both
            for thread in threads:
                power = pcpu_power(host, thread, core_busy, mean)
                used = (thread - HT_LOSS * both) * power.clock
                mine.append(PcpuTimes(100.0 * thread, 100.0 * used, 100.0 * core_busy, power))
        lost = fsum(busy) - fsum(pcpu.used / pcpu.power.clock for pcpu in mine) / 100.0
        used = fsum(pcpu.used for pcpu in mine)
        nodes.append(NodeTimes(used / len(mine), used / 100.0 / max(1e-9, total), 1.0 - lost / max(1e-9, total)))
        pcpus += mine
    return tuple(pcpus), tuple(nodes)


def _both(threads: Sequence[float]) -> float:
    """The part of the time both threads of a core run, taken as independent; nothing on a core of one thread."""
    return threads[0] * threads[1] if len(threads) > 1 else 0.0


def _times(
    host: Host,
    parts: Sequence[_Part],
    nodes: Sequence[NodeTimes],
    *,
    noise: Noise,
    demand: MutableMapping[int, float],
    interval: float,
) -> dict[int, WorldTimes]:
    system = fsum(part.system for part in parts)
    running = max(1e-9, fsum(part.turn.run for part in parts))
    worlds = {}
    for part in parts:
        turn, number = part.turn, part.world.number
        overlap = system * turn.run / running
        idle = turn.idle if part.world.kind == "vcpu" else 0.0
        now = turn.run + turn.ready + turn.costop
        before = demand.get(number, now)
        demand[number] = before + (now - before) * min(1.0, interval / _DEMAND_SPAN)
        events = 12.0 * turn.run if part.world.kind == "vcpu" else 25.0 * turn.run
        wakeups = events * (1.0 - 0.6 * turn.run / 100.0)
        worlds[number] = WorldTimes(
            run=turn.run,
            ready=turn.ready,
            costop=turn.costop,
            wait=max(0.0, 100.0 - turn.run - turn.ready - turn.costop),
            # a vCPU is now and then blocked in the VMkernel without being idle or waiting for swap
            idle=idle * (1.0 - min(0.2, part.system / 100.0)),
            swap_wait=turn.swap_wait,
            max_limited=turn.max_limited,
            used=max(0.0, turn.run * nodes[part.node].speed + part.system - overlap),
            system=part.system,
            overlap=overlap,
            latency=turn.ready + turn.costop + turn.run * (1.0 - nodes[part.node].threading),
            demand=demand[number],
            switches=events * 1.15,
            migrates=0.02 * events * (turn.ready + 2.0) / 10.0 if turn.run > 0.0 else 0.0,
            expires=0.08 * turn.ready if turn.ready > 1.0 else 0.0,
            wakeups=wakeups,
            pcpu=part.node * host.pcpus_per_node + int(noise.uniform(f"place/{number}") * host.pcpus_per_node),
        )
    return worlds


def _idle(world: World, pcpu: PcpuTimes) -> WorldTimes:
    """An idle world runs when its PCPU does nothing else, and is ready, never waiting, when it does."""
    return WorldTimes(
        run=max(0.0, 100.0 - pcpu.util),
        ready=pcpu.util,
        latency=pcpu.util,
        demand=4.0,
        pcpu=world.index,
        idler=True,
    )
