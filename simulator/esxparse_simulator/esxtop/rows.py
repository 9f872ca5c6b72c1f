"""The numbers of a sample in the order of the columns: rows of every table, laid into one flat array.

Where a counter of a row lies is worked out once for a capture; a sample is then some hundred slices filled and one
`take`. Counters the rows do not give are zero. -1 is "no limit" or "not applicable", -3 "normal" shares, as in real
captures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from esxparse_simulator.esxtop.columns import Block, row_counts
from esxparse_simulator.esxtop.groups import Groups, Regrouping, regrouped
from esxparse_simulator.esxtop.host_rows import cpu_rows, memory_rows
from esxparse_simulator.esxtop.io_rows import at_first, disk_rows, port_rows, vsan_rows
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.model.sums import Index, Numbers

Tables = dict[str, dict[str, "Numbers | float"]]

_NOTHING: dict[str, Numbers | float] = {}


@dataclass(frozen=True, slots=True)
class Places:
    """Where in a flat array each counter of each table lies, and which place and what addition each column takes.

    The array is there once, filled anew for every sample: a new one of this size costs more than filling it.
    """

    flat: Numbers
    kept: dict[str, dict[str, Numbers | float]]
    """What lies in it: what stays from sample to sample is not laid again."""
    slices: Mapping[str, Mapping[str, slice]]
    order: Index
    plus: Numbers | None
    regroup: Regrouping | None
    leaving: Mapping[int, Index]
    """By the place of each VM that leaves the host, its columns: 0 once it has (assumed)."""


def places_of(layout: Layout, groups: Groups, blocks: Sequence[Block]) -> Places:
    """The places of a capture's columns. Place 0 holds the zero of what is not given."""
    counts = row_counts(layout, groups)
    slices: dict[str, dict[str, slice]] = {}
    order: list[int] = []
    plus: list[float] = []
    size = 1
    for block in blocks:
        table = slices.setdefault(block.table, {})
        for counter in block.counters:
            plus.append(counter.plus)
            if counter.source is None:
                order.append(0)
                continue
            if counter.source not in table:
                table[counter.source] = slice(size, size + counts[block.table])
                size += counts[block.table]
            order.append(table[counter.source].start + block.row)
    return Places(
        flat=np.zeros(size),
        kept={},
        slices=slices,
        order=np.array(order, dtype=np.intp),
        plus=np.array(plus, dtype=np.float64) if any(plus) else None,
        leaving={
            place: np.flatnonzero([block.is_of(vm.name) for block in blocks for _ in block.counters])
            for place, vm in enumerate(layout.vms)
            if any(phase.load.get("gone") for phase in vm.phases)
        },
        regroup=None if groups.as_they_are else Regrouping(layout, groups),
    )


def numbers(places: Places, layout: Layout, now: Snapshot) -> Numbers:
    """The numbers of every column in this sample."""
    flat, tables = places.flat, _tables(places, layout, now)
    for table, slices in places.slices.items():
        rows, kept = tables.get(table, _NOTHING), places.kept.setdefault(table, {})
        for counter, where in slices.items():
            value = rows.get(counter, 0.0)
            if kept.get(counter) is not value:
                flat[where] = kept[counter] = value
    row: Numbers = flat.take(places.order)
    for vm, columns in places.leaving.items():
        row[columns] *= now.loads.gone[vm] < 1.0
    return row if places.plus is None else row + places.plus


def _tables(places: Places, layout: Layout, now: Snapshot) -> Tables:
    disks = disk_rows(now, layout)
    tables: Tables = disks if now.second > 0.0 else at_first(disks)
    for rows in (cpu_rows, memory_rows, port_rows, vsan_rows):
        tables.update(rows(now, layout))
    if places.regroup is not None and "Vcpu" in tables:
        tables["Vcpu"], tables["Group Cpu"] = regrouped(places.regroup, tables["Vcpu"], tables["Group Cpu"])
    return tables
