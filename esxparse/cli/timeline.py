"""`esxparse timeline`: how long the steps of an operation took, and when it waited."""

from __future__ import annotations

import argparse
import sys

from esxparse.cli.output import add_format, in_shape
from esxparse.cli.progress import Progress
from esxparse.formats.opening import DATE_ORDERS
from esxparse.recording import printable


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "timeline",
        help="turn tasks and log lines into phases: how long each took, and where it waited",
        description="Reads tasks and events with times (vCenter's task export, a CSV of steps, hostd.log, vobd.log, "
        "vmkernel.log) and shows how long each step took and how long nothing followed, run by run, with what captures "
        "of the hosts show at that time.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a table of tasks or steps, or a log of ESXi")
    parser.add_argument(
        "--capture", action="append", default=[], metavar="CAPTURE", help="a capture of esxtop; may be repeated"
    )
    parser.add_argument("--match", metavar="REGEX", help="only events and lines of logs that match")
    parser.add_argument("--split", metavar="LENGTH", help="begin a new run after a time without events (1h, 30m)")
    parser.add_argument(
        "--zone", metavar="ZONE", help="zone of times without one (+02:00, Europe/Berlin; default: UTC)"
    )
    parser.add_argument("--date-order", choices=DATE_ORDERS, help="order of dates that do not show it")
    add_format(parser, "json", "md", "csv")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the phases."""
    from esxparse.timelines.timeline import timeline  # noqa: PLC0415  polars is not for --help

    with Progress("timeline"):
        found = timeline(
            options.files,
            options.capture,
            match=options.match,
            split=options.split,
            zone=options.zone,
            date_order=options.date_order,
        )
    for source, note in found.notes:
        print(f"esxparse: {printable(f'{source}: {note}')}", file=sys.stderr)
    print(in_shape(found, options.shape))
    return 0
