"""Figures that LINPACK, STREAM, netperf and redis-benchmark printed, from their raw files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

Row = tuple[str, str, str, float, str, bool]
"""Test, configuration, metric, value, unit, whether higher is better."""


def linpack(text: str) -> Iterator[Row]:
    threads = re.search(r"^Number of threads: (\d+)", text, re.MULTILINE)[1]
    trials = r"^(\d+) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +[\d.e+-]+ +[\d.e+-]+ +pass"
    for size, lda, align, seconds, rate in re.findall(trials, text, re.MULTILINE):
        about = f"lda {lda}, align_kib {align}, threads {threads}"
        yield f"n {size}", about, "performance", float(rate), "GFlop/s", True
        yield f"n {size}", about, "time", float(seconds), "s", False


def stream(text: str) -> Iterator[Row]:
    elements = re.search(r"^Array size = (\d+)", text, re.MULTILINE)[1]
    threads = re.search(r"^Number of Threads counted = (\d+)", text, re.MULTILINE)[1]
    for kernel, rate in re.findall(r"^(Copy|Scale|Add|Triad): +([\d.]+)", text, re.MULTILINE):
        yield kernel.lower(), f"{elements} elements, {threads} threads", "bandwidth", float(rate), "MB/s", True


def netperf(text: str) -> Iterator[Row]:
    for part in re.split(r"^MIGRATED ", text, flags=re.MULTILINE)[1:]:
        name, to = re.match(r"(TCP [A-Z/]+) TEST from .*? to ([\d.]+)", part).groups()
        line = next(line.split() for line in part.splitlines() if re.fullmatch(r"( *[\d.]+){5,6} *", line))
        if name.startswith("TCP REQUEST"):
            yield (
                "TCP_RR",
                f"to {to}, request {line[2]}, response {line[3]}",
                "throughput",
                float(line[-1]),
                "transactions/s",
                True,
            )
        else:
            yield name.replace(" ", "_"), f"to {to}, message {line[2]}", "throughput", float(line[-1]), "Mbit/s", True


def redis_benchmark(text: str) -> Iterator[Row]:
    text = text.replace("\r", "\n")
    for part in re.split(r"^====== ", text, flags=re.MULTILINE)[1:]:
        clients, size, alive, requests, rate = (
            re.search(pattern, part)[1]
            for pattern in (
                r"(\d+) parallel clients", r"(\d+) bytes payload", r"keep alive: (\d+)", r"(\d+) requests completed",
                r"([\d.]+) requests per second",
            )
        )  # fmt: skip
        about = f"{clients} clients, {size} bytes, keep alive {alive}, {requests} requests"
        yield part.split()[0], about, "throughput", float(rate), "requests/s", True


TOOLS: Mapping[str, tuple[str, Callable[[str], Iterator[Row]]]] = {
    "linpack": ("linpack", linpack),
    "stream": ("stream", stream),
    "netperf": ("netperf", netperf),
    "redis_benchmark": ("redis-benchmark", redis_benchmark),
}
"""Role of a file: what its figures are listed under, and what reads it."""


def listed(files: Mapping[str, Sequence[Path]]) -> list[dict]:
    """The figures that the programs of a run printed, as `tools.listed` has those of lists."""
    names = ("test", "configuration", "metric", "value", "unit", "better")
    return [
        {"benchmark": benchmark, "time": None, **dict(zip(names, row, strict=True))}
        for role, (benchmark, read) in TOOLS.items()
        for path in files.get(role, ())
        for row in read(path.read_text(encoding="utf-8"))
    ]
