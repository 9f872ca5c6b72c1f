"""Tables of a capture that is not held in memory: each query reads the rows, columns and instances it needs.

A capture is surveyed once when it is opened: where its rows are, when, and what is odd in them. A query then tells
through polars' IO plugin which columns it needs and which rows it keeps. Conditions on time alone leave out samples,
conditions on the instance or its parts alone leave out instances, before a byte of them is parsed.
"""

from __future__ import annotations

import json
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from esxparse.formats.esxtop import body
from esxparse.formats.esxtop.first_sample import not_measured
from esxparse.formats.esxtop.scan import scan
from esxparse.formats.esxtop.tables import text_columns, text_series
from esxparse.formats.source import read_up_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from esxparse.formats.esxtop.layout import Layout, TableShape
    from esxparse.formats.esxtop.tables import Gaps
    from esxparse.formats.unchanged import Opened

    Integers = NDArray[np.int64]

BATCH_BYTES = 16 << 20
"""Bytes of the file that one batch of rows takes at most (a row at least)."""

_BATCH_NUMBERS = 4 << 20
"""Numbers that one batch has at most (a sample at least)."""

_LONGEST_LINE_END = 3
"""Bytes of `\\r\\r\\n`. Rows with a longer one are read apart."""


@dataclass(frozen=True)
class Surveyed:
    """A capture whose rows are known and not kept."""

    opened: Opened
    """The file."""
    layout: Layout
    times: pl.Series
    start: Integers
    """For each sample the byte its row begins with."""
    stop: Integers
    """For each sample the byte after its row, the line end not counted."""
    lines: Integers
    """For each sample its line."""
    stamps: Sequence[bytes]
    """For each sample what its row begins with."""
    scratch: object = None
    """What keeps a temporary file from being removed."""


@dataclass(frozen=True)
class Wanted:
    """What of a table a query needs."""

    samples: Integers
    lanes: Integers
    keys: list[str]
    counters: Integers
    """Columns of the table's shape."""
    texts: dict[int, str]
    """Columns of the shape beside which a column of texts is needed, and its name."""


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


def places(layout: Layout, place: int, wanted: Wanted, counter_step: int, lane_step: int) -> Integers:
    """For each cell of a row that is needed, and those before the last such, where its number goes; -1 for nowhere."""
    lane_of = np.full(len(layout.tables[place].instances), -1)
    lane_of[wanted.lanes] = np.arange(len(wanted.lanes))
    counter_of = np.full(len(layout.tables[place].columns), -1)
    counter_of[wanted.counters] = np.arange(len(wanted.counters))
    mine = np.flatnonzero(layout.table == place)
    lane, counter = lane_of[layout.lane[mine]], counter_of[layout.column[mine]]
    needed = (lane >= 0) & (counter >= 0)
    first = np.full(len(layout.table) + 1, -1, dtype=np.int64)
    first[mine[needed] + 1] = counter[needed] * counter_step + lane[needed] * lane_step
    return first[: int(np.flatnonzero(first >= 0).max(initial=0)) + 1]


def _numbers(surveyed: Surveyed, place: int, wanted: Wanted, samples: Integers) -> NDArray[np.float64]:
    """Counters, samples and instances; NaN where a cell has no number or an instance not the counter."""
    rows, lanes = len(samples), len(wanted.lanes)
    out = np.full(len(wanted.counters) * rows * lanes, np.nan)
    first = places(surveyed.layout, place, wanted, rows * lanes, 1)
    scan(bytes_of(surveyed, samples), first, np.full(len(first), lanes, dtype=np.int64), out, 0, False)
    return out.reshape(len(wanted.counters), rows, lanes)


