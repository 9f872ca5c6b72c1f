"""The members of a tar or a zip, one after another. Nothing is written to disk."""

from __future__ import annotations

import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from esxparse.errors import UnreadableError
from esxparse.formats.decompress import ZIP_METHODS, Decoded, Layer, Raw

_BLOCK = 512
_TAR_HEADERS = 16 << 20
"""Most bytes of the headers of one member: no name is a gigabyte long."""

_MOST_MEMBERS = 1_000_000
_SKIP = 1 << 20
_ZIP_LOCAL = 30
_ENCRYPTED = 0x1
_UNIX_KIND = {0o120000: "a link", 0o010000: "a named pipe", 0o020000: "a device", 0o060000: "a device"}
_KIND_BITS = 0o170000


def printable_name(name: str) -> str:
    """Return a printable name, with unprintable characters escaped."""
    encoded = name.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in encoded)


def is_zip(head: bytes) -> bool:
    """Return whether a file that begins with `head` is a zip."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"))


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WORKBOOKS = {
    "an Excel workbook": ("xl/workbook.", "xl/worksheets/", "xl/_rels/"),
    "a Numbers spreadsheet": ("Index/Document.iwa", "Index/Tables/", "Index.zip"),
}
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
_PERFMON_LOG = ("(PDH-BIN", "(PDH-BIN".encode("utf-16-le").decode("latin-1"))
_SAVE = "save the sheet as CSV, and open that"
_AS_XML = re.compile(r"progid=.Excel\.Sheet|urn:schemas-microsoft-com:office:spreadsheet")
_AS_HTML = re.compile(r"urn:schemas-microsoft-com:office:excel")
_HTML = re.compile(r"\W*<(?:!doctype html|html|head|meta|style|table|div)\b", re.IGNORECASE)


def _text_workbook(head: bytes, name: str) -> str | None:
    """Return the kind of a text workbook: Excel gives XML and HTML tables the same file name as its own files."""
    text = head[:_BLOCK].decode("latin-1").replace("\0", "")
    if _AS_XML.search(text):
        return f"an Excel workbook (XML): {_SAVE}"
    if _AS_HTML.search(text) or (name.lower().endswith((".xls", ".xlsx")) and _HTML.match(text.removeprefix("ï»¿"))):
        return f"an Excel workbook (tables of HTML): {_SAVE}"
    return None


def no_text(head: bytes, name: str, members: Iterable[str] = ()) -> str | None:
    """Return the kind of a file with a recording in its own form, and how to get it as text; None for any other.

    `members` are the names in a zip; otherwise the names in its first bytes count.
    """
    text = head.decode("latin-1")
    if head.startswith(_OLE):
        return f"an Excel workbook (.xls): {_SAVE}"
    if (name.lower().endswith(".blg") and "\0" in text) or any(mark in text[:_BLOCK] for mark in _PERFMON_LOG):
        return f"a binary log of Perfmon: convert it with relog {name} -f csv -o out.csv, and open that"
    if not is_zip(head):
        return _text_workbook(head, name)
    if _OPEN_DOCUMENT in head:
        return f"an OpenDocument spreadsheet (.ods): {_SAVE}"
    names = list(members)
    for title, marks in _WORKBOOKS.items():
        if any(one.startswith(marks) for one in names) or (not names and any(mark in text for mark in marks)):
            return f"{title}: {_SAVE}"
    return f"an Excel workbook: {_SAVE}" if not names and "[Content_Types].xml" in text else None


def is_tar(head: bytes) -> bool:
    """Return whether a file that begins with `head` is a tar: its first block has the right sum."""
    if len(head) < _BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(head[:_BLOCK], "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def _leads_out(name: str) -> bool:
    """Return whether a member of that name would be unpacked outside the target directory."""
    return ".." in re.split(r"[/\\]", name) or bool(re.match(r"[/\\]|[A-Za-z]:[/\\]", name)) or "\0" in name


def _plain(name: str) -> str:
    return printable_name(re.sub(r"^(?:\./+)+", "", name))


@dataclass
class Entry:
    """A member; its content is valid until the next one is read."""

    name: str
    content: Layer | None
    refused: str = ""
    layers: tuple[str, ...] = ()
    raw: Raw | None = None
    """The source of its content, if it differs from the whole bundle's."""


class _TarFace:
    """A layer in the form of a `tarfile` file: it only goes forward, and no header may take much memory."""

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
            raise tarfile.ReadError("its headers lead backwards")
        while self.position < position and self.some(min(position - self.position, _SKIP)):
            pass

    def read(self, size: int) -> bytes:
        self.allowance -= size
        if size < 0 or self.allowance < 0:
            raise tarfile.ReadError("a header in it is absurdly long")
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
        return "its name points outside the bundle"
    if member.issym() or member.islnk():
        return "a link"
    if member.issparse():
        return "a sparse file"
    return "" if member.isreg() else "a device or pipe"


