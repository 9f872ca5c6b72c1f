"""`esxparse audit`: configuration against prerequisites and best practice."""

from __future__ import annotations

import argparse

from esxparse.cli.output import FOUND, add_opening, add_shapes, given_opening, place_of, put, warn


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "audit",
        help="check the configuration of a host and its VMs against prerequisites and best practice",
        description="Judges vPMC, NUMA, MMU mode, latency sensitivity, limits, iSCSI, NFS and guests: met, not met or "
        "unknown, with file, line and source (docs/plan.md). Give the files of one host.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=".vmx files, outputs of esxcli and vim-cmd, esxtop captures, esxparse collect vcenter --host",
    )
    parser.add_argument(
        "--connection-server",
        action="append",
        default=[],
        metavar="VM",
        help="a VM that runs View Connection Server; may be repeated",
    )
    parser.add_argument("--fail-on", choices=("not-met",), help="exit with 3 if an item is not met")
    add_shapes(parser)
    add_opening(parser, but=("format",))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Audit, and print or write the result."""
    from esxparse.audits import audit  # noqa: PLC0415  polars is not for --help
    from esxparse.formats.opening import Opening  # noqa: PLC0415
    from esxparse.formats.registry import open_recording  # noqa: PLC0415

    place = place_of(options, options.files)
    left_out: set[str] = set()
    opening = Opening.of(given_opening(options))
    recordings = [open_recording(file, opening, left_out=left_out) for file in options.files]
    for rec in recordings:
        warn(rec.losses())
    found = audit(recordings, connection_servers=options.connection_server)
    put(found, options, place)
    not_met = any(one.status == "not met" for one in found)
    return FOUND if options.fail_on and not_met else 0
