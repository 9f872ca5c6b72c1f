"""The first sample of a capture, which has no disk rates.

At its first sample esxtop has looked at CPUs, memory and ports once already, but at no disk: every rate, latency and
count of every adapter, path, device, partition, world and virtual disk is 0.00, and so are shares. They were not
measured, and are null in the tables. Queue depths, which are settings, are there from the start.

A first sample follows a header at once, also one that stands again. If one rate of one disk is not 0, disks were
measured, and all zeros are kept. Later samples are not asked: a part of a capture whose disks do nothing has to open as
it does within the whole. An idle interval at the beginning of a file cut by hand looks the same; a slice says in its
header that it goes on (`grammar.CONTINUED`).

Source: a capture of ESXi 6.5 (no disk counter but queue depths is above 0 in sample 1; shares of 1000 are there from
sample 2 on).
"""

from __future__ import annotations

import numpy as np

from esxparse.formats.esxtop.layout import Layout, TableShape
from esxparse.formats.esxtop.scan import Integers, Numbers, scan
from esxparse.recording import Note

_DISKS = ("Physical Disk", "Virtual Disk")
_GAUGES = ("_q_depth", "active_commands", "queued_commands", "pct_used", "load")
"""How the names of counters end that tell a state and no interval."""
_MEASURED = ("_per_sec", "_per_command", "_per_read", "_per_write")  # how the names of rates and latencies end


def unmeasured_columns(shape: TableShape) -> frozenset[int]:
    """Return columns of a table that have no numbers in the first sample."""
    if not shape.object.startswith(_DISKS):
        return frozenset()
    return frozenset(place for place, name in enumerate(shape.columns) if not name.endswith(_GAUGES))


def rate_cells(layout: Layout) -> Integers:
    """For each cell of a row, the time stamp's included, its place among the rates and latencies of disks, or -1."""
    is_rate = np.zeros(len(layout.table), dtype=np.bool_)
    for table, shape in enumerate(layout.tables):
        if shape.object.startswith(_DISKS):
            rates = np.array([name.endswith(_MEASURED) for name in shape.columns], dtype=np.bool_)
            mine = layout.table == table
            is_rate[mine] = rates[layout.column[mine]]
    return np.concatenate([[-1], np.where(is_rate, np.cumsum(is_rate) - 1, -1)]).astype(np.int64)


def all_zero(row: bytes, cells: Integers) -> bool:
    """Return whether a row (no line end) has rates of disks and none above 0; `cells` as `rate_cells` gives them."""
    rates = np.full(int(cells.max(initial=-1)) + 1, np.nan)
    if not len(rates):
        return False
    scan(row + b"\n", cells, np.zeros(len(cells), dtype=np.int64), rates, 0, False)
    return not np.nan_to_num(rates).any()


def not_measured(numbers: Numbers) -> Numbers:
    """Return the numbers of such samples: NaN for what was not measured."""
    return np.where(numbers == 0.0, np.nan, numbers)


def notes(layout: Layout, lines: Integers) -> list[Note]:
    """Return the note on samples, on these lines, whose disks were not measured."""
    if not len(lines):
        return []
    tables = ", ".join(shape.name for shape in layout.tables if unmeasured_columns(shape))
    which = "the first sample has" if len(lines) == 1 else f"{len(lines)} samples, each the first after a header, have"
    message = f"{which} no rates of disks (esxtop prints 0.00 before it has measured them): null in {tables}"
    return [Note(message, line=int(lines[0]), column=1)]
