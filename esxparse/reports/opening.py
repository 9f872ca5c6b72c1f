"""How a report opens its recordings: as `esxparse.open` does, with columns named for files that nothing else tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import esxparse
from esxparse.errors import UnknownFormatError

if TYPE_CHECKING:
    from pathlib import Path

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
