"""The captures in a file, one after another where several with columns of their own were glued together.

Each has a header and rows, to the end of the file or to a header with other columns.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import memory
from esxparse.formats.esxtop import body, header, layout, rows
from esxparse.formats.esxtop.line_notes import GLUED
from esxparse.formats.source import problem, read_up_to
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Collection

    from esxparse.formats.esxtop.layout import Layout
    from esxparse.formats.source import Source

    Keep = bool | Collection[str]
    """Whether numbers are kept, or of which tables they are."""

HEADER_WITHIN = 1 << 20
"""Bytes in which the header must begin: login chatter of resxtop may stand before it."""

_SHOWN = 80


def _find_header(stream: BinaryIO, origin: int, first_line: int) -> tuple[bytes, int, body.Start, list[Note]]:
    """Header line, its line number, where the rows begin, and notes on what stood before it.

    Looked for from byte `origin` of the content on, which is on line `first_line`.
    """
    skipped = 0
    while skipped < origin and (piece := stream.read(min(HEADER_WITHIN, origin - skipped))):
        skipped += len(piece)
    head = read_up_to(stream, HEADER_WITHIN)
    mark = head.find(header.MARK)
    if mark < 0:
        msg = f"no header: {header.MARK.decode()} is not in the first {HEADER_WITHIN:,} bytes"
        raise DamagedError(msg)
    start = mark - 1 if head[mark - 1 : mark] == b'"' else mark
    while (stop := head.find(b"\n", start)) < 0:
        size = len(head)
        head = read_up_to(stream, 2 * size, head)
        if len(head) == size:
            stop = size
            break
    number = head.count(b"\n", 0, start) + first_line
    notes = []
    before = head[:start].removeprefix(b"\xef\xbb\xbf")
    if before.strip():
        shown = " ".join(before.decode("utf-8", errors="replace").split())
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        notes.append(Note(f"text before the header: passed over ({shown!r})", line=1, column=1))
    line = head[start:stop].rstrip(b"\r")
    glued = header.glued_row(line)
    if glued is None:
        return line, number, body.Start(origin + stop + 1, head[stop + 1 :], None), notes
    notes.append(Note(GLUED, line=number, column=1, severity="warning"))
    return line[:glued], number, body.Start(origin + start + glued, head[start + glued :], None, same_line=True), notes


def _headers_again(bytes_read: body.Body, line: bytes) -> tuple[tuple[int, ...], rows.Other | None]:
    """Rows that repeat the header `line`, and where the first other header stands."""
    again: list[int] = []
    others = [
        rows.Other(int(np.searchsorted(bytes_read.line, number)), number, at) for number, at in bytes_read.short_headers
    ]
    for row, text in sorted(bytes_read.headers.items()):
        if text != line:
            mark = text.find(header.MARK)
            at = int(bytes_read.start[row]) + mark - (text[mark - 1 : mark] == b'"')
            others.append(rows.Other(row, int(bytes_read.line[row]), at))
            break
        again.append(row)
    other = min(others, key=lambda other: other.start, default=None)
    return tuple(row for row in again if other is None or row < other.row), other


@dataclass(frozen=True)
class Segment:
    """One of the captures in a file: its header, and its rows."""

    line: int
    header: header.Header
    layout: Layout
    body: body.Body
    expected: rows.Expected
    notes: list[Note]
    next: tuple[int, int] | None
    """Byte and line that the next capture begins with."""
    status: os.stat_result | None
    """Of a local file, when reading it began."""


def _read(source: Source, origin: int, first_line: int, keep: Keep) -> Segment:
    with source.open() as stream:
        status = os.fstat(stream.fileno()) if source.path else None
        end = status.st_size if status else None
        line, number, start, notes = _find_header(stream, origin, first_line)
        parsed = header.parse(line, number)
        laid_out = layout.build(parsed.owners, parsed.counters)
        laid_out = laid_out if isinstance(keep, bool) else laid_out.only(keep)
        if memory.NUMBER * memory.FEWEST_SAMPLES * laid_out.width > source.memory_limit:
            what = f"its {len(parsed.owners):,} columns spread over {laid_out.width:,} cells of tables for each sample"
            raise memory.refusal(what, source.memory_limit)
        bytes_read = body.read(
            stream, replace(start, end=end), laid_out, keep=keep is not False, memory_limit=source.memory_limit
        )
        cut = problem(stream) or source.problem
    if cut:
        notes.append(Note(f"{cut}: what came before is read", severity="warning"))
    again, other = _headers_again(bytes_read, line)
    first_line = number + (not start.same_line)
    expected = rows.Expected(
        len(parsed.owners) + 1, parsed.commas, first_line, parsed.bias, again, other, parsed.continued
    )
    following = None if other is None else (other.start, other.line + first_line)
    return Segment(number, parsed, laid_out, bytes_read, expected, [*notes, *parsed.notes], following, status)


def find(source: Source, number: int, keep: Keep) -> Segment:
    """The capture of that number in the file, from 1."""
    if number < 1:
        msg = f"segment {number} is none: they are counted from 1"
        raise EsxparseError(msg)
    where: tuple[int, int] | None = (0, 1)
    for passed in range(1, number + 1):
        if where is None:
            msg = f"there is no segment {number}: the file holds {passed - 1} captures with columns of their own"
            raise EsxparseError(msg)
        found = _read(source, *where, keep if passed == number else False)
        where = found.next
    return found
