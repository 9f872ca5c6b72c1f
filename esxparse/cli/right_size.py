"""`esxparse right-size`: VMs that have more vCPUs or memory than they use."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from esxparse.cli.output import add_format, add_opening, given_opening, in_shape, warn
from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError

_OF_OTHERS = ("format", "time_column", "value_column")
"""Options of opening that esxtop captures never need."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "right-size",
        help="find VMs with more vCPUs or memory than they use",
        description="Compares the vCPUs that each VM ran at once, and the memory that it touched, with its size, and "
        "suggests a size with its evidence and its risk. Over days, the busiest day decides.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a capture of esxtop; several are judged together")
    parser.add_argument(
        "--lake", metavar="URI", help="judge the captures of a lake: a directory, or s3://bucket/prefix"
    )
    parser.add_argument(
        "--host", action="append", default=[], metavar="NAME", help="only this host of the lake; may be repeated"
    )
    parser.add_argument("--last", metavar="LENGTH", help="only the last 4w (7d, 12h) of the lake")
    add_format(parser, "json", "md", "csv")
    add_opening(parser, but=_OF_OTHERS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Judge the VMs and print the result."""
    inputs = _captures_or_hosts(options)
    from esxparse.sizing.right_size import right_size  # noqa: PLC0415  polars is not for --help

    name = options.lake or " and ".join(Path(one).name for one in options.files)
    with Progress(f"judging {name}"):
        found = right_size(inputs, last=options.last, **given_opening(options))
        text = in_shape(found, options.shape)
    for rec in found.recordings:
        warn(rec.losses())
    print(text)
    return 0


def _captures_or_hosts(options: argparse.Namespace) -> Any:
    """Return the captures, or the hosts of the lake."""
    if bool(options.files) == bool(options.lake):
        raise EsxparseError("give either captures or --lake")
    if options.files:
        if options.host or options.last is not None:
            raise EsxparseError(f"{'--host' if options.host else '--last'} is for lakes: name one with --lake")
        return options.files
    from esxparse.lakes import lake  # noqa: PLC0415

    return lake(options.lake, **({"timeout": options.timeout} if options.timeout else {})).of(*options.host)
