"""Runs the properties of the reader on new captures for as long as asked, and says how many it tried.

    python fuzz/reader.py --seconds 600

Captures and damage come from `tests/strategies.py`, what has to hold from `tests/formats/test_fuzz_reader.py`. A
failure is printed as hypothesis has shrunk it; the other properties are tried on, and the run ends with status 1. What
was found belongs into a test.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given, seed, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import test_fuzz_reader as properties

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXAMPLES = 200
"""Captures tried with one seed."""


def _rounds(first_seed: int, end: float) -> Iterator[tuple[int, str, Any, Any]]:
    """Seed, name, strategy and property, each property in turn, until the time is up."""
    number = first_seed
    while True:
        for name, (strategy, holds) in properties.PROPERTIES.items():
            if time.monotonic() >= end:
                return
            yield number, name, strategy, holds
        number += 1


def _counting(tried: Counter[str], name: str, holds: Any) -> Any:
    def once(example: Any) -> None:
        tried[name] += 1
        holds(example)

    return once


def main() -> int:
    """Fuzzes, prints what was tried, and gives the exit status."""
    parser = argparse.ArgumentParser(description="Fuzz the esxtop reader with whole and damaged captures.")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 10**9, help="the first of a run; a new one by default"
    )
    arguments = parser.parse_args()

    tried: Counter[str] = Counter()
    begin = time.monotonic()
    failed: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "capture.csv")
        for number, name, strategy, holds in _rounds(arguments.seed, begin + arguments.seconds):
            if name in failed:
                continue
            rounds = settings(properties.SETTINGS, max_examples=_EXAMPLES, database=None, print_blob=False)
            try:
                seed(number)(rounds(given(strategy)(_counting(tried, name, partial(holds, file)))))()
            except Exception as error:  # noqa: BLE001  whatever it is, it was found
                notes = "\n".join(getattr(error, "__notes__", ()))
                print(f"FAILED {name} (--seed {number}): {type(error).__name__}: {error}\n{notes}", file=sys.stderr)
                failed.add(name)
    print(f"{sum(tried.values()):,} captures in {time.monotonic() - begin:.0f} s, seeds from {arguments.seed}")
    for name, count in tried.items():
        print(f"  {count:>8,}  {name}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
