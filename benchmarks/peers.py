"""Reads a capture with one reader, in a process of its own, and prints what it took as JSON.

`python benchmarks/peers.py READER FILE`, where READER is a function of this module.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import captures

if TYPE_CHECKING:
    from collections.abc import Callable

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def _columns(path: str) -> int:
    with Path(path).open(encoding="utf-8") as file:
        return file.readline().count('","') + 1


def esxparse(path: str) -> Any:
    """Everything: `open`, and all its tables collected."""
    import esxparse as ex  # noqa: PLC0415

    return [table.collect() for table in ex.open(path).tables.values()]


def polars_typed(path: str) -> Any:
    """All columns told to be Float64, the header skipped: the fastest that polars' own reader can be asked for."""
    import polars as pl  # noqa: PLC0415

    schema = {f"c{n}": pl.Float64 if n else pl.String for n in range(_columns(path))}
    return pl.read_csv(path, has_header=False, skip_rows=1, schema=schema)


def polars_inferred(path: str) -> Any:
    """What people write: types are found out."""
    import polars as pl  # noqa: PLC0415

    return pl.read_csv(path, infer_schema_length=None)


def pandas(path: str) -> Any:
    """The default engine and its inference."""
    import pandas as pd  # noqa: PLC0415

    return pd.read_csv(path, low_memory=False)


def pyarrow(path: str) -> Any:
    """Arrow's threaded reader; its block must hold the header line."""
    import pyarrow.csv as pa_csv  # noqa: PLC0415

    return pa_csv.read_csv(path, read_options=pa_csv.ReadOptions(block_size=32 << 20))


def duckdb(path: str) -> Any:
    """Into Arrow, all columns told to be DOUBLE, lines as long as they are."""
    import duckdb as db  # noqa: PLC0415

    columns = {f"c{n}": "DOUBLE" if n else "VARCHAR" for n in range(_columns(path))}
    options = "header=false, skip=1, auto_detect=false, quote='\"', delim=',', max_line_size=16000000"
    relation = db.sql(f"from read_csv('{path}', columns={columns}, {options})")
    return relation.to_arrow_table() if relation else None


def csv_module(path: str) -> Any:
    """The standard library, a list of floats for each row: what the scripts in circulation do."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return [(stamp, [float(cell) for cell in cells]) for stamp, *cells in rows]


READERS: dict[str, Callable[[str], Any]] = {
    reader.__name__: reader for reader in (esxparse, polars_typed, polars_inferred, pandas, pyarrow, duckdb, csv_module)
}


def _memory(key: str) -> int:
    """A line of this process's status, in bytes; 0 where the system has none."""
    if not _STATUS.exists():
        return 0
    line = next(line for line in _STATUS.read_text(encoding="ascii").splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


AGAIN = 3
SLOW = 2.0
"""A reader that takes longer than this many seconds is not made to read again."""


def measure(reader: str, path: str) -> dict[str, Any]:
    """Seconds of the first read, of those after it, and bytes of memory the first took beyond what there was before.

    The first read of a process touches memory that the system has to find first, which some virtual machines take long
    for; the reads after it find it at hand.
    """
    read = READERS[reader]
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.csv")
        captures.write(small, 300, 5)
        read(str(small))
    if _CLEAR.exists():
        _CLEAR.write_text("5", encoding="ascii")
    before = _memory("VmRSS")
    start = time.perf_counter()
    result = read(path)
    first = time.perf_counter() - start
    peak = _memory("VmHWM") - before
    held = sum(table.estimated_size() for table in result) if reader == "esxparse" else 0
    again = []
    for _ in range(AGAIN if first < SLOW else 0):
        # What was read goes before the next read, which would else need memory for both.
        result = None
        start = time.perf_counter()
        result = read(path)
        again.append(time.perf_counter() - start)
    del result
    return {"first": first, "again": again or [first], "peak": peak, "tables": held}


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
