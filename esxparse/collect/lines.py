"""A file of JSON lines that is written while others read it: every line whole, and on its way to disk at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from esxparse.errors import EsxparseError

STANDARD_OUTPUT = "-"


class Lines:
    """Appends JSON objects to a file, one a line."""

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False, replace: bool = False) -> None:
        self._path = os.fspath(path)
        if self._path == STANDARD_OUTPUT:
            sys.stdout.flush()
            self._file = os.dup(sys.stdout.fileno())
            return
        # Its maker may read and write it, others read it: there is no secret in it.
        there = 0 if append else os.O_TRUNC if replace else os.O_EXCL
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | there | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(self._path, flags, 0o666)
        except FileExistsError:
            msg = (
                f"{self._path} is there already: name another file, add to it with --append, or replace it with --force"
            )
            raise EsxparseError(msg) from None
        except OSError as error:
            raise self._unwritable(error) from None
        self._end_line()

    def _end_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size and Path(self._path).is_file():
            with Path(self._path).open("rb") as file:
                file.seek(-1, os.SEEK_END)
                ended = file.read() == b"\n"
            if not ended:
                self._write(b"\n")

    def _unwritable(self, error: OSError) -> EsxparseError:
        return EsxparseError(f"{self._path} cannot be written: {error.strerror or error}")

    def _write(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def write(self, line: dict[str, Any]) -> None:
        """Writes one object as a line."""
        before = os.fstat(self._file).st_size
        try:
            self._write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n")
        except OSError as error:
            if Path(self._path).is_file():
                os.ftruncate(self._file, before)
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)
