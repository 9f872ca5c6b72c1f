"""What esxtop prints for CPUs and memory: host, PCPUs, groups and worlds, NUMA nodes, power, interrupts.

-1 is "no limit" or "not applicable", -3 "normal" shares, as in real captures. Group values are sums over the group's
worlds. The first node of a wide VM stands for all its home nodes (assumption: a cell holds one number).
"""

from __future__ import annotations

from math import fsum

import numpy as np

from esxparse_simulator.model.demand import at
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.memory import BALLOON_MAX, COMPRESSION, fixed_of, managed, min_free, placed, process_mb
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.model.sums import Numbers, added, added_rows

Rows = dict[str, "Numbers | float"]

_MHZ_HELD = 48.0  # of entitlement for a world that asks for nothing
_SPANS = ("1", "5", "15")
TIMES = {
    "% Used": "used",
    "% Run": "run",
    "% System": "system",
    "% Wait": "wait",
    "% Ready": "ready",
    "% Idle": "idle",
    "% Overlap": "overlap",
    "% CoStop": "costop",
    "% Max Limited": "max_limited",
    "% Swap Wait": "swap_wait",
    "Switches/sec": "switches",
    "Migrates/sec": "migrates",
    "Quantum Expires/sec": "expires",
    "Wakeups/sec": "wakeups",
    "% CPU Latency": "latency",
    "% Memory Latency": "memory_latency",
    "% Demand": "demand",
}


class _CpuFixed:
    """What does not change: the same in every row for groups and worlds, and which VMs' timers phases change."""

    def __init__(self, layout: Layout) -> None:
        groups, vms = layout.groups, layout.vms
        vcpu = np.zeros(len(layout.worlds), dtype=bool)
        vcpu[layout.vcpus] = True
        idle = np.zeros(len(layout.worlds), dtype=bool)
        idle[layout.idlers] = True
        members = np.array([len(group.worlds) for group in groups], dtype=np.float64)
        pcpus = layout.scenario.host.pcpus
        self.groups = {
            "Members": members,
            "Alloc Min": np.array([group.vm.cpu_reservation_mhz if group.vm else 0 for group in groups], dtype=float),
            "Alloc Max": np.array([(group.vm and group.vm.cpu_limit_mhz) or -1 for group in groups], dtype=float),
            "Alloc Shares": np.array([-3 if group.vm else 500 if group.gid == 1 else 1000 for group in groups], float),
            "Alloc Min Limited": np.array([-1 if group.vm or group.own else 0 for group in groups], dtype=float),
            "Effective Min (MHz)": _MHZ_HELD * members,
        }
        self.worlds: Rows = {
            "Alloc Max": -1.0,
            "Alloc Shares": 1000.0,
            "Alloc Min Limited": np.where(vcpu, -1.0, 0.0),
            "Effective Min (MHz)": np.where(idle, 0.0, _MHZ_HELD),
        }
        # [VMs] per second of base loads.
        self.timers = np.array([vm.load.timers for vm in vms], dtype=np.float64)
        self.phased = tuple(n for n, vm in enumerate(vms) if any("timers" in phase.load for phase in vm.phases))
        self.vcpu_group = layout.world_group[layout.vcpus]
        # Of each cell of the interrupt matrix the vector.
        self.vectors = np.repeat(np.arange(len(layout.vectors)), pcpus)


_cpu_fixed = OncePerLayout(_CpuFixed)


def cpu_rows(now: Snapshot, layout: Layout) -> dict[str, Rows]:
    """The rows of every table of CPUs."""
    pcpus = now.pcpus
    return {
        "Physical Cpu Load": {
            f"Cpu Load ({span} Minute Avg)": value for span, value in zip(_SPANS, now.cpu_load, strict=True)
        },
        "Physical Cpu/used": {"% Processor Time": _with_mean(pcpus.used)},
        "Physical Cpu/util": {"% Util Time": _with_mean(pcpus.util)},
        "Physical Cpu/core": {"% Core Util Time": _with_mean(pcpus.core_util)},
        "Numa Node": _nodes(now, layout),
        "Power": {"Power Usage Now Watts": now.watts, "Power Usage Cap Watts": float(now.host.cap_watts)},
        "Power/p-state": {"P-State MHZ": np.array(now.host.p_states_mhz, dtype=np.float64)},
        "Group Cpu": _cpu_groups(now, layout),
        "Vcpu": _worlds(now, layout),
        "Interrupt Cookie": _interrupts(now, layout),
        "PCPU Power State": _states(now),
    }


