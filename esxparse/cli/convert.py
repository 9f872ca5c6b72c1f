"""`esxparse convert`: recordings as Parquet."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from esxparse.cli.output import (
    add_crew,
    add_force,
    add_opening,
    counted_segments,
    each_on,
    fail,
    given_crew,
    given_opening,
    path_for,
)
from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError
from esxparse.formats.opening import Options
from esxparse.recording import counted, printable

if TYPE_CHECKING:
    from esxparse.lakes import Converted

_DESCRIPTION = """Writes each recording as Parquet files, one per table, into a directory of its own below DIR, with
where it came from beside them. `esxparse info DIR/NAME`, reports and esxparse.open read that directory like the
capture, in a fraction of the time. A recording appears only when complete; an existing one is not converted again. If
the columns of a capture change, each segment becomes a recording: NAME, NAME-segment2 and so on."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "convert",
        help="write recordings as Parquet files that open instantly",
        description=_DESCRIPTION,
    )
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="a raw recording; - is standard input")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory to write the recordings to")
    parser.add_argument("--name", metavar="NAME", help="name of the recording's directory (default: the file's)")
    add_force(parser)
    add_crew(parser)
    add_opening(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no directory names")
    parser.set_defaults(run=run)


def _megabytes(size: int | None) -> str:
    return "?" if size is None else f"{size / 1e6:,.1f} MB"


def _converted_text(made: Converted) -> str:
    if made.skipped:
        return f"{made.folder}: already converted"
    sizes = f"{_megabytes(made.source_bytes)} to {_megabytes(made.bytes)}"
    return f"{made.folder}: {counted(made.tables, 'table')}, {counted(made.rows, 'row')}, {sizes}"


def _checked_names(options: argparse.Namespace) -> None:
    from esxparse.formats.names import recording_name  # noqa: PLC0415  asyncio is not for --help

    names = [options.name or recording_name(capture) for capture in options.captures]
    same = sorted({name for name in names if names.count(name) > 1})
    if same:
        hint = "--name is for one capture" if options.name else "convert them one at a time, each with a --name"
        raise EsxparseError(f"several captures would be written to {options.output}/{same[0]}: {hint}")


@dataclass(frozen=True)
class _Job:
    capture: str
    output: str
    name: str | None
    force: bool
    opening: Options
    label: str = ""
    """Label of a progress line in this process; empty for none."""


def _converted(job: _Job) -> Converted:
    from esxparse.lakes import convert  # noqa: PLC0415  polars is not for --help

    with Progress(job.label, quiet=not job.label) as progress:
        return convert(job.capture, job.output, name=job.name, replace=job.force, progress=progress, **job.opening)


def run(options: argparse.Namespace) -> int:
    """Convert each recording; go on after one that fails."""
    _checked_names(options)
    opening, crew = given_opening(options), given_crew(options)
    total = len(options.captures)
    quiet = options.quiet or crew.elsewhere
    output = path_for(crew, options.output)
    jobs = [
        _Job(
            path_for(crew, capture),
            output,
            options.name,
            options.force,
            opening,
            "" if quiet else f"{number} of {total}",
        )
        for number, capture in enumerate(options.captures, 1)
    ]

    unreadable: list[str] = []

    def tell(made: Converted) -> None:
        recordings = [made, *made.others]
        if not options.quiet:
            for one in recordings:
                print(printable(_converted_text(one)))
        if several := counted_segments([made.source] * len(recordings)):
            print(printable(several), file=sys.stderr)
        unreadable.extend(made.unreadable)
        for why in made.unreadable:
            fail(EsxparseError(why))

    return each_on(crew, jobs, options.captures, _converted, tell) or (1 if unreadable else 0)
