"""`esxparse study`: many runs, one manifest."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from esxparse.cli.output import Progress, add_force
from esxparse.errors import EsxparseError
from esxparse.recording import printable

if TYPE_CHECKING:
    import polars as pl

    from esxparse.recording import Note
    from esxparse.studies import Study

_DESCRIPTION = """A study is many runs and a manifest, study.toml, which says what each run's labels and files are,
which part of it is measured and which runs the others are compared with. docs/study.md has its grammar."""

_COLUMNS = "Lists every column that the runs of a study can have: unit, file, meaning, and where its formula is."
_LEFT_OUT = 8
_LIMIT = re.compile(r"\s*([^\W\d]\w*)\s*<=?\s*(\d+(?:\.\d+)?)\s*")
_KINDS = (".csv", ".parquet", ".html")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser("study", help="compute many runs from one manifest", description=_DESCRIPTION)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, help="what to do")

    check = actions.add_parser(
        "check",
        help="say what is wrong with a manifest, with the line",
        description="Reads a manifest, opens the files of each run and finds its measured span; computes nothing. "
        "Says everything that is wrong, with the line of the manifest.",
    )
    check.add_argument("file", metavar="FILE", help="study.toml, or the directory that has it")
    _add_outside(check)
    check.add_argument("-q", "--quiet", action="store_true", help="only what is wrong")
    check.set_defaults(run=run_check)

    new = actions.add_parser(
        "new",
        help="write a manifest for a directory of files",
        description="Looks at the files below a directory and writes a study.toml for them, to be edited.",
    )
    new.add_argument("directory", metavar="DIR", help="the directory of the files")
    add_force(new)
    new.set_defaults(run=run_new)

    columns = actions.add_parser("columns", help="list the columns that runs can have", description=_COLUMNS)
    columns.add_argument("word", metavar="WORD", nargs="?", default="", help="only those with this in their line")
    columns.set_defaults(run=run_columns)

    compute = actions.add_parser(
        "run",
        help="compute the runs, print them, write them as CSV, Parquet or HTML",
        description="Computes one row for each run and prints the columns that say most. Exit code 1: some run "
        "lacks something.",
    )
    compute.add_argument("file", metavar="FILE", help="study.toml, or the directory that has it")
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
        "--compare", metavar="COLUMN", help="instead of the runs: this column of each, divided by its baseline"
    )
    instead.add_argument(
        "--scaling",
        metavar="COLUMN",
        help="instead of the runs: this column of each, against the straight line through the smallest load",
    )
    instead.add_argument(
        "--largest-load",
        metavar="COLUMN<=LIMIT",
        action="append",
        default=[],
        help="instead of the runs: the largest load at which this column keeps to its limit, interpolated; may be "
        "repeated",
    )
    compute.add_argument(
        "--load", metavar="LABEL", help="the label that --scaling and --largest-load sweep; the axis without it"
    )
    add_force(compute)
    _add_outside(compute)
    compute.add_argument("-q", "--quiet", action="store_true", help="no progress, no table; warnings stay")
    compute.set_defaults(run=run_study)


def _add_outside(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-outside", action="store_true", help="let the manifest name files outside its directory, and URLs"
    )


def _say(notes: Iterable[Note], path: Path, *, quiet: bool) -> int:
    warnings = 0
    for note in notes:
        warnings += note.severity == "warning"
        if note.severity == "warning" or not quiet:
            print(f"esxparse: {printable(f'{path}, {note}')}", file=sys.stderr)
    return warnings


def run_check(options: argparse.Namespace) -> int:
    """Says what is wrong with a manifest; 0 where nothing is."""
    from esxparse.studies.model import check  # noqa: PLC0415  polars is not for --help

    with Progress("check", quiet=options.quiet) as progress:
        found = check(options.file, outside=options.allow_outside, progress=progress)
    warnings = _say(found.notes, found.path, quiet=options.quiet)
    if not options.quiet:
        print(printable(f"{found.path}: {found}"))
    return 1 if warnings else 0


def run_new(options: argparse.Namespace) -> int:
    """Writes a manifest and says how many runs it finds."""
    from esxparse.studies.draft import write  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.expand import expand  # noqa: PLC0415
    from esxparse.studies.study_file import load  # noqa: PLC0415

    path, other = write(Path(options.directory), replace=options.force)
    runs = expand(load(path), outside=True)
    print(printable(f"{path}: {len(runs)} run{'' if len(runs) == 1 else 's'}; now edit it, and: esxparse study check"))
    if other:
        more = f" and {len(other) - _LEFT_OUT} more" if len(other) > _LEFT_OUT else ""
        print(printable(f"left out: {', '.join(other[:_LEFT_OUT])}{more}"))
    return 0


def run_columns(options: argparse.Namespace) -> int:
    """Lists the columns that the runs of a study can have."""
    from esxparse.studies.columns import COLUMNS  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.export import heading  # noqa: PLC0415

    for name, column in COLUMNS.items():
        line = f"{name:40} {heading(name)[1]:12} {column.needs:12} {column.means} ({column.source})"
        if options.word.casefold() in line.casefold():
            print(line)
    return 0


def run_study(options: argparse.Namespace) -> int:
    """Computes a study, prints it and writes it."""
    unknown = [out for out in options.output if Path(out).suffix.lower() not in _KINDS]
    if unknown:
        print(f"esxparse: {printable(unknown[0])} ends in none of {', '.join(_KINDS)}", file=sys.stderr)
        return 2
    from esxparse.studies import study  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.export import text_table  # noqa: PLC0415

    limits = list(map(_limit, options.largest_load))
    _check_outputs(options)
    with Progress("study", quiet=options.quiet) as progress:
        found = study(options.file, outside=options.allow_outside, progress=progress)
    _say(found.notes, found.path, quiet=options.quiet)
    table = _asked(found, options, limits).collect().lazy()
    # Of a table that was asked for, all columns are shown.
    columns = table.collect_schema().names() if options.scaling or limits else None
    if not options.quiet:
        print(printable_lines(text_table(table.collect(), found.labels, columns)))
    for out in options.output:
        _write(found, out, table, columns, replace=options.force)
    gaps = found.runs.collect()["gap"]
    return 1 if gaps.count() else 0


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuses, before anything is computed, outputs that may not or cannot be written."""
    from esxparse.studies.expand import expand  # noqa: PLC0415  polars is not for --help
    from esxparse.studies.export import inputs, place  # noqa: PLC0415
    from esxparse.studies.study_file import load  # noqa: PLC0415

    if options.output:
        manifest = load(Path(options.file))
        sources = inputs(manifest.path, expand(manifest, outside=options.allow_outside))
        for out in options.output:
            place(out, sources, replace=options.force)


def printable_lines(text: str) -> str:
    """Lines without control characters."""
    return "\n".join(printable(line).rstrip() for line in text.split("\n"))


def _limit(text: str) -> tuple[str, float]:
    match = _LIMIT.fullmatch(text)
    if not match:
        raise EsxparseError(f"--largest-load {text!r} is no limit: write it as 'read_p95_ms<=100'")
    return match[1], float(match[2])


def _asked(found: Study, options: argparse.Namespace, limits: Sequence[tuple[str, float]]) -> pl.LazyFrame:
    import polars as pl  # noqa: PLC0415  polars is not for --help

    if options.compare:
        return found.compare(options.compare)
    if not options.scaling and not limits:
        return found.runs
    load = options.load or (found.axis[0] if len(found.axis) == 1 else None)
    if load is None:
        raise EsxparseError(f"{found.path} has {len(found.axis)} axes: say which label is swept with --load LABEL")
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
