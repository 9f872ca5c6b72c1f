"""`ex.export`: one table of a recording as a file for another program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple, Unpack

from esxparse.errors import EsxparseError, choose_from
from esxparse.exports.files import csv_lines, write_excel, write_parquet
from esxparse.exports.series import influx_lines, openmetrics_lines
from esxparse.exports.table import Table, chosen_table
from esxparse.formats.opening import Opening, Options
from esxparse.formats.registry import open_recording
from esxparse.recording import Recording
from esxparse.target import Target, target

KINDS: Final = {
    "csv": (".csv",),
    "parquet": (".parquet",),
    "xlsx": (".xlsx",),
    "influx": (".lp", ".line"),
    "openmetrics": (".om", ".openmetrics"),
}
"""The kinds of files, and the endings of their names."""
_LINES: Final = {"csv": csv_lines, "influx": influx_lines, "openmetrics": openmetrics_lines}


class Exported(NamedTuple):
    """A file that was written: where, of which table, with how many rows."""

    path: Path
    table: str
    rows: int


def export(
    given: str | os.PathLike[str] | Recording,
    output: str | os.PathLike[str],
    *,
    table: str | None = None,
    kind: str | None = None,
    replace: bool = True,
    **opening: Unpack[Options],
) -> Exported:
    """Write a table of a recording to one file, for Excel, Grafana and other programs.

    Args:
        given: A path or URL, or a recording.
        output: The file. It appears when it is complete.
        table: A table of the recording, raw or derived (`vm`); not needed if there is only one.
        kind: csv, parquet, xlsx (units in the header), influx (line protocol, time in ns) or openmetrics (gauges, time
            in s); by default by the ending of the file: .csv, .parquet, .xlsx, .lp, .om.
        replace: Whether an existing file may be replaced; an input never is.
        opening: Options of `ex.open`, if `given` is a path.

    Raises:
        EsxparseError: The recording cannot be read or has no such table, influx or openmetrics is asked of a table
            without timestamps, the table is too large for Excel, or the file cannot be written.
    """
    chosen = kind_of(output, kind)
    path = given.source if isinstance(given, Recording) else given
    out = target(output, [path], replace=replace)
    rec = given if isinstance(given, Recording) else open_recording(given, Opening.of(opening))
    found = chosen_table(rec, table)
    _write(found, chosen, out)
    return Exported(out.path, found.name, found.height)


def kind_of(output: str | os.PathLike[str], kind: str | None = None) -> str:
    """The kind of file to write.

    Raises EsxparseError: There is no such kind, or none has the ending of that file.
    """
    if kind is not None and kind not in KINDS:
        raise EsxparseError(f"no kind of file {kind!r}: {choose_from(kind, KINDS)}")
    ending = Path(output).suffix.lower()
    found = kind or next((name for name, endings in KINDS.items() if ending in endings), None)
    if found is None:
        known = ", ".join(ending for endings in KINDS.values() for ending in endings)
        raise EsxparseError(f"{os.fspath(output)} must end in {known}, or choose the kind of file with --to")
    return found


def _write(table: Table, kind: str, out: Target) -> None:
    if kind in {"influx", "openmetrics"}:
        table.need_time(kind)
    with out.open() as file:
        if kind == "parquet":
            write_parquet(table, file)
        elif kind == "xlsx":
            write_excel(table, file)
        else:
            for part in _LINES[kind](table):
                file.write(part)
