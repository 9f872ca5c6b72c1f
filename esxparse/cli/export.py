"""`esxparse export`: one table of a recording for Excel, Grafana and other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from esxparse.cli.output import add_force, add_opening, given_opening, warn
from esxparse.cli.progress import Progress
from esxparse.recording import counted, printable

_KINDS = ("csv", "parquet", "xlsx", "influx", "openmetrics")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "export",
        help="write a table as CSV, Parquet, Excel, InfluxDB line protocol or OpenMetrics",
        description="Writes one table of a recording, raw or derived (vm, device, host), to a file for other programs. "
        "The ending of the file decides its kind: .csv, .parquet, .xlsx, .lp (InfluxDB line protocol), .om "
        "(OpenMetrics).",
    )
    parser.add_argument("file", metavar="FILE", help="a recording")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    parser.add_argument("--table", metavar="NAME", help="the table; not needed if the recording has only one")
    parser.add_argument("--to", choices=_KINDS, help="the kind of file, whatever its ending")
    add_force(parser)
    add_opening(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no file name")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the table."""
    from esxparse.exports.export import export, kind_of  # noqa: PLC0415  polars is not for --help
    from esxparse.formats.opening import Opening  # noqa: PLC0415
    from esxparse.formats.registry import open_recording  # noqa: PLC0415

    kind = kind_of(options.output, options.to)
    with Progress(f"exporting {Path(options.file).name}", quiet=options.quiet):
        rec = open_recording(options.file, Opening.of(given_opening(options)))
        made = export(rec, options.output, table=options.table, kind=kind, replace=options.force)
    warn(rec.losses())
    if not options.quiet:
        print(printable(f"{made.path}: {counted(made.rows, 'row')} of {made.table}"))
    return 0
