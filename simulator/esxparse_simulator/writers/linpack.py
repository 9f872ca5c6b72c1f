"""LINPACK: the shared-memory benchmark of Intel MKL (xlinpack_xeon64), alone or as `runme_xeon64` runs it.

Evidence: outputs that people captured from 2017 to 2024 and published (widths, decimals, trailing blanks). The memory
asked for is 8 x LDA x N + 20 x LDA + alignment bytes, as in the six that were checked; GFlops = (2/3 N**3 + 2 N**2) /
time / 10**9, which gives their times to the millisecond: so the time follows from the GFlops that are passed in.

Assumptions: LDA, which stands in the input file, is N rounded up to a multiple of 8 where it is not given; the
normalised residual is between 0.030 and 0.042, the residual 2.86e-17 x N**2 times it (fits captured ones within 3 %);
both are the same in all trials of a size. The script's introduction is that of 2017 and later.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import fsum
from typing import TYPE_CHECKING, Final

from esxparse.errors import EsxparseError
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers.repetitions import needs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Host", "Size", "seconds", "text"]

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_RESIDUAL: Final = 2.86e-17
_PAGE_KIB: Final = 4


@dataclass(frozen=True, slots=True)
class Size:
    """One problem size and the GFlops of each trial; `repetitions.repeated` makes such trials around a mean."""

    equations: int
    gflops: tuple[float, ...]
    align_kib: int = _PAGE_KIB
    lda: int | None = None

    @property
    def leading_dimension(self) -> int:
        """LDA: as given, or the number of equations rounded up to a multiple of 8."""
        return (self.equations + 7) // 8 * 8 if self.lda is None else self.lda


@dataclass(frozen=True, slots=True)
class Host:
    """What it says of the machine: frequency in GHz, sockets ("CPUs"), cores, threads."""

    ghz: float = 2.7
    sockets: int = 4
    cores: int = 32
    threads: int = 32


def seconds(equations: int, gflops: float) -> float:
    """How long a system takes, s.

    >>> round(seconds(45_000, 500.0), 2)
    121.51
    """
    size = float(equations)
    return (2.0 * size * size * size / 3.0 + 2.0 * size * size) / (gflops * 1e9)


def _clock(time: datetime) -> str:
    return f"{_DAYS[time.weekday()]} {_MONTHS[time.month - 1]} {time.day:2d} {time:%H:%M:%S}"


def _listed(title: str, values: Sequence[int]) -> str:
    return f"{title:<43} : " + " ".join(f"{value:<5d}" for value in values)


def _head(sizes: Sequence[Size], host: Host, start: datetime) -> Iterator[str]:
    yield from ("Intel(R) Optimized LINPACK Benchmark data", "", f"Current date/time: {_clock(start)} {start.year}", "")
    yield f"CPU frequency:    {needs('the frequency in GHz', host.ghz):.3f} GHz"
    for name, count in (("CPUs", host.sockets), ("cores", host.cores), ("threads", host.threads)):
        yield f"Number of {name}: {count}"
    yield from ("", "Parameters are set to:", "", f"Number of tests: {len(sizes)}")
    yield _listed("Number of equations to solve (problem size)", [size.equations for size in sizes])
    yield _listed("Leading dimension of array", [size.leading_dimension for size in sizes])
    yield _listed("Number of trials to run", [len(size.gflops) for size in sizes])
    yield _listed("Data alignment value (in Kbytes)", [size.align_kib for size in sizes])
    memory, largest = max((_memory(size), size.equations) for size in sizes)
    yield from ("", f"Maximum memory requested that can be used={memory}, at the size={largest}", "")


def _memory(size: Size) -> int:
    return 8 * size.leading_dimension * size.equations + 20 * size.leading_dimension + size.align_kib * 1024


def _check(sizes: Sequence[Size]) -> None:
    if not sizes or not all(size.gflops for size in sizes):
        msg = "LINPACK needs at least one problem size, and at least one trial of each: give their GFlops"
        raise EsxparseError(msg)
    for size in sizes:
        needs("the number of equations", size.equations)
        needs("the alignment in KiB", size.align_kib)
        needs("LDA + 1, with LDA at least N,", size.leading_dimension + 1, above=size.equations)
        for value in size.gflops:
            needs(f"the GFlops at size {size.equations}", value)


def _named(size: Size) -> str:
    return f"{size.equations:<6d} {size.leading_dimension:<6d} {size.align_kib:<6d}"


def text(
    sizes: Sequence[Size], start: datetime, host: Host | None = None, *, script: bool = False, seed: int = 1
) -> str:
    """The output for these sizes; `script`: with what `runme_xeon64` prints around it. Times are shown in their zone.

    Raises:
        EsxparseError: There is no size or trial, a number is not above 0, or `start` has no zone.
    """
    _check(sizes)
    zone = start.tzname()
    if zone is None:
        msg = "the start has no time zone: give it one, as in datetime(2014, 9, 1, tzinfo=UTC)"
        raise EsxparseError(msg)
    noise = Noise(seed)
    lines = list(_head(sizes, host or Host(), start))
    lines += [" Timing linear equation system solver ".center(76, "="), ""]
    lines.append("Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check")
    for size in sizes:
        norm = 0.030 + 0.012 * noise.uniform(f"linpack {size.equations} residual")
        residual = norm * _RESIDUAL * size.equations * size.equations
        for gflops in size.gflops:
            took = seconds(size.equations, gflops)
            lines.append(f"{_named(size)} {took:<10.3f} {gflops:<8.4f} {residual:e} {norm:e}   pass")
    lines += ["", "Performance Summary (GFlops)", "", "Size   LDA    Align.  Average  Maximal"]
    for size in sizes:
        mean = fsum(size.gflops) / len(size.gflops)
        lines.append(f"{_named(size)}  {mean:<8.4f} {max(size.gflops):<8.4f}")
    lines += ["", "Residual checks PASSED", "", "End of tests", ""]
    if script:
        took = fsum(seconds(size.equations, gflops) for size in sizes for gflops in size.gflops)
        end = start + timedelta(seconds=round(took))
        lines[:0] = [
            "This is a SAMPLE run script for SMP LINPACK. Change it to reflect",
            "the correct number of CPUs/threads, problem input files, etc..",
            f"{_clock(start)} {zone} {start.year}",
        ]
        lines.append(f"Done: {_clock(end)} {zone} {end.year}")
    return "\n".join(lines) + "\n"
