"""The rows of a capture: bytes to blocks of numbers, on as many threads as there are processors.

A file is read in pieces of whole lines. A thread reads a piece and counts its lines under a lock, which gives the
piece its rows in the block. Scanning, the long part, runs beside the other threads without the interpreter lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from esxparse.formats import memory
from esxparse.formats.esxtop.grammar import MARK, PREFIX, refuse_long_line
from esxparse.formats.esxtop.layout import Layout
from esxparse.formats.esxtop.pieces import Columns, Out, Piece, Place, joints, take
from esxparse.formats.esxtop.scan import Flags, Integers, Numbers, count_lines
from esxparse.formats.esxtop.seams import Shapes
from esxparse.formats.kit.pieces import WholeLines

PIECE = 8 << 20  # bytes read at a time: the first row of each takes up to five times as long as the others
_UNKNOWN = 32 << 20  # assumed bytes of content of unknown length
_ASIDE = 64 << 20  # bytes of a block that is put aside, or of a piece of rows
_SLACK = 1.03  # room in a block beyond the expected rows; the system does not provide unused memory


@dataclass(frozen=True)
class Start:
    """Where the rows begin."""

    position: int  # byte of the content
    rest: bytes  # bytes already read after that position
    end: int | None  # bytes of the content, if known


@dataclass
class Block:
    """Rows of a capture, as numbers: all tables, each counter in a stretch of its own (`Layout.places`), else NaN."""

    capacity: int  # rows there is room for
    numbers: Numbers
    rows: int = 0
    pending: int = 0  # pieces that are being scanned into it


Put = Callable[[int, Block, Layout], None]
"""Takes a block and its number; the block has no numbers afterwards."""


@dataclass(frozen=True)
class Texts:
    """Cells with text, in the order of the file."""

    sample: Integers
    cell: Integers  # the time stamp not counted
    word: Integers  # places of their texts in `words`
    words: Sequence[bytes]

    def where(self, mine: Flags) -> Texts:
        """Return the texts that the flags select."""
        return Texts(self.sample[mine], self.cell[mine], self.word[mine], self.words)

    def of(self, sample_of: Integers) -> Texts:
        """Return the texts by sample; `sample_of` is the sample of each row, -1 for other rows."""
        mine = sample_of[self.sample] >= 0
        return Texts(sample_of[self.sample[mine]], self.cell[mine], self.word[mine], self.words)

    def items(self) -> list[tuple[int, int, bytes]]:
        """Return sample, cell and text of each."""
        words = [self.words[word] for word in self.word.tolist()]
        return list(zip(self.sample.tolist(), self.cell.tolist(), words, strict=True))


@dataclass(frozen=True)
class Body:
    """The rows after the header. A row is a line long enough to hold all its cells, good or bad."""

    blocks: list[Block]
    # For each row:
    block: Integers
    row: Integers  # its place in the block
    line: Integers  # line number, counted from 0 after the header
    cells: Integers
    commas: Integers  # commas at the end of the row; an empty cell follows each
    start: Integers  # first byte of the row in the file
    stop: Integers  # byte after the last one of the row, without its line end
    stamps: list[bytes]  # beginning of the row
    odd: Texts  # rows (as `sample`), cells and texts of wanted cells with neither a number nor a word for a missing one
    absent: list[tuple[int, int, int, bytes]]
    """For each row with words for a missing number: row, count, and cell and text of the first."""
    blank: NDArray[np.uint8]
    """For each cell of a row, time stamp included: whether some row has a word for a missing number in it."""
    shapes: list[Shapes]
    padded: bool  # whether a number ends with a zero after its point
    short: list[tuple[int, int, int]]  # line, number of cells, and first byte of each line too short to be a row
    prefixes: list[tuple[int, int, bytes]]  # line, first byte and text of anything before a row or header on its line
    headers: dict[int, bytes]  # rows that repeat a header, whole
    without_rates: frozenset[int]  # rows after a header in which no disk has a rate above 0
    short_headers: list[tuple[int, int, bytes]]  # line, byte of the file, text of each header too short to be a row
    bare_ends: list[int]  # rows without a line end or closing quote: the last cell may be half a number
    nul_tail: int  # NUL bytes, if the last line has nothing else
    lines: int
    last_byte: bytes


def threads() -> int:
    """Return the processors this process may use, at most eight: with more, threads wait for memory."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


