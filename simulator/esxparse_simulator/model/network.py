"""Ports of virtual switches: what each sends and receives, and what is dropped on the way.

A VM's receive ring keeps up with `rx_limit_pps` while its vCPUs get to run; what arrives beyond that is dropped at its
port, and so is what it sends beyond `tx_limit_pps`. Uplinks carry the sum of the ports teamed to them, as it was on the
wire: before the VMs' drops.

A link carries its line rate, frames and gaps included (`links`). Storage goes first, as its clients are slowed down
already (`storage`). Of the rest, TCP gives way: it takes what other traffic leaves, but never less than `_TCP_KEEPS` of
the room. What then does not fit is dropped: on the way out at the VM's port, on the way in by the physical switch,
where esxtop does not see it. Half duplex, both ways share the line.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.links import FRAMES_PER_ACK, HEADERS, PAYLOAD, links_of, on_the_wire
from esxparse_simulator.model.once import OncePerLayout
from esxparse_simulator.model.sample import PortTraffic
from esxparse_simulator.model.sums import added, added_rows, divided

if TYPE_CHECKING:
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.links import Links
    from esxparse_simulator.model.sample import Loads, Numbers, StorageSample

_TCP_KEEPS = 0.05
_SLOWEST = 0.1  # what a receive ring keeps up with, of its rate, when the VM hardly runs
_MULTICAST, _BROADCAST = 0.6, 1.4  # packets per second that any network has


@dataclass(frozen=True, slots=True)
class _Places:
    """Ports of VMs and whose they are, what rings take; ports of uplinks, and which; VMkernel ports."""

    vm_port: Index
    vm: Index
    tx_limit: Numbers
    rx_limit: Numbers
    uplink_port: Index
    uplink: Index
    vmk_port: Index


def _make(layout: Layout) -> _Places:
    mine = [(place, port.number) for place, port in enumerate(layout.ports) if port.kind == "vm"]
    uplinks = [(place, port.uplink) for place, port in enumerate(layout.ports) if port.kind == "uplink"]
    vms = [layout.vms[vm] for _, vm in mine]
    return _Places(
        vm_port=np.array([place for place, _ in mine], dtype=np.intp),
        vm=np.array([vm for _, vm in mine], dtype=np.intp),
        tx_limit=np.array([vm.tx_limit_pps for vm in vms], dtype=np.float64),
        rx_limit=np.array([vm.rx_limit_pps for vm in vms], dtype=np.float64),
        uplink_port=np.array([place for place, _ in uplinks], dtype=np.intp),
        uplink=np.array([uplink for _, uplink in uplinks], dtype=np.intp),
        vmk_port=np.array([place for place, port in enumerate(layout.ports) if port.kind == "vmk"], dtype=np.intp),
    )


_places = OncePerLayout(_make)


@dataclass(slots=True)
class _Way:
    """One direction along the ports: packets per second, bytes per packet, the part that is TCP, storage's packets."""

    packets: Numbers
    size: Numbers
    tcp: Numbers
    fixed: Numbers
    fixed_size: Numbers
    lost: Numbers


def carry(layout: Layout, loads: Loads, storage: StorageSample, ready: Numbers, *, second: float = 0.0) -> PortTraffic:
    """What every port sends and receives; `ready` is the mean ready time of each VM's vCPUs, percent."""
    links, at = links_of(layout, second), _places(layout)
    out, into = _storage(layout, links, storage)
    out.size[at.vmk_port] = into.size[at.vmk_port] = HEADERS
    _vmotion(links, loads, out, into)
    port, vm = at.vm_port, at.vm
    wanted = loads.tx_pps[vm]
    out.packets[port], into.packets[port] = np.minimum(wanted, at.tx_limit), loads.rx_pps[vm]
    beyond = wanted - out.packets[port]
    out.size[port], into.size[port] = loads.tx_bytes[vm], loads.rx_bytes[vm]
    out.tcp[port] = into.tcp[port] = loads.tcp[vm]
    _fit(links, out, into)
    tx, tx_bytes = _mixed(out)
    came, rx_bytes = _mixed(into)
    keeps_up = np.full(len(came), np.inf)
    keeps_up[port] = at.rx_limit * np.maximum(_SLOWEST, 1.0 - ready[vm] / 100.0)
    rx = np.minimum(came, keeps_up)
    out.lost[port] += beyond
    broadcast, multicast = np.zeros(len(rx)), np.zeros(len(rx))
    broadcast[port] = np.minimum(rx[port], _BROADCAST)
    traffic = PortTraffic(tx, rx, tx_bytes, rx_bytes, out.lost, came - rx, multicast, broadcast)
    return _with_uplinks(links, at, traffic)


