"""`esxparse study`: many runs, one manifest."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from esxparse.cli.output import add_crew, add_force, given_crew
from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError
from esxparse.recording import Note, counted, first_few, printable

if TYPE_CHECKING:
    import polars as pl

    from esxparse.studies import Study

_DESCRIPTION = """A study is many runs described in a manifest, study.toml: the labels and files of each run, the part
to measure, and the baseline that the others are compared with. docs/study.md describes the manifest."""

_COLUMNS = "Lists every column that the runs of a study can have: unit, file needed, meaning, source of the formula."
_LEFT_OUT = 8
_LIMIT = re.compile(r"\s*([^\W\d]\w*)\s*<=?\s*(\d+(?:\.\d+)?)\s*")
_KINDS = (".csv", ".parquet", ".html")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("study", help="compare the runs described in a manifest", description=_DESCRIPTION)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, help="study command")

    check = actions.add_parser(
        "check",
        help="check a manifest and report problems with line numbers",
        description="Reads a manifest, opens the files of each run and finds its measured span; computes nothing. "
        "Reports every problem with its line in the manifest.",
    )
    check.add_argument("file", metavar="FILE", help="study.toml, or its directory")
    _add_outside(check)
    check.add_argument("-q", "--quiet", action="store_true", help="print problems only")
    check.set_defaults(run=run_check)

    new = actions.add_parser(
        "new",
        help="draft a manifest for a directory of files",
        description="Drafts a study.toml for the files below a directory, for you to edit.",
    )
    new.add_argument("directory", metavar="DIR", help="directory with the files")
    add_force(new)
    new.set_defaults(run=run_new)

    columns = actions.add_parser("columns", help="list the columns of a study's runs", description=_COLUMNS)
    columns.add_argument("word", metavar="WORD", nargs="?", default="", help="only columns whose line has this text")
    columns.set_defaults(run=run_columns)

    compute = actions.add_parser(
        "run",
        help="compute the runs, print them, write them as CSV, Parquet or HTML",
        description="Computes one row for each run and prints the main columns. Exit code 1: a run is incomplete.",
    )
    compute.add_argument("file", metavar="FILE", help="study.toml, or its directory")
    compute.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        action="append",
        default=[],
        help="write the runs here, by the ending: .csv, .parquet, .html (a table for publication); may be repeated",
    )
    instead = compute.add_mutually_exclusive_group()
    instead.add_argument(
        "--compare", metavar="COLUMN", help="print this column of each run divided by its baseline, instead of the runs"
    )
    instead.add_argument(
        "--scaling",
        metavar="COLUMN",
        help="print how this column scales against a straight line through the smallest load, instead of the runs",
    )
    instead.add_argument(
        "--largest-load",
        metavar="COLUMN<=LIMIT",
        action="append",
        default=[],
        help="print the largest load within this limit, interpolated, instead of the runs; may be repeated",
    )
    compute.add_argument(
        "--load", metavar="LABEL", help="label that --scaling and --largest-load sweep (default: the axis)"
    )
    compute.add_argument("--allow", action="store_true", help="compare runs even if their files fail the quality check")
    add_force(compute)
    add_crew(compute)
    _add_outside(compute)
    compute.add_argument("-q", "--quiet", action="store_true", help="print no progress and no table, only warnings")
    compute.set_defaults(run=run_study)


def _add_outside(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-outside", action="store_true", help="allow URLs and files outside the manifest's directory"
    )


def _say(notes: Iterable[Note], path: Path, *, quiet: bool) -> int:
    warnings = 0
    for note in notes:
        warnings += note.severity == "warning"
        if note.severity == "warning" or not quiet:
            place = f"{path}:{note.line}" if note.line else str(path)
            print(f"esxparse: {printable(f'{place}: {note.message}')}", file=sys.stderr)
    return warnings


def run_check(options: argparse.Namespace) -> int:
    """Report the problems in a manifest; return 0 if it has none."""
    from esxparse.studies.checked import check  # noqa: PLC0415  polars is not for --help

    with Progress("check", quiet=options.quiet) as progress:
        found = check(options.file, outside=options.allow_outside, progress=progress)
    warnings = _say(found.notes, found.path, quiet=options.quiet)
    if not options.quiet:
        print(printable(f"{found.path}: {found}"))
    return 1 if warnings else 0


def run_new(options: argparse.Namespace) -> int:
    """Write a manifest and print its number of runs."""
    from esxparse.studies.draft import write  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.expand import expand  # noqa: PLC0415
    from esxparse.studies.study_file import load  # noqa: PLC0415

    path, other = write(Path(options.directory), replace=options.force)
    runs = expand(load(path), outside=True)
    print(printable(f"{path}: {counted(len(runs), 'run')}; now edit it, and: esxparse study check"))
    if other:
        print(printable(f"left out: {first_few(other, _LEFT_OUT)}"))
    return 0


def run_columns(options: argparse.Namespace) -> int:
    """List the columns that the runs of a study can have."""
    from esxparse.studies.columns import COLUMNS  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.export import heading  # noqa: PLC0415

    for name, column in COLUMNS.items():
        line = f"{name:40} {heading(name)[1]:12} {column.needs:12} {column.means} ({column.source})"
        if options.word.casefold() in line.casefold():
            print(line)
    return 0


def run_study(options: argparse.Namespace) -> int:
    """Compute a study, print it and write it."""
    unknown = [out for out in options.output if Path(out).suffix.lower() not in _KINDS]
    if unknown:
        print(f"esxparse: {printable(unknown[0])} must end in {', '.join(_KINDS)}", file=sys.stderr)
        return 2
    from esxparse.studies import study  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.export import text_table  # noqa: PLC0415

    crew, limits = given_crew(options), list(map(_limit, options.largest_load))
    _check_outputs(options)
    with Progress("study", quiet=options.quiet) as progress:
        found = study(options.file, outside=options.allow_outside, allow=options.allow, progress=progress, crew=crew)
    _say(found.notes, found.path, quiet=options.quiet)
    table = _requested_table(found, options, limits).collect().lazy()
    # A requested table is shown with all its columns.
    columns = table.collect_schema().names() if options.scaling or limits else None
    if not options.quiet:
        print(printable_lines(text_table(table.collect(), found.labels, columns)))
    for out in options.output:
        _write(found, out, table, columns, replace=options.force)
    gaps = found.runs.collect()["gap"]
    return 1 if gaps.count() else 0


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse, before anything is computed, outputs that may not or cannot be written."""
    from esxparse.studies.expand import expand  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.export import inputs, place  # noqa: PLC0415
    from esxparse.studies.study_file import load  # noqa: PLC0415

    if options.output:
        manifest = load(Path(options.file))
        sources = inputs(manifest.path, expand(manifest, outside=options.allow_outside))
        for out in options.output:
            place(out, sources, replace=options.force)


