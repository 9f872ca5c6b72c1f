"""Interrupts: which vectors fire, how often, on which PCPU, and how long one takes.

Vectors are known by a cookie (a small hexadecimal number, the capture's own). Timers follow each PCPU's busy time,
inter-processor interrupts its wake-ups, adapters their commands, network cards their packets.

A device's interrupts fall on two PCPUs, as its queues are bound, three quarters of them on the first; on more than two
they are spread evenly. A device bound to a single PCPU has all that follows an interrupt done there too: its interrupts
take longer, and `bound` says how much of each PCPU goes to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.once import OncePerLayout
from esxparse_simulator.model.paths import paths_of, shares
from esxparse_simulator.model.sample import Interrupts
from esxparse_simulator.model.sums import added

if TYPE_CHECKING:
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers, PcpuTimes, PortTraffic, StorageSample, WorldTimes

_COMMANDS_PER_INTERRUPT = 1.6
_PACKETS_PER_INTERRUPT = 9.0  # interrupts are moderated
_MICROSECONDS = {"adapter": 4.0, "uplink": 2.0, "timer": 1.0, "ipi": 0.0}
_MICROSECONDS_ALONE = {"adapter": 14.0, "uplink": 20.0}  # on a single PCPU, with all that follows
_IPIS = 0.3  # of wake-ups
_TWO = 2  # PCPUs a device's interrupts usually fall on
_MOST = 0.93  # of a PCPU that interrupts take


@dataclass(frozen=True, slots=True)
class _Devices:
    """Vectors of devices, adapters first; the timers' and the IPIs' come after them.

    `binding` [vectors, PCPUs] is the part of a device's interrupts that falls on each PCPU.
    """

    binding: Numbers
    per_event: Numbers
    microseconds: Numbers
    alone: Index
    ports: Index
    """Places among the ports of the uplinks, in the order of their vectors."""


def _make(layout: Layout) -> _Devices:
    scenario, pcpus = layout.scenario, layout.scenario.host.pcpus
    nics = [nic for switch in scenario.switches for nic in switch.uplinks]
    widths = [adapter.interrupt_pcpus for adapter in scenario.adapters] + [nic.interrupt_pcpus for nic in nics]
    binding = np.zeros((len(widths), pcpus))
    for number, width in enumerate(widths):
        parts = (0.75, 0.25) if width == _TWO else (1.0 / max(1, width),) * max(1, width)
        for place, part in enumerate(parts):
            binding[number, (3 * number + _TWO * place) % pcpus] += part
    per_event = [_COMMANDS_PER_INTERRUPT] * len(scenario.adapters) + [_PACKETS_PER_INTERRUPT] * len(nics)
    kinds = [vector.kind for vector in layout.vectors]
    alone = [number for number, width in enumerate(widths) if width < _TWO]
    microseconds = np.array([_MICROSECONDS[kind] for kind in kinds])
    microseconds[alone] = [_MICROSECONDS_ALONE[kinds[number]] for number in alone]
    return _Devices(
        binding,
        np.array(per_event, dtype=np.float64),
        microseconds,
        np.array(alone, dtype=np.intp),
        np.array([place for place, port in enumerate(layout.ports) if port.kind == "uplink"], dtype=np.intp),
    )


_devices = OncePerLayout(_make)


def fire(
    layout: Layout, storage: StorageSample, ports: PortTraffic, pcpus: PcpuTimes, worlds: WorldTimes
) -> Interrupts:
    """The interrupts of one sample."""
    devices = _devices(layout)
    events = np.concatenate([_commands(layout, storage), (ports.tx + ports.rx)[devices.ports]])
    busy = pcpus.util / 100.0
    running = max(1e-9, fsum(busy.tolist()))
    rates = np.empty((len(layout.vectors), len(busy)))
    rates[:-2] = (events / devices.per_event)[:, None] * devices.binding
    rates[-2] = 70.0 + 830.0 * busy
    rates[-1] = _IPIS * fsum(worlds.wakeups.tolist()) * busy / running
    return Interrupts(rates, devices.microseconds)


def bound(layout: Layout, before: Interrupts | None) -> Numbers:
    """The part (0..1) of each PCPU that went to the interrupts of devices bound to it alone."""
    devices, pcpus = _devices(layout), layout.scenario.host.pcpus
    if before is None or not devices.alone.size:
        return np.zeros(pcpus)
    mine = before.rates[devices.alone] * before.microseconds[devices.alone][:, None] / 1e6
    where = np.tile(np.arange(pcpus), len(mine))
    return np.minimum(_MOST, added(mine.ravel(), where, pcpus))


def _commands(layout: Layout, storage: StorageSample) -> Numbers:
    """Commands per second of each adapter, over the paths that carry them."""
    count = layout.devices
    commands = added(storage.flows.commands, layout.flow_target, len(layout.targets))[:count]
    paths = paths_of(layout)
    known = paths.adapter >= 0
    carried = commands[paths.device] * shares(layout, storage.alive)
    return added(carried[known], paths.adapter[known], len(layout.scenario.adapters))