def _with_uplinks(links: Links, at: _Places, of: PortTraffic) -> PortTraffic:
    """Uplinks get what their ports send and receive: packets add up, sizes are weighted by packets."""
    into, count = links.port_uplink[links.carried], len(links.line)

    came = of.rx + of.rx_dropped
    carried = np.array([of.tx, came, of.tx * of.tx_bytes, came * of.rx_bytes])[:, links.carried]
    packets, sizes = added_rows(carried, into, count)[:, at.uplink].reshape(2, 2, -1)
    of.tx[at.uplink_port], of.rx[at.uplink_port] = packets
    of.tx_bytes[at.uplink_port], of.rx_bytes[at.uplink_port] = divided(sizes, packets)
    hears = (np.bincount(into, minlength=count)[at.uplink] > 0) & (links.line[at.uplink] > 0.0)
    of.multicast[at.uplink_port] = np.where(hears, _MULTICAST, 0.0)
    of.broadcast[at.uplink_port] = np.where(hears, _BROADCAST, 0.0)
    return of


def _storage(layout: Layout, links: Links, storage: StorageSample) -> tuple[_Way, _Way]:
    """VMkernel ports that carry reads and writes of NFS volumes and vSAN datastores; every other way still empty."""
    flows, count = storage.flows, len(layout.ports)
    ways = _Way(*(np.zeros(count) for _ in range(6))), _Way(*(np.zeros(count) for _ in range(6)))
    users = np.flatnonzero(links.target_port >= 0)
    if not len(users):
        return ways
    read, written = (added(mb, layout.flow_target, len(layout.targets)) for mb in (flows.read_mb, flows.written_mb))
    out, into = written.copy(), read.copy()
    first = len(layout.targets) - len(layout.scenario.vsan)
    for place, datastore in enumerate(layout.scenario.vsan, first):
        # a vSAN host serves others' reads and keeps copies for others as they do for it
        out[place] = into[place] = written[place] * max(1.0, float(datastore.copies)) + read[place]
    port = links.target_port[users]
    tx, rx = (added(mb[users], port, count) * 2**20 / PAYLOAD for mb in (out, into))
    for way, mine, other in zip(ways, (tx, rx), (rx, tx), strict=True):
        way.fixed = mine + other / FRAMES_PER_ACK
        way.fixed_size = HEADERS + divided(mine * PAYLOAD, way.fixed)
    return ways


def _vmotion(links: Links, loads: Loads, out: _Way, into: _Way) -> None:
    """Memory that leaves the host: full frames one way, acknowledgements the other, by all ports there are for it."""
    if not len(links.vmotion):
        return
    leaving = fsum(loads.vmotion_mb_per_s.tolist()) * 2**20 / PAYLOAD / len(links.vmotion)
    if leaving > 0.0:
        out.packets[links.vmotion], into.packets[links.vmotion] = leaving, leaving / FRAMES_PER_ACK
        out.size[links.vmotion], into.size[links.vmotion] = PAYLOAD + HEADERS, HEADERS
        out.tcp[links.vmotion] = into.tcp[links.vmotion] = 1.0


def _fit(links: Links, out: _Way, into: _Way) -> None:
    """Slow down and drop what the uplinks have no room for."""
    port, count = links.carried, len(links.line)
    uplink = links.port_uplink[port]
    need = []
    for way in (out, into):
        bytes_, of_tcp = (way.packets * on_the_wire(way.size))[port], way.tcp[port]
        fixed = (way.fixed * on_the_wire(way.fixed_size))[port]
        need.append(added_rows(np.array([bytes_ * of_tcp, bytes_ * (1.0 - of_tcp), fixed]), uplink, count))
    both = need[0] + need[1]
    for way, mine in zip((out, into), need, strict=True):
        tcp, rest, fixed = np.where(links.full_duplex, mine, both)
        room = np.maximum(0.0, links.line - fixed)
        tcp_fits = np.minimum(tcp, np.maximum(room - rest, _TCP_KEEPS * room))
        rest_fits = np.minimum(rest, room - tcp_fits)
        tcp_part, rest_part = _part(tcp_fits, tcp)[uplink], _part(rest_fits, rest)[uplink]
        before, of_tcp = way.packets[port], way.tcp[port]
        fits = np.where((tcp_part < 1.0) | (rest_part < 1.0), of_tcp * tcp_part + (1.0 - of_tcp) * rest_part, 1.0)
        way.packets[port] = before * fits
        way.lost[port] = before * (1.0 - of_tcp) * (1.0 - rest_part)


def _part(fits: Numbers, wanted: Numbers) -> Numbers:
    """What fits of what is wanted: exactly 1 where all does."""
    return np.divide(fits, wanted, out=np.ones_like(wanted), where=fits < wanted)


def _mixed(way: _Way) -> tuple[Numbers, Numbers]:
    """Packets of storage and of everything else together, and their mean size."""
    together = way.packets + way.fixed
    mixed = divided(way.packets * way.size + way.fixed * way.fixed_size, together)
    alone = np.where(way.fixed > 0.0, way.fixed_size, way.size)
    return together, np.where((way.fixed > 0.0) & (way.packets > 0.0), mixed, alone)
