"""Numbers to the text of a line, fast: only what changed since the line before is written anew.

What `%.2f` and `%.0f` print of common numbers lies ready in a table. Rounding is theirs exactly: a number whose
hundredths are too near a half to be sure of goes through `%.2f` itself, and so do numbers outside the table. The one
difference: what rounds to zero has no sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esxparse_simulator.esxtop.releases import Counter
from esxparse_simulator.model.sums import Numbers

_HUNDREDTHS = 100_000  # 0.00 to 999.99
_WHOLES = 70_000
_UNSURE = 1e-9  # how near a half, relative to the number, hundredths computed in floats are not sure


def joined(cells: Sequence[bytes], broken: Sequence[int]) -> bytes:
    r"""A line of cells in quotes; those at the places `broken` stand without, and no comma follows them.

    >>> joined([b"time", b"1", b"   -", b"2"], [2])
    b'"time","1",   -"2"'
    """
    if not broken:
        return b'"' + b'","'.join(cells) + b'"'
    parts, start = [], 0
    for place in broken:
        if start < place:
            parts += [b'"', b'","'.join(cells[start:place]), b'",']
        parts.append(cells[place])
        start = place + 1
    if start < len(cells):
        parts += [b'"', b'","'.join(cells[start:]), b'"']
    return b"".join(parts)


def lines(counters: Sequence[Counter], rows: Iterable[tuple[bytes, Numbers]], end: bytes) -> Iterator[bytes]:
    """Lines of a first cell and numbers, one of each counter; every line ends with `end`."""
    columns = _Columns(counters)
    cells: NDArray[Any] = np.array([b"", *(counter.text.encode() for counter in counters)], dtype=object)
    before = np.where(columns.texts, 0.0, np.nan)
    for first, numbers in rows:
        rounded = _rounded(numbers, columns)
        cells[0] = first
        _write(cells[1:], columns, numbers, rounded, np.flatnonzero(rounded != before))
        before = rounded
        yield joined(cells.tolist(), columns.broken) + end


# Of each kind: its format, what to multiply with before rounding, where in the table it begins and ends.
_KINDS = {
    "decimal": (b"%.2f", 100.0, 0, _HUNDREDTHS),
    "whole": (b"%.0f", 1.0, _HUNDREDTHS, _WHOLES),
    "text": (b"%.0f", 1.0, _HUNDREDTHS, _WHOLES),
    "broken": (b"%8.1f", 10.0, 0, 0),
}


class _Columns:
    """What `_KINDS` says, along the columns."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self.formats, scales, starts, ends = zip(*(_KINDS[counter.kind] for counter in counters), strict=True)
        self.scale = np.array(scales, dtype=np.float64)
        self.start = np.array(starts, dtype=np.intp)
        self.end = np.array(ends, dtype=np.float64)
        self.decimal = self.scale != 1.0
        self.texts = np.array([counter.kind == "text" for counter in counters], dtype=bool)
        self.broken = tuple(place for place, counter in enumerate(counters, 1) if counter.kind == "broken")
        self.table = _table()


@lru_cache(maxsize=1)
def _table() -> NDArray[Any]:
    table: NDArray[Any] = np.empty(_HUNDREDTHS + _WHOLES, dtype=object)
    table[:_HUNDREDTHS] = [b"%d.%02d" % divmod(number, 100) for number in range(_HUNDREDTHS)]
    table[_HUNDREDTHS:] = [b"%d" % number for number in range(_WHOLES)]
    return table


def _rounded(numbers: Numbers, columns: _Columns) -> Numbers:
    """Hundredths (or what a kind has); NaN where multiplying may have moved a number over the half between two."""
    scaled = numbers * columns.scale
    rounded = np.rint(scaled)
    with np.errstate(invalid="ignore"):
        unsure = np.abs(np.abs(scaled - rounded) - 0.5) <= _UNSURE * np.abs(scaled)
    rounded[unsure & columns.decimal] = np.nan
    return rounded


def _write(
    cells: NDArray[Any], columns: _Columns, numbers: Numbers, rounded: Numbers, changed: NDArray[np.intp]
) -> None:
    values = rounded[changed]
    ready = (values >= 0.0) & (values < columns.end[changed])
    common = changed[ready]
    cells[common] = columns.table[columns.start[common] + values[ready].astype(np.intp)]
    for place in changed[~ready].tolist():
        cells[place] = columns.formats[place] % numbers[place]
