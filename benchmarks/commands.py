"""Commands as people wait for them, each a process of its own, and how their cost grows; adds to RESULTS.md.

`python benchmarks/commands.py [ROUNDS]`: the bundled capture, 92 MB of 17,000 columns, and a day of 5,000 columns every
5 s (613 MB, made once in benchmarks/data) with its halves, quarters and eighths. The files are in the system's cache.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import captures
import numpy as np
import sections

import esxparse as ex
import esxparse_simulator as simulate

DATA = Path(__file__).parent / "data"
ROUNDS = 5
PRIORITY = {os.SCHED_OTHER: "as any others", os.SCHED_RR: "before any others (`chrt --rr 1`)"}
SAMPLES = (2_160, 4_320, 8_640, 17_280)
PYTHON = sys.executable
PEER = """\
import papermill, sys
papermill.execute_notebook(sys.argv[1], "out.ipynb", parameters={"capture": sys.argv[2]}, kernel_name="python3",
                           progress_bar=False)
from nbconvert import HTMLExporter
open("out.html", "w").write(HTMLExporter(exclude_input=True).from_filename("out.ipynb")[0])
"""


def day(samples: int) -> Path:
    """A capture of so many samples: the first of a day."""
    file = DATA / f"simulated-5000x{samples}.csv"
    if not file.exists():
        DATA.mkdir(exist_ok=True)
        if samples == SAMPLES[-1]:
            simulate.write_esxtop(file, simulate.capture(simulate.large_host(5_000), samples=samples))
        else:
            with day(SAMPLES[-1]).open("rb") as whole, file.open("wb") as part:
                part.writelines(islice(whole, samples + 1))
    return file


def once(
    command: list[str], environment: dict[str, str] | None = None, output: str | Path = os.devnull
) -> tuple[float, float, float]:
    """Seconds, seconds of processor time, and the largest memory of a process, MB."""
    with tempfile.TemporaryDirectory() as folder, Path(output).open("wb") as file:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL, cwd=folder, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{command} failed")
        return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def measured(command: list[str], rounds: int) -> tuple[float, ...]:
    """Medians of a command, after one run that does not count."""
    once(command)
    return tuple(map(statistics.median, zip(*(once(command) for _ in range(rounds)), strict=True)))


def esxparse(*arguments: object) -> list[str]:
    return [PYTHON, "-m", "esxparse", *map(str, arguments)]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    bundled = ex.datasets_dir() / "busy-host" / "busy-host.csv"
    wide, whole = captures.cached(DATA, 17_000, 800), day(SAMPLES[-1])
    template = str(ex.templates_dir() / "host_health.ipynb")
    commands = {
        "`python -c 'import polars, numpy'`": [PYTHON, "-c", "import polars, numpy"],
        "`esxparse --help`": esxparse("--help"),
        "`esxparse info`, 92 MB": esxparse("info", wide),
        "`esxparse diagnose`, 92 MB": esxparse("diagnose", wide),
        "`esxparse report`, bundled": esxparse("report", bundled, "-o", "x.html"),
        "papermill and nbconvert, bundled, the same template": [PYTHON, "-c", PEER, template, str(bundled)],
        "`esxparse report`, 92 MB": esxparse("report", wide, "-o", "x.html"),
        "`esxparse report`, a day, 613 MB": esxparse("report", whole, "-o", "x.html"),
    }
    load = os.getloadavg()[0]
    lines = [
        f"Made by `benchmarks/commands.py {rounds}` on {datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} processors,",
        f"load of the machine before it {load:.1f}; the processes ran {PRIORITY[os.sched_getscheduler(0)]}.",
        f"Medians of {rounds} runs; memory is that of the largest process.",
        "",
        "| command, whole process | wall | processor time | peak memory |",
        "|---|---:|---:|---:|",
    ]
    for name, command in commands.items():
        wall, cpu, peak = measured(command, rounds)
        lines.append(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {peak:,.0f} MB |")
    lines += [
        "",
        "How wall time grows with the capture: t ~ size^exponent, over all four sizes.",
        "",
        f"| command | {' | '.join(f'{day(one).stat().st_size / 1e6:.0f} MB' for one in SAMPLES)} | exponent |",
        f"|---|{'---:|' * (len(SAMPLES) + 1)}",
    ]
    for name in ("info", "diagnose", "report"):
        more = ["-o", "x.html"] if name == "report" else []
        taken = [measured(esxparse(name, day(one), *more), max(1, rounds // 2))[0] for one in SAMPLES]
        exponent = np.polyfit(np.log(SAMPLES), np.log(taken), 1)[0]
        lines.append(f"| `{name}` | {' | '.join(f'{one:.2f} s' for one in taken)} | {exponent:.2f} |")
    sections.put("Commands that people wait for", lines)


if __name__ == "__main__":
    main()
