"""The lines of a fio log to columns, on as many threads as there are processors.

A log is read in pieces of whole lines. Reading a piece and counting its lines happens under a lock, which gives the
piece its rows. Its numbers are then read beside the other threads and written to those rows, in the units of the table.
A column with the same number in all lines takes no memory: most logs have one block size and one priority.

Lines that fio would not write are rare. They go through the slower checks of `log_lines`, and refused ones are removed
at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from esxparse.formats.fio import log_lines
from esxparse.formats.fio.integers import Column, number_of_lines, read_integers
from esxparse.formats.fio.log_lines import Bad, Entries, ends_in_number, judged, unended
from esxparse.formats.kit.pieces import WholeLines, in_utf8
from esxparse.formats.source import Source

_UNKNOWN = 32 << 20
"""Assumed bytes of content of unknown length."""

_SLACK = 1.03
"""Room in a block beyond the rows expected; the system does not provide memory that is not used."""

_SLICES = 200
"""Most refused lines that are cut out of a table; with more, it is copied without them."""


@dataclass(frozen=True)
class Wanted:
    """A column of a log, and the conversion of its numbers."""

    name: str
    """Its name in the table."""
    dtype: DTypeLike
    low: int = -(1 << 63)
    high: int = (1 << 63) - 1
    times: int = 1
    over: int = 1
    hexadecimal: bool = False
    same: int | None = None
    """The number that all lines are expected to have."""

    def to(self, out: NDArray[Any] | int) -> Column:
        """Return the column, with a place for its numbers."""
        return Column(self.low, self.high, self.hexadecimal, self.times, self.over, out)

    def stored(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return numbers of lines as they are in the table."""
        if np.dtype(self.dtype) == np.float64:
            return numbers * float(self.times) / float(self.over)
        return (numbers * self.times).astype(self.dtype)


@dataclass
class _Block:
    """Rows of a log."""

    wanted: Sequence[Wanted]
    capacity: int
    """Number of rows that fit."""
    outs: list[NDArray[Any] | int] = field(init=False)
    """For each column its numbers, or the only number."""
    rows: int = 0

    def __post_init__(self) -> None:
        self.outs = [np.empty(self.capacity, dtype=one.dtype) if one.same is None else one.same for one in self.wanted]

    def spread(self, changed: int) -> None:
        """Give columns (a bit for each) memory of their own; all rows so far have the one number."""
        for place, one in enumerate(self.wanted):
            out = self.outs[place]
            if changed >> place & 1 and isinstance(out, int):
                self.outs[place] = np.full(self.capacity, one.stored(np.array(out)), dtype=one.dtype)


@dataclass(frozen=True)
class _Piece:
    """Whole lines of a log, and the place of their numbers."""

    length: int
    line: int
    """The first, from 0."""
    lines: int
    block: _Block
    row: int


