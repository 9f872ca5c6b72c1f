"""Disks: closed-loop clients on devices with queues.

Each flow (one world's I/O to one device) asks for a rate and never has more than `outstanding` commands in flight, so
its throughput is min(wanted, outstanding / response). A device's response is its unloaded time plus queueing behind the
array, service x rho / (1 - rho); the rate and the response that fit together are found by bisection. When more commands
are in flight than the device queue takes, the rest waits in the VMkernel:

    GAVG = DAVG + KAVG      KAVG = QAVG + a fixed cost      ACTV = commands/s x DAVG      QUED = commands/s x QAVG

A `Traffic` is what any row of esxtop needs; rows that stand for several (an adapter, a VM's roll-up) are `together`,
which weights latencies by commands, because an average of averages is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING

from esxparse.simulate.host import Device, NfsVolume

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Flow", "Traffic", "serve", "together"]

_KERNEL_MS = 0.02  # the VMkernel's own time on a command
_FULL = 0.985  # utilisation the array's queueing formula is kept below
_STEPS = 60  # halvings: from ten minutes to below a nanosecond
_LONGEST_MS = 600_000.0
_NO_QUEUE_LIMIT = 1e9


@dataclass(frozen=True, slots=True)
class Flow:
    """What one world asks of one device. `slot` is the virtual disk it belongs to, None for VMkernel I/O."""

    owner: int
    target: str
    slot: str | None
    reads: float
    writes: float
    read_kb: float
    write_kb: float
    outstanding: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """Rates per second and average milliseconds per read and per write: driver, kernel and queue (a part of kernel)."""

    reads: float = 0.0
    writes: float = 0.0
    read_mb: float = 0.0
    written_mb: float = 0.0
    driver_read: float = 0.0
    driver_write: float = 0.0
    kernel_read: float = 0.0
    kernel_write: float = 0.0
    queue_read: float = 0.0
    queue_write: float = 0.0

    @property
    def commands(self) -> float:
        """Commands per second."""
        return self.reads + self.writes

    @property
    def driver(self) -> float:
        """DAVG/cmd: milliseconds in the device, over reads and writes."""
        return _mean(((self.reads, self.driver_read), (self.writes, self.driver_write)))

    @property
    def kernel(self) -> float:
        """KAVG/cmd: milliseconds in the VMkernel, over reads and writes."""
        return _mean(((self.reads, self.kernel_read), (self.writes, self.kernel_write)))

    @property
    def queue(self) -> float:
        """QAVG/cmd: milliseconds in the VMkernel's queue, over reads and writes."""
        return _mean(((self.reads, self.queue_read), (self.writes, self.queue_write)))

    def scaled(self, part: float) -> Traffic:
        """The same latencies at `part` of the rates."""
        return Traffic(
            self.reads * part,
            self.writes * part,
            self.read_mb * part,
            self.written_mb * part,
            self.driver_read,
            self.driver_write,
            self.kernel_read,
            self.kernel_write,
            self.queue_read,
            self.queue_write,
        )


def together(parts: Iterable[Traffic]) -> Traffic:
    """One row for many: rates add up, latencies are weighted by their commands.

    >>> together([Traffic(reads=30.0, driver_read=1.0), Traffic(reads=10.0, driver_read=5.0)]).driver
    2.0
    """
    rows = list(parts)
    return Traffic(
        fsum(row.reads for row in rows),
        fsum(row.writes for row in rows),
        fsum(row.read_mb for row in rows),
        fsum(row.written_mb for row in rows),
        _mean((row.reads, row.driver_read) for row in rows),
        _mean((row.writes, row.driver_write) for row in rows),
        _mean((row.reads, row.kernel_read) for row in rows),
        _mean((row.writes, row.kernel_write) for row in rows),
        _mean((row.reads, row.queue_read) for row in rows),
        _mean((row.writes, row.queue_write) for row in rows),
    )


