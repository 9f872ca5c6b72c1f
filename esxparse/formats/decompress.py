"""Compressed data to content, piece by piece.

Data goes through layers, each of which reads the one below it: a file, the content of its gzip data, a member of the
tar inside. All content that can be decompressed is delivered. If it ends early, the layer reports why (`problem`). A
separate thread does the work (`read_ahead`).
"""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from esxparse.errors import UnreadableError

_FIXED = 10
"""Bytes of a header before its optional parts."""
_TRAILER = 8
_HAS_CHECKSUM, _HAS_EXTRA, _HAS_NAME, _HAS_COMMENT = 2, 4, 8, 16


def header_length(data: bytes) -> int | None:
    """Return the length in bytes of the header at the beginning of `data`; None if more data is needed."""
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
    """A decompressor of one member, with the interface of other formats' decompressors."""

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
        """Whether it needs more data for more content."""
        if self._inner.eof:
            return len(self._trailer) < _TRAILER
        return self._header is not None or self._inner.needs_input

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return the next content, `max_length` bytes at most.

        Raises:
            Exception: The library's own: the data is damaged, or all content was returned (`eof` is set then) but its
                checksum or length is wrong.
        """
        if self._header is not None:
            self._header += data
            if (length := header_length(self._header)) is None:
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
                raise self._error("its checksum does not match its content")
        return b""


_FED = 128 << 10
"""Bytes read from below at a time."""

_FIRST_STEP = 1 << 10
_STEP = 128 << 10
"""Bytes decompressed at a time. Output of a failing step is lost, so steps begin small."""

FREE = 64 << 20
RATIO = 1000
"""Most content beyond `FREE` bytes, as a multiple of its compressed size; captures reach 7 to 30 times."""

_XZ_MEMORY = 512 << 20
_LONGEST_MAGIC = 16


class Layer:
    """Bytes from the first to the last, each returned once, with a view of the next ones."""

    def __init__(self) -> None:
        self.problem: str | None = None
        """The reason why the bytes ended early; known once they have ended."""
        self._ahead = b""

    def _more(self) -> bytes:
        """Return the next available bytes; empty at the end."""
        raise NotImplementedError

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer at the end, without consuming them."""
        if len(self._ahead) < size:
            pieces, length = [self._ahead], len(self._ahead)
            while length < size and (piece := self._more()):
                pieces.append(piece)
                length += len(piece)
            self._ahead = b"".join(pieces)
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """Return one to `size` bytes; empty at the end."""
        piece = self._ahead or self._more()
        self._ahead = piece[size:]
        return piece[:size] if len(piece) > size else piece

    def close(self) -> None:
        """Close the layer below."""


class Raw(Layer):
    """Bytes of an open file, counted: all of them or `length` from the current position."""

    def __init__(self, file: BinaryIO, name: str, length: int | None = None) -> None:
        super().__init__()
        self.name = name
        self.taken = 0
        self._file = file
        self._length = length

    def _more(self) -> bytes:
        size = _FED if self._length is None else min(_FED, self._length - self.taken)
        try:
            piece = self._file.read(size) if size > 0 else b""
            if piece is None:
                raise BlockingIOError  # noqa: TRY301  reported below like all errors
        except Exception as error:
            # Each remote file system has errors of its own.
            msg = f"{self.name} cannot be read beyond {self.taken:,} bytes: {error or type(error).__name__}; try again"
            raise UnreadableError(msg) from error
        self.taken += len(piece)
        return piece

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Decompressor(Protocol):
    """The common interface of bz2, lzma, zstd and isal."""

    @property
    def eof(self) -> bool:
        """Whether the part has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether it needs more data for more content."""

    @property
    def unused_data(self) -> bytes:
        """The bytes after the end of the part."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return the next content, `max_length` bytes at most."""


