"""What can be read once, or only from its beginning, as a plain file on the disk."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from esxparse.errors import UnreadableError
from esxparse.formats import memory
from esxparse.formats.source import problem
from esxparse.whole import Scratch

if TYPE_CHECKING:
    from esxparse.formats.source import Source

_PIECE = 1 << 20
_LEFT_FREE = 16
"""The part of the free disk, one of so many, that is left to others."""


def _no_room(source: Source, scratch: Scratch, why: object) -> UnreadableError:
    return UnreadableError(
        f"{source.name} cannot be unpacked into {scratch.path.parent}: {why}; set TMPDIR to a place with room"
    )


def unpacked(source: Source) -> Source:
    """The same content as a plain file, which is there as long as the Source that is given back, or what holds it.

    Raises:
        TooLargeError: It has more than `memory.DISK` bytes for each byte of the memory limit.
        UnreadableError: There is no room for it.
    """
    scratch = Scratch()
    copy = scratch.path / "content"
    free = shutil.disk_usage(scratch.path).free
    if source.size is not None and source.size > free:
        why = f"it has {source.size:,} bytes, and {free:,} are free"
        raise _no_room(source, scratch, why)
    allowed, length = source.memory_limit * memory.DISK, 0
    with source.open() as stream:
        try:
            with copy.open("wb") as file:
                while piece := stream.read(_PIECE):
                    length += len(piece)
                    if length > allowed:
                        what = f"{source.name} has more than {memory.shown(allowed)} when it is unpacked"
                        raise memory.refusal(what, source.memory_limit)
                    if length > free - free // _LEFT_FREE:
                        raise _no_room(source, scratch, f"it has more than {length:,} bytes, and {free:,} are free")
                    file.write(piece)
        except OSError as error:
            raise _no_room(source, scratch, error.strerror or error) from error
        cut = problem(stream)
    return replace(source, path=copy, once=None, problem=cut or source.problem, scratch=scratch)
