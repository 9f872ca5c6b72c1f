"""Benchmarks whose results no model of a host gives: netperf 2.6, STREAM 5.10, LINPACK of MKL, redis-benchmark 2.8.

Evidence: the `printf`s of nettest_bsd.c ("migrated" tests), stream.c and redis-benchmark.c, and captured outputs; of
LINPACK, outputs that people captured from 2017 to 2024 and published. GFlops = (2/3 N**3 + 2 N**2) / time / 10**9 and
memory = 8 x LDA x N + 20 x LDA + alignment bytes give their numbers.

Assumptions: netperf's elapsed time is what was asked for. STREAM's clock ticks in microseconds, and its mean and
longest times are a few percent above the shortest. LDA is N rounded up to a multiple of 8; the normalised residual of
LINPACK lies between 0.030 and 0.042, the same in all trials of a size. The mean latency of redis-benchmark is what
the number of clients allows, and its progress comes every 251 ms of a run as even as can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from math import fsum
from typing import Final

import numpy as np

from esxparse_simulator.limits import need, positive
from esxparse_simulator.measured import Distribution
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers import TEXTS

_NETPERF: Final = {
    "TCP_STREAM": "TCP STREAM",
    "TCP_MAERTS": "TCP MAERTS",
    "TCP_RR": "TCP REQUEST/RESPONSE",
    "UDP_RR": "UDP REQUEST/RESPONSE",
}
KERNELS: Final = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
"""STREAM's kernels, and how many arrays each moves."""
_LINE: Final = "-" * 61
_TICK_MS: Final = 251


def netperf_text(test: str, rates: Sequence[float], seconds: float, to: str = "192.0.2.20") -> str:
    """What runs of netperf print against the host `to`; rates are Mbit/s, of `_RR` tests transactions per second."""
    need(test in _NETPERF, f"{test!r} is not a test that can be written: choose one of {', '.join(_NETPERF)}")
    address = to and not any(character.isspace() for character in to)
    need(address, f"{to!r} is not the address of a host: give one without blanks")
    answered = test.endswith("_RR")
    banner = (
        f"MIGRATED {_NETPERF[test]} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to {to} () port 0 AF_INET : demo"
        f"{' : first burst 0' if answered else ''}\n"
    )
    text = ""
    for rate in rates:
        positive(f"the rate of {test}", rate)
        if answered:
            row = f"16384  87380  1        1       {seconds:<6.2f}   {rate:7.2f}   \n16384  87380 \n"
        else:
            row = f" 87380  16384  16384    {seconds:<6.2f}   {rate:7.2f}   \n"
        text += banner + (TEXTS["netperf"]["rr" if answered else "stream"]) + row
    return text


def stream_text(runs: Sequence[Sequence[float]], array_elements: int, threads: int, seed: int) -> str:
    """What runs of STREAM print, one after another; of each the best rate by kernel, MB/s (10**6 bytes per second)."""
    noise, array = Noise(seed), 8.0 * positive("array_elements", array_elements)
    lines: list[str] = []
    for place, rates in enumerate(runs):
        order_us = int(2.0 * array / positive("the rate of scale", rates[1]))
        lines.append(_stream_head(array_elements, int(positive("threads", threads)), order_us))
        for (name, arrays), rate in zip(KERNELS.items(), rates, strict=True):
            shortest = arrays * array / (positive(f"the rate of {name}", rate) * 1e6)
            mean = shortest * (1.0 + 0.012 * (0.5 + noise.uniform(f"stream {place} {name} mean")))
            longest = shortest * (1.0 + 0.08 * (0.5 + 0.5 * noise.uniform(f"stream {place} {name} longest")))
            lines.append(f"{name.capitalize() + ':':<11}{rate:12.1f}  {mean:11.6f}  {shortest:11.6f}  {longest:11.6f}")
        lines += [_LINE, f"Solution Validates: avg error less than {1e-13:e} on all three arrays", _LINE]
    return "\n".join(lines) + "\n"


def _stream_head(elements: int, threads: int, order_us: int) -> str:
    mib = 8.0 * elements / (1 << 20)
    sizes = {"mib": mib, "gib": mib / 1024.0, "all_mib": 3.0 * mib, "all_gib": 3.0 * mib / 1024.0}
    return TEXTS["stream"]["head"].format(elements=elements, threads=threads, order_us=order_us, **sizes)


@dataclass(frozen=True, slots=True)
class Size:
    """A problem size of LINPACK, and the GFlops of each trial."""

    equations: int
    gflops: tuple[float, ...]

    @property
    def lda(self) -> int:
        """Leading dimension of the array."""
        return (self.equations + 7) // 8 * 8

    @property
    def memory(self) -> int:
        """Bytes asked for."""
        return 8 * self.lda * self.equations + 20 * self.lda + 4096


@dataclass(frozen=True, slots=True)
class Processors:
    """What LINPACK says of the machine: frequency in GHz, sockets ("CPUs"), cores, threads."""

    ghz: float = 2.7
    sockets: int = 4
    cores: int = 32
    threads: int = 32


