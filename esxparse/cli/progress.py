"""A progress line on a terminal for long work: one line on stderr, redrawn in place, removed at the end."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import Final, Self

from esxparse.recording import printable

_BAR: Final = 24
_PATIENCE_S: Final = 1.0
"""Work that ends sooner shows nothing, unless it has steps of its own."""
_EVERY_S: Final = 0.5


class Progress:
    """The progress line, shown inside a `with` block; hidden without a terminal, or with `quiet`.

    Work with steps calls it after each step; between calls it counts seconds, so that it never looks stuck.
    """

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self._label = printable(label)
        self._visible = not quiet and sys.stderr.isatty()
        self._line = ""
        self._begun = time.monotonic()
        self._drawn = threading.Lock()
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._count, daemon=True)

    def __call__(self, done: int, total: int, what: str) -> None:
        """Draw `done` of `total` steps and the current one."""
        filled = _BAR * done // max(total, 1)
        with self._drawn:
            self._line = f"{self._label} [{'#' * filled}{'.' * (_BAR - filled)}] {printable(what)}"
            self._draw(self._line)

    def __enter__(self) -> Self:
        if self._visible:
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._visible:
            self._clock.join()
        self.clear()

    def clear(self) -> None:
        """Remove the line."""
        if self._visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _count(self) -> None:
        wait = _PATIENCE_S
        while not self._over.wait(wait):
            wait = _EVERY_S
            with self._drawn:
                self._draw(f"{self._line or self._label} ({time.monotonic() - self._begun:.0f} s)")

    def _draw(self, line: str) -> None:
        if self._visible:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="", file=sys.stderr, flush=True)
