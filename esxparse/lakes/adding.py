"""Adding a capture to a lake: tables as Parquet by date and host, then the catalogue entry that makes them valid."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import manifest
from esxparse.formats.opening import Opening
from esxparse.formats.registry import reader_of, recognising
from esxparse.formats.source import Source, resolve
from esxparse.lakes import entries, segments
from esxparse.lakes.conversion import file_name, local, reading, sink, write_recording
from esxparse.lakes.store import Store
from esxparse.locations import is_url
from esxparse.recording import Recording
from esxparse.version import __version__
from esxparse.whole import Scratch, sha256

PARTITIONS: Final = ("table", "date", "host")
_PIECE: Final = 1 << 20
_NOT_READ: Final = frozenset({"member", "memory_limit"})


@dataclass(frozen=True)
class Job:
    """A capture to add."""

    capture: str
    store: Store
    host: str | None = None
    """Overrides the host in the capture."""
    replace: bool = False
    """Whether to replace a capture of another host, or read with other options."""
    opening: Mapping[str, Any] = field(default_factory=dict)
    """Options of `esxparse.open`, as text."""
    every: bool = True
    """Whether to add all captures of a file that holds several with different columns."""


@dataclass(frozen=True)
class Added:
    """A capture in a lake."""

    id: str
    host: str
    source: str
    tables: int
    rows: int
    bytes: int
    """Size of its Parquet files."""
    source_bytes: int
    """Size of the capture, unpacked."""
    skipped: bool
    """Whether it was in the lake already."""
    next_segment: int | None = None
    """The number of the capture that follows in the file, if one does."""


def add(job: Job) -> tuple[list[Added], list[str]]:
    """Add the captures of a file; return the captures, and why some failed; existing captures stay as they are.

    Raises:
        EsxparseError: All captures are unreadable or have no host, all are in the lake with another host or other
            options, or the lake cannot be written.
    """
    opening = Opening.of(job.opening)
    source = local(resolve(job.capture, opening.member, timeout=opening.timeout, memory_limit=opening.memory_limit))
    content = _content(source)
    return segments.each(source, opening, lambda one: _add(job, source, content, one), every=job.every)


def _add(job: Job, source: Source, whole: tuple[str, int], opening: Opening) -> Added:
    """Add one capture of a file; `whole` is the SHA-256 of the file's content and its size in bytes."""
    content, size = whole
    key = entries.id_of(content, opening.segment)
    options = {name: value for name, value in reading(opening).items() if name not in _NOT_READ}
    try:
        there = entries.find(job.store, key)
    except DamagedError:
        if not job.replace:
            raise
        there = None
    if there is not None and _holds(there, job, options):
        return _added(there, skipped=True)
    with Scratch() as scratch, tempfile.TemporaryFile(dir=scratch) as aside:
        part = scratch / "tables"
        part.mkdir()
        rec = write_recording(source, part, opening, lambda _done, _total, _table: None, aside)
        origin = {"name": rec.source, "sha256": content, "bytes": size, "options": options}
        host = entries.host_of(job.host, rec.meta.get("host"), rec.source)
        entry = _stored(rec, part, job.store, key, host, origin)
    if not job.store.put(entry.path, entry.encoded(), replace=job.replace or there is not None):
        # Another writer was quicker, or a store lost its answer to us and was asked twice: then these files count.
        other = entries.find(job.store, key)
        job.store.remove(entry.paths - (other.paths if other else set()))
        if other is not None:
            _holds(other, job, options)
        return _added(other or entry, skipped=other is None or other.paths != entry.paths)
    if there is not None:
        job.store.remove(there.paths)
    return _added(entry, skipped=False)


def _content(source: Source) -> tuple[str, int]:
    """Return the SHA-256 of the content, unpacked, and its bytes."""
    digest, size = hashlib.sha256(), 0
    with source.open() as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


def _holds(there: entries.Entry, job: Job, options: Mapping[str, str]) -> bool:
    """Return whether an entry already holds the job's capture; False if it has to be made again."""
    other_host = job.host is not None and job.host != there.host
    if (other_host or there.origin["options"] != options) and not job.replace:
        what = f"as of host {there.host}" if other_host else "read with other options"
        raise EsxparseError(f"{job.capture} is in the lake already, {what} ({there.id}): replace it with --force")
    return not job.replace and there.is_of_now


