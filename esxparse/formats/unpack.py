"""What can be read once, or only from its beginning, as a plain file on the disk."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from esxparse.errors import UnreadableError
from esxparse.formats.source import problem

if TYPE_CHECKING:
    from esxparse.formats.source import Source

_PIECE = 1 << 20


class Scratch:
    """A directory for temporary files, removed when nothing refers to this object any more, or Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="esxparse-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def unpacked(source: Source) -> Source:
    """The same content as a plain file, which is there as long as the Source that is given back, or what holds it.

    Raises:
        UnreadableError: There is no room for it.
    """
    scratch = Scratch()
    copy = scratch.path / "content"
    with source.open() as stream:
        try:
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file, _PIECE)
        except OSError as error:
            why = error.strerror or error
            msg = f"{source.name} cannot be unpacked into {scratch.path.parent}: {why}; set TMPDIR to a place with room"
            raise UnreadableError(msg) from error
        cut = problem(stream)
    return replace(source, path=copy, once=None, problem=cut or source.problem, scratch=scratch)
