"""Which reader reads a file: told by its content, never by its name alone."""

from __future__ import annotations

import stat
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError, UnknownFormatError, UnreadableError

if TYPE_CHECKING:
    import os
    from types import ModuleType

    from esxparse.formats.esxtop.times import Window
    from esxparse.recording import Recording

READERS = ("esxparse.formats.esxtop",)
"""Modules with `FORMAT`, `TITLE`, `recognise(head)` and `read(path, window, ...)`, the most particular first."""

_HEAD = 1 << 20
_COMPRESSED = {b"\x1f\x8b": "gzip", b"(\xb5/\xfd": "zstd", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip"}


def readers() -> list[ModuleType]:
    """The modules of all readers."""
    return [import_module(name) for name in READERS]


def _head(path: Path) -> bytes:
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            msg = f"{path} is a directory: name a capture in it"
            raise UnreadableError(msg)
        if not stat.S_ISREG(kind):
            msg = f"{path} is no regular file: write what it gives to a file and name that"
            raise UnreadableError(msg)
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        msg = f"{path} does not exist"
        raise UnreadableError(msg) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        msg = f"{path} cannot be read: {why}"
        raise UnreadableError(msg) from None


def _unknown(path: Path, head: bytes) -> UnknownFormatError:
    for magic, name in _COMPRESSED.items():
        if head.startswith(magic):
            return UnknownFormatError(f"{path} is compressed ({name}): unpack it first")
    known = "; ".join(reader.TITLE for reader in readers())
    return UnknownFormatError(
        f"{path} is of no format esxparse reads (it begins with {head[:40]!r}); it reads: {known}"
    )


def open_recording(path: str | os.PathLike[str], window: Window, **options: Any) -> Recording:
    """Reads a raw recording, whatever its format: see `esxparse.open`, which names the options."""
    path = Path(path)
    head = _head(path)
    if not head:
        msg = f"{path} is empty: nothing was captured, or the copy failed"
        raise DamagedError(msg)
    for reader in readers():
        if reader.recognise(head):
            try:
                return reader.read(path, window, **options)  # type: ignore[no-any-return]
            except DamagedError as error:
                msg = f"{path}: {error}"
                raise DamagedError(msg) from error
    raise _unknown(path, head)
