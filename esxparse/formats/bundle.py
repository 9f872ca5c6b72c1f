"""Captures inside bundles: tar (however compressed, as vm-support writes it) and zip.

Nothing is ever written anywhere. Names that lead out of the bundle, links and devices are refused; so are archives
inside an archive that is itself inside one. A member may be compressed, once.
"""

from __future__ import annotations

import re
import tarfile
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

from esxparse.errors import UnreadableError
from esxparse.formats.decompress import ZIP_METHODS, Decoded, Layer, Raw, codec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD = 1 << 20
"""Bytes in which a capture must show itself."""

_MARK = "(PDH-CSV"
_MARKS = tuple(_MARK.encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))

_LOOK = 1 << 10
_BLOCK = 512
_TAR_HEADERS = 16 << 20
"""Bytes that the headers of one member may take: a name is no gigabyte long."""

_MOST_MEMBERS = 1_000_000
_SKIP = 1 << 20
_ZIP_LOCAL = 30
_ENCRYPTED = 0x1
_UNIX_KIND = {0o120000: "a link", 0o010000: "a named pipe", 0o020000: "a device", 0o060000: "a device"}
_KIND_BITS = 0o170000
_DEEPEST = 1
_READS = "esxparse reads .gz, .zst, .xz, .bz2, .zip and .tar"

_FOREIGN = {
    b"7z\xbc\xaf'\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x04\x22\x4d\x18": "LZ4",
    b"\x1f\x9d": "compress (.Z)",
    b"\x89LZO": "LZO",
    b"LZIP": "lzip",
}


@dataclass(frozen=True)
class Found:
    """A member of a bundle: a capture, or what was asked for by name."""

    name: str
    content: Layer | None
    """Its content, good until the next member is looked at; None where it is refused."""
    refused: str = ""
    layers: tuple[str, ...] = ()
    """How it is compressed and packed, from the outside in."""


def shown(name: str) -> str:
    """A name fit to print: every character that would not show is escaped."""
    encoded = name.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in encoded)


def foreign(head: bytes) -> str | None:
    """What packed data that begins with `head`, of a kind not read here, is called."""
    return next((title for magic, title in _FOREIGN.items() if head.startswith(magic)), None)


def is_zip(head: bytes) -> bool:
    """Whether a file that begins with `head` is a zip."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"))


def is_tar(head: bytes) -> bool:
    """Whether a file that begins with `head` is a tar: its first block has the right sum."""
    if len(head) < _BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(head[:_BLOCK], "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def _leads_out(name: str) -> bool:
    """Whether a name would, unpacked, land outside the directory it is unpacked in."""
    return ".." in re.split(r"[/\\]", name) or bool(re.match(r"[/\\]|[A-Za-z]:[/\\]", name)) or "\0" in name


def _plain(name: str) -> str:
    return shown(re.sub(r"^(?:\./+)+", "", name))


@dataclass
class _Entry:
    name: str
    content: Layer | None
    refused: str = ""
    layers: tuple[str, ...] = ()
    raw: Raw | None = None
    """What its content is read through, where that is not what the whole bundle is."""


class _TarFace:
    """A layer as `tarfile` wants a file: it may go forward only, and no header may take much memory."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.position = 0
        self.allowance = 0
        self.last = b""

    def tell(self) -> int:
        return self.position

    def some(self, size: int) -> bytes:
        piece = self.layer.read(size)
        self.position += len(piece)
        return piece

    def seek(self, position: int) -> None:
        if position < self.position:
            msg = "its headers lead backwards"
            raise tarfile.ReadError(msg)
        while self.position < position and self.some(min(position - self.position, _SKIP)):
            pass

    def read(self, size: int) -> bytes:
        self.allowance -= size
        if size < 0 or self.allowance < 0:
            msg = "a header in it is absurdly long"
            raise tarfile.ReadError(msg)
        pieces = []
        while size > 0 and (piece := self.some(size)):
            pieces.append(piece)
            size -= len(piece)
        self.last = b"".join(pieces)
        return self.last


class _TarMember(Layer):
    def __init__(self, face: _TarFace, size: int) -> None:
        super().__init__()
        self._face, self._left, self._size = face, size, size

    def _more(self) -> bytes:
        piece = self._face.some(min(self._left, _SKIP)) if self._left else b""
        if self._left and not piece:
            read = self._size - self._left
            self.problem = self._face.layer.problem or f"the tar is cut after {read:,} of {self._size:,} bytes of it"
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        self._face.layer.close()


def _tar_refusal(member: tarfile.TarInfo) -> str:
    if _leads_out(member.name):
        return "its name leads out of the bundle"
    if member.issym() or member.islnk():
        return "a link"
    if member.issparse():
        return "a sparse file"
    return "" if member.isreg() else "a device or pipe"


