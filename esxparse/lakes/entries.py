"""The catalogue of a lake: one entry per capture, which makes its files valid.

    catalogue/<id>.json    as `recording.json` of a converted recording, with the columns and files of each table

The id depends on the capture's content, not on its packing or name: the same capture has the same entry. An entry
is written last, in one step and only if it does not exist; readers take the files in entries, and no others.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import manifest
from esxparse.lakes.store import Store
from esxparse.recording import Note, printable
from esxparse.schema import TYPES

FOLDER: Final = "catalogue"

_ID: Final = 20
_FILE: Final = re.compile(rf"{FOLDER}/[0-9a-f]{{{_ID}}}\.json")
_HOST: Final = re.compile(r"(?!__HIVE_DEFAULT_PARTITION__$)[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_TABLE: Final = re.compile(r"[A-Za-z0-9_][^/\\\x00-\x1f\x7f]{0,199}")
DIRECTORY: Final = (
    rf"table=(?P<table>{_TABLE.pattern})/date=(?P<date>\d{{4}}-\d\d-\d\d)"
    r"/host=(?P<host>[A-Za-z0-9_][A-Za-z0-9._-]{0,99})"
)
"""The directory of the files of a table, by date and host, as `lake add` writes it."""
_PATH: Final = re.compile(rf"{DIRECTORY}/(?P<id>[0-9a-f]+)-[0-9a-f]+\.parquet")
_TYPES: Final[Mapping[str, Any]] = {str(one): one for one in (*TYPES.values(), pl.Date())}


def name_of(kind: pl.DataType, where: str) -> str:
    """Return the name of a column's type in an entry."""
    if str(kind) in _TYPES:
        return str(kind)
    raise EsxparseError(f"{where} is of type {kind}, which no lake holds: use esxparse convert for this recording")


def id_of(sha256: str, segment: int | None) -> str:
    """Return the id of a capture, from its content and its place in a file with several captures."""
    return hashlib.sha256(f"{sha256}:{segment or 1}".encode()).hexdigest()[:_ID]


def host_of(override: str | None, found: object, source: str) -> str:
    """Return the host of a capture, which becomes a directory.

    Raises:
        EsxparseError: The host is unknown, or cannot be a directory.
    """
    host = override or (str(found) if found else "")
    if not host:
        raise EsxparseError(f"{source} does not name its host: name it with --host")
    if not _HOST.fullmatch(host):
        raise EsxparseError(f"{host!r} cannot be a directory of a lake: name the host of {source} with --host")
    return host


