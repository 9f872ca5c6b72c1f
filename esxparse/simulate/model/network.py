"""Ports of virtual switches: what each sends and receives, and what is dropped on the way.

A VM's receive ring keeps up with `rx_limit_pps` while its vCPUs get to run; what arrives beyond that is dropped at its
port. Uplinks carry the sum of the ports teamed to them, as it was on the wire: before the VM's drops.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from esxparse.simulate.host import Load, Vm

__all__ = ["PortTraffic", "sum_ports", "vm_port", "vmkernel_port"]

_STORAGE_FRAME = 1448.0  # payload of a full Ethernet frame, what NFS over TCP fills
_HEADERS = 66.0
_FRAMES_PER_ACK = 4.0


@dataclass(frozen=True, slots=True)
class PortTraffic:
    """Packets per second and mean bytes per packet, both ways; `rx_dropped` packets per second never got in."""

    tx: float = 0.0
    rx: float = 0.0
    tx_bytes: float = 0.0
    rx_bytes: float = 0.0
    rx_dropped: float = 0.0
    multicast: float = 0.0
    broadcast: float = 0.0

    @property
    def tx_mbits(self) -> float:
        """Sent, 10**6 bits per second."""
        return self.tx * self.tx_bytes * 8.0 / 1e6

    @property
    def rx_mbits(self) -> float:
        """Received, 10**6 bits per second."""
        return self.rx * self.rx_bytes * 8.0 / 1e6

    @property
    def rx_dropped_pct(self) -> float:
        """Dropped of all that came, percent."""
        came = self.rx + self.rx_dropped
        return 100.0 * self.rx_dropped / came if came > 0.0 else 0.0

    def on_the_wire(self) -> PortTraffic:
        """The same traffic before the port dropped anything."""
        return PortTraffic(
            self.tx, self.rx + self.rx_dropped, self.tx_bytes, self.rx_bytes, 0.0, self.multicast, self.broadcast
        )


def vm_port(vm: Vm, load: Load, ready_pct: float) -> PortTraffic:
    """The port of a VM whose vCPUs stood ready for `ready_pct` of the time each."""
    keeps_up = vm.rx_limit_pps * max(0.1, 1.0 - ready_pct / 100.0)
    rx = min(load.rx_pps, keeps_up)
    return PortTraffic(load.tx_pps, rx, load.tx_bytes, load.rx_bytes, load.rx_pps - rx, 0.0, min(rx, 1.4))


def vmkernel_port(read_mb: float, written_mb: float) -> PortTraffic:
    """A VMkernel port that carries so many MB per second from and to a file server."""
    tx = written_mb * 2**20 / _STORAGE_FRAME
    rx = read_mb * 2**20 / _STORAGE_FRAME
    tx_all, rx_all = tx + rx / _FRAMES_PER_ACK, rx + tx / _FRAMES_PER_ACK
    return PortTraffic(
        tx=tx_all,
        rx=rx_all,
        tx_bytes=_HEADERS + (tx * _STORAGE_FRAME / tx_all if tx_all > 0.0 else 0.0),
        rx_bytes=_HEADERS + (rx * _STORAGE_FRAME / rx_all if rx_all > 0.0 else 0.0),
    )


def sum_ports(ports: Iterable[PortTraffic]) -> PortTraffic:
    """The ports of one uplink together: packets add up, sizes are weighted by packets."""
    rows = [port.on_the_wire() for port in ports]
    tx, rx = fsum(row.tx for row in rows), fsum(row.rx for row in rows)
    return PortTraffic(
        tx=tx,
        rx=rx,
        tx_bytes=fsum(row.tx * row.tx_bytes for row in rows) / tx if tx > 0.0 else 0.0,
        rx_bytes=fsum(row.rx * row.rx_bytes for row in rows) / rx if rx > 0.0 else 0.0,
        multicast=0.6 if rows else 0.0,
        broadcast=1.4 if rows else 0.0,
    )
