"""The rows of a capture: bytes to blocks of numbers, on as many threads as there are processors.

A file is read in pieces of whole lines. Reading a piece and counting its lines happens under a lock, which gives the
piece its rows in the block; scanning, the long part, runs beside the other threads without the interpreter lock.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from esxparse.formats.esxtop.scan import count_lines, scan

if TYPE_CHECKING:
    from esxparse.formats.esxtop.layout import Layout

Integers = NDArray[np.int64]

PIECE = 2 << 20
"""Bytes read at a time: small enough to stay in the processor's cache until it is scanned."""

_STAMP = 32
"""Bytes kept of a line's beginning: a time stamp with its quotes, `"04/24/2018 10:49:12"`, takes 21."""


@dataclass
class Block:
    """Rows of a capture, as numbers."""

    capacity: int
    """Rows there is room for."""
    numbers: NDArray[np.float64]
    """All tables, each counter of each in a stretch of its own (`Layout.places`); cells without a number are NaN."""
    rows: int = 0
    """Lines in the block, good and bad."""
    stamps: list[bytes] = field(default_factory=list)
    """Beginning of each line."""
    cells: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Number of cells of each line."""
    blank_end: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Whether a line ends with a comma, its last cell being empty."""
    odd: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Row, cell and text of each wanted cell that is no number, in the order of the file."""


@dataclass
class _Piece:
    """What scanning a piece gave."""

    block: int
    row: int
    lines: Integers
    stamps: list[bytes]
    blank_end: list[bool]
    odd: list[tuple[int, int, bytes]]


def threads() -> int:
    """Processors this process may use, at most eight: beyond that memory, not scanning, is what is waited for."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


class _Reader:
    """Hands out pieces of whole lines, one thread at a time, each with its rows in a block."""

    def __init__(self, file: BinaryIO, start: int, layout: Layout) -> None:
        self.file = file
        self.position = start
        self.size = os.fstat(file.fileno()).st_size
        self.layout = layout
        self.blocks: list[Block] = []
        self.places: list[tuple[Integers, Integers]] = []
        self.lock = threading.Lock()

    def _fill(self, buffer: bytearray) -> int:
        """Reads whole lines into `buffer`, which grows until it holds one; gives their length."""
        while True:
            self.file.seek(self.position)
            length = self.file.readinto(buffer)  # type: ignore[attr-defined]
            if self.position + length >= self.size:
                return int(length)
            end = buffer.rfind(b"\n", 0, length) + 1
            if end:
                return end
            buffer.extend(bytes(len(buffer)))

    def _room_for(self, rows: int, length: int) -> tuple[int, int]:
        """Block and row for `rows` more rows, which take `length` bytes."""
        if not self.blocks or self.blocks[-1].rows + rows > self.blocks[-1].capacity:
            # The rest of the file at this piece's length of a line, and a little more: memory not used is not taken.
            rest = self.size - self.position
            capacity = rows + 8 + int((rest - length) / length * rows * 1.03)
            self.blocks.append(Block(capacity, np.empty(capacity * self.layout.width)))
            self.places.append(self.layout.places(capacity))
        row = self.blocks[-1].rows
        self.blocks[-1].rows += rows
        return len(self.blocks) - 1, row

    def take(self, buffer: bytearray) -> tuple[int, int, int] | None:
        """Fills `buffer` with the next piece: its length, its block and its first row there; None at the end."""
        with self.lock:
            if self.position >= self.size:
                return None
            length = self._fill(buffer)
            rows = count_lines(memoryview(buffer)[:length])
            block, row = self._room_for(rows, length)
            self.position += length
            return length, block, row

    def scan(self) -> list[_Piece]:
        """Takes and scans pieces until there are none left."""
        buffer = bytearray(PIECE)
        pieces = []
        while (taken := self.take(buffer)) is not None:
            length, block, row = taken
            first, step = self.places[block]
            with memoryview(buffer)[:length] as data:
                lines_raw, odd_raw = scan(data, first + row * step, step, self.blocks[block].numbers)
            lines = np.frombuffer(lines_raw, dtype=np.int64).reshape(-1, 3)
            odd = np.frombuffer(odd_raw, dtype=np.int64).reshape(-1, 4)
            pieces.append(
                _Piece(
                    block,
                    row,
                    lines,
                    [bytes(buffer[start : min(start + _STAMP, end)]) for start, end, _ in lines.tolist()],
                    [buffer[end - 1 : end] == b"," for _, end, _ in lines.tolist()],
                    [(line + row, cell, bytes(buffer[start:end])) for line, cell, start, end in odd.tolist()],
                )
            )
        return pieces


def read(file: BinaryIO, start: int, layout: Layout) -> list[Block]:
    """Reads the rows of a capture from byte `start` of `file` to its end.

    One block as a rule: it is laid out for the rows that the first lines let expect, and when more come, the rest goes
    into another.
    """
    reader = _Reader(file, start, layout)
    # A small file is read before a second thread is up.
    workers = threads() if reader.size - start > 2 * PIECE else 1
    if workers == 1:
        pieces = reader.scan()
    else:
        with ThreadPoolExecutor(workers) as pool:
            pieces = [piece for part in pool.map(lambda _: reader.scan(), range(workers)) for piece in part]
    pieces.sort(key=lambda piece: (piece.block, piece.row))
    for place, block in enumerate(reader.blocks):
        mine = [piece for piece in pieces if piece.block == place]
        block.stamps = [stamp for piece in mine for stamp in piece.stamps]
        block.cells = np.concatenate([piece.lines[:, 2] for piece in mine])
        block.blank_end = np.array([blank for piece in mine for blank in piece.blank_end], dtype=np.bool_)
        block.odd = [odd for piece in mine for odd in piece.odd]
    return reader.blocks
