"""Recordings that `esxparse convert` wrote: a directory of Parquet files and `recording.json`.

Tables
------
The tables of the original recording, with the same columns. The rows of one instance are together, in the order of
time. Each table is a scan: a query reads the columns and the instances it needs.

Source: `esxparse.lakes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from esxparse.errors import DamagedError, UnreadableError
from esxparse.formats import manifest
from esxparse.formats.unchanged import Opened
from esxparse.recording import Note, Recording

TITLE = "converted recording"


def inside(folder: Path) -> list[Path]:
    """Return the directories of the recordings in `folder`: itself, or its subdirectories, without unfinished ones."""
    if (folder / manifest.NAME).is_file():
        return [folder]
    return sorted(one.parent for one in folder.glob(f"*/{manifest.NAME}") if not one.parent.name.startswith("."))


def recognise_directory(folder: Path) -> bool:
    """Return whether `folder` holds a converted recording."""
    return bool(inside(folder))


def _scan(file: Path) -> pl.LazyFrame:
    """Return the table in a Parquet file, which must not change while the table is in use."""
    opened = Opened.of(file, file.stat())

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        opened.check()
        frame = pl.scan_parquet(file, glob=False)
        frame = frame if predicate is None else frame.filter(predicate)
        frame = frame if with_columns is None else frame.select(with_columns)
        frame = frame if n_rows is None else frame.head(n_rows)
        try:
            yield from frame.collect_batches(maintain_order=True)
        except (pl.exceptions.PolarsError, OSError) as error:
            # If it was replaced meanwhile, report that instead.
            opened.check()
            raise DamagedError(f"{file} cannot be read: {str(error).splitlines()[0]}") from error
        opened.check()

    try:
        schema = pl.read_parquet_schema(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        why = str(error).splitlines()[0]
        raise DamagedError(f"{file} is damaged ({why}): remove {file.parent} and convert the capture again") from error
    return register_io_source(read, schema=schema, is_pure=True)


def read_directory(folder: Path) -> Recording:
    """Return the recording in `folder`.

    Raises:
        UnreadableError: There are several.
        DamagedError: Its manifest cannot be read, or a table is missing or cut.
    """
    found = inside(folder)
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise UnreadableError(f"{folder} holds {len(found)} recordings: name one, such as {found[0]} ({names})")
    home = found[0]
    content, notes = manifest.read(home)
    tables = {}
    for name, table in content["tables"].items():
        file = home / table["file"]
        if not file.is_file() or file.stat().st_size != table["bytes"]:
            what = "is not there" if not file.is_file() else f"has {file.stat().st_size:,} bytes of {table['bytes']:,}"
            raise DamagedError(f"{file} {what}: remove {home} and convert the capture again")
        tables[name] = _scan(file)
    if not manifest.is_of_now(content):
        message = "converted by an esxparse whose numbers differ from this one's: convert the capture again"
        notes = (*notes, Note(message, severity="warning"))
    return Recording(content["format"], content["source"], tables, content["meta"], notes)