def tar_entries(layer: Layer) -> Iterator[Entry]:
    """Yield the members of a tar in order, without directories, and set `problem` of the layer if the tar is cut."""
    face = _TarFace(layer)
    tar = None
    try:
        for number in range(_MOST_MEMBERS + 1):
            face.allowance = _TAR_HEADERS
            if tar is None:
                tar = tarfile.TarFile(fileobj=cast("BinaryIO", face), errors="surrogateescape")
            if (member := tar.next()) is None:
                if face.last.strip(b"\0") or not face.last:
                    layer.problem = layer.problem or f"the tar is cut or damaged after {face.position:,} bytes"
                return
            # `tarfile` keeps all earlier members.
            tar.members.clear()  # type: ignore[attr-defined]
            if number == _MOST_MEMBERS:
                layer.problem = f"the tar has more than {_MOST_MEMBERS:,} members: the rest was not looked at"
                return
            if not member.isdir():
                refused = _tar_refusal(member)
                yield Entry(_plain(member.name), None if refused else _TarMember(face, member.size), refused)
    except (tarfile.TarError, ValueError, OverflowError, RecursionError, IndexError, KeyError, EOFError) as error:
        layer.problem = layer.problem or f"the tar is cut or damaged after {face.position:,} bytes ({error})"


class _Checked(Layer):
    """Content of a zip member, checked against the zip's sum."""

    def __init__(self, below: Layer, crc: int) -> None:
        super().__init__()
        self._below, self._crc, self._sum = below, crc, 0

    def _more(self) -> bytes:
        piece = self._below.read(_SKIP)
        self._sum = zlib.crc32(piece, self._sum)
        if not piece:
            self.problem = self._below.problem
            if not self.problem and self._sum != self._crc:
                self.problem = "its checksum is not the one in the zip: any number in it may be wrong"
        return piece

    def close(self) -> None:
        self._below.close()


def _zip_refusal(info: zipfile.ZipInfo) -> str:
    if _leads_out(info.filename) or "\0" in info.orig_filename:
        return "its name points outside the bundle"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted: unpack it with its password first"
    if kind := _UNIX_KIND.get(info.external_attr >> 16 & _KIND_BITS):
        return kind
    if info.compress_type and info.compress_type not in ZIP_METHODS:
        title = zipfile.compressor_names.get(info.compress_type, f"method {info.compress_type}")  # type: ignore[attr-defined]
        return f"compressed by {title}, which esxparse does not read: unpack it first"
    return ""


def _zip_content(file: BinaryIO, info: zipfile.ZipInfo, name: str, *, known: bool = True) -> Entry:
    """Return a member with its content; `known`: whether its sizes and sum are known."""
    try:
        file.seek(info.header_offset)
        local = file.read(_ZIP_LOCAL)
    except (OSError, ValueError, OverflowError):
        local = b""
    if len(local) < _ZIP_LOCAL or not local.startswith(b"PK\x03\x04"):
        return Entry(_plain(info.filename), None, f"damaged: there is no file at byte {info.header_offset:,}")
    skipped = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    file.seek(info.header_offset + _ZIP_LOCAL + skipped)
    raw = Raw(file, name, info.compress_size if known else None)
    codec = ZIP_METHODS.get(info.compress_type)
    content: Layer = Decoded(raw, codec, raw) if codec else raw
    content = _Checked(content, info.CRC) if known else content
    return Entry(_plain(info.filename), content, layers=(codec.title if codec else "stored",), raw=raw)


def _first_of_cut_zip(file: BinaryIO, name: str) -> Iterator[Entry]:
    """Yield the beginning of a zip without its directory, which should be at its end."""
    file.seek(0)
    local = file.read(_ZIP_LOCAL)
    size = int.from_bytes(local[26:28], "little")
    info = zipfile.ZipInfo(file.read(size).decode("utf-8", "replace") or "?")
    info.header_offset = 0
    info.flag_bits = int.from_bytes(local[6:8], "little")
    info.compress_type = int.from_bytes(local[8:10], "little")
    refused = _zip_refusal(info)
    if not info.compress_type:
        refused = refused or "stored in a zip that is cut: recover what is there with zip -FF"
    if len(local) < _ZIP_LOCAL or refused:
        yield Entry(_plain(info.filename), None, refused or "the zip is cut in its first header")
        return
    yield _zip_content(file, info, name, known=False)


def names_in(file: BinaryIO, head: bytes) -> list[str]:
    """Return the names in a zip that begins with `head`; empty if it is not a zip or its directory is unreadable."""
    if not is_zip(head) or not file.seekable():
        return []
    try:
        return zipfile.ZipFile(file).namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError):
        return []


def _overlapping(infos: list[zipfile.ZipInfo]) -> set[int]:
    """Return where files of a zip begin inside another: the same compressed bytes would be expanded repeatedly."""
    found = set()
    end = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        if info.header_offset < end:
            found.add(info.header_offset)
        end = max(end, info.header_offset + _ZIP_LOCAL + info.compress_size)
    return found


def zip_entries(file: BinaryIO, name: str, layer: Layer) -> Iterator[Entry]:
    """Yield the members of a zip in the order of its directory."""
    try:
        infos = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        if layer.peek(4) == b"PK\x03\x04":
            layer.problem = f"the zip is cut: its directory is missing ({error}), only its first file was read"
            yield from _first_of_cut_zip(file, name)
            return
        msg = f"{name} is a zip that cannot be read ({error}): unpack it and open the capture"
        raise UnreadableError(msg) from None
    overlapping = _overlapping(infos)
    for info in infos:
        if info.filename.endswith("/"):
            continue
        refused = _zip_refusal(info)
        if not refused and info.header_offset in overlapping:
            refused = "it shares its place in the zip with another file, which no program writes"
        yield Entry(_plain(info.filename), None, refused) if refused else _zip_content(file, info, name)
