"""A piece of a capture, whole lines of it, and what scanning it tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from esxparse.formats.esxtop.first_sample import all_zero, rate_cells
from esxparse.formats.esxtop.header import JOINT, MARK, STAMP_BYTES
from esxparse.formats.esxtop.scan import scan
from esxparse.formats.esxtop.seams import Shapes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from esxparse.formats.esxtop.layout import Layout

    Integers = NDArray[np.int64]
    Out = tuple[Integers, Integers, NDArray[np.float64]]
    """Where numbers go: place of each cell of the first row, steps to the next, and all numbers (`scan`)."""

_MOST_COMMAS = 8
"""Commas at the end of a line that are looked for."""


@dataclass(frozen=True)
class Grammar:
    """What the header lets expect of each line."""

    cells: int
    """Cells of a row, the time stamp's included."""
    least: int
    """Bytes that a row has at least: its commas. Lines with less could ask for far more memory than they bring."""
    rates: Integers
    """For each cell of a row its place among the rates of disks (`first_sample.rate_cells`)."""

    @classmethod
    def of(cls, layout: Layout) -> Grammar:
        """That of a capture with these columns."""
        return cls(len(layout.table) + 1, len(layout.table), rate_cells(layout))


class Place(NamedTuple):
    """Where a piece stands in its file, and its rows among all."""

    position: int
    """Byte of the file it begins with."""
    first_line: int
    block: int
    first_row: int


@dataclass
class Piece:
    """A piece of the file, and what scanning it gave. Rows and offsets are those of the piece."""

    position: int
    """Byte of the file it begins with."""
    first_line: int
    block: int
    first_row: int
    is_row: NDArray[np.bool_]
    """For each line whether it is a row."""
    lines: Integers
    """Start, end and number of cells of each line."""
    stamps: list[bytes]
    commas: Integers
    odd: Integers
    """Row, cell, and the text's place in `texts`."""
    texts: list[bytes]
    words: list[tuple[int, int, int, int, bytes]]
    shapes: Shapes
    blank: NDArray[np.uint8]
    padded: bool
    headers: dict[int, bytes]
    without_rates: list[int]
    short_headers: list[tuple[int, int]]
    nul_tail: int
    last_byte: bytes

    @property
    def bare_end(self) -> bool:
        """Whether its last line is a row without a line end, and without a quote or comma at its end."""
        return bool(len(self.lines) and self.is_row[-1]) and self.last_byte not in b'\r\n",'


def take(
    buffer: bytearray, span: tuple[int, int], place: Place, out: Out, grammar: Grammar, *, after_header: bool
) -> Piece:
    """Scans a span of the buffer; `after_header` says whether the line before it is a header."""
    begin, stop = span
    first, step, numbers = out
    with memoryview(buffer)[begin:stop] as data:
        told = scan(data, first, step, numbers, grammar.least, True)
    lines, odd, words, changes = (
        np.frombuffer(run, dtype=np.int64).reshape(-1, width)
        for run, width in zip((told[0], told[1], told[2], told[4]), (3, 4, 6, 3), strict=True)
    )
    lines = lines + np.array([begin, begin, 0])
    is_row = lines[:, 1] - lines[:, 0] >= grammar.least
    rows = lines[is_row].tolist()
    stamps = [bytes(buffer[start : min(start + STAMP_BYTES, end)]) for start, end, _ in rows]
    tails = [bytes(buffer[max(start, end - _MOST_COMMAS) : end]) for start, end, _ in rows]
    known: dict[bytes, int] = {}
    where = [
        (row, cell, known.setdefault(bytes(buffer[begin + start : begin + end]), len(known)))
        for row, cell, start, end in odd.tolist()
    ]
    marked = {row for row, stamp in enumerate(stamps) if MARK in stamp}
    marks = {word for text, word in known.items() if MARK in text}
    marked |= {row for row, _, text in where if text in marks} if marks else set()
    commas = np.array([len(tail) - len(tail.rstrip(b",")) for tail in tails], dtype=np.int64)
    # A header glued to a row may begin beyond the last cell that is looked at.
    for row, (start, end, cells) in enumerate(rows):
        if cells - commas[row] > grammar.cells and buffer.find(MARK, start, end) >= 0:
            marked.add(row)
    follow = {row + 1 for row in marked} | ({0} if after_header else set())
    return Piece(
        position=place.position - begin,
        first_line=place.first_line,
        block=place.block,
        first_row=place.first_row,
        is_row=is_row,
        lines=lines,
        stamps=stamps,
        commas=commas,
        odd=np.array(where, dtype=np.int64).reshape(-1, 3),
        texts=list(known),
        words=[
            (row, kind, count, cell, bytes(buffer[begin + start : begin + end]))
            for row, kind, count, cell, start, end in words.tolist()
        ],
        shapes=Shapes(0, len(rows), np.frombuffer(told[3], dtype=np.uint8), changes),
        blank=np.frombuffer(told[5], dtype=np.uint8),
        padded=told[6],
        headers={row: bytes(buffer[rows[row][0] : rows[row][1]]) for row in marked},
        without_rates=[
            row for row in follow if row < len(rows) and all_zero(bytes(buffer[slice(*rows[row][:2])]), grammar.rates)
        ],
        short_headers=_short_headers(buffer, lines[~is_row], np.flatnonzero(~is_row)),
        nul_tail=int(lines[-1, 1] - lines[-1, 0]) if _all_nul(buffer, lines) else 0,
        last_byte=bytes(buffer[stop - 1 : stop]),
    )


def joints(buffer: bytearray, piece: Piece, grammar: Grammar) -> list[int]:
    """Where a row or a header begins that is glued to the line before it, the line end between them being lost."""
    cells = piece.lines[piece.is_row, 2] - piece.commas
    doubtful = set(np.flatnonzero(cells > grammar.cells).tolist()) | set(piece.headers)
    doubtful |= {row for row, stamp in enumerate(piece.stamps) if JOINT.search(stamp, 1)}
    lines = piece.lines[piece.is_row].tolist()
    return [
        joint.start() for row in sorted(doubtful) for joint in JOINT.finditer(buffer, lines[row][0] + 1, lines[row][1])
    ]


def _short_headers(buffer: bytearray, lines: Integers, numbers: Integers) -> list[tuple[int, int]]:
    """Line of the piece, and offset, of each header that has fewer bytes than a row has cells."""
    long = lines[:, 1] - lines[:, 0] > len(MARK)
    found = []
    for number, (start, end, _) in zip(numbers[long].tolist(), lines[long].tolist(), strict=True):
        mark = buffer.find(MARK, start, min(end, start + STAMP_BYTES))
        if mark >= 0:
            found.append((number, mark - (buffer[mark - 1 : mark] == b'"')))
    return found


def _all_nul(buffer: bytearray, lines: Integers) -> bool:
    """Whether the last line is nothing but NUL bytes."""
    if not len(lines):
        return False
    start, end, _ = lines[-1].tolist()
    return bool(start < end and buffer[end - 1] == 0 and not buffer[start:end].strip(b"\0"))
