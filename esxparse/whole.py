"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["whole_file"]


@contextmanager
def whole_file(target: Path, *, mode: int = 0o644, buffering: int = -1) -> Iterator[BinaryIO]:
    """A file that takes the target's place when all is written, and is gone where it does not get so far.

    Raises:
        OSError: It cannot be written.
    """
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".part", dir=target.resolve().parent)
    try:
        with os.fdopen(handle, "wb", buffering=buffering) as file:
            yield file
        # mkstemp makes files that only their owner can read; what is written here is made to be passed on.
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
