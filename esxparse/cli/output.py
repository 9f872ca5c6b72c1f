"""What commands share in printing: errors, progress, text from files."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Self, TypeVar

from esxparse.errors import EsxparseError
from esxparse.recording import printable

_BAR = 24
T = TypeVar("T")


def fail(error: EsxparseError) -> None:
    """Prints an error as one line."""
    print(f"esxparse: {printable(str(error))}", file=sys.stderr)


def each(things: Iterable[T], work: Callable[[T], None]) -> int:
    """Does the work on each thing, goes on after one that fails, and gives the exit code."""
    code = 0
    for thing in things:
        try:
            work(thing)
        except EsxparseError as error:
            fail(error)
            code = 1
    return code


class Progress:
    """A progress line on stderr, drawn over itself, until it is left; none without a terminal, or with `quiet`."""

    def __init__(self, label: str, *, quiet: bool) -> None:
        self._label = label
        self._shown = not quiet and sys.stderr.isatty()

    def __call__(self, done: int, total: int, what: str) -> None:
        """Draws `done` of `total` steps and what is done now."""
        if not self._shown:
            return
        filled = _BAR * done // max(total, 1)
        line = f"{self._label} [{'#' * filled}{'.' * (_BAR - filled)}] {printable(what)}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width]:<{width}}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Takes the line away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def add_force(parser: argparse._ActionsContainer) -> None:
    """Adds the option that lets a command replace what is there."""
    parser.add_argument("--force", action="store_true", help="replace an output that is there; never an input")