def _with_mean(pcpus: Numbers) -> Numbers:
    return np.append(pcpus, fsum(pcpus.tolist()) / len(pcpus))


def _nodes(now: Snapshot, layout: Layout) -> Rows:
    host = now.host
    capacity = (host.memory_mb - host.kernel_mb) / host.sockets
    taken = placed(layout, host, now.memory.consumed)[1]
    return {"% Processor Time": now.nodes.used, "Free MBytes": capacity - taken}


def _cpu_groups(now: Snapshot, layout: Layout) -> Rows:
    fixed, worlds, count = _cpu_fixed(layout), now.worlds, len(layout.groups)
    times = added_rows(np.stack([getattr(worlds, name) for name in TIMES.values()]), layout.world_group, count)
    vcpus = layout.vcpus
    run = added(worlds.run[vcpus], fixed.vcpu_group, count)
    timers = np.zeros(count)
    timers[layout.vm_group] = _timers(now, layout)
    return {
        **dict(zip(TIMES, times, strict=True)),
        **fixed.groups,
        "% VmWait": added((worlds.wait - worlds.idle)[vcpus], fixed.vcpu_group, count),
        "Timers/sec": timers * (1.0 + run / 100.0),
        "Power Usage Watts": now.group_watts,
    }


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


def _worlds(now: Snapshot, layout: Layout) -> Rows:
    worlds = now.worlds
    times: Rows = {counter: getattr(worlds, name) for counter, name in TIMES.items()}
    return {**times, **_cpu_fixed(layout).worlds, "% VmWait": worlds.wait - worlds.idle, "Physical Cpu": worlds.pcpu}


def _interrupts(now: Snapshot, layout: Layout) -> Rows:
    """Of each vector the total, then each PCPU."""
    rates = now.interrupts.rates
    cells = np.empty((rates.shape[0], rates.shape[1] + 1))
    cells[:, 0] = added(rates.ravel(), _cpu_fixed(layout).vectors, len(rates))
    cells[:, 1:] = rates
    microseconds = np.where(cells > 0.0, now.interrupts.microseconds[:, None], 0.0)
    return {"Interrupts/second": cells.ravel(), "Processing Time MicroSec/Interrupt": microseconds.ravel()}


def _states(now: Snapshot) -> Rows:
    pcpus = now.pcpus
    states: Rows = {
        f"%{kind}-State {kind}{number}": values[:, number]
        for kind, values in (("C", pcpus.c_states), ("P", pcpus.p_states), ("T", pcpus.t_states))
        for number in range(values.shape[1])
    }
    return {**states, "% of aperf/mperf": 100.0 * pcpus.clock}


def memory_rows(now: Snapshot, layout: Layout) -> dict[str, Rows]:
    """The rows of every table of memory."""
    overcommit = _memory_fixed(layout).overcommit
    return {
        "Memory/overcommit": {f"Memory Overcommit ({span} Minute Avg)": overcommit for span in ("1", "5", "15")},
        "Memory": _host_memory(now, layout),
        "Group Memory": _memory_groups(now, layout),
    }


