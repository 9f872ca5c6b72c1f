"""The byte scanner in plain Python: same signature and same answers as the compiled scanner.

Tests compare the compiled scanner with it, and it is used if no Rust toolchain was present at install.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_DECIMAL = re.compile(rb"[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
# Decimals as programs print them: no plus, no leading zeros, a digit on both sides of the point.
_PRINTED = re.compile(rb"[ \t]*-?(?:0|[1-9][0-9]{0,19})(?:\.(?P<fraction>[0-9]+))?(?P<exponent>[eE][+-]?[0-9]+)?[ \t]*")
# Lines of only quoted plain decimals, as nearly all lines are; `float` reads them the same way.
_PLAIN_LINE = re.compile(rb'"-?[0-9]+(?:\.[0-9]+)?"(?:,"-?[0-9]+(?:\.[0-9]+)?")*')
_NAN = math.nan

_ABSENT = frozenset(
    b"|-|n/a|nan|-nan|inf|-inf|+inf|infinity|1.#qnan|-1.#ind|1.#inf|-1.#inf".split(b"|")  # empty cells too
)
FLAGS = {b"yes": 1.0, b"y": 1.0, b"true": 1.0, b"on": 1.0, b"no": 0.0, b"n": 0.0, b"false": 0.0, b"off": 0.0}

UNKNOWN, MIXED = 255, 254
"""The shape of a column without numbers, and of one with too many changes of shape to list."""
BARE = 16  # added to the shape of a number without quotes
NOTHING = 11  # the shape of an empty cell in place of a quoted number: with `BARE`
_EXPONENT, _MOST_DECIMALS = 10, 9
_MOST_CHANGES = 64

JUDGED = -2  # the place of numbers that are judged and not kept

Cell = tuple[int, int, int, bool]
"""Start and end of a cell's text, the beginning of the next cell, and whether this cell is the line's last."""


def decimal(text: bytes) -> float:
    """Return the finite decimal number in `text` (blanks at the ends allowed); NaN for anything else."""
    if not _DECIMAL.fullmatch(text):
        return _NAN
    number = float(text)
    return number if math.isfinite(number) else _NAN


def quoted_cell(line: bytes, opening: int) -> Cell:
    """Return the cell that opens with the quote at `opening`."""
    start = opening + 1
    quote = line.find(b'"', start)
    while quote >= 0:
        after = line[quote + 1 : quote + 2]
        if not after:
            return start, quote, len(line), True
        if after == b",":
            return start, quote, quote + 2, False
        quote = line.find(b'"', quote + 1)
    # Never closed: the opening quote stays in the text, so a number cut in the middle does not parse.
    return opening, len(line), len(line), True


def bare_cell(line: bytes, start: int) -> Cell:
    """Return the cell that begins at `start` without a quote."""
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


def _cells(line: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of each cell, and whether the next cell is glued to it."""
    at, last = 0, not line
    while not last:
        cell = quoted_cell if line[at : at + 1] == b'"' else bare_cell
        start, end, at, last = cell(line, at)
        yield start, end, at == end and not last


@lru_cache(maxsize=1 << 16)
def _printed(text: bytes) -> tuple[float, int, bool] | None:
    """Return a number, its shape (none for `-1`, which means no limit) and whether a zero ends it; else None."""
    match = _PRINTED.fullmatch(text)
    if not match or math.isnan(decimal(text)):
        return None
    fraction = match["fraction"] or b""
    if text.strip(b" \t") == b"-1":
        return -1.0, UNKNOWN, False
    if match["exponent"]:
        return float(text), _EXPONENT, False
    return float(text), min(len(fraction), _MOST_DECIMALS), fraction.endswith(b"0")


