"""Reads a large JSON+ of fio with esxparse, beside orjson and json.load alone and pandas; adds a section to RESULTS.md.

The document is made here (a bench of many jobs, read and write, about 900 bins each, as fio indents them) and kept in
benchmarks/data. pandas makes the same two tables: jobs with json_normalize, bins with a frame for each job. Each
reading is a process of its own, which reports its time without the imports and its peak memory with them.
Run: `python benchmarks/fio_json.py [MEGABYTES]`
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sections

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"
ROUNDS = 3
BINS = 900
PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)


def _middles() -> list[int]:
    """The middles of the bins that fio has from 40 us on."""
    found = []
    for power in range(15, 35):
        width = 1 << (power - 6)
        found += [(1 << power) + place * width + width // 2 for place in range(64)]
    return found[:BINS]


def _direction(random: np.random.Generator, middles: list[int]) -> dict[str, Any]:
    counts = random.integers(1, 60_000, len(middles)).tolist()
    ios = sum(counts)
    spread = {"min": middles[0], "max": middles[-1], "mean": 812_345.678901, "stddev": 91_234.567890, "N": ios}
    percentile = {f"{share:f}": middles[int(share / 100 * (BINS - 1))] for share in PERCENTILES}
    plain = {
        "io_bytes": ios * 4096, "io_kbytes": ios * 4, "bw_bytes": ios * 68, "bw": ios // 15, "iops": ios / 60,
        "runtime": 60_000, "total_ios": ios, "short_ios": 0, "drop_ios": 0, "slat_ns": spread,
    }  # fmt: skip
    binned = {**spread, "percentile": percentile, "bins": dict(zip(map(str, middles), counts, strict=True))}
    sampled = {
        "bw_min": 20_480,
        "bw_max": 40_960,
        "bw_agg": 100.0,
        "bw_mean": 30_720.5,
        "bw_dev": 512.25,
        "bw_samples": 119,
    }
    rates = {"iops_min": 5120, "iops_max": 10_240, "iops_mean": 7680.25, "iops_stddev": 128.5, "iops_samples": 119}
    return {**plain, "clat_ns": binned, "lat_ns": spread, **sampled, **rates}


def make(file: Path, megabytes: int) -> None:
    random = np.random.default_rng(4)
    middles = _middles()
    options = {"rw": "randrw", "bs": "4k", "iodepth": "32"}
    shares = {"latency_us": {"100": 1.5, "1000": 60.0}, "latency_ms": {"2": 38.5, ">=2000": 0.0}}
    with file.open("w", encoding="ascii") as out:
        out.write('{\n  "fio version" : "fio-3.36",\n  "timestamp" : 1772870400,\n  "jobs" : [\n')
        number = 0
        while out.tell() < megabytes * 1_000_000:
            both = {name: _direction(random, middles) for name in ("read", "write")}
            whole = {
                "jobname": f"bench{number}",
                "groupid": number,
                "error": 0,
                "job options": options,
                **both,
                **shares,
            }
            text = json.dumps(whole, indent=2, separators=(",", " : ")).replace("\n", "\n    ")
            out.write(f"{',' if number else ''}\n    {text}")
            number += 1
        out.write("\n  ]\n}\n")


def with_esxparse(file: Path) -> Callable[[], tuple[int, int]]:
    import esxparse as ex  # noqa: PLC0415  not in the processes of the others

    # What it imports when it opens its first file is imported before the time begins, as are the others' libraries.
    small = file.with_name("small.json")
    small.write_text('{"fio version": "fio-3.36", "jobs": [{"jobname": "a"}]}', encoding="ascii")
    ex.open(small)

    def read() -> tuple[int, int]:
        rec = ex.open(file)
        opened = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak of opening alone: {opened:,.0f} MiB", file=sys.stderr)
        bins = rec["latency_bins"].collect()
        return rec["jobs"].collect().height, bins["ios"].count()

    return read


def with_json(file: Path) -> Callable[[], tuple[int, int]]:
    def read() -> tuple[int, int]:
        with file.open(encoding="utf-8") as stream:
            document = json.load(stream)
        both = [job[name] for job in document["jobs"] for name in ("read", "write")]
        return len(both), sum(len(one["clat_ns"]["bins"]) for one in both)

    return read


def with_orjson(file: Path) -> Callable[[], tuple[int, int]]:
    import orjson  # noqa: PLC0415  as above

    def read() -> tuple[int, int]:
        document = orjson.loads(file.read_bytes())
        both = [job[name] for job in document["jobs"] for name in ("read", "write")]
        return len(both), sum(len(one["clat_ns"]["bins"]) for one in both)

    return read


def with_pandas(file: Path) -> Callable[[], tuple[int, int]]:
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415  as above

    def read() -> tuple[int, int]:
        with file.open(encoding="utf-8") as stream:
            document = json.load(stream)
        rows, bins = [], []
        for number, job in enumerate(document["jobs"]):
            for name in ("read", "write"):
                counted = job[name]["clat_ns"].pop("bins")
                whose = {"job_number": number, "job": job["jobname"], "direction": name}
                rows.append({**whose, **job[name]})
                bins.append(pd.DataFrame({"middle": counted.keys(), "ios": counted.values(), **whose}))
        jobs, all_bins = pd.json_normalize(rows), pd.concat(bins, ignore_index=True)
        all_bins["ms"] = all_bins["middle"].astype("int64") / 1e6
        return len(jobs), len(all_bins)

    return read


READERS = {
    "esxparse": with_esxparse,
    "orjson alone": with_orjson,
    "json.load alone": with_json,
    "json + pandas": with_pandas,
}


def measured(name: str, file: Path) -> dict[str, Any]:
    """One reading in a process of its own."""
    command = [sys.executable, __file__, "--reader", name, str(file)]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))


def reading(name: str, file: Path) -> None:
    read = READERS[name](file)
    start, busy = time.perf_counter(), time.process_time()
    rows = read()
    seconds, cpu = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "rows": rows}))


def main() -> None:
    if sys.argv[1:2] == ["--reader"]:
        reading(sys.argv[2], Path(sys.argv[3]))
        return
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    DATA.mkdir(exist_ok=True)
    file = DATA / f"fio-{megabytes}mb.json"
    if not file.exists():
        make(file, megabytes)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in READERS}
    for _ in range(ROUNDS):
        for name in READERS:
            found[name].append(measured(name, file))
    rows = {tuple(one["rows"]) for all_of in found.values() for one in all_of}
    if len(rows) != 1:
        msg = f"the readers disagree: {rows}"
        raise SystemExit(msg)
    jobs, bins = rows.pop()
    about = f"{file.stat().st_size / 1e6:.0f} MB JSON+, {jobs:,} rows of jobs, {bins:,} bins, median of {ROUNDS}."
    lines = [about, "", "| reader | time | CPU time | peak memory |", "|---|---|---|---|"]
    for name, all_of in found.items():
        seconds, cpu, peak = (statistics.median(one[key] for one in all_of) for key in ("seconds", "cpu", "peak"))
        lines.append(f"| {name} | {seconds:.2f} s | {cpu:.2f} s | {peak:,.0f} MiB |")
    sections.put("fio JSON+", lines)


if __name__ == "__main__":
    main()
