"""Reads a fio log of a gigabyte with esxparse, pandas and polars; prints a table.

`python benchmarks/fio_logs.py [MEGABYTES]` makes the log in `benchmarks/data` where it is not there, then reads it,
each reader in a process of its own, three times in turn. Every reader has the whole log in memory in the end;
esxparse's table has times and values in units, and it has told which lines are none.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"
ROUNDS = 3
LINES = 500_000
COLUMNS = ["time", "value", "direction", "size", "priority"]


def made(megabytes: int) -> Path:
    """A latency log of fio 3.19 and later, a line for each I/O: 20 a millisecond, latencies spread as real ones are."""
    path = DATA / f"fio-{megabytes}_clat.1.log"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    random = np.random.default_rng(4)
    start = 0
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="ascii") as file:
        while file.tell() < megabytes * 1_000_000:
            times = (start + np.arange(LINES)) // 20
            values = random.lognormal(11.5, 0.8, LINES).astype(np.int64)
            directions = random.integers(0, 2, LINES)
            file.writelines(
                f"{at}, {value}, {direction}, 4096, 0\n"
                for at, value, direction in zip(times.tolist(), values.tolist(), directions.tolist(), strict=True)
            )
            start += LINES
    partial.rename(path)
    return path


def esxparse(path: str) -> Any:
    """Everything: `open`, and all its tables collected."""
    import esxparse as ex  # noqa: PLC0415

    return [table.collect() for table in ex.open(path).tables.values()]


def pandas(path: str) -> Any:
    """As people write it."""
    import pandas as pd  # noqa: PLC0415

    return pd.read_csv(path, header=None, names=COLUMNS)


def pandas_one_thread(path: str) -> Any:
    """The same through an open file, for which pandas 3.1 reads with one thread as every pandas before it does."""
    import pandas as pd  # noqa: PLC0415

    with Path(path).open("rb") as file:
        return pd.read_csv(file, header=None, names=COLUMNS)


def pandas_fastest(path: str) -> Any:
    """Arrow's engine, types told."""
    import pandas as pd  # noqa: PLC0415

    return pd.read_csv(path, header=None, names=COLUMNS, dtype="int64", engine="pyarrow")


def polars(path: str) -> Any:
    """Types told: nothing is converted, nothing is checked."""
    import polars as pl  # noqa: PLC0415

    return pl.read_csv(path, has_header=False, schema=dict.fromkeys(COLUMNS, pl.Int64), quote_char=None)


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


def main(megabytes: int) -> None:
    path, small = made(megabytes), made(1)
    met: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
    for _ in range(ROUNDS):
        for reader, results in met.items():
            command = [sys.executable, __file__, reader, str(path), str(small)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            results.append(json.loads(done.stdout.splitlines()[-1]))
    size = path.stat().st_size
    median = {
        reader: {key: statistics.median(one[key] for one in results) for key in results[0]}
        for reader, results in met.items()
    }
    libraries = ", ".join(f"{name} {version(name)}" for name in ("pandas", "polars", "pyarrow"))
    print(
        f"A fio latency log of {size / 1e6:,.0f} MB; median of {ROUNDS}, each in a process of its own; {libraries}.\n"
    )
    print("| reader | seconds | MB/s | processor seconds | times pandas | peak memory |")
    print("|---|---|---|---|---|---|")
    for reader, one in sorted(median.items(), key=lambda item: item[1]["seconds"]):
        ratio = median["pandas"]["seconds"] / one["seconds"]
        print(
            f"| {reader.replace('_', ' ')} | {one['seconds']:.2f} | {size / one['seconds'] / 1e6:,.0f} | "
            f"{one['busy']:.2f} | {ratio:.2f} | {one['peak'] / 1e6:,.0f} MB |"
        )


if __name__ == "__main__":
    if len(sys.argv) > 2:  # a reader, the log, a small one
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
