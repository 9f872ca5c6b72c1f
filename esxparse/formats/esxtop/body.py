"""The rows of a capture: bytes to blocks of numbers, on as many threads as there are processors.

A file is read in pieces of whole lines. Reading a piece and counting its lines happens under a lock, which gives the
piece its rows in the block; scanning, the long part, runs beside the other threads without the interpreter lock.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from esxparse.formats import memory
from esxparse.formats.esxtop.header import MARK
from esxparse.formats.esxtop.scan import count_lines, scan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from esxparse.formats.esxtop.layout import Layout

    Integers = NDArray[np.int64]
    _Taken = tuple[int, int, int, int, int]

PIECE = 2 << 20
"""Bytes read at a time."""

_STAMP = 48
"""Bytes kept of a line's beginning: a time stamp with its quotes, `"04/24/2018 10:49:12"`, takes 21."""

_UNKNOWN = 32 << 20
"""Bytes that content of unknown length is at first taken to have."""

_SLACK = 1.03
"""Room in a block beyond the rows expected; memory that is not used is not taken from the system."""


@dataclass(frozen=True)
class Start:
    """Where the rows begin."""

    position: int
    """Byte of the content."""
    rest: bytes
    """What was read beyond it already."""
    end: int | None
    """Bytes of the content, where they are known."""


@dataclass
class Block:
    """Rows of a capture, as numbers."""

    capacity: int
    """Rows there is room for."""
    numbers: NDArray[np.float64]
    """All tables, each counter of each in a stretch of its own (`Layout.places`); cells without a number are NaN."""
    rows: int = 0


@dataclass(frozen=True)
class Body:
    """What stands after the header. A row is a line long enough to hold all its cells, good or bad."""

    blocks: list[Block]
    block: Integers
    """For each row its block."""
    row: Integers
    """For each row its place in the block."""
    line: Integers
    """For each row its line, the one after the header being 0."""
    cells: Integers
    """For each row the number of its cells."""
    blank_end: NDArray[np.bool_]
    """For each row whether it ends with a comma, its last cell being empty."""
    start: Integers
    """For each row the byte of the file it begins with."""
    stop: Integers
    """For each row the byte after its last, its line end not counted."""
    stamps: list[bytes]
    """For each row its beginning."""
    odd: list[tuple[int, int, bytes]]
    """Row, cell and text of each wanted cell that is no number, in the order of the file."""
    short: list[tuple[int, int]]
    """Line and number of cells of each line too short to be a row."""
    headers: dict[int, bytes]
    """Rows in which a header stands again, whole."""
    lines: int
    last_byte: bytes
    """Last byte that was read."""


@dataclass
class _Piece:
    """A piece of the file, and what scanning it gave."""

    position: int
    """Byte of the file it begins with."""
    first_line: int
    block: int
    first_row: int
    lines: Integers
    """Start, end and number of cells of each line."""
    stamps: list[bytes]
    blank_end: list[bool]
    odd: list[tuple[int, int, bytes]]
    headers: dict[int, bytes]
    last_byte: bytes = b""

    def is_row(self, least: int) -> NDArray[np.bool_]:
        return np.asarray(self.lines[:, 1] - self.lines[:, 0] >= least)


