"""Captures to measure with: any number of columns and rows, shaped like an ESXi 6.5 `-b -a` file.

Shape, counted on such a file: 58 % of the cells are "0.00", 15 % "0", 5 % "-1", the rest short decimals and
integers; columns that are zero mostly stay zero. The names repeat the real grammar: groups and their worlds
interleaved, devices, ports, interrupts.
"""

from __future__ import annotations

import datetime as dt
import itertools
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


def _value_texts(rng: np.random.Generator, columns: int, rows: int) -> Iterator[list[str]]:
    kinds = rng.choice(4, size=columns, p=[0.58, 0.16, 0.05, 0.21])
    scale = np.where(rng.random(columns) < 0.3, 400.0, 20.0)
    integers = rng.integers(0, 300, size=columns)
    constant = [
        "0.00" if k == 0 else str(i if i % 4 == 0 else 0) if k == 1 else "-1"
        for k, i in zip(kinds, integers, strict=True)
    ]
    moving = np.flatnonzero(kinds == 3)
    for _ in range(rows):
        texts = constant.copy()
        values = rng.exponential(scale[moving])
        for place, value in zip(moving.tolist(), values.tolist(), strict=True):
            texts[place] = f"{value:.2f}"
        yield texts


def write(path: Path, columns: int, rows: int, seed: int = 1) -> None:
    """Writes a capture of `columns` columns (the time stamp included) and `rows` rows."""
    rng = np.random.default_rng(seed)
    header = ['"(PDH-CSV 4.0) (UTC)(0)"', *(f'"{name}"' for name in itertools.islice(names(), columns - 1))]
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write(",".join(header) + "\n")
        for number, texts in enumerate(_value_texts(rng, columns - 1, rows)):
            stamp = START + dt.timedelta(seconds=5 * number)
            file.write(f'"{stamp:%m/%d/%Y %H:%M:%S}","' + '","'.join(texts) + '"\n')
