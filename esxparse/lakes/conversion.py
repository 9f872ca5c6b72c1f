"""Recordings to Parquet: each is written whole or not at all, and existing ones are not written again."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Unpack

import nanoarrow
import polars as pl

from esxparse.counters.catalogue import lookup
from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import esxtop, manifest
from esxparse.formats.names import recording_name
from esxparse.formats.opening import Opening, Options
from esxparse.formats.registry import open_source, own_errors, refuse_foreign, refuse_quoted
from esxparse.formats.source import Source, resolve
from esxparse.formats.unpack import unpacked
from esxparse.lakes import segments
from esxparse.recording import Recording
from esxparse.version import __version__
from esxparse.whole import Scratch, claimed, sha256, short_name

_DIGEST = 12
"""Hexadecimal digits that distinguish shortened names."""

_ROW_GROUP = 256 << 10
"""Rows of a row group: one instance, or a few."""


def file_name(table: str) -> str:
    """Return the file name of a table; names that are too long are shortened, with a digest of the whole.

    >>> file_name("group_cpu"), len(file_name("x" * 300))
    ('group_cpu.parquet', 128)
    """
    short = short_name(table)
    digest = "" if short == table else f"~{hashlib.sha256(table.encode()).hexdigest()[:_DIGEST]}"
    return f"{short[: len(short) - len(digest)]}{digest}.parquet"


def _about(format_name: str, table: str, column: str) -> dict[str, str]:
    counter = lookup(table, column) if format_name == "esxtop" else None
    if counter is None:
        return {}
    facts = {"unit": counter.unit, "counter": counter.batch, "screen": counter.screen}
    return {name: fact for name, fact in facts.items() if fact}


def _schema(format_name: str, table: str, schema: Mapping[str, Any]) -> Any:
    # Not every engine knows polars' text views.
    plain = nanoarrow.c_schema(pl.Schema(schema))
    fields = [
        field.modify(format="U" if field.format == "vu" else None, metadata=_about(format_name, table, field.name))
        for field in plain.children
    ]
    return plain.modify(children=fields)


def sink(frame: pl.LazyFrame, table: str, folder: Path, format_name: str) -> None:
    """Write a table, with units and names of its counters, into a directory."""
    schema = _schema(format_name, table, frame.collect_schema())
    file = folder / file_name(table)
    try:
        frame.sink_parquet(
            file,
            compression="zstd",
            row_group_size=_ROW_GROUP,
            arrow_schema=schema,
            sync_on_close="data",
            engine="streaming",
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise EsxparseError(f"{file} cannot be written: {str(error).splitlines()[0]}") from error


def write_tables(
    tables: Mapping[str, pl.LazyFrame], folder: Path, format_name: str, step: Callable[[int, int, str], None]
) -> None:
    """Write each table."""
    for done, (name, frame) in enumerate(tables.items()):
        step(done, len(tables), name)
        sink(frame, name, folder, format_name)


def _by_instance(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the table with the rows of one instance together, if it has instances."""
    keys = [key for key in ("instance", "time") if key in frame.collect_schema()]
    return frame.sort(keys, maintain_order=True) if "instance" in keys else frame


@dataclass(frozen=True)
class Converted:
    """One recording in a lake."""

    folder: Path
    """Its directory: `esxparse.open` takes it."""
    source: str
    """The file it was made from."""
    tables: int
    rows: int
    bytes: int
    """Size of its Parquet files."""
    source_bytes: int | None
    """Size of the file it was made from."""
    skipped: bool
    """Whether it existed already."""
    next_segment: int | None = None
    """The number of the capture that follows in the file, if one does."""
    others: tuple[Converted, ...] = ()
    """The file's further captures with other columns, each in a directory beside it: `NAME-segment2` and so on."""
    unreadable: tuple[str, ...] = ()
    """Why some of the file's captures were not converted."""


