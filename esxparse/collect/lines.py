"""The log of a running collector: JSON objects, one a line, with times in UTC."""

from __future__ import annotations

import json
import os
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from esxparse.errors import EsxparseError
from esxparse.formats.opening import period

STANDARD_OUTPUT = "-"


def unwritable(path: object, error: OSError) -> EsxparseError:
    """Return the error of a file that cannot be written."""
    return EsxparseError(f"{path} cannot be written: {error.strerror or error}")


def gone(path: object) -> EsxparseError:
    """Return the error of a file that was removed while it was written."""
    return EsxparseError(f"{path} is no longer there: it or its directory was removed or renamed meanwhile")


def append(file: int, path: object, content: bytes) -> None:
    """Append all of the content to an open file, or leave it as it was.

    Raises:
        EsxparseError: It cannot be written, or was removed, so that the content would be lost.
    """
    before = os.fstat(file)
    if not before.st_nlink and path != STANDARD_OUTPUT:
        raise gone(path)
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError as error:
        if stat.S_ISREG(before.st_mode):
            os.ftruncate(file, before.st_size)
        raise unwritable(path, error) from None


class Lines:
    """A file of JSON objects, one a line, open for writing."""

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False, replace: bool = False) -> None:
        self._path = os.fspath(path)
        if self._path == STANDARD_OUTPUT:
            sys.stdout.flush()
            self._file = os.dup(sys.stdout.fileno())
            return
        # Its owner may read and write it, others may read it: it has no secrets.
        there = 0 if append else os.O_TRUNC if replace else os.O_EXCL
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | there | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(self._path, flags, 0o666)
        except FileExistsError:
            raise EsxparseError(
                f"{self._path} already exists: use another file, append with --append, or replace it with --force"
            ) from None
        except OSError as error:
            raise unwritable(self._path, error) from None
        self._end_line()

    def _end_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size and Path(self._path).is_file():
            with Path(self._path).open("rb") as file:
                file.seek(-1, os.SEEK_END)
                ended = file.read() == b"\n"
            if not ended:
                append(self._file, self._path, b"\n")

    def write(self, line: dict[str, Any]) -> None:
        """Write one object as a line."""
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        append(self._file, self._path, text.encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def iso(moment: datetime, precision: str = "milliseconds") -> str:
    """Return a time in UTC as text: `2026-03-02T08:05:00.250Z`."""
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def seconds(length: str | float | timedelta, name: str) -> float:
    """Return a length of time (`10s`, a number of seconds or a timedelta) in seconds."""
    found = period(timedelta(seconds=length) if isinstance(length, (int, float)) else length, name)
    return found.total_seconds() if found else 0.0
