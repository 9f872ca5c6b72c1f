"""A fleet's day in a lake: 200 hosts, 2 GB, with one worker and two, with deaths, asked and diagnosed; for RESULTS.md.

The simulator makes eight captures of 240 samples; each host has one of them under its own name and day, so that making
them takes a fraction of what is measured. Workers are Dask's, real processes, each with one processor of its own.
`--hosts 16` for a quick look.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sections

import esxparse as ex
from esxparse.derived.tables import sample_times
from esxparse.diagnosis.diagnose import diagnose, series_of
from esxparse.lakes import judging

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dask_cluster import cluster

if TYPE_CHECKING:
    import polars as pl

DATA: Final = Path(__file__).parent / "data" / "fleet"
SHAPES: Final = (
    "healthy-web",
    "healthy-vdi",
    "healthy-batch",
    "cpu-overcommit",
    "noisy-neighbour-cpu",
    "balloon",
    "array-slow",
    "queue-full-device",
)
SAMPLES, EVERY = 240, timedelta(minutes=6)
DAY: Final = datetime(2026, 11, 19, tzinfo=UTC)
ROUNDS: Final = 7
CASES: Final = (
    ("1 worker", 1, ""),
    ("2 workers", 2, ""),
    ("2 workers, one killed after two fifths", 2, "worker"),
    ("2 workers, scheduler killed after two fifths, then again", 2, "scheduler"),
)


def captures(hosts: int) -> list[str]:
    """The captures of a day, one of each host."""
    folder = DATA / "captures"
    folder.mkdir(parents=True, exist_ok=True)
    for place in range(hosts):
        file = folder / f"esx-{place:03d}.csv"
        if not file.exists():
            made = _shape(place % len(SHAPES)).replace(b"shape.example", f"esx-{place:03d}.example".encode())
            file.write_bytes(made)
    return [str(folder / f"esx-{place:03d}.csv") for place in range(hosts)]


def _shape(number: int) -> bytes:
    file = DATA / f"{SHAPES[number]}.csv"
    if not file.exists():
        into = DATA / "shapes" / SHAPES[number]
        shutil.rmtree(into, ignore_errors=True)
        words = [SHAPES[number], "-o", into, "--seed", number, "--samples", SAMPLES, "--host", "shape.example", "-q"]
        subprocess.run([sys.executable, "-m", "esxparse", "simulate", *map(str, words)], check=True)
        times = (DAY + place * EVERY for place in range(SAMPLES))
        stamped = iter([f'"{time:%m/%d/%Y %H:%M:%S}"'.encode() for time in times])
        content = next(into.glob("*.csv")).read_bytes()
        file.write_bytes(re.sub(rb'^"\d\d/\d\d/\d{4} [\d:]{8}"', lambda _: next(stamped), content, flags=re.MULTILINE))
    return file.read_bytes()


def state(lake: Path) -> dict[str, str]:
    """The files that count of a lake, by all of their names but the random part, with their checksums."""
    paths = sorted(path for one in ex.lake(lake).captures for path in one.paths)
    return {path.rpartition("-")[0]: hashlib.sha256((lake / path).read_bytes()).hexdigest() for path in paths}


def rows(lake: Path) -> int:
    return int(ex.lake(lake).catalogue["rows"].sum())


def added(files: list[str], lake: Path, workers: int, death: str = "") -> dict[str, Any]:
    """Adds the captures with so many workers; `death` of a worker or of the scheduler comes after two fifths."""
    shutil.rmtree(lake, ignore_errors=True)
    told: dict[str, Any] = {"resumed": 0}
    with cluster(DATA / "dask", workers, pinned=True) as made:
        done: list[str] = []

        def seen(capture: str, what: Any) -> None:
            done.append(capture)
            if isinstance(what, str):
                raise SystemExit(f"{capture}: {what}")
            if len(done) == 2 * len(files) // 5 and death:
                made.kill(made.scheduler if death == "scheduler" else made.workers[0])

        begun = time.perf_counter()
        try:
            ex.lake(lake).add(files, crew=ex.Crew(on=made.on), told=seen)
        except ex.EsxparseError as error:
            told["said"] = str(error)
        told["seconds"] = time.perf_counter() - begun
        told["busy"] = sum(_busy(one.pid) for one in made.workers if one.poll() is None)
    if death == "scheduler":
        with cluster(DATA / "dask", workers, pinned=True) as made:
            found = ex.lake(lake).add(files, crew=ex.Crew(on=made.on))
            told["resumed"] = sum(one.skipped for one in found)
    return told


def _busy(pid: int) -> float:
    """Processor time of a process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ready(lake: ex.Lake) -> pl.DataFrame:
    """95th percentile of %RDY of each VM's vCPUs, the worst first."""
    found: pl.DataFrame = ex.metrics.fleet.ready(lake["vcpu"]).sort("p95_pct", descending=True).collect()
    return found


