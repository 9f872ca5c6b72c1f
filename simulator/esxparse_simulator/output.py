"""Where what is simulated goes: files that are there whole or not at all, compressed where their names say so."""

from __future__ import annotations

import bz2
import gzip
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, cast

from esxparse.whole import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["put"]


def put(path: Path, parts: Iterable[bytes]) -> int:
    """Writes `parts`, compressed where the name ends in .gz or .bz2; gives their size before that.

    Raises:
        OSError: It cannot be written.
    """
    with whole_file(path) as file, ExitStack() as stack:
        out: IO[bytes] = file
        if path.suffix == ".gz":
            # without name and time in it, so that the same parts give the same bytes
            out = cast("IO[bytes]", stack.enter_context(gzip.GzipFile("", "wb", 6, out, mtime=0)))
        elif path.suffix == ".bz2":
            out = stack.enter_context(bz2.open(out, "wb"))
        return sum(out.write(part) for part in parts)
