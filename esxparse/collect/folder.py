"""The directory of a capture: claimed by its log, and emptied again if no sample came."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from esxparse.collect import facts
from esxparse.collect.lines import Lines, unwritable
from esxparse.collect.samples import Capture
from esxparse.errors import EsxparseError
from esxparse.formats.collected import NAME

POWER: Final = "power.jsonl"


class Folder:
    """A directory that one collection writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keep = False
        """Whether its files stay: there is a sample."""
        self._made: list[Path] = []

    def make(self, name: str) -> Path:
        """Create an empty file, which must not exist."""
        path = self.path / name
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            raise _taken(self.path, name) from None
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


def _taken(path: Path, name: str) -> EsxparseError:
    return EsxparseError(f"{path} has a capture already ({name}): give another directory")


@contextmanager
def directory(path: Path, ours: Callable[[str], Any]) -> Iterator[Folder]:
    """Use a directory for a collection, creating it if need be; unless the caller sets `keep`, nothing stays.

    Args:
        path: The directory.
        ours: Returns whether a file name is one of a capture.

    Raises:
        EsxparseError: It holds files of such names, or it cannot be written.
    """
    try:
        new = not path.is_dir()
        path.mkdir(parents=True, exist_ok=True)
        there = sorted(one.name for one in path.iterdir())
    except OSError as error:
        raise unwritable(path, error) from None
    for one in sorted(there, key=lambda one: one != NAME):
        if ours(one):
            raise _taken(path, one)
    folder = Folder(path)
    try:
        yield folder
    finally:
        if not folder.keep:
            folder.clear()
            if new:
                # Somebody else may have put files in it.
                with suppress(OSError):
                    path.rmdir()


@contextmanager
def claimed(path: Path, name: str) -> Iterator[tuple[Folder, Capture, Lines]]:
    """Claim a directory for the capture `name` with a log, creating it if need be; without a sample nothing stays.

    Raises:
        EsxparseError: Another collection has it, it holds files of these names, or it cannot be written.
    """
    fixed = {NAME, POWER, *facts.FILES}
    series = re.compile(rf"{re.escape(name)}(-\d+)?\.csv\.gz")
    with directory(path, lambda one: one in fixed or series.fullmatch(one)) as folder:
        capture = Capture(path, name)
        log = folder.make(NAME)
        try:
            with closing(Lines(log, append=True)) as lines:
                yield folder, capture, lines
        finally:
            folder.keep = capture.samples > 0
