"""What guests ask for at a second: base load, phases over it, a pattern through it, noise on it.

On an untidy host bursts and what VMs have in common are laid on all of it; packets, sizes, timers and touched memory
have noise of their own.

Evidence: how much numbers change from one sample to the next in real captures (`benchmarks/realism.py`). Assumed: what
has which part in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from esxparse_simulator.host import Pattern, Phase
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import Loads
from esxparse_simulator.model.sums import Numbers, index

T = TypeVar("T")
# Of the fields of a load those that a pattern goes through, and those that go with the VM.
_SCALED = [Loads.names.index(name) for name in ("cpu", "read_iops", "write_iops", "tx_pps", "rx_pps")]
_GOING = [*_SCALED, *(Loads.names.index(name) for name in ("timers", "used_mb", "active_mb"))]
_NOISES = ("work", "packets", "reads", "writes", "outstanding", "sizes")
_UNTIDY = ("received", "sent sizes", "timers", "touched", "io sizes")
_OWN = 0.5  # of a VM's noise that what follows its work has beside it
_TOUCHED = 0.15
_TOGETHER = 0.14  # spread of what all VMs of a host have in common


def at(thing: T, phases: Sequence[Phase], second: float, span: float = 0.0) -> T:
    """A host, a device or a load with every phase that covers `second` laid over it, in order.

    With a `span`, phases count by the part of the seconds before that they cover.
    """
    changed: dict[str, Any] = {}
    for phase in phases:
        part = phase.part(second, span)
        if part > 0.0:
            before = {name: changed.get(name, getattr(thing, name)) for name in phase.load} if part < 1.0 else {}
            changed |= {
                name: before[name] + (value - before[name]) * part if before else value
                for name, value in phase.load.items()
            }
    return replace(thing, **changed) if changed else thing  # type: ignore[type-var]


def level(pattern: Pattern, second: float) -> float:
    """What a pattern multiplies the base load with.

    The daily curve is made of two parabolas, which any machine computes alike.

    >>> from esxparse_simulator.host import Pattern
    >>> [level(Pattern("diurnal", period=24.0, depth=0.5), hour) for hour in (0.0, 6.0, 12.0, 18.0)]
    [1.0, 1.5, 1.0, 0.5]
    """
    if pattern.kind == "steady":
        return 1.0
    place = ((second + pattern.offset) % pattern.period) / pattern.period
    if pattern.kind == "diurnal":
        half = (2.0 * place) % 1.0
        return 1.0 + pattern.depth * 4.0 * half * (1.0 - half) * (1.0 if place < 0.5 else -1.0)
    if pattern.kind == "bursty":
        return 1.0 + pattern.depth if place < pattern.busy else 1.0
    return 1.0 if place < pattern.busy else 1.0 - pattern.depth


class _Base:
    """Base loads of all VMs [fields of `Load`, VMs], the VMs whose loads change with time, and their noise.

    `labels` are those of every VM for each of `_NOISES` in turn, `spread` [5, VMs] goes with all but the last. `more`
    are those of `_UNTIDY` with their `more_spread`, `bursts` the labels of each VM's own bursts and of those that VMs
    share, and `cause` the place among them of each VM's.
    """

    def __init__(self, layout: Layout) -> None:
        vms = layout.vms
        jitter = np.array([vm.jitter for vm in vms], dtype=np.float64)
        own = _OWN * jitter
        causes = sorted({vm.cause or vm.name for vm in vms})
        self.loads = np.array([[getattr(vm.load, name) for vm in vms] for name in Loads.names], dtype=np.float64)
        self.spread = np.array([jitter, jitter, jitter, jitter, 0.6 * jitter])
        self.phased = tuple(place for place, vm in enumerate(vms) if vm.phases)
        self.patterned = tuple(place for place, vm in enumerate(vms) if vm.pattern.kind != "steady")
        self.labels = tuple(f"{vm.name}/{what}" for what in _NOISES for vm in vms)
        self.more = tuple(f"{vm.name}/{what}" for what in _UNTIDY for vm in vms)
        self.more_spread = np.concatenate([0.5 * own, own, 0.4 * own, np.full(len(vms), _TOUCHED), own])
        self.bursts = (*(f"{vm.name}/bursts" for vm in vms), *(f"cause/{cause}" for cause in causes))
        self.cause = index(len(vms) + causes.index(vm.cause or vm.name) for vm in vms)


_base = OncePerLayout(_Base)


def wanted(layout: Layout, second: float, noise: Noise, seconds: float = 1.0) -> Loads:
    """The loads of all VMs at `second`, on an untidy host in the `seconds` before it."""
    base, vms = _base(layout), layout.vms
    values, levels = base.loads.copy(), np.ones(len(vms))
    for place in base.phased:
        load = at(vms[place].load, vms[place].phases, second, seconds if noise.untidy else 0.0)
        values[:, place] = [getattr(load, name) for name in Loads.names]
    for place in base.patterned:
        levels[place] = level(vms[place].pattern, second)
    values[_SCALED] *= levels
    loads = Loads(values)

    *wobbles, sizes = noise.wobble_each(base.labels).reshape(len(_NOISES), -1)
    work, packets, reads, writes, outstanding = noise.factors(np.array(wobbles), base.spread)
    if noise.untidy:
        work = work * _restless(base, loads, noise, seconds)
    loads.cpu[:] = np.minimum(99.0, loads.cpu * work)
    loads.read_iops[:] = loads.read_iops * work * reads
    loads.write_iops[:] = loads.write_iops * work * writes
    loads.outstanding[:] *= outstanding
    loads.tx_pps[:] *= packets
    loads.rx_pps[:] *= packets
    loads.rx_bytes[:] *= 1.0 + 0.05 * sizes
    loads.timers[:] *= 0.9 + 0.2 * work
    if loads.gone.any():
        values[_GOING] *= 1.0 - loads.gone
    return loads


def _restless(base: _Base, loads: Loads, noise: Noise, seconds: float) -> Numbers:
    """How much more work bursts make; what does not follow the work has noise of its own laid on it."""
    bursts = noise.bursts_each(base.bursts, seconds)
    together = noise.around_each(("host/work",), 1.0, _TOGETHER)
    work: Numbers = together * (1.0 + bursts[: len(base.cause)] + bursts[base.cause])
    own = noise.around_each(base.more, 1.0, base.more_spread)
    received, sizes, timers, touched, blocks = own.reshape(len(_UNTIDY), -1)
    loads.rx_pps[:] = loads.rx_pps * received * work
    loads.tx_pps[:] *= work
    for way in (loads.tx_bytes, loads.rx_bytes):
        most = np.maximum(1514.0, way)  # larger than a frame only where the card cuts them up
        way[:] = np.minimum(most, np.maximum(60.0, way * sizes))
    loads.timers[:] *= timers
    loads.active_mb[:] *= touched
    for way in (loads.read_kb, loads.write_kb):
        way[:] = np.maximum(0.5, way * blocks)
    return work
