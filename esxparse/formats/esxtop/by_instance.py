"""The tables of a capture instance by instance: the order that one VM's or one disk's history is asked for in.

A capture is written sample by sample. Turning it would take it whole into memory; here it is read several times
instead, each time for as many instances as a stated number of bytes holds.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from esxparse.formats.esxtop import body
from esxparse.formats.esxtop.lazy import batches, bytes_of, room
from esxparse.formats.esxtop.scan import scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from esxparse.formats.esxtop.lazy import Table
    from esxparse.formats.esxtop.scan import Integers, Numbers
    from esxparse.formats.esxtop.tables import Wanted

_KEY_BYTES = 16  # bytes that a row takes in each key column, roughly: texts are kept as views


def _row_bytes(table: Table) -> int:
    return 8 * len(table.shape.columns) + _KEY_BYTES * (1 + table.parts.width)


def _everything(table: Table) -> Wanted:
    """All of a table, its instances in the order of their parts: worlds of a group, disks of a VM stand together."""
    lanes = table.parts.with_row_index("lane")
    parts = [name for name in table.parts.columns if name != "instance"]
    ordered = lanes.sort(parts, nulls_last=False, maintain_order=True) if parts else lanes
    return table.everything(ordered["lane"].to_numpy().astype(np.int64))


def _numbers(parts: Sequence[tuple[Table, Wanted]]) -> list[Numbers]:
    """The numbers of each part, from one reading of the file, without a call to polars: see `Table.numbers`."""
    surveyed, samples = parts[0][0].surveyed, parts[0][1].samples
    out, first, step, numbers = room(parts, len(samples), by_instance=True)

    def fill(batch: Integers) -> None:
        here = np.where(first >= 0, first + batch[0], -1)
        scan(bytes_of(surveyed, batch), here, step, out, 0, False)

    with ThreadPoolExecutor(body.threads()) as pool:
        for _ in pool.map(fill, batches(surveyed, samples, 1)):
            pass
    return numbers


def frames(table: Table, budget: int) -> Iterator[pl.DataFrame]:
    """The rows of a table, instance by instance, in frames of about `budget` bytes; the file is read for each."""
    whole = _everything(table)
    count = max(1, budget // (_row_bytes(table) * max(1, len(whole.samples))))
    for begin in range(0, len(whole.lanes), count):
        wanted = replace(whole, lanes=whole.lanes[begin : begin + count])
        (numbers,) = _numbers([(table, wanted)])
        yield table.frame(wanted, wanted.samples, numbers, by_instance=True)


def together(tables: Mapping[str, Table], budget: int) -> Iterator[dict[str, pl.DataFrame]]:
    """The tables that fit, whole and instance by instance, as many at once as `budget` bytes hold.

    Tables larger than that are left out: they are for `frames`.
    """
    small = {name: table for name, table in tables.items() if _size(table) <= budget}
    while small:
        group: dict[str, Table] = {}
        size = 0
        for name, table in list(small.items()):
            if not group or size + _size(table) <= budget:
                group[name] = small.pop(name)
                size += _size(table)
        parts = [(table, _everything(table)) for table in group.values()]
        made = zip(group, parts, _numbers(parts), strict=True)
        yield {
            name: table.frame(wanted, wanted.samples, numbers, by_instance=True)
            for name, (table, wanted), numbers in made
        }


def _size(table: Table) -> int:
    return _row_bytes(table) * len(table.times) * len(table.shape.instances)
