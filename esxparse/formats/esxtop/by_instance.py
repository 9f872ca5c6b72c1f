"""The tables of a capture, instance by instance: the order that the history of one VM or disk needs.

A capture is written sample by sample, and reordering it in memory would take all of it. Here it is read once. Each
block
of rows is reordered and put aside in a temporary file. A counter that is constant within a block, as most are, takes
one number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from polars.io.plugins import register_io_source

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop.body import Block
from esxparse.formats.esxtop.layout import Layout
from esxparse.formats.esxtop.scan import Integers, Numbers
from esxparse.formats.esxtop.tables import Runs, Table, Wanted

if TYPE_CHECKING:
    import polars as pl

BUDGET = 48 << 20  # bytes of rows that are made at once

_KEY_BYTES = 16  # bytes per row in each key column, roughly: texts are kept as views


class Turned:
    """Blocks put aside: for each table, one stretch for each instance and counter.

    A stretch has the numbers of all rows of the block, or one number if they are all the same.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = 0
        self._where: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def put(self, number: int, block: Block, layout: Layout) -> None:
        """Put the block of that number aside."""
        for place in range(len(layout.tables)):
            ends, numbers = _stretches(block, layout, place)
            with self._lock:
                self._where[number, place] = self._size
                self._size += self._file.write(ends.data)
                self._size += self._file.write(numbers.data)

    def _read(self, at: int, kind: type[np.int64 | np.float64], count: int) -> Any:
        found = np.empty(count, dtype=kind)
        self._file.seek(at)
        if self._file.readinto(found) != found.nbytes:  # type: ignore[attr-defined]
            raise EsxparseError("numbers that were put aside in a temporary file are not there any more: try again")
        return found

    def numbers(self, table: Table, lanes: Integers, runs: Runs) -> Numbers:
        """Return the numbers as counters, samples and instances, in memory instance by instance."""
        columns, instances = len(table.shape.columns), len(table.shape.instances)
        out = np.empty((columns, len(lanes), len(table.times)))
        bounds = [0, *(np.flatnonzero(np.diff(lanes) != 1) + 1).tolist(), len(lanes)]
        for number, first, rows in runs:
            at = self._where[number, table.place]
            base = at + 8 * (columns * instances + 1)
            for begin, end in pairwise(bounds):
                lane, count = int(lanes[begin]), (end - begin) * columns
                ends = self._read(at + 8 * lane * columns, np.int64, count + 1)
                found = self._read(base + 8 * int(ends[0]), np.float64, int(ends[-1] - ends[0]))
                lengths = np.diff(ends)
                moves = lengths > 1
                into = out[:, begin:end, first : first + len(rows)].transpose(1, 0, 2)
                into[:] = found[ends[:-1] - ends[0]].reshape(end - begin, columns, 1)
                if moves.any():
                    moving = found[np.repeat(moves, lengths)].reshape(-1, int(lengths.max()))
                    into[moves.reshape(end - begin, columns)] = moving[:, rows]
        return out.transpose(0, 2, 1)


def _stretches(block: Block, layout: Layout, place: int) -> tuple[Integers, Numbers]:
    """Return the stretches of a table in a block: their ends (with a leading 0) and their numbers."""
    shape, there = layout.tables[place], layout.cells(place) >= 0
    start, (columns, lanes) = block.capacity * shape.offset, there.shape
    numbers = block.numbers[start : start + block.capacity * columns * lanes].reshape(columns, -1, lanes)
    numbers = numbers[:, : block.rows]
    bits = numbers.view(np.int64)  # not-a-number is not equal to itself
    moves = np.stack([(column[1:] != column[0]).any(axis=0) for column in bits]) & there
    lengths = np.where(moves, block.rows, 1).T.ravel()
    ends = np.concatenate([[0], np.cumsum(lengths)])
    found = np.empty(ends[-1])
    found[ends[:-1]] = np.where(there, numbers[:, 0], np.nan).T.ravel()
    found[np.repeat(moves.T.ravel(), lengths)] = numbers.transpose(2, 0, 1)[moves.T].ravel()
    return ends, found


def _everything(table: Table) -> Wanted:
    """Return all of a table, sorted by the parts of instances: worlds of a group, or disks of a VM, are adjacent."""
    lanes = table.parts.with_row_index("lane")
    parts = [name for name in table.parts.columns if name != "instance"]
    ordered = lanes.sort(parts, nulls_last=False, maintain_order=True) if parts else lanes
    return table.everything(ordered["lane"].to_numpy().astype(np.int64))


def frames(table: Table, turned: Turned, runs: Runs, budget: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table, instance by instance, in frames of about `budget` bytes."""
    whole = _everything(table)
    row_bytes = 8 * len(table.shape.columns) + _KEY_BYTES * (1 + table.parts.width)
    count = max(1, budget // (row_bytes * max(1, len(whole.samples))))
    for begin in range(0, len(whole.lanes), count):
        wanted = replace(whole, lanes=whole.lanes[begin : begin + count])
        numbers = turned.numbers(table, wanted.lanes, runs)
        yield table.frame(wanted, wanted.samples, numbers, by_instance=True)


def scan(table: Table, turned: Turned, runs: Runs, budget: int) -> pl.LazyFrame:
    """Return the table as a frame that is built piece by piece, instance by instance, when it is written."""

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        # The table is always written whole.
        if with_columns is not None or predicate is not None or n_rows is not None:
            raise EsxparseError("part of a table was requested where the whole table is written")
        yield from frames(table, turned, runs, budget)

    return register_io_source(read, schema=table.schema(), validate_schema=True, is_pure=True)
