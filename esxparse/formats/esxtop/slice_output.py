"""Where a slice is written to: a file that takes its place when it is whole, or a stream; never the capture itself."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from esxparse.target import refuse_inputs, target

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUFFER = 2 << 20


@contextmanager
def destination(
    output: str | os.PathLike[str] | BinaryIO, source: BinaryIO, where: str, *, replace: bool
) -> Iterator[BinaryIO]:
    """What the slice is written to, as a stream.

    Args:
        output: A file, or a stream, which is flushed.
        source: The capture, open.
        where: The file that holds the capture, "" where it is a stream.
        replace: Whether a file that is there may be replaced.

    Raises:
        EsxparseError: It cannot be written, or it is the capture.
    """
    # What is compressed is read from a file that the stream does not tell.
    inputs = [one for one in (where, _opened(source)) if one]
    if isinstance(output, (str, os.PathLike)):
        with target(output, inputs, replace=replace).open(buffering=_BUFFER) as file:
            yield file
        return
    there = _opened(output)
    refuse_inputs(getattr(output, "name", "the output"), inputs, there)
    yield output
    output.flush()


def _opened(stream: BinaryIO) -> os.stat_result | None:
    try:
        return os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