def printable_lines(text: str) -> str:
    """Return lines without control characters."""
    return "\n".join(printable(line).rstrip() for line in text.split("\n"))


def _limit(text: str) -> tuple[str, float]:
    match = _LIMIT.fullmatch(text)
    if not match:
        raise EsxparseError(f"--largest-load {text!r} is not a limit: write it as 'read_p95_ms<=100'")
    return match[1], float(match[2])


def _requested_table(found: Study, options: argparse.Namespace, limits: Sequence[tuple[str, float]]) -> pl.LazyFrame:
    import polars as pl  # noqa: PLC0415  polars is not for --help

    if options.compare:
        return found.compare(options.compare)
    if not options.scaling and not limits:
        return found.runs
    load = options.load or (found.axis[0] if len(found.axis) == 1 else None)
    if load is None:
        raise EsxparseError(f"{found.path} has {len(found.axis)} axes: choose the swept label with --load LABEL")
    if options.scaling:
        return found.scaling(load, options.scaling)
    # One by one: a column may have several limits.
    return pl.concat([found.consolidation(load, {column: limit}) for column, limit in limits])


def _write(found: Study, out: str, table: pl.LazyFrame, columns: Sequence[str] | None, *, replace: bool) -> None:
    match Path(out).suffix.lower():
        case ".csv":
            found.to_csv(out, table, replace=replace)
        case ".parquet":
            found.to_parquet(out, table, replace=replace)
        case _:
            found.to_table(out, table, columns, replace=replace)
