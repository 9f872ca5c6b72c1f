"""Shared parts of commands: errors, options for opening (as for `esxparse.open`) and for writing."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from typing import Any, Final, TypeVar, cast

from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError
from esxparse.fleet import Crew, in_order, run
from esxparse.formats.memory import DEFAULT, size_text
from esxparse.formats.names import STANDARD_INPUT
from esxparse.formats.opening import DATE_ORDERS, DECIMALS, NAMES, PATIENCE_S, Options
from esxparse.locations import is_url
from esxparse.recording import printable
from esxparse.target import Target, target

T = TypeVar("T")
R = TypeVar("R")


def fail(error: EsxparseError) -> None:
    """Print an error as one line."""
    print(f"esxparse: {printable(str(error))}", file=sys.stderr)


def warn(losses: Iterable[str]) -> None:
    """Print the losses of recordings, a line each."""
    for loss in losses:
        print(f"esxparse: warning: {printable(loss)}", file=sys.stderr)


FOUND: Final = 3
"""Exit code if --fail-on finds something."""


def counted_segments(sources: Iterable[str]) -> str:
    """Return a message on the files with several captures, given the file of each capture; empty without such files."""
    counts = Counter(sources)
    several = [
        f"{source} holds {count} captures with different columns" for source, count in counts.items() if count > 1
    ]
    return f"esxparse: {'; '.join(several)}: each was read" if several else ""


def each(things: Iterable[T], work: Callable[[T], None]) -> int:
    """Do the work on each thing, go on after one that fails, and return the exit code."""
    code = 0
    for thing in things:
        try:
            work(thing)
        except EsxparseError as error:
            fail(error)
            code = 1
    return code


def add_crew(parser: argparse._ActionsContainer) -> None:
    """Add the options that choose who works on many items."""
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="items at a time, in processes (default: 1)")
    add_cluster(parser)


def add_cluster(parser: argparse._ActionsContainer) -> None:
    """Add the option that lets a cluster work."""
    parser.add_argument(
        "--on", metavar="CLUSTER", help="let a Dask cluster work, which sees the same paths: dask://scheduler:8786"
    )


def given_crew(options: argparse.Namespace) -> Crew:
    """Return the crew that works on the items."""
    return Crew(options.jobs, options.on)


def path_for(crew: Crew, path: str) -> str:
    """Return a path for workers: a cluster's workers run in other directories."""
    return path if crew.on is None or path == STANDARD_INPUT or is_url(path) else os.path.abspath(path)  # noqa: PTH100


def each_on(
    crew: Crew, things: Sequence[T], names: Sequence[str], work: Callable[[T], R], report: Callable[[R], None]
) -> int:
    """Do the work on each thing, anywhere, report the results in order, and return the exit code.

    `names`: names of the things, for errors that do not come from them.
    """
    code = 0
    # An abandoned generator closes everything it began.
    with Progress("done", quiet=not crew.elsewhere) as progress, closing(in_order(run(work, things, crew))) as ended:
        for number, done in enumerate(ended, 1):
            progress.clear()
            if done.why:
                fail(EsxparseError(done.why_of(names[done.place])))
                code = 1
            else:
                report(done.result)
            progress(number, len(things), f"{number:,} of {len(things):,}")
    return code


_METHODS: Final = {"table": "text", "md": "markdown"}
"""Methods of results by shape, if their names differ."""


def add_format(parser: argparse._ActionsContainer, *more: str) -> None:
    """Add the option that sets how a result is printed: as a table for people, or otherwise."""
    parser.add_argument(
        "--format",
        dest="shape",
        type=lambda text: "md" if text == "markdown" else text,
        choices=("table", *more),
        default="table",
        help="how to print it",
    )


def in_shape(found: Any, shape: str) -> str:
    """Return a result in the shape of `--format`."""
    return str(getattr(found, _METHODS.get(shape, shape))())


def add_shapes(parser: argparse._ActionsContainer) -> None:
    """Add the options that set how a result is printed, and to which file."""
    add_format(parser, "md", "json")
    parser.add_argument("-o", "--output", metavar="FILE", help="write it to a file")
    add_force(parser)


def place_of(options: argparse.Namespace, inputs: Iterable[str]) -> Target | None:
    """Return the file for the result, checked before any work, or None for standard output.

    Raises EsxparseError: The file cannot be written, is an input, or exists already.
    """
    return target(options.output, inputs, replace=options.force) if options.output else None


def put(found: Any, options: argparse.Namespace, place: Target | None) -> None:
    """Print a result in the requested shape, or write it to its file."""
    text = in_shape(found, options.shape)
    if place is None:
        print(text)
    else:
        place.write(f"{text}\n".encode())


def add_force(parser: argparse._ActionsContainer) -> None:
    """Add the option that lets a command replace existing files."""
    parser.add_argument("--force", action="store_true", help="replace an existing output file; never an input")


_HELP: Final[dict[str, tuple[str, str]]] = {
    "member": ("NAME", "which capture of a bundle with several; same as BUNDLE:NAME"),
    "start": ("TIME", "leave out samples before this time (UTC, 2026-03-02T08:05)"),
    "end": ("TIME", "leave out samples after this time"),
    "every": ("LENGTH", "keep the first sample of each period of this length (30s, 5m, 1h); nothing is averaged"),
    "lazy": ("", "read numbers from the file as needed (default above 256 MB); --no-lazy reads them all at once"),
    "segment": ("N", "which capture of a file that holds several with different columns"),
    "date_order": ("ORDER", f"date order in a file saved by another program: {', '.join(DATE_ORDERS)}"),
    "decimal": ("MARK", f"decimal mark in a file saved by another program: {', '.join(DECIMALS)}"),
    "date": ("DAY", "date of the first sample if time stamps have none (2026-03-11)"),
    "zone": ("ZONE", "zone of the clock that wrote times without one (+02:00, Europe/Berlin; default: UTC)"),
    "format": (
        "NAME",
        "read the file as this format: power_csv (a meter's export), results_csv (any results) or another",
    ),
    "time_column": ("NAME", "name of the time column in such a file"),
    "value_column": ("NAME", "name of the column with the watts or results"),
    "counter_info": ("FILE", "reply of CounterInfo, for replies of esxtop's service that were saved without it"),
    "timeout": ("SECONDS", f"how long to wait for each server response (default: {PATIENCE_S:g})"),
    "memory_limit": ("SIZE", f"memory limit for reading, such as 8GiB (default: {size_text(DEFAULT)})"),
}
_ALSO: Final = {"value_column": ("--watts-column",)}


def add_opening(parser: argparse.ArgumentParser, *, but: Collection[str] = ()) -> None:
    """Add the options of `esxparse.open` to a command, `but` some, as one group of its help."""
    group = parser.add_argument_group("options for opening recordings")
    for name in NAMES:
        if name in but:
            continue
        metavar, text = _HELP[name]
        flags = [f"--{name.replace('_', '-')}", *_ALSO.get(name, ())]
        if name == "lazy":
            group.add_argument(*flags, action=argparse.BooleanOptionalAction, help=text)
        else:
            group.add_argument(*flags, metavar=metavar, help=text)


def given_opening(options: argparse.Namespace) -> Options:
    """Return the given options for `esxparse.open`, which checks each of them."""
    values: dict[str, Any] = {name: value for name in NAMES if (value := getattr(options, name, None)) is not None}
    return cast("Options", values)
