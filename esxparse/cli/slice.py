"""`esxparse slice`: a part of a capture as a smaller capture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from esxparse.cli.output import add_force, add_opening, given_opening
from esxparse.cli.progress import Progress
from esxparse.recording import counted, printable

_DESCRIPTION = """Writes the part of an esxtop capture that is asked for as a smaller capture, which esxparse, esxplot,
Perfmon and spreadsheets read. A column is kept if it matches one value of each of the given options: --table, --vm,
--instance and --counter. Cells keep their text. Memory does not grow with the file."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "slice",
        help="write part of a capture, by time, table, VM, instance or counter",
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "capture", metavar="CAPTURE", help="an esxtop capture, plain or compressed; - is standard input"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the smaller capture; - is standard output"
    )
    for name, metavar, text in (
        ("table", "NAME", "tables or objects to keep: vcpu, 'Group Cpu'"),
        ("vm", "NAME", "VMs to keep: their group, worlds, virtual disks, ports and per-device I/O"),
        ("instance", "REGEX", "instances to keep: a regular expression matched against the text in parentheses"),
        ("counter", "NAME", "counters to keep, in every table that has them: %%RDY, '%% Ready' or pct_ready"),
    ):
        parser.add_argument(f"--{name}", metavar=metavar, nargs="+", action="extend", default=[], help=text)
    parser.add_argument(
        "--keep-host",
        action="store_true",
        help="keep memory, load, physical CPUs, NUMA nodes and power of the host too, whatever else is asked for",
    )
    add_force(parser)
    add_opening(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no summary, only warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the slice, report anomalies on stderr, and print a summary."""
    from esxparse.formats.esxtop.slice import slice_capture  # noqa: PLC0415  numpy and polars are not for --help

    to_stdout = options.output == "-"
    if to_stdout and sys.__stdout__ is None:
        print("esxparse: standard output is closed: give a file with -o", file=sys.stderr)
        return 1
    name = "standard output" if to_stdout else options.output
    with Progress(Path(name).name, quiet=options.quiet) as progress:
        sliced = slice_capture(
            options.capture,
            sys.stdout.buffer if to_stdout else options.output,
            tables=options.table,
            vms=options.vm,
            instances=options.instance,
            counters=options.counter,
            keep_host=options.keep_host,
            replace=options.force,
            progress=progress,
            **given_opening(options),
        )
    for note in sliced.notes:
        if note.severity == "warning" or not options.quiet:
            print(f"esxparse: {printable(str(note))}", file=sys.stderr)
    if not options.quiet:
        summary = f"{printable(name)}: {counted(sliced.columns, 'column')}, {counted(sliced.samples, 'sample')}"
        print(summary, file=sys.stderr if to_stdout else sys.stdout)
    return 0
