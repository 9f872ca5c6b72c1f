"""What commands share in printing: errors, progress, text from files."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from esxparse.recording import printable

if TYPE_CHECKING:
    import argparse

    from esxparse.errors import EsxparseError

_BAR = 24


def fail(error: EsxparseError) -> None:
    """Prints an error as one line."""
    print(f"esxparse: {printable(str(error))}", file=sys.stderr)


class Progress:
    """A progress line on stderr, drawn over itself; nothing where stderr is no terminal or `quiet` is asked for."""

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

    def clear(self) -> None:
        """Takes the line away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def add_force(parser: argparse._ActionsContainer) -> None:
    """Adds the option that lets a command replace what is there."""
    parser.add_argument("--force", action="store_true", help="replace an output that is there; never an input")
