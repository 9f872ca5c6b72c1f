"""Directories and bundles of several files of one format, as one recording.

Tables
------
The tables of the format. The first column is `file` (str): the path, in the directory, of the file of a row
(`source_file` in a table that has its own `file`). Files are in natural order: run2 comes before run10. Numbers
within a file (`run`, `document`, `repetition` ...) start again in each file.

meta: `files` (dict: by name, in order, the facts of each), `start` and `end` of all, `samples` (their sum), and
facts shared by all files. `each` returns the recordings of the single files, to compute with one at a time.

The directory of a fio run is read as a run (see `esxparse.formats.fio.directory`). Captures of esxtop are separate
recordings. If there are several formats, choose one; notes list the files that were not read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse.errors import DamagedError, EsxparseError, UnreadableError
from esxparse.formats import memory
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes
from esxparse.formats.names import natural
from esxparse.formats.source import Source, resolve
from esxparse.recording import Note, Recording, counted, first_few

MOST_FILES = 20_000
"""Most files of a directory that is read: a larger one is not of a run."""

_MOST_NAMES = 5
_OWN = ("esxtop", "esxtop_api")
"""Recordings of these formats are never combined: each has its own host and time."""


@dataclass(frozen=True)
class File:
    """A file that may be read, and its format; without a source it could not be opened."""

    name: str
    source: Source | None
    format: str | None = None
    refused: str = ""


_LAKE: Final = {"catalogue", "table"}
"""Beginnings of the names of a lake's directories."""


def in_order(name: str) -> list[str | int]:
    """Return the key that sorts files, ignoring case.

    >>> sorted(["run10.txt", "run2.txt", "Run1.txt"], key=in_order)
    ['Run1.txt', 'run2.txt', 'run10.txt']
    """
    return natural(name.lower())


def files_in(folder: Path, format_of: Callable[[Head], str | None], limit: int | None) -> list[File]:
    """Return the files in a directory and below, each with its format, without hidden files."""
    found: list[str] = []
    closed: list[OSError] = []
    for where, below, names in os.walk(folder, onerror=closed.append):
        below[:] = sorted((name for name in below if not name.startswith(".")), key=in_order)
        found += [os.path.relpath(os.path.join(where, name), folder) for name in names if not name.startswith(".")]  # noqa: PTH118
        if len(found) > MOST_FILES:
            raise UnreadableError(
                f"{folder} is a directory of more than {MOST_FILES:,} files: name a recording, or a directory of fewer"
            )
    refused = [File(os.path.relpath(one.filename, folder), None, refused=one.strerror or str(one)) for one in closed]
    return [*(_file(folder / name, name, format_of, limit) for name in sorted(found, key=in_order)), *refused]


def files_of(members: Sequence[tuple[str, Source | str]], format_of: Callable[[Head], str | None]) -> list[File]:
    """Return the members of a bundle, with their sources or the reasons for refusal."""
    found = [
        File(name, None, refused=one) if isinstance(one, str) else File(name, one, format_of(one.head))
        for name, one in members
    ]
    return sorted(found, key=lambda one: in_order(one.name))


def _file(path: Path, name: str, format_of: Callable[[Head], str | None], limit: int | None) -> File:
    try:
        source = resolve(path, memory_limit=limit)
        head = source.head
        return File(name, source, format_of(head)) if head.content else File(name, None, refused="empty")
    except EsxparseError as error:
        return File(name, None, refused=str(error))


