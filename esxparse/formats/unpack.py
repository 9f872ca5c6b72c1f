"""Sources that can be read only once, or only from their beginning, as plain files on disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

from esxparse.errors import UnreadableError
from esxparse.formats import memory
from esxparse.formats.kit.head import Head
from esxparse.formats.read_ahead import problem
from esxparse.formats.source import Source, each_known, resolve
from esxparse.whole import Scratch

_PIECE = 1 << 20
_LEFT_FREE = 16
"""The part of the free disk space left for others: one of so many."""


def _no_room(source: Source, scratch: Scratch, why: object) -> UnreadableError:
    return UnreadableError(
        f"{source.name} cannot be unpacked into {scratch.path.parent}: {why}; set TMPDIR to a place with room"
    )


def members_unpacked(
    where: str, known: Callable[[Head], bool], timeout: float | None, limit: int
) -> list[tuple[str, Source | str]]:
    """Return the known members of a bundle as plain files, by name; for a refused member, the reason.

    Raises:
        TooLargeError: They have more than `memory.DISK` bytes for each byte of the limit.
    """
    scratch = Scratch()
    found: list[tuple[str, Source | str]] = []
    left = limit * memory.DISK
    for one in each_known(where, known, timeout):
        if one.content is None:
            found.append((one.name, one.refused))
            continue
        # Names that lead out of a bundle are refused. Not every system allows a colon in a file's name.
        copy = scratch.path / one.name.replace(":", "_")
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("xb") as file:
                while piece := one.content.read(_PIECE):
                    left -= len(piece)
                    if left < 0:
                        what = f"{where} has more than {memory.size_text(limit * memory.DISK)} when it is unpacked"
                        raise memory.refusal(what, limit)
                    file.write(piece)
        except OSError as error:
            found.append((one.name, f"it cannot be unpacked into {scratch.path}: {error.strerror or error}"))
            continue
        source = resolve(copy, memory_limit=limit)
        found.append(
            (one.name, replace(source, name=f"{where}:{one.name}", problem=one.content.problem, scratch=scratch))
        )
    return found


def unpacked(source: Source) -> Source:
    """Return the content as a plain file that lasts as long as the returned Source, or its holder.

    Raises:
        TooLargeError: It has more than `memory.DISK` bytes for each byte of the memory limit.
        UnreadableError: The disk has no room for it.
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
                        what = f"{source.name} has more than {memory.size_text(allowed)} when it is unpacked"
                        raise memory.refusal(what, source.memory_limit)
                    if length > free - free // _LEFT_FREE:
                        raise _no_room(source, scratch, f"it has more than {length:,} bytes, and {free:,} are free")
                    file.write(piece)
        except OSError as error:
            raise _no_room(source, scratch, error.strerror or error) from error
        cut = problem(stream)
    return replace(source, path=copy, once=None, problem=cut or source.problem, scratch=scratch)
