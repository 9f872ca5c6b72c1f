"""CPU of the whole host in one sample: worlds, PCPUs and NUMA nodes whose times agree with one another.

`schedule` says what each vCPU gets; here the worlds that serve it are added (`kernel`), run time is laid on PCPUs,
clocks and hyper-threading turn run into used time, and VMkernel time is charged to those it served (system) and taken
from those it interrupted (overlap). So the run time of all worlds is the busy time of all PCPUs. Likewise used, but for
hyper-threads: while both threads of a core run, a PCPU is charged half of its time and a world 62.5 %.

Slow clocks (power policies, caps) make the same work run longer. So does memory on another node: at worst
`remote_part` of run time is waiting for it, which is memory latency, as is waiting for swapped pages.

Evidence: VMware's texts for what is charged; for hyper-threads S. Drummonds, "Processor Utilization Calculations" (two
busy threads show `% Processor Time` of 50 % each), I. Rahabok, "VMware vSphere Metrics" (24 vCPUs on 12 cores: Used
of the VM rises from 240,000 to 300,000 ms), and Broadcom KB 335065 ("a flat 25% throughput benefit"). Real captures
show states that add up to 97.3 to 102.7, 0.7 % less used than util without turbo, and PCPUs that vary by 0.6 of their
mean. Assumed: the other spreads of untidy hosts, and that second threads are filled last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import NamedTuple

import numpy as np

from esxparse_simulator.host import Host
from esxparse_simulator.model.kernel import Work, bound, work_of, worlds_of
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.power import pcpu_power, slowdown
from esxparse_simulator.model.sample import (
    Interrupts,
    Loads,
    MemorySample,
    NodeTimes,
    PcpuTimes,
    Snapshot,
    StorageSample,
    WorldTimes,
)
from esxparse_simulator.model.schedule import Turns, Wants, fit_helpers, pcpu_shares, run_nodes
from esxparse_simulator.model.sums import Numbers, added

_DEMAND_SPAN = 60.0  # seconds over which esxtop's demand looks back
_IDLE_DEMAND = 4.0
_BLOCKED = 0.2  # of a vCPU's idle time, at most, it is blocked in the VMkernel for another reason
_MOST_RUN = 97.0  # percent, of a world that is not a vCPU
_MOST_BOUND = 90.0  # percent, of interrupts in each of the VMkernel's own worlds
_SYSTEM_PART = 0.9  # of used time, at most, that is system time
_MOST_REMOTE = 0.9  # of run time, at most, is waiting for memory of another node
_NOTHING = 1e-9
_UNEVEN, _THREADS, _CORES = 0.85, 0.4, 0.35  # untidy: spread of PCPUs, weight of second threads, spread of cores
_DELAYS, _EVENTS, _MEASURED = 0.25, 0.3, 0.0085  # spreads of delays, of events, of how long a sample was for a world
_WAKE = 0.012  # of its run time that a vCPU of an untidy host waits to begin, whatever else runs
_CLOCKS = 0.008  # spread of the clocks of cores
_COUNTED = 0.993  # of the time a PCPU ran is found in what it used
_PCPU, _WORLD = 0.5, 0.625  # of its running time, what each is charged while the other thread of the core runs


class _Fixed:
    """What does not change: labels of noise; along the vCPUs what their VM's scenario says of them."""

    def __init__(self, layout: Layout) -> None:
        host, worlds = layout.scenario.host, layout.worlds
        vms = [layout.vms[vm] for vm in layout.world_vm[layout.vcpus].tolist()]
        placed = [place for place, world in enumerate(worlds) if world.kind != "idle"]
        self.helper_labels = tuple(f"world/{worlds[place].number}" for place in worlds_of(layout).helpers.tolist())
        self.vcpu_labels = tuple(
            f"{vm.name}/vcpu{worlds[place].index}" for vm, place in zip(vms, layout.vcpus.tolist(), strict=True)
        )
        self.pcpu_labels = tuple(f"pcpu/{number}" for number in range(host.pcpus))
        self.place_labels = tuple(f"place/{worlds[place].number}" for place in placed)
        # Places among the worlds of those with a place on a PCPU to be drawn: all but idle ones.
        self.placed = np.array(placed, dtype=np.intp)
        self.pcpu_node = np.repeat(np.arange(host.sockets), host.pcpus_per_node)
        # [worlds] scheduling events per percent of run time; beside them `beats` per second, `restless` on both.
        self.events = np.array([12.0 if world.kind == "vcpu" else 25.0 for world in worlds])
        self.beats = np.array([world.beats for world in worlds], dtype=np.float64)
        self.restless = np.array([_EVENTS if world.kind == "vcpu" else _EVENTS / 6.0 for world in worlds])
        # [worlds] the PCPU of each before it ran.
        self.rest = layout.world_node * host.pcpus_per_node + np.arange(len(worlds)) % host.pcpus_per_node
        self.limit_mhz = np.array([vm.cpu_limit_mhz or np.inf for vm in vms], dtype=np.float64)
        self.reserved_mhz = np.array([vm.cpu_reservation_mhz for vm in vms], dtype=np.float64)
        self.shares = np.array([vm.shares_per_vcpu for vm in vms], dtype=np.float64)
        self.siblings = np.array([vm.vcpus for vm in vms], dtype=np.float64)
        self.spread = np.array([0.6 * vm.jitter for vm in vms], dtype=np.float64)
        self.delay_labels = tuple(f"delay/{worlds[place].number}" for place in layout.vcpus.tolist())
        self.core_labels = tuple(f"core/{number}" for number in range(host.cores))
        self.clock_labels = tuple(f"clock/{number}" for number in range(host.cores))
        self.used_labels = tuple(f"used/{number}" for number in range(host.pcpus))
        # Of events, of how they are counted, of times measured.
        self.world_labels = tuple(
            tuple(f"{what}/{world.number}" for world in worlds) for what in ("events", "counted", "measured")
        )


