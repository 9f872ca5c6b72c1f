"""The directory of a capture: claimed by its log, and emptied again if no sample came."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from esxparse.collect import facts
from esxparse.collect.lines import Lines, unwritable
from esxparse.collect.samples import Capture
from esxparse.errors import EsxparseError
from esxparse.formats.collected import NAME

POWER: Final = "power.jsonl"


class Folder:
    """A directory that one collection writes to."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._made: list[Path] = []
        self.capture = Capture(path, name)

    def make(self, name: str) -> Path:
        """Create an empty file, which must not exist."""
        path = self._path / name
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            raise EsxparseError(f"{self._path} has a capture already ({name}): give another directory") from None
        except OSError as error:
            raise unwritable(path, error) from None
        self._made.append(path)
        return path

    def write(self, name: str, text: str) -> None:
        """Write a file, which must not exist."""
        path = self.make(name)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise unwritable(path, error) from None

    def clear(self) -> None:
        """Remove the files that were created."""
        for path in self._made:
            path.unlink(missing_ok=True)


@contextmanager
def claimed(path: Path, name: str) -> Iterator[tuple[Folder, Lines]]:
    """Claim a directory for the capture `name` with a log, creating it if need be; without a sample nothing stays.

    Raises:
        EsxparseError: Another collection has it, it holds files of these names, or it cannot be written.
    """
    ours = re.compile(rf"{re.escape(name)}(-\d+)?\.csv\.gz")
    try:
        new = not path.is_dir()
        path.mkdir(parents=True, exist_ok=True)
        there = sorted(one.name for one in path.iterdir())
    except OSError as error:
        raise unwritable(path, error) from None
    fixed = {NAME, POWER, *facts.FILES}
    for one in sorted(there, key=lambda one: one != NAME):
        if one in fixed or ours.fullmatch(one):
            raise EsxparseError(f"{path} has a capture already ({one}): give another directory")
    folder = Folder(path, name)
    log = folder.make(NAME)
    try:
        with closing(Lines(log, append=True)) as lines:
            yield folder, lines
    finally:
        if not folder.capture.samples:
            folder.clear()
            if new:
                # Somebody else may have put files in it.
                with suppress(OSError):
                    path.rmdir()
