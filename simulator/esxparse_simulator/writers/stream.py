"""STREAM 5.10 (C, OpenMP): what it prints, of one run or of several in a file.

Evidence: the `printf`s of stream.c 5.10 (`%s%12.1f  %11.6f  %11.6f  %11.6f`, labels of eleven characters) and captured
outputs of it. Within a run the rate is 10**-6 x bytes / shortest time, bytes being 2 (copy, scale) or 3 (add, triad)
arrays, as the program computes it: the rate is exact, the times are printed to the microsecond.

Assumptions: the clock ticks in microseconds; the mean and the longest time are `SLOWER` and up to `SLOWEST` times the
shortest; "on the order of" is the time of a pass that moves two arrays at the rate of scale; the results validate.
A NUMA-aware build of STREAM is taken to print the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from esxparse.errors import EsxparseError
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers.repetitions import needs, repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["KERNELS", "Machine", "Rates", "runs", "text"]

KERNELS: Final = ("copy", "scale", "add", "triad")
SLOWER: Final = 0.012
SLOWEST: Final = 0.08
_ARRAYS: Final = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
_LINE: Final = "-" * 61
_LEAST_RUNS: Final = 2
_MIB: Final = 1024.0 * 1024.0


@dataclass(frozen=True, slots=True)
class Machine:
    """How STREAM was built and run: elements of each of its three arrays, OpenMP threads, times each kernel is run."""

    array_elements: int = 80_000_000
    threads: int = 8
    times: int = 10
    element_bytes: int = 8


@dataclass(frozen=True, slots=True)
class Rates:
    """Best rate of each kernel in one run, MB/s (10**6 bytes per second)."""

    copy: float
    scale: float
    add: float
    triad: float


def runs(noise: Noise, label: str, means: Rates, spread: float, repetitions: int) -> tuple[Rates, ...]:
    """So many runs around these means; `spread` is relative. The mean of them is the one given, kernel by kernel."""
    by_kernel = [repeated(noise, f"{label} {name}", getattr(means, name), spread, repetitions) for name in KERNELS]
    return tuple(Rates(*values) for values in zip(*by_kernel, strict=True))


def _checked(machine: Machine) -> Machine:
    for name in ("array_elements", "threads", "element_bytes"):
        needs(name, getattr(machine, name))
    if machine.times < _LEAST_RUNS:
        msg = f"each kernel is run {machine.times} times: the first does not count, so 2 or more are needed"
        raise EsxparseError(msg)
    return machine


def _head(machine: Machine, order_us: int) -> Iterator[str]:
    array = float(machine.element_bytes) * machine.array_elements
    yield from (_LINE, "STREAM version $Revision: 5.10 $", _LINE)
    yield f"This system uses {machine.element_bytes} bytes per array element."
    yield _LINE
    yield f"Array size = {machine.array_elements} (elements), Offset = 0 (elements)"
    yield f"Memory per array = {array / _MIB:.1f} MiB (= {array / _MIB / 1024.0:.1f} GiB)."
    yield f"Total memory required = {3.0 * array / _MIB:.1f} MiB (= {3.0 * array / _MIB / 1024.0:.1f} GiB)."
    yield f"Each kernel will be executed {machine.times} times."
    yield " The *best* time for each kernel (excluding the first iteration)"
    yield " will be used to compute the reported bandwidth."
    yield _LINE
    yield f"Number of Threads requested = {machine.threads}"
    yield f"Number of Threads counted = {machine.threads}"
    yield _LINE
    yield "Your clock granularity/precision appears to be 1 microseconds."
    yield f"Each test below will take on the order of {order_us} microseconds."
    yield f"   (= {order_us} clock ticks)"
    yield "Increase the size of the arrays if this shows that"
    yield "you are not getting at least 20 clock ticks per test."
    yield _LINE
    yield "WARNING -- The above is only a rough guideline."
    yield "For best results, please be sure you know the"
    yield "precision of your system timer."
    yield _LINE


def _run(machine: Machine, rates: Rates, noise: Noise, label: str) -> Iterator[str]:
    array = float(machine.element_bytes) * machine.array_elements
    yield from _head(machine, int(2.0 * array / needs("the rate of scale", rates.scale)))
    yield "Function    Best Rate MB/s  Avg time     Min time     Max time"
    for name in KERNELS:
        rate = needs(f"the rate of {name}", getattr(rates, name))
        shortest = _ARRAYS[name] * array / (rate * 1e6)
        mean = shortest * (1.0 + SLOWER * (0.5 + noise.uniform(f"{label} {name} mean")))
        longest = shortest * (1.0 + SLOWEST * (0.5 + 0.5 * noise.uniform(f"{label} {name} longest")))
        yield f"{name.capitalize() + ':':<11}{rate:12.1f}  {mean:11.6f}  {shortest:11.6f}  {longest:11.6f}"
    yield from (_LINE, f"Solution Validates: avg error less than {1e-13:e} on all three arrays", _LINE)


def text(runs: Iterable[Rates], machine: Machine | None = None, seed: int = 1) -> str:
    """The output of these runs, one after another; `seed` draws the times that are not the shortest.

    Raises:
        EsxparseError: A rate or a size is not above 0, or there is no run.
    """
    noise, built = Noise(seed), _checked(machine or Machine())
    lines = [line for place, rates in enumerate(runs) for line in _run(built, rates, noise, f"stream {place}")]
    if not lines:
        msg = "there is no run of STREAM to write: give the rates of at least one"
        raise EsxparseError(msg)
    return "\n".join(lines) + "\n"
