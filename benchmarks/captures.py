"""Captures to measure with: any number of columns and rows, shaped like an ESXi 6.5 `-b -a` file.

Counted on such a file, and (here): 58 % (58 %) of the cells are "0.00", 19 % (16 %) a single digit, 5 % (4 %) "-1".
From one row to the next 12 % (15 %) of the cells change; those that stay stand in runs of 13 (11) on average, for most
worlds are idle and most devices unused. The names repeat the real grammar, groups and their worlds interleaved.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = "bench-esx-01.example.com"
START = dt.datetime(2026, 3, 2, 8, 0, 0, tzinfo=dt.UTC)

_CPU = [
    "% Used",
    "% Run",
    "% System",
    "% Wait",
    "% VmWait",
    "% Ready",
    "% Idle",
    "% Overlap",
    "% CoStop",
    "% Max Limited",
    "% Swap Wait",
    "Switches/sec",
    "Migrates/sec",
    "Quantum Expires/sec",
    "Wakeups/sec",
    "Alloc Min",
    "Alloc Max",
    "Alloc Shares",
    "Alloc Min Limited",
    "% CPU Latency",
    "% Memory Latency",
    "% Demand",
    "Effective Min (MHz)",
]
_MEMORY = [
    "Members",
    "Alloc Min",
    "Alloc Max",
    "Alloc Shares",
    "Memory Size MBytes",
    "Memory Granted Size MBytes",
    "Target Size MBytes",
    "Touched MBytes",
    "% Active Estimate",
    "Memctl?",
    "Memctl MBytes",
    "Memctl Target MBytes",
    "Swapped MBytes",
    "Swap Read MBytes/sec",
    "Swap Written MBytes/sec",
    "Zero MBytes",
    "Shared MBytes",
    "Overhead MBytes",
    "Compressed Memory MBytes",
]
_DISK = [
    f"Average {layer} MilliSec/{operation}"
    for layer in ("Driver", "Kernel", "Guest", "Queue")
    for operation in ("Command", "Read", "Write")
]
_DISK += [
    "Commands/sec",
    "Reads/sec",
    "Writes/sec",
    "MBytes Read/sec",
    "MBytes Written/sec",
    "Aborts/sec",
    "Resets/sec",
]
_NETWORK = [
    "Packets Transmitted/sec",
    "MBits Transmitted/sec",
    "Packets Received/sec",
    "MBits Received/sec",
    "% Outbound Packets Dropped",
    "% Received Packets Dropped",
]


def names() -> Iterator[str]:
    r"""Column paths (`\\host\object(instance)\counter`) without end, as interleaved as esxtop's own."""
    yield from (rf"\\{HOST}\Memory\{name}" for name in ("Machine MBytes", "Free MBytes", "Kernel State"))
    yield from (
        rf"\\{HOST}\Physical Cpu({cpu})\{name}"
        for name in ("% Processor Time", "% Util Time")
        for cpu in (*range(64), "_Total")
    )
    for group in itertools.count(1):
        vm = f"{20000 + group}:app-{group:03d} (blue)"
        yield from (rf"\\{HOST}\Group Cpu({vm})\{name}" for name in ("Members", *_CPU))
        for world in range(8):
            part = f"vmx-vcpu-{world}:app-{group:03d} (blue)" if world < 4 else f"PVSCSI-{group}:{world}"
            yield from (rf"\\{HOST}\Vcpu({vm}:{2100000 + group * 10 + world}:{part})\{name}" for name in _CPU)
        yield from (rf"\\{HOST}\Group Memory({vm})\{name}" for name in _MEMORY)
        yield from (rf"\\{HOST}\Physical Disk SCSI Device(naa.6005{group:028d})\{name}" for name in _DISK)
        yield from (rf"\\{HOST}\Network Port(DvsPortset-0:{50331648 + group}:app-{group:03d})\{n}" for n in _NETWORK)


_SETTINGS = re.compile(r"Alloc|Members|Effective|Memctl\?|State|Machine")
_ACTIVE = 0.3
"""Share of worlds, groups, devices and ports that do anything."""


def _kinds(paths: list[str], rng: np.random.Generator) -> tuple[list[str], list[int]]:
    """The text of each column that never changes, and the places of those that do."""
    active: dict[str, bool] = {}
    constant, moving = [], []
    for place, path in enumerate(paths):
        owner, _, counter = path.rpartition("\\")
        busy = active.setdefault(owner, bool(rng.random() < _ACTIVE))
        text = "0.00"
        if _SETTINGS.search(counter):
            text = "-1" if counter == "Alloc Max" else str(rng.integers(0, 10) if rng.random() < 0.8 else 1000)
        elif busy and rng.random() < 0.55:
            moving.append(place)
        elif "Wait" in counter or "MBytes" in counter:
            text = "97.31" if rng.random() < 0.3 else "0.00"
        elif rng.random() < 0.06:
            text = "0"
        constant.append(text)
    return constant, moving


def _value_texts(paths: list[str], rng: np.random.Generator, rows: int) -> Iterator[list[str]]:
    constant, moving = _kinds(paths, rng)
    scale = np.where(rng.random(len(moving)) < 0.3, 400.0, 20.0)
    for _ in range(rows):
        texts = constant.copy()
        for place, value in zip(moving, rng.exponential(scale).tolist(), strict=True):
            texts[place] = f"{value:.2f}"
        yield texts


def write(path: Path, columns: int, rows: int, seed: int = 1) -> None:
    """Writes a capture of `columns` columns (the time stamp included) and `rows` rows."""
    rng = np.random.default_rng(seed)
    paths = list(itertools.islice(names(), columns - 1))
    header = ['"(PDH-CSV 4.0) (UTC)(0)"', *(f'"{path}"' for path in paths)]
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write(",".join(header) + "\n")
        for number, texts in enumerate(_value_texts(paths, rng, rows)):
            stamp = START + dt.timedelta(seconds=5 * number)
            file.write(f'"{stamp:%m/%d/%Y %H:%M:%S}","' + '","'.join(texts) + '"\n')


def cached(folder: Path, columns: int, rows: int) -> Path:
    """The capture of that size in `folder`, written where it is not there yet."""
    file = folder / f"{columns}x{rows}.csv"
    if not file.exists():
        folder.mkdir(exist_ok=True)
        write(file, columns, rows)
    return file
