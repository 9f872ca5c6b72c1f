"""What esxtop prints for CPUs and memory: host, PCPUs, groups and worlds, NUMA nodes, power, interrupts.

A `Part` is some counters of a table with a number for each of its rows; where parts name a counter twice, the last
counts. -1 is "no limit" or "not applicable", -3 "normal" shares, as in real captures. Group values are sums over the
group's worlds. The first node of a wide VM stands for all its home nodes (assumption: a cell holds one number).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from math import fsum
from typing import NamedTuple

import numpy as np

from esxparse_simulator.model.demand import at
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.memory import BALLOON_MAX, COMPRESSION, fixed_of, managed, min_free, process_mb
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.model.sums import Numbers, added, added_rows

_IDLE_MHZ = 48.0  # of entitlement for a world that asks for nothing
_SPANS = ("1", "5", "15")
TIMES = (
    *("% Used", "% Run", "% System", "% Wait", "% Ready", "% Idle", "% Overlap", "% CoStop", "% Max Limited"),
    *("% Swap Wait", "Switches/sec", "Migrates/sec", "Quantum Expires/sec", "Wakeups/sec", "% CPU Latency"),
    *("% Memory Latency", "% Demand"),
)
"""Counters of worlds that a group has the sum of: the first of `WorldTimes`, in its order."""
SUMMED = ("Timers/sec", "Power Usage Watts")
"""Counters of groups that add up and worlds know nothing of."""
_MEMORY = tomllib.loads((files("esxparse_simulator.esxtop") / "memory.toml").read_text(encoding="utf-8"))
_TIMES_OVER = np.array([[row["times"]] for row in _MEMORY.values()])


class Part(NamedTuple):
    """Counters of a table by name, and their numbers [counters, rows]."""

    table: str
    names: Sequence[str]
    values: Numbers


def part(table: str, counters: Mapping[str, Numbers | float]) -> Part:
    """Counters given one by one: along the rows, or one number where there is one row."""
    return Part(table, tuple(counters), np.array([*counters.values()], dtype=np.float64).reshape(len(counters), -1))


class _CpuFixed:
    """What does not change: the same in every row for groups and worlds, and which VMs' timers phases change."""

    def __init__(self, layout: Layout) -> None:
        groups, vms = layout.groups, layout.vms
        vcpu = np.zeros(len(layout.worlds), dtype=bool)
        vcpu[layout.vcpus] = True
        idle = np.zeros(len(layout.worlds), dtype=bool)
        idle[layout.idlers] = True
        members = np.array([len(group.worlds) for group in groups], dtype=np.float64)
        of_groups = {
            "Members": members,
            "Alloc Min": np.array([group.vm.cpu_reservation_mhz if group.vm else 0 for group in groups], dtype=float),
            "Alloc Max": np.array([(group.vm and group.vm.cpu_limit_mhz) or -1 for group in groups], dtype=float),
            "Alloc Shares": np.array([-3 if group.vm else 500 if group.gid == 1 else 1000 for group in groups], float),
            "Alloc Min Limited": np.array([-1 if group.vm or group.own else 0 for group in groups], dtype=float),
            "Effective Min (MHz)": _IDLE_MHZ * members,
        }
        of_worlds = {
            "Alloc Max": np.full(len(idle), -1.0),
            "Alloc Shares": np.full(len(idle), 1000.0),
            "Alloc Min Limited": np.where(vcpu, -1.0, 0.0),
            "Effective Min (MHz)": np.where(idle, 0.0, _IDLE_MHZ),
        }
        self.parts = (part("Group Cpu", of_groups), part("Vcpu", of_worlds))
        # [VMs] per second of base loads.
        self.timers = np.array([vm.load.timers for vm in vms], dtype=np.float64)
        self.phased = tuple(n for n, vm in enumerate(vms) if any("timers" in phase.load for phase in vm.phases))
        self.vcpu_group = layout.world_group[layout.vcpus]
        # Of each cell of the interrupt matrix the vector.
        self.vectors = np.repeat(np.arange(len(layout.vectors)), layout.scenario.host.pcpus)


_cpu_fixed = OncePerLayout(_CpuFixed)