class _Zlib:
    """zlib's raw deflate with the same interface."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
        self.eof = False
        self.needs_input = True

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        made = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.eof = self._inner.eof
        self.needs_input = not self.eof and not self._inner.unconsumed_tail and len(made) < max_length
        return made


_Made = tuple[Decompressor, type[Exception]]


@dataclass(frozen=True)
class Codec:
    """A way of compressing."""

    title: str
    magic: re.Pattern[bytes]
    make: Callable[[], _Made]
    """A decompressor of one part (gzip member, zstd frame, xz or bzip2 stream) and its errors for bad data."""
    padded: bool = True
    """Whether zeros may come between and after the parts, as tapes and xz leave them."""


def _gzip() -> _Made:
    inner, error = _raw_deflate()
    try:
        from isal.isal_zlib import crc32  # noqa: PLC0415  an extra, as above
    except ImportError:
        return GzipMember(inner, error), error
    return GzipMember(inner, error, crc32), error


def _raw_deflate() -> _Made:
    try:
        from isal import igzip_lib  # noqa: PLC0415  an extra, three times as fast as zlib
    except ImportError:
        return _Zlib(), zlib.error
    # Its stub has the wrong type for the class of its errors.
    error = cast("type[Exception]", igzip_lib.error)
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE), error


def _zstd() -> _Made:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  Python 3.14
    except ImportError:
        try:
            from backports import zstd  # noqa: PLC0415  an extra
        except ImportError:
            msg = 'zstd data needs a library: pip install "esxparse[compressed]", or decompress it with zstd -d'
            raise UnreadableError(msg) from None
    return zstd.ZstdDecompressor(), zstd.ZstdError


def _xz() -> _Made:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), lzma.LZMAError


def _bzip2() -> _Made:
    return bz2.BZ2Decompressor(), OSError


CODECS = (
    Codec("gzip", re.compile(rb"\x1f\x8b\x08"), _gzip),
    Codec("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _zstd),
    Codec("xz", re.compile(rb"\xfd7zXZ\0"), _xz),
    Codec("bzip2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90|.{0,5}\Z)", re.DOTALL), _bzip2),
)

ZIP_METHODS = {
    8: Codec("deflate", re.compile(rb"(?!)"), _raw_deflate, padded=False),
    12: CODECS[3],
    93: CODECS[1],
    95: CODECS[2],
}
"""Compression methods in a zip, other than 0, stored (APPNOTE.TXT 4.4.5)."""


def codec_of(head: bytes) -> Codec | None:
    """Return the compression of data that begins with `head`."""
    return next((codec for codec in CODECS if codec.magic.match(head)), None)


class Decoded(Layer):
    """The content of compressed data, all its parts one after another."""

    def __init__(self, below: Layer, codec: Codec, raw: Raw) -> None:
        super().__init__()
        self.made = 0
        self._below, self._codec, self._raw = below, codec, raw
        self._decompressor, self._error = codec.make()
        self._waiting = b""
        self._step = _FIRST_STEP
        self._ended = False
        self._flaw: str | None = None
        """A fault of a part that was read to its end."""

    def _end(self, problem: str | None) -> bytes:
        self._ended = True
        self.problem = problem or self._flaw or self._below.problem
        return b""

    def _next_part(self) -> bool:
        """Go on to the next part, if there is one."""
        rest = self._decompressor.unused_data
        while True:
            if self._codec.padded:
                rest = rest.lstrip(b"\0")
            if len(rest) >= _LONGEST_MAGIC or not (piece := self._below.read(_FED)):
                break
            rest += piece
        if not rest or not self._codec.magic.match(rest):
            left_out = f"{self._codec.title} data ends after {self.made:,} bytes, and something else follows: left out"
            self._end(left_out if rest and self._codec.padded else None)
            return False
        self._decompressor, self._error = self._codec.make()
        self._waiting = rest
        return True

    def _more(self) -> bytes:
        stuck = False
        while not self._ended:
            if self._decompressor.eof and not self._next_part():
                break
            data, self._waiting = self._waiting, b""
            if not data and (stuck or self._decompressor.needs_input):
                data = self._below.read(_FED)
                if not data:
                    return self._end(f"{self._codec.title} data is cut after {self.made:,} bytes of content")
            try:
                made = self._decompressor.decompress(data, self._step)
            except self._error as error:
                if self._decompressor.eof:
                    self._flaw = (
                        f"{self._codec.title} data ends with a checksum that does not match its {self.made:,} bytes of "
                        "content: some of them may be wrong"
                    )
                    continue
                problem = (
                    f"{self._codec.title} data cannot be decompressed beyond {self.made:,} bytes of content ({error}): "
                    "what follows is lost, and the last numbers before it may be wrong"
                )
                return self._end(problem)
            if made:
                self._step = min(2 * self._step, _STEP)
                self.made += len(made)
                self._refuse_absurd()
                return made
            stuck = not data
        return b""

    def _refuse_absurd(self) -> None:
        if self.made > FREE and self.made > RATIO * self._raw.taken:
            raise UnreadableError(
                f"{self._raw.name} is refused: {self._raw.taken:,} bytes of it expand to more than {self.made:,}, "
                f"over {RATIO} times; no capture does. If it is sound, decompress it and open the result"
            )

    def close(self) -> None:
        """Close the layer below."""
        self._below.close()