def threads() -> int:
    """Processors this process may use, at most eight: beyond that memory, not scanning, is what is waited for."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


class _Reader:
    """Hands out pieces of whole lines, one thread at a time, each with its rows in a block."""

    def __init__(self, stream: BinaryIO, start: Start, layout: Layout, *, keep: bool, memory_limit: int) -> None:
        self.stream = stream
        self.memory_limit = memory_limit
        self.keep = keep
        self.position = start.position
        self.rest = start.rest
        # What a capture that is still being written grows by meanwhile is left for the next time.
        self.end = start.end
        self.ended = False
        self.layout = layout
        # A line needs a comma between any two cells; lines with less could ask for far more memory than they bring.
        self.least = len(layout.table)
        self.line = 0
        self.rows = 0
        self.blocks: list[Block] = []
        self.places: list[tuple[Integers, Integers]] = []
        self.lock = threading.Lock()

    def _read(self, buffer: bytearray, begin: int) -> int:
        """Reads into `buffer` from its byte `begin` on until it is full or the stream ends; gives where that is."""
        most = len(buffer) if self.end is None else min(len(buffer), max(self.end - self.position, 0))
        while begin < most:
            with memoryview(buffer)[begin:most] as room:
                length = int(self.stream.readinto(room))  # type: ignore[attr-defined]
            if not length:
                break
            begin += length
        self.ended = begin < len(buffer)
        return begin

    def _fill(self, buffer: bytearray) -> int:
        """Puts whole lines into `buffer`, which grows until it holds one; gives their length."""
        length = len(self.rest)
        if length >= len(buffer):
            buffer.extend(bytes(length + PIECE - len(buffer)))
        buffer[:length] = self.rest
        self.rest = b""
        while True:
            length = self._read(buffer, length)
            if self.ended:
                return length
            end = buffer.rfind(b"\n", 0, length) + 1
            if end:
                self.rest = bytes(buffer[end:length])
                return end
            if length > self.memory_limit // memory.PER_BYTE:
                what = f"a line of it is longer than {memory.shown(length)}"
                raise memory.refusal(what, self.memory_limit)
            buffer.extend(bytes(len(buffer)))

    def _room_for(self, rows: int, length: int) -> tuple[int, int]:
        """Block and row for `rows` more rows, which take `length` bytes; block -1 where numbers are not kept."""
        if not self.keep:
            return -1, 0
        self.rows += rows
        if memory.NUMBER * self.layout.width * self.rows > self.memory_limit:
            size = memory.shown(memory.NUMBER * self.layout.width * self.rows)
            what = f"the numbers of its first {self.rows:,} samples take {size}"
            raise memory.refusal(what, self.memory_limit, "read it with lazy=True, or ")
        if not self.blocks or self.blocks[-1].rows + rows > self.blocks[-1].capacity:
            # The rest of the file at this piece's length of a row; as much again as was read where nobody knows it.
            rest = max(self.position, _UNKNOWN) if self.end is None else self.end - self.position
            capacity = rows + 8 + int(max(rest - length, 0) / length * rows * _SLACK)
            self.blocks.append(Block(capacity, np.empty(self.layout.size(capacity))))
            self.places.append(self.layout.places(capacity))
        row = self.blocks[-1].rows
        self.blocks[-1].rows += rows
        return len(self.blocks) - 1, row

    def _out(self, block: int, first_row: int, spare: NDArray[np.float64]) -> tuple[Integers, Integers, Any]:
        """Where a piece's numbers go: to its block, or each row over the one before it, to be forgotten."""
        if block < 0:
            cells = len(spare)
            return np.arange(-1, cells), np.zeros(cells + 1, dtype=np.int64), spare
        first, step = self.places[block]
        return first + first_row * step, step, self.blocks[block].numbers

    def take(self, buffer: bytearray) -> _Taken | None:
        """Fills `buffer` with the next piece: length, position, first line, block and row there; None at the end."""
        with self.lock:
            if self.ended and not self.rest:
                return None
            length = self._fill(buffer)
            if not length:
                return None
            lines, rows = count_lines(memoryview(buffer)[:length], self.least)
            block, row = self._room_for(rows, length)
            self.position += length
            self.line += lines
            return length, self.position - length, self.line - lines, block, row

    def scan(self) -> list[_Piece]:
        """Takes and scans pieces until there are none left."""
        buffer = bytearray(PIECE)
        return self.go_on(buffer, self.take(buffer))

    def go_on(self, buffer: bytearray, taken: _Taken | None) -> list[_Piece]:
        """Scans the piece in `buffer`, and more pieces until there are none left."""
        spare = np.empty(0 if self.keep else len(self.layout.table))
        pieces = []
        while taken is not None:
            length, position, first_line, block, first_row = taken
            first, step, out = self._out(block, first_row, spare)
            with memoryview(buffer)[:length] as data:
                lines_raw, odd_raw = scan(data, first, step, out, self.least, True)
            lines = np.frombuffer(lines_raw, dtype=np.int64).reshape(-1, 3)
            odd = np.frombuffer(odd_raw, dtype=np.int64).reshape(-1, 4)
            last_byte = bytes(buffer[length - 1 : length])
            piece = _Piece(position, first_line, block, first_row, lines, [], [], [], {}, last_byte)
            rows = lines[piece.is_row(self.least)].tolist()
            piece.stamps = [bytes(buffer[start : min(start + _STAMP, end)]) for start, end, _ in rows]
            piece.blank_end = [buffer[end - 1 : end] == b"," for _, end, _ in rows]
            piece.odd = [(row, cell, bytes(buffer[start:end])) for row, cell, start, end in odd.tolist()]
            marked = {row for row, stamp in enumerate(piece.stamps) if MARK in stamp}
            marked |= {row for row, _, text in piece.odd if MARK in text}
            # A header glued to a row may begin beyond the last cell that is looked at.
            for row, (start, end, cells) in enumerate(rows):
                if cells - piece.blank_end[row] > len(self.layout.table) + 1 and buffer.find(MARK, start, end) >= 0:
                    marked.add(row)
            piece.headers = {row: bytes(buffer[rows[row][0] : rows[row][1]]) for row in marked}
            pieces.append(piece)
            taken = self.take(buffer)
        return pieces