class _Reader:
    """A source of pieces of whole lines, for one thread at a time, each with rows in a block."""

    def __init__(self, stream: BinaryIO, start: Start, layout: Layout, *, keep: bool | Put, memory_limit: int) -> None:
        self.content = WholeLines(stream, start.rest, PIECE)
        self.memory_limit = memory_limit
        self.keep = keep is not False
        self.put = keep if callable(keep) else None
        self.waiting: list[int] = []  # blocks that are not put aside yet
        self.position = start.position
        # If the capture is still being written, the next read takes what was added.
        self.end = start.end
        self.layout = layout
        self.columns = Columns.of(layout)
        self.after_header = True
        self.line = 0
        self.rows = 0
        self.blocks: list[Block] = []
        self.places: list[tuple[Integers, Integers]] = []
        self.prefixes: list[tuple[int, int, bytes]] = []
        self.unkept: Out = (*layout.only(()).places(0), np.empty(0))
        self.lock = threading.Lock()

    def _room_for(self, rows: int, length: int) -> tuple[int, int]:
        """Return block and row for `rows` more rows, which take `length` bytes; block -1 if numbers are not kept."""
        if not self.keep:
            return -1, 0
        self.rows += rows
        size = memory.NUMBER * self.layout.width * self.rows
        if size > self.memory_limit and not self.put:
            what = f"the numbers of its first {self.rows:,} samples take {memory.size_text(size)}"
            raise memory.refusal(what, self.memory_limit, "read it with lazy=True, or ")
        if not self.blocks or self.blocks[-1].rows + rows > self.blocks[-1].capacity:
            # Estimate from the bytes per row so far. If the length is unknown, expect as much again as was read.
            rest = max(self.position, _UNKNOWN) if self.end is None else self.end - self.position
            capacity = rows + 8 + int(max(rest - length, 0) / length * rows * _SLACK)
            if self.put:
                self.waiting.append(len(self.blocks))
                capacity = min(capacity, max(rows, _ASIDE // (memory.NUMBER * self.layout.width)))
            self.blocks.append(Block(capacity, np.empty(capacity * self.layout.width)))
            self.places.append(self.layout.places(capacity))
        row = self.blocks[-1].rows
        self.blocks[-1].rows += rows
        self.blocks[-1].pending += 1
        return len(self.blocks) - 1, row

    def take(self, buffer: bytearray) -> tuple[int, Place] | None:
        """Fill `buffer` with the next piece and return its length and place; None at the end."""
        with self.lock:
            if self.content.ended and not self.content.rest:
                return None
            left = None if self.end is None else self.end - self.position
            length = self.content.fill(buffer, left, lambda length: refuse_long_line(length, self.memory_limit))
            if not length:
                return None
            lines, rows = count_lines(memoryview(buffer)[:length], self.columns.least)
            place = Place(self.position, self.line, *self._room_for(rows, length), self.after_header)
            self.position += length
            self.line += lines
            # Check the last line that is not blank. If all are blank, the earlier answer holds.
            end = length
            while end and buffer[end - 1] in b"\r\n":
                end -= 1
            if end:
                self.after_header = buffer.find(MARK, buffer.rfind(b"\n", 0, end) + 1, end) >= 0
            return length, place

    def scan(self, buffer: bytearray, taken: tuple[int, Place] | None) -> list[Piece]:
        """Scan the piece in `buffer`, and more pieces until there are none left."""
        pieces = []
        while taken is not None:
            length, place = taken
            piece = self._scan(buffer, (0, length), place)
            found = joints(buffer, piece, self.columns)
            pieces += self._apart(buffer, place, [0, *found, length]) if found else [piece]
            self.put_aside()
            taken = self.take(buffer)
        return pieces

    def put_aside(self, *, ended: bool = False) -> None:
        """Put complete blocks aside: all of them at the end, otherwise those before the last."""
        if not self.put:
            return
        with self.lock:
            last = len(self.blocks) - (not ended)
            complete = [number for number in self.waiting if number < last and not self.blocks[number].pending]
            self.waiting = [number for number in self.waiting if number not in complete]
        for number in complete:
            if self.blocks[number].rows:
                self.put(number, self.blocks[number], self.layout)
            self.blocks[number].numbers = np.empty(0)

    def _scan(self, buffer: bytearray, span: tuple[int, int], place: Place) -> Piece:
        """Scan a span of the buffer."""
        if place.block < 0:
            return take(buffer, span, place, self.unkept, self.columns)
        (first, step), numbers = self.places[place.block], self.blocks[place.block].numbers
        found = take(buffer, span, place, (first + place.first_row * step, step, numbers), self.columns)
        with self.lock:
            self.blocks[place.block].pending -= 1
        return found

    def _apart(self, buffer: bytearray, place: Place, bounds: list[int]) -> list[Piece]:
        """Cut the piece where lines are glued, and return the parts, each with its own rows."""
        pieces: list[Piece] = []
        line, after_header = place.first_line, place.after_header
        for begin, joint in pairwise(bounds):
            last_line = buffer.rfind(b"\n", begin, joint) + 1 or begin
            prefix = PREFIX.match(buffer, last_line) if joint < bounds[-1] else None
            end = last_line if prefix and prefix.end() == joint else joint
            if begin < end:
                with memoryview(buffer)[begin:end] as data:
                    lines, rows = count_lines(data, self.columns.least)
                with self.lock:
                    part = Place(place.position + begin, line, *self._room_for(rows, end - begin), after_header)
                pieces.append(self._scan(buffer, (begin, end), part))
                if stamps := pieces[-1].stamps:
                    after_header = MARK in stamps[-1]
                # Glued text is on the same line.
                line += lines - (end == joint)
            if end < joint:
                with self.lock:
                    self.prefixes.append((line, place.position + end, bytes(buffer[end:joint])))
        return pieces


def _put_together(pieces: list[Piece], reader: _Reader) -> Body:
    reader.put_aside(ended=True)
    pieces.sort(key=lambda piece: piece.place.position)
    firsts = np.cumsum([0, *(len(piece.stamps) for piece in pieces)]).tolist()
    numbered = list(zip(firsts, pieces, strict=False))
    known: dict[bytes, int] = {}
    odd, shapes = [np.zeros((0, 3), dtype=np.int64)], []
    for first, piece in numbered:
        place = np.array([known.setdefault(text, len(known)) for text in piece.texts], dtype=np.int64)
        if len(piece.odd):
            odd.append(np.column_stack([piece.odd[:, 0] + first, piece.odd[:, 1] - 1, place[piece.odd[:, 2]]]))
        changes = piece.shapes.changes + np.array([first, 0, 0])
        shapes.append(Shapes(first, first + len(piece.stamps), piece.shapes.first, changes))
    rows = np.concatenate([np.zeros((0, 7), dtype=np.int64), *(piece.rows for piece in pieces)])
    block, row, line, cells, commas, start, stop = np.ascontiguousarray(rows.T)
    sample, cell, word = np.ascontiguousarray(np.concatenate(odd).T)
    no_blank = np.zeros(len(reader.layout.table) + 1, dtype=np.uint8)
    return Body(
        blocks=reader.blocks,
        block=block,
        row=row,
        line=line,
        cells=cells,
        commas=commas,
        start=start,
        stop=stop,
        stamps=[stamp for piece in pieces for stamp in piece.stamps],
        odd=Texts(sample, cell, word, list(known)),
        absent=[(first + row, *word) for first, piece in numbered for row, *word in piece.absent],
        blank=np.bitwise_or.reduce([no_blank, *(piece.blank for piece in pieces)]),
        shapes=shapes,
        padded=any(piece.padded for piece in pieces),
        short=[line for piece in pieces for line in piece.short],
        prefixes=sorted(reader.prefixes),
        headers={first + row: text for first, piece in numbered for row, text in piece.headers.items()},
        without_rates=frozenset(first + row for first, piece in numbered for row in piece.without_rates),
        short_headers=[header for piece in pieces for header in piece.short_headers],
        bare_ends=[first + len(piece.stamps) - 1 for first, piece in numbered if piece.bare_end],
        nul_tail=pieces[-1].nul_tail if pieces else 0,
        lines=reader.line,
        last_byte=pieces[-1].last_byte if pieces else b"",
    )


def read(
    stream: BinaryIO, start: Start, layout: Layout, *, keep: bool | Put = True, memory_limit: int = memory.DEFAULT
) -> Body:
    """Read the rows of a capture to the end of the stream.

    Rows usually fit one block, sized by the first lines. If more rows come, they go into another block.
    With `keep=False` the result has the places of the rows and their odd cells, but no numbers.
    If `keep` is a function, any thread calls it with each complete block.
    Lines and numbers that would need more memory than the limit are refused.
    """
    reader = _Reader(stream, start, layout, keep=keep, memory_limit=memory_limit)
    # A small file is read before a second thread is up.
    small = start.end is not None and start.end - start.position <= PIECE
    others = 0 if small else threads() - 1
    # The first piece is read on this thread because that allocates the block. Memory that malloc gave to a finished
    # thread stays in that thread's arena: reading many captures would take several times the memory of one.
    buffer = bytearray(PIECE)
    taken = reader.take(buffer)
    if not others:
        return _put_together(reader.scan(buffer, taken), reader)

    def more() -> list[Piece]:
        own = bytearray(PIECE)
        return reader.scan(own, reader.take(own))

    with ThreadPoolExecutor(others) as pool:
        running = [pool.submit(more) for _ in range(others)]
        pieces = reader.scan(buffer, taken)
        return _put_together([*pieces, *(piece for one in running for piece in one.result())], reader)
