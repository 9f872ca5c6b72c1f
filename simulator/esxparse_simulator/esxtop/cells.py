"""Numbers to the text of a line, fast: only what changed since the line before is written anew.

What `%.2f` and `%.0f` print of common numbers lies ready in a table. Rounding is theirs exactly: a number whose
hundredths are too near a half to be sure of goes through `%.2f` itself, and so do numbers outside the table. The one
difference: what rounds to zero has no sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    columns = _columns(counters)
    cells: NDArray[Any] = np.array([b"", *(counter.text.encode() for counter in counters)], dtype=object)
    before = np.where(columns.texts, 0.0, np.nan)
    for first, numbers in rows:
        rounded = _rounded(numbers, columns)
        cells[0] = first
        _write(cells[1:], columns, numbers, rounded, np.flatnonzero(rounded != before))
        before = rounded
        yield joined(cells.tolist(), columns.broken) + end


@dataclass(frozen=True, slots=True)
class _Columns:
    """Along the columns: what to multiply with before rounding, where in the table its kind begins and ends."""

    scale: Numbers
    start: NDArray[np.intp]
    end: Numbers
    formats: tuple[bytes, ...]
    decimal: NDArray[np.bool_]
    texts: NDArray[np.bool_]
    broken: tuple[int, ...]
    table: NDArray[Any]


_FORMATS = {"decimal": b"%.2f", "whole": b"%.0f", "text": b"%.0f", "broken": b"%8.1f"}
_SCALES = {"decimal": 100.0, "whole": 1.0, "text": 1.0, "broken": 10.0}
_STARTS = {"decimal": 0, "whole": _HUNDREDTHS, "text": _HUNDREDTHS, "broken": 0}
_ENDS = {"decimal": _HUNDREDTHS, "whole": _WHOLES, "text": _WHOLES, "broken": 0}


def _columns(counters: Sequence[Counter]) -> _Columns:
    kinds = [counter.kind for counter in counters]
    return _Columns(
        scale=np.array([_SCALES[kind] for kind in kinds], dtype=np.float64),
        start=np.array([_STARTS[kind] for kind in kinds], dtype=np.intp),
        end=np.array([_ENDS[kind] for kind in kinds], dtype=np.float64),
        formats=tuple(_FORMATS[kind] for kind in kinds),
        decimal=np.array([_SCALES[kind] != 1.0 for kind in kinds], dtype=bool),
        texts=np.array([kind == "text" for kind in kinds], dtype=bool),
        broken=tuple(place for place, kind in enumerate(kinds, 1) if kind == "broken"),
        table=_table(),
    )


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
