"""Tables of a capture that is not held in memory: each query reads the rows, columns and instances it needs.

Opening a capture surveys it once: places and times of its rows, and their odd cells. A query then reports, through
polars' IO plugin, the columns it needs and the rows it keeps. Conditions on time alone skip samples, and conditions on
the instance or its parts alone skip instances, before any byte of them is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import local
from typing import NamedTuple

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from esxparse.formats.esxtop import body, tables
from esxparse.formats.esxtop.scan import Flags, Integers, Numbers, scan
from esxparse.formats.esxtop.tables import Wanted
from esxparse.formats.kit.pieces import fill, in_order, large
from esxparse.formats.unchanged import Opened

BATCH_BYTES = 16 << 20  # most bytes of the file in one batch of rows (at least one row)
_PART_BYTES = 4 << 20  # bytes read at a time: more would not fit into the processor's cache
_BATCH_NUMBERS = 4 << 20  # most numbers in one batch (at least one sample)

_LINE_END = ord("\n")
_LONGEST_LINE_END = 3  # bytes of `\\r\\r\\n`. Rows with a longer one are read apart.

_own = local()


@dataclass(frozen=True)
class Surveyed:
    """A capture with known rows, not kept in memory; its lists have an entry for each sample."""

    opened: Opened  # the file
    start: Integers  # the byte its row begins with
    stop: Integers  # byte after its row, without its line end
    lines: Integers
    stamps: Sequence[bytes]  # beginning of its row
    prefixed: Flags  # whether text precedes its row on the line
    scratch: object = None  # reference that keeps a temporary file from being removed


def _conjuncts(predicate: pl.Expr) -> list[pl.Expr]:
    """Return the conditions that must all hold; the whole predicate if polars does not split it."""
    try:
        top = json.loads(predicate.meta.serialize(format="json"))
    except (pl.exceptions.PolarsError, ValueError):
        return [predicate]
    if not (isinstance(top, dict) and top.get("BinaryExpr", {}).get("op") in {"And", "LogicalAnd"}):
        return [predicate]
    return [part for side in predicate.meta.pop() for part in _conjuncts(side)]


def _kept(frame: pl.DataFrame, conditions: Sequence[pl.Expr]) -> Integers:
    """Return the rows of `frame` that meet all conditions on its columns alone."""
    mine = [one for one in conditions if set(one.meta.root_names()) <= set(frame.columns)]
    if not mine:
        return np.arange(frame.height)
    return frame.select(pl.arg_where(pl.all_horizontal(mine))).to_series().to_numpy().astype(np.int64)


def _batches(surveyed: Surveyed, samples: Integers, numbers: int, size_limit: int) -> Iterator[Integers]:
    """Yield the samples in runs of at most `size_limit` bytes and a bounded count of numbers (`numbers` a sample)."""
    sizes = (surveyed.stop - surveyed.start)[samples]
    most = max(1, _BATCH_NUMBERS // max(1, numbers))
    begin = size = 0
    for place, length in enumerate(sizes.tolist()):
        if place > begin and (size + length > size_limit or place - begin >= most):
            yield samples[begin:place]
            begin, size = place, 0
        size += length
    if begin < len(samples):
        yield samples[begin:]


def _bytes_of(surveyed: Surveyed, samples: Integers) -> memoryview:
    """Return the rows of these samples, each with a line end; neighbours are read together.

    They are valid until the same thread reads more.
    """
    start, stop = surveyed.start[samples], surveyed.stop[samples]
    # Other lines may lie between two samples: blank or damaged ones, or a header glued to the row before it.
    between = (np.diff(surveyed.lines[samples]) != 1) | (start[1:] - stop[:-1] > _LONGEST_LINE_END)
    between |= surveyed.prefixed[samples[1:]]
    bounds = [0, *(np.flatnonzero(between) + 1).tolist(), len(samples)]
    sizes = [int(stop[end - 1] - start[begin]) for begin, end in pairwise(bounds)]
    room, filled = _own_room(sum(sizes) + len(sizes)), 0
    opened = surveyed.opened
    try:
        with opened.open() as file:
            grown = opened.has_grown(file.fileno())
            for (begin, end), size in zip(pairwise(bounds), sizes, strict=True):
                file.seek(int(start[begin]))
                run = room[filled : filled + sum(map(len, fill(file, room[filled : filled + size])))]
                # A file that grew may have been rewritten, so check every row. Otherwise the first and last row are
                # enough.
                for place in range(begin, end) if grown else {begin, end - 1}:
                    at, stamp = int(start[place] - start[begin]), surveyed.stamps[samples[place]]
                    if run[at : at + len(stamp)] != stamp:
                        why = "was changed"
                        raise opened.error(why)
                room[filled + size] = _LINE_END
                filled += size + 1
            opened.has_grown(file.fileno())
    except OSError as error:
        raise opened.unreadable(error) from error
    return room[:filled]


def _own_room(size: int) -> memoryview:
    """Return room that this thread reuses for reading: allocating memory takes as long as reading."""
    if len(getattr(_own, "room", b"")) < size:
        _own.room = large(size)
    room: memoryview = _own.room
    return room


class Needed(NamedTuple):
    """The cells that a query needs of a sample; counters and instances are places in `Wanted`."""

    # For each number:
    counter: Integers
    lane: Integers
    cell: Integers
    lacking: list[tuple[int, Integers]]  # counters, and the instances that do not have them

    @classmethod
    def of(cls, table: Table, wanted: Wanted) -> Needed:
        """Return the needed cells of a table."""
        cells = table.layout.cells(table.place)[np.ix_(wanted.counters, wanted.lanes)]
        counter, lane = np.nonzero(cells >= 0)
        lacking = [(number, np.flatnonzero(row < 0)) for number, row in enumerate(cells) if (row < 0).any()]
        return cls(counter, lane, cells[counter, lane] + 1, lacking)


def _numbers(table: Table, wanted: Wanted, samples: Integers, needed: Needed) -> Numbers:
    """Return the numbers of these samples; NaN if a cell has no number or an instance does not have the counter."""
    counter, lane, cell, lacking = needed
    lanes = len(wanted.lanes)
    numbers = np.empty((len(wanted.counters), len(samples), lanes))
    for number, without in lacking:
        numbers[number][:, without] = np.nan
    # A row is scanned up to the last cell that is needed.
    first = np.full(int(cell.max(initial=0)) + 1, -1)
    step = np.zeros(len(first), dtype=np.int64)
    first[cell], step[cell] = counter * len(samples) * lanes + lane, lanes
    for part in _batches(table.surveyed, samples, 0, _PART_BYTES):
        scan(_bytes_of(table.surveyed, part), first, step, numbers.ravel(), 0, False)
        first[cell] += len(part) * lanes
    return numbers


@dataclass(frozen=True)
class Table(tables.Table):
    """One table of a surveyed capture, for polars to query."""

    surveyed: Surveyed

    def scan(self) -> pl.LazyFrame:
        """Return the table as a frame that reads only the data a query needs."""
        return register_io_source(self.read, schema=self.schema(), validate_schema=True, is_pure=True)

    def wanted(self, names: Sequence[str], conditions: Sequence[pl.Expr]) -> Wanted:
        """Return the parts of the table that these columns need, limited by all these conditions."""
        return tables.Wanted(
            samples=_kept(self.times.to_frame("time"), conditions),
            lanes=_kept(self.parts, conditions),
            keys=[name for name in ("time", *self.parts.columns) if name in names],
            counters=np.array([n for n, name in enumerate(self.shape.columns) if name in names], dtype=np.int64),
            texts={column: name for column, name in self.texts.items() if name in names},
        )

    def numbers(self, wanted: Wanted, samples: Integers, needed: Needed) -> Numbers:
        """Return numbers by counter, sample and instance, without a call to polars.

        Polars requests batches from its own threads and blocks them: a batch that needed such a thread would never end.
        """
        if not len(wanted.counters):
            return np.empty(0)
        return _numbers(self, wanted, samples, needed)

    def read(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """Yield batches of the rows that polars requests, in the order of the file."""
        order = list(self.schema())
        names = order if with_columns is None else with_columns
        roots = [] if predicate is None else predicate.meta.root_names()
        wanted = self.wanted([*names, *roots], [] if predicate is None else _conjuncts(predicate))
        left = n_rows
        if left is not None and predicate is None and len(wanted.lanes):
            samples = -(-left // len(wanted.lanes))
            wanted = replace(wanted, samples=wanted.samples[:samples])
        for frame in _ahead(self, wanted):
            kept = frame if predicate is None else frame.filter(predicate)
            kept = kept.select(names or kept.columns)
            if left is not None:
                kept = kept.head(left)
                left -= kept.height
            yield kept
            if left == 0:
                return


def _ahead(table: Table, wanted: Wanted) -> Iterator[pl.DataFrame]:
    """Yield the frames of the batches in order, with each processor one batch ahead."""
    per_sample, needed = len(wanted.lanes) * len(wanted.counters), Needed.of(table, wanted)
    batches = _batches(table.surveyed, wanted.samples, per_sample, BATCH_BYTES)
    read = in_order(batches, lambda batch: (batch, table.numbers(wanted, batch, needed)), body.threads())
    for samples, numbers in read:
        yield table.frame(wanted, samples, numbers)
