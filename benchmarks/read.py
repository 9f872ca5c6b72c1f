"""Reads the same captures with esxparse and its peers in one run, times commands, writes RESULTS.md.

Readers take turns, each read in a process of its own after one on a small capture; medians are quoted, and ratios are
of medians. Run by `make bench`.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import captures
import peers
import sections

HERE = Path(__file__).parent
DATA = HERE / "data"
SIZES = ((17000, 800), (40000, 400))
ROUNDS = 5
SLOW = 8.0
"""A reader that took longer than this many seconds is not asked again."""

YARDSTICK = "polars_typed"
COMMAND_ROUNDS = 9


def once(reader: str, file: Path) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "peers.py"), reader, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def read_with_all(file: Path) -> dict[str, list[dict[str, Any]]]:
    results: dict[str, list[dict[str, Any]]] = {reader: [] for reader in peers.READERS}
    for number in range(ROUNDS):
        for reader, met in results.items():
            if met and met[0]["first"] > SLOW:
                continue
            met.append(once(reader, file))
            print(f"{file.name} round {number + 1} {reader}: {min(met[-1]['again']):.3f} s", file=sys.stderr)
    return results


def reading_table(file: Path, results: dict[str, list[dict[str, Any]]]) -> list[str]:
    size = file.stat().st_size
    again = {reader: [seconds for met in all_met for seconds in met["again"]] for reader, all_met in results.items()}
    median = {reader: statistics.median(seconds) for reader, seconds in again.items()}
    first = {reader: statistics.median(met["first"] for met in all_met) for reader, all_met in results.items()}
    lines = [
        "| reader | time, median (min to max, reads) | MB/s | times polars typed | first read | times | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for reader in sorted(median, key=median.__getitem__):
        peak = statistics.median(met["peak"] for met in results[reader]) / 1e6
        times = again[reader]
        spread = f"({min(times):.3f} to {max(times):.3f}, {len(times)})"
        lines.append(
            f"| {reader.replace('_', ' ')} | {median[reader]:.3f} s {spread} | "
            f"{size / median[reader] / 1e6:,.0f} | {median[YARDSTICK] / median[reader]:.2f} | {first[reader]:.3f} s | "
            f"{first[YARDSTICK] / first[reader]:.2f} | {peak:,.0f} MB |"
        )
    mine = results["esxparse"]
    tables = mine[0]["tables"]
    share = statistics.median(met["peak"] for met in mine) / tables
    lines += ["", f"esxparse's tables hold {tables / 1e6:,.0f} MB; its peak is {share:.2f} times that."]
    return lines


def seconds_of(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


def commands_table(file: Path) -> list[str]:
    exe = str(Path(sys.executable).parent / "esxparse")
    bundled = str(HERE.parent / "datasets" / "busy-host" / "busy-host.csv")
    report = DATA / "report.html"
    measured = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import esxparse'": [sys.executable, "-c", "import esxparse"],
        "esxparse --help": [exe, "--help"],
        f"esxparse info {file.name} ({file.stat().st_size / 1e6:.0f} MB)": [exe, "info", str(file)],
        "esxparse report busy-host.csv": [exe, "report", bundled, "-o", str(report)],
    }
    lines = ["| command, whole process | median (min to max) |", "|---|---|"]
    for name, command in measured.items():
        rounds = 3 if "report" in command else COMMAND_ROUNDS
        times = [seconds_of(command) for _ in range(rounds)]
        print(f"{name}: {statistics.median(times):.3f} s", file=sys.stderr)
        lines.append(f"| `{name}` | {statistics.median(times):.3f} s ({min(times):.3f} to {max(times):.3f}) |")
    return lines


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0
    libraries = ", ".join(f"{name} {version(name)}" for name in ("polars", "pandas", "pyarrow", "duckdb", "numpy"))
    return (
        f"{model}, {os.cpu_count()} processors, {memory:.0f} GiB, {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}, {libraries}"
    )


def main() -> None:
    files = [captures.cached(DATA, *size) for size in SIZES]
    about = [
        f"Made by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {machine()}.",
        "",
        "Captures are made by `benchmarks/captures.py`, shaped like ESXi 6.5 `-b -a` (58 % of the cells are `0.00`).",
        "Every reader reads the whole file into memory in a process of its own, after one small capture; esxparse",
        "makes all its tables, the others one frame of all columns (csv module: lists of floats). MB is 10^6 bytes.",
        "Peak memory is what the first read took at most beyond what the process had before. The first read of a",
        "process touches memory that the system has to find first; the reads after it, which the first columns tell",
        "of, find it at hand (a reader that takes more than 2 s reads once).",
    ]
    sections.put("How the captures were read", about)
    for (columns, rows), file in zip(SIZES, files, strict=True):
        heading = f"{columns:,} columns x {rows} rows, {file.stat().st_size / 1e6:.0f} MB"
        sections.put(heading, reading_table(file, read_with_all(file)))
    sections.put("Commands", commands_table(files[0]))


if __name__ == "__main__":
    main()
