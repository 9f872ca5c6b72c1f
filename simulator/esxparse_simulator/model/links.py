"""Uplinks as wires: who is on which one, and what fits on it.

A port whose uplink is down moves to those of its switch that are up, in turn (teaming by port), and comes back with
it. On the wire every Ethernet frame takes 24 bytes that esxtop does not count (preamble 8, checksum 4, gap 12); a
packet larger than a frame (TSO, LRO) is as many frames as its payload fills, each with headers of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.demand import at
from esxparse_simulator.model.once import OncePerLayout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse_simulator.host import Nic
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers

PAYLOAD = 1448.0
"""Bytes of a full Ethernet frame that are not headers: what storage over TCP fills."""
HEADERS = 66.0
FRAMES_PER_ACK = 4.0
_FRAMING = 24.0
_FRAME = PAYLOAD + HEADERS + _FRAMING

ACK_PART = (HEADERS + _FRAMING) / FRAMES_PER_ACK / _FRAME
"""What the acknowledgements of a stream of full frames take of the other direction."""


@dataclass(frozen=True, slots=True)
class Links:
    """`port_uplink` [Q]: who carries it (-1: nobody), the rest along the uplinks: bytes per second a way, duplex.

    `carried` are the ports that an uplink's row adds up: VM and VMkernel ports that have one. `target_port` [T] is the
    VMkernel port of an NFS volume or a vSAN datastore (-1: none), `vmotion` the ports that vMotion leaves by.
    """

    port_uplink: Index
    carried: Index
    line: Numbers
    full_duplex: np.ndarray[tuple[int], np.dtype[np.bool_]]
    target_port: Index
    vmotion: Index

    def payload_mb(self, uplink: int) -> float:
        """MB per second of storage traffic that fit on an uplink one way."""
        return float(self.line[uplink]) * PAYLOAD / _FRAME / 2**20


def on_the_wire(size: Numbers) -> Numbers:
    """Bytes that a packet of mean `size` takes on the wire.

    >>> on_the_wire(np.array([66.0, 1514.0, 10_000.0])).tolist()
    [90.0, 1538.0, 10564.0]
    """
    frames = np.maximum(1.0, np.ceil((size - HEADERS) / PAYLOAD))
    return size + _FRAMING * frames + HEADERS * (frames - 1.0)


@dataclass(frozen=True, slots=True)
class _Nics:
    """All network adapters, whether any changes with time, and the links already made, by what they were like."""

    nics: tuple[Nic, ...]
    moving: bool
    made: dict[tuple[tuple[float, bool, bool], ...], Links]


def _keep(layout: Layout) -> _Nics:
    nics = tuple(nic for switch in layout.scenario.switches for nic in switch.uplinks)
    return _Nics(nics, any(nic.phases for nic in nics), {})


_kept = OncePerLayout(_keep)


def nics_of(layout: Layout, second: float) -> tuple[Nic, ...]:
    """The network adapters of all switches as they are at a second."""
    kept = _kept(layout)
    return tuple(at(nic, nic.phases, second) for nic in kept.nics) if kept.moving else kept.nics


def links_of(layout: Layout, second: float = 0.0) -> Links:
    """The links of a layout at a second."""
    nics, made = nics_of(layout, second), _kept(layout).made
    like = tuple((nic.mbits, bool(nic.up), bool(nic.full_duplex)) for nic in nics)
    if like not in made:
        made[like] = _make(layout, nics)
    return made[like]


def _make(layout: Layout, nics: tuple[Nic, ...]) -> Links:
    carriers = np.fromiter(_carriers(layout, nics), dtype=np.intp, count=len(layout.ports))
    carried = [n for n, port in enumerate(layout.ports) if port.kind in {"vm", "vmk"} and carriers[n] >= 0]
    vmk = {port.name: place for place, port in enumerate(layout.ports) if port.kind == "vmk"}
    first = {port.switch: place for place, port in reversed(tuple(enumerate(layout.ports))) if port.kind == "vmk"}
    vmotion = [first[n] for n, switch in enumerate(layout.scenario.switches) if switch.vmotion and n in first]
    return Links(
        port_uplink=carriers,
        carried=np.array(carried, dtype=np.intp),
        line=np.array([nic.mbits * 125_000.0 if nic.up else 0.0 for nic in nics], dtype=np.float64),
        full_duplex=np.array([nic.full_duplex for nic in nics], dtype=np.bool_),
        target_port=np.array([vmk.get(getattr(target, "vmk", ""), -1) for target in layout.targets], dtype=np.intp),
        vmotion=np.array(vmotion, dtype=np.intp),
    )


def _carriers(layout: Layout, nics: tuple[Nic, ...]) -> Iterator[int]:
    """The uplink of each port once those that are down are left out; where all are down it stays with its own."""
    first = 0
    alive: list[list[int]] = []
    for switch in layout.scenario.switches:
        alive.append([first + n for n in range(len(switch.uplinks)) if nics[first + n].up])
        first += len(switch.uplinks)
    turns = [0] * len(alive)
    for port in layout.ports:
        up = alive[port.switch]
        if port.kind in {"uplink", "shadow", "management"} or port.uplink < 0 or port.uplink in up or not up:
            yield port.uplink
        else:
            yield up[turns[port.switch] % len(up)]
            turns[port.switch] += 1
