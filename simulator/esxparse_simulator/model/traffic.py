"""Reads and writes of flows, or of whatever they were added up to: one matrix, so that all of it is handled at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.sums import added_rows, divided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse_simulator.model.layout import Index
    from esxparse_simulator.model.sample import Numbers

    Pair = tuple[Numbers, Numbers]

_RATES = slice(0, 4)
_DATA = slice(2, 4)
_OF_READS = slice(4, None, 2)
_OF_WRITES = slice(5, None, 2)


class _Row:
    """A row of the matrix, by name."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __get__(self, traffic: Traffic, kind: type[Traffic]) -> Numbers:
        row: Numbers = traffic.values[self._number]
        return row


@dataclass(frozen=True, slots=True)
class Traffic:
    """Reads and writes per second, MB per second, and average milliseconds per read and per write.

    `driver` is the time in the device, `kernel` in the VMkernel, `queue` the part of kernel that is waiting in its
    queue.
    """

    values: Numbers
    """[10, flows], the rows in the order of the names below."""

    reads = _Row(0)
    writes = _Row(1)
    read_mb = _Row(2)
    written_mb = _Row(3)
    driver_read = _Row(4)
    driver_write = _Row(5)
    kernel_read = _Row(6)
    kernel_write = _Row(7)
    queue_read = _Row(8)
    queue_write = _Row(9)

    @classmethod
    def of(cls, *, rates: Pair, mb: Pair, driver: Pair, kernel: Pair, queue: Pair) -> Traffic:
        """What is said of reads and of writes, pair by pair."""
        return cls(np.stack([*rates, *mb, *driver, *kernel, *queue]))

    @property
    def commands(self) -> Numbers:
        """Commands per second."""
        return self.reads + self.writes

    def per_command(self) -> Numbers:
        """[3, flows] average milliseconds per command of driver, kernel and queue: weighted by reads and writes."""
        weighted = self.reads * self.values[_OF_READS] + self.writes * self.values[_OF_WRITES]
        return divided(weighted, self.commands)

    def scaled(self, part: Numbers | float) -> Traffic:
        """The same latencies at `part` of the rates."""
        values = self.values.copy()
        values[_RATES] *= part
        return Traffic(values)

    def moving(self, part: Numbers) -> Traffic:
        """The same commands, with `part` of the data."""
        values = self.values.copy()
        values[_DATA] *= part
        return Traffic(values)

    def taken(self, places: Index | Sequence[int]) -> Traffic:
        """The flows at `places`, in their order."""
        return Traffic(self.values[:, places])


def summed(traffic: Traffic, into: Index, count: int) -> Traffic:
    """Flows added up into `count` others, `into` saying which: rates add, latencies are weighted by their commands.

    >>> flows = np.zeros((10, 2))
    >>> flows[0], flows[4] = (30.0, 10.0), (1.0, 5.0)
    >>> float(summed(Traffic(flows), np.array([0, 0]), 1).driver_read[0])
    2.0
    """
    values = traffic.values.copy()
    values[_OF_READS] *= traffic.reads
    values[_OF_WRITES] *= traffic.writes
    sums = added_rows(values, into, count)
    sums[_OF_READS] = divided(sums[_OF_READS], sums[0])
    sums[_OF_WRITES] = divided(sums[_OF_WRITES], sums[1])
    return Traffic(sums)
