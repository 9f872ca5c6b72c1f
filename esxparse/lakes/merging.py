"""Merge small captures of one host and day into one file per table: `esxparse lake compact --merge`."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from esxparse.lakes import merged
from esxparse.lakes.conversion import file_name, sink
from esxparse.lakes.entries import Entry
from esxparse.lakes.merged import Merged
from esxparse.lakes.query import Lake
from esxparse.lakes.store import Store
from esxparse.whole import Scratch, sha256

_SMALL: Final = 32 << 20
"""Bytes of a file: a larger one is as quick to query as a merged one."""


@dataclass(frozen=True)
class Part:
    """Files of one table, host and day with the same columns."""

    table: str
    format: str
    schema: Mapping[str, Any]
    files: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Day:
    """One merge: the tables of one host and day."""

    lake: Lake
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return " ".join(PurePath(self.parts[0].files[0]["path"]).parts[1:3])


def days(lake: Lake) -> list[Day]:
    """Return the days of hosts with several small captures that are not merged yet, or not all of them."""
    parts: dict[tuple[PurePath, str], list[tuple[Entry, str, Mapping[str, Any]]]] = {}
    for entry in lake.captures:
        for table, one in entry.tables.items():
            columns = json.dumps(one["columns"])
            for file in one["files"]:
                if file["bytes"] < _SMALL:
                    parts.setdefault((PurePath(file["path"]).parent, columns), []).append((entry, table, file))
    found: dict[tuple[str, ...], list[Part]] = {}
    for (folder, _), some in parts.items():
        entry, table, _ = some[0]
        if len(some) > 1:
            part = Part(table, entry.format, entry.schema(table), tuple(file for *_, file in some))
            found.setdefault(folder.parts[1:], []).append(part)
    made = {frozenset(one.of) for one in _all(merged.load(lake.store).values())}
    bare = Lake(lake.store, known_entries=())
    return [
        Day(bare, tuple(some))
        for some in found.values()
        if not {frozenset(file["path"] for file in one.files) for one in some} <= made
    ]


def _all(found: Iterable[Sequence[Merged]]) -> list[Merged]:
    return [one for some in found for one in some]


def merge(day: Day) -> list[Merged]:
    """Write the files of a host and day, then their catalogue; without it they have no effect."""
    store = day.lake.store
    writing = secrets.token_hex(8)
    made = []
    with Scratch() as scratch:
        for number, part in enumerate(day.parts):
            name = part.table if part.format == "esxtop" else part.table.removeprefix(f"{part.format}.")
            of = tuple(one["path"] for one in part.files)
            sink(day.lake.scan([store.names(one) for one in of], part.schema, hive=False), name, scratch, part.format)
            file = scratch / file_name(name)
            path = f"{merged.FOLDER}/{Path(of[0]).parent.as_posix()}/{writing}-{number}.parquet"
            store.put(path, file, replace=True)
            made.append(Merged(path, of, file.stat().st_size, sha256(file)))
    store.put(merged.catalogue_of(writing), merged.encoded(made))
    return made


def undo(store: Store) -> int:
    """Remove all merged files; return their number."""
    found = merged.load(store)
    store.remove(found)
    paths = [one.path for one in _all(found.values())]
    store.remove(paths)
    return len(paths)