def serve(device: Device | NfsVolume, flows: Sequence[Flow], slower: float = 1.0) -> list[Traffic]:
    """What each of the flows gets from the device, in their order.

    `slower` multiplies what a command costs the device: an array is shared with hosts that are not in the picture.
    """
    if not flows:
        return []
    device = replace(device, service_ms=device.service_ms * slower, mb_per_s=device.mb_per_s / slower)
    low, high = 0.0, _LONGEST_MS
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if _response(device, flows, middle) > middle:
            low = middle
        else:
            high = middle
    rates = [_rate(flow, high) for flow in flows]
    waiting = _waiting(device, flows, rates)
    reads = fsum(flow.reads * rate for flow, rate in zip(flows, rates, strict=True))
    writes = fsum(flow.writes * rate for flow, rate in zip(flows, rates, strict=True))
    in_flight = (reads * (device.read_ms + waiting) + writes * (device.write_ms + waiting)) / 1000.0
    depth = float(device.queue_depth) if isinstance(device, Device) else _NO_QUEUE_LIMIT
    inside = min(1.0, depth / in_flight) if in_flight > 0.0 else 1.0
    return [_traffic(device, flow, rate, waiting, inside) for flow, rate in zip(flows, rates, strict=True)]


def _rate(flow: Flow, response_ms: float) -> float:
    """The part (0..1) of its wanted rate that a flow reaches when a command takes `response_ms`."""
    wanted = flow.reads + flow.writes
    if wanted <= 0.0 or response_ms <= 0.0:
        return 1.0
    return min(1.0, flow.outstanding * 1000.0 / response_ms / wanted)


def _response(device: Device | NfsVolume, flows: Sequence[Flow], guess_ms: float) -> float:
    rates = [_rate(flow, guess_ms) for flow in flows]
    reads = fsum(flow.reads * rate for flow, rate in zip(flows, rates, strict=True))
    writes = fsum(flow.writes * rate for flow, rate in zip(flows, rates, strict=True))
    base = _mean(((reads, device.read_ms), (writes, device.write_ms)))
    return base + _waiting(device, flows, rates)


def _waiting(device: Device | NfsVolume, flows: Sequence[Flow], rates: Sequence[float]) -> float:
    """Milliseconds behind other commands at these rates: service x rho / (1 - rho), ever steeper beyond `_FULL`."""
    commands = fsum((flow.reads + flow.writes) * rate for flow, rate in zip(flows, rates, strict=True))
    if commands <= 0.0:
        return 0.0
    busy = fsum(
        rate * (flow.reads * _cost(device, flow.read_kb) + flow.writes * _cost(device, flow.write_kb))
        for flow, rate in zip(flows, rates, strict=True)
    )
    rho = busy / 1000.0
    below = min(rho, _FULL)
    return busy / commands * below / (1.0 - below) * (1.0 + 400.0 * (rho - below))


def _cost(device: Device | NfsVolume, kb: float) -> float:
    return device.service_ms + kb / 1024.0 / device.mb_per_s * 1000.0


def _traffic(device: Device | NfsVolume, flow: Flow, rate: float, waiting: float, inside: float) -> Traffic:
    read_ms, write_ms = device.read_ms + waiting, device.write_ms + waiting
    reads, writes = flow.reads * rate, flow.writes * rate
    read_queue = read_ms * (1.0 - inside) if reads > 0.0 else 0.0
    write_queue = write_ms * (1.0 - inside) if writes > 0.0 else 0.0
    return Traffic(
        reads=reads,
        writes=writes,
        read_mb=reads * flow.read_kb / 1024.0,
        written_mb=writes * flow.write_kb / 1024.0,
        driver_read=read_ms * inside if reads > 0.0 else 0.0,
        driver_write=write_ms * inside if writes > 0.0 else 0.0,
        kernel_read=read_queue + _KERNEL_MS if reads > 0.0 else 0.0,
        kernel_write=write_queue + _KERNEL_MS if writes > 0.0 else 0.0,
        queue_read=read_queue,
        queue_write=write_queue,
    )


def _mean(pairs: Iterable[tuple[float, float]]) -> float:
    rows = list(pairs)
    weight = fsum(row[0] for row in rows)
    return fsum(row[0] * row[1] for row in rows) / weight if weight > 0.0 else 0.0
