"""The memory limit for reading one file: `memory_limit`, whatever the file claims.

All formats are read whole, except captures of esxtop, logs of fio and packet traces, which are read piece by piece. A
file read whole becomes Python objects of at most `PER_BYTE` bytes for each of its bytes, so it may be a `PER_BYTE`th of
the limit long. JSON may be longer if its lists, objects and values are few enough (`PER_VALUE` bytes each). A line of
esxtop may be a `PER_BYTE`th of the limit long. The numbers of a capture read at once take 8 bytes each. A capture whose
numbers stay in the file (`lazy`) needs room for `FEWEST_SAMPLES` samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from esxparse.errors import EsxparseError, TooLargeError

_Piece = TypeVar("_Piece", bytes, memoryview)

DEFAULT = 4 << 30
PER_BYTE = 32
PER_VALUE = 64
FEWEST_SAMPLES = 8
NUMBER = 8
DISK = 16
"""Bytes of disk, for each byte of the limit, that standard input and unpacked captures may take."""

_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,3})?) ?(?P<prefix>[kmgt]?)(?:i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def limit(value: str | int, name: str = "memory_limit") -> int:
    """Return the bytes of a limit: a number, or text such as `8GiB` (prefixes are powers of 1024).

    >>> limit("8GiB") == limit(8 << 30) == limit("8G")
    True

    Raises:
        EsxparseError: It is not a size above zero.
    """
    found = _SIZE.fullmatch(str(value).strip())
    size = int(float(found["number"]) * 1024 ** _POWERS[found["prefix"].lower()]) if found else 0
    if size <= 0:
        raise EsxparseError(f"{name} {value!r} is not a size: write it as 8GiB, or as a number of bytes")
    return size


def size_text(size: int) -> str:
    """Return a size for people.

    >>> size_text(4 << 30), size_text(1_500_000)
    ('4 GiB', '1.4 MiB')
    """
    value, unit = (size / (1 << 30), "GiB") if size >= 1 << 30 else (size / (1 << 20), "MiB")
    return f"{value:.4g} {unit}" if value >= 100 else f"{value:.2g} {unit}"  # noqa: PLR2004  two digits are enough


def bounded(pieces: Iterable[_Piece], allowed: int) -> list[_Piece]:
    """Return the pieces of a content that is read whole.

    A long text is one value, but many empty objects are many values:

    >>> len(bounded([b'{"text": "', b"x" * 1000, b'"}'], 1300))
    3
    >>> bounded([b"[{},{},{},{}]" * 100], 1300)
    Traceback (most recent call last):
    esxparse.errors.TooLargeError: it is longer than 0 MiB, and must be read whole, more than the memory limit of ...

    Raises:
        TooLargeError: Their objects would exceed the limit.
    """
    taken: list[_Piece] = []
    length = weighed = weight = 0
    for piece in pieces:
        taken.append(piece)
        length += len(piece)
        if length * PER_BYTE > allowed:
            is_json = bytes(taken[0]).lstrip()[:1] in {b"{", b"["}
            weight += sum(_weight(one) for one in taken[weighed:])
            weighed = len(taken)
            if not is_json or weight > allowed:
                what = f"it is longer than {size_text(length - len(piece))}, and must be read whole"
                raise refusal(what, allowed)
    return taken


def _weight(json: bytes | memoryview) -> int:
    """Return the most bytes that a piece of JSON takes as objects: text, and lists, objects and values."""
    # Imported only for large files: the command line's help does not need it. It counts in a tenth of the time.
    import numpy as np  # noqa: PLC0415

    characters = np.frombuffer(json, np.uint8)
    return len(json) + PER_VALUE * sum(int(np.count_nonzero(characters == mark)) for mark in b"[{,:")


def refusal(what: str, allowed: int, instead: str = "") -> TooLargeError:
    """Return the error for data that would exceed the limit."""
    return TooLargeError(
        f"{what}, more than the memory limit of {size_text(allowed)} allows: {instead}"
        "set memory_limit higher if the file is sound and the machine has the memory"
    )
