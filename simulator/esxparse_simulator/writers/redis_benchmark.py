"""redis-benchmark 2.8 and 7.0: text, `-q` and `--csv`, one or several tests, one after another as it prints them.

Evidence: redis-benchmark.c, `showThroughput` and `showLatencyReport`, of 2.8 (whole milliseconds) and of 6.2 to 7.0
(HDR histogram), and runs of 7.0.15, which this was compared with. Rates are single precision floats of requests over
whole milliseconds, as the program divides them: the rate that was passed in comes back within half a millisecond of the
run time (0.0005 % of 100 s). Latencies of 7.0 are counted in the program's own bins (8 us wide up to 16.4 ms, 16 us up
to 32.8 ms ...), and every percentile, share and bound is taken from these counts; `avg` is the mean that was passed in.

Where output is captured the progress is in it, with carriage returns: a line at the very start, and one every 250 ms
(251 ms here) from there on, whatever test is running. It tells rate and mean latency, from the start and since the line
before, of a run as even as can be.

Assumptions: a mean latency that is not given is what the clients' number allows (clients x pipeline / rate); the
host configuration of 7.0 is that of a server without persistence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from esxparse.errors import EsxparseError
from esxparse_simulator.distribution import Distribution
from esxparse_simulator.writers.redis_counts import NEW_SHARES, Counts, counted, old_counts
from esxparse_simulator.writers.repetitions import needs, repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse_simulator.model.noise import Noise

__all__ = ["Form", "Test", "Version", "runs", "text"]

Version = Literal["2.8", "7.0"]
Form = Literal["text", "quiet", "csv"]

_TICK_MS: Final = 251
_CSV_TITLES: Final = '"test","rps",' + ",".join(
    f'"{name}_latency_ms"' for name in ("avg", "min", "p50", "p95", "p99", "max")
)
_ROUNDING: Final = 1.02


@dataclass(frozen=True, slots=True)
class Test:
    """One test of one run: `SET`, `GET`, `MSET (10 keys)` ... and the rate it reached, requests per second.

    `latency_ms`: None for the mean that the clients allow; more than that is impossible.
    """

    name: str
    requests_per_s: float
    requests: int = 100_000
    clients: int = 50
    payload_bytes: int = 3
    pipeline: int = 1
    latency_ms: Distribution | None = None
    keep_alive: bool = True
    threads: int = 0

    @property
    def run_ms(self) -> int:
        """How long it ran, in whole milliseconds as the program counts them."""
        return max(1, round(self.requests * 1000.0 / self.requests_per_s))

    @property
    def latency(self) -> Distribution:
        """Its latencies, ms."""
        if self.latency_ms is not None:
            return self.latency_ms
        return Distribution(self.clients * self.pipeline * 1000.0 / self.requests_per_s, "cached")


def runs(noise: Noise, label: str, mean: Test, spread: float, repetitions: int) -> tuple[Test, ...]:
    """So many runs of a test around its rate (`spread` is relative), whose mean is that rate."""
    rates = repeated(noise, label, mean.requests_per_s, spread, repetitions)
    return tuple(replace(mean, requests_per_s=rate) for rate in rates)


def _check(test: Test) -> None:
    needs(f"the rate of {test.name}", test.requests_per_s)
    for name in ("requests", "clients", "payload_bytes", "pipeline"):
        needs(f"{name} of {test.name}", getattr(test, name))
    needs(f"the latency of {test.name}", test.latency.mean)
    most = test.clients * test.pipeline * 1000.0 / test.requests_per_s
    if test.latency.mean > most * _ROUNDING:
        msg = (
            f"{test.name}: {test.clients} clients with {test.pipeline} requests each cannot reach "
            f"{test.requests_per_s:g}/s at {test.latency.mean:g} ms: {most:.4g} ms is the most, lower it"
        )
        raise EsxparseError(msg)
    if not test.name or any(character in test.name for character in '"\r\n'):
        msg = f"a test cannot be called {test.name!r}: give it a name of one line without quotes"
        raise EsxparseError(msg)


def _rate(test: Test) -> float:
    milliseconds = np.float32(test.run_ms) / np.float32(1000.0)
    return float(np.float32(test.requests) / milliseconds)


def _ticks(test: Test, began_ms: int) -> tuple[bool, int]:
    """Whether the program's first report falls into a test that began so long after it, and how many later ones do."""
    return began_ms == 0, (began_ms + test.run_ms - 1) // _TICK_MS - max(0, began_ms - 1) // _TICK_MS


def _old_progress(test: Test, began_ms: int) -> str:
    first, ticks = _ticks(test, began_ms)
    return (f"{test.name}: -nan\r" if first else "") + f"{test.name}: {_rate(test):.2f}\r" * ticks


