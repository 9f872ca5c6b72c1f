"""The captures in a file, in order, if several with different columns were glued together.

Each has a header and rows, up to the end of the file or a header with other columns.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

import numpy as np

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import memory
from esxparse.formats.esxtop import body, grammar, header, layout
from esxparse.formats.esxtop.header import Header
from esxparse.formats.esxtop.layout import Layout
from esxparse.formats.read_ahead import problem
from esxparse.formats.source import Source
from esxparse.recording import Note, counted

Keep = bool | Collection[str] | body.Put  # whether to keep numbers, for which tables, or a function that takes them


def _begin(stream: BinaryIO, origin: int, first_line: int, memory_limit: int) -> tuple[grammar.Beginning, bytes]:
    """Return the beginning of the capture at byte `origin` or later, and the bytes of its rows already read."""
    skipped = 0
    while skipped < origin and (piece := stream.read(min(grammar.HEADER_WITHIN, origin - skipped))):
        skipped += len(piece)
    head = grammar.read_head(stream, memory_limit)
    found = grammar.begin(head, first_line)
    if found is None and grammar.begins_with_row(head):
        raise DamagedError(
            "it has rows and no header that names their columns: put the header of its capture above them"
        )
    if found is None:
        msg = f"no header: {grammar.MARK.decode()} is not in the first {grammar.HEADER_WITHIN:,} bytes"
        raise DamagedError(msg)
    return found, head[found.rows :]


@dataclass(frozen=True, order=True)
class Other:
    """A header with other columns: another capture begins there."""

    start: int  # byte of the file
    row: int  # the first row of the other capture
    line: int  # line number, counted from 0 after the first header
    text: bytes  # of the header

    def difference(self, own: Header) -> str:
        """Return how its header differs from the capture's own, in words."""
        try:
            other = header.parse(self.text, 1)
        except DamagedError:
            return "with a damaged header"
        columns, others = (list(zip(one.owners, one.counters, strict=True)) for one in (own, other))
        if sorted(columns) != sorted(others):
            return "with other columns"
        if columns != others:
            return "with the same columns in another order"
        if own.hosts != other.hosts:
            return f"of host {', '.join(other.hosts)}"
        return "with the same columns and another first cell in its header"


@dataclass(frozen=True)
class Segment:
    """One of the captures in a file: its header, and its rows."""

    number: int  # its place among them, from 1
    line: int
    header: header.Header
    layout: Layout
    body: body.Body
    first_line: int  # line of the file after the header
    again: tuple[int, ...]  # rows that repeat the header: esxtop was restarted
    other: Other | None
    notes: list[Note]
    status: os.stat_result | None  # of a local file, when reading it began

    @property
    def rows_after(self) -> int:
        """The number of rows, whole or not, after the header of another capture, without headers."""
        if self.other is None:
            return 0
        begin, read = self.other.start, self.body
        rows = len(read.cells) - self.other.row - sum(row >= self.other.row for row in read.headers)
        headers = {at for _, at, _ in read.short_headers}
        short = sum(bool(cells) and at >= begin and at not in headers for _, cells, at in read.short)
        return rows + short - bool(read.nul_tail)


def _headers_again(bytes_read: body.Body, line: bytes) -> tuple[tuple[int, ...], Other | None]:
    """Return the rows that repeat the header `line`, and the first other header."""
    again: list[int] = []
    others = [
        Other(at, int(np.searchsorted(bytes_read.start, at)), n, text) for n, at, text in bytes_read.short_headers
    ]
    for row, text in sorted(bytes_read.headers.items()):
        if text != line:
            at = grammar.with_quote(text, text.find(grammar.MARK))
            others.append(Other(int(bytes_read.start[row]) + at, row, int(bytes_read.line[row]), text[at:]))
            break
        again.append(row)
    other = min(others, default=None)
    return tuple(row for row in again if other is None or row < other.row), other


@lru_cache(2)
def _laid_out(line: bytes, number: int) -> tuple[header.Header, Layout]:
    """Return a header and its layout, cached: captures of a host share a header, and files are opened repeatedly."""
    parsed = header.parse(line, number)
    return parsed, layout.build(parsed.owners, parsed.counters)


def _read(source: Source, number: int, origin: int, first_line: int, keep: Keep) -> Segment:
    with source.open() as stream:
        status = os.fstat(stream.fileno()) if source.path else None
        begun, rest = _begin(stream, origin, first_line, source.memory_limit)
        parsed, laid_out = _laid_out(begun.header, begun.line)
        laid_out = laid_out if isinstance(keep, bool) or callable(keep) else laid_out.only(keep)
        if memory.NUMBER * memory.FEWEST_SAMPLES * laid_out.width > source.memory_limit:
            what = f"its {len(parsed.owners):,} columns spread over {laid_out.width:,} cells of tables for each sample"
            raise memory.refusal(what, source.memory_limit)
        start = body.Start(origin + begun.rows, rest, status.st_size if status else None)
        kept = keep if callable(keep) else keep is not False
        bytes_read = body.read(stream, start, laid_out, keep=kept, memory_limit=source.memory_limit)
        cut = problem(stream) or source.problem
    ended = [Note(f"{cut}: what comes before is read", severity="warning")] if cut else []
    notes = [*begun.notes, *ended, *parsed.notes]
    first_line = begun.line + (not begun.same_line)
    again, other = _headers_again(bytes_read, begun.header)
    return Segment(number, begun.line, parsed, laid_out, bytes_read, first_line, again, other, notes, status)


def find(source: Source, number: int, keep: Keep) -> Segment:
    """Return the capture of that number in the file, from 1."""
    if number < 1:
        msg = f"there is no segment {number}: segments are numbered from 1"
        raise EsxparseError(msg)
    where: tuple[int, int] | None = (0, 1)
    for passed in range(1, number + 1):
        if where is None:
            captures = counted(passed - 1, "capture")
            kinds = " with different columns" if passed - 1 > 1 else ""
            msg = f"there is no segment {number}: the file holds {captures}{kinds}"
            raise EsxparseError(msg)
        found = _read(source, passed, *where, keep if passed == number else False)
        where = (found.other.start, found.other.line + found.first_line) if found.other else None
    return found