_fixed = OncePerLayout(_Fixed)
# Rows of `WorldTimes`: measured over a time that is not the same for all worlds, and counted in whole events.
_OVER_TIME = [*range(WorldTimes.names.index("switches")), WorldTimes.names.index("latency")]
_COUNTS = slice(WorldTimes.names.index("switches"), WorldTimes.names.index("latency"))


@dataclass(frozen=True, slots=True)
class _Part:
    """Times on their way, percent along the worlds; idle worlds still have nothing.

    The run time of `turns` leaves out `bound`, what each world runs of interrupts on PCPUs they are bound to (`pinned`,
    0..1).
    """

    turns: Turns
    bound: Numbers
    pinned: Numbers
    remote: Numbers


class HostInputs(NamedTuple):
    """What a sample of `seconds` is made of."""

    layout: Layout
    host: Host
    loads: Loads
    memory: MemorySample
    storage: StorageSample
    noise: Noise
    seconds: float


def run_host(of: HostInputs, before: Snapshot | None) -> tuple[WorldTimes, PcpuTimes, NodeTimes]:
    """One sample of every world and PCPU.

    By the clocks of the sample before, limits in MHz are turned into run time; its demand goes into the running mean
    behind `% Demand`; its interrupts are what PCPUs do beside.
    """
    host = of.host
    speeds = np.full(host.sockets, host.all_core_mhz / host.mhz) if before is None else before.nodes.speed
    work = work_of(of.layout, host, of.loads, of.storage)
    part = _scheduled(of, work, speeds, before.interrupts if before else None)
    pcpus, nodes = _pcpus(of.layout, host, part, of.noise)
    return _times(of, work, part, pcpus, nodes, before.worlds.demand if before else None), pcpus, nodes


def _scheduled(of: HostInputs, work: Work, speeds: Numbers, interrupts: Interrupts | None) -> _Part:
    layout, host, loads, memory, _, noise, _ = of
    fixed, worlds = _fixed(layout), worlds_of(layout)
    node, nodes, count = layout.world_node, host.sockets, len(layout.worlds)
    pinned = bound(layout, interrupts)
    pinned = pinned * min(1.0, _MOST_BOUND / 100.0 * len(worlds.own) / max(_NOTHING, fsum(pinned.tolist())))
    pinned_node = added(pinned, fixed.pcpu_node, nodes)

    # the same work takes longer where clocks are slow
    wanted = added(loads.cpu[worlds.vcpu_vm] / 100.0, node[layout.vcpus], nodes) / host.pcpus_per_node
    slow = slowdown(host, wanted)
    demand = np.zeros(count)
    demand[worlds.helpers] = noise.around_each(fixed.helper_labels, work.helpers, 0.3)
    demand[worlds.movers] += work.movers
    demand = demand * slow[node]
    demand = np.minimum(_MOST_RUN, demand)
    part = Turns(np.zeros((len(Turns.names), count)))
    run = part.run[:] = fit_helpers(demand, node, host.pcpus_per_node, pinned_node)
    # a world that is not a vCPU runs as its work asks, is hardly ever ready, waits for the rest
    part.ready[:] = np.minimum(100.0 - run, run * 0.03 + (demand - run))
    bound_run, lost = np.zeros(count), np.zeros(count)
    bound_run[worlds.own] = 100.0 * fsum(pinned.tolist()) / max(1, len(worlds.own))

    remote = np.minimum(1.0, memory.remote / np.maximum(_NOTHING, memory.consumed))
    slower = np.minimum(_MOST_REMOTE, host.remote_part * remote)
    longer = slow[node[layout.vcpus]] / (1.0 - slower)[worlds.vcpu_vm]
    wants = _wants(of, work, longer, speeds)
    turns = run_nodes(wants, host.pcpus_per_node, added(run, node, nodes) / 100.0 + pinned_node)
    part.values[:, layout.vcpus] = turns.values
    lost[layout.vcpus] = slower[worlds.vcpu_vm]
    return _Part(part, bound_run, pinned, lost)