def linpack_text(sizes: Sequence[Size], start: datetime, host: Processors, seed: int) -> str:
    """What the benchmark prints for these sizes."""
    trials = sizes and all(size.gflops for size in sizes)
    need(trials, "LINPACK needs at least one problem size, and at least one trial of each: give their GFlops")
    memory, largest = max((size.memory, size.equations) for size in sizes)
    lines = ["Intel(R) Optimized LINPACK Benchmark data", "", f"Current date/time: {start.ctime()}", ""]
    lines.append(f"CPU frequency:    {positive('the frequency in GHz', host.ghz):.3f} GHz")
    lines += [f"Number of CPUs: {host.sockets}", f"Number of cores: {host.cores}", f"Number of threads: {host.threads}"]
    lines += ["", "Parameters are set to:", "", f"Number of tests: {len(sizes)}"]
    for title, values in (
        ("Number of equations to solve (problem size)", [size.equations for size in sizes]),
        ("Leading dimension of array", [size.lda for size in sizes]),
        ("Number of trials to run", [len(size.gflops) for size in sizes]),
        ("Data alignment value (in Kbytes)", [4] * len(sizes)),
    ):
        lines.append(f"{title:<43} : " + " ".join(f"{value:<5d}" for value in values))
    lines += ["", f"Maximum memory requested that can be used={memory}, at the size={largest}", ""]
    lines += [" Timing linear equation system solver ".center(76, "="), ""]
    lines.append("Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check")
    summary, noise = [], Noise(seed)
    for size in sizes:
        row_start = f"{size.equations:<6d} {size.lda:<6d} {4:<6d}"
        norm = 0.030 + 0.012 * noise.uniform(f"linpack {size.equations} residual")
        residual, equations = norm * 2.86e-17 * size.equations * size.equations, float(size.equations)
        operations = 2.0 * equations * equations * equations / 3.0 + 2.0 * equations * equations
        for gflops in size.gflops:
            took = operations / (positive(f"the GFlops at size {size.equations}", gflops) * 1e9)
            lines.append(f"{row_start} {took:<10.3f} {gflops:<8.4f} {residual:e} {norm:e}   pass")
        mean = fsum(size.gflops) / len(size.gflops)
        summary.append(f"{row_start}  {mean:<8.4f} {max(size.gflops):<8.4f}")
    lines += ["", "Performance Summary (GFlops)", "", "Size   LDA    Align.  Average  Maximal", *summary]
    return "\n".join([*lines, "", "Residual checks PASSED", "", "End of tests", "", ""])


@dataclass(frozen=True, slots=True)
class RedisTest:
    """One test of redis-benchmark: `SET`, `GET`, `MSET (10 keys)` ... and the rate it reached, requests per second."""

    name: str
    requests_per_s: float
    requests: int = 100_000
    clients: int = 50
    payload_bytes: int = 3

    @property
    def run_ms(self) -> int:
        """How long it ran, in whole milliseconds as the program counts them."""
        return max(1, round(self.requests * 1000.0 / self.requests_per_s))


def redis_text(tests: Sequence[RedisTest]) -> str:
    """What one run of redis-benchmark prints of these tests, its progress with carriage returns included."""
    need(tests, "there is no test of redis-benchmark to write: give at least one")
    for test in tests:
        for name in ("requests_per_s", "requests", "clients", "payload_bytes"):
            positive(f"{name} of {test.name}", getattr(test, name))
    began = accumulate((test.run_ms for test in tests[:-1]), initial=0)
    # After the last of its built-in tests it prints an empty line.
    return "".join(part for test, ms in zip(tests, began, strict=True) for part in _redis(test, ms)) + "\n"


def _redis(test: RedisTest, began_ms: int) -> Iterator[str]:
    # The program divides by whole milliseconds, in single precision.
    took = np.float32(test.run_ms) / np.float32(1000.0)
    rate = float(np.float32(test.requests) / took)
    ticks = (began_ms + test.run_ms - 1) // _TICK_MS - max(0, began_ms - 1) // _TICK_MS
    yield ("" if began_ms else f"{test.name}: -nan\r") + f"{test.name}: {rate:.2f}\r" * ticks
    yield f"====== {test.name} ======\n  {test.requests} requests completed in {float(took):.2f} seconds\n"
    yield f"  {test.clients} parallel clients\n  {test.payload_bytes} bytes payload\n  keep alive: 1\n\n"
    for count, milliseconds in _redis_counts(test):
        share = float(np.float32(count) * np.float32(100.0) / np.float32(test.requests))
        yield f"{share:.2f}% <= {milliseconds} milliseconds\n"
    yield f"{rate:.2f} requests per second\n\n"


def _redis_counts(test: RedisTest) -> Iterator[tuple[int, int]]:
    """Requests and milliseconds of each line.

    The program goes through the sorted latencies, and prints a line at the first of each new millisecond and at the
    last.
    """
    latency = Distribution(test.clients * 1000.0 / test.requests_per_s, "cached")
    printed = last = below = 0
    for milliseconds in range(int(latency.maximum) + 1):
        following = round(test.requests * latency.share_below(milliseconds + 1.0))
        if milliseconds == int(latency.maximum):
            following = test.requests
        if following > below:
            last = milliseconds
            if milliseconds:
                printed = below + 1
                yield printed, milliseconds
        below = following
    if printed < test.requests:
        yield test.requests, last