def _stored(rec: Recording, part: Path, store: Store, key: str, host: str, origin: dict[str, Any]) -> entries.Entry:
    """Put the tables of a recording into the lake; return the entry for them.

    No other run ever writes a file of the same name, so removing the files of an entry never removes other files.
    """
    stem = f"{key}-{secrets.token_hex(8)}"
    tables: dict[str, Any] = {}
    pieces: dict[str, Path] = {}
    for name in rec.tables:
        file = part / file_name(name)
        schema = pl.read_parquet_schema(file)
        if taken := set(PARTITIONS) & set(schema):
            raise EsxparseError(
                f"{rec.source}: table {name} has a column {min(taken)!r}, which a lake has of its own: "
                "use esxparse convert for this recording"
            )
        table = name if rec.format == "esxtop" else f"{rec.format}.{name}"
        files = []
        for date, piece in _dates(file, name, rec, schema):
            path = f"table={table}/date={date}/host={host}/{stem}.parquet"
            pieces[path] = piece
            rows = pl.scan_parquet(piece, glob=False).select(pl.len()).collect().item()
            size = piece.stat().st_size
            files.append({"path": path, "date": date, "rows": rows, "bytes": size, "sha256": sha256(piece)})
        columns = {column: entries.name_of(kind, f"{name}.{column}") for column, kind in schema.items()}
        tables[table] = {
            "rows": sum(one["rows"] for one in files),
            "bytes": sum(one["bytes"] for one in files),
            "columns": columns,
            "files": files,
        }
    # Only once the lake is known to be able to hold all of them.
    for path, piece in pieces.items():
        store.put(path, piece, replace=True)
    return entries.Entry(
        id=key,
        host=host,
        format=rec.format,
        source=rec.source,
        origin=origin,
        meta=dict(rec.meta),
        tables=tables,
        layout=manifest.LAYOUT,
        esxparse=__version__,
        notes=rec.notes,
    )


def _dates(file: Path, table: str, rec: Recording, schema: Mapping[str, Any]) -> list[tuple[str, Path]]:
    """Return the file of a table by date (UTC): itself, or parts of it if a capture goes past midnight."""
    frame = pl.scan_parquet(file, glob=False)
    start = rec.meta.get("start")
    # Rows without a time belong to the day the capture began.
    day = pl.col("time").dt.date() if "time" in schema else pl.lit(None, pl.Date)
    day = day.fill_null(pl.lit(start.date() if start else None, pl.Date))
    dates = sorted(frame.select(day.alias("date").unique()).collect()["date"].drop_nulls().to_list())
    if len(dates) == 1:
        return [(str(dates[0]), file)]
    if not dates and frame.select(pl.len()).collect().item():
        takes = "date" in reader_of(rec.format).options
        todo = "give it with --date" if takes else "a lake cannot hold them; use esxparse convert for this recording"
        raise EsxparseError(f"{rec.source}: table {table} has rows without a date: {todo}")
    pieces = []
    for date in dates:
        folder = file.parent / str(date)
        folder.mkdir(exist_ok=True)
        sink(frame.filter(day == date), table, folder, rec.format)
        pieces.append((str(date), folder / file.name))
    return pieces


def _added(entry: entries.Entry, *, skipped: bool) -> Added:
    tables = entry.tables.values()
    return Added(
        id=entry.id,
        host=entry.host,
        source=entry.source,
        tables=len(tables),
        rows=sum(one["rows"] for one in tables),
        bytes=sum(one["bytes"] for one in tables),
        source_bytes=entry.origin["bytes"],
        skipped=skipped,
        next_segment=entry.meta.get("next_segment"),
    )


def found(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return captures to add, and files that are not captures; directories are searched with all below them."""
    captures: list[str] = []
    left_out: list[str] = []
    for path in paths:
        if is_url(path) or not Path(path).is_dir():
            captures.append(path)
            continue
        for file in sorted(Path(path).rglob("*")):
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
                (captures if _is_recording(file) else left_out).append(str(file))
    if not captures:
        raise EsxparseError(f"{', '.join(paths)}: there is nothing to add")
    return list(dict.fromkeys(captures)), left_out


def _is_recording(file: Path) -> bool:
    try:
        head = resolve(file).head
    except EsxparseError:
        return True  # adding it reports the mistake
    # An unreadable .csv is a damaged capture rather than a foreign file.
    return recognising(head) is not None or ".csv" in file.suffixes
