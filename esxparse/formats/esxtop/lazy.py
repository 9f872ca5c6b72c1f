"""Tables of a capture that is not held in memory: each query reads the rows, columns and instances it needs.

A capture is surveyed once when it is opened: where its rows are, when, and what is odd in them. A query then tells
through polars' IO plugin which columns it needs and which rows it keeps. Conditions on time alone leave out samples,
conditions on the instance or its parts alone leave out instances, before a byte of them is parsed.
"""

from __future__ import annotations

import json
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from esxparse.formats.esxtop import body, tables
from esxparse.formats.esxtop.scan import scan
from esxparse.formats.source import read_up_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse.formats.esxtop.scan import Integers, Numbers
    from esxparse.formats.esxtop.tables import Wanted
    from esxparse.formats.unchanged import Opened

BATCH_BYTES = 16 << 20  # bytes of the file that one batch of rows takes at most (a row at least)

_BATCH_NUMBERS = 4 << 20  # numbers that one batch has at most (a sample at least)

_LONGEST_LINE_END = 3  # bytes of `\\r\\r\\n`. Rows with a longer one are read apart.


@dataclass(frozen=True)
class Surveyed:
    """A capture whose rows are known and not kept; its lists have an entry for each sample."""

    opened: Opened  # the file
    start: Integers  # the byte its row begins with
    stop: Integers  # the byte after its row, the line end not counted
    lines: Integers
    stamps: Sequence[bytes]  # what its row begins with
    scratch: object = None  # what keeps a temporary file from being removed


def _conjuncts(predicate: pl.Expr) -> list[pl.Expr]:
    """The conditions that all have to hold; the whole where polars does not tell them apart."""
    try:
        top = json.loads(predicate.meta.serialize(format="json"))
    except (pl.exceptions.PolarsError, ValueError):
        return [predicate]
    if not (isinstance(top, dict) and top.get("BinaryExpr", {}).get("op") in {"And", "LogicalAnd"}):
        return [predicate]
    return [part for side in predicate.meta.pop() for part in _conjuncts(side)]


def _kept(frame: pl.DataFrame, conditions: Sequence[pl.Expr]) -> Integers:
    """Rows of `frame` that meet the conditions which speak of its columns only."""
    mine = [one for one in conditions if set(one.meta.root_names()) <= set(frame.columns)]
    if not mine:
        return np.arange(frame.height)
    return frame.select(pl.arg_where(pl.all_horizontal(mine))).to_series().to_numpy().astype(np.int64)