def chosen(where: str, files: Sequence[File], requested_format: str | None) -> list[File]:
    """Return the files to read: all of one format.

    Raises:
        UnreadableError: No file fits, the files have several formats, or they are captures of esxtop.
    """
    counts = Counter(one.format for one in files if one.format)
    if requested_format and requested_format not in counts:
        # The requested format cannot be recognised by content: files that no other reader reads count as that format.
        files = [replace(one, format=requested_format) for one in files if one.source and one.format is None]
        counts = Counter({requested_format: len(files)} if files else {})
    kinds: dict[str, int] = {name: count for name, count in counts.items() if name}
    if not kinds and {Path(one.name).parts[0].partition("=")[0] for one in files} >= _LAKE:
        raise UnreadableError(f"{where} is a lake of captures: esxparse lake ls --lake {where}, or ex.lake({where!r})")
    if not kinds:
        what = f"holds {counted(len(files), 'file')} in no format esxparse reads" if files else "is empty"
        raise UnreadableError(f"{where} is a directory, and {what}: name a recording")
    if requested_format in {None, *_OWN} and (own := [one for one in files if one.format in _OWN]):
        # A reply of CounterInfo, which begins like this, has no values.
        first = next((one.name for one in own if one.source and one.source.head.content[:1] != b"|"), own[0].name)
        raise UnreadableError(
            f"{where} is a directory of {_kinds(kinds)}: name a capture in it, such as {first} (each capture of esxtop "
            "is a recording of its own)"
        )
    if len(kinds) > 1 and not requested_format:
        msg = f"{where} is a directory of several formats ({_kinds(kinds)}): choose one with format= (--format)"
        raise UnreadableError(msg)
    return [one for one in files if one.format == (requested_format or next(iter(kinds)))]


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def read(where: str, files: Sequence[File], read_one: Callable[[Source], Recording], limit: int) -> Recording:
    """Return the recordings of files of one format, put together.

    Raises:
        DamagedError: No file can be read.
        TooLargeError: Their tables take more than the limit.
    """
    notes = Notes()
    read_ones: list[tuple[str, Recording]] = []
    parts: dict[str, list[pl.DataFrame]] = {}
    taken = 0
    for one in files:
        if one.source is None:
            continue
        try:
            rec = read_one(one.source)
        except EsxparseError as error:
            why = str(error).removeprefix(one.source.name).lstrip(": ")
            notes.warn(f"{one.name}: {why}: not read")
            continue
        read_ones.append((one.name, rec))
        for name, table in rec.tables.items():
            part = table.collect()
            taken += int(part.estimated_size())
            column = "source_file" if "file" in part.columns else "file"
            parts.setdefault(name, []).append(part.select(pl.lit(one.name).alias(column), pl.all()))
        if taken > limit:
            raise memory.refusal(
                f"{where}: the tables of its first {counted(len(read_ones), 'file')} take {memory.size_text(taken)}",
                limit,
            )
        notes += [replace(note, message=f"{one.name}: {note.message}") for note in rec.notes]
    if not read_ones:
        raise DamagedError(f"{where}: nothing can be read of its {counted(len(files), 'file')}: {notes[0].message}")
    # In one chunk: polars 2.1 panics when it formats filtered text of several chunks.
    tables = {name: pl.concat(found, how="diagonal_relaxed", rechunk=True) for name, found in parts.items()}
    lazy = {name: table.lazy() for name, table in tables.items()}
    return Recording(read_ones[0][1].format, where, lazy, _meta(read_ones), tuple(notes))


def _meta(read_ones: Sequence[tuple[str, Recording]]) -> dict[str, Any]:
    """Return the combined facts of all files."""
    metas = [rec.meta for _, rec in read_ones]
    shared = {
        name: value
        for name, value in metas[0].items()
        if all(name in meta and meta[name] == value for meta in metas[1:])
    }
    starts = [meta["start"] for meta in metas if meta.get("start")]
    ends = [meta["end"] for meta in metas if meta.get("end")]
    samples = [meta["samples"] for meta in metas if meta.get("samples") is not None]
    totals = {"start": min(starts, default=None), "end": max(ends, default=None), "samples": sum(samples) or None}
    known = {name: one for name, one in totals.items() if one is not None}
    return {**shared, **known, "files": {name: dict(rec.meta) for name, rec in read_ones}}


def each(rec: Recording) -> list[Recording]:
    """Return the recordings of the single files of a directory or bundle; otherwise the recording itself."""
    files = rec.meta.get("files")
    if not isinstance(files, dict):
        return [rec]
    return [_of_file(rec, name, meta) for name, meta in files.items()]


def _of_file(rec: Recording, name: str, meta: Mapping[str, Any]) -> Recording:
    tables = {}
    for table, frame in rec.tables.items():
        column = frame.collect_schema().names()[0]
        part = frame.filter(pl.col(column) == name).drop(column).collect()
        if part.height:
            tables[table] = part.rechunk().lazy()
    begin = f"{name}: "
    notes = (
        replace(one, message=one.message.removeprefix(begin)) for one in rec.notes if one.message.startswith(begin)
    )
    return Recording(rec.format, os.path.join(rec.source, name), tables, meta, tuple(notes))  # noqa: PTH118  a URL too


def left_over(files: Iterable[File], used: Iterable[File]) -> list[Note]:
    """Return notes on unread files: unopenable ones, and those in no known format or another one."""
    taken = {one.name for one in used}
    rest = [one for one in files if one.name not in taken]
    refused = [Note(f"{one.name}: not read ({one.refused})", severity="warning") for one in rest if one.refused]
    other = [f"{one.name} ({one.format})" if one.format else one.name for one in rest if not one.refused]
    if not other:
        return refused
    return [*refused, Note(f"not read: {first_few(other, _MOST_NAMES)}")]
