"""Captures inside bundles: tar (however compressed, as vm-support writes it) and zip.

Names that lead out of the bundle, links and devices are refused. So are archives inside an archive that is itself
inside one. A member may be compressed, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Literal

from esxparse.errors import UnreadableError
from esxparse.formats.archives import Entry, is_tar, is_zip, names_in, no_text, tar_entries, zip_entries
from esxparse.formats.decompress import Decoded, Layer, Raw, codec_of
from esxparse.formats.kit.head import HEAD, Head

Kind = Literal["capture", "other"]
"""The kind of a member: a capture of esxtop, or of another format."""

_MARK = "(PDH-CSV"
_MARKS = tuple(_MARK.encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))

_LOOK = 1 << 10
_MEMBER_HEAD = 64 << 10
"""Bytes within which a member must show its format."""
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
    """A member of a bundle: a capture, or the member requested by name."""

    name: str
    content: Layer | None
    """Its content, valid until the next member is read; None if it is refused."""
    refused: str = ""
    layers: tuple[str, ...] = ()
    """Its compression and packing, from the outside in."""
    kind: Kind | None = None
    """None if it is refused."""
    head: Head | None = None
    """The beginning of the first of its kind."""


def foreign(head: bytes) -> str | None:
    """Return the name of a packed format that esxparse does not read, from `head`."""
    return next((title for magic, title in _FOREIGN.items() if head.startswith(magic)), None)


def unwrap(layer: Layer, raw: Raw) -> tuple[Layer, tuple[str, ...], str]:
    """Return the content of data that may be compressed, its compression, and a reason if it is refused."""
    head = layer.peek(_LOOK)
    layers: tuple[str, ...] = ()
    if codec := codec_of(head):
        layer = Decoded(layer, codec, raw)
        head = layer.peek(_LOOK)
        layers = (codec.title,)
        if not head and layer.problem:
            return layer, layers, f"{layer.problem}: copy it again"
        if again := codec_of(head):
            return layer, layers, f"compressed twice ({again.title} in {codec.title}): decompress it once first"
    title = foreign(head)
    return layer, layers, f"packed by {title}: {_READS}, unpack it first" if title else ""


@dataclass
class _Search:
    """The search criteria for members of a bundle."""

    known: Callable[[Head], bool] | None
    """Whether a member is of another format; called until a capture is found."""
    met: set[Kind] = field(default_factory=set)

    def kind(self, content: Layer) -> Kind | None:
        head = Head(content.peek(_MEMBER_HEAD))
        if any(mark in head.content for mark in _MARKS):
            return "capture"
        may_be_other = self.known is not None and bool(head.content) and "capture" not in self.met
        return "other" if may_be_other and self.known and self.known(head) else None

    def walk(self, entries: Iterator[Entry], raw: Raw, member: str | None, depth: int = 0) -> Iterator[Found]:
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
            refused = refused or no_text(head, name) or ""
            if not refused and is_zip(head):
                refused = "a zip inside an archive: unpack it first"
            if not refused and is_tar(head):
                if depth < _DEEPEST:
                    inner = None if member in {None, name} else str(member).removeprefix(f"{name}:")
                    for found in self.walk(tar_entries(content), entry.raw or raw, inner, depth + 1):
                        packed = (*layers, "tar", *found.layers)
                        yield replace(found, name=f"{name}:{found.name}", layers=packed)
                    continue
                refused = "archives nested three deep: unpack it first"
            if refused:
                yield Found(name, None, refused, layers)
                continue
            kind: Kind | None = "capture" if member == name else self.kind(content) if member is None else None
            if kind:
                # If there are several, an error lists them and none is read.
                begin = None if kind in self.met else Head(content.peek(HEAD))
                self.met.add(kind)
                yield Found(name, content, "", layers, kind, begin)


def look_through(
    file: BinaryIO,
    layer: Layer,
    raw: Raw,
    layers: tuple[str, ...],
    member: str | None,
    known: Callable[[Head], bool] | None = None,
) -> Iterator[Found] | None:
    """Yield the readable and the refused members of a bundle, in order; only `member` if given.

    Readable are captures of esxtop, and members whose beginning is `known`: see `_Search`.
    `file` is the bundle as stored, `layer` its content, read through `raw`. Returns None if it is not a bundle.

    Raises:
        UnreadableError: It is a bundle that cannot be opened.
    """
    head = layer.peek(_LOOK)
    if (what := no_text(head, raw.name, names_in(file, head))) is not None:
        raise UnreadableError(f"{raw.name} is {what}")
    if is_zip(head):
        if layers:
            raise UnreadableError(f"{raw.name} is a zip compressed by {layers[0]}: decompress it first")
        if not file.seekable():
            msg = f"{raw.name} is a zip, which cannot be read as a stream (its directory is at its end): copy it here"
            raise UnreadableError(msg)
        entries, packed = zip_entries(file, raw.name, layer), (*layers, "zip")
    elif is_tar(head):
        entries, packed = tar_entries(layer), (*layers, "tar")
    else:
        return None
    walk = _Search(known).walk(entries, raw, member)
    return (replace(found, layers=(*packed, *found.layers)) for found in walk)
