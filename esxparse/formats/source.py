"""The source of a capture: a file, a compressed one, a bundle, standard input, or a URL.

Sources are recognised by their content, never by their names. `resolve` finds them, `Source.open` reads them.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from esxparse.errors import EsxparseError, UnreadableError
from esxparse.formats import memory, remote
from esxparse.formats.archives import is_tar, is_zip, no_text
from esxparse.formats.bundle import Found, look_through, unwrap
from esxparse.formats.decompress import Layer, Raw
from esxparse.formats.kit.foreign import Form, leave_out
from esxparse.formats.kit.head import HEAD, Head
from esxparse.formats.kit.pieces import fill, large
from esxparse.formats.kit.text import Text, decode
from esxparse.formats.names import STANDARD_INPUT
from esxparse.formats.read_ahead import ReadAhead, problem
from esxparse.locations import complete, is_url, public
from esxparse.recording import Note, first_few

if TYPE_CHECKING:
    import io

_LOOK = 1 << 10
_PIECE = 1 << 20
_LISTED = 20
_NO_CONTENT = {"a link", "a device", "a named pipe", "a device or pipe"}


class ReadOnceError(UnreadableError):
    """Raised if a source that can be read only once has already been read."""


class SeveralError(UnreadableError):
    """Raised if a bundle has several recordings, none of them of esxtop."""


class _Once:
    """Content that can be read from its beginning only once."""

    def __init__(self, layer: Layer) -> None:
        self._layer: Layer | None = layer

    def take(self, name: str) -> Layer:
        if self._layer is None:
            raise ReadOnceError(f"{name} can be read only once, and has been: write it to a file and open that")
        layer, self._layer = self._layer, None
        return layer


@dataclass(frozen=True)
class Source:
    """A capture that can be read."""

    name: str
    """Its name in messages: `night.csv.gz`, `vm-support.tgz:var/log/esxtop.csv`, `-`, `s3://bucket/x.csv`."""
    size: int | None
    """Bytes of content, if known without reading it."""
    compression: str | None
    """Its compression and packing, for people, from the outside in: `gzip`, `gzip, tar, gzip`."""
    path: Path | None
    """The plain local file, if it is one: it can be read from any position."""
    problem: str | None = None
    """A fault of its bundle outside its own content: members may be missing."""
    memory_limit: int = field(default=memory.DEFAULT, repr=False, compare=False)
    """Bytes of memory that reading it may take: see `esxparse.formats.memory`."""
    where: str = field(default="", repr=False)
    """The requested path or URL, without the member."""
    member: str | None = field(default=None, repr=False)
    timeout: float | None = field(default=None, repr=False, compare=False)
    """Seconds to wait for a server."""
    once: _Once | None = field(default=None, repr=False, compare=False)
    scratch: object = field(default=None, repr=False, compare=False)
    """Reference that keeps a temporary file at `path` from being removed."""
    looked_at: Head | None = field(default=None, repr=False, compare=False)
    """Its beginning, if already read."""
    numbers: Form | None = field(default=None, repr=False, compare=False)
    """The tool's form of numbers; `text` leaves out others. None: the reader handles the marks of all locales."""

    @cached_property
    def head(self) -> Head:
        """Its beginning.

        Raises:
            EsxparseError: It cannot be read.
        """
        if self.looked_at is not None:
            return self.looked_at
        with self.open() as stream:
            return Head(read_up_to(stream, HEAD), self.name)

    def text(self) -> Text:
        """Return the whole text, with a note if its content ended early.

        Raises:
            TooLargeError: It is too long for the memory limit.
        """
        content, notes = self.content()
        text = decode(content)
        plain, left = leave_out(text.text, self.numbers) if self.numbers else (text.text, [])
        return Text(plain, (*notes, *text.notes, *left))

    def content(self) -> tuple[bytes, list[Note]]:
        """Return the whole content, with a note if it ended early.

        Raises:
            TooLargeError: It is too long for the memory limit.
        """
        found, notes = self.buffer()
        return bytes(found), notes

    def buffer(self) -> tuple[memoryview | bytes, list[Note]]:
        """Return the result of `content`, with its errors; a plain file uses large pages, in a third of the time."""
        with self.open() as stream:
            if self.path is None or not 0 < (self.size or 0) <= self.memory_limit:
                pieces = memory.bounded(iter(lambda: stream.read(_PIECE), b""), self.memory_limit)
                return b"".join(pieces), self.ended(stream)
            room = large(self.size or 0)
            length = sum(map(len, memory.bounded(fill(stream, room), self.memory_limit)))
            return room[:length], self.ended(stream)

    def ended(self, stream: BinaryIO) -> list[Note]:
        """Return a note if the content of its stream, read to the end, ended early."""
        cut = problem(stream) or self.problem
        return [Note(f"{cut}: what comes before is read", severity="warning")] if cut else []

    def open(self) -> BinaryIO:
        """Return a new stream from the first byte of the content, with `readinto`; `problem` shows how it ended.

        A plain local file is opened unbuffered. A thread reads other sources ahead, and ends with the stream.

        Raises:
            EsxparseError: It cannot be read, cannot be read again (standard input), or has changed.
        """
        if self.path is not None:
            return _local(self.path)
        layer = self.once.take(self.name) if self.once else _content(self)
        return cast("BinaryIO", ReadAhead(layer))