def convert(
    capture: str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    name: str | None = None,
    replace: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
    **opening: Unpack[Options],
) -> Converted:
    """Write a recording as Parquet files, one per table, into a directory of its own below `into`.

    Memory does not grow with the capture. The directory appears when it is complete: leftovers of an interrupted run
    are never taken for a recording, and the next run removes them. An existing recording of the same file, read the
    same way by the same version, is left as it is.

    A file may hold several captures with different columns. Each becomes a recording of its own: the second is
    `NAME-segment2`. With `segment` only that one is converted.

    Args:
        capture: A recording, as for `esxparse.open`.
        into: The directory that holds the recordings; created if it is missing.
        name: Name of the recording's directory; by default the file's, without its ending.
        replace: Whether another recording of that name may be replaced.
        progress: Called before each table is written with (tables done, tables in all, name of the table).
        opening: Options of `esxparse.open`: `start`, `date_order` and the rest.

    Raises EsxparseError: The capture cannot be read, the directory not written, or there is another recording of its
    name.
    """
    lake = Path(into)
    options = Opening.of(opening)
    source = resolve(capture, options.member, timeout=options.timeout, memory_limit=options.memory_limit)
    every = segments.wants_all(opening)
    step = progress or (lambda _done, _total, _table: None)
    source = local(source)

    def work(one: Opening) -> Converted:
        base = name or recording_name(source.name)
        own = base if one.segment is None or (name and not every) else f"{base}-segment{one.segment}"
        return _placed(source, lake, own, one, step, replace=replace)

    (first, *others), unreadable = segments.each(source, options, work, every=every)
    return dataclasses.replace(first, others=tuple(others), unreadable=tuple(unreadable))


def _placed(
    source: Source, lake: Path, name: str, opening: Opening, step: Callable[[int, int, str], None], *, replace: bool
) -> Converted:
    """Write one recording into a directory of that name."""
    if Path(name).name != name or name.startswith("."):
        msg = f"{name!r} is not a valid directory name in {lake}: use one without slashes or a leading dot"
        raise EsxparseError(msg)
    target = lake / name
    made = not lake.exists()
    try:
        lake.mkdir(parents=True, exist_ok=True)
        with claimed(target) as mine:
            if not mine:
                msg = f"{target} is being written by another run: wait for it, or use another name (--name)"
                raise EsxparseError(msg)
            return _convert(source, target, opening, step, replace=replace)
    except OSError as error:
        raise EsxparseError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        if made:
            with suppress(OSError):
                # Only if nothing was written: a directory with content stays.
                lake.rmdir()


def _convert(
    source: Source, target: Path, opening: Opening, step: Callable[[int, int, str], None], *, replace: bool
) -> Converted:
    options = reading(opening)
    with Scratch(_unfinished(target.name), target.parent) as scratch, ThreadPoolExecutor(1) as beside:
        running = beside.submit(_fingerprint, source)
        origin = {"name": source.name, "options": options}
        # Only an existing recording has to be compared before anything is written.
        if target.exists() and (there := _there(target, origin | running.result(), replace=replace)):
            return there
        part = scratch / "tables"
        part.mkdir()
        with tempfile.TemporaryFile(dir=scratch) as aside:
            rec = write_recording(source, part, opening, step, aside)
        _seal(part, rec, origin | running.result())
        _put(part, target)
    return _described(target, skipped=False)


def reading(opening: Opening) -> dict[str, str]:
    """Return the options that affect the content: not the timeout, nor whether numbers stay on disk."""
    return {option: str(value) for option, value in opening.texts().items() if option not in {"lazy", "timeout"}}


def local(source: Source) -> Source:
    """Return a source that can be read more than once: unpacked if necessary."""
    return source if source.path or _file_of(source) else unpacked(source)


def _file_of(source: Source) -> Path | None:
    """Return the file as it lies on the disk; None if it is not a local file."""
    file = source.path or Path(source.where)
    return file if file.is_file() else None


