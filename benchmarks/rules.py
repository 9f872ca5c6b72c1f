"""All rules over a large capture, with what they read, beside the bare reading of every column.

`python benchmarks/rules.py [COLUMNS] [ROWS]`: 17,000 columns x 800 rows (92 MB) unless said. Warm, in turns, the median
of 7 in seconds of the clock and of processors; writes a section of RESULTS.md.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import captures
import sections

import esxparse as ex
from esxparse.derived.tables import sample_times
from esxparse.diagnosis import rules
from esxparse.diagnosis.diagnose import series_of
from esxparse.diagnosis.symptoms import symptoms, values

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS = 7


def read(path: Path) -> int:
    """Reads every column."""
    return sum(table.collect().height for table in ex.open(path).tables.values())


def judge(path: Path) -> int:
    """Opens, reads what rules need, judges."""
    rec, limits = ex.open(path), rules.load()
    times = sample_times(rec)
    series = series_of(rec, times)
    return len(symptoms(limits, series, values(limits.values(), series), times))


def diagnose(path: Path) -> int:
    """Opens, judges, and comes to a verdict."""
    return len(ex.diagnose(ex.open(path)))


def timed(work: Callable[[Path], int], path: Path) -> tuple[float, float]:
    """Seconds of the clock, and of processors."""
    clock, cpu = time.perf_counter(), time.process_time()
    work(path)
    return time.perf_counter() - clock, time.process_time() - cpu


def main(arguments: list[str]) -> None:
    """Measures in turns and writes the section."""
    columns, rows = (int(arguments[place]) if len(arguments) > place else of for place, of in ((0, 17_000), (1, 800)))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "large.csv"
        captures.write(path, columns, rows)
        megabytes = path.stat().st_size / 1e6
        works = {"every column read": read, "all rules, with what they read": judge, "diagnose, whole": diagnose}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
        for _ in range(TURNS + 1):
            for name, work in works.items():
                taken[name].append(timed(work, path))
    lines = ["| | clock, s | processors, s |", "|---|---|---|"]
    for name, all_turns in taken.items():
        clock, cpu = (statistics.median(turn[place] for turn in all_turns[1:]) for place in (0, 1))
        lines.append(f"| {name} | {clock:.2f} | {cpu:.2f} |")
    lines += ["", f"Load of the machine at the end: {os.getloadavg()[0]:.1f}."]
    sections.put(f"All rules, {columns:,} columns x {rows} rows, {megabytes:.0f} MB", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
