"""Rows made of two samples: bytes between them were lost, and the number of cells happened to match.

A tool prints a counter in one way, with two decimals or none. A number written unlike its column is therefore made of
two numbers. If two halves form a number of the right shape, nothing shows it.
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

_SHAPES = 32  # numbers above the largest shape (`scan_twin.scan`)
_ONE_IN = 100  # fewest numbers in a file for each that is written otherwise; in other files shapes mean nothing
_ONE_IN_COLUMN = 50
_ONE_IN_COUNTER = 20
_FEW = 2  # strangers of one column or counter that always count, however few numbers there are
_MOST_IN_COLUMN = 31
"""Half the changes that the scanner reports: a column with unreported changes has more strangers."""


@dataclass(frozen=True)
class Shapes:
    """How the numbers of a run of rows are written."""

    begin: int
    end: int  # the rows, without the last
    first: NDArray[np.uint8]  # for each cell of a row: the shape of its first number
    changes: Integers  # row, cell and shape of each number whose shape differs from the number above it

    def spans(self) -> Iterator[Integers]:
        """Yield cells, shapes, and the first and last row of each span; no cell is twice in the last array."""
        cells = np.arange(len(self.first))
        stop = np.full(len(cells), self.end)
        if len(self.changes):
            yield self._changed(stop)
        yield np.array([cells, self.first, np.full(len(cells), self.begin), stop])

    def _changed(self, stop: Integers) -> Integers:
        """Return the spans from each change on, and put the first change of each cell into `stop`."""
        order = np.lexsort((self.changes[:, 0], self.changes[:, 1]))
        row, cell, shape = self.changes[order].T
        until = np.append(row, self.end)[1:]
        until[np.append(cell, -1)[1:] != cell] = self.end
        changed, first_change = np.unique(cell, return_index=True)
        stop[changed] = row[first_change]
        return np.array([cell, shape, row, until])


def strangers(shapes: Sequence[Shapes], padded: bool, is_sample: Flags, layout: Layout) -> list[tuple[int, int]]:
    """Return row and cell of each number written unlike its counter's others, which all have one shape.

    The result is empty if no number is `padded` with a zero after its point: programs that drop such zeros give one
    column several shapes. `shapes` cover all rows; `is_sample` marks the samples.
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
    """Yield the runs, joining neighbours without changes that begin alike."""
    for _, alike in groupby(shapes, key=lambda run: object() if len(run.changes) else bytes(run.first)):
        first, *others = alike
        yield replace(first, end=others[-1].end) if others else first


def _strange_cells(counts: Integers, mixed: Flags, samples: int, layout: Layout) -> tuple[Flags, Integers]:
    """Return which cells of a row sometimes hold strangers, and the usual shape of each."""
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