def _fingerprint(source: Source) -> dict[str, Any]:
    """Return bytes and SHA-256 of the file as it lies on the disk; both None if it is not a local file."""
    file = _file_of(source)
    if file is None:
        return {"bytes": None, "sha256": None}
    return {"bytes": file.stat().st_size, "sha256": sha256(file)}


def _there(target: Path, origin: dict[str, Any], *, replace: bool) -> Converted | None:
    """Return the existing recording; None without one, or if it has to be made again."""
    if not target.exists():
        return None
    if not (target / manifest.NAME).is_file():
        raise EsxparseError(f"{target} exists and is not a recording: give another directory, or move it away")
    try:
        content, _ = manifest.read(target)
    except DamagedError:
        return None
    theirs = content["origin"]
    other = theirs["sha256"] != origin["sha256"] or _member(theirs.get("name", "")) != _member(origin["name"])
    if other and not replace:
        raise EsxparseError(
            f"{target} holds another recording, of {theirs.get('name')}: use another name, or replace it with --force"
        )
    same = theirs.get("options") == origin["options"] and content.get("esxparse") == __version__
    same = same and manifest.is_of_now(content)
    whole = all(
        (file := target / table["file"]).is_file() and file.stat().st_size == table["bytes"]
        for table in content["tables"].values()
    )
    return _described(target, skipped=True) if same and whole and not other else None


def _member(name: str) -> list[str]:
    return name.split(":")[1:]


def write_recording(
    source: Source, part: Path, opening: Opening, step: Callable[[int, int, str], None], aside: BinaryIO
) -> Recording:
    """Write the tables of a recording into `part`; `aside` is an empty temporary file, for numbers of large ones."""
    rec = None
    if esxtop.recognise(source.head) and opening.format in {None, "esxtop"}:
        refuse_foreign(esxtop, opening, source.name)
        with own_errors(source.name, esxtop.FORMAT):
            rec = esxtop.read_by_instance(
                source,
                aside,
                opening.window,
                segment=opening.segment or 1,
                date_order=opening.date_order,
                date=opening.date,
                decimal=opening.decimal,
            )
            if rec is not None:
                refuse_quoted(rec, source, opening)
    if rec is None:
        rec = open_source(source, opening)
        rec = dataclasses.replace(rec, tables={name: _by_instance(frame) for name, frame in rec.tables.items()})
    write_tables(rec.tables, part, rec.format, step)
    return rec


def _seal(part: Path, rec: Recording, origin: dict[str, Any]) -> None:
    files = {name: part / file_name(name) for name in rec.tables}
    tables = {
        name: {
            "file": file.name,
            "rows": pl.scan_parquet(file, glob=False).select(pl.len()).collect().item(),
            "bytes": file.stat().st_size,
        }
        for name, file in files.items()
    }
    content = {
        "esxparse": __version__,
        "layout": manifest.LAYOUT,
        "format": rec.format,
        "source": rec.source,
        "origin": origin,
        "meta": dict(rec.meta),
        "tables": tables,
    }
    manifest.write(part, content, rec.notes)


def _put(part: Path, target: Path) -> None:
    """Put a complete recording in its place; only then is an existing one removed."""
    if target.exists():
        target.rename(part.with_name("replaced"))
    part.rename(target)


def _described(target: Path, *, skipped: bool) -> Converted:
    content, _ = manifest.read(target)
    tables = content["tables"].values()
    return Converted(
        folder=target,
        source=content["source"],
        tables=len(tables),
        rows=sum(table["rows"] for table in tables),
        bytes=sum(table["bytes"] for table in tables),
        source_bytes=content["origin"]["bytes"],
        skipped=skipped,
        next_segment=content["meta"].get("next_segment"),
    )


def _unfinished(name: str) -> str:
    """Return the beginning of names of working directories for a recording, by which leftovers are found."""
    return f".{short_name(name)}.unfinished-"
