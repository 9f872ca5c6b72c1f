"""Captures of several small hosts, for lakes."""

from __future__ import annotations

import re
from pathlib import Path

import compose


def capture(
    folder: Path, host: str = "esx-01", ready: tuple[float, ...] = (1, 2, 3), *, day: str = "03/02/2026", more: str = ""
) -> Path:
    """A capture with a VM `db-HOST` whose vCPU waits so, % of each sample; `more`: another counter of it."""
    vcpu = f"Vcpu(7:db-{host}:8:vmx-vcpu-0:db-{host})"
    columns = [(vcpu, "% Ready", host), (vcpu, "% Used", host), ("Memory", "Free MBytes", host)]
    columns += [(vcpu, more, host)] if more else []
    rows = [[str(one), "50", "1024", *(["4"] if more else [])] for one in ready]
    text = compose.text(columns, rows).replace("03/02/2026", day)
    return compose.write(folder, text, f"{host}-{day.replace('/', '')}.csv")


def over_midnight(folder: Path, host: str = "esx-01") -> Path:
    """A capture of 24 samples, the second half of them on the next day."""
    file = capture(folder, host, tuple(range(24)))
    text = file.read_text().replace("03/02/2026 08:00", "03/02/2026 23:59")
    file.write_text(text.replace("03/02/2026 08:01", "03/03/2026 00:00"))
    return file


def wide(folder: Path, host: str, samples: int = 12000) -> Path:
    """A capture with twelve counters of a vCPU, 0 to 100, whose numbers do not repeat: columns of some size."""
    names = (
        "Used",
        "Ready",
        "Run",
        "System",
        "Wait",
        "Idle",
        "Overlap",
        "CoStop",
        "Max Limited",
        "Swap Wait",
        "VmWait",
    )
    columns = [("Vcpu(7:db:8:vmx-vcpu-0:db)", f"% {name}", host) for name in names]
    primes = (7919, 6353, 104729, 1299709, 15485863, 32452843, 49979687, 67867967, 86028121, 982451653, 1000003)
    rows = [[f"{sample * one % 99991 / 999.91:.3f}" for one in primes] for sample in range(samples)]
    return compose.write(folder, compose.text(columns, rows, step=0), f"{host}.csv")


def unwritten(text: str) -> str:
    """Paths in a lake without what tells one writing of a capture from another."""
    return re.sub(r"-[0-9a-f]{16}\.parquet", ".parquet", text)
