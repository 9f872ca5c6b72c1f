"""A check whether an opened file is still the same when more of it is read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

from esxparse.errors import UnreadableError

_NOT_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class Opened:
    """A file as it was when it was opened."""

    path: Path
    device: int
    inode: int
    size: int
    """In bytes."""
    changed: int
    """Time of the last change of its content, in nanoseconds."""

    @classmethod
    def of(cls, path: Path, found: os.stat_result) -> Opened:
        """Return the file with this status."""
        return cls(path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def error(self, why: str) -> UnreadableError:
        """Return the error for a changed file."""
        return UnreadableError(f"{self.path} {why} since it was opened: open it again")

    def open(self) -> FileIO:
        """Open the file now at the path, without waiting for a named pipe in its place."""
        return FileIO(os.open(self.path, os.O_RDONLY | _NOT_WAITING))

    def has_grown(self, descriptor: int) -> bool:
        """Return whether the open file has become longer; its earlier content may be unchanged.

        Raises:
            UnreadableError: It is another file, or was changed otherwise.
        """
        found = os.fstat(descriptor)
        now = Opened.of(self.path, found)
        if now == self:
            return False
        # A new file may get the inode number of a removed one.
        if (now.device, now.inode) != (self.device, self.inode) or not stat.S_ISREG(found.st_mode):
            why = "was replaced"
            raise self.error(why)
        if now.size > self.size:
            return True
        why = f"lost {self.size - now.size:,} of its {self.size:,} bytes" if now.size < self.size else "was changed"
        raise self.error(why)

    def check(self) -> None:
        """Check that the file at the path is this one, unchanged.

        Raises:
            UnreadableError: It is missing or has changed.
        """
        try:
            with self.open() as file:
                grown = self.has_grown(file.fileno())
        except OSError as error:
            raise self.unreadable(error) from None
        if grown:
            why = "was changed"
            raise self.error(why)

    def unreadable(self, error: OSError) -> UnreadableError:
        """Return the error for a file that can no longer be opened."""
        if isinstance(error, FileNotFoundError):
            return self.error("was removed or renamed")
        return UnreadableError(f"{self.path} cannot be read: {error.strerror or error}")
