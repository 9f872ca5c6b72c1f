"""What a load generator measured, before any tool has printed it: the common input of the writers of fio and Iometer.

Rates are per second over the measured time, sizes in bytes, latencies in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from esxparse_simulator.distribution import Distribution

__all__ = ["Access", "Measured", "Side", "Worker"]


@dataclass(frozen=True, slots=True)
class Access:
    """What was asked for: an access specification of Iometer, a job's options of fio."""

    name: str
    block_bytes: int
    read_pct: float = 100.0
    random_pct: float = 0.0
    outstanding: int = 1


@dataclass(frozen=True, slots=True)
class Side:
    """Reads or writes of one worker: I/Os per second of `block_bytes` each, and their latency in ms."""

    iops: float
    block_bytes: int
    latency: Distribution

    @property
    def bytes_per_s(self) -> float:
        """Bytes moved per second."""
        return self.iops * self.block_bytes


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker (fio: job): where it ran (`manager`: the machine's name), on which disk, and what each side got.

    `cpu_pct` is what the machine that it ran on used of its processors.
    """

    name: str
    manager: str
    disk: str
    read: Side | None
    write: Side | None
    cpu_pct: float = 10.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement: what was asked, when it began, how long it ramped up and was measured (s), and its workers."""

    access: Access
    start: datetime
    ramp_s: float
    seconds: float
    workers: tuple[Worker, ...]