def _wants(of: HostInputs, work: Work, longer: Numbers, speeds: Numbers) -> Wants:
    """What the vCPUs want; `longer` is how much longer their work takes, for slow clocks and remote memory."""
    layout, host, loads, memory, noise = of.layout, of.host, of.loads, of.memory, of.noise
    fixed, vm = _fixed(layout), worlds_of(layout).vcpu_vm
    run = loads.cpu / 100.0 * (1.0 - loads.io_bound * (1.0 - work.done))
    run = (run + work.run) * work.traced
    node = layout.world_node[layout.vcpus]
    mhz = host.mhz * speeds[node] * fixed.siblings
    return Wants(
        run=np.minimum(0.995, noise.around_each(fixed.vcpu_labels, run[vm] * longer, fixed.spread)),
        limit=fixed.limit_mhz / mhz,
        reserved=fixed.reserved_mhz / mhz,
        shares=fixed.shares,
        siblings=fixed.siblings,
        swap_wait=memory.swap_wait[vm],
        node=node,
        delay=noise.around_each(fixed.delay_labels, 1.0, _DELAYS) if noise.untidy else 1.0,
        wake=_WAKE if noise.untidy else 0.0,
    )


def _pcpus(layout: Layout, host: Host, part: _Part, noise: Noise) -> tuple[PcpuTimes, NodeTimes]:
    fixed, nodes = _fixed(layout), host.sockets
    node, threads = fixed.pcpu_node, host.threads_per_core
    run = added(part.turns.run, layout.world_node, nodes) / 100.0 + added(part.pinned, node, nodes)
    weights = noise.around_each(fixed.pcpu_labels, 1.0, _UNEVEN if noise.untidy else 0.25)
    if noise.untidy:
        weights.reshape(-1, threads)[:, 1:] *= _THREADS
    busy = pcpu_shares(run, weights, part.pinned, node)
    core = busy.reshape(-1, threads)
    # the part of the time both threads of a core run, taken as independent; nothing on a core of one thread
    both = core[:, 0] * core[:, 1] if threads > 1 else np.zeros(len(core))
    if noise.untidy and threads > 1:
        both = both * noise.around_each(fixed.core_labels, 1.0, _CORES)
        both = np.minimum(core.min(axis=1), np.maximum(core.sum(axis=1) - 1.0, both))
    core_busy = np.repeat(sum((core[:, number] for number in range(1, threads)), core[:, 0]) - both, threads)
    counted = noise.around_each(fixed.used_labels, _COUNTED, 1.0 - _COUNTED) if noise.untidy else 1.0
    states = pcpu_power(host, busy, core_busy, (run / host.pcpus_per_node)[node])
    if noise.untidy:
        clock = states.clock * np.repeat(noise.around_each(fixed.clock_labels, 1.0, _CLOCKS), threads)
        states = replace(states, clock=clock)
    shared, charged = (busy - (1.0 - part) * np.repeat(both, threads) for part in (_WORLD, _PCPU))
    some = np.maximum(_NOTHING, run)
    # where nothing runs, what would
    idle_speed = states.clock[:: host.pcpus_per_node]
    node_used = added(shared * states.clock, node, nodes)
    lost = added(busy, node, nodes) - added(shared, node, nodes)
    return (
        PcpuTimes(
            100.0 * busy,
            100.0 * charged * states.clock * counted,
            100.0 * core_busy,
            states.c_states,
            states.p_states,
            states.t_states,
            states.clock,
        ),
        NodeTimes(
            100.0 * added(charged * states.clock, node, nodes) / host.pcpus_per_node,
            np.where(run > _NOTHING, node_used / some, idle_speed),
            1.0 - lost / some,
        ),
    )


