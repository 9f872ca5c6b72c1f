"""esxtop's output into files: whole samples only, compressed as they come, readable at any moment.

Each write is a gzip member of whole lines, so the file is complete after it: a reader that comes meanwhile, or after a
crash, finds all samples up to then. A repeated header with the same columns is written again. The reader then knows
that the next sample is the first of a new esxtop, whose disks are not measured yet. Other columns begin another file.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from esxparse.collect.lines import append, gone, unwritable
from esxparse.errors import EsxparseError
from esxparse.formats.esxtop import grammar

_LONGEST: Final = 256 << 20
"""Most bytes of a line; a host of 100,000 columns writes 3 MB."""
_ROW = re.compile(rb'"' + grammar.STAMP.encode() + rb'",')
_JOINT: Final = b'","'
_SHOWN: Final = 100
_LEFT_OUT: Final = 20
"""Lines that are not samples, kept of each connection; further ones are counted."""


class WholeLines:
    """Whole lines of a stream that comes in pieces; an unfinished last line is lost."""

    def __init__(self) -> None:
        self._open: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that a piece completes, without their ends."""
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join([*self._open, line]).removesuffix(b"\r")
            self._open, self._size = [], 0
        if rest:
            self._open.append(rest)
            self._size += len(rest)
        if self._size > _LONGEST:
            raise EsxparseError(f"a line of more than {_LONGEST >> 20} MiB came: that is no output of esxtop")


class Capture:
    """The files of a capture, one after another."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._header: bytes | None = None
        self._waiting: bytes | None = None
        self.files: list[Path] = []
        self.samples = 0
        self.left_out: list[str] = []
        """The first lines that are neither header nor sample, such as text of a login shell."""
        self.left_out_lines = 0

    @property
    def path(self) -> Path:
        """The current file."""
        return self.files[-1]

    def restart(self) -> None:
        """Forget the header: the next lines are a new esxtop's."""
        self._waiting = None

    def take(self, line: bytes) -> bool:
        """Take a whole line; return whether it was a sample."""
        if grammar.MARK in line[: grammar.STAMP_BYTES]:
            self._waiting = line
            return False
        header = self._waiting or b""
        if not (header and _ROW.match(line) and line.count(_JOINT) >= header.count(_JOINT)):
            self._leave_out(line)
            return False
        self._write(line)
        self.samples += 1
        return True

    def _leave_out(self, line: bytes) -> None:
        if not line.strip():
            return
        self.left_out_lines += 1
        if len(self.left_out) < _LEFT_OUT:
            self.left_out.append(line[:_SHOWN].decode(errors="replace"))

    def _write(self, row: bytes) -> None:
        header = self._waiting
        # A header is written with its first sample: a file that has only a header cannot be opened.
        fresh = header is not self._header
        content = b"%s\n%s\n" % (header, row) if fresh and header else row + b"\n"
        member = gzip.compress(content, 6)
        if fresh and header != self._header:
            number = len(self.files) + 1
            path = self._folder / f"{self._name}{'' if number == 1 else f'-{number}'}.csv.gz"
            append_member(path, member, new=True)
            self.files.append(path)
        else:
            append_member(self.path, member)
        self._header = header


def append_member(path: Path, member: bytes, *, new: bool = False) -> None:
    """Append a gzip member in one piece, or leave the file as it was; a new file is removed again.

    Raises:
        EsxparseError: It cannot be written, or was removed.
    """
    flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT | os.O_EXCL if new else 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(path, flags, 0o666)
    except FileNotFoundError:
        raise gone(path) from None
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        append(file, path, member)
    except EsxparseError:
        if new:
            path.unlink()
        raise
    finally:
        os.close(file)
