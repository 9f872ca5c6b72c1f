"""Which reader reads a file: told by its content, never by its name alone."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError, EsxparseError, UnknownFormatError
from esxparse.formats.source import problem, read_up_to, resolve

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from types import ModuleType

    from esxparse.formats.esxtop.times import Window
    from esxparse.formats.source import Source
    from esxparse.recording import Recording

READERS = ("esxparse.formats.esxtop",)
"""Modules with `FORMAT`, `TITLE`, `recognise(head)` and `read(source, window, ...)`, the most particular first."""

_HEAD = 1 << 20


def readers() -> list[ModuleType]:
    """The modules of all readers."""
    return [import_module(name) for name in READERS]


def _unknown(name: str, head: bytes) -> UnknownFormatError:
    known = "; ".join(reader.TITLE for reader in readers())
    return UnknownFormatError(
        f"{name} is of no format esxparse reads (it begins with {head[:40]!r}); it reads: {known}"
    )


def _spooled(source: Source, folder: str) -> Source:
    """A copy of what can be read once, in a file."""
    copy = Path(folder, "content")
    with source.open() as stream, copy.open("wb") as file:
        shutil.copyfileobj(stream, file, _HEAD)
        cut = problem(stream)
    return replace(source, path=copy, once=None, problem=cut)


def open_recording(
    where: str | os.PathLike[str], window: Window, member: str | None = None, **options: Any
) -> Recording:
    """Reads a raw recording, whatever its format: see `esxparse.open`, which names the options."""
    source = resolve(where, member)
    if source.once is not None:
        with tempfile.TemporaryDirectory(prefix="esxparse-") as folder:
            return _recognised(_spooled(source, folder), window, {**options, "lazy": False})
    return _recognised(source, window, options)


def _recognised(source: Source, window: Window, options: Mapping[str, Any]) -> Recording:
    with source.open() as stream:
        head = read_up_to(stream, _HEAD)
    if not head:
        msg = f"{source.name} is empty: nothing was captured, or the copy failed"
        raise DamagedError(msg)
    for reader in readers():
        if reader.recognise(head):
            try:
                return reader.read(source, window, **options)  # type: ignore[no-any-return]
            except EsxparseError as error:
                msg = str(error) if source.name in str(error) else f"{source.name}: {error}"
                raise type(error)(msg) from error
    raise _unknown(source.name, head)
