"""Edits ports; uplinks follow.

Mbit/s = packets/s x bytes x 8 / 2**20, as in the recording. What a VM sends and receives on a switch with an uplink
passes that uplink, and a broadcast reaches every port of its switch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .host import PORT, Host, Vm
from .stretch import generator, wobble

if TYPE_CHECKING:
    from .capture import Cells

_MEBI = 2.0**20
_LEAST_PACKET, _MOST_PACKET = 60.0, 1514.0
_WAYS = {
    "tx": ("Packets Transmitted/sec", "MBits Transmitted/sec", "Average Packet Size  Transmitted (Bytes)"),
    "rx": ("Packets Received/sec", "MBits Received/sec", "Average Packet Size  Received (Bytes)"),
}
_OTHERS = {
    "drop_tx": "% Outbound Packets Dropped",
    "drop_rx": "% Received Packets Dropped",
    "broadcast_rx": "Broadcast Packets Received/sec",
    "broadcast_tx": "Broadcast Packets Transmitted/sec",
    "multicast_rx": "Multicast Packets Received/sec",
    "multicast_tx": "Multicast Packets Transmitted/sec",
    "actions": "Actions Posted/sec",
}
_STATES = {"up": "Link Up?", "speed": "Link Speed (Mb/s)", "duplex": "Full Duplex?"}


def uplinks(host: Host) -> list[str]:
    """Ports of physical NICs, the busiest first."""
    mine = [one for one in host.instances(PORT) if one.rpartition(":")[2].startswith("vmnic")]
    return sorted(mine, key=lambda one: -host.before(PORT, one, "Packets Received/sec").mean())


def uplink_of(host: Host, port: str) -> str:
    """The uplink that a port's packets pass; "" on a switch without one."""
    switch, number = port.split(":")[:2]
    mine = sorted(one for one in uplinks(host) if one.startswith(f"{switch}:"))
    return mine[int(number) % len(mine)] if mine else ""


def port_of(host: Host, vm: Vm) -> str:
    """The port of a VM that has an uplink, else its first."""
    return next((one for one in vm.ports if uplink_of(host, one)), vm.ports[0])


def edit_port(
    host: Host,
    port: str,
    *,
    tx: float = 0.0,
    rx: float = 0.0,
    tx_size: float = 900.0,
    rx_size: float = 900.0,
    **levels: float,
) -> None:
    """Bring a port to Mbit/s sent and received at these bytes per packet, and to percents and rates of `_OTHERS`."""
    for way, mbit, bytes_ in (("tx", tx, tx_size), ("rx", rx, rx_size)):
        if mbit:
            noise = wobble(host.capture.samples, 0.05, generator(host.seed, "port", port, way))
            _set(host, port, way, mbit * noise, bytes_)
    for name, level in levels.items():
        if name in _OTHERS:
            host.edit(PORT, port, _OTHERS[name], level, noise=0.2)
        else:
            host.edit(PORT, port, _STATES[name], level, noise=0.0)


def _set(host: Host, port: str, way: str, mbit: Cells, bytes_: float) -> None:
    packets, rate, size = _WAYS[way]
    for counter, target in ((rate, mbit), (packets, mbit * _MEBI / 8 / bytes_), (size, np.full_like(mbit, bytes_))):
        cells = host.get(PORT, port, counter)
        host.put(PORT, port, counter, cells * (1 - host.window) + target * host.window)


def take_down(host: Host, port: str, other: str) -> None:
    """Take an uplink down while the trouble lasts; another one carries its packets."""
    for counter in (one for way in _WAYS.values() for one in way[:2]):
        moved = host.get(PORT, port, counter) * host.window
        host.put(PORT, port, counter, host.get(PORT, port, counter) - moved)
        host.put(PORT, other, counter, host.get(PORT, other, counter) + moved)
    for counter in _STATES.values():
        host.put(PORT, port, counter, host.get(PORT, port, counter) * (1 - host.window))


def edit_broadcasts(host: Host, switch: str, rate: float, *, drop_rx: float = 0.0) -> None:
    """Send so many broadcasts per second to every port of a switch."""
    for port in host.instances(PORT):
        if not port.startswith(f"{switch}:") or not host.before(PORT, port, "Packets Received/sec").any():
            continue
        noise = wobble(host.capture.samples, 0.1, generator(host.seed, "broadcast", switch))
        more = rate * noise * host.window
        for counter, cells in (
            ("Broadcast Packets Received/sec", more),
            ("Packets Received/sec", more),
            ("MBits Received/sec", more * _LEAST_PACKET * 8 / _MEBI),
        ):
            host.put(PORT, port, counter, host.get(PORT, port, counter) + cells)
        if drop_rx:
            host.edit(PORT, port, _OTHERS["drop_rx"], drop_rx, noise=0.3)
    host.flooded.add(switch)


def settle_network(host: Host) -> None:
    """Add to uplinks what their ports send and receive more, and make packet sizes fit."""
    for uplink in uplinks(host):
        ports = [
            one
            for one in host.instances(PORT)
            if one != uplink and uplink_of(host, one) == uplink and "Shadow" not in one
        ]
        own = any(
            not np.array_equal(host.get(PORT, uplink, _WAYS[way][1]), host.before(PORT, uplink, _WAYS[way][1]))
            for way in _WAYS
        )
        if own and uplink.partition(":")[0] not in host.flooded:
            _sizes(host, uplink)
            continue
        for way, (packets, rate, _) in _WAYS.items():
            if way == "rx" and uplink.partition(":")[0] in host.flooded:
                continue
            for counter in (packets, rate):
                change = [host.get(PORT, one, counter) - host.before(PORT, one, counter) for one in ports]
                if change:
                    cells = host.get(PORT, uplink, counter) + np.sum(change, axis=0)
                    host.put(PORT, uplink, counter, np.clip(cells, 0.0, None))
        _sizes(host, uplink)
    for port in host.instances(PORT):
        if any(host.get(PORT, port, one[0]) is not host.before(PORT, port, one[0]) for one in _WAYS.values()):
            _sizes(host, port)


def _sizes(host: Host, port: str) -> None:
    for packets, rate, size in _WAYS.values():
        count, mbit = host.get(PORT, port, packets), host.get(PORT, port, rate)
        bytes_ = np.clip(mbit * _MEBI / 8 / np.maximum(count, 1e-9), _LEAST_PACKET, _MOST_PACKET)
        host.put(PORT, port, size, np.where(count > 0, np.round(bytes_), 0.0))