def batches(surveyed: Surveyed, samples: Integers, numbers: int) -> Iterator[Integers]:
    """The samples in runs that take bounded memory, where each gives so many numbers."""
    sizes = (surveyed.stop - surveyed.start)[samples]
    most = max(1, _BATCH_NUMBERS // max(1, numbers))
    begin = size = 0
    for place, length in enumerate(sizes.tolist()):
        if place > begin and (size + length > BATCH_BYTES or place - begin >= most):
            yield samples[begin:place]
            begin, size = place, 0
        size += length
    if begin < len(samples):
        yield samples[begin:]


def bytes_of(surveyed: Surveyed, samples: Integers) -> bytes:
    """The rows of these samples, each with a line end; neighbours are read together."""
    start, stop = surveyed.start[samples], surveyed.stop[samples]
    # Between two samples may be what is none: lines that are blank or damaged, a header glued to the row before it.
    between = (np.diff(surveyed.lines[samples]) != 1) | (start[1:] - stop[:-1] > _LONGEST_LINE_END)
    apart = np.flatnonzero(between) + 1
    runs = []
    opened = surveyed.opened
    try:
        with opened.path.open("rb", buffering=0) as file:
            grown = opened.has_grown(file.fileno())
            for begin, end in zip([0, *apart.tolist()], [*apart.tolist(), len(samples)], strict=True):
                file.seek(int(start[begin]))
                run = read_up_to(file, int(stop[end - 1] - start[begin]))
                # A file that grew may have been written anew; of one that looks the same a look at its ends is enough.
                for place in range(begin, end) if grown else {begin, end - 1}:
                    at, stamp = int(start[place] - start[begin]), surveyed.stamps[samples[place]]
                    if run[at : at + len(stamp)] != stamp:
                        why = "was changed"
                        raise opened.error(why)
                runs.append(run)
            opened.has_grown(file.fileno())
    except OSError as error:
        raise opened.unreadable(error) from error
    return b"\n".join(runs)


def room(
    parts: Sequence[tuple[Table, Wanted]], rows: int, *, by_instance: bool = False
) -> tuple[Numbers, Integers, Integers, list[Numbers]]:
    """Room for the numbers of so many rows, what `scan` needs to put them there, and the numbers of each part.

    Those are counters, samples and instances, in memory sample by sample or instance by instance; NaN where a cell has
    no number or an instance not the counter. Places end with the last cell of a row that is needed.
    """
    sizes = [len(wanted.counters) * len(wanted.lanes) * rows for _, wanted in parts]
    out = np.full(sum(sizes), np.nan)
    first = np.full(len(parts[0][0].layout.table) + 1, -1, dtype=np.int64)
    step = np.zeros(len(first), dtype=np.int64)
    numbers, start = [], 0
    for (table, wanted), size in zip(parts, sizes, strict=True):
        lanes = len(wanted.lanes)
        cells = table.layout.cells(table.place)[np.ix_(wanted.counters, wanted.lanes)]
        counter, lane = np.nonzero(cells >= 0)
        needed = cells[counter, lane] + 1
        first[needed] = start + counter * rows * lanes + lane * (rows if by_instance else 1)
        step[needed] = 1 if by_instance else lanes
        part = out[start : start + size].reshape(
            len(wanted.counters), *((lanes, rows) if by_instance else (rows, lanes))
        )
        numbers.append(part.transpose(0, 2, 1) if by_instance else part)
        start += size
    used = int(np.flatnonzero(first >= 0).max(initial=0)) + 1
    return out, first[:used], step[:used], numbers


def _numbers(table: Table, wanted: Wanted, samples: Integers) -> Numbers:
    """The numbers of these samples."""
    out, first, step, (numbers,) = room([(table, wanted)], len(samples))
    scan(bytes_of(table.surveyed, samples), first, step, out, 0, False)
    return numbers


@dataclass(frozen=True)
class Table(tables.Table):
    """One table of a surveyed capture, as polars asks for it."""

    surveyed: Surveyed

    def scan(self) -> pl.LazyFrame:
        """The table as a frame that reads what a query needs."""
        return register_io_source(self.read, schema=self.schema(), validate_schema=True, is_pure=True)

    def wanted(self, names: Sequence[str], conditions: Sequence[pl.Expr]) -> Wanted:
        """What is needed for these columns, where all these conditions hold."""
        return tables.Wanted(
            samples=_kept(self.times.to_frame("time"), conditions),
            lanes=_kept(self.parts, conditions),
            keys=[name for name in ("time", *self.parts.columns) if name in names],
            counters=np.array([n for n, name in enumerate(self.shape.columns) if name in names], dtype=np.int64),
            texts={column: name for column, name in self.texts.items() if name in names},
        )

    def numbers(self, wanted: Wanted, samples: Integers) -> Numbers:
        """Counters, samples and instances, without a call to polars.

        Polars asks for batches from its own threads and lets them wait: one that needed such a thread would never end.
        """
        if not len(wanted.counters):
            return np.empty(0)
        return _numbers(self, wanted, samples)

    def read(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """Batches of the rows that polars asks for, in the order of the file."""
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
    """Frames of the batches in their order, each processor one ahead."""
    workers = body.threads()
    pool = ThreadPoolExecutor(workers)
    waiting: deque[tuple[Integers, Future[Numbers]]] = deque()
    try:
        per_sample = len(wanted.lanes) * len(wanted.counters)
        for batch in batches(table.surveyed, wanted.samples, per_sample):
            waiting.append((batch, pool.submit(table.numbers, wanted, batch)))
            if len(waiting) > workers:
                samples, numbers = waiting.popleft()
                yield table.frame(wanted, samples, numbers.result())
        while waiting:
            samples, numbers = waiting.popleft()
            yield table.frame(wanted, samples, numbers.result())
    finally:
        # A query that has enough stops here, in whatever thread: nobody waits for what is still being read.
        pool.shutdown(wait=False, cancel_futures=True)