def _tar_entries(layer: Layer) -> Iterator[_Entry]:
    """Members of a tar in their order, directories left out; sets `problem` of the layer where the tar is cut."""
    face = _TarFace(layer)
    tar = None
    try:
        for number in range(_MOST_MEMBERS + 1):
            face.allowance = _TAR_HEADERS
            if tar is None:
                tar = tarfile.TarFile(fileobj=cast("BinaryIO", face), errors="surrogateescape")
            member = tar.next()
            if member is None:
                if face.last.strip(b"\0") or not face.last:
                    layer.problem = layer.problem or f"the tar is cut or damaged after {face.position:,} bytes"
                return
            # `tarfile` keeps all it has met.
            tar.members.clear()  # type: ignore[attr-defined]
            if number == _MOST_MEMBERS:
                layer.problem = f"the tar has more than {_MOST_MEMBERS:,} members: the rest was not looked at"
                return
            if not member.isdir():
                refused = _tar_refusal(member)
                yield _Entry(_plain(member.name), None if refused else _TarMember(face, member.size), refused)
    except (tarfile.TarError, ValueError, OverflowError, RecursionError, IndexError, KeyError, EOFError) as error:
        layer.problem = layer.problem or f"the tar is cut or damaged after {face.position:,} bytes ({error})"


class _Checked(Layer):
    """Content of a member of a zip, whose sum the zip tells."""

    def __init__(self, below: Layer, crc: int) -> None:
        super().__init__()
        self._below, self._crc, self._sum = below, crc, 0

    def _more(self) -> bytes:
        piece = self._below.read(_SKIP)
        self._sum = zlib.crc32(piece, self._sum)
        if not piece:
            self.problem = self._below.problem
            if not self.problem and self._sum != self._crc:
                self.problem = "the zip's check sum of it is another: any number in it may be wrong"
        return piece

    def close(self) -> None:
        self._below.close()


def _zip_refusal(info: zipfile.ZipInfo) -> str:
    if _leads_out(info.filename) or "\0" in info.orig_filename:
        return "its name leads out of the bundle"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted: unpack it with its password first"
    kind = _UNIX_KIND.get(info.external_attr >> 16 & _KIND_BITS)
    if kind:
        return kind
    if info.compress_type and info.compress_type not in ZIP_METHODS:
        title = zipfile.compressor_names.get(info.compress_type, f"method {info.compress_type}")  # type: ignore[attr-defined]
        return f"compressed by {title}, which is not read here: unpack it first"
    return ""


def _zip_content(file: BinaryIO, info: zipfile.ZipInfo, name: str, *, known: bool = True) -> _Entry:
    """A member with its content; `known`: whether its sizes and sum are."""
    try:
        file.seek(info.header_offset)
        local = file.read(_ZIP_LOCAL)
    except (OSError, ValueError, OverflowError):
        local = b""
    if len(local) < _ZIP_LOCAL or not local.startswith(b"PK\x03\x04"):
        return _Entry(_plain(info.filename), None, f"damaged: there is no file at byte {info.header_offset:,}")
    skipped = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    file.seek(info.header_offset + _ZIP_LOCAL + skipped)
    raw = Raw(file, name, info.compress_size if known else None)
    codec = ZIP_METHODS.get(info.compress_type)
    content: Layer = Decoded(raw, codec, raw) if codec else raw
    content = _Checked(content, info.CRC) if known else content
    return _Entry(_plain(info.filename), content, layers=(codec.title if codec else "stored",), raw=raw)


def _first_of_cut_zip(file: BinaryIO, name: str) -> Iterator[_Entry]:
    """What a zip begins with whose directory, at its end, is missing."""
    file.seek(0)
    local = file.read(_ZIP_LOCAL)
    size = int.from_bytes(local[26:28], "little")
    info = zipfile.ZipInfo(file.read(size).decode("utf-8", "replace") or "?")
    info.header_offset = 0
    info.flag_bits = int.from_bytes(local[6:8], "little")
    info.compress_type = int.from_bytes(local[8:10], "little")
    refused = _zip_refusal(info)
    if not info.compress_type:
        refused = refused or "stored in a zip that is cut: unpack what there is with zip -FF"
    if len(local) < _ZIP_LOCAL or refused:
        yield _Entry(_plain(info.filename), None, refused or "the zip is cut in its first header")
        return
    yield _zip_content(file, info, name, known=False)


