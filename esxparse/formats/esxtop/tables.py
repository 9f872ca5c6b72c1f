"""Numbers to tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from esxparse.formats.esxtop.body import Block, Body, Texts
from esxparse.formats.esxtop.first_sample import not_measured, unmeasured_columns
from esxparse.formats.esxtop.grammar import text_of
from esxparse.formats.esxtop.layout import Layout, TableShape
from esxparse.formats.esxtop.odd import OddCells, Void
from esxparse.formats.esxtop.rows import Samples
from esxparse.formats.esxtop.scan import Integers, Numbers

Runs = list[tuple[int, int, Integers]]
"""A block, the first sample in it, and the block's rows for that sample and the following ones."""

Schema = dict[str, pl.DataType | type[pl.DataType]]


@dataclass(frozen=True)
class Gaps:
    """The places in a table without numbers."""

    lanes: Mapping[int, Integers]  # column to the instances that do not have that counter
    blank: frozenset[int]  # columns with cells that hold no number
    texts: Mapping[int, Texts]  # column to its cells with text, with instances in place of cells
    voids: Sequence[Void]  # cells, of all tables, with numbers that must not be used
    unmeasured: Integers  # samples in which a 0 in `rates` was not measured
    rates: frozenset[int]  # columns without numbers in these samples; empty without such samples


def gaps(layout: Layout, odd: OddCells, samples: Samples) -> list[Gaps]:
    """Return the gaps of each table: counters that an instance does not have, odd cells, and unmeasured disks."""
    unmeasured = samples.unmeasured
    of_table, of_column = layout.table[odd.texts.cell], layout.column[odd.texts.cell]
    found = []
    for place, shape in enumerate(layout.tables):
        there = layout.cells(place) >= 0
        texts = {}
        for column in sorted(set(of_column[of_table == place].tolist())):
            mine = odd.texts.where((of_table == place) & (of_column == column))
            texts[column] = replace(mine, cell=layout.lane[mine.cell])
        found.append(
            Gaps(
                lanes={
                    column: np.flatnonzero(~there[column]) for column in np.flatnonzero(~there.all(axis=1)).tolist()
                },
                blank=frozenset(layout.column[odd.blank & (layout.table == place)].tolist()),
                texts=texts,
                voids=odd.voids,
                unmeasured=unmeasured,
                rates=unmeasured_columns(shape) if len(unmeasured) else frozenset(),
            )
        )
    return found


@dataclass(frozen=True)
class Wanted:
    """The needed parts of a table."""

    samples: Integers
    lanes: Integers
    keys: list[str]
    counters: Integers  # columns of the table's shape
    texts: Mapping[int, str]  # columns of the shape that need a column of texts beside them, and its name


