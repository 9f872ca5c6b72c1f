"""A piece of a capture (whole lines), and the result of scanning it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from esxparse.formats.esxtop.first_sample import all_zero, rate_cells
from esxparse.formats.esxtop.grammar import BOM, JOINT, MARK, MARKS, STAMP_BYTES, with_quote
from esxparse.formats.esxtop.layout import Layout
from esxparse.formats.esxtop.scan import Integers, Numbers, scan
from esxparse.formats.esxtop.seams import Shapes

Out = tuple[Integers, Integers, Numbers]
"""Destination of numbers: place of each cell of the first row, steps to the next, and all numbers (`scan`)."""

_MOST_COMMAS = 8  # most commas at the end of a line that are counted


@dataclass(frozen=True)
class Columns:
    """The line properties that follow from the header."""

    cells: int  # of a row, the time stamp's included
    least: int  # bytes of a row: its commas, and more than a byte order mark. Shorter lines could require far more
    # memory than their size
    rates: Integers  # for each cell of a row its place among the rates of disks

    @classmethod
    def of(cls, layout: Layout) -> Columns:
        """Return the columns of a capture."""
        return cls(len(layout.table) + 1, max(len(layout.table), len(BOM) + 1), rate_cells(layout))


class Place(NamedTuple):
    """The place of a piece in its file, and of its rows among all rows."""

    position: int  # byte of the file it begins with
    first_line: int
    block: int
    first_row: int
    after_header: bool  # whether the line before it is a header


@dataclass(frozen=True)
class Piece:
    """The result of scanning a piece. Rows are counted within the piece, lines and bytes within the file."""

    place: Place
    rows: Integers  # for each row: block, row there, line, cells, commas at its end, first byte, byte after its last
    stamps: list[bytes]
    odd: Integers  # row, cell, and the text's place in `texts`
    texts: list[bytes]
    absent: list[tuple[int, int, int, bytes]]
    shapes: Shapes
    blank: NDArray[np.uint8]
    padded: bool
    short: list[tuple[int, int, int]]
    headers: dict[int, bytes]
    without_rates: list[int]
    short_headers: list[tuple[int, int, bytes]]
    bare_end: bool  # whether the last line is a row without a line end, quote or comma at its end
    nul_tail: int
    last_byte: bytes


def take(buffer: bytearray, span: tuple[int, int], place: Place, out: Out, columns: Columns) -> Piece:
    """Scan a span of the buffer."""
    begin, stop = span
    with memoryview(buffer)[begin:stop] as data:
        scanned = scan(data, *out, columns.least, True)
    lines, odd, absent, changes = (
        np.frombuffer(run, dtype=np.int64).reshape(-1, width)
        for run, width in zip((scanned[0], scanned[1], scanned[2], scanned[4]), (3, 4, 5, 3), strict=True)
    )
    lines = lines + np.array([begin, begin, 0])
    is_row = lines[:, 1] - lines[:, 0] >= columns.least
    row_lines, short_lines = np.flatnonzero(is_row), np.flatnonzero(~is_row)
    rows = lines[is_row].tolist()
    stamps = [bytes(buffer[start : min(start + STAMP_BYTES, end)]) for start, end, _ in rows]
    tails = [bytes(buffer[max(start, end - _MOST_COMMAS) : end]) for start, end, _ in rows]
    commas = np.array([len(tail) - len(tail.rstrip(b",")) for tail in tails], dtype=np.int64)
    known: dict[bytes, int] = {}
    where = [
        (row, cell, known.setdefault(bytes(buffer[begin + start : begin + end]), len(known)))
        for row, cell, start, end in odd.tolist()
    ]
    marked = {row for row, stamp in enumerate(stamps) if MARK in stamp}
    marks = {word for text, word in known.items() if MARK in text}
    marked |= {row for row, _, text in where if text in marks} if marks else set()
    # A header glued to a row may begin after the last cell that is scanned.
    for row, (start, end, cells) in enumerate(rows):
        if cells - commas[row] > columns.cells and buffer.find(MARK, start, end) >= 0:
            marked.add(row)
    follow = {row + 1 for row in marked} | ({0} if place.after_header else set())
    moved = place.position - begin
    last_byte = bytes(buffer[stop - 1 : stop])
    return Piece(
        place=place,
        rows=np.column_stack(
            [
                np.full(len(rows), place.block),
                np.arange(place.first_row, place.first_row + len(rows)),
                row_lines + place.first_line,
                lines[is_row, 2],
                commas,
                lines[is_row, :2] + moved,
            ]
        ),
        stamps=stamps,
        odd=np.array(where, dtype=np.int64).reshape(-1, 3),
        texts=list(known),
        absent=[
            (row, count, cell, bytes(buffer[begin + start : begin + end]))
            for row, count, cell, start, end in absent.tolist()
        ],
        shapes=Shapes(0, len(rows), np.frombuffer(scanned[3], dtype=np.uint8), changes),
        blank=np.frombuffer(scanned[5], dtype=np.uint8),
        padded=scanned[6],
        short=np.column_stack(
            [short_lines + place.first_line, _cells(buffer, lines[short_lines]), lines[short_lines, 0] + moved]
        ).tolist(),
        headers={row: bytes(buffer[rows[row][0] : rows[row][1]]) for row in marked},
        without_rates=[
            row for row in follow if row < len(rows) and all_zero(bytes(buffer[slice(*rows[row][:2])]), columns.rates)
        ],
        short_headers=[
            (place.first_line + line, moved + at, text) for line, at, text in _short_headers(buffer, lines, short_lines)
        ],
        bare_end=bool(len(lines) and is_row[-1]) and last_byte not in b'\r\n",',
        nul_tail=int(lines[-1, 1] - lines[-1, 0]) if _all_nul(buffer, lines) else 0,
        last_byte=last_byte,
    )


def joints(buffer: bytearray, piece: Piece, columns: Columns) -> list[int]:
    """Return where, in the buffer of a piece, a row or header begins that is glued to the line before it."""
    doubtful = set(np.flatnonzero(piece.rows[:, 3] - piece.rows[:, 4] > columns.cells).tolist()) | set(piece.headers)
    doubtful |= {row for row, stamp in enumerate(piece.stamps) if JOINT.search(stamp, 1)}
    spans = (piece.rows[sorted(doubtful), 5:] - piece.place.position).tolist()
    return [joint.start() for start, end in spans for joint in JOINT.finditer(buffer, start + 1, end)]


def _cells(buffer: bytearray, lines: Integers) -> Integers:
    """Return the number of cells in each line: 0 for a line with only a byte order mark."""
    cells = lines[:, 2].copy()
    for place in np.flatnonzero(lines[:, 1] - lines[:, 0] <= len(BOM)).tolist():
        if bytes(buffer[slice(*lines[place, :2])]) in MARKS:
            cells[place] = 0
    return cells


def _short_headers(buffer: bytearray, lines: Integers, short: Integers) -> list[tuple[int, int, bytes]]:
    """Return line in the piece, offset and text of each header with fewer bytes than a row has cells."""
    found = []
    for number in short[lines[short, 1] - lines[short, 0] > len(MARK)].tolist():
        start, end, _ = lines[number].tolist()
        mark = buffer.find(MARK, start, min(end, start + STAMP_BYTES))
        if mark >= 0:
            at = with_quote(buffer, mark)
            found.append((number, at, bytes(buffer[at:end])))
    return found


def _all_nul(buffer: bytearray, lines: Integers) -> bool:
    """Return whether the last line consists of NUL bytes."""
    start, end, _ = lines[-1].tolist() if len(lines) else (0, 0, 0)
    return bool(start < end and buffer[end - 1] == 0 and not buffer[start:end].strip(b"\0"))
