"""Reads fio logs with esxparse, pandas and polars; writes a section of RESULTS.md.

`python benchmarks/fio_logs.py [MEGABYTES]` makes the logs in `benchmarks/data` where they are not there: one of that
size (1000) as a simple job writes it, a quarter of it of a job with several block sizes, offsets and priorities. Each
reader has a process of its own; they take turns, three times. Every reader has the whole log in memory in the end;
esxparse's table has times and values in units, and it has told which lines are none.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = Path(__file__).parent / "data"
ROUNDS = 3
LINES = 500_000
SIMPLE = ["time", "value", "direction", "size", "priority"]
MIXED = ["time", "value", "direction", "size", "offset", "priority"]


def _lines(kind: str, start: int, random: np.random.Generator) -> Iterator[str]:
    """Lines of a latency log of fio from 3.19 on, one for each I/O: 20 a millisecond, latencies spread as real ones."""
    times = (start + np.arange(LINES)) // 20
    values = random.lognormal(11.5, 0.8, LINES).astype(np.int64)
    directions = random.integers(0, 2, LINES)
    columns = [times, values, directions]
    if kind == "simple":
        tail = ", 4096, 0\n"
    else:
        sizes = 512 << random.integers(0, 12, LINES)
        columns += [sizes, random.integers(0, 1 << 22, LINES) * sizes, random.integers(0, 2, LINES)]
        tail = "\n"
    return (", ".join(map(str, row)) + tail for row in zip(*(column.tolist() for column in columns), strict=True))


def made(megabytes: float, kind: str = "simple") -> Path:
    """A log of at least that size."""
    path = DATA / f"fio-{megabytes:g}{'' if kind == 'simple' else f'-{kind}'}_clat.1.log"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    random = np.random.default_rng(4)
    start = 0
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="ascii") as file:
        while file.tell() < megabytes * 1_000_000:
            file.writelines(_lines(kind, start, random))
            start += LINES
    partial.rename(path)
    return path


def _names(path: str) -> list[str]:
    return MIXED if "-mixed" in path else SIMPLE


def esxparse(path: str) -> Any:
    """Everything: `open`, and all its tables collected."""
    import esxparse as ex  # noqa: PLC0415

    return [table.collect() for table in ex.open(path).tables.values()]


def pandas(path: str) -> Any:
    """As people write it."""
    import pandas as pd  # noqa: PLC0415

    return pd.read_csv(path, header=None, names=_names(path))


def pandas_one_thread(path: str) -> Any:
    """The same through an open file, for which pandas 3.1 reads with one thread as every pandas before it does."""
    import pandas as pd  # noqa: PLC0415

    with Path(path).open("rb") as file:
        return pd.read_csv(file, header=None, names=_names(path))


def pandas_fastest(path: str) -> Any:
    """Arrow's engine, types told."""
    import pandas as pd  # noqa: PLC0415

    return pd.read_csv(path, header=None, names=_names(path), dtype="int64", engine="pyarrow")


def polars(path: str) -> Any:
    """Types told: nothing is converted, nothing is checked."""
    import polars as pl  # noqa: PLC0415

    return pl.read_csv(path, has_header=False, schema=dict.fromkeys(_names(path), pl.Int64), quote_char=None)


READERS: dict[str, Callable[[str], Any]] = {
    reader.__name__: reader for reader in (esxparse, pandas, pandas_one_thread, pandas_fastest, polars)
}


def measure(reader: str, path: str, small: str) -> dict[str, float]:
    """Seconds of wall clock and of processors, and peak memory of the process."""
    READERS[reader](small)
    start, busy = time.perf_counter(), time.process_time()
    result = READERS[reader](path)
    met = {"seconds": time.perf_counter() - start, "busy": time.process_time() - busy}
    met["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    del result
    return met


def _section(path: Path, small: Path, readers: list[str]) -> list[str]:
    """A table of those readers, measured in turn."""
    met: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
    before = os.getloadavg()[0]
    for _ in range(ROUNDS):
        for reader, results in met.items():
            command = [sys.executable, __file__, reader, str(path), str(small)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            results.append(json.loads(done.stdout.splitlines()[-1]))
    after = os.getloadavg()[0]
    size = path.stat().st_size

    def median(reader: str, key: str) -> float:
        return statistics.median(one[key] for one in met[reader])

    def times(reader: str, key: str) -> float:
        """How many times pandas: of each round, then their median."""
        rounds = zip(met["pandas"], met[reader], strict=True)
        return statistics.median(first[key] / second[key] for first, second in rounds)

    with path.open("rb") as file:
        line = file.readline().decode().strip()
    load = f"Load of the machine {before:.1f} before, {after:.1f} after (a reader alone makes 1 to 2)."
    lines = [
        f"{size / 1e6:,.0f} MB of lines like `{line}`; {ROUNDS} rounds. {load}",
        "",
        "| reader | seconds (min to max) | MB/s | processor seconds | times pandas | in processor time | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for reader in sorted(readers, key=lambda reader: median(reader, "seconds")):
        seconds = [one["seconds"] for one in met[reader]]
        spread = f"({min(seconds):.2f} to {max(seconds):.2f})"
        lines.append(
            f"| {reader.replace('_', ' ')} | {median(reader, 'seconds'):.2f} {spread} "
            f"| {size / median(reader, 'seconds') / 1e6:,.0f} | {median(reader, 'busy'):.2f} "
            f"| {times(reader, 'seconds'):.2f} | {times(reader, 'busy'):.2f} | {median(reader, 'peak') / 1e6:,.0f} MB |"
        )
    return lines


def main(megabytes: int) -> None:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("pandas", "polars", "pyarrow", "numpy"))
    made_by = f"Made by `python benchmarks/fio_logs.py {megabytes}` on {datetime.now(UTC):%Y-%m-%d}"
    lines = [
        f"{made_by}: {os.cpu_count()} processors; Python {platform.python_version()}, {libraries}.",
        "",
        "Each reader in a process of its own, after a small log; times pandas is the median of the rounds. A column",
        "that has one number in all lines takes no memory in esxparse's table: in the first log block size and",
        "priority, in the second none.",
        "",
        *_section(made(megabytes), made(1), list(READERS)),
        "",
        *_section(made(megabytes / 4, "mixed"), made(1, "mixed"), ["esxparse", "pandas", "polars"]),
    ]
    sections.put("fio logs", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    if len(sys.argv) > 2:  # a reader, the log, a small one
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
