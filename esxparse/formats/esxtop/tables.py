"""Blocks of numbers to tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.formats.esxtop.first_sample import not_measured, unmeasured_columns, unmeasured_samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from esxparse.formats.esxtop.body import Block, Body
    from esxparse.formats.esxtop.layout import Layout, TableShape
    from esxparse.formats.esxtop.odd import OddCell
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
        return len(self.rows) == 0 or int(self.rows[-1]) == len(self.rows) - 1


@dataclass(frozen=True)
class Gaps:
    """Where a table has no numbers."""

    lanes: Mapping[int, NDArray[np.int64]]
    """Column to the instances that do not have that counter."""
    cells: Mapping[int, Sequence[tuple[OddCell, int]]]
    """Column to its odd cells, each with its instance."""
    unmeasured: NDArray[np.int64]
    """Samples in which a 0 in `rates` was not measured."""
    rates: frozenset[int]
    """Columns that have no numbers there; none where there is no such sample."""


def gaps(layout: Layout, odd: Sequence[OddCell], samples: Samples) -> list[Gaps]:
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
    cells: list[dict[int, list[tuple[OddCell, int]]]] = [defaultdict(list) for _ in layout.tables]
    for cell in odd:
        column = int(layout.column[cell.place])
        cells[int(layout.table[cell.place])][column].append((cell, int(layout.lane[cell.place])))
    unmeasured = unmeasured_samples(samples)
    rates = [unmeasured_columns(shape) if len(unmeasured) else frozenset() for shape in layout.tables]
    return [
        Gaps(dict(table_lanes), dict(table_cells), unmeasured, table_rates)
        for table_lanes, table_cells, table_rates in zip(lanes, cells, rates, strict=True)
    ]


def _numbers(part: _Part, shape: TableShape, column: int, holes: Gaps) -> pl.Series:
    """One counter of the part's samples, NaN where there is no number.

    It is made of the block's own memory where all its rows are samples.
    """
    lanes = len(shape.instances)
    start = part.block.capacity * (shape.offset + column * lanes)
    stretch = part.block.numbers[start : start + part.block.rows * lanes].reshape(-1, lanes)
    for cell, lane in holes.cells.get(column, ()):
        place = cell.sample - part.first_sample
        if cell.flag is not None and 0 <= place < len(part.rows):
            stretch[part.rows[place], lane] = cell.flag
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
    for column, cells in holes.cells.items():
        if any(cell.kind == "text" for cell, _ in cells):
            name = f"{shape.columns[column]}_text"
            while name in taken:
                name += "_2"
            taken.add(name)
            names[column] = name
    return names


def _texts(part: _Part, name: str, lanes: int, cells: Sequence[tuple[OddCell, int]]) -> pl.Series:
    texts: list[str | None] = [None] * (len(part.rows) * lanes)
    for cell, lane in cells:
        place = cell.sample - part.first_sample
        if cell.kind == "text" and 0 <= place < len(part.rows):
            texts[place * lanes + lane] = cell.text
    return pl.Series(name, texts, dtype=pl.String)


def _frame(part: _Part, shape: TableShape, holes: Gaps, instances: pl.DataFrame) -> pl.DataFrame:
    keys = part.times.to_frame().join(instances, how="cross", maintain_order="left_right")
    text_names = text_columns(shape, holes)
    columns = []
    for column in range(len(shape.columns)):
        columns.append(_numbers(part, shape, column, holes))
        if column in text_names:
            columns.append(_texts(part, text_names[column], len(shape.instances), holes.cells[column]))
    with_holes = [shape.columns[column] for column in sorted({*holes.lanes, *holes.cells, *holes.rates})]
    table = keys.hstack(columns)
    return table.with_columns(pl.col(with_holes).fill_nan(None)) if with_holes else table


def _parts(body: Body, samples: Samples) -> list[_Part]:
    parts = []
    for number, block in enumerate(body.blocks):
        mine = np.flatnonzero(body.block[samples.keep] == number)
        if len(mine) == 0:
            continue
        first = int(mine[0])
        rows = body.row[samples.keep[mine]]
        parts.append(_Part(block, rows, samples.times.slice(first, len(mine)), first))
    return parts


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
