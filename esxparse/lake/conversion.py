"""Convert recordings to Parquet: each is written whole or not at all, and what was written is not written again."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

import esxparse
from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import manifest
from esxparse.formats.esxtop import read_in_place, recognise
from esxparse.formats.registry import open_source, opening_options
from esxparse.formats.source import read_up_to, resolve
from esxparse.formats.unpack import unpacked
from esxparse.formats.window import window
from esxparse.lake.write import write_in_place, write_tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from esxparse.formats.source import Source
    from esxparse.recording import Recording

_PACKED: Final = re.compile(r"\.(?:gz|bz2|xz|zst|zip|tgz|tar)$", re.IGNORECASE)
_UNFIT: Final = re.compile(r"[^\w .@+=-]+")
_HEAD: Final = 1 << 20
_OPENING: Final = ("segment", "date_order", "time_column", "value_column")


@dataclass(frozen=True)
class Converted:
    """One recording in a lake."""

    folder: Path
    """Its directory: `esxparse.open` takes it."""
    tables: int
    rows: int
    bytes: int
    """Of its Parquet files."""
    source_bytes: int | None
    """Of the file it was made of."""
    skipped: bool
    """It was there already."""


def convert(
    capture: str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    name: str | None = None,
    start: str | datetime | None = None,
    end: str | datetime | None = None,
    every: str | timedelta | None = None,
    segment: int = 1,
    date_order: Literal["mdy", "dmy", "ymd"] | None = None,
    format: str | None = None,  # noqa: A002  the word that `esxparse.open` has
    time_column: str | None = None,
    value_column: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Converted:
    """Writes a recording as Parquet files, one per table, into a directory of its own below `into`.

    Memory does not grow with the capture. The directory appears when it is complete: what an interrupted run leaves is
    never taken for a recording, and is cleared by the next run. A recording that is there already, of the same file,
    read the same way by the same version, is left as it is.

    Args:
        capture: What `esxparse.open` takes.
        into: The directory that holds the recordings; made where it is missing.
        name: Name of the recording's directory; by default the file's, without its ending.
        start: Leave out samples before this time, as in `esxparse.open`.
        end: Leave out samples after this time.
        every: Keep the first sample of each period of this length.
        segment: Which capture, where a file holds several.
        date_order: Of dates that a spreadsheet saved.
        format: Read it with the reader of this name.
        time_column: Which column holds the time, where nothing else tells.
        value_column: Which column holds the watts, or the results.
        progress: Called before each table is written with (tables done, tables in all, name of the table).

    Raises:
        EsxparseError: The capture cannot be read, the directory not written, or there is another recording of its name.
    """
    lake = Path(into)
    source = resolve(capture)
    options = {
        "start": start,
        "end": end,
        "every": every,
        "segment": segment,
        "date_order": date_order,
        "format": format,
        "time_column": time_column,
        "value_column": value_column,
    }
    name = name or recording_name(source.name)
    target = lake / name
    made = not lake.exists()
    try:
        lake.mkdir(parents=True, exist_ok=True)
        _clear_unfinished(lake, name)
        return _convert(source, target, options, progress or (lambda _done, _total, _table: None))
    except OSError as error:
        msg = f"{target} cannot be written: {error.strerror or error}"
        raise EsxparseError(msg) from error
    finally:
        if made:
            with suppress(OSError):
                # Only where nothing came of it: a directory that holds something stays.
                lake.rmdir()


def _convert(source: Source, target: Path, options: dict[str, Any], step: Callable[[int, int, str], None]) -> Converted:
    asked = {option: str(value) for option, value in options.items() if value is not None and value != ""}
    with tempfile.TemporaryDirectory(prefix=_unfinished(target.name), dir=target.parent) as scratch:
        origin = {"name": source.name, "options": asked, **_fingerprint(source)}
        if origin["sha256"] and (there := _there(target, origin)):
            return there
        local = source if source.path else unpacked(source)
        if not origin["sha256"]:
            origin |= _fingerprint(local)
            if there := _there(target, origin):
                return there
        part = Path(scratch, "tables")
        part.mkdir()
        rec = _write(local, part, options, step)
        _seal(part, rec, origin)
        _put(part, target)
    return _described(target, skipped=False)


def recording_name(source: str) -> str:
    """The name that a recording of `source` gets: that of its file, without folders and endings.

    >>> recording_name("vm-support.tgz:var/log/night shift.csv.gz")
    'night shift'
    """
    last = re.split(r"[/\\:]", source)[-1]
    while _PACKED.search(last):
        last = _PACKED.sub("", last)
    stem = last.rsplit(".", 1)[0] if "." in last.lstrip(".") else last
    return _UNFIT.sub("_", stem).strip(" .") or "capture"


def _fingerprint(source: Source) -> dict[str, Any]:
    """Bytes and SHA-256 of the file as it lies on the disk; both null where it is no local file."""
    file = Path(source.where)
    if source.path is not None:
        file = source.path
    if not file.is_file():
        return {"bytes": None, "sha256": None}
    with file.open("rb") as stream:
        return {"bytes": file.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def _there(target: Path, origin: dict[str, Any]) -> Converted | None:
    """The recording that is there already; None where there is none, or one that has to be made again."""
    if not target.exists():
        return None
    if not (target / manifest.NAME).is_file():
        msg = f"{target} is there and no recording: give another directory, or move it away"
        raise EsxparseError(msg)
    try:
        content, _ = manifest.read(target)
    except DamagedError:
        return None
    theirs = content["origin"]
    if theirs["sha256"] != origin["sha256"] or theirs.get("name", "").split(":")[1:] != origin["name"].split(":")[1:]:
        msg = f"{target} holds another recording, of {theirs.get('name')}: remove it, or give this one another name"
        raise EsxparseError(msg)
    same = theirs.get("options") == origin["options"] and content.get("esxparse") == esxparse.__version__
    whole = all(
        (file := target / table["file"]).is_file() and file.stat().st_size == table["bytes"]
        for table in content["tables"].values()
    )
    return _described(target, skipped=True) if same and whole else None


def _write(source: Source, part: Path, options: dict[str, Any], step: Callable[[int, int, str], None]) -> Recording:
    bounds = window(options["start"], options["end"], options["every"])
    with source.open() as stream:
        is_esxtop = recognise(read_up_to(stream, _HEAD))
    if is_esxtop and not options["format"] and (found := read_in_place(source, bounds, segment=options["segment"])):
        rec, tables = found
        write_in_place(tables, part, step)
        return rec
    rec = open_source(source, bounds, options["format"], opening_options(**{name: options[name] for name in _OPENING}))
    write_tables(rec.tables, part, rec.format, step)
    return rec


def _seal(part: Path, rec: Recording, origin: dict[str, Any]) -> None:
    files = {name: part / f"{name}.parquet" for name in rec.tables}
    tables = {
        name: {
            "file": file.name,
            "rows": pl.scan_parquet(file).select(pl.len()).collect().item(),
            "bytes": file.stat().st_size,
        }
        for name, file in files.items()
    }
    content = {
        "esxparse": esxparse.__version__,
        "format": rec.format,
        "source": rec.source,
        "origin": origin,
        "meta": dict(rec.meta),
        "tables": tables,
    }
    manifest.write(part, content, rec.notes)


def _put(part: Path, target: Path) -> None:
    """Puts a complete recording in its place; one that is there goes only when this one is complete."""
    if target.exists():
        target.rename(part.with_name("replaced"))
    part.rename(target)


def _described(target: Path, *, skipped: bool) -> Converted:
    content, _ = manifest.read(target)
    tables = content["tables"].values()
    return Converted(
        folder=target,
        tables=len(tables),
        rows=sum(table["rows"] for table in tables),
        bytes=sum(table["bytes"] for table in tables),
        source_bytes=content["origin"]["bytes"],
        skipped=skipped,
    )


def _unfinished(name: str) -> str:
    """What the names of this process's working directories for a recording begin with."""
    return f".{name}.unfinished-{_host()}-{os.getpid()}-"


def _host() -> str:
    return _UNFIT.sub("_", socket.gethostname()).replace("-", "_")


def _clear_unfinished(lake: Path, name: str) -> None:
    """Removes what runs on this host that were killed have left."""
    for left in lake.glob(f".{_escaped(name)}.unfinished-{_host()}-*"):
        process = left.name.rsplit("-", 2)[1]
        if process.isdecimal() and not _runs(int(process)):
            shutil.rmtree(left, ignore_errors=True)


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _runs(process: int) -> bool:
    if os.name != "posix":
        # Asking there would end the process.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