def _new_progress(test: Test, began_ms: int) -> str:
    rate, mean = _rate(test), test.latency.mean
    first, ticks = _ticks(test, began_ms)
    lines = [f"{test.name}: rps=0.0 (overall: -nan) avg_msec=-nan (overall: -nan)\r"] if first else []
    lines += [f"{test.name}: rps={rate:.1f} (overall: {rate:.1f}) avg_msec={mean:.3f} (overall: {mean:.3f})\r"] * ticks
    # Each is wiped out with as many blanks as it has characters, the carriage return among them.
    wipes = [1, *(len(line) for line in lines)]
    return "".join(f"{' ' * wipe}\r{line}" for wipe, line in zip(wipes, [*lines, ""], strict=True))


def _old(test: Test, form: Form, began_ms: int) -> Iterator[str]:
    if form == "csv":
        yield f'"{test.name}","{_rate(test):.2f}"\n'
        return
    yield _old_progress(test, began_ms)
    if form == "quiet":
        yield f"{test.name}: {_rate(test):.2f} requests per second\n"
        return
    yield f"====== {test.name} ======\n"
    yield from _settings(test)
    yield "\n"
    for share, milliseconds in old_counts(test.latency, test.requests):
        yield f"{share:.2f}% <= {milliseconds} milliseconds\n"
    yield f"{_rate(test):.2f} requests per second\n\n"


def _settings(test: Test) -> Iterator[str]:
    took = float(np.float32(test.run_ms) / np.float32(1000.0))
    yield f"  {test.requests} requests completed in {took:.2f} seconds\n"
    yield f"  {test.clients} parallel clients\n"
    yield f"  {test.payload_bytes} bytes payload\n"
    yield f"  keep alive: {int(test.keep_alive)}\n"


def _summary(test: Test, counts: Counts) -> tuple[float, ...]:
    """Mean, shortest, median, 95th, 99th percentile and longest, ms."""
    return (test.latency.mean, counts.lowest_ms, *(counts.at(share) for share in NEW_SHARES), counts.highest_ms)


def _new(test: Test, form: Form, began_ms: int) -> Iterator[str]:
    counts = counted(test.latency, test.requests)
    figures = _summary(test, counts)
    if form == "csv":
        yield f'"{test.name}","{_rate(test):.2f}",' + ",".join(f'"{value:.3f}"' for value in figures) + "\n"
        return
    yield _new_progress(test, began_ms)
    if form == "quiet":
        yield f"{test.name}: {_rate(test):.2f} requests per second, p50={figures[2]:.3f} msec\n"
        return
    yield f"====== {test.name} ======\n"
    yield from _settings(test)
    yield '  host configuration "save": \n  host configuration "appendonly": no\n'
    yield f"  multi-thread: {'yes' if test.threads else 'no'}\n"
    if test.threads:
        yield f"  threads: {test.threads}\n"
    for title, rows in (
        ("Latency by percentile distribution:", counts.by_percentile()),
        ("Cumulative distribution of latencies:", counts.by_latency()),
    ):
        yield f"\n{title}\n"
        for share, milliseconds, count in rows:
            yield f"{share:3.3f}% <= {milliseconds:.3f} milliseconds (cumulative count {count})\n"
    yield f"\nSummary:\n  throughput summary: {_rate(test):.2f} requests per second\n  latency summary (msec):\n"
    yield "    " + " ".join(f"{name:>9}" for name in ("avg", "min", "p50", "p95", "p99", "max")) + "\n"
    yield "    " + " ".join(f"{value:9.3f}" for value in figures) + "\n"


def text(tests: Sequence[Test], version: Version = "2.8", form: Form = "text") -> str:
    """What one run of redis-benchmark prints of these tests.

    Raises:
        EsxparseError: There is no test, one makes no sense, or version or form are unknown.
    """
    writers = {"2.8": _old, "7.0": _new}
    if version not in writers or form not in {"text", "quiet", "csv"}:
        msg = f"redis-benchmark is written as 2.8 or 7.0, text, quiet or csv, not as {version!r} {form!r}: choose one"
        raise EsxparseError(msg)
    if not tests:
        msg = "there is no test of redis-benchmark to write: give at least one"
        raise EsxparseError(msg)
    for test in tests:
        _check(test)
    began = accumulate((test.run_ms for test in tests[:-1]), initial=0)
    content = "".join(part for test, ms in zip(tests, began, strict=True) for part in writers[version](test, form, ms))
    if form == "csv":
        return (_CSV_TITLES + "\n" if version == "7.0" else "") + content
    # After the last of its built-in tests it prints an empty line.
    return content + "\n"
