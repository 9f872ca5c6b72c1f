"""The numbers of a sample in the order of the columns: parts of every table, laid into one flat array.

Where a counter of a row lies is worked out once for a capture; a sample is then one `take`. Counters that no part gives
are zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from esxparse_simulator.esxtop.columns import Block
from esxparse_simulator.esxtop.groups import Groups, Regrouping, regrouped
from esxparse_simulator.esxtop.host_rows import Part, cpu_rows, memory_rows
from esxparse_simulator.esxtop.io_rows import at_first, disk_rows, port_rows, vsan_rows
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.model.sums import Index, Numbers, index


class Rows:
    """A capture's rows of numbers, sample by sample."""

    def __init__(self, layout: Layout, groups: Groups, blocks: Sequence[Block]) -> None:
        """Those of the columns of the blocks."""
        plus = np.array([counter.plus for block in blocks for counter in block.counters], dtype=np.float64)
        self._layout, self._blocks = layout, blocks
        self._order: Index | None = None
        self._plus = plus if plus.any() else None
        # by the place of each VM that leaves the host, its columns: 0 once it has (assumed)
        self._leaving = {
            place: np.flatnonzero([block.is_of(vm.name) for block in blocks for _ in block.counters])
            for place, vm in enumerate(layout.vms)
            if any(phase.load.get("gone") for phase in vm.phases)
        }
        self._regroup = None if groups.as_they_are else Regrouping(groups)

    def __call__(self, now: Snapshot) -> Numbers:
        """The numbers of every column in this sample."""
        parts = tuple(self._parts(now))
        if self._order is None:
            self._order = index(self._places(parts))
        flat = np.concatenate([np.zeros(1), *(values.ravel() for _, _, values in parts)])
        row: Numbers = flat.take(self._order)
        for vm, columns in self._leaving.items():
            row[columns] *= now.loads.gone[vm] < 1.0
        return row if self._plus is None else row + self._plus

    def _parts(self, now: Snapshot) -> Iterator[Part]:
        disks, cpus = disk_rows(now, self._layout), cpu_rows(now, self._layout)
        yield from disks if now.second > 0.0 else at_first(disks)
        yield from regrouped(self._regroup, cpus) if self._regroup else cpus
        for rows in (memory_rows, port_rows, vsan_rows):
            yield from rows(now, self._layout)

    def _places(self, parts: Sequence[Part]) -> Iterator[int]:
        """Of each column its place in the parts laid one after another, behind the zero of what none gives."""
        begins, size = {}, 1
        for table, names, values in parts:
            for name in names:
                begins[table, name] = size
                size += values.shape[1]
        for block in self._blocks:
            for counter in block.counters:
                begin = begins.get((block.table, counter.source or ""))
                yield 0 if begin is None else begin + block.row
