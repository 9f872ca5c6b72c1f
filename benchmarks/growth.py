"""How the time of commands grows with the capture: at 1, 2, 4 and 8 times the rows; adds a section to RESULTS.md.

Each command in a process of its own, median of several. The exponent is the slope of log(processor time) over
log(bytes); that of the last doubling has less of the start of the program in it.
"""

from __future__ import annotations

import math
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import captures
import sections

DATA = Path(__file__).parent / "data"
COLUMNS, ROWS = 40000, (950, 1900, 3800, 7600)
ROUNDS = 3
COMMANDS = {"convert": ["convert", "-o", str(DATA / "grown"), "--force"], "info": ["info"], "diagnose": ["diagnose"]}


def seconds(command: list[str], file: Path) -> float:
    """Processor seconds of a command."""
    shutil.rmtree(DATA / "grown", ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program, *options = command
    exe = str(Path(sys.executable).with_name("esxparse"))
    # Findings of a diagnosis are told by its status, too.
    subprocess.run([exe, program, str(file), *options], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def slope(sizes: list[int], times: list[float]) -> float:
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(time) for time in times]).slope


def main() -> None:
    files = [captures.cached(DATA, COLUMNS, rows) for rows in ROWS]
    sizes = [file.stat().st_size for file in files]
    heads = " | ".join(f"{size / 1e6:,.0f} MB" for size in sizes)
    lines = [
        f"Processor seconds of whole processes, median of {ROUNDS}; captures of {COLUMNS:,} columns.",
        "",
        f"| command | {heads} | exponent | of the last doubling |",
        f"|---|{'---|' * len(files)}---|---|",
    ]
    for name, command in COMMANDS.items():
        times = [statistics.median(seconds(command, file) for _ in range(ROUNDS)) for file in files]
        taken = " | ".join(f"{time:.2f} s" for time in times)
        lines.append(f"| `esxparse {name}` | {taken} | {slope(sizes, times):.2f} | {slope(sizes[2:], times[2:]):.2f} |")
        print(lines[-1], file=sys.stderr)
    shutil.rmtree(DATA / "grown", ignore_errors=True)
    sections.put("How cost grows", lines)


if __name__ == "__main__":
    main()