def cpu_rows(now: Snapshot, layout: Layout) -> Iterator[Part]:
    """The rows of every table of CPUs."""
    pcpus, host = now.pcpus, now.host
    free = (host.memory_mb - host.kernel_mb) / host.sockets - now.memory.taken
    loads = {f"Cpu Load ({span} Minute Avg)": value for span, value in zip(_SPANS, now.cpu_load, strict=True)}
    yield part("Physical Cpu Load", loads)
    yield part("Physical Cpu/used", {"% Processor Time": _with_mean(pcpus.used)})
    yield part("Physical Cpu/util", {"% Util Time": _with_mean(pcpus.util)})
    yield part("Physical Cpu/core", {"% Core Util Time": _with_mean(pcpus.core_util)})
    yield part("Numa Node", {"% Processor Time": now.nodes.used, "Free MBytes": free})
    yield part("Power", {"Power Usage Now Watts": now.watts, "Power Usage Cap Watts": host.cap_watts})
    yield part("Power/p-state", {"P-State MHZ": np.array(host.p_states_mhz)})
    yield from _cpu_fixed(layout).parts
    yield from _worlds(now, layout)
    yield _interrupts(now, layout)
    states = (("C", pcpus.c_states), ("P", pcpus.p_states), ("T", pcpus.t_states))
    names = [f"%{kind}-State {kind}{number}" for kind, values in states for number in range(values.shape[1])]
    clock = 100.0 * pcpus.clock[np.newaxis]
    rows = np.concatenate([*(values.T for _, values in states), clock])
    yield Part("PCPU Power State", (*names, "% of aperf/mperf"), rows)


def _with_mean(pcpus: Numbers) -> Numbers:
    return np.append(pcpus, fsum(pcpus.tolist()) / len(pcpus))


def _worlds(now: Snapshot, layout: Layout) -> Iterator[Part]:
    """Worlds, and the groups they add up to."""
    fixed, worlds, count, vcpus = _cpu_fixed(layout), now.worlds, len(layout.groups), layout.vcpus
    times = worlds.values[: len(TIMES)]
    blocked = worlds.wait - worlds.idle
    yield Part("Vcpu", TIMES, times)
    yield part("Vcpu", {"% VmWait": blocked, "Physical Cpu": worlds.pcpu})
    yield Part("Group Cpu", TIMES, added_rows(times, layout.world_group, count))
    waits, run = added_rows(np.array([blocked[vcpus], worlds.run[vcpus]]), fixed.vcpu_group, count)
    timers = np.zeros(count)
    timers[layout.vm_group] = _timers(now, layout)
    yield part("Group Cpu", {"% VmWait": waits})
    yield Part("Group Cpu", SUMMED, np.array([timers * (1.0 + run / 100.0), now.group_watts]))


def _timers(now: Snapshot, layout: Layout) -> Numbers:
    """Timers of each VM as its load and its phases have them: esxtop's counter is steadier than the work."""
    if layout.scenario.untidy:
        return now.loads.timers
    fixed = _cpu_fixed(layout)
    if not fixed.phased:
        return fixed.timers
    timers = fixed.timers.copy()
    for place in fixed.phased:
        timers[place] = at(layout.vms[place].load, layout.vms[place].phases, now.second).timers
    return timers


def _interrupts(now: Snapshot, layout: Layout) -> Part:
    """Of each vector the total, then each PCPU."""
    rates = now.interrupts.rates
    cells = np.empty((rates.shape[0], rates.shape[1] + 1))
    cells[:, 0] = added(rates.ravel(), _cpu_fixed(layout).vectors, len(rates))
    cells[:, 1:] = rates
    took = np.where(cells > 0.0, now.interrupts.microseconds[:, np.newaxis], 0.0)
    names = ("Interrupts/second", "Processing Time MicroSec/Interrupt")
    return Part("Interrupt Cookie", names, np.array([cells.ravel(), took.ravel()]))


