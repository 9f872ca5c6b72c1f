"""Power states of PCPUs and the watts of the host.

C0 is the time a PCPU runs; the rest goes to C1 or, the quieter the core, to the deepest state. A busy core stays in P0
(turbo allowed), an idle one falls to its lowest state; the clock while running is P0's clock in P0's part and the
state's own in the others', and `% of aperf/mperf` is that clock over the nominal one. P0's clock falls from turbo to
all-core as the socket fills. Watts: a floor, plus each core's busy time by the square of its clock (a second
thread on a busy core adds a third).

That is the policy "balanced". "High performance" stays in P0 and in shallow C-states, whose idle cores draw a part of
what busy ones do, and so does a host whose firmware allows the deepest state for only a part of the time (`deep_idle`);
"low power" leaves its lowest P-states only as a core gets busy. A cap (heat, a power limit) is the hardware's: P-states
stay what was asked for, clocks do not pass it. Throttled time is spent in the deepest T-state, in which the clock is
stopped for all but one part in `t_states`. Work that finds slower clocks than under "balanced" takes longer
(`slowdown`).

Evidence: states that add up to 100, and a first P-state one MHz above nominal, of a capture of ESXi 6.5. Assumed: how
long each state lasts, and all watts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from esxparse_simulator.host import Host
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.sample import PcpuTimes, WorldTimes
from esxparse_simulator.model.sums import Numbers, added

_SECOND_THREAD = 0.33
_WATTS_PER_MB = 0.01
_SHALLOW = 0.12  # of a busy core's watts that an idle one draws which is kept out of deep C-states
_LAST = 0.8  # of the time out of P0 that is spent in the lowest P-state
_LOW_POWER = 0.05  # of the time that "low power" leaves an idle core in P0
_FEW = 2  # P-states that have none between the first and the last


@dataclass(frozen=True, slots=True)
class States:
    """Residency in percent of the sample, a row for each PCPU that adds up to 100, and clock over nominal running."""

    c_states: Numbers
    p_states: Numbers
    t_states: Numbers
    clock: Numbers


def pcpu_power(host: Host, busy: Numbers, core_busy: Numbers, node_busy: Numbers) -> States:
    """States of PCPUs from their own busy time, their core's and their socket's mean (each 0..1)."""
    allowed = 0.0 if host.policy == "high performance" else host.deep_idle
    deep = (1.0 - core_busy) * (1.0 - core_busy) * allowed
    rest = 1.0 - busy
    parts = _p_states(host, core_busy)
    turbo = host.turbo_mhz - (host.turbo_mhz - host.all_core_mhz) * np.minimum(1.0, 1.3 * node_busy)
    clock = parts[0] * _capped(host, turbo)
    for part, mhz in zip(parts[1:], host.p_states_mhz[1:], strict=True):
        clock = clock + part * _capped(host, float(mhz))
    t_states, running = _t_states(host, len(busy))
    return States(
        c_states=np.stack([100.0 * busy, 100.0 * rest * (1.0 - deep), 100.0 * rest * deep], axis=1),
        p_states=np.stack([100.0 * part for part in parts], axis=1),
        t_states=t_states,
        clock=clock / host.mhz * running,
    )


def slowdown(host: Host, wanted: Numbers) -> Numbers:
    """How much longer the same work takes on each node than under "balanced" with nothing in its way.

    `wanted` is the mean busy time of the node's PCPUs (0..1) that would be, by which its clocks are reckoned.
    """
    if host.policy == "balanced" and host.cap_mhz <= 0.0 and host.throttled_pct <= 0.0:
        return np.ones_like(wanted)
    free = replace(host, policy="balanced", cap_mhz=0.0, throttled_pct=0.0)
    busy = np.minimum(1.0, wanted)
    core_busy = busy * (2.0 - busy) if host.threads_per_core > 1 else busy
    return pcpu_power(free, busy, core_busy, busy).clock / pcpu_power(host, busy, core_busy, busy).clock


def host_watts(host: Host, pcpus: PcpuTimes, mb_per_s: float) -> float:
    """Watts of the host: its floor, its cores by busy time and clock, and a little for the I/O rate."""
    threads = host.threads_per_core
    core = pcpus.core_util[::threads] / 100.0
    both = sum((pcpus.util[number::threads] / 100.0 for number in range(1, threads)), pcpus.util[::threads] / 100.0)
    clock = pcpus.clock.reshape(-1, threads).max(axis=1)
    cores = fsum(((core + _SECOND_THREAD * (both - core)) * clock * clock).tolist())
    if host.policy == "high performance":
        cores += _SHALLOW * fsum((1.0 - core).tolist())
    elif host.deep_idle < 1.0:
        # by the same square by which an idle core would reach the deepest state
        cores += _SHALLOW * (1.0 - host.deep_idle) * fsum(((1.0 - core) * (1.0 - core)).tolist())
    return host.idle_watts + host.core_watts * cores + _WATTS_PER_MB * mb_per_s


def group_watts(layout: Layout, host: Host, worlds: WorldTimes, watts: float) -> Numbers:
    """Watts of each group of a VM: what the host draws above its floor, divided by used time. Other groups have 0."""
    used = added(worlds.used, layout.world_group, len(layout.groups))[layout.vm_group]
    shares = np.zeros(len(layout.groups))
    shares[layout.vm_group] = (watts - host.idle_watts) / max(1.0, fsum(worlds.used.tolist())) * used
    return shares


def _capped(host: Host, mhz: Numbers | float) -> Numbers | float:
    return np.minimum(mhz, host.cap_mhz) if host.cap_mhz > 0.0 else mhz


def _p_states(host: Host, core_busy: Numbers) -> list[Numbers]:
    """The part of the time (0..1) in each P-state."""
    count = len(host.p_states_mhz)
    if count == 1 or host.policy == "high performance":
        return [np.ones_like(core_busy), *(np.zeros_like(core_busy) for _ in range(count - 1))]
    if host.policy == "low power":
        first = _LOW_POWER + (1.0 - _LOW_POWER) * core_busy * core_busy
    else:
        first = np.minimum(1.0, 0.70 + 0.45 * core_busy)
    if count == _FEW:
        return [first, 1.0 - first]
    last = (1.0 - first) * _LAST
    middle = count - _FEW
    return [first, *([(1.0 - first - last) / middle] * middle), last]


def _t_states(host: Host, pcpus: int) -> tuple[Numbers, float]:
    """Residency in T-states, and the part of the clock that throttling leaves."""
    states = np.zeros((pcpus, host.t_states))
    if not host.t_states:
        return states, 1.0
    throttled = min(100.0, max(0.0, host.throttled_pct)) if host.t_states > 1 else 0.0
    states[:, -1] = throttled
    states[:, 0] = 100.0 - throttled
    return states, 1.0 - throttled / 100.0 * (1.0 - 1.0 / host.t_states)