@dataclass(frozen=True)
class Table:
    """A table of a capture, without its numbers."""

    layout: Layout
    place: int  # in the layout
    times: pl.Series
    parts: pl.DataFrame  # instances with their parsed parts
    holes: Gaps

    @property
    def shape(self) -> TableShape:
        """The header's facts about it."""
        return self.layout.tables[self.place]

    @property
    def texts(self) -> dict[int, str]:
        """Columns with a column of texts beside them, and its name."""
        taken = set(self.shape.columns)
        names = {}
        for column in self.holes.texts:
            name = f"{self.shape.columns[column]}_text"
            while name in taken:
                name += "_2"
            taken.add(name)
            names[column] = name
        return names

    def schema(self) -> Schema:
        """Return the columns in order: keys, then counters, each with its texts beside it."""
        schema: Schema = {"time": self.times.dtype, **self.parts.schema}
        texts = self.texts
        for column, name in enumerate(self.shape.columns):
            schema[name] = pl.Float64
            if column in texts:
                schema[texts[column]] = pl.String
        return schema

    def everything(self, lanes: Integers | None = None) -> Wanted:
        """Return all of the table, instances in the given order."""
        return Wanted(
            samples=np.arange(len(self.times)),
            lanes=np.arange(self.parts.height) if lanes is None else lanes,
            keys=["time", *self.parts.columns],
            counters=np.arange(len(self.shape.columns)),
            texts=self.texts,
        )

    def frame(self, wanted: Wanted, samples: Integers, numbers: Numbers, *, by_instance: bool = False) -> pl.DataFrame:
        """Return the rows of these samples, ordered by time or by instance.

        `numbers` are counters, samples and instances, in memory in the order of the rows. The columns reuse that
        memory; numbers that must not be used are removed from it.
        """
        axes = (places.astype(np.uint32) for places in (samples, wanted.lanes))
        grid = np.meshgrid(*axes, indexing="xy" if by_instance else "ij")
        row_of, lane_of = (pl.Series(places.ravel()) for places in grid)
        # No join and no `select`: small captures would spend most of their time on one query per table.
        keys = pl.DataFrame(
            [
                self.times[row_of].alias("time") if name == "time" else self.parts[name][lane_of]
                for name in wanted.keys or ["time"]
            ]
        )
        if not by_instance and "time" in wanted.keys and self.times.is_sorted():
            # Nearly all queries sort by time.
            keys.replace_column(0, keys["time"].set_sorted())
        if len(wanted.counters) and self.holes.voids:
            self._void(wanted, samples, numbers)
        unmeasured = np.flatnonzero(np.isin(samples, self.holes.unmeasured))
        columns, with_holes = [], []
        for number, column in enumerate(wanted.counters.tolist()):
            name = self.shape.columns[column]
            if column in self.holes.texts:
                # Yes and no have numbers, which only yes-or-no counters use.
                _, row, lane = self._places(column, wanted, samples)
                numbers[number, row, lane] = np.nan
            if len(unmeasured) and column in self.holes.rates:
                numbers[number, unmeasured] = not_measured(numbers[number, unmeasured])
            columns.append(pl.Series(name, numbers[number].ravel(order="K")))
            if column in self.holes.lanes or column in self.holes.blank or column in self.holes.rates:
                with_holes.append(name)
        columns += [self._texts(column, wanted, samples, by_instance=by_instance) for column in wanted.texts]
        table = keys.hstack(columns)
        table = table.with_columns(pl.col(with_holes).fill_nan(None)) if with_holes else table
        return table.select(name for name in self.schema() if name in table.columns) if wanted.texts else table

    def _void(self, wanted: Wanted, samples: Integers, numbers: Numbers) -> None:
        """Set the numbers of cells that must not be used to NaN."""
        row_of = {int(sample): row for row, sample in enumerate(samples)}
        mine = [void for void in self.holes.voids if void.sample in row_of]
        if mine:
            cell_of = self.layout.cells(self.place)[np.ix_(wanted.counters, wanted.lanes)]
        for void in mine:
            row = numbers[:, row_of[void.sample]]
            row[(cell_of >= void.start) & (cell_of < void.stop)] = np.nan

    def _places(self, column: int, wanted: Wanted, samples: Integers) -> tuple[Texts, Integers, Integers]:
        """Return the texts beside a column among these samples, and the row and lane of each."""
        texts = self.holes.texts[column]
        row_of = np.full(len(self.times), -1)
        row_of[samples] = np.arange(len(samples))
        lane_of = np.full(len(self.shape.instances), -1)
        lane_of[wanted.lanes] = np.arange(len(wanted.lanes))
        mine = texts.where((row_of[texts.sample] >= 0) & (lane_of[texts.cell] >= 0))
        return mine, row_of[mine.sample], lane_of[mine.cell]

    def _texts(self, column: int, wanted: Wanted, samples: Integers, *, by_instance: bool) -> pl.Series:
        """Return the texts beside a column: each in its place, null elsewhere."""
        texts, row, lane = self._places(column, wanted, samples)
        words = [text_of(word) for word in texts.words]
        word_of = np.full(len(samples) * len(wanted.lanes), len(words), dtype=np.int64)
        word_of[lane * len(samples) + row if by_instance else row * len(wanted.lanes) + lane] = texts.word
        return pl.Series([*words, None], dtype=pl.String).gather(word_of).alias(wanted.texts[column])


def _numbers(block: Block, rows: Integers, shape: TableShape, holes: Gaps) -> Numbers:
    """Return counters, samples and instances; the block's own memory if the samples are its first rows."""
    columns, lanes = len(shape.columns), len(shape.instances)
    start = block.capacity * shape.offset
    stretch = block.numbers[start : start + block.capacity * columns * lanes].reshape(columns, block.capacity, lanes)
    for column, without in holes.lanes.items():
        stretch[column, : block.rows, without] = np.nan
    leading = bool((rows == np.arange(len(rows))).all())
    return stretch[:, : len(rows)] if leading else stretch[:, rows]


def runs_of(body: Body, samples: Samples) -> Runs:
    """Return the samples in runs of one block each."""
    block, row = body.block[samples.keep], body.row[samples.keep]
    bounds = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
    return [(int(block[begin]), begin, row[begin:end]) for begin, end in pairwise(bounds)]


def eager(body: Body, samples: Samples, tables: Sequence[Table]) -> dict[str, pl.LazyFrame]:
    """Return the tables with their numbers, one row per sample and instance, ordered by time and header.

    Tables whose numbers are not kept have only their keys.
    """
    runs = runs_of(body, samples)
    found = {}
    for table in tables:
        if not table.shape.kept:
            keys = table.parts.lazy()
            times = table.times.to_frame().lazy()
            found[table.shape.name] = times.join(keys, how="cross", maintain_order="left_right")
            continue
        wanted = table.everything()
        frames = []
        for number, first, rows in runs:
            numbers = _numbers(body.blocks[number], rows, table.shape, table.holes)
            frames.append(table.frame(wanted, np.arange(first, first + len(rows)), numbers))
        found[table.shape.name] = (frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)).lazy()
    return found
