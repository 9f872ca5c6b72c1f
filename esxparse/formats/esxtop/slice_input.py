"""What a slice is cut from: the lines of a capture from its header on, one at a time."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from esxparse.errors import DamagedError, EsxparseError, UnknownFormatError, UnreadableError
from esxparse.formats.esxtop import header, resaved, stamp_order
from esxparse.formats.esxtop.line_notes import GLUED
from esxparse.formats.source import problem, resolve
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse.formats.opening import Opening

_HEADER_WITHIN = 1 << 20
_BEGINNING = 16
"""Bytes of a line within which a header has its mark."""
_BUFFER = 2 << 20
_SHOWN = 80
"""Characters of a text in a message."""


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = f"{name} cannot be read: {error.strerror or error}"
        raise UnreadableError(msg) from error


class Lines:
    """Lines of a capture from its header on, from a file or a stream that cannot go back."""

    def __init__(self, file: BinaryIO, name: str, dates: resaved.Dates) -> None:
        self.file = file
        self.name = name
        self.done = 0
        """Bytes read."""
        self.notes: list[Note] = []
        self.order = dates.order
        """Order of day and month in the time stamps of its lines, where it was told."""
        with _reading(name):
            head = resaved.head_with_rows(file)
        if not head:
            msg = "it is empty: nothing was captured, or the copy failed"
            raise DamagedError(msg)
        if resaved.is_resaved(head):
            with _reading(name):
                head += file.read()
            mended = resaved.canonical(head, dates)
            head, self.notes = mended.content, list(mended.notes)
            # Its dates have the month first now, and were judged.
            self.order = dates.order and "mdy"
        else:
            self.notes += stamp_order.notes(dates)
            if self.order == "dmy":
                message = "the slice has its dates as esxtop writes them, the month first: open it without date_order"
                self.notes.append(Note(message, line=2, column=1))
        mark = head.find(header.MARK)
        if mark < 0:
            where = f"{header.MARK.decode()} is not in its first {_HEADER_WITHIN:,} bytes"
            msg = f"{name} is no esxtop capture: {where} (it begins with {head[:40]!r})"
            raise UnknownFormatError(msg)
        start = mark - 1 if head[mark - 1 : mark] == b'"' else mark
        before = " ".join(head[:start].removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").split())
        if before:
            shown = before if len(before) <= _SHOWN else f"{before[:_SHOWN]}..."
            self.notes.append(Note(f"text before the header: left out ({shown!r})", line=1, column=1))
        self.number = head.count(b"\n", 0, start) + 1
        """Line of the header."""
        self.rest = io.BytesIO(head[start:])
        self.glued = b""
        """What is left of a line that held more than one row."""
        self.on_one_line = False
        """Whether the last line given was glued to the one before it."""
        self.header = self._whole_header(self.line())

    def _whole_header(self, line: bytes) -> bytes:
        """The header without its line end, and without the first row where that is lost."""
        glued = header.glued_row(line)
        if glued is None:
            return line.rstrip(b"\r\n")
        self.notes.append(Note(GLUED, line=self.number, column=1, severity="warning"))
        self.glued = line[glued:] + self.glued
        return line[:glued]

    def line(self) -> bytes:
        """The next line with its line end, or a part of one that lost a line end; none at the end."""
        self.on_one_line = bool(self.glued)
        line, self.glued = self.glued, b""
        if not line:
            line = self.rest.readline()
            if not line.endswith(b"\n"):
                with _reading(self.name):
                    line += self.file.readline()
            self.done += len(line)
        # A time stamp has two of them, and no number has one.
        if (line.count(b"/") > 2 or header.MARK in line) and header.MARK not in line[:_BEGINNING]:  # noqa: PLR2004
            joint = header.JOINT.search(line, 1)
            if joint:
                line, self.glued = line[: joint.start()], line[joint.start() :]
        return line

    def skip(self, segments: int) -> None:
        """Goes on to the header of a later one of several captures that were glued together."""
        for passed in range(segments):
            cells = len(header.parse(self.header, self.number).owners)
            while line := self.line():
                self.number += not self.on_one_line
                text = line.rstrip(b"\r\n")
                if header.stands_in(text, cells) and text != self.header:
                    mark = text.find(header.MARK)
                    self.header = self._whole_header(text[mark - (text[mark - 1 : mark] == b'"') :])
                    break
            else:
                captures = f"the file holds {passed + 1} captures with columns of their own"
                msg = f"there is no segment {segments + 1}: {captures}"
                raise EsxparseError(msg)


@contextmanager
def opened(capture: str | os.PathLike[str] | BinaryIO, opening: Opening) -> Iterator[tuple[BinaryIO, str, str]]:
    """The capture as a stream, its name, and the file it is in ("" for a stream).

    Raises:
        EsxparseError: It cannot be opened.
    """
    if not isinstance(capture, (str, os.PathLike)):
        yield capture, str(getattr(capture, "name", "the stream")), ""
        return
    source = resolve(capture, opening.member, timeout=opening.timeout)
    with source.open() as raw, io.BufferedReader(cast("io.RawIOBase", raw), _BUFFER) as file:
        yield cast("BinaryIO", file), source.name, source.where


def cut_short(file: BinaryIO) -> list[Note]:
    """The note on content that ended before its time; known when it has been read to its end."""
    cut = problem(cast("BinaryIO", getattr(file, "raw", file)))
    return [Note(f"{cut}: what came before is read", severity="warning")] if cut else []


def size(source: BinaryIO) -> int:
    """Bytes of a file; 0 where it is none."""
    try:
        return os.fstat(source.fileno()).st_size
    except (OSError, ValueError):
        return 0
