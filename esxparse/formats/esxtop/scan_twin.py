"""The byte scanner in plain Python: same signature, same answers as the compiled one.

It is what the compiled scanner is tested against, and what serves where no Rust toolchain was present at install.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_DECIMAL = re.compile(rb"[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
# Quoted cells of nothing but plain decimals, all the way: what nearly every line is, and what `float` reads as we do.
_PLAIN_LINE = re.compile(rb'"-?[0-9]+(?:\.[0-9]+)?"(?:,"-?[0-9]+(?:\.[0-9]+)?")*')
_NAN = math.nan

Cell = tuple[int, int, int, bool]
"""Start and end of a cell's text, where the next cell begins, and whether this one is the line's last."""


def decimal(text: bytes) -> float:
    """The finite number that `text` (blanks at the ends allowed) writes in decimal; NaN for anything else."""
    if not _DECIMAL.fullmatch(text):
        return _NAN
    number = float(text)
    return number if math.isfinite(number) else _NAN


def quoted_cell(line: bytes, opening: int) -> Cell:
    """The cell that opens with the quote at `opening`."""
    start = opening + 1
    quote = line.find(b'"', start)
    while quote >= 0:
        after = line[quote + 1 : quote + 2]
        if not after:
            return start, quote, len(line), True
        if after == b",":
            return start, quote, quote + 2, False
        quote = line.find(b'"', quote + 1)
    # Never closed: the opening quote stays in the text, so that a number cut in the middle is no number.
    return opening, len(line), len(line), True


def bare_cell(line: bytes, start: int) -> Cell:
    """The cell that begins at `start` without a quote."""
    comma = line.find(b",", start)
    end = len(line) if comma < 0 else comma
    quote = line.find(b'"', start, end)
    while quote >= 0:
        before = line[start:quote].strip(b" \t")
        if not before:
            return quoted_cell(line, quote)
        if before == b"-" or not math.isnan(decimal(before)):
            # ESXi 6.5 prints `    73.1"8.93"`, two cells without a comma between them.
            return start, quote, quote, False
        quote = line.find(b'"', quote + 1, end)
    return (start, end, end, True) if comma < 0 else (start, end, end + 1, False)


def _cells(line: bytes) -> Iterator[tuple[int, int]]:
    at, last = 0, not line
    while not last:
        cell = quoted_cell if line[at : at + 1] == b'"' else bare_cell
        start, end, at, last = cell(line, at)
        yield start, end


def _lines(data: bytes | bytearray | memoryview) -> Iterator[tuple[int, bytes]]:
    """The lines of `data`: offset of each and the line itself, without its line end."""
    text = bytes(data)
    start = 0
    while start < len(text):
        stop = text.find(b"\n", start)
        stop = len(text) if stop < 0 else stop
        yield start, text[start:stop].removesuffix(b"\r")
        start = stop + 1


def count_lines(data: bytes | bytearray | memoryview, least: int) -> tuple[int, int]:
    """Number of lines in `data`, and how many of them have at least `least` bytes.

    A last one without a line end counts; line ends do not count as bytes.
    """
    lengths = [len(line) for _, line in _lines(data)]
    return len(lengths), sum(length >= least for length in lengths)


def _scan_line(line: bytes, wanted: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int, list[tuple[int, int, int]]]:
    """Values of the wanted cells (NaN where missing or no number), number of cells, and the odd ones."""
    values = np.full(len(wanted), _NAN)
    comma = line.find(b",")
    rest = line[comma + 1 :]
    if comma >= 0 and line[:1] == b'"' and line[comma - 1 : comma] == b'"' and _PLAIN_LINE.fullmatch(rest):
        texts = rest[1:-1].split(b'","')
        # The first cell is the time stamp in practice, and whatever else it holds it is wanted only where asked for.
        if not (len(wanted) and wanted[0]) and b'"' not in line[1 : comma - 1]:
            numbers = np.array([float(text) for text in texts[: max(len(wanted) - 1, 0)]])
            if np.isfinite(numbers).all():
                values[1 : 1 + len(numbers)] = numbers
                return values, len(texts) + 1, []
    odd = []
    cells = 0
    for start, end in _cells(line):
        if cells < len(wanted) and wanted[cells]:
            values[cells] = decimal(line[start:end])
            if math.isnan(values[cells]):
                odd.append((cells, start, end))
        cells += 1
    return values, cells, odd


def scan(
    data: bytes | bytearray | memoryview,
    first: NDArray[np.int64],
    step: NDArray[np.int64],
    out: NDArray[np.float64],
    least: int,
    count: bool,
) -> tuple[bytes, bytes]:
    """Scans whole lines of a capture and writes their numbers where the caller wants them.

    Cell `j` of row `i` goes to `out[first[j] + i * step[j]]`; `first[j] < 0` means nowhere. A wanted cell that is
    missing, or is no finite decimal number, becomes NaN. Cells are quoted or bare; a quote closes a cell only before a
    comma or the end of the line (nothing is escaped), and a bare number or dash directly before a quote is a cell of
    its own. A last line without a line end is a line; a carriage return before a line end belongs to it.

    Args:
        data: Whole lines.
        first: Place in `out` of each cell of row 0.
        step: What to add to that place for each further row; not negative.
        out: Written to; places beyond its end are passed over.
        least: A line of fewer bytes is no row: it is told among the lines, and its cells go nowhere.
        count: Whether cells after the last of `first` are counted; they are not looked at otherwise.

    Returns:
        Two runs of native 64-bit integers. Lines: for each its start, its end (line end not counted) and its number of
        cells. Odd cells, for each wanted cell that is there and is no number: its row, its cell, start and end of its
        text. Starts and ends are offsets in `data`.
    """
    if len(first) != len(step):
        msg = "first and step must be of one length"
        raise ValueError(msg)
    lines: list[tuple[int, int, int]] = []
    odd: list[tuple[int, int, int, int]] = []
    row = 0
    for start, line in _lines(data):
        if len(line) < least:
            cells = sum(1 for _ in _cells(line))
        else:
            places = first + row * step
            wanted = (first >= 0) & (places < len(out))
            values, cells, odd_cells = _scan_line(line, wanted)
            cells = cells if count else min(cells, len(first))
            out[places[wanted]] = values[wanted]
            odd.extend((row, cell, start + begin, start + end) for cell, begin, end in odd_cells)
            row += 1
        lines.append((start, start + len(line), cells))
    return np.array(lines, dtype=np.int64).tobytes(), np.array(odd, dtype=np.int64).tobytes()
