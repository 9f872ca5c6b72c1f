"""The input of a slice: the lines of a capture after its header, one at a time."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from esxparse.errors import DamagedError, EsxparseError, UnknownFormatError, UnreadableError
from esxparse.formats import memory
from esxparse.formats.esxtop import grammar, header, resaved
from esxparse.formats.esxtop.notes import Met
from esxparse.formats.esxtop.times import Dates
from esxparse.formats.opening import Decimal, Opening
from esxparse.formats.read_ahead import problem
from esxparse.formats.source import Source, resolve
from esxparse.recording import Note

_YEAR = 5  # bytes within which a row has the first slash of its time stamp
_BUFFER = 2 << 20


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = f"{name} cannot be read: {error.strerror or error}"
        raise UnreadableError(msg) from error


def _may_have_joint(line: bytes) -> bool:
    """Return whether a row or a header may begin within a line: time stamps have two slashes, numbers none."""
    if grammar.MARK in line:
        # A row cut within its time stamp is only a few bytes long.
        return line.find(grammar.MARK) > 1
    slashes = line.count(b"/")
    return slashes > 2 or (slashes == 2 and b"/" not in line.lstrip(b'"')[:_YEAR])  # noqa: PLR2004


class Lines:
    """Lines of a capture after its header, from a file or a stream that cannot go back."""

    def __init__(
        self, file: BinaryIO, name: str, dates: Dates, memory_limit: int, decimal: Decimal | None = None
    ) -> None:
        self.file = file
        self.name = name
        self.memory_limit = memory_limit
        with _reading(name):
            head = grammar.read_head(file, memory_limit)
        if not head:
            msg = "it is empty: nothing was captured, or the copy failed"
            raise DamagedError(msg)
        if decimal or resaved.is_resaved(head):
            with _reading(name):
                mended = resaved.canonical(resaved.whole(file, head, memory_limit), dates, decimal)
            head, dates, self.notes = mended.content, mended.dates, list(mended.notes)
        else:
            self.notes = dates.notes()
            if dates.order == "dmy":
                message = "the slice has its dates as esxtop writes them, the month first: open it without date_order"
                self.notes.append(Note(message, line=2, column=1))
        self.order = dates.order
        """Order of day and month in the time stamps of its lines, if it was set."""
        begun = grammar.begin(head)
        if begun is None:
            where = f"{grammar.MARK.decode()} is not in its first {grammar.HEADER_WITHIN:,} bytes"
            msg = f"{name} is not an esxtop capture: {where} (it begins with {head[:40]!r})"
            raise UnknownFormatError(msg)
        self.notes += begun.notes
        self.header, self.number = begun.header, begun.line
        self.rest = io.BytesIO(head[begun.rows :])
        self.done = begun.rows
        """Bytes read."""
        self.prefix = b""
        """Text before the last returned line, on that line."""
        self.on_one_line = False
        """Whether the last returned line was glued to the one before it."""
        self._ahead: list[bytes] = []
        """Lines already read ahead."""
        self.glued = self._whole_line() if begun.same_line else b""
        """The rest of a line that held more than one row."""

    def _whole_line(self) -> bytes:
        if self._ahead:
            return self._ahead.pop(0)
        line = self.rest.readline()
        if not line.endswith(b"\n"):
            with _reading(self.name):
                line += self.file.readline(self.memory_limit // memory.PER_BYTE + 1)
        grammar.refuse_long_line(len(line), self.memory_limit)
        self.done += len(line)
        return line

    def line(self) -> bytes:
        """Return the next line with its line end, or a part of a line without one; empty at the end."""
        self.on_one_line = bool(self.glued)
        line, self.glued = (self.glued or self._whole_line()).removeprefix(grammar.BOM), b""
        if line.rstrip(b"\r\n") in grammar.MARKS:
            line = b"\n"
        prefix = grammar.PREFIX.match(line)
        self.prefix = prefix[0] if prefix else b""
        line = line[len(self.prefix) :]
        if _may_have_joint(line):
            joint = grammar.JOINT.search(line, 1)
            if joint:
                line, self.glued = line[: joint.start()], line[joint.start() :]
        return line

    def skip(self, segments: int) -> None:
        """Go on to the header of a later capture, in a file of captures with rows that were glued together."""
        passed, without_rows = 0, Met()
        while passed < segments:
            cells = len(header.parse(self.header, self.number).owners)
            while line := self.line():
                self.number += not self.on_one_line
                text = line.rstrip(b"\r\n")
                if grammar.stands_in(text, cells) and text != self.header:
                    text = text[grammar.with_quote(text, text.find(grammar.MARK)) :]
                    glued = grammar.glued_row(text)
                    if glued is not None:
                        self.notes.append(grammar.lost_line_end(self.number))
                        self.glued = text[glued:] + self.glued
                    self.header = text[:glued]
                    break
            else:
                captures = f"the file holds {passed + 1} captures with different columns"
                msg = f"there is no segment {segments + 1}: {captures}"
                raise EsxparseError(msg)
            if self._is_without_rows():
                without_rows.add(self.number)
            else:
                passed += 1
        self.notes += without_rows.without_rows()

    def _is_without_rows(self) -> bool:
        """Return whether another header directly follows the capture's header, without rows between them."""
        ahead: list[bytes] = []
        found = self.glued
        while not found and (line := self._whole_line()):
            ahead.append(line)
            text = line.removeprefix(grammar.BOM).rstrip(b"\r\n")
            found = b"" if text in grammar.MARKS or text.endswith(self.header) else text
        self._ahead = ahead
        return grammar.MARK in found[: grammar.STAMP_BYTES + len(grammar.MARK)]


@contextmanager
def opened(
    capture: str | os.PathLike[str] | BinaryIO, opening: Opening
) -> Iterator[tuple[BinaryIO, str, Source | None]]:
    """Yield the capture as a stream, its name, and its source if it was given by name."""
    if not isinstance(capture, (str, os.PathLike)):
        yield capture, str(getattr(capture, "name", "the stream")), None
        return
    source = resolve(capture, opening.member, timeout=opening.timeout, memory_limit=opening.memory_limit)
    with source.open() as raw, io.BufferedReader(cast("io.RawIOBase", raw), _BUFFER) as file:
        yield cast("BinaryIO", file), source.name, source


def cut_short(file: BinaryIO) -> list[Note]:
    """Return the note on content that ended early; known once it has been read."""
    cut = problem(cast("BinaryIO", getattr(file, "raw", file)))
    return [Note(f"{cut}: what comes before is read", severity="warning")] if cut else []
