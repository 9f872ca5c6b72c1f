"""The cells of a row as bytes: where each stands, and a row of those that are kept."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from esxparse.formats.esxtop.scan_twin import bare_cell, decimal, quoted_cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_QUOTE, _COMMA = b'",'


def bounds(line: bytes) -> tuple[Integers, Integers]:
    """Starts and ends of the texts of all cells of a line, by the rules of the scanner (`scan_twin`).

    >>> starts, ends = bounds(b'"1.00",    73.1"8.93",')
    >>> list(zip(starts.tolist(), ends.tolist()))
    [(1, 5), (7, 15), (16, 20), (22, 22)]
    """
    data = np.frombuffer(line, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if not len(quotes):
        commas = np.flatnonzero(data == _COMMA)
        return np.concatenate([[0], commas + 1]), np.concatenate([commas, [len(line)]])
    # Where a quote, a comma and a quote follow each other; as a cell's end and the next one's beginning, from a
    # beginning on every second one of them is met.
    joint = np.zeros(len(quotes), dtype=np.bool_)
    joint[:-1] = (np.diff(quotes) == 2) & (data[quotes[:-1] + 1] == _COMMA)  # noqa: PLR2004  a comma between
    breaks: dict[int, list[int]] = {}
    starts: list[Integers | list[int]] = []
    ends: list[Integers | list[int]] = []
    at, opening, last = 0, 0, False
    while not last:
        if line[at : at + 1] == b'"':
            if opening >= len(quotes) or quotes[opening] != at:
                opening = int(np.searchsorted(quotes, at))
            parity = (opening + 1) % 2
            if parity not in breaks:
                breaks[parity] = (np.flatnonzero(~joint[parity::2]) * 2 + parity).tolist()
            candidates = breaks[parity]
            place = bisect_left(candidates, opening + 1)
            stop = candidates[place] if place < len(candidates) else len(quotes)
            starts.append(quotes[opening : stop - 1 : 2] + 1)
            ends.append(quotes[opening + 1 : stop - 1 : 2])
            start, end, at, last = quoted_cell(line, int(quotes[stop - 1]))
            # Where the next cell is quoted, or a bare number glued to one that is.
            opening = stop + 1
        else:
            start, end, at, last = bare_cell(line, at)
        starts.append([start])
        ends.append([end])
    return np.concatenate(starts), np.concatenate(ends)


def row(line: bytes, starts: Integers, ends: Integers, kept: Integers, contiguous: Flags) -> bytes:
    """The kept cells of a line, all quoted; neighbours that stand as esxtop writes them are copied together."""
    data = np.frombuffer(line, dtype=np.uint8)
    first, last = starts[kept], ends[kept]
    joined = contiguous & (first[1:] - last[:-1] == 3) & (data[np.minimum(last[:-1], len(data) - 1)] == _QUOTE)  # noqa: PLR2004  `","`
    begins = first[np.concatenate([[True], ~joined])]
    stops = last[np.concatenate([~joined, [True]])]
    texts = [line[begin:stop] for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)]
    for bare in np.flatnonzero((begins == 0) | (data[begins - 1] != _QUOTE)).tolist():
        texts[bare] = texts[bare].strip(b" \t")
    return b'"' + b'","'.join(texts) + b'"\n'


def may_be_cut(text: bytes, *, at_the_end: bool) -> bool:
    """Whether the last cell of a row may be half a number: not closed, or bare where the file ends."""
    if text.startswith(b'"'):
        return True
    return at_the_end and not math.isnan(decimal(text))
