"""Rows that two samples share: bytes between them were lost, and the number of cells happened to stay.

A tool prints a counter in one way, with two decimals or none, and so a number that is written otherwise than its column
is what two numbers left. Two halves that make a number of the right shape cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from esxparse.formats.esxtop.layout import Layout
from esxparse.formats.esxtop.scan import Flags, Integers
from esxparse.formats.esxtop.scan_twin import BARE, MIXED, NOTHING

_SHAPES = 32  # shapes that a number can have are below this (`scan_twin.scan`)
_ONE_IN = 100  # numbers in a file for each that is written otherwise, at least: in other files shapes mean nothing
_ONE_IN_COLUMN = 50
_ONE_IN_COUNTER = 20
_FEW = 2  # strangers of one column, or counter, that are taken for such however few numbers there are
_MOST_IN_COLUMN = 31
"""Half the changes that the scanner tells of: a column of which it does not tell all has more strangers."""


@dataclass(frozen=True)
class Shapes:
    """How the numbers of a run of rows are written."""

    begin: int
    end: int  # the rows, the last one not included
    first: NDArray[np.uint8]  # for each cell of a row the shape of its first number
    changes: Integers  # row, cell and shape of each number whose shape is not that of the one above it

    def spans(self) -> Iterator[Integers]:
        """Cells, shapes, and the rows from which and up to which the cells have them; no cell is twice in the last."""
        cells = np.arange(len(self.first))
        stop = np.full(len(cells), self.end)
        if len(self.changes):
            yield self._changed(stop)
        yield np.array([cells, self.first, np.full(len(cells), self.begin), stop])

    def _changed(self, stop: Integers) -> Integers:
        """Return the spans from each change on; the first change of a cell is put into `stop`."""
        order = np.lexsort((self.changes[:, 0], self.changes[:, 1]))
        row, cell, shape = self.changes[order].T
        until = np.append(row, self.end)[1:]
        until[np.append(cell, -1)[1:] != cell] = self.end
        changed, first_change = np.unique(cell, return_index=True)
        stop[changed] = row[first_change]
        return np.array([cell, shape, row, until])


def strangers(shapes: Sequence[Shapes], padded: bool, is_sample: Flags, layout: Layout) -> list[tuple[int, int]]:
    """Row and cell of each number that is not written as the others of its counter, where all others are of one shape.

    None if no number is `padded` with a zero after its point: programs that drop such zeros give one column several
    shapes. `shapes` are of all rows; `is_sample` tells which of them are samples.
    """
    if not padded or not shapes:
        return []
    samples = np.concatenate([[0], np.cumsum(is_sample)])
    counts = np.zeros((_SHAPES, len(layout.table) + 1), dtype=np.int64)
    mixed = np.zeros(len(layout.table) + 1, dtype=np.bool_)
    for run in _joined(shapes):
        mixed |= run.first == MIXED
        for cell, shape, begin, until in run.spans():
            there = shape < _SHAPES
            np.add.at(counts, (shape[there], cell[there]), (samples[until] - samples[begin])[there])
    strange, usual = _strange_cells(counts, mixed, int(samples[-1]), layout)
    if not strange.any():
        return []
    found = []
    for run in shapes:
        for span in run.spans():
            cell, shape = span[:2]
            mine = strange[cell] & (shape < _SHAPES) & (shape != usual[cell])
            for place, _, begin, until in span[:, mine].T.tolist():
                found += [(row, place) for row in range(begin, until) if is_sample[row]]
    return sorted(found)


def _joined(shapes: Sequence[Shapes]) -> Iterator[Shapes]:
    """Yield the same, runs without a change put together where they begin alike."""
    for _, alike in groupby(shapes, key=lambda run: object() if len(run.changes) else bytes(run.first)):
        first, *others = alike
        yield replace(first, end=others[-1].end) if others else first


def _strange_cells(counts: Integers, mixed: Flags, samples: int, layout: Layout) -> tuple[Flags, Integers]:
    """Return cells of a row that hold strangers now and then, and the usual shape of each."""
    counter = np.zeros(len(mixed), dtype=np.int64)
    most = max((len(shape.columns) for shape in layout.tables), default=1)
    _, counter[1:] = np.unique(layout.table * most + layout.column, return_inverse=True)
    counter[1:] += 1
    most = int(counter.max()) + 1
    none = np.zeros(most)
    by_counter = np.array(
        [np.bincount(counter, weights=row, minlength=most) if row.any() else none for row in counts]
    ).astype(np.int64)
    usual, common, every = by_counter.argmax(axis=0), by_counter.max(axis=0), by_counter.sum(axis=0)
    others = every - common
    if others.sum() * _ONE_IN > every.sum():
        return np.zeros(len(mixed), dtype=np.bool_), usual[counter]
    few = (others <= np.maximum(_FEW, common // _ONE_IN_COUNTER)) & (common >= 2 * others)
    few &= (others > 0) & (usual != NOTHING + BARE) & ~np.bincount(counter, weights=mixed).astype(np.bool_)
    in_column = counts.sum(axis=0) - counts[usual[counter], np.arange(len(mixed))]
    limit = min(max(_FEW, samples // _ONE_IN_COLUMN), _MOST_IN_COLUMN)
    return few[counter] & (in_column > 0) & (in_column <= limit), usual[counter]
