"""Recordings that `esxparse convert` wrote: a directory of Parquet files and `recording.json`.

Tables
------
Those of the recording it was made of, with the same columns; the rows of one instance stand together, in the order of
time. Each is a scan: a query reads the columns and the instances it needs.

Source: `esxparse.lake`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from esxparse.errors import DamagedError, UnreadableError
from esxparse.formats import manifest
from esxparse.recording import Recording

if TYPE_CHECKING:
    from pathlib import Path

TITLE = "converted recording"
OPTIONS: frozenset[str] = frozenset()


def inside(folder: Path) -> list[Path]:
    """Directories of the recordings in `folder`: itself, or those in it, unfinished ones left out."""
    if (folder / manifest.NAME).is_file():
        return [folder]
    return sorted(one.parent for one in folder.glob(f"*/{manifest.NAME}") if not one.parent.name.startswith("."))


def recognise_directory(folder: Path) -> bool:
    """Whether there is a converted recording in `folder`."""
    return bool(inside(folder))


def read_directory(folder: Path) -> Recording:
    """The recording in `folder`.

    Raises:
        UnreadableError: There are several.
        DamagedError: Its manifest cannot be read, or a table is missing or cut.
    """
    found = inside(folder)
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        msg = f"{folder} holds {len(found)} recordings: name one as {found[0]} ({names})"
        raise UnreadableError(msg)
    home = found[0]
    content, notes = manifest.read(home)
    tables = {}
    for name, table in content["tables"].items():
        file = home / table["file"]
        if not file.is_file() or file.stat().st_size != table["bytes"]:
            what = "is not there" if not file.is_file() else f"has {file.stat().st_size:,} bytes of {table['bytes']:,}"
            msg = f"{file} {what}: remove {home} and convert the capture again"
            raise DamagedError(msg)
        try:
            tables[name] = pl.scan_parquet(file)
            tables[name].collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            msg = f"{file} is damaged ({str(error).splitlines()[0]}): remove {home} and convert the capture again"
            raise DamagedError(msg) from None
    return Recording(content["format"], content["source"], tables, content["meta"], notes)
