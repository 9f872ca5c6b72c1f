"""Large files in pieces of whole lines."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import BytesIO
from typing import IO, BinaryIO

from esxparse.formats.kit.text import decode

_PIECE = 1 << 20


def in_utf8(stream: BinaryIO, size: int) -> tuple[BinaryIO, bytes]:
    """A stream of UTF-8 and its beginning, without a byte order mark; text in UTF-16 at once, read by `size` bytes."""
    head = b""
    while len(head) < len(codecs.BOM_UTF8) and (more := stream.read(len(codecs.BOM_UTF8) - len(head))):
        head += more
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        rest = iter(lambda: stream.read(size), b"")
        return BytesIO(decode(b"".join([head, *rest])).text.encode()), b""
    return stream, head.removeprefix(codecs.BOM_UTF8)


def whole_lines(stream: IO[bytes], size: int, tail: bytes = b"") -> Iterator[bytes]:
    r"""`tail` and what follows it in a stream, in pieces of whole lines; the last one may have no end.

    >>> list(whole_lines(BytesIO(b"2,3\n4,5\n6"), 5, b"1,"))
    [b'1,2,3\n', b'4,5\n', b'6']
    """
    while data := stream.read(size):
        end = data.rfind(b"\n") + 1
        if end:
            yield b"".join((tail, memoryview(data)[:end])) if tail or end < len(data) else data
            tail = data[end:]
        else:
            tail += data
    if tail:
        yield tail


def large(size: int) -> memoryview:
    """Memory in large pages, where the system has them."""
    # Imported where content is read: the help of the command line does not.
    import numpy as np  # noqa: PLC0415

    return np.empty(size, np.uint8).data


def fill(stream: BinaryIO, room: memoryview) -> Iterator[memoryview]:
    """The pieces of a stream, read into `room` one after another as long as there is any."""
    at = 0
    while read := stream.readinto(room[at : at + _PIECE]):  # type: ignore[attr-defined]
        yield room[at : at + read]
        at += read
