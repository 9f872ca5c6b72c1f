"""What guests ask for at a second: base load, phases over it, a pattern through it, noise on it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from esxparse_simulator.host import Load
from esxparse_simulator.model.layout import OncePerLayout
from esxparse_simulator.model.sample import Loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse_simulator.host import Pattern, Phase
    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.noise import Noise
    from esxparse_simulator.model.sums import Numbers

T = TypeVar("T")
_FIELDS = tuple(field.name for field in fields(Load))
_SCALED = frozenset({"cpu", "read_iops", "write_iops", "tx_pps", "rx_pps"})
_NOISES = ("work", "packets", "reads", "writes", "outstanding", "sizes")


def at(thing: T, phases: Sequence[Phase], second: float) -> T:
    """A host, a device or a load with every phase that covers `second` laid over it, in order."""
    changed: dict[str, Any] = {}
    for phase in phases:
        if phase.start <= second < phase.end:
            changed |= phase.load
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


@dataclass(frozen=True, slots=True)
class _Base:
    """Base loads of all VMs by field, the VMs whose loads change with time, and their noise.

    `labels` are those of every VM for each of `_NOISES` in turn, `spread` [5, VMs] goes with all but the last.
    """

    loads: dict[str, Numbers]
    spread: Numbers
    moving: tuple[int, ...]
    labels: tuple[str, ...]


def _make(layout: Layout) -> _Base:
    vms = layout.vms
    jitter = np.array([vm.jitter for vm in vms], dtype=np.float64)
    return _Base(
        loads={name: np.array([getattr(vm.load, name) for vm in vms], dtype=np.float64) for name in _FIELDS},
        spread=np.array([jitter, jitter, jitter, jitter, 0.6 * jitter]),
        moving=tuple(place for place, vm in enumerate(vms) if vm.phases or vm.pattern.kind != "steady"),
        labels=tuple(f"{vm.name}/{what}" for what in _NOISES for vm in vms),
    )


_base = OncePerLayout(_make)


def wanted(layout: Layout, second: float, noise: Noise) -> Loads:
    """The loads of all VMs at `second`."""
    base = _base(layout)
    asked = {name: values.copy() for name, values in base.loads.items()}
    for place in base.moving:
        vm = layout.vms[place]
        load, factor = at(vm.load, vm.phases, second), level(vm.pattern, second)
        for name in _FIELDS:
            asked[name][place] = getattr(load, name) * (factor if name in _SCALED else 1.0)

    *wobbles, sizes = noise.wobble_each(base.labels).reshape(len(_NOISES), -1)
    work, packets, reads, writes, outstanding = np.maximum(0.0, 1.0 + base.spread * wobbles)
    asked["cpu"] = np.minimum(99.0, asked["cpu"] * work)
    asked["read_iops"] = asked["read_iops"] * work * reads
    asked["write_iops"] = asked["write_iops"] * work * writes
    asked["outstanding"] = asked["outstanding"] * outstanding
    asked["tx_pps"] = asked["tx_pps"] * packets
    asked["rx_pps"] = asked["rx_pps"] * packets
    asked["rx_bytes"] = asked["rx_bytes"] * (1.0 + 0.05 * sizes)
    asked["timers"] = asked["timers"] * (0.9 + 0.2 * work)
    return Loads(**asked)