class _MemoryFixed:
    """What does not change: rows of the host and of the groups."""

    def __init__(self, layout: Layout) -> None:
        host, groups, vms, fixed = layout.scenario.host, layout.groups, layout.vms, fixed_of(layout)
        process = np.array([0.0 if group.vm else process_mb(len(group.worlds)) for group in groups])
        demand = fsum((fixed.size + fixed.overhead).tolist())
        reserved = host.kernel_mb + fsum(fixed.overhead.tolist())
        overcommit = max(0.0, demand / (host.memory_mb - host.kernel_mb) - 1.0)
        of_host = {
            "Machine MBytes": host.memory_mb,
            "Kernel Managed MBytes": managed(host),
            "Kernel MinFree MBytes": min_free(host),
            "Kernel Reserved MBytes": reserved,
            "Kernel Unreserved MBytes": managed(host) - reserved,
            "Memctl Max MBytes": fsum((fixed.size * BALLOON_MAX * fixed.balloon).tolist()),
        }
        # Of groups that are not VMs; what is missing is 0.
        others: dict[str, Numbers | float] = {
            "Alloc Max": -1.0,
            "Alloc Shares": -3.0,
            "Alloc Min Limited": -1.0,
            "Commit Pages Per Share": -1.0,
            "Memory Size MBytes": process * 2.4,
            "Memory Granted Size MBytes": process,
            "Memory Consumed Size MBytes": process,
            "Target Size MBytes": process * 1.1,
            "Touched MBytes": process * 0.3,
            "Commit Target MBytes": process,
        }
        of_vms = {
            "Alloc Min": fixed.reserved,
            "Alloc Max": np.array([vm.memory_limit_mb or -1 for vm in vms], dtype=np.float64),
            "Alloc Shares": np.full(len(vms), -3.0),
            "Alloc Min Limited": np.full(len(vms), -1.0),
            "Numa Home Nodes": np.array([(*vm.nodes, vm.node)[0] for vm in vms], dtype=np.float64),
            "Memory Size MBytes": fixed.size,
            "Target Size MBytes": fixed.allowed + fixed.overhead,
            "Memctl?": fixed.balloon,
            "Memctl Max MBytes": fixed.size * BALLOON_MAX * fixed.balloon,
            "Overhead MBytes": fixed.overhead * 0.8,
            "Overhead Max MBytes": fixed.overhead,
            "Commit Pages Per Share": np.full(len(vms), 256.0),
        }

        def of_others(names: Iterable[str]) -> Numbers:
            return np.array([np.broadcast_to(others.get(name, 0.0), len(groups)) for name in names])

        whole = of_others(of_vms)
        whole[:, layout.vm_group] = [*of_vms.values()]
        self.parts = (
            part("Memory/overcommit", {f"Memory Overcommit ({span} Minute Avg)": overcommit for span in _SPANS}),
            part("Memory", of_host),
            part("Group Memory", {"Members": np.array([len(group.worlds) for group in groups])}),
            Part("Group Memory", tuple(of_vms), whole),
        )
        # [`_MEMORY`, groups] before the VMs' own are laid on it.
        self.others = of_others(_MEMORY)


_memory_fixed = OncePerLayout(_MemoryFixed)


def memory_rows(now: Snapshot, layout: Layout) -> Iterator[Part]:
    """The rows of every table of memory."""
    fixed = _memory_fixed(layout)
    groups = fixed.others.copy()
    groups[:, layout.vm_group] = _vms(now, layout)
    yield from fixed.parts
    yield part("Memory", _host_memory(now, layout))
    yield Part("Group Memory", tuple(_MEMORY), groups)


def _vms(now: Snapshot, layout: Layout) -> Numbers:
    """The numbers of `_MEMORY` along the VMs."""
    memory, fixed = now.memory, fixed_of(layout)
    more = {
        "local": memory.consumed - memory.remote,
        "local_pct": 100.0 * (1.0 - memory.remote / np.maximum(1e-9, memory.consumed)),
        "active_pct": 100.0 * memory.active / fixed.size,
        "ballooned": memory.balloon + fixed.old_balloon,
        "target": memory.balloon_target + fixed.old_balloon,
        "stored": memory.compressed * COMPRESSION,
        "swapped_out": memory.swapped + fixed.old_swap,
    }
    rows = [more[row["of"]] if row["of"] in more else getattr(memory, row["of"]) for row in _MEMORY.values()]
    values: Numbers = np.array(rows) * _TIMES_OVER
    return values


def _host_memory(now: Snapshot, layout: Layout) -> dict[str, float]:
    host, memory, fixed = now.host, now.memory, fixed_of(layout)
    # machine memory behind VMs and processes
    other = fsum((memory.consumed + fixed.overhead).tolist()) + fixed.processes
    shared = fsum(memory.shared.tolist())
    compressed = fsum(memory.compressed.tolist())
    return {
        "Kernel MBytes": float(host.kernel_mb),
        "NonKernel MBytes": other,
        "Free MBytes": host.memory_mb - host.kernel_mb - other,
        "Kernel State": memory.state,
        "PShare Shared MBytes": shared * 1.1,
        "PShare Common MBytes": shared * 0.1,
        "PShare Savings MBytes": shared,
        "Swap Used MBytes": fsum((memory.swapped + fixed.old_swap).tolist()),
        "Swap Target MBytes": fsum(memory.swap_target.tolist()),
        "Swap MBytes Read/sec": fsum(memory.swap_in.tolist()),
        "Swap MBytes Write/sec": fsum(memory.swap_out.tolist()),
        "Total Compressed MBytes": compressed,
        "Total Saved By Compression MBytes": compressed * (1.0 - COMPRESSION),
        "Memctl Current MBytes": fsum((memory.balloon + fixed.old_balloon).tolist()),
        "Memctl Target MBytes": fsum((memory.balloon_target + fixed.old_balloon).tolist()),
    }
