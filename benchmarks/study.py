"""Summarises a study of many captures, and does the same with pandas; adds a section to RESULTS.md.

`python benchmarks/study.py [RUNS] [COLUMNS] [ROWS]`: 200 runs of 17,000 columns x 800 rows (92 MB) unless said
otherwise, of as many different captures as DISTINCT; the others are links to them. Each peer in a process of its
own; peak memory is that of the whole process. They have to agree on every number before anything is written.
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import captures
import sections

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"
STUDY = DATA / "study"
DISTINCT = 4
RUNS, COLUMNS, ROWS = 200, 17000, 800
WARMUP_S = 120
MEASURE_S = 1800
PATIENCE_S = 7200
ROUNDING, SERVING_SHARE = 0.015 + 1e-9, 0.1
FIGURES = ("host_used_pct", "host_util_pct", "ready_pct", "costop_pct", "host_iops", "host_read_mb_per_s", "gavg_ms")

Answer = dict[str, list[float]]


def esxparse(folder: str) -> Answer:
    """All of `runs`: some 60 columns."""
    import esxparse as ex  # noqa: PLC0415, F401  its import is part of what one waits for
    from esxparse.studies import study  # noqa: PLC0415

    table = study(folder).runs.collect()
    return {name: table[name].to_list() for name in FIGURES}


def pandas(folder: str) -> Answer:
    """The seven figures that are compared, out of `read_csv` of the whole file, as scripts do it."""
    return _script(folder, whole=True)


def pandas_columns(folder: str) -> Answer:
    """The same figures, with `usecols`: only the columns that they need are kept."""
    return _script(folder, whole=False)


def _script(folder: str, *, whole: bool) -> Answer:
    import pandas as pd  # noqa: PLC0415

    rows = [_with_pandas(pd, path, whole=whole) for path in sorted(Path(folder).glob("*.csv"))]
    return {name: [row[name] for row in rows] for name in FIGURES}


def _with_pandas(pd: Any, path: Path, *, whole: bool) -> dict[str, float]:
    with path.open(encoding="ascii") as file:
        header = file.readline().rstrip().strip('"').split('","')
    tails = [name.rpartition("\\")[2] for name in header]
    heads = [name.split("\\")[3].partition("(") if "\\" in name else ("", "", "") for name in header]

    def named(table: str, counter: str, instance: str | None = None) -> list[str]:
        return [
            name
            for name, (kind, _, rest), tail in zip(header, heads, tails, strict=True)
            if kind == table and tail == counter and instance in {None, rest.rstrip(")")}
        ]

    total = {name: named("Physical Cpu", name, "_Total") for name in ("% Processor Time", "% Util Time")}
    # A VM's group holds the waits of its helper worlds too: those of its vCPUs are told by their own worlds.
    waits = {
        name: [column for column in named("Vcpu", name) if ":vmx-vcpu-" in column] for name in ("% Ready", "% CoStop")
    }
    device = "Physical Disk SCSI Device"
    counters = (
        *("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec"),
        *(f"Average Guest MilliSec/{kind}" for kind in ("Command", "Read", "Write")),
    )
    # The file may end within a device.
    told = [{column.rpartition("\\")[0] for column in named(device, name)} for name in counters]
    owners = sorted(set.intersection(*told))
    disks = {name: [f"{owner}\\{name}" for owner in owners] for name in counters}
    wanted = [header[0]]
    for part in (total, waits, disks):
        wanted += [column for columns in part.values() for column in columns]
    frame = pd.read_csv(path, usecols=None if whole else wanted, low_memory=False)
    stamps = pd.to_datetime(frame.pop(header[0]), format="%m/%d/%Y %H:%M:%S")
    since = (stamps - stamps.iloc[0]).dt.total_seconds()
    frame = frame[(since > WARMUP_S) & (since <= WARMUP_S + MEASURE_S)]
    iops, reads, writes, read_mib, mean_ms, read_ms, write_ms = (frame[disks[name]].to_numpy() for name in counters)
    # Commands that neither read nor write are no I/O: their latency counts for nothing, nor does a device of them.
    others = iops - reads - writes
    others[others <= ROUNDING] = 0.0
    good = iops - others
    apart = (others > 0) & (reads + writes > 0)
    latency = mean_ms.copy()
    latency[apart] = (read_ms * reads + write_ms * writes)[apart] / (reads + writes)[apart]
    serves = good.sum(axis=0) >= SERVING_SHARE * iops.sum(axis=0)
    measured = ((iops > 0) | (mean_ms > 0)) & ~((iops > 0) & (good == 0)) & serves
    return {
        "host_used_pct": float(frame[total["% Processor Time"]].mean().iloc[0]),
        "host_util_pct": float(frame[total["% Util Time"]].mean().iloc[0]),
        "ready_pct": float(frame[waits["% Ready"]].mean().mean()),
        "costop_pct": float(frame[waits["% CoStop"]].mean().mean()),
        "host_iops": float(iops[:, serves].sum(axis=1).mean()),
        "host_read_mb_per_s": float(read_mib[:, serves].sum(axis=1).mean() * 1.048576),
        "gavg_ms": float((latency * good)[measured].sum() / good[measured].sum()),
    }


PEERS: dict[str, Callable[[str], Answer]] = {peer.__name__: peer for peer in (esxparse, pandas, pandas_columns)}


def made(runs: int, columns: int, rows: int) -> Path:
    """The directory of the study, with its manifest."""
    shutil.rmtree(STUDY, ignore_errors=True)
    STUDY.mkdir(parents=True)
    distinct = []
    for seed in range(min(DISTINCT, runs)):
        file = DATA / f"study-{columns}x{rows}-{seed}.csv"
        if not file.exists():
            captures.write(file, columns, rows, seed=seed + 1)
        distinct.append(file)
    for number in range(runs):
        os.link(distinct[number % len(distinct)], STUDY / f"run-{number:04d}.csv")
    measure = min(MEASURE_S, 5 * (rows - 1) - WARMUP_S)
    manifest = f'title = "many"\n[window]\nwarmup = {WARMUP_S}\nmeasure = {measure}\n[host]\nmhz = 2400\n'
    (STUDY / "study.toml").write_text(f'{manifest}[[run]]\nesxtop = "run-{{number}}.csv"\n')
    return STUDY


def once(peer: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, peer, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def agree(first: Answer, second: Answer) -> None:
    for name in FIGURES:
        for place, (one, other) in enumerate(zip(first[name], second[name], strict=True)):
            if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
                sys.exit(f"{name} of run {place} is {one} by esxparse and {other} by pandas")


def main(runs: int, columns: int, rows: int) -> None:
    folder = made(runs, columns, rows)
    size = (folder / "run-0000.csv").stat().st_size
    met = {peer: once(peer, folder) for peer in PEERS}
    for peer in ("pandas", "pandas_columns"):
        agree(met["esxparse"]["answer"], met[peer]["answer"])
    said = (
        f"{runs} runs of {columns:,} columns x {rows} rows, {size / 1e6:.0f} MB each, "
        f"{min(DISTINCT, runs)} of them different. All agree on: {', '.join(FIGURES)}."
    )
    lines = [
        said,
        "",
        "| what | time | for each run | times pandas | peak memory of the process |",
        "|---|---|---|---|---|",
    ]
    slow = met["pandas"]["seconds"]
    for peer, one in met.items():
        words = (PEERS[peer].__doc__ or "").rstrip(".")
        lines.append(
            f"| {peer}: {words} | {one['seconds']:.1f} s | {one['seconds'] / runs:.3f} s "
            f"| {slow / one['seconds']:.1f} | {one['peak'] / 2**20:,.0f} MiB |"
        )
        print(lines[-1], file=sys.stderr)
    shutil.rmtree(STUDY)
    sections.put("A study of many captures", lines)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in PEERS:
        begun = time.perf_counter()
        answer = PEERS[sys.argv[1]](sys.argv[2])
        seconds = time.perf_counter() - begun
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": seconds, "peak": peak_bytes, "answer": answer}))
    else:
        given = [int(text) for text in sys.argv[1:]]
        main(*[*given, *(RUNS, COLUMNS, ROWS)[len(given) :]])
