"""Power states of PCPUs and the watts of the host.

C0 is the time a PCPU runs; the rest goes to C1 or, the quieter the core, to the deepest state. A busy core stays in P0
(turbo allowed), an idle one falls to its lowest state; the clock while running is P0's clock in P0's part and the
state's own in the others', and `% of aperf/mperf` is that clock over the nominal one. P0's clock falls from turbo to
all-core as the socket fills. Watts: a floor, plus each core's busy time by the square of its clock (a second
thread on a busy core adds a third).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.simulate.host import Host

__all__ = ["PcpuPower", "host_watts", "pcpu_power"]

_SECOND_THREAD = 0.33
_WATTS_PER_MB = 0.01


@dataclass(frozen=True, slots=True)
class PcpuPower:
    """Residency in percent of the sample (each tuple adds up to 100) and the clock over nominal while running."""

    c_states: tuple[float, float, float]
    p_states: tuple[float, ...]
    clock: float


def pcpu_power(host: Host, busy: float, core_busy: float, node_busy: float) -> PcpuPower:
    """States of one PCPU from its own busy time, its core's and its socket's mean (each 0..1)."""
    deep = (1.0 - core_busy) * (1.0 - core_busy)
    rest = 1.0 - busy
    turbo = host.turbo_mhz - (host.turbo_mhz - host.all_core_mhz) * min(1.0, 1.3 * node_busy)
    first = min(1.0, 0.70 + 0.45 * core_busy)
    last = (1.0 - first) * 0.8
    middle = len(host.p_states_mhz) - 2
    parts = (first, *([(1.0 - first - last) / middle] * middle), last)
    clocks = (turbo, *(float(mhz) for mhz in host.p_states_mhz[1:]))
    clock = fsum(part * mhz for part, mhz in zip(parts, clocks, strict=True)) / host.mhz
    return PcpuPower(
        c_states=(100.0 * busy, 100.0 * rest * (1.0 - deep), 100.0 * rest * deep),
        p_states=tuple(100.0 * part for part in parts),
        clock=clock,
    )


def host_watts(
    host: Host, core_busy: Sequence[float], thread_busy: Sequence[float], clocks: Sequence[float], mb_per_s: float
) -> float:
    """Watts of the host from each core's busy time, its threads' together, its clock over nominal, and the I/O rate."""
    cores = fsum(
        (core + _SECOND_THREAD * (threads - core)) * clock * clock
        for core, threads, clock in zip(core_busy, thread_busy, clocks, strict=True)
    )
    return host.idle_watts + host.core_watts * cores + _WATTS_PER_MB * mb_per_s
