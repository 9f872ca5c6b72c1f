"""Makes reports of many hosts by `esxparse batch`, and by papermill and nbconvert one after another.

`python benchmarks/batch.py [HOSTS] [SEQUENTIAL]`: 40 copies of the busy host, and 5 of them for the sequential runs,
whose time is scaled to all, unless said otherwise. Both on all processors of the machine; adds a section to RESULTS.md.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sections

import esxparse as ex

HOSTS, SEQUENTIAL = 40, 5
BIN = Path(sys.executable).parent
TEMPLATE = ex.templates_dir() / "host_health.ipynb"


def timed(*commands: list[str]) -> tuple[float, float]:
    """Seconds by the clock and of processor time that commands take, one after another."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, taken


def main() -> None:
    """Measures and writes."""
    given = sys.argv[1:3]
    hosts, sequential = (*map(int, given), *(HOSTS, SEQUENTIAL)[len(given) :])
    capture = ex.datasets_dir() / "busy-host" / "busy-host.csv"
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "in").mkdir()
        for number in range(hosts):
            shutil.copy(capture, top / "in" / f"esx{number:02}.csv")
        batch = timed([str(BIN / "esxparse"), "batch", str(top / "in"), "-o", str(top / "out"), "-q"])
        again = timed([str(BIN / "esxparse"), "batch", str(top / "in"), "-o", str(top / "out"), "-q"])
        peers = []
        for number in range(sequential):
            ran = str(top / f"{number}.ipynb")
            run = [str(BIN / "papermill"), str(TEMPLATE), ran, "-p", "capture", str(top / "in" / f"esx{number:02}.csv")]
            page = [str(BIN / "jupyter"), "nbconvert", "--to", "html", "--no-input", ran]
            peers.append(timed(run, page))
        scaled = [sum(each) * hosts / sequential for each in zip(*peers, strict=True)]
    load = os.getloadavg()[0]
    lines = [
        f"{hosts} copies of the busy host (4.6 MB each), `host_health`:",
        f"`python benchmarks/batch.py {hosts} {sequential}`.",
        f"The sequential runs are {sequential}, scaled to {hosts}. {os.cpu_count()} processors;",
        f"load of the machine at the end: {load:.1f}.",
        "",
        "| | seconds | processor seconds | of each report |",
        "|---|---:|---:|---:|",
        *(
            f"| {what} | {seconds:.0f} | {taken:.0f} | {taken / hosts:.2f} |"
            for what, (seconds, taken) in (
                ("esxparse batch", batch),
                ("esxparse batch again, all finished", again),
                ("papermill, then jupyter nbconvert", scaled),
            )
        ),
        "",
        f"Ratio: {scaled[0] / batch[0]:.1f} by the clock, {scaled[1] / batch[1]:.1f} of processor time.",
    ]
    sections.put("A batch of reports", lines)


if __name__ == "__main__":
    main()
