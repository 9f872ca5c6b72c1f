"""Ports of virtual switches and their uplinks: what each sends and receives, and what is dropped on the way.

A VM's receive ring keeps up with `rx_limit_pps` while its vCPUs get to run; what arrives beyond that is dropped at its
port, and so is what it sends beyond `tx_limit_pps`. Uplinks carry the sum of the ports teamed to them, as it was on the
wire: before the VMs' drops. A port whose uplink is down moves to those of its switch that are up, in turn (teaming by
port), and comes back with it.

On the wire every Ethernet frame takes 24 bytes that esxtop does not count (preamble 8, checksum 4, gap 12); a packet
larger than a frame (TSO, LRO) is as many frames as its payload fills, each with headers of its own. Storage goes first,
as its clients are slowed down already (`storage`). Of the rest, TCP gives way: it takes what other traffic leaves, but
never less than `_TCP_KEEPS` of the room. What then does not fit is dropped: on the way out at the VM's port, on the way
in by the physical switch, where esxtop does not see it. Half duplex, both ways share the line.

Evidence: what frames take (IEEE 802.3). Assumed: the floor of TCP, the pace of rings, and who waits for the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum

import numpy as np

from esxparse_simulator.host import Nic
from esxparse_simulator.model.demand import at
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import Loads, PortTraffic, StorageSample
from esxparse_simulator.model.sums import Index, Numbers, added, added_rows, divided, index

PAYLOAD = 1448.0
"""Bytes of a full Ethernet frame that are not headers: what storage over TCP fills."""
HEADERS = 66.0
FRAMES_PER_ACK = 4.0
_FRAMING = 24.0
_FRAME = PAYLOAD + HEADERS + _FRAMING

ACK_PART = (HEADERS + _FRAMING) / FRAMES_PER_ACK / _FRAME
"""What the acknowledgements of a stream of full frames take of the other direction."""
_TCP_KEEPS = 0.05
_FEW = 100.0  # packets per second that no VM waits for
_SLOWEST = 0.1  # what a receive ring keeps up with, of its rate, when the VM hardly runs
_MULTICAST, _BROADCAST = 0.6, 1.4  # packets per second that any network has


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


class _Nics:
    """All network adapters, whether any changes with time, and the links already made, by what they were like."""

    def __init__(self, layout: Layout) -> None:
        nics = tuple(nic for switch in layout.scenario.switches for nic in switch.uplinks)
        self.nics = nics
        self.moving = any(nic.phases for nic in nics)
        self.made: dict[tuple[tuple[float, bool, bool], ...], Links] = {}


_kept = OncePerLayout(_Nics)


def nics_of(layout: Layout, second: float) -> tuple[Nic, ...]:
    """The network adapters of all switches as they are at a second."""
    kept = _kept(layout)
    return tuple(at(nic, nic.phases, second) for nic in kept.nics) if kept.moving else kept.nics


def links_of(layout: Layout, second: float = 0.0) -> Links:
    """The links of a layout at a second."""
    nics, made = nics_of(layout, second), _kept(layout).made
    like = tuple((nic.mbits, bool(nic.up), bool(nic.full_duplex)) for nic in nics)
    if like not in made:
        made[like] = _links(layout, nics)
    return made[like]


def _links(layout: Layout, nics: tuple[Nic, ...]) -> Links:
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


class _Places:
    """Ports with their VMs, capacity of rings; ports of uplinks, and which; VMkernel ports."""

    def __init__(self, layout: Layout) -> None:
        mine = [(place, port.number) for place, port in enumerate(layout.ports) if port.kind == "vm"]
        uplinks = [(place, port.uplink) for place, port in enumerate(layout.ports) if port.kind == "uplink"]
        vms = [layout.vms[vm] for _, vm in mine]
        self.vm_port = np.array([place for place, _ in mine], dtype=np.intp)
        self.vm = np.array([vm for _, vm in mine], dtype=np.intp)
        self.tx_limit = np.array([vm.tx_limit_pps for vm in vms], dtype=np.float64)
        self.rx_limit = np.array([vm.rx_limit_pps for vm in vms], dtype=np.float64)
        self.uplink_port = np.array([place for place, _ in uplinks], dtype=np.intp)
        self.uplink = np.array([uplink for _, uplink in uplinks], dtype=np.intp)
        self.vmk_port = index(place for place, port in enumerate(layout.ports) if port.kind == "vmk")
        self.stray = np.array([vm.stray_pps for vm in vms], dtype=np.float64)


_places = OncePerLayout(_Places)
_COUNTED = PortTraffic.names[:6]
_labels = OncePerLayout(
    lambda layout: tuple(f"port/{port.switch}/{port.name}/{what}" for what in _COUNTED for port in layout.ports)
)


@dataclass(slots=True)
class _Way:
    """One direction along the ports: packets per second, bytes per packet, the part that is TCP, storage's packets."""

    packets: Numbers
    size: Numbers
    tcp: Numbers
    fixed: Numbers
    fixed_size: Numbers
    lost: Numbers


def carry(
    layout: Layout,
    loads: Loads,
    storage: StorageSample,
    ready: Numbers,
    *,
    second: float = 0.0,
    noise: Noise | None = None,
    seconds: float = 1.0,
) -> PortTraffic:
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
    lost = came - rx
    lost[port] += at.stray
    values = np.array([tx, rx, out.lost, lost, multicast, broadcast, tx_bytes, rx_bytes])
    if noise and noise.untidy:
        values[: len(_COUNTED)] = noise.counted(_labels(layout), values[: len(_COUNTED)], seconds)
    return _with_uplinks(links, at, PortTraffic(values))


def starved(layout: Layout, loads: Loads, ports: PortTraffic) -> Numbers:
    """The part (0..1) of what each VM wanted to send and receive that a full link or a ring kept from it."""
    at, part = _places(layout), np.zeros(len(layout.vms))
    wanted = (loads.tx_pps + loads.rx_pps)[at.vm]
    passed = (ports.tx + ports.rx)[at.vm_port]
    part[at.vm] = np.where(wanted > _FEW, np.maximum(0.0, 1.0 - divided(passed, wanted)), 0.0)
    return part


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
    """Memory that leaves the host: full frames one way, acknowledgements the other, by all ports there are for it.

    That of VMs which are not there yet comes.
    """
    if not len(links.vmotion):
        return
    moved = fsum(loads.vmotion_mb_per_s.tolist()) * 2**20 / PAYLOAD / len(links.vmotion)
    way, back = (into, out) if (loads.vmotion_mb_per_s * loads.gone).any() else (out, into)
    if moved > 0.0:
        way.packets[links.vmotion], back.packets[links.vmotion] = moved, moved / FRAMES_PER_ACK
        way.size[links.vmotion], back.size[links.vmotion] = PAYLOAD + HEADERS, HEADERS
        way.tcp[links.vmotion] = back.tcp[links.vmotion] = 1.0


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
