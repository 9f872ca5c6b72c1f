"""Interrupts: which vectors fire, how often, on which PCPU, and how long one takes.

Vectors are known by a cookie (a small hexadecimal number, the capture's own). Timers follow each PCPU's busy time,
inter-processor interrupts its wake-ups, adapters their commands, network cards their packets; a device's interrupts
fall on two PCPUs, as its queues are bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Interrupt", "device_interrupt", "ipi_interrupt", "timer_interrupt"]

_COMMANDS_PER_INTERRUPT = 1.6
_PACKETS_PER_INTERRUPT = 9.0  # interrupts are moderated


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One vector: interrupts per second on each PCPU, and whole microseconds for one."""

    cookie: str
    rates: tuple[float, ...]
    microseconds: float

    @property
    def total(self) -> float:
        """Interrupts per second on the host."""
        return fsum(self.rates)


def timer_interrupt(busy: Sequence[float]) -> Interrupt:
    """The local timers: slow on an idle PCPU, up to a thousand a second on a busy one."""
    return Interrupt("0xef", tuple(70.0 + 830.0 * part for part in busy), 1.0)


def ipi_interrupt(wakeups: float, busy: Sequence[float]) -> Interrupt:
    """Inter-processor interrupts: a part of all wake-ups, where there is running."""
    total = max(1e-9, fsum(busy))
    return Interrupt("0xf6", tuple(0.3 * wakeups * part / total for part in busy), 0.0)


def device_interrupt(cookie: str, events: float, storage: bool, pcpus: int, first: int) -> Interrupt:
    """A disk or network adapter, bound to PCPUs `first` and the next but one."""
    rate = events / (_COMMANDS_PER_INTERRUPT if storage else _PACKETS_PER_INTERRUPT)
    rates = [0.0] * pcpus
    rates[first % pcpus] = rate * 0.75
    rates[(first + 2) % pcpus] = rate * 0.25
    return Interrupt(cookie, tuple(rates), 4.0 if storage else 2.0)
