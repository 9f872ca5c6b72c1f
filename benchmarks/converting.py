"""Converts a capture of 6 GB to Parquet and asks the result four questions; adds a section to RESULTS.md.

Each step in a process of its own; peak memory is that of the whole process. The peer is polars, which turns the same
file, of 1 GB, into one Parquet file of as many columns.
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
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
LAKE = DATA / "lake"
LARGE, SMALL = (40000, 22600), (40000, 3800)
ROUNDS = 5
ROUNDS_LARGE = 3
PATIENCE_S = 900


def convert(path: str) -> Any:
    """Convert with `esxparse.convert`."""
    import esxparse as ex  # noqa: PLC0415

    shutil.rmtree(LAKE, ignore_errors=True)
    made = ex.convert(path, LAKE)
    return made.bytes


def polars_sink(path: str) -> Any:
    """Convert with polars, `scan_csv` and `sink_parquet`."""
    import polars as pl  # noqa: PLC0415

    with Path(path).open(encoding="ascii") as file:
        width = file.readline().count('","') + 1
    schema = {f"c{n}": pl.Float64 if n else pl.String for n in range(width)}
    target = DATA / "polars.parquet"
    pl.scan_csv(path, has_header=False, skip_rows=1, schema=schema).sink_parquet(target)
    size = target.stat().st_size
    target.unlink()
    return size


def session(path: str) -> Any:
    """Four queries on what was converted, the import and the opening included."""
    import polars as pl  # noqa: PLC0415

    import esxparse as ex  # noqa: PLC0415

    rec = ex.open(LAKE / Path(path).stem)
    ready = rec["vcpu"].group_by("group").agg(pl.col("pct_ready").mean(), pl.col("pct_ready").max().alias("most"))
    worst = ready.sort("pct_ready", descending=True).head(10).collect()
    one = rec["vcpu"].filter(pl.col("group") == worst["group"][0]).select("time", "world", "pct_ready", "pct_costop")
    host = rec["physical_cpu"].filter(pl.col("pcpu").is_null()).select("time", "pct_processor_time")
    latency = pl.col("average_guest_millisec_per_command")
    disks = rec["physical_disk_scsi_device"].group_by("instance")
    return [
        one.collect().height,
        host.collect().height,
        disks.agg(latency.mean(), latency.quantile(0.95).alias("p95")).collect().height,
    ]


STEPS: dict[str, Callable[[str], Any]] = {step.__name__: step for step in (convert, polars_sink, session)}


def once(step: str, file: Path) -> dict[str, Any] | None:
    """Seconds, peak memory and answer of one step; None where it took too long or died."""
    command = [sys.executable, __file__, step, str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"{step}: {error}", file=sys.stderr)
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def row(step: str, file: Path, rounds: int) -> str:
    met = [one for _ in range(rounds) if (one := once(step, file))]
    words = (STEPS[step].__doc__ or "").rstrip(".")
    size = f"{file.stat().st_size / 1e9:.2f} GB"
    if not met:
        return f"| {words} | {size} | not within {PATIENCE_S} s | | |"
    times = [one["seconds"] for one in met]
    print(f"{step} {size}: {statistics.median(times):.2f} s", file=sys.stderr)
    spread = f" ({min(times):.2f} to {max(times):.2f})" if rounds > 1 else ""
    peak = statistics.median(one["peak"] for one in met) / 2**20
    busy = statistics.median(one["busy"] for one in met)
    return f"| {words} | {size} | {statistics.median(times):.2f} s{spread} | {busy:.2f} s | {peak:,.0f} MiB |"


def main() -> None:
    large, small = captures.cached(DATA, *LARGE), captures.cached(DATA, *SMALL)
    lines = ["| step | capture | time | processor time | peak memory of the process |", "|---|---|---|---|---|"]
    shutil.rmtree(LAKE, ignore_errors=True)
    for step, file, rounds in (
        ("convert", small, ROUNDS),
        ("polars_sink", small, 1),
        ("convert", large, ROUNDS_LARGE),
        ("session", large, ROUNDS),
    ):
        lines.append(row(step, file, rounds))
    sections.put("Converting to Parquet", lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        begun = time.perf_counter()
        answer = STEPS[sys.argv[1]](sys.argv[2])
        seconds = time.perf_counter() - begun
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        busy = time.process_time()
        print(json.dumps({"seconds": seconds, "busy": busy, "peak": peak_bytes, "answer": answer}))
    else:
        main()
