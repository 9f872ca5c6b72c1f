"""Reads a gzipped capture, beside `gzip -dc FILE | wc -l` and Python's own gzip module; adds a section to RESULTS.md.

All take turns. Draining the source counts the lines, as wc does; the full read makes all tables. With isal installed
(the extra `compressed`) and without, for which it is hidden. Run: `python benchmarks/gzip_input.py [FILE.gz]`
"""

from __future__ import annotations

import gzip
import shutil
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import captures
import sections

import esxparse
from esxparse.formats.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"
COLUMNS, ROWS = 17000, 800
ROUNDS = 7
BUFFER = 2 << 20
YARDSTICK = "gzip -dc \\| wc -l"


def capture() -> Path:
    plain, packed = DATA / f"{COLUMNS}x{ROWS}.csv", DATA / f"{COLUMNS}x{ROWS}.csv.gz"
    DATA.mkdir(exist_ok=True)
    if not plain.exists():
        captures.write(plain, COLUMNS, ROWS)
    if not packed.exists():
        with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target, BUFFER)
    return packed


def pipeline(file: Path) -> int:
    with subprocess.Popen(["gzip", "-dc", str(file)], stdout=subprocess.PIPE) as unpack:  # noqa: S607
        counted = subprocess.run(["wc", "-l"], stdin=unpack.stdout, capture_output=True, check=True)  # noqa: S607
    return int(counted.stdout)


def source(file: Path) -> int:
    lines = 0
    buffer = bytearray(BUFFER)
    with resolve(file).open() as stream:
        while length := stream.readinto(buffer):  # type: ignore[attr-defined]
            lines += buffer.count(b"\n", 0, length)
    return lines


def tables(file: Path) -> int:
    rec = esxparse.open(file)
    for table in rec.tables.values():
        table.collect()
    return int(rec.meta["samples"]) + 1


def without_isal(read: Callable[[Path], int], file: Path) -> int:
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "isal"}
    # An import of what is None fails.
    sys.modules["isal"] = None  # type: ignore[assignment]
    try:
        return read(file)
    finally:
        del sys.modules["isal"]
        sys.modules.update(hidden)


def python_gzip(file: Path) -> int:
    lines = 0
    with gzip.open(file) as stream:
        while piece := stream.read(BUFFER):
            lines += piece.count(b"\n")
    return lines


READERS: dict[str, Callable[[Path], int]] = {
    YARDSTICK: pipeline,
    "source drained, isal": source,
    "source drained, zlib": partial(without_isal, source),
    "all tables, isal": tables,
    "all tables, zlib": partial(without_isal, tables),
    "gzip module": python_gzip,
}


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else capture()
    times: dict[str, list[float]] = {name: [] for name in READERS}
    lines = set()
    for number in range(ROUNDS + 1):
        for name, read in READERS.items():
            start = time.perf_counter()
            lines.add(read(file))
            if number:
                times[name].append(time.perf_counter() - start)
    if len(lines) != 1:
        msg = f"the readers disagree on the number of lines: {lines}"
        raise SystemExit(msg)
    yardstick = statistics.median(times[YARDSTICK])
    about = f"{file.name}, {file.stat().st_size / 1e6:.0f} MB gzipped, {lines.pop():,} lines, {ROUNDS} rounds."
    table = ["| reader | median (min to max) | times gzip -dc |", "|---|---|---|"]
    for name, seconds in times.items():
        median = statistics.median(seconds)
        spread = f"({min(seconds):.3f} to {max(seconds):.3f})"
        table.append(f"| {name} | {median:.3f} s {spread} | {median / yardstick:.2f} |")
    sections.put("Compressed captures", [about, "", *table])


if __name__ == "__main__":
    main()
