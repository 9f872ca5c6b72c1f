"""What esxtop prints for CPUs: host, PCPUs, groups and worlds, NUMA nodes, power, interrupts.

-1 is "no limit" or "not applicable", -3 "normal" shares, as in real captures. Group values are sums over the group's
worlds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.demand import at
from esxparse_simulator.model.once import OncePerLayout
from esxparse_simulator.model.places import placed
from esxparse_simulator.model.sums import added, added_rows

if TYPE_CHECKING:
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers, Snapshot

Rows = dict[str, "Numbers | float"]

_MHZ_HELD = 48.0  # of entitlement for a world that asks for nothing
_SPANS = ("1", "5", "15")
_TIMES = {
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


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What does not change: the same in every row for groups and worlds, and which VMs' timers phases change."""

    groups: Rows
    worlds: Rows
    timers: Numbers
    """[VMs] per second of base loads."""
    phased: tuple[int, ...]
    vcpu_group: Index
    vectors: Index
    """Of each cell of the interrupt matrix the vector."""


def _make(layout: Layout) -> _Fixed:
    groups, vms = layout.groups, layout.vms
    vcpu = np.zeros(len(layout.worlds), dtype=bool)
    vcpu[layout.vcpus] = True
    idle = np.zeros(len(layout.worlds), dtype=bool)
    idle[layout.idlers] = True
    members = np.array([len(group.worlds) for group in groups], dtype=np.float64)
    pcpus = layout.scenario.host.pcpus
    return _Fixed(
        groups={
            "Members": members,
            "Alloc Min": np.array([group.vm.cpu_reservation_mhz if group.vm else 0 for group in groups], dtype=float),
            "Alloc Max": np.array([(group.vm and group.vm.cpu_limit_mhz) or -1 for group in groups], dtype=float),
            "Alloc Shares": np.array([-3 if group.vm else 500 if group.gid == 1 else 1000 for group in groups], float),
            "Alloc Min Limited": np.array([-1 if group.vm or group.own else 0 for group in groups], dtype=float),
            "Effective Min (MHz)": _MHZ_HELD * members,
        },
        worlds={
            "Alloc Max": -1.0,
            "Alloc Shares": 1000.0,
            "Alloc Min Limited": np.where(vcpu, -1.0, 0.0),
            "Effective Min (MHz)": np.where(idle, 0.0, _MHZ_HELD),
        },
        timers=np.array([vm.load.timers for vm in vms], dtype=np.float64),
        phased=tuple(n for n, vm in enumerate(vms) if any("timers" in phase.load for phase in vm.phases)),
        vcpu_group=layout.world_group[layout.vcpus],
        vectors=np.repeat(np.arange(len(layout.vectors)), pcpus),
    )


_fixed = OncePerLayout(_make)


def rows(now: Snapshot, layout: Layout) -> dict[str, Rows]:
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
        "Group Cpu": _groups(now, layout),
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


def _groups(now: Snapshot, layout: Layout) -> Rows:
    fixed, worlds, count = _fixed(layout), now.worlds, len(layout.groups)
    times = added_rows(np.stack([getattr(worlds, name) for name in _TIMES.values()]), layout.world_group, count)
    vcpus = layout.vcpus
    run = added(worlds.run[vcpus], fixed.vcpu_group, count)
    timers = np.zeros(count)
    timers[layout.vm_group] = _timers(now, layout)
    return {
        **dict(zip(_TIMES, times, strict=True)),
        **fixed.groups,
        "% VmWait": added((worlds.wait - worlds.idle)[vcpus], fixed.vcpu_group, count),
        "Timers/sec": timers * (1.0 + run / 100.0),
        "Power Usage Watts": now.group_watts,
    }


def _timers(now: Snapshot, layout: Layout) -> Numbers:
    """Timers of each VM as its load and its phases have them: esxtop's counter is steadier than the work."""
    fixed = _fixed(layout)
    if not fixed.phased:
        return fixed.timers
    timers = fixed.timers.copy()
    for place in fixed.phased:
        timers[place] = at(layout.vms[place].load, layout.vms[place].phases, now.second).timers
    return timers


def _worlds(now: Snapshot, layout: Layout) -> Rows:
    worlds = now.worlds
    times: Rows = {counter: getattr(worlds, name) for counter, name in _TIMES.items()}
    return {**times, **_fixed(layout).worlds, "% VmWait": worlds.wait - worlds.idle, "Physical Cpu": worlds.pcpu}


def _interrupts(now: Snapshot, layout: Layout) -> Rows:
    """Of each vector the total, then each PCPU."""
    rates = now.interrupts.rates
    cells = np.empty((rates.shape[0], rates.shape[1] + 1))
    cells[:, 0] = added(rates.ravel(), _fixed(layout).vectors, len(rates))
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