def _lines(data: bytes | bytearray | memoryview) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of `data`: offset of each and the line itself, without its line end."""
    text = bytes(data)
    start = 0
    while start < len(text):
        stop = text.find(b"\n", start)
        stop = len(text) if stop < 0 else stop
        yield start, text[start:stop].rstrip(b"\r")
        start = stop + 1


def count_lines(data: bytes | bytearray | memoryview, least: int) -> tuple[int, int]:
    """Return the number of lines in `data`, and how many of them have at least `least` bytes.

    A last line without a line end counts; line ends do not count as bytes.
    """
    lengths = [len(line) for _, line in _lines(data)]
    return len(lengths), sum(length >= least for length in lengths)


class _Columns:
    """Facts about the columns, learnt row after row."""

    def __init__(self, count: int) -> None:
        self.shape = np.full(count, UNKNOWN, dtype=np.uint8)
        self.first = self.shape.copy()
        self.change_counts = np.zeros(count, dtype=np.int64)
        self.blank = np.zeros(count, dtype=np.uint8)
        self.changes: list[tuple[int, int, int]] = []
        self.padded = False

    def take(self, row: int, shapes: NDArray[np.uint8]) -> None:
        """Add the shapes of the numbers of a row that has all its cells."""
        # An empty cell has no shape, unless it is in place of a quoted number.
        empty = (shapes == NOTHING + BARE) & (self.shape >= BARE)
        there = (shapes != UNKNOWN) & ~empty & (self.shape != MIXED)
        new = there & (self.shape == UNKNOWN)
        self.first[new] = shapes[new]
        changed = there & ~new & (shapes != self.shape)
        self.shape[there] = shapes[there]
        self.changes += [(row, cell, int(shapes[cell])) for cell in np.flatnonzero(changed).tolist()]
        self.change_counts += changed
        self.shape[self.change_counts == _MOST_CHANGES] = MIXED

    def firsts(self) -> bytes:
        """Return the shape of each column's first number."""
        return np.where(self.shape == MIXED, MIXED, self.first).astype(np.uint8).tobytes()


@dataclass
class _Row:
    """The contents of a row."""

    values: NDArray[np.float64]
    shapes: NDArray[np.uint8]
    cells: int = 0
    odd: list[tuple[int, int, int]] = field(default_factory=list)
    absent: list[int] = field(default_factory=list)
    padded: bool = False


def _take_cell(row: _Row, line: bytes, cell: tuple[int, int, bool], blank: NDArray[np.uint8]) -> None:
    """Put the contents of a wanted cell into the row."""
    (start, end, next_glued), number = cell, row.cells
    text = line[start:end]
    bare = line[start - 1 : start] != b'"'
    # ESXi 6.5 writes blanks before the bare numbers that it glues to the next cell.
    glued = bare and next_glued and not text.startswith(b" ")
    if (printed := _printed(text)) and not glued:
        row.values[number], shape, padded = printed
        row.shapes[number] = shape + BARE * bare if shape != UNKNOWN else UNKNOWN
        row.padded |= padded
        return
    word = text.strip(b" \t").lower()
    if word not in _ABSENT:
        row.odd.append((number, start, end))
        row.values[number] = FLAGS.get(word, _NAN)
        return
    row.absent = row.absent or [0, number, start, end]
    row.absent[0] += 1
    blank[number] = 1
    if bare:
        row.shapes[number] = NOTHING + BARE


def _scan_line(line: bytes, wanted: NDArray[np.bool_], blank: NDArray[np.uint8]) -> _Row:
    """Return the contents of the wanted cells of a line."""
    row = _Row(np.full(len(wanted), _NAN), np.full(len(wanted), UNKNOWN, dtype=np.uint8))
    comma = line.find(b",")
    rest = line[comma + 1 :]
    if comma >= 0 and line[:1] == b'"' and line[comma - 1 : comma] == b'"' and _PLAIN_LINE.fullmatch(rest):
        texts = rest[1:-1].split(b'","')
        # The first cell is normally the time stamp. It is read only if it is wanted.
        if not (len(wanted) and wanted[0]) and b'"' not in line[1 : comma - 1]:
            known = [_printed(text) for text in texts[: max(len(wanted) - 1, 0)]]
            if all(known):
                numbers, shapes, padded = zip(*known, strict=True) if known else ((), (), ())
                there = wanted[1 : 1 + len(numbers)]
                row.values[1 : 1 + len(numbers)] = numbers
                row.shapes[1 : 1 + len(numbers)] = np.where(there, np.array(shapes, dtype=np.uint8), UNKNOWN)
                row.padded = bool((np.array(padded, dtype=np.bool_) & there).any())
                row.cells = len(texts) + 1
                return row
    for cell in _cells(line):
        if row.cells < len(wanted) and wanted[row.cells]:
            _take_cell(row, line, cell, blank)
        row.cells += 1
    return row


