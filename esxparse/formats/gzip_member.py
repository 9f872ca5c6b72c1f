"""A member of gzip data, whose checksum is looked at when its content has been given (RFC 1952).

The libraries check it in the step that makes the last content, and give neither that nor what they made with it.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from esxparse.formats.decompress import Decompressor

_FIXED = 10
"""Bytes of a header before its optional parts."""
_TRAILER = 8
_HAS_CHECKSUM, _HAS_EXTRA, _HAS_NAME, _HAS_COMMENT = 2, 4, 8, 16


def header_length(data: bytes) -> int | None:
    """Bytes of the header that `data` begins with; None where more data has to tell."""
    if len(data) < _FIXED:
        return None
    flags, at = data[3], _FIXED
    if flags & _HAS_EXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (_HAS_NAME, _HAS_COMMENT):
        if flags & flag:
            end = data.find(b"\0", at)
            if end < 0:
                return None
            at = end + 1
    at += 2 if flags & _HAS_CHECKSUM else 0
    return at if at < len(data) else None


class GzipMember:
    """A decompressor of one member, as those of other formats are used."""

    def __init__(
        self, inner: Decompressor, error: type[Exception], checksum: Callable[[bytes, int], int] = zlib.crc32
    ) -> None:
        self._inner = inner
        self._error = error
        self._crc = checksum
        self._header: bytes | None = b""
        self._trailer = b""
        self._sum = self._size = 0
        self.eof = False
        self.unused_data = b""

    @property
    def needs_input(self) -> bool:
        """Whether it can give nothing more without more data."""
        if self._inner.eof:
            return len(self._trailer) < _TRAILER
        return self._header is not None or self._inner.needs_input

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """The next content, `max_length` bytes at most.

        Raises:
            Exception: That of the library: the data is damaged, or (`eof` is set then) all content has been given, and
                its checksum or its length is another.
        """
        if self._header is not None:
            self._header += data
            length = header_length(self._header)
            if length is None:
                return b""
            data, self._header = self._header[length:], None
        if self._inner.eof:
            return self._end(data)
        made = self._inner.decompress(data, max_length)
        self._sum = self._crc(made, self._sum)
        self._size += len(made)
        if self._inner.eof:
            self._trailer = self._inner.unused_data
            return made or self._end(b"")
        return made

    def _end(self, data: bytes) -> bytes:
        self._trailer += data
        if len(self._trailer) >= _TRAILER:
            self.eof = True
            self.unused_data = self._trailer[_TRAILER:]
            stated = int.from_bytes(self._trailer[:4], "little"), int.from_bytes(self._trailer[4:_TRAILER], "little")
            if stated != (self._sum, self._size & 0xFFFFFFFF):
                msg = "its checksum is not that of the content"
                raise self._error(msg)
        return b""
