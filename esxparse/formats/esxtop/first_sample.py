"""The first sample of a capture, which has no disk rates.

By its first sample esxtop has already measured CPUs, memory and ports once, but no disk. Rates, latencies, counts and
shares of all adapters, paths, devices, partitions, worlds and virtual disks are 0.00. These numbers were not measured
and are null in the tables. Queue depths are settings, so the first sample has them.

A first sample directly follows a header, or a repeated header. If any disk has a rate above 0, disks were measured, and
all zeros are kept. Later samples are not checked: a part of a capture with idle disks must open as it does within the
whole. An idle interval at the beginning of a file cut by hand looks the same. The header of a slice shows that the
capture continues (`grammar.CONTINUED`).

Source: a capture of ESXi 6.5 (no disk counter but queue depths is above 0 in sample 1; shares of 1000 appear from
sample 2 on).
"""

from __future__ import annotations

import numpy as np

from esxparse.formats.esxtop.layout import Layout, TableShape
from esxparse.formats.esxtop.scan import Integers, Numbers, scan
from esxparse.recording import Note

_DISKS = ("Physical Disk", "Virtual Disk")
_GAUGES = ("_q_depth", "active_commands", "queued_commands", "pct_used", "load")
"""Endings of counter names for states rather than intervals."""
_MEASURED = ("_per_sec", "_per_command", "_per_read", "_per_write")  # endings of the names of rates and latencies


def unmeasured_columns(shape: TableShape) -> frozenset[int]:
    """Return the columns of a table that have no numbers in the first sample."""
    if not shape.object.startswith(_DISKS):
        return frozenset()
    return frozenset(place for place, name in enumerate(shape.columns) if not name.endswith(_GAUGES))


def rate_cells(layout: Layout) -> Integers:
    """Return each cell's place among the rates and latencies of disks, or -1; time stamp included."""
    is_rate = np.zeros(len(layout.table), dtype=np.bool_)
    for table, shape in enumerate(layout.tables):
        if shape.object.startswith(_DISKS):
            rates = np.array([name.endswith(_MEASURED) for name in shape.columns], dtype=np.bool_)
            mine = layout.table == table
            is_rate[mine] = rates[layout.column[mine]]
    return np.concatenate([[-1], np.where(is_rate, np.cumsum(is_rate) - 1, -1)]).astype(np.int64)


def all_zero(row: bytes, cells: Integers) -> bool:
    """Return whether a row (no line end) has disk rates and all are 0; `cells` comes from `rate_cells`."""
    rates = np.full(int(cells.max(initial=-1)) + 1, np.nan)
    if not len(rates):
        return False
    scan(row + b"\n", cells, np.zeros(len(cells), dtype=np.int64), rates, 0, False)
    return not np.nan_to_num(rates).any()


def not_measured(numbers: Numbers) -> Numbers:
    """Return the numbers of such samples, with NaN for zeros."""
    return np.where(numbers == 0.0, np.nan, numbers)


def notes(layout: Layout, lines: Integers) -> list[Note]:
    """Return the note on samples with unmeasured disks, on these lines."""
    if not len(lines):
        return []
    tables = ", ".join(shape.name for shape in layout.tables if unmeasured_columns(shape))
    which = "the first sample has" if len(lines) == 1 else f"{len(lines)} samples, each the first after a header, have"
    message = f"{which} no rates of disks (esxtop prints 0.00 before it has measured them): null in {tables}"
    return [Note(message, line=int(lines[0]), column=1)]