def _times(
    of: HostInputs, work: Work, part: _Part, pcpus: PcpuTimes, nodes: NodeTimes, demand: Numbers | None
) -> WorldTimes:
    layout, host, loads, noise, interval = of.layout, of.host, of.loads, of.noise, of.seconds
    fixed, kernel, turns = _fixed(layout), worlds_of(layout), part.turns
    node, vcpus, idlers, vm = layout.world_node, layout.vcpus, layout.idlers, kernel.vcpu_vm
    run = turns.run + part.bound
    system = np.zeros(len(run))
    system[vcpus] = work.system[vm]
    system, overlap = _charged(system, run, nodes)
    bound_speed = fsum((part.pinned * nodes.speed[fixed.pcpu_node]).tolist()) / max(
        _NOTHING, fsum(part.pinned.tolist())
    )
    worked = turns.run * nodes.speed[node] + part.bound * bound_speed
    now = run + turns.ready + turns.costop
    events = fixed.events * run + fixed.beats
    timers, extra = np.zeros(len(run)), np.zeros(len(run))
    timers[vcpus] = (loads.timers / kernel.vcpus)[vm] + loads.timers[vm] * run[vcpus] / 100.0
    extra[vcpus] = work.timers[vm]
    migrates = np.where(run > 0.0, 0.02 * events * (turns.ready + 2.0) / 10.0, 0.0)
    migrates[kernel.movers] += work.mover_migrates
    place = np.zeros(len(run))
    drawn = noise.uniform_each(fixed.place_labels) * host.pcpus_per_node
    place[fixed.placed] = node[fixed.placed] * host.pcpus_per_node + np.floor(drawn)
    worlds = WorldTimes.of(
        run=run,
        ready=turns.ready,
        costop=turns.costop,
        wait=np.maximum(0.0, 100.0 - run - turns.ready - turns.costop),
        # a vCPU is now and then blocked in the VMkernel without being idle or waiting for swap
        idle=turns.idle * (1.0 - np.minimum(_BLOCKED, system / 100.0)),
        swap_wait=turns.swap_wait,
        max_limited=turns.max_limited,
        used=np.maximum(0.0, worked + system - overlap),
        system=system,
        overlap=overlap,
        latency=turns.ready + turns.costop + run * (1.0 - nodes.threading[node]),
        memory_latency=turns.swap_wait + run * part.remote,
        demand=now if demand is None else demand + (now - demand) * min(1.0, interval / _DEMAND_SPAN),
        switches=events * 1.15 + extra,
        migrates=migrates,
        expires=np.where(turns.ready > 1.0, 0.08 * turns.ready, 0.0),
        wakeups=events * (1.0 - 0.6 * run / 100.0) + extra,
        timers=timers,
        pcpu=place,
    )
    if noise.untidy:
        _observe(worlds, fixed, noise, interval)
    # an idle world runs when its PCPU does nothing else, and is ready, never waiting, when it does
    for values, idle_values in (
        (worlds.run, np.maximum(0.0, 100.0 - pcpus.util)),
        (worlds.ready, pcpus.util),
        (worlds.latency, pcpus.util),
        (worlds.demand, _IDLE_DEMAND),
        (worlds.wait, 0.0),
        (worlds.pcpu, np.arange(host.pcpus)),
    ):
        values[idlers] = idle_values
    return worlds


def _observe(worlds: WorldTimes, fixed: _Fixed, noise: Noise, seconds: float) -> None:
    """Whole events, and times of a sample that was not as long for every world."""
    events, counts, measured = fixed.world_labels
    factors, draws = noise.around_each(events, 1.0, fixed.restless), noise.uniform_each(counts)
    long = noise.around_each(measured, 1.0, _MEASURED)
    worlds.values[_COUNTS] = np.floor(worlds.values[_COUNTS] * factors * seconds + draws) / seconds
    worlds.values[_OVER_TIME] *= long
    worlds.pcpu[:] = np.where(worlds.switches > 0.0, worlds.pcpu, fixed.rest)  # who did not run is where it was


def _charged(system: Numbers, run: Numbers, nodes: NodeTimes) -> tuple[Numbers, Numbers]:
    """System time, and the overlap it is for those it interrupted: all of it, in proportion to what they ran.

    There is never more of it than a part of what ran.
    """
    running = max(_NOTHING, fsum(run.tolist()))
    charged = fsum(system.tolist())
    most = _SYSTEM_PART * float(nodes.speed.min()) * running
    if charged > most:
        system, charged = system * (most / charged), most
    return system, charged * run / running