def read_up_to(stream: BinaryIO, size: int, head: bytes = b"") -> bytes:
    """Return `head` and the following bytes of the stream, up to `size` bytes in all."""
    pieces = [head]
    missing = size - len(head)
    while missing > 0 and (piece := stream.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _local(path: Path) -> io.FileIO:
    try:
        # Checked before it is opened: opening a named pipe would block.
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise UnreadableError(f"{path} is a directory: name a capture in it")
        if not stat.S_ISREG(kind):
            msg = f"{path} is not a regular file: pipe its content into standard input (-), or write it to a file"
            raise UnreadableError(msg)
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise UnreadableError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def standard_input() -> BinaryIO:
    """Return standard input as a stream of bytes.

    Raises:
        UnreadableError: Nothing is piped into it.
    """
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise UnreadableError("nothing is piped into standard input (-): esxtop -b ... | esxparse info -")
    try:
        # Not through Python's own buffer: a thread waiting in it at exit would crash the program.
        return os.fdopen(stream.fileno(), "rb", buffering=0, closefd=False)
    except OSError:
        return cast("BinaryIO", stream)


def _opened(where: str, timeout: float | None) -> BinaryIO:
    return remote.opened(where, timeout) if is_url(where) else _local(Path(where))


def _exists(where: str, timeout: float | None) -> bool:
    try:
        _opened(where, timeout).close()
    except remote.UnansweredError:
        raise
    except EsxparseError:
        return False
    return True


def _split(where: str, member: str | None, timeout: float | None) -> tuple[str, str | None]:
    """Return `bundle:member` in two parts, if there is no such file but such a bundle."""
    url = is_url(where)
    # The colon after the host of a URL precedes a port.
    begin = where.find("/", url.end()) if url else 1
    colons = [place for place, char in enumerate(where) if char == ":" and begin <= place < len(where) - 1]
    if member is not None or begin < 0 or not colons or _exists(where, timeout):
        return where, member
    cut = next((place for place in reversed(colons) if _exists(where[:place], timeout)), None)
    return (where, None) if cut is None else (where[:cut], where[cut + 1 :])


def _raw(where: str, timeout: float | None = None) -> tuple[BinaryIO, Raw]:
    file = standard_input() if where == STANDARD_INPUT else _opened(where, timeout)
    return file, Raw(file, "standard input" if where == STANDARD_INPUT else public(where))


def _only(name: str, met: list[Found], member: str | None) -> Found:
    """Return the one matching capture, or raise an error with the reason."""
    found = [one for one in met if one.kind == "capture"] or [one for one in met if one.kind == "other"]
    if len(found) == 1:
        return found[0]
    if found:
        names = [one.name for one in found]
        msg = f"{name} holds {len(names)} captures: name one, such as {name}:{names[0]} ({first_few(names, _LISTED)})"
        raise (UnreadableError if found[0].kind == "capture" else SeveralError)(msg)
    refused = [f"{one.name}: {one.refused}" for one in met]
    if member is not None:
        raise UnreadableError(f"{name}: {refused[0]}" if refused else f"{name} holds no {member}")
    left_out = f"; not read: {first_few(refused, _LISTED)}" if refused else ""
    raise UnreadableError(f"{name} holds no capture: no file in it is in a format esxparse reads{left_out}")


def _passed_over(found: list[Found]) -> str | None:
    """Return a text about skipped members of a bundle; links and devices have no content of their own."""
    refused = [f"{one.name} ({one.refused})" for one in found if one.refused and one.refused not in _NO_CONTENT]
    return f"skipped in the bundle, so a capture may be missing: {first_few(refused, _LISTED)}" if refused else None


def _no_bundle(name: str, member: str) -> UnreadableError:
    return UnreadableError(f"{name} is not a bundle, so there is no {member} in it: leave the member out")


def _found(
    file: BinaryIO, raw: Raw, member: str | None, known: Callable[[Head], bool] | None = None
) -> tuple[Layer, tuple[str, ...], Iterator[Found] | None]:
    """Return the content of a file, its compression, and its members if it is a bundle."""
    layer, layers, refused = unwrap(raw, raw)
    if refused:
        raise UnreadableError(f"{raw.name}: {refused}")
    return layer, layers, look_through(file, layer, raw, layers, member, known)


def _inside(file: BinaryIO, raw: Raw, source: Source) -> Layer:
    layer, _, found = _found(file, raw, source.member)
    if source.member is None:
        return layer
    for one in found or ():
        if one.content is not None:
            return one.content
    raise UnreadableError(f"{source.name} is no longer there: the bundle has changed since it was searched")


def _content(source: Source) -> Layer:
    """Return the content of a source, from its first byte."""
    file, raw = _raw(source.where, source.timeout)
    try:
        return _inside(file, raw, source)
    except BaseException:
        raw.close()
        raise


def _from_standard_input(member: str | None) -> Source:
    _, raw = _raw(STANDARD_INPUT)
    layer, layers, refused = unwrap(raw, raw)
    head = layer.peek(_LOOK)
    if (what := no_text(head, STANDARD_INPUT)) is not None:
        raise UnreadableError(f"standard input is {what}")
    if is_tar(head) or is_zip(head):
        refused = "a bundle, which must be searched before it is read: write it to a file, or pipe one capture of it"
    if refused:
        raise UnreadableError(f"standard input is {refused}" if not layer.problem else f"standard input: {refused}")
    if member is not None:
        raise _no_bundle(STANDARD_INPUT, member)
    packed, begin = ", ".join(layers) or None, Head(layer.peek(HEAD), STANDARD_INPUT)
    return Source(STANDARD_INPUT, None, packed, None, where=STANDARD_INPUT, once=_Once(layer), looked_at=begin)


def resolve(
    where: str | os.PathLike[str],
    member: str | None = None,
    known: Callable[[Head], bool] | None = None,
    *,
    timeout: float | None = None,
    memory_limit: int | None = None,
) -> Source:
    """Find the capture in `where`: a path, a URL, or `-`, standard input; or in `bundle:member`.

    If a bundle has one capture, it is found. If it has several, set `member` or append a colon and the name. If no
    member is an esxtop capture, members whose beginning is `known` count. `timeout` is the time limit for a server, in
    seconds. `memory_limit` is the bytes of memory that reading the source may take.

    Raises:
        EsxparseError: Nothing or several are found, or the source cannot or may not be read; with advice.
    """
    source = _resolved(os.fspath(where), member, known, timeout)
    return replace(source, memory_limit=memory.DEFAULT if memory_limit is None else memory_limit)


def _resolved(text: str, member: str | None, known: Callable[[Head], bool] | None, timeout: float | None) -> Source:
    if text == STANDARD_INPUT:
        return _from_standard_input(member)
    text, member = _split(complete(text), member, timeout)
    name = text = public(text)
    file, raw = _raw(text, timeout)
    with closing(raw):
        layer, layers, found = _found(file, raw, member, known)
        if found is not None:
            # Content of members is released one after another.
            met = [replace(each, content=None) for each in found]
            one = _only(name, met, member)
            wrong = "; ".join(filter(None, (layer.problem, _passed_over(met)))) or None
            found_in, packed = f"{name}:{one.name}", ", ".join(one.layers)
            begin = one.head and replace(one.head, name=found_in)
            plain = Source(found_in, None, packed, None, wrong, where=text, timeout=timeout, looked_at=begin)
            return replace(plain, member=one.name)
        if member is not None:
            raise _no_bundle(name, member)
        begin = Head(layer.peek(HEAD), name)
        size = path = None
        if not layers and is_url(text):
            reported = getattr(file, "size", None)
            size = reported if isinstance(reported, int) else None
        elif not layers:
            size, path = os.fstat(file.fileno()).st_size, Path(text)
        whole = ", ".join(layers) or None
        return Source(name, size, whole, path, where=text, timeout=timeout, looked_at=begin)


def each_known(where: str, known: Callable[[Head], bool], timeout: float | None) -> Iterator[Found]:
    """Yield the members of a bundle, in order: known ones, with content valid until the next, and refused ones.

    Raises:
        EsxparseError: It cannot be read.
    """
    file, raw = _raw(where, timeout)
    with closing(raw):
        yield from _found(file, raw, None, known)[2] or ()


def members(where: str | os.PathLike[str]) -> list[str]:
    """Return the names of the captures inside a bundle, in order; empty for a plain file or standard input.

    Raises:
        EsxparseError: It cannot be read.
    """
    text = os.fspath(where)
    if text == STANDARD_INPUT:
        return []
    file, raw = _raw(text)
    with closing(raw):
        return [one.name for one in _found(file, raw, None)[2] or () if one.kind == "capture"]