def _is_whole(line: bytes, cells: int, columns: int) -> bool:
    """Return whether a row has all its cells, and after them nothing but commas."""
    return cells >= columns and len(line) - len(line.rstrip(b",")) >= cells - columns


Scanned = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bool]


def scan(
    data: bytes | bytearray | memoryview,
    first: NDArray[np.int64],
    step: NDArray[np.int64],
    out: NDArray[np.float64],
    least: int,
    count: bool,
) -> Scanned:
    """Scan whole lines of a capture and write their numbers to `out`.

    Cell `j` of row `i` goes to `out[first[j] + i * step[j]]`. `first[j] < 0` means that the cell is not wanted.
    `JUDGED` means that its number goes nowhere, but the cell is reported like a wanted one. A wanted cell that is
    missing, or is not a finite decimal number as programs print them, becomes NaN; yes and no become 1 and 0. Cells are
    quoted or bare; a quote closes a cell only before a comma or the end of the line (nothing is escaped), and a bare
    number or dash directly before a quote is a cell of its own. A last line without a line end is a line; carriage
    returns before a line end belong to it.

    The shape of a number is the count of digits after its point (nine at most; 10 with an exponent), plus `BARE`
    without quotes; `-1` has none, as it means no limit. Shapes are reported for rows that have all their cells.

    Args:
        data: Whole lines.
        first: Place in `out` of each cell of row 0.
        step: The increase of that place for each further row; not negative.
        out: Written to; places beyond its end are passed over.
        least: A line of fewer bytes is not a row: it is listed among the lines, and its cells go nowhere.
        count: Whether cells after the last of `first` are counted; they are not looked at otherwise.

    Returns:
        Lines, odd cells, absent numbers and changes of shape as runs of native 64-bit integers, with starts and ends as
        offsets in `data`; first shapes and blank columns as one byte for each cell of `first`; and whether a number
        ends with a zero after its point.

        Lines, for each: its start, its end (without the line end) and its number of cells. Odd cells, for each wanted
        cell with neither a number nor a word for a missing one: its row, its cell, start and end of its text.
        Absent numbers, for each row with words for a missing number: row, count, and cell, start and end of the
        first.
        First shapes: `UNKNOWN` for a column without a number, `MIXED` for one with more than 64 changes. Changes, for
        each number whose shape differs from the number above it: row, cell, shape. Blank columns: 1 for those with
        cells with a word for a missing number.
    """
    if len(first) != len(step):
        msg = "first and step must be of one length"
        raise ValueError(msg)
    lines: list[tuple[int, int, int]] = []
    odd: list[tuple[int, int, int, int]] = []
    absent: list[tuple[int, ...]] = []
    columns = _Columns(len(first))
    number = 0
    for start, line in _lines(data):
        if len(line) < least:
            cells = sum(1 for _ in _cells(line))
        else:
            places = first + number * step
            kept = (first >= 0) & (places < len(out))
            row = _scan_line(line, kept | (first == JUDGED), columns.blank)
            cells = row.cells if count else min(row.cells, len(first))
            out[places[kept]] = row.values[kept]
            odd.extend((number, cell, start + begin, start + end) for cell, begin, end in row.odd)
            if row.absent:
                times, cell, begin, end = row.absent
                absent.append((number, times, cell, start + begin, start + end))
            if _is_whole(line, cells, len(first)):
                columns.take(number, row.shapes)
                columns.padded |= row.padded
            number += 1
        lines.append((start, start + len(line), cells))
    runs = [np.array(run, dtype=np.int64).tobytes() for run in (lines, odd, absent, columns.changes)]
    return runs[0], runs[1], runs[2], columns.firsts(), runs[3], columns.blank.tobytes(), columns.padded