def asked(lake: Path, rounds: int) -> dict[str, Any]:
    """How long the question takes, from the opening of the lake on, and what it reads."""
    times, counts = [], 0
    for _ in range(rounds):
        begun = time.perf_counter()
        counts = ready(ex.lake(lake)).height
        times.append(time.perf_counter() - begun)
    # What it reads: polars reads files as it reads objects, and the system counts.
    opened = ex.lake(lake)
    _ = opened.captures
    # Local files are mapped otherwise, and what is read of a map nobody counts.
    os.environ["POLARS_FORCE_ASYNC"] = "1"
    before = _read()
    ready(opened)
    read = _read() - before
    del os.environ["POLARS_FORCE_ASYNC"]
    return {"seconds": times, "vms": counts, "bytes": read}


def wanted(lake: Path) -> int:
    """Bytes of the columns that the question needs, as the files' own indexes say."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    names = {"group_id", "group", "world", "pct_ready"}
    total = 0
    for file in lake.glob("table=vcpu/**/*.parquet"):
        index = pq.ParquetFile(file).metadata
        groups = [index.row_group(place) for place in range(index.num_row_groups)]
        columns = [group.column(place) for group in groups for place in range(group.num_columns)]
        total += sum(one.total_compressed_size for one in columns if one.path_in_schema in names)
    return total


def _read() -> int:
    """Bytes that this process has read so far."""
    return int(re.findall(r"rchar: (\d+)", Path("/proc/self/io").read_text(encoding="ascii"))[0])


def in_sql(lake: Path) -> float:
    begun = time.perf_counter()
    query = (
        """SELECT host, "group", quantile_cont(pct_ready, 0.95) FROM vcpu WHERE world LIKE 'vmx-vcpu-%' GROUP BY ALL"""
    )
    ex.lake(lake).sql(query)
    return time.perf_counter() - begun


def judged(lake: Path, workers: int) -> float:
    """Seconds for diagnosis and checks of all captures."""
    shutil.rmtree(lake / "judged", ignore_errors=True)
    with cluster(DATA / "dask", workers, pinned=True) as made:
        begun = time.perf_counter()
        judging.judge(ex.lake(lake), ex.Crew(on=made.on))
        return time.perf_counter() - begun


def parts(lake: Path) -> list[tuple[str, float]]:
    """What a judgement takes in one process, s of processor time per host: the mean over one host of each shape."""
    opened = ex.lake(lake)
    spent: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begun = time.process_time()
        found = work()
        spent.setdefault(name, []).append(time.process_time() - begun)
        return found

    for entry in opened.captures[: len(SHAPES) + 1]:
        rec = opened.recorded(entry)
        timed("check", lambda: ex.check(rec))  # noqa: B023  called at once
        series = timed("diagnosis: tables to series", lambda: series_of(rec, sample_times(rec)))  # noqa: B023
        timed("diagnosis: cases and rules", lambda: diagnose(rec, series=series))  # noqa: B023
    # The first one imports.
    return sorted(((name, statistics.mean(each[1:])) for name, each in spent.items()), key=lambda one: -one[1])


def measured(hosts: int) -> Iterator[str]:
    """The lines of the section."""
    begun = time.perf_counter()
    files = captures(hosts)
    size = sum(Path(one).stat().st_size for one in files)
    made = time.perf_counter() - begun
    yield f"{hosts} hosts, one day of {SAMPLES} samples each, {size / 1e9:.2f} GB of captures (made in {made:.0f} s)."
    yield "A worker of Dask has one processor and one thread. Every lake is compared with the first: the same files"
    yield "with the same SHA-256, and the same number of rows.\n"
    yield "| added by | time | times one worker | of processor | files and rows as with one worker |"
    yield "|---|---|---|---|---|"
    lake = DATA / "lake"
    first: dict[str, str] = {}
    alone = busy = 0.0
    for words, workers, death in CASES:
        told = added(files, lake, workers, death)
        now = state(lake)
        first, alone, busy = first or now, alone or told["seconds"], busy or told["busy"]
        same = f"{'yes' if now == first else 'NO'}: {len(now):,} files, {rows(lake):,} rows"
        times = "" if death else f"{alone / told['seconds']:.2f}"
        more = f"; the second time {told['resumed']} of {hosts} were there" if death == "scheduler" else ""
        print(words, told, same, file=sys.stderr)
        yield f"| {words} | {told['seconds']:.1f} s | {times} | {told['busy']:.1f} s | {same}{more} |"
    table = ex.lake(lake).catalogue
    parquet, values = int(table["bytes"].sum()), SAMPLES * int(table["columns"].sum())
    yield f"\nParquet: {parquet / 1e6:.0f} MB, {parquet / values:.2f} bytes per value (captures: {size / values:.2f})."
    yield f"A worker takes {busy / (size / 1e9):.0f} s of processor time per GB of captures, its start included.\n"
    answer = asked(lake, ROUNDS)
    vcpu = sum(one["bytes"] for entry in ex.lake(lake).captures for one in entry.files("vcpu"))
    times = f"{min(answer['seconds']):.2f} to {max(answer['seconds']):.2f}"
    yield f"95th percentile of ready of each of {answer['vms']:,} VMs over all hosts and the day, from the opening of"
    yield f"the lake on: {statistics.median(answer['seconds']):.2f} s (median of {ROUNDS}; {times})."
    need = f"of which {wanted(lake) / 1e6:.1f} MB are the four columns it needs"
    yield f"Read: {answer['bytes'] / 1e6:.1f} MB, {need}; polars"
    yield f"begins with the last 256 KiB of each file. The table `vcpu` has {vcpu / 1e6:.1f} MB, all have"
    yield f"{parquet / 1e6:.0f} MB. By DuckDB: {in_sql(lake):.2f} s.\n"
    alone, seconds = judged(lake, 1), judged(lake, 2)
    spent = "; ".join(f"{name} {one:.2f} s" for name, one in parts(lake))
    rate = 60 * hosts / seconds
    yield f"Diagnosis and checks of {hosts} hosts with 2 workers: {seconds:.0f} s, {rate:.0f} hosts per minute;"
    yield f"with 1 worker {alone:.0f} s ({alone / seconds:.2f} times as long)."
    yield f"Processor time per host, in one process: {spent}."


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--hosts", type=int, default=200)
    options.add_argument("--loaded", action="store_true", help="say that the machine had other work")
    chosen = options.parse_args()
    lines = list(measured(chosen.hosts))
    if chosen.loaded:
        lines.insert(0, "The machine had other work meanwhile (first numbers).\n")
    sections.put("A fleet's day in a lake", lines)
    shutil.rmtree(DATA, ignore_errors=True)


if __name__ == "__main__":
    main()