@dataclass(frozen=True)
class Table:
    """One table of a surveyed capture, as polars asks for it."""

    surveyed: Surveyed
    place: int
    shape: TableShape
    parts: pl.DataFrame
    holes: Gaps
    texts: Mapping[int, str]

    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """Columns in their order: keys, then counters, each with its texts beside it."""
        schema: dict[str, pl.DataType | type[pl.DataType]] = {"time": self.surveyed.times.dtype, **self.parts.schema}
        for column, name in enumerate(self.shape.columns):
            schema[name] = pl.Float64
            if column in self.texts:
                schema[self.texts[column]] = pl.String
        return schema

    def scan(self) -> pl.LazyFrame:
        """The table as a frame that reads what a query needs."""
        return register_io_source(self.read, schema=self.schema(), validate_schema=True, is_pure=True)

    def wanted(self, names: Sequence[str], conditions: Sequence[pl.Expr]) -> Wanted:
        """What is needed for these columns, where all these conditions hold."""
        return Wanted(
            samples=_kept(self.surveyed.times.to_frame("time"), conditions),
            lanes=_kept(self.parts, conditions),
            keys=[name for name in ("time", *self.parts.columns) if name in names],
            counters=np.array([n for n, name in enumerate(self.shape.columns) if name in names], dtype=np.int64),
            texts={column: name for column, name in self.texts.items() if name in names},
        )

    def _void(self, wanted: Wanted, samples: Integers, numbers: NDArray[np.float64]) -> None:
        """Takes the numbers of cells that are not to be used out of a batch."""
        row_of = {int(sample): row for row, sample in enumerate(samples)}
        mine = [void for void in self.holes.voids if void.sample in row_of]
        if mine:
            cell_of = np.full((len(self.shape.columns), len(self.shape.instances)), -1)
            cells = np.flatnonzero(self.surveyed.layout.table == self.place)
            cell_of[self.surveyed.layout.column[cells], self.surveyed.layout.lane[cells]] = cells
            cell_of = cell_of[np.ix_(wanted.counters, wanted.lanes)]
        for void in mine:
            row = numbers[:, row_of[void.sample]]
            row[(cell_of >= void.start) & (cell_of < void.stop)] = np.nan

    def _texts(self, column: int, wanted: Wanted, samples: Integers, *, by_instance: bool) -> pl.Series:
        """The texts beside a column, in a batch."""
        texts = self.holes.texts[column]
        row_of = np.full(len(self.surveyed.times), -1)
        row_of[samples] = np.arange(len(samples))
        lane_of = np.full(len(self.shape.instances), -1)
        lane_of[wanted.lanes] = np.arange(len(wanted.lanes))
        mine = texts.where((row_of[texts.sample] >= 0) & (lane_of[texts.cell] >= 0))
        row, lane = row_of[mine.sample], lane_of[mine.cell]
        places = lane * len(samples) + row if by_instance else row * len(wanted.lanes) + lane
        return text_series(wanted.texts[column], len(samples) * len(wanted.lanes), places, mine)

    def numbers(self, wanted: Wanted, samples: Integers) -> NDArray[np.float64]:
        """Counters, samples and instances, without a call to polars.

        Polars asks for batches from its own threads and lets them wait: one that needed such a thread would never end.
        """
        if not len(wanted.counters):
            return np.empty(0)
        return _numbers(self.surveyed, self.place, wanted, samples)

    def frame(
        self, wanted: Wanted, samples: Integers, numbers: NDArray[np.float64], *, by_instance: bool = False
    ) -> pl.DataFrame:
        """The rows of these samples, in the order of time, or instance by instance.

        `numbers` are counters, samples and instances, and lie in memory in the order of the rows.
        """
        order: Literal["left_right", "right_left"] = "right_left" if by_instance else "left_right"
        keys = (
            self.surveyed.times.to_frame("time")[samples]
            .join(self.parts[wanted.lanes], how="cross", maintain_order=order)
            .select(wanted.keys or ["time"])
        )
        columns = []
        if len(wanted.counters):
            self._void(wanted, samples, numbers)
        unmeasured = np.flatnonzero(np.isin(samples, self.holes.unmeasured))
        holes = {*self.holes.columns}
        for number, column in enumerate(wanted.counters.tolist()):
            if len(unmeasured) and column in self.holes.rates:
                numbers[number, unmeasured] = not_measured(numbers[number, unmeasured])
            series = pl.Series(self.shape.columns[column], numbers[number].ravel(order="K"))
            columns.append(series.fill_nan(None) if column in holes else series)
        columns += [self._texts(column, wanted, samples, by_instance=by_instance) for column in wanted.texts]
        return keys.hstack(columns)

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
            wanted = Wanted(wanted.samples[:samples], wanted.lanes, wanted.keys, wanted.counters, wanted.texts)
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
    waiting: deque[tuple[Integers, Future[NDArray[np.float64]]]] = deque()
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


def build(surveyed: Surveyed, holes: Sequence[Gaps], instances: Mapping[str, pl.DataFrame]) -> dict[str, Table]:
    """The tables of a surveyed capture."""
    tables = (
        Table(surveyed, place, shape, instances[shape.name], holes[place], text_columns(shape, holes[place]))
        for place, shape in enumerate(surveyed.layout.tables)
    )
    return {table.shape.name: table for table in tables}
