"""Work that tests give to processes and clusters: it travels by its name."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from esxparse import fleet
from esxparse.cli import _code_of
from esxparse.errors import EsxparseError
from esxparse.whole import Scratch


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
    if number == 2:
        # Those beside it are done by then: a killed pool takes a repetition from each that runs.
        time.sleep(1)
    if number == 2 or (number == 1 and not again):
        os._exit(9)
    return number


def greedy(number: int) -> int:
    """Takes more and more memory for item 2."""
    held = []
    while number == 2:
        held.append(bytearray(b"x") * (20 << 20))
        time.sleep(0.05)
    return number


class UnreadableError(Exception):
    """What can be written, and not be read back."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def awkward(number: int) -> object:
    """Ends in ways that do not travel well."""
    if number == 1:
        raise UnreadableError(1, 2)
    if number == 2:
        error = RuntimeError("it holds a lock")
        error.lock = threading.Lock()  # type: ignore[attr-defined]
        raise error
    if number == 3:
        raise SystemExit(3)
    if number == 4:
        return threading.Lock()
    return number


def waits(job: tuple[str, int]) -> int:
    """Says that it is at work, and ends when it is told to."""
    folder, number = job
    Path(folder, f"begun-{number}-{os.getpid()}").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.02)
    return number


def waits_and_clears(job: tuple[str, int]) -> int:
    """Waits, and clears away what it was writing if it is not let."""
    part = Path(job[0], f"part-{job[1]}")
    part.touch()
    try:
        return waits(job)
    finally:
        part.unlink()


def stuck(job: tuple[str, int]) -> None:
    """Has a working directory, and heeds an interrupt as little as a library does that is busy."""
    folder, number = job
    scratch = Scratch()
    Path(folder, f"begun-{number}-{os.getpid()}").touch()
    while scratch.path:
        with suppress(KeyboardInterrupt):
            time.sleep(60)


def ended_by(folder: str) -> int:
    """The exit code of a command whose processes are stuck."""
    jobs = [(folder, number) for number in range(2)]
    return _code_of(lambda: len(list(fleet.run(stuck, jobs, fleet.Crew(jobs=2)))))


if __name__ == "__main__":
    # What tests interrupt. Workers find the work by the name of this module, not as part of the program.
    import fleet_work

    jobs = [(sys.argv[1], number) for number in range(4)]
    try:
        list(fleet.run(fleet_work.waits_and_clears, jobs, fleet.Crew(jobs=2, on=next(iter(sys.argv[2:]), None))))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
