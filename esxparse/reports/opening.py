"""How a report opens its recordings: as `esxparse.open` does, with columns named for files that nothing else tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import esxparse
from esxparse.errors import EsxparseError, UnknownFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.recording import Recording


def opened(path: str | Path, time_column: str = "", value_column: str = "", **options: Any) -> Recording:
    """The recording at `path`; the columns are of a meter's CSV, and mean nothing to other files.

    Args:
        path: A recording.
        time_column: Which column of a CSV that nothing else tells holds the time.
        value_column: Which column holds the watts.
        options: Others of `esxparse.open`.

    Raises:
        EsxparseError: It cannot be read.
    """
    named = {"time_column": time_column, "value_column": value_column}
    columns: dict[str, Any] = {name: column for name, column in named.items() if column}
    try:
        rec = esxparse.open(path, **options)
    except UnknownFormatError:
        if not columns:
            raise
        return esxparse.open(path, format="power_csv", **columns, **options)
    if columns and rec.format == "power_csv":
        return esxparse.open(path, format="power_csv", **columns, **options)
    return rec


def opened_all(
    paths: Sequence[str | Path], formats: Sequence[str], time_column: str = "", value_column: str = ""
) -> tuple[Recording, ...]:
    """The recordings of a report that reads these formats.

    Raises:
        EsxparseError: One cannot be read, or is of another format.
    """
    recordings = tuple(opened(path, time_column, value_column) for path in paths)
    other = next((rec for rec in recordings if rec.format not in formats), None)
    if other is not None:
        msg = f"{other.source} is {other.format}: this report reads {', '.join(formats)}"
        raise EsxparseError(msg)
    return recordings


def names(recordings: Sequence[Recording]) -> list[str]:
    """A name of each recording, different for all: the file's without its ending, or else the whole path."""
    stems = [Path(rec.source).stem for rec in recordings]
    return stems if len(set(stems)) == len(stems) else [rec.source for rec in recordings]