def _overlapping(infos: list[zipfile.ZipInfo]) -> set[int]:
    """Where files of a zip begin inside of another: the same compressed bytes would be expanded again and again."""
    found = set()
    end = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        if info.header_offset < end:
            found.add(info.header_offset)
        end = max(end, info.header_offset + _ZIP_LOCAL + info.compress_size)
    return found


def _zip_entries(file: BinaryIO, name: str, layer: Layer) -> Iterator[_Entry]:
    """Members of a zip in the order of its directory."""
    try:
        infos = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        if layer.peek(4) == b"PK\x03\x04":
            layer.problem = f"the zip is cut: its directory is missing ({error}), only its first file was looked at"
            yield from _first_of_cut_zip(file, name)
            return
        msg = f"{name} is a zip that cannot be read ({error}): unpack it and name what is in it"
        raise UnreadableError(msg) from None
    overlapping = _overlapping(infos)
    for info in infos:
        if info.filename.endswith("/"):
            continue
        refused = _zip_refusal(info)
        if not refused and info.header_offset in overlapping:
            refused = "its place in the zip is that of another file too: no program packs so"
        yield _Entry(_plain(info.filename), None, refused) if refused else _zip_content(file, info, name)


def unwrap(layer: Layer, raw: Raw) -> tuple[Layer, tuple[str, ...], str]:
    """Content of data that may be compressed, how it is, and why it is refused."""
    head = layer.peek(_LOOK)
    layers: tuple[str, ...] = ()
    codec = codec_of(head)
    if codec:
        layer = Decoded(layer, codec, raw)
        head = layer.peek(_LOOK)
        layers = (codec.title,)
        if not head and layer.problem:
            return layer, layers, f"{layer.problem}: copy it again"
        again = codec_of(head)
        if again:
            return layer, layers, f"compressed twice ({again.title} in {codec.title}): decompress it once first"
    title = foreign(head)
    return layer, layers, f"packed by {title}: {_READS}, unpack it first" if title else ""


def is_capture(head: bytes) -> bool:
    """Whether a file that begins with `head` is an esxtop capture."""
    return any(mark in head for mark in _MARKS)


def _walk(
    entries: Iterator[_Entry], raw: Raw, member: str | None, wanted: Callable[[bytes], bool], depth: int
) -> Iterator[Found]:
    met: Counter[str] = Counter()
    for entry in entries:
        met[entry.name] += 1
        name = entry.name if met[entry.name] == 1 else f"{entry.name}#{met[entry.name]}"
        if member is not None and member != name and not member.startswith(f"{name}:"):
            continue
        if entry.content is None:
            yield Found(name, None, entry.refused)
            continue
        content, layers, refused = unwrap(entry.content, entry.raw or raw)
        layers = (*entry.layers, *layers)
        head = content.peek(_LOOK)
        if not refused and is_zip(head):
            refused = "a zip inside an archive: unpack it first"
        if not refused and is_tar(head):
            if depth < _DEEPEST:
                inner = None if member in {None, name} else str(member).removeprefix(f"{name}:")
                for found in _walk(_tar_entries(content), entry.raw or raw, inner, wanted, depth + 1):
                    yield Found(f"{name}:{found.name}", found.content, found.refused, (*layers, "tar", *found.layers))
                continue
            refused = "an archive in an archive in an archive: unpack it first"
        if refused:
            yield Found(name, None, refused, layers)
        elif member == name or (member is None and head and wanted(content.peek(HEAD))):
            yield Found(name, content, "", layers)


def look_through(
    file: BinaryIO,
    layer: Layer,
    raw: Raw,
    layers: tuple[str, ...],
    member: str | None,
    wanted: Callable[[bytes], bool] = is_capture,
) -> Iterator[Found] | None:
    """Captures in a bundle and what is refused in it, in the order of the bundle; of `member` only, where it is given.

    `wanted` tells a capture by its beginning.
    `file` is the bundle as it lies there, `layer` its content, read through `raw`. None where it is no bundle.

    Raises:
        UnreadableError: It is a bundle and cannot be looked into.
    """
    head = layer.peek(_LOOK)
    if is_zip(head):
        if layers:
            msg = f"{raw.name} is a zip compressed by {layers[0]}: decompress it first"
            raise UnreadableError(msg)
        if not file.seekable():
            msg = f"{raw.name} is a zip, whose directory stands at its end, and can only be read in order: copy it here"
            raise UnreadableError(msg)
        entries, packed = _zip_entries(file, raw.name, layer), (*layers, "zip")
    elif is_tar(head):
        entries, packed = _tar_entries(layer), (*layers, "tar")
    else:
        return None
    walk = _walk(entries, raw, member, wanted, 0)
    return (Found(found.name, found.content, found.refused, (*packed, *found.layers)) for found in walk)
