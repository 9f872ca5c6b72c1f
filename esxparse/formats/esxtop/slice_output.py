"""Where a slice is written to: a file that takes its place when it is whole, or a stream; never the capture itself."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from esxparse.errors import EsxparseError
from esxparse.whole import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUFFER = 2 << 20


def _is_same(source: BinaryIO, there: os.stat_result) -> bool:
    """Whether what is written to is the capture itself, which would be lost."""
    try:
        mine = os.fstat(source.fileno())
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mine.st_mode) and os.path.samestat(mine, there)


@contextmanager
def destination(output: str | os.PathLike[str] | BinaryIO, source: BinaryIO, where: str) -> Iterator[BinaryIO]:
    """What the slice is written to, as a stream.

    Args:
        output: A file, put in place when all is written and left as it was on any error; or a stream, which is flushed.
        source: The capture, open.
        where: The file that holds the capture, "" where it is a stream.

    Raises:
        EsxparseError: It cannot be written, or it is the capture.
    """
    same = "the slice would be written over the capture it is cut from: give it another name"
    if not isinstance(output, (str, os.PathLike)):
        try:
            there: os.stat_result | None = os.fstat(output.fileno())
        except (OSError, ValueError):
            there = None
        if there and _is_same(source, there):
            raise EsxparseError(same)
        yield output
        output.flush()
        return
    try:
        target = Path(output).resolve()
        there = target.stat() if target.exists() else None
        # What is compressed is read from a file that the stream does not tell.
        packed = there is not None and Path(where).is_file() and Path(where).samefile(target)
        if there and (packed or _is_same(source, there)):
            raise EsxparseError(same)
        special = there is not None and not stat.S_ISREG(there.st_mode)
        mode = stat.S_IMODE(there.st_mode) if there else 0o644
        # A device or a pipe is written to; it must not be replaced by a file.
        with target.open("wb") if special else whole_file(target, mode=mode, buffering=_BUFFER) as file:
            yield file
    except OSError as error:
        msg = f"cannot write {output}: {error.strerror or error}"
        raise EsxparseError(msg) from error
