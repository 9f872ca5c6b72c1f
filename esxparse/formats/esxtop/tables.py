"""Blocks of numbers to tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from esxparse.formats.esxtop.instances import parts
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from esxparse.formats.esxtop.body import Block
    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.esxtop.layout import Layout, TableShape
    from esxparse.formats.esxtop.rows import Samples

_FLAGS = {"yes": 1.0, "y": 1.0, "true": 1.0, "on": 1.0, "no": 0.0, "n": 0.0, "false": 0.0, "off": 0.0}
_ABSENT = {"", "-", "n/a", "nan", "-nan", "inf", "-inf", "+inf", "infinity"}


@dataclass(frozen=True)
class OddCell:
    """A cell that is no number, in a row that is a sample."""

    sample: int
    """Row among the samples of its block."""
    row: int
    """Row of its block."""
    place: int
    """Cell of the row, the time stamp not counted."""
    text: str
    line: int


def odd_cells(block: Block, samples: Samples) -> list[OddCell]:
    """The odd cells of the samples of a block."""
    if not block.odd:
        return []
    sample_of = np.full(block.rows, -1, dtype=np.int64)
    sample_of[samples.keep] = np.arange(len(samples.keep))
    return [
        OddCell(
            int(sample_of[row]),
            row,
            cell - 1,
            text.decode("utf-8", errors="replace").strip(),
            int(samples.lines[sample_of[row]]),
        )
        for row, cell, text in block.odd
        if sample_of[row] >= 0
    ]


def odd_notes(cells: Sequence[OddCell], header: Header) -> list[Note]:
    """One note for each kind of odd cell."""
    kinds: dict[str, list[OddCell]] = defaultdict(list)
    for cell in cells:
        text = cell.text.lower()
        if text in _FLAGS:
            kinds["flag"].append(cell)
        elif text in _ABSENT:
            kinds["absent"].append(cell)
        elif text.startswith('"'):
            kinds["cut"].append(cell)
        else:
            kinds["text"].append(cell)
    messages = {
        "flag": "yes and no in words: read as 1 and 0",
        "absent": "cells without a number: null",
        "cut": "cells that are not closed, cut perhaps in the middle of a number: null",
        "text": "cells with text: null in the counter's column, kept in the column with _text after its name",
    }
    notes = []
    for kind, met in kinds.items():
        first = met[0]
        message = f"{len(met):,} {messages[kind]} (first {first.text!r} in {header.path(first.place)})"
        severity = "info" if kind == "flag" else "warning"
        notes.append(Note(message, line=first.line, column=first.place + 2, severity=severity))  # type: ignore[arg-type]
    return notes


@dataclass(frozen=True)
class _Gaps:
    """Where a table has no numbers."""

    lanes: Mapping[int, np.ndarray[tuple[int], np.dtype[np.int64]]]
    """Column to the instances that do not have that counter."""
    cells: Mapping[int, list[tuple[OddCell, int]]]
    """Column to its odd cells, each with its instance."""


def _gaps(layout: Layout, odd: Sequence[OddCell]) -> list[_Gaps]:
    lanes: list[dict[int, np.ndarray[tuple[int], np.dtype[np.int64]]]] = [{} for _ in layout.tables]
    for place, shape in enumerate(layout.tables):
        mine = layout.table == place
        expected = len(shape.columns) * len(shape.instances)
        if int(mine.sum()) == expected:
            continue
        there = np.zeros((len(shape.columns), len(shape.instances)), dtype=np.bool_)
        there[layout.column[mine], layout.lane[mine]] = True
        for column in np.flatnonzero(~there.all(axis=1)).tolist():
            lanes[place][column] = np.flatnonzero(~there[column])
    cells: list[dict[int, list[tuple[OddCell, int]]]] = [defaultdict(list) for _ in layout.tables]
    for cell in odd:
        column = int(layout.column[cell.place])
        cells[int(layout.table[cell.place])][column].append((cell, int(layout.lane[cell.place])))
    return [_Gaps(dict(table_lanes), dict(table_cells)) for table_lanes, table_cells in zip(lanes, cells, strict=True)]


def _texts(cells: Sequence[tuple[OddCell, int]], lanes: int, rows: int) -> list[str | None] | None:
    """Column of the texts that are neither flags nor absent numbers; None where there are none."""
    texts: list[str | None] = [None] * (rows * lanes)
    found = False
    for cell, lane in cells:
        if cell.text.lower() not in _FLAGS and cell.text.lower() not in _ABSENT:
            texts[cell.sample * lanes + lane] = cell.text
            found = True
    return texts if found else None


def _counters(block: Block, samples: Samples, shape: TableShape, gaps: _Gaps) -> list[pl.Series]:
    """Columns of one table's counters, made of the block's own memory where its rows are all samples."""
    lanes = len(shape.instances)
    rows = len(samples.keep)
    leading = rows == 0 or int(samples.keep[-1]) == rows - 1
    columns = []
    for place, name in enumerate(shape.columns):
        start = block.capacity * (shape.offset + place * lanes)
        stretch = block.numbers[start : start + block.rows * lanes]
        for cell, lane in gaps.cells.get(place, ()):
            flag = _FLAGS.get(cell.text.lower())
            if flag is not None:
                stretch[cell.row * lanes + lane] = flag
        if place in gaps.lanes:
            stretch.reshape(-1, lanes)[:, gaps.lanes[place]] = np.nan
        used = stretch[: rows * lanes] if leading else stretch.reshape(-1, lanes)[samples.keep].ravel()
        column = pl.Series(name, used)
        if place in gaps.lanes or place in gaps.cells:
            column = column.fill_nan(None)
        columns.append(column)
        texts = _texts(gaps.cells.get(place, ()), lanes, rows)
        if texts is not None:
            columns.append(pl.Series(f"{name}_text", texts, dtype=pl.String))
    return columns


def _one(block: Block, samples: Samples, shape: TableShape, gaps: _Gaps, instances: pl.DataFrame) -> pl.DataFrame:
    keys = samples.times.to_frame().join(instances, how="cross", maintain_order="left_right")
    return keys.hstack(_counters(block, samples, shape, gaps))


def build(blocks: Sequence[tuple[Block, Samples, Sequence[OddCell]]], layout: Layout) -> dict[str, pl.LazyFrame]:
    """The tables of a capture, each one row per sample and instance, in the order of time and header."""
    known = {shape.name: shape.instances for shape in layout.tables}
    gaps = [_gaps(layout, odd) for _, _, odd in blocks]
    tables = {}
    for place, shape in enumerate(layout.tables):
        instances = parts(shape.name, shape.instances, known)
        frames = [
            _one(block, samples, shape, gaps[number][place], instances)
            for number, (block, samples, _) in enumerate(blocks)
        ]
        table = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal", rechunk=False)
        tables[shape.name] = table.lazy()
    return tables
