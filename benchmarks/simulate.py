"""Writes simulated esxtop captures of several widths, and says what model and writing take; adds to RESULTS.md.

`python benchmarks/simulate.py [MB] [COLUMNS ...]`: 300 MB of 5,000, 40,000 and 100,000 columns each unless said
otherwise, of a tidy host and of one as untidy as real ones. All on one processor, every capture in a process of its
own; the file is written to benchmarks/data.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sections

import esxparse_simulator as simulate
from esxparse_simulator.esxtop.cells import lines
from esxparse_simulator.esxtop.columns import blocks
from esxparse_simulator.esxtop.groups import groups_of
from esxparse_simulator.esxtop.releases import release_of
from esxparse_simulator.esxtop.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"
MB, COLUMNS = 300, (5_000, 40_000, 100_000)
ROUNDS = 3
KEPT = 40  # samples that are modelled once and written again and again


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of the best of some rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def measure(columns: int, megabytes: int, untidy: float) -> dict[str, float]:
    """What a capture of that many columns takes."""
    scenario = replace(simulate.large_host(columns), untidy=untidy)
    parts = by_row(simulate.capture(scenario, samples=KEPT))
    target = DATA / f"simulated_{columns}.csv"
    rows = max(2, int(megabytes * 1e6 / parts["width"]))
    start = time.process_time()
    size = simulate.write_esxtop(target, simulate.capture(scenario, samples=rows))
    cpu = time.process_time() - start
    target.unlink()
    return {
        **parts,
        "untidy": untidy,
        "columns": simulate.column_count(scenario),
        "vms": len(scenario.vms),
        "rows": rows,
        "size": size,
        "cpu": cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def by_row(capture: simulate.Capture) -> dict[str, float]:
    """Seconds that a row takes in the model, on its way to the columns, and to become text; its bytes."""
    release = release_of("6.7")
    groups = groups_of(capture.layout, release)
    columns = blocks(capture.layout, release, groups)
    numbers = Rows(capture.layout, groups, columns)
    counters = [counter for block in columns for counter in block.counters]
    samples = list(capture)
    rows = [(b"03/11/2026 09:00:00", numbers(sample)) for sample in samples]
    width = len(next(lines(counters, rows, b"\n")))  # makes the table of texts, once in a process

    def model() -> None:
        for _ in capture:
            pass

    def lay() -> None:
        for sample in samples:
            numbers(sample)

    def write() -> None:
        for _ in lines(counters, rows, b"\n"):
            pass

    taken = {work.__name__: seconds(work) / len(rows) for work in (model, lay, write)}
    return {**taken, "width": width}


def told(columns: int, megabytes: int, untidy: float) -> dict[str, float]:
    """`measure` in a process of its own, on one processor."""
    command = [sys.executable, __file__, "--one", str(columns), str(megabytes), str(untidy)]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **threads})
    result: dict[str, float] = json.loads(answer.stdout)
    return result


def table(results: list[dict[str, float]]) -> list[str]:
    """The section's lines."""
    python = sys.version.split()[0]
    made = [
        f"Made by `python benchmarks/simulate.py` on {datetime.now(tz=UTC):%Y-%m-%d}: Python {python}, numpy "
        + np.__version__
        + ".",
        "One process on one processor, processor time; model, rows (numbers in the order of the columns) and text are",
        "milliseconds for a row, the best of three.",
        "",
        "| columns | host | VMs | rows | MB | MB/s | 1 GB takes | model | rows | text | text alone, MB/s | peak |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in results:
        speed = row["size"] / row["cpu"] / 1e6
        cells = (
            f"{row['columns']:,.0f}",
            "untidy" if row["untidy"] else "tidy",
            f"{row['vms']:,.0f}",
            f"{row['rows']:,.0f}",
            f"{row['size'] / 1e6:,.0f}",
            f"{speed:.1f}",
            f"{1e3 / speed:.0f} s",
            f"{1e3 * row['model']:.2f}",
            f"{1e3 * row['lay']:.2f}",
            f"{1e3 * row['write']:.2f}",
            f"{row['width'] / row['write'] / 1e6:.0f}",
            f"{row['peak']:,.0f} MiB",
        )
        made.append(f"| {' | '.join(cells)} |")
    return made


def main(arguments: list[str]) -> None:
    """Measure each width and write the section."""
    if arguments[:1] == ["--one"]:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(measure(int(arguments[1]), int(arguments[2]), float(arguments[3]))))
        return
    DATA.mkdir(exist_ok=True)
    megabytes = int(arguments[0]) if arguments else MB
    widths = [int(columns) for columns in arguments[1:]] or COLUMNS
    pairs = [(columns, untidy) for columns in widths for untidy in (0.0, 1.0)]
    sections.put("Simulating", table([told(columns, megabytes, untidy) for columns, untidy in pairs]))


if __name__ == "__main__":
    main(sys.argv[1:])
