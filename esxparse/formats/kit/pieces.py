"""Large files in pieces of whole lines, and work on pieces in several threads."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from typing import IO, BinaryIO, TypeVar

from esxparse.formats.kit.text import decode

_PIECE = 1 << 20
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def in_utf8(stream: BinaryIO, size: int) -> tuple[BinaryIO, bytes]:
    """Return a UTF-8 stream and its beginning, without a byte order mark; UTF-16 is converted at once."""
    head = b""
    while len(head) < len(codecs.BOM_UTF8) and (more := stream.read(len(codecs.BOM_UTF8) - len(head))):
        head += more
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        rest = iter(lambda: stream.read(size), b"")
        return BytesIO(decode(b"".join([head, *rest])).text.encode()), b""
    return stream, head.removeprefix(codecs.BOM_UTF8)


def whole_lines(stream: IO[bytes], size: int, tail: bytes = b"") -> Iterator[bytes]:
    r"""Yield `tail` and the rest of a stream in pieces of whole lines; the last one may have no end.

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


class WholeLines:
    """A stream that is read into buffers, whole lines at a time."""

    def __init__(self, stream: BinaryIO, rest: bytes, size: int) -> None:
        self.stream = stream
        self.rest = rest
        """Bytes read after the lines of the last buffer."""
        self.size = size
        """Bytes of a buffer, unless one line is longer."""
        self.ended = False

    def fill(self, buffer: bytearray, left: int | None = None, refuse: Callable[[int], None] | None = None) -> int:
        """Put whole lines into `buffer`, which grows until it holds one, and return their length.

        Args:
            buffer: The buffer.
            left: How many bytes of the content are left; None if that is unknown.
            refuse: Raises an error if an unfinished line of so many bytes is too long.
        """
        length = len(self.rest)
        if length >= len(buffer):
            buffer.extend(bytes(length + self.size - len(buffer)))
        buffer[:length] = self.rest
        self.rest = b""
        while True:
            most = len(buffer) if left is None else min(len(buffer), max(left, 0))
            while length < most:
                with memoryview(buffer)[length:most] as room:
                    read = int(self.stream.readinto(room))  # type: ignore[attr-defined]
                if not read:
                    break
                length += read
            self.ended = length < len(buffer)
            end = buffer.rfind(b"\n", 0, length) + 1
            if not end and refuse:
                refuse(length)
            if self.ended:
                return length
            if end:
                self.rest = bytes(buffer[end:length])
                return end
            buffer.extend(bytes(len(buffer)))


def in_order(items: Iterable[_Item], work: Callable[[_Item], _Result], workers: int) -> Iterator[_Result]:
    """Yield the results of the work in the order of the items; few are in memory at a time.

    >>> list(in_order([3, 1, 2], str, 2))
    ['3', '1', '2']
    """
    pool = ThreadPoolExecutor(workers)
    running: deque[Future[_Result]] = deque()
    try:
        for item in items:
            running.append(pool.submit(work, item))
            if len(running) > workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        # A consumer may stop early, in any thread, and does not wait for reads in progress.
        pool.shutdown(wait=False, cancel_futures=True)


def large(size: int) -> memoryview:
    """Return memory in large pages, if the system has them."""
    # Imported only to read content: the command line's help does not need it.
    import numpy as np  # noqa: PLC0415

    return np.empty(size, np.uint8).data


def fill(stream: BinaryIO, room: memoryview) -> Iterator[memoryview]:
    """Yield the pieces of a stream, read into `room` one after another until the stream ends."""
    at = 0
    while read := stream.readinto(room[at : at + _PIECE]):  # type: ignore[attr-defined]
        yield room[at : at + read]
        at += read
