"""Opens and queries a capture of 1 GB that stays in its file; adds a section to RESULTS.md.

Each step in a process of its own, medians of several; peak memory is that of the whole process. Run by `make bench`.
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

import captures
import sections

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
DATA = HERE / "data"
LARGE = (40000, 3800)
WIDE = (40000, 400)
ROUNDS = 5
HEADING = "Captures that stay in their file"
COUNTERS = [
    *("% Used", "% Run", "% System", "% Wait", "% Ready", "% Idle", "% Overlap", "% CoStop", "% Max Limited"),
    *("% Swap Wait", "Switches/sec", "Migrates/sec", "Wakeups/sec", "% Demand"),
]


def _names() -> list[str]:
    from esxparse.counters.naming import column_name  # noqa: PLC0415

    return [column_name(counter) for counter in COUNTERS]


def open_large(path: str) -> Any:
    """Header, row index, notes and facts."""
    import esxparse as ex  # noqa: PLC0415

    return ex.open(path, lazy=True).meta["samples"]


def stream_large(path: str) -> Any:
    """A mean per VM of one counter, by the streaming engine."""
    import polars as pl  # noqa: PLC0415

    import esxparse as ex  # noqa: PLC0415

    query = ex.open(path, lazy=True)["vcpu"].group_by("group").agg(pl.col("pct_ready").mean())
    return query.collect(engine="streaming").height


def sink_large(path: str) -> Any:
    """A whole table to Parquet."""
    import esxparse as ex  # noqa: PLC0415

    target = DATA / "vcpu.parquet"
    ex.open(path, lazy=True)["vcpu"].sink_parquet(target)
    size = target.stat().st_size
    target.unlink()
    return size


def full_read(path: str) -> Any:
    """All tables into memory."""
    import esxparse as ex  # noqa: PLC0415

    return [table.collect() for table in ex.open(path, lazy=False).tables.values()]


def fourteen(path: str) -> Any:
    """14 counters of the worlds, from an opened capture."""
    import esxparse as ex  # noqa: PLC0415

    rec = ex.open(path, lazy=True)
    start = time.perf_counter()
    rec["vcpu"].select("time", "instance", *_names()).collect()
    return time.perf_counter() - start


def fourteen_polars(path: str) -> Any:
    """The same columns by polars' projected read."""
    import polars as pl  # noqa: PLC0415

    with Path(path).open(encoding="ascii") as file:
        names = [name.strip('"') for name in file.readline().rstrip("\n").split(",")]
    chosen = [n for n, name in enumerate(names) if "\\Vcpu(" in name and name.rpartition("\\")[2] in COUNTERS]
    schema = {f"c{n}": pl.Float64 if n else pl.String for n in range(len(names))}
    start = time.perf_counter()
    pl.read_csv(path, has_header=False, skip_rows=1, schema=schema, columns=[0, *chosen])
    return time.perf_counter() - start


STEPS: dict[str, Callable[[str], Any]] = {
    step.__name__: step for step in (open_large, stream_large, sink_large, full_read, fourteen, fourteen_polars)
}


def once(step: str, file: Path) -> dict[str, float]:
    command = [sys.executable, __file__, step, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    large, wide = captures.cached(DATA, *LARGE), captures.cached(DATA, *WIDE)
    asked = [("open_large", large), ("stream_large", large), ("sink_large", large)]
    asked += [("full_read", wide), ("fourteen", wide), ("fourteen_polars", wide)]
    lines = ["| step | capture | time, median (min to max) | peak memory of the process |", "|---|---|---|---|"]
    medians = {}
    for step, file in asked:
        met = [once(step, file) for _ in range(ROUNDS)]
        times = [one["seconds"] for one in met]
        medians[step] = statistics.median(times)
        words = (STEPS[step].__doc__ or "").strip().rstrip(".")
        peak = statistics.median(one["peak"] for one in met) / 1e6
        spread = f"({min(times):.3f} to {max(times):.3f})"
        lines.append(
            f"| {words} | {file.stat().st_size / 1e6:,.0f} MB | {medians[step]:.3f} s {spread} | {peak:,.0f} MB |"
        )
        print(f"{step}: {medians[step]:.3f} s", file=sys.stderr)
    mine, polars = medians["full_read"] / medians["fourteen"], medians["fourteen_polars"] / medians["fourteen"]
    lines += [
        "",
        f"14 counters of one view are {mine:.1f} times as fast as the full read, {polars:.1f} times polars' own.",
    ]
    sections.put(HEADING, lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        begun = time.perf_counter()
        result = STEPS[sys.argv[1]](sys.argv[2])
        seconds = result if isinstance(result, float) else time.perf_counter() - begun
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": seconds, "peak": peak_bytes}))
    else:
        main()