@dataclass(frozen=True, eq=False)
class Entry:
    """One capture of a lake."""

    id: str
    host: str
    format: str
    source: str
    """The file it was read from, under its reader's name for it."""
    origin: Mapping[str, Any]
    """`name`, `sha256` and `bytes` of its content, `options` it was read with."""
    meta: Mapping[str, Any]
    tables: Mapping[str, Any]
    """By name: `rows`, `bytes`, `columns` (name to type), `files` (path, date, rows, bytes, sha256)."""
    layout: int
    esxparse: str
    notes: tuple[Note, ...] = ()

    def encoded(self) -> bytes:
        """Return the entry as it is written."""
        content = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "notes"}
        return manifest.encoded(content, self.notes)

    @property
    def is_of_now(self) -> bool:
        """Whether its tables have the layout of the current readers."""
        return self.layout == manifest.LAYOUT

    @property
    def path(self) -> str:
        """Path of the entry itself."""
        return path_of(self.id)

    @property
    def span(self) -> tuple[datetime | None, datetime | None]:
        """First and last sample, UTC."""
        return self.meta.get("start"), self.meta.get("end")

    def files(self, table: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the files of a table, or of all: path, date, rows, bytes, sha256; early entries have no sha256."""
        for name, one in self.tables.items():
            if table in {None, name}:
                yield from one["files"]

    @property
    def paths(self) -> set[str]:
        """Paths of all its files."""
        return {one["path"] for one in self.files()}

    def schema(self, table: str) -> dict[str, Any]:
        """Return the columns of a table."""
        return {name: _TYPES[kind] for name, kind in self.tables[table]["columns"].items()}


def path_of(key: str) -> str:
    """Return the path of the entry of a capture."""
    return f"{FOLDER}/{key}.json"


def parsed(text: bytes, name: str) -> Entry:
    """Return the entry that a file holds.

    Raises:
        DamagedError: It is not an entry.
        EsxparseError: A newer version wrote it.
    """
    content, notes = manifest.decoded(text, name, "lake add", "add the capture again with --force")
    unknown = content.keys() - {one.name for one in fields(Entry)}
    if unknown or content.get("layout", 0) > manifest.LAYOUT:
        raise EsxparseError(f"{name} was written by a newer esxparse ({content.get('esxparse')}): update this one")
    try:
        found = Entry(**content, notes=notes)
        _ = found.origin["bytes"], found.origin["options"]
        for table in found.tables:
            found.schema(table)
        for one in found.files():
            _ = one["path"], one["date"], manifest.count(one["rows"]), manifest.count(one["bytes"])
        foreign = _foreign(found, name)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(
            f"{name} is not what `esxparse lake add` writes: add the capture again with --force"
        ) from error
    if foreign:
        raise DamagedError(f"{name} names {printable(foreign)!r}: `esxparse lake add` writes no such entry; remove it")
    return found


def _foreign(entry: Entry, name: str) -> str | None:
    """Return the first id, host, table or path that `lake add` never writes: a path may lead out of the lake."""
    if entry.id != Path(name).stem:
        return str(entry.id)
    if not _HOST.fullmatch(entry.host):
        return entry.host
    for table in entry.tables:
        if not _TABLE.fullmatch(table):
            return table
        for one in entry.files(table):
            found = _PATH.fullmatch(one["path"])
            wanted = {"table": table, "date": one["date"], "host": entry.host, "id": entry.id}
            if found is None or found.groupdict() != wanted:
                return str(one["path"])
    return None


def find(store: Store, key: str) -> Entry | None:
    """Return the entry of a capture; None if it is not in the lake."""
    text = store.read(path_of(key))
    return None if text is None else parsed(text, store.names(path_of(key)))


def listed(store: Store) -> list[str]:
    """Return the paths of all entries; empty if there is no lake."""
    return [one.path for one in store.files(f"{FOLDER}/") if _FILE.fullmatch(one.path)] if store.is_there() else []


def is_lake(uri: str | os.PathLike[str]) -> bool:
    """Return whether a path or URL is a lake that has captures."""
    try:
        return bool(listed(Store.of(uri)))
    except EsxparseError:
        return False


def chosen(ids: Iterable[str], key: str, uri: str) -> str:
    """Return the id that begins with a key.

    Raises:
        EsxparseError: There is no such id, or several.
    """
    found = [one for one in ids if one.startswith(key)]
    if len(found) == 1:
        return found[0]
    what = "no capture" if not found else f"{len(found)} captures"
    raise EsxparseError(f"lake {uri} has {what} with the id {key!r}: see esxparse lake ls")


def load(store: Store) -> list[Entry]:
    """Return all entries, by host and time.

    Raises:
        EsxparseError: There is no lake, or an unreadable entry: numbers without its capture would be wrong.
    """
    found, unreadable = look(store)
    for why in unreadable.values():
        raise EsxparseError(f"{why}; esxparse lake verify lists all that is wrong")
    return found


def look(store: Store) -> tuple[list[Entry], dict[str, str]]:
    """Return the readable entries, by host and time, and the reason for each unreadable one, by id.

    Raises:
        EsxparseError: There is no lake.
    """
    paths = listed(store)
    if not paths:
        raise EsxparseError(f"there is no lake at {store.uri}: esxparse lake add CAPTURE... --lake {store.uri}")
    texts = zip(paths, store.read_all(paths), strict=True)
    found, unreadable = [], {}
    for path, text in texts:
        try:
            found += [parsed(text, store.names(path))] if text is not None else []
        except EsxparseError as error:
            unreadable[Path(path).stem] = str(error)
    return sorted(found, key=lambda one: (one.host, str(one.span[0]), one.id)), unreadable


def overlaps(entries: Iterable[Entry]) -> list[tuple[Entry, Entry]]:
    """Return captures that overlap an earlier one of their host and format, with that one: samples count twice."""
    groups: dict[tuple[str, str], list[tuple[datetime, datetime, str, Entry]]] = {}
    for entry in entries:
        start, end = entry.span
        if start and end:
            groups.setdefault((entry.host, entry.format), []).append((start, end, entry.id, entry))
    found = []
    for group in groups.values():
        last, *others = sorted(group)
        for one in others:
            if one[0] <= last[1]:
                found.append((last[-1], one[-1]))
            last = max(last, one, key=lambda span: span[1])
    return found
