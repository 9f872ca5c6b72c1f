"""Work that tests give to processes and clusters: it travels by its name."""

from __future__ import annotations

import os
import time
from pathlib import Path

from esxparse.errors import EsxparseError


def square(number: int) -> int:
    return number * number


def picky(number: int) -> int:
    if number == 2:
        raise EsxparseError("2 is not liked here")
    if number == 3:
        raise RuntimeError("3 breaks it")
    return number


def deadly(job: tuple[str, int]) -> int:
    """Kills its own process the first time that it is asked for item 1, each time for item 2."""
    folder, number = job
    mark = Path(folder, f"{number}")
    again = mark.exists()
    mark.touch()
    if number == 2 or (number == 1 and not again):
        os._exit(9)
    return number


def waits(job: tuple[str, int]) -> int:
    """Says that it is at work, and ends when it is told to."""
    folder, number = job
    Path(folder, f"begun-{number}-{os.getpid()}").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.02)
    return number
