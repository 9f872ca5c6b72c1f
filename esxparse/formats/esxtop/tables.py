"""Blocks of numbers to tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.formats.esxtop.first_sample import not_measured, unmeasured_columns, unmeasured_samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from esxparse.formats.esxtop.body import Block, Body
    from esxparse.formats.esxtop.layout import Layout, TableShape
    from esxparse.formats.esxtop.odd import OddCells, Texts, Void
    from esxparse.formats.esxtop.rows import Samples


@dataclass(frozen=True)
class _Part:
    """The samples of one block."""

    block: Block
    rows: NDArray[np.int64]
    """Rows of the block."""
    times: pl.Series
    first_sample: int

    @property
    def leading(self) -> bool:
        """Whether the samples are the block's first rows, with nothing between them to leave out."""
        return bool((self.rows == np.arange(len(self.rows))).all())


@dataclass(frozen=True)
class Gaps:
    """Where a table has no numbers."""

    lanes: Mapping[int, NDArray[np.int64]]
    """Column to the instances that do not have that counter."""
    blank: frozenset[int]
    """Columns with cells that hold no number."""
    texts: Mapping[int, Texts]
    """Column to its cells with text, their instances in place of cells."""
    voids: Sequence[Void]
    """Cells, of all tables, whose numbers are not to be used."""
    unmeasured: NDArray[np.int64]
    """Samples in which a 0 in `rates` was not measured."""
    rates: frozenset[int]
    """Columns that have no numbers there; none where there is no such sample."""

    @property
    def columns(self) -> list[int]:
        """Columns in which something is missing."""
        return sorted({*self.lanes, *self.blank, *self.rates})


def gaps(layout: Layout, odd: OddCells, samples: Samples) -> list[Gaps]:
    """Where each table has no numbers: counters that an instance lacks, odd cells, and disks that were not measured."""
    lanes: list[dict[int, NDArray[np.int64]]] = [{} for _ in layout.tables]
    counts = np.bincount(layout.table, minlength=len(layout.tables))
    for place, shape in enumerate(layout.tables):
        if int(counts[place]) == len(shape.columns) * len(shape.instances):
            continue
        mine = layout.table == place
        there = np.zeros((len(shape.columns), len(shape.instances)), dtype=np.bool_)
        there[layout.column[mine], layout.lane[mine]] = True
        for column in np.flatnonzero(~there.all(axis=1)).tolist():
            lanes[place][column] = np.flatnonzero(~there[column])
    texts: list[dict[int, Texts]] = [{} for _ in layout.tables]
    of_table, of_column = layout.table[odd.texts.cell], layout.column[odd.texts.cell]
    for place, column in sorted(set(zip(of_table.tolist(), of_column.tolist(), strict=True))):
        mine = odd.texts.where((of_table == place) & (of_column == column))
        texts[place][column] = replace(mine, cell=layout.lane[mine.cell])
    unmeasured = unmeasured_samples(samples)
    return [
        Gaps(
            lanes[place],
            frozenset(layout.column[odd.blank & (layout.table == place)].tolist()),
            texts[place],
            odd.voids,
            unmeasured,
            unmeasured_columns(shape) if len(unmeasured) else frozenset(),
        )
        for place, shape in enumerate(layout.tables)
    ]


def void(body: Body, samples: Samples, layout: Layout, voids: Sequence[Void]) -> None:
    """Takes the numbers of cells that are not to be used out of the blocks."""
    for one in voids:
        row = samples.keep[one.sample]
        if not body.blocks:
            return
        block = body.blocks[body.block[row]]
        first, step = layout.places(block.capacity)
        cells = slice(one.start + 1, one.stop + 1)
        block.numbers[first[cells] + body.row[row] * step[cells]] = np.nan


def _numbers(part: _Part, shape: TableShape, column: int, holes: Gaps) -> pl.Series:
    """One counter of the part's samples, NaN where there is no number.

    It is made of the block's own memory where all its rows are samples.
    """
    lanes = len(shape.instances)
    start = part.block.capacity * (shape.offset + column * lanes)
    stretch = part.block.numbers[start : start + part.block.rows * lanes].reshape(-1, lanes)
    if column in holes.lanes:
        stretch[:, holes.lanes[column]] = np.nan
    if column in holes.rates:
        mine = holes.unmeasured - part.first_sample
        first = part.rows[mine[(mine >= 0) & (mine < len(part.rows))]]
        stretch[first] = not_measured(stretch[first])
    used = stretch[: len(part.rows)] if part.leading else stretch[part.rows]
    return pl.Series(shape.columns[column], used.ravel())


def text_columns(shape: TableShape, holes: Gaps) -> dict[int, str]:
    """Columns beside which a column of texts stands, and its name."""
    taken = set(shape.columns)
    names = {}
    for column in holes.texts:
        name = f"{shape.columns[column]}_text"
        while name in taken:
            name += "_2"
        taken.add(name)
        names[column] = name
    return names


def text_series(name: str, length: int, places: NDArray[np.int64], texts: Texts) -> pl.Series:
    """A column of texts: each at its place, null elsewhere."""
    words = [word.decode("utf-8", errors="replace").strip() for word in texts.words]
    where = np.full(length, len(words), dtype=np.int64)
    where[places] = texts.word
    return pl.Series(name, [*words, None], dtype=pl.String).gather(where).alias(name)


def _texts(part: _Part, name: str, lanes: int, texts: Texts) -> pl.Series:
    mine = texts.where((texts.sample >= part.first_sample) & (texts.sample < part.first_sample + len(part.rows)))
    return text_series(name, len(part.rows) * lanes, (mine.sample - part.first_sample) * lanes + mine.cell, mine)


def _frame(part: _Part, shape: TableShape, holes: Gaps, instances: pl.DataFrame) -> pl.DataFrame:
    keys = part.times.to_frame().join(instances, how="cross", maintain_order="left_right")
    text_names = text_columns(shape, holes)
    columns = []
    for column in range(len(shape.columns)):
        columns.append(_numbers(part, shape, column, holes))
        if column in text_names:
            columns.append(_texts(part, text_names[column], len(shape.instances), holes.texts[column]))
    with_holes = [shape.columns[column] for column in holes.columns]
    table = keys.hstack(columns)
    return table.with_columns(pl.col(with_holes).fill_nan(None)) if with_holes else table


def _parts(body: Body, samples: Samples) -> list[_Part]:
    """The samples in runs of one block each."""
    block = body.block[samples.keep]
    bounds = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
    return [
        _Part(
            body.blocks[block[begin]], body.row[samples.keep[begin:end]], samples.times.slice(begin, end - begin), begin
        )
        for begin, end in pairwise(bounds)
    ]


def build(
    body: Body, samples: Samples, holes: Sequence[Gaps], layout: Layout, instances: Mapping[str, pl.DataFrame]
) -> dict[str, pl.LazyFrame]:
    """The tables of a capture, each one row per sample and instance, in the order of time and header.

    `holes` are the gaps of each table, `instances` its instances with their parsed parts. A table whose numbers are not
    kept has its keys.
    """
    parts = _parts(body, samples)
    tables = {}
    for place, shape in enumerate(layout.tables):
        if not shape.kept:
            keys = instances[shape.name].lazy()
            tables[shape.name] = samples.times.to_frame().lazy().join(keys, how="cross", maintain_order="left_right")
            continue
        frames = [_frame(part, shape, holes[place], instances[shape.name]) for part in parts]
        tables[shape.name] = (frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)).lazy()
    return tables