class _Reader:
    """A source of pieces of whole lines, for one thread at a time, each with rows in a block."""

    def __init__(self, stream: BinaryIO, wanted: Sequence[Wanted], size: int | None) -> None:
        self.content = WholeLines(*in_utf8(stream, log_lines.PIECE), log_lines.PIECE)
        self.wanted = wanted
        self.size = size
        self.lock = threading.Lock()
        self.blocks: list[_Block] = []
        self.position = 0
        self.lines = 0
        self.last = b""
        self.cut: list[Bad] = []
        # Columns of text are hexadecimal numbers.
        self.schema = {one.name: pl.String if one.hexadecimal else pl.Int64 for one in wanted}
        self.sound = pl.all_horizontal(pl.col(one.name).is_between(one.low, one.high) for one in wanted)

    def _room_for(self, lines: int, length: int) -> _Block:
        """Return a block with room for `lines` more rows, which take `length` bytes."""
        if not self.blocks or self.blocks[-1].rows + lines > self.blocks[-1].capacity:
            # Estimate from the bytes per line so far. If the length is unknown, expect as much again as was read.
            rest = max(self.position, _UNKNOWN) if self.size is None else max(self.size - self.position - length, 0)
            rest = 0 if self.content.ended else rest
            self.blocks.append(_Block(self.wanted, lines + int(rest / length * lines * _SLACK)))
        return self.blocks[-1]

    def take(self, buffer: bytearray) -> _Piece | None:
        """Fill `buffer` with the next piece and return the piece; None at the end."""
        with self.lock:
            if self.content.ended or not (length := self.content.fill(buffer)):
                return None
            with memoryview(buffer)[:length] as data:
                lines = number_of_lines(data)
            block = self._room_for(lines, length)
            piece = _Piece(length, self.lines, lines, block, block.rows)
            block.rows += lines
            self.lines += lines
            self.position += length
            self.last = bytes(buffer[length - 1 : length])
            last = bytes(buffer[buffer.rfind(b"\n", 0, length) + 1 : length])
            if ends_in_number(last):
                self.cut = [unended(self.lines, last)]
            return piece

    def _read(self, buffer: bytearray, piece: _Piece) -> NDArray[np.int64]:
        """Read a piece and return its odd lines."""
        rows = slice(piece.row, piece.row + piece.lines)
        while True:
            outs = list(piece.block.outs)
            columns = [
                one.to(out if isinstance(out, int) else out[rows]) for one, out in zip(self.wanted, outs, strict=True)
            ]
            with memoryview(buffer)[: piece.length] as data:
                _, odd, changed = read_integers(data, columns)
            if not changed:
                return np.frombuffer(odd, dtype=np.int64).reshape(-1, 3)
            with self.lock:
                piece.block.spread(changed)

    def _judge(self, buffer: bytearray, piece: _Piece, odd: NDArray[np.int64]) -> list[Bad]:
        """Write the numbers of odd lines that are valid entries, and return the other lines."""
        texts = [bytes(buffer[start:end]) for _, start, end in odd.tolist()]
        rows, _, bad = judged(b"".join(text + b"\n" for text in texts), self.schema, self.sound)
        refused = np.array([one.line - 1 for one in bad], dtype=np.int64)
        places = np.delete(odd[:, 0], refused) + piece.row
        if len(places):
            numbers = [rows[one.name].to_numpy() for one in self.wanted]
            outs = zip(piece.block.outs, numbers, strict=True)
            differ = [isinstance(out, int) and bool((mine != out).any()) for out, mine in outs]
            with self.lock:
                piece.block.spread(sum(1 << place for place, one in enumerate(differ) if one))
            for one, out, mine in zip(self.wanted, piece.block.outs, numbers, strict=True):
                if not isinstance(out, int):
                    out[places] = one.stored(mine)
        lines = (odd[refused, 0] + piece.line + 1).tolist()
        return [Bad(line, one.text) for line, one in zip(lines, bad, strict=True)]

    def read(self) -> list[Bad]:
        """Take and read pieces until there are none left, and return the invalid lines."""
        buffer = bytearray()
        bad: list[Bad] = []
        while (piece := self.take(buffer)) is not None:
            odd = self._read(buffer, piece)
            if len(odd):
                bad += self._judge(buffer, piece, odd)
        return bad


def _frames(blocks: Sequence[_Block], wanted: Sequence[Wanted]) -> tuple[list[pl.DataFrame], dict[str, int]]:
    """Return the blocks as frames that share their memory, without columns of a single number."""
    same = {
        one.name: one.same
        for place, one in enumerate(wanted)
        if one.same is not None and all(isinstance(block.outs[place], int) for block in blocks)
    }
    for block in blocks:
        block.spread(sum(1 << place for place, one in enumerate(wanted) if one.name not in same))
    frames = [
        pl.DataFrame(
            [
                pl.Series(one.name, out[: block.rows])
                for one, out in zip(wanted, block.outs, strict=True)
                if not isinstance(out, int)
            ]
        )
        for block in blocks
    ]
    return frames, same


def _without(frame: pl.DataFrame, rows: NDArray[np.int64]) -> list[pl.DataFrame]:
    """Return the frame, in parts, without these rows."""
    if len(rows) <= _SLICES:
        between = pairwise([-1, *rows.tolist(), frame.height])
        return [frame[before + 1 : after] for before, after in between if before + 1 < after]
    kept = np.ones(frame.height, dtype=np.bool_)
    kept[rows] = False
    return [frame.filter(pl.Series(kept))]


def read_columns(source: Source, wanted: Sequence[Wanted]) -> tuple[Entries, Mapping[str, int]]:
    """Return the entries of a log with these columns, and the number of each column that never changes.

    Such columns are not in the frames.
    """
    with source.open() as stream:
        reader = _Reader(stream, wanted, source.size)
        # A small log is read before a second thread is up.
        workers = 1 if (source.size or _UNKNOWN) <= 2 * log_lines.PIECE else log_lines.WORKERS
        if workers == 1:
            bad = reader.read()
        else:
            with ThreadPoolExecutor(workers) as pool:
                bad = [one for part in pool.map(lambda _: reader.read(), range(workers)) for one in part]
        ended = source.ended(stream)
    bad = sorted([*bad, *(one for one in reader.cut if one not in bad)], key=lambda one: one.line)
    frames, same = _frames(reader.blocks, wanted)
    refused = np.array([one.line - 1 for one in bad], dtype=np.int64)
    ends = np.cumsum([block.rows for block in reader.blocks])
    parts: list[pl.DataFrame] = []
    for frame, end in zip(frames, ends.tolist(), strict=True):
        start = end - frame.height
        parts += _without(frame, refused[(start <= refused) & (refused < end)] - start)
    return Entries(parts, bad, reader.lines, reader.last not in {b"\n", b""}, ended), same