class _MemoryFixed:
    """What does not change: rows of the host and of the groups."""

    def __init__(self, layout: Layout) -> None:
        host, groups, vms, fixed = layout.scenario.host, layout.groups, layout.vms, fixed_of(layout)
        overhead = fsum(fixed.overhead.tolist())
        process = np.array([0.0 if group.vm else process_mb(len(group.worlds)) for group in groups])
        asked = fsum((fixed.size + fixed.overhead).tolist())
        reserved = host.kernel_mb + overhead
        # -1 for the others
        limits = np.array([vm.memory_limit_mb or -1 for vm in vms], dtype=np.float64)
        groups_rows: Rows = {
            "Members": np.array([len(group.worlds) for group in groups], dtype=np.float64),
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
        vms_rows: Rows = {
            "Alloc Min": fixed.reserved,
            "Alloc Max": limits,
            "Numa Home Nodes": np.array([(*vm.nodes, vm.node)[0] for vm in vms], dtype=np.float64),
            "Memory Size MBytes": fixed.size,
            "Target Size MBytes": fixed.allowed + fixed.overhead,
            "Memctl?": fixed.balloon,
            "Memctl Max MBytes": fixed.size * BALLOON_MAX * fixed.balloon,
            "Overhead MBytes": fixed.overhead * 0.8,
            "Overhead Max MBytes": fixed.overhead,
            "Commit Pages Per Share": 256.0,
        }
        self.overcommit = max(0.0, asked / (host.memory_mb - host.kernel_mb) - 1.0)
        self.host = {
            "Machine MBytes": float(host.memory_mb),
            "Kernel MBytes": float(host.kernel_mb),
            "Kernel Managed MBytes": managed(host),
            "Kernel MinFree MBytes": min_free(host),
            "Kernel Reserved MBytes": reserved,
            "Kernel Unreserved MBytes": managed(host) - reserved,
            "Memctl Max MBytes": fsum((fixed.size * BALLOON_MAX * fixed.balloon).tolist()),
        }
        self.groups = _of_groups(layout, vms_rows, groups_rows)


_memory_fixed = OncePerLayout(_MemoryFixed)


def _host_memory(now: Snapshot, layout: Layout) -> Rows:
    host, memory, fixed = now.host, now.memory, fixed_of(layout)
    # machine memory behind VMs and processes
    other = fsum((memory.consumed + fixed.overhead).tolist()) + fixed.processes
    shared = fsum(memory.shared.tolist())
    compressed = fsum(memory.compressed.tolist())
    return {
        **_memory_fixed(layout).host,
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


def _memory_groups(now: Snapshot, layout: Layout) -> Rows:
    return _of_groups(layout, _vms(now, layout), _memory_fixed(layout).groups)


def _of_groups(layout: Layout, vms: Rows, others: Rows) -> Rows:
    """Rows along the VMs laid along the groups; those that are not VMs have what `others` says, or 0."""
    columns = np.zeros((len(vms), len(layout.groups)))
    for column, (counter, values) in zip(columns, vms.items(), strict=True):
        column[:] = others.get(counter, 0.0)
        column[layout.vm_group] = values
    return others | dict(zip(vms, columns, strict=True))


def _vms(now: Snapshot, layout: Layout) -> Rows:
    """What changes from sample to sample, along the VMs."""
    memory, fixed = now.memory, fixed_of(layout)
    active = 100.0 * memory.active / fixed.size
    balloon = memory.balloon + fixed.old_balloon
    return {
        "Numa Remote Memory MBytes": memory.remote,
        "Numa Local Memory MBytes": memory.consumed - memory.remote,
        "Numa % Local": 100.0 * (1.0 - memory.remote / np.maximum(1e-9, memory.consumed)),
        "Memory Granted Size MBytes": memory.granted,
        "Memory Consumed Size MBytes": memory.consumed,
        "Touched MBytes": memory.active,
        "Touched Write MBytes": memory.active * 0.4,
        "% Active Estimate": active,
        "% Active Slow Estimate": active,
        "% Active Fast Estimate": active * 1.05,
        "% Active Next Estimate": active * 0.98,
        "Memctl MBytes": balloon,
        "Memctl Target MBytes": memory.balloon_target + fixed.old_balloon,
        "Swapped MBytes": memory.swapped + fixed.old_swap,
        "Swap Target MBytes": memory.swap_target,
        "Swap Read MBytes/sec": memory.swap_in,
        "Swap Written MBytes/sec": memory.swap_out,
        "Zero MBytes": memory.shared * 0.5,
        "Shared MBytes": memory.shared * 1.1,
        "Shared Saved MBytes": memory.shared,
        "Copy On Write Hint MBytes": memory.shared * 0.2,
        "Commit Target MBytes": memory.consumed,
        "Compressed Memory MBytes": memory.compressed,
        "Used Compressed Memory MBytes": memory.compressed * COMPRESSION,
        "Compression MBytes/sec": memory.zip_rate,
        "Decompression MBytes/sec": memory.unzip_rate,
    }
