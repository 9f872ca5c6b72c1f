"""Edits clocks, sleep states, power, interrupts and the clock of the host."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from .capture import Key
from .cpu import edit_clock

if TYPE_CHECKING:
    from .host import Host

_STATE = "PCPU Power State"
_DEEP = ("%C-State C1", "%C-State C2", "%C-State C3")
_FULL = 100.0


def edit_p_states(host: Host, clock: float) -> None:
    """Run all PCPUs in the P-state nearest to this share of the nominal clock; %USED follows."""
    steps = {one: float(host.get("Power", one, "P-State MHZ")[0]) for one in host.instances("Power") if one.isdigit()}
    if steps:
        nominal = max(steps.values())
        chosen = min(steps, key=lambda one: abs(steps[one] - clock * nominal))
        for pcpu in host.pcpus:
            for step in steps:
                counter = f"%P-State P{step}"
                cells = host.get(_STATE, f"PCPU {pcpu}", counter)
                level = _FULL if step == chosen else 0.0
                host.put(_STATE, f"PCPU {pcpu}", counter, cells * (1 - host.window) + level * host.window)
    edit_clock(host, clock)


def edit_t_states(host: Host, percent: float, clock: float) -> None:
    """Stop the clock of all PCPUs for this share of the time, as firmware does when it is hot or capped."""
    for pcpu in host.pcpus:
        for step, level in (("T0", _FULL - percent), ("T4", percent)):
            cells = host.get(_STATE, f"PCPU {pcpu}", f"%T-State {step}")
            host.put(_STATE, f"PCPU {pcpu}", f"%T-State {step}", cells * (1 - host.window) + level * host.window)
    edit_clock(host, clock)


def edit_c_states(host: Host, shallow: float) -> None:
    """Let idle PCPUs sleep in C1 for this share of their idle time, and no deeper for the rest than C2."""
    for pcpu in host.pcpus:
        idle = _FULL - host.get(_STATE, f"PCPU {pcpu}", "%C-State C0")
        for counter, part in zip(_DEEP, (shallow, 1 - shallow, 0.0), strict=True):
            cells = host.get(_STATE, f"PCPU {pcpu}", counter)
            host.put(_STATE, f"PCPU {pcpu}", counter, cells * (1 - host.window) + idle * part * host.window)


def settle_states(host: Host) -> None:
    """Let the P-states of a PCPU add up to 100 % of its time again."""
    for pcpu in host.pcpus:
        state = f"PCPU {pcpu}"
        steps = [f"%P-State P{step}" for step in range(16) if (_STATE, state, f"%P-State P{step}") in host]
        total = sum((host.get(_STATE, state, one) for one in steps), start=np.zeros(host.capture.samples))
        for one in steps:
            host.put(_STATE, state, one, host.get(_STATE, state, one) * _FULL / np.maximum(total, 1e-9))


def edit_power(host: Host, *, watts: float = 0.0, cap: float = 0.0) -> None:
    """Bring what the host draws to this many watts, and cap it throughout."""
    if watts:
        host.edit("Power", "", "Power Usage Now Watts", watts, noise=0.02)
    if cap:
        host.put("Power", "", "Power Usage Cap Watts", np.full(host.capture.samples, cap))


def edit_interrupts(host: Host, pcpu: str, rate: float, micros: float) -> None:
    """Let the busiest interrupt of a PCPU come so often per second, each so many microseconds long."""
    kind = "Interrupt Cookie"
    mine = [one for one in host.instances(kind) if one.endswith(f":CPU{pcpu}")]
    cookie = max(mine, key=lambda one: host.before(kind, one, "Interrupts/second").mean())
    for one in (cookie, cookie.partition(":")[0]):
        host.edit(kind, one, "Interrupts/second", rate)
        host.edit(kind, one, "Processing Time MicroSec/Interrupt", micros)
    util = host.get("Physical Cpu", pcpu, "% Util Time")
    busy = min(rate * micros / 1e4, 95.0)
    host.put("Physical Cpu", pcpu, "% Util Time", np.minimum(util + busy * host.window, _FULL))


def leave_gap(host: Host, seconds: float) -> None:
    """Miss samples: the times after the start of the trouble come so much later."""
    first = int(np.argmax(host.window))
    host.capture.times = [
        time + timedelta(seconds=seconds) * (number >= first) for number, time in enumerate(host.capture.times)
    ]


def set_clock_back(host: Host, seconds: float) -> None:
    """Set the host's clock back by so much at the start of the trouble."""
    leave_gap(host, -seconds)


def has(host: Host, *names: str) -> bool:
    """Whether the capture has columns of all these objects."""
    kinds = {Key(*key).object for key in host.capture.columns}
    return all(name in kinds for name in names)