def _put_together(pieces: list[_Piece], reader: _Reader) -> Body:
    pieces.sort(key=lambda piece: piece.first_line)
    block, row, line, cells, start, stop = [], [], [], [], [], []
    odd: list[tuple[int, int, bytes]] = []
    short: list[tuple[int, int]] = []
    headers: dict[int, bytes] = {}
    before = 0
    for piece in pieces:
        is_row = piece.is_row(reader.least)
        rows = int(is_row.sum())
        block.append(np.full(rows, piece.block, dtype=np.int64))
        row.append(np.arange(piece.first_row, piece.first_row + rows))
        line.append(np.flatnonzero(is_row) + piece.first_line)
        start.append(piece.lines[is_row, 0] + piece.position)
        stop.append(piece.lines[is_row, 1] + piece.position)
        cells.append(piece.lines[is_row, 2])
        odd += [(before + place, cell, text) for place, cell, text in piece.odd]
        short += [(piece.first_line + place, int(piece.lines[place, 2])) for place in np.flatnonzero(~is_row).tolist()]
        headers |= {before + place: text for place, text in piece.headers.items()}
        before += rows
    empty = [np.zeros(0, dtype=np.int64)]
    return Body(
        blocks=reader.blocks,
        block=np.concatenate(block or empty),
        row=np.concatenate(row or empty),
        line=np.concatenate(line or empty),
        cells=np.concatenate(cells or empty),
        start=np.concatenate(start or empty),
        stop=np.concatenate(stop or empty),
        blank_end=np.array([blank for piece in pieces for blank in piece.blank_end], dtype=np.bool_),
        stamps=[stamp for piece in pieces for stamp in piece.stamps],
        odd=odd,
        short=short,
        headers=headers,
        lines=reader.line,
        last_byte=pieces[-1].last_byte if pieces else b"",
    )


def read(
    stream: BinaryIO, start: Start, layout: Layout, *, keep: bool = True, memory_limit: int = memory.DEFAULT
) -> Body:
    """Reads the rows of a capture to the end of the stream.

    One block as a rule: it is laid out for the rows that the first lines let expect, and when more come, the rest goes
    into another. With `keep=False` no number is kept: what is learnt is where the rows are and what is odd in them.

    Raises:
        TooLargeError: A line, or the numbers, would take more memory than the limit.
    """
    reader = _Reader(stream, start, layout, keep=keep, memory_limit=memory_limit)
    # A small file is read before a second thread is up.
    small = start.end is not None and start.end - start.position <= 2 * PIECE
    workers = 1 if small else threads()
    # The first piece is taken here, for with it the block is made: what malloc gave to a thread that ended stays in an
    # arena of its own, and many captures read one after another would take several times the memory of one.
    buffer = bytearray(PIECE)
    taken = reader.take(buffer)
    if workers == 1:
        return _put_together(reader.go_on(buffer, taken), reader)
    with ThreadPoolExecutor(workers - 1) as pool:
        others = [pool.submit(reader.scan) for _ in range(workers - 1)]
        pieces = reader.go_on(buffer, taken)
        return _put_together([*pieces, *(piece for one in others for piece in one.result())], reader)
