"""Nested paging or shadow page tables: TLB misses, and how far they can be trusted.

A TLB miss walks one page table (4 references at most) with shadow page tables, and two at once (24) with nested
paging. In return, nested paging handles the guest's page table changes without leaving the VM. So more misses with
nested paging do not decide: the time of the same work does. In the published runs 1.77 times as many misses cost 1.6 %
of the time.

The cost of misses has bounds:

    share of the CPU = misses per second x cycles of a walk / (MHz x 10**6 x CPUs)

with 20 to 100 cycles for a walk of one table and 40 to 300 for the nested one. These ranges are assumptions (general
knowledge: most references hit a cache, and walks overlap other work). They are wide, and so are the conclusions.

Source: v(e)Xpertise, "Selecting the MMU Virtualization Mode" and "vPMC - Virtual Performance Monitoring Counters";
references of a walk: Bhargava et al., "Accelerating Two-Dimensional Page Walks for Virtualized Systems" (ASPLOS 2008).
Large pages make for fewer misses in either mode: VMware, "Docker Containers Performance in VMware vSphere", LINPACK.
Current releases use nested paging by default, and shadow page tables are being phased out: general knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from esxparse.errors import EsxparseError

from . import hardware_events
from .evidence import is_equal
from .interval import Interval
from .ratio import ratios

Mode = Literal["nested", "shadow", "either", "undecided"]
"""`either`: the mode makes no relevant difference; `undecided`: the data do not show which is faster."""

SHADOW_CYCLES: Final = (20.0, 100.0)
NESTED_CYCLES: Final = (40.0, 300.0)
"""Cycles of a page walk, low and high (assumptions)."""
MATTERS_PCT: Final = 1.0
"""Below this share of the CPU the mode hardly makes a difference (assumption)."""


class Runs(NamedTuple):
    """Repetitions of the same work in one mode."""

    per_s: tuple[float, ...]
    """TLB misses per second of each repetition."""
    work_s: tuple[float, ...] = ()
    """Duration of the work in each repetition, s; empty if it was not timed, as in polls of vmkperf."""


def runs(misses: Sequence[float], elapsed_s: Sequence[float]) -> Runs:
    """Combine counts and times of `perf stat`, one of each for every repetition.

    Raises EsxparseError: Their numbers differ or are 0, or a time is not above 0.

    >>> runs([1_000, 3_000], [0.5, 1.0])
    Runs(per_s=(2000.0, 3000.0), work_s=(0.5, 1.0))
    """
    if not misses or len(misses) != len(elapsed_s):
        raise EsxparseError(f"{len(misses)} counts and {len(elapsed_s)} times: give one of each for every repetition")
    return Runs(
        tuple(per_second(count, took) for count, took in zip(misses, elapsed_s, strict=True)),
        tuple(map(float, elapsed_s)),
    )


def per_second(misses: float, elapsed_s: float) -> float:
    """Return misses per second: misses / s.

    Raises EsxparseError: The time is not above 0.

    >>> round(per_second(38_750_437, 59.116399919))
    655494
    """
    if not (math.isfinite(elapsed_s) and elapsed_s > 0):
        raise EsxparseError(f"misses per second need a time above 0 s, not {elapsed_s!r}")
    return misses / elapsed_s


def walk_share_pct(misses_per_s: float, mhz: float, cycles: float, cpus: int = 1) -> float:
    """Return the share of CPU time that page walks take, %: misses/s x cycles / (MHz x 10**6 x CPUs) x 100.

    Raises EsxparseError: The frequency is not above 0, or there are no CPUs.

    >>> walk_share_pct(1_140_000, 2400, 100)
    4.75
    """
    if not (math.isfinite(mhz) and mhz > 0 and cpus >= 1):
        raise EsxparseError(f"page walks need CPUs to run on, not {cpus!r} of {mhz!r} MHz")
    return misses_per_s * cycles / (mhz * 1e6 * cpus) * 100


def compare_modes(nested: pl.LazyFrame, shadow: pl.LazyFrame, events: Collection[str] = ()) -> pl.LazyFrame:
    """Return the TLB misses of the two modes side by side.

    Needs the columns of `hardware_events.totals` or `vmkperf_totals`: `event`, `value`, `per_s`. Counts compare the
    same work, rates the load on the CPU. Returns, sorted by event, TLB events (`hardware_events.event_class`) and the
    extra `events`:

    event
    event_class           str  tlb_miss_load, tlb_miss_store, tlb_miss_instruction; null for the extra events
    nested_misses, shadow_misses   f64  null in polls, which report rates
    misses_ratio          f64  nested / shadow
    nested_per_s, shadow_per_s     f64
    rate_ratio            f64  nested / shadow

    >>> nested = pl.LazyFrame({"event": ["dTLB-load-misses"], "value": [68456568.0], "per_s": [1139566.0]})
    >>> shadow = pl.LazyFrame({"event": ["dTLB-load-misses"], "value": [38750437.0], "per_s": [655494.0]})
    >>> compare_modes(nested, shadow).select(pl.col("misses_ratio", "rate_ratio").round(2)).collect().row(0)
    (1.77, 1.74)
    """

    def class_of(event: str) -> str | None:
        found = hardware_events.event_class(event)
        return found if found and found.startswith("tlb_miss") else None

    return (
        hardware_events.compare(nested, shadow)
        .with_columns(pl.col("event").map_elements(class_of, return_dtype=pl.String).alias("event_class"))
        .filter(pl.col("event_class").is_not_null() | pl.col("event").is_in(list(events)))
        .select(
            "event",
            "event_class",
            pl.col("first_value").alias("nested_misses"),
            pl.col("second_value").alias("shadow_misses"),
            pl.col("value_ratio").alias("misses_ratio"),
            pl.col("first_per_s").alias("nested_per_s"),
            pl.col("second_per_s").alias("shadow_per_s"),
            "rate_ratio",
        )
    )


@dataclass(frozen=True)
class Advice:
    """The recommended mode and its evidence."""

    mode: Mode
    shown: bool
    """Whether repetitions show it; otherwise the mode is only a suspicion."""
    large_pages: bool
    """Try large pages in guest and host first: they help in either mode."""
    rate_ratio: float | None
    """Misses per second, nested / shadow; None if shadow had none."""
    time_ratio: float | None
    """Time of the work, nested / shadow: above 1, shadow is faster. None if it was not timed."""
    time_interval: Interval | None
    """Fieller's interval of `time_ratio`; None with fewer than two repetitions of each, or too much scatter."""
    nested_walk_pct: tuple[float, float]
    shadow_walk_pct: tuple[float, float]
    """Lower and upper bound of the CPU share of page walks, %."""
    reasons: tuple[str, ...]


def _bounds(found: Runs, cycles: tuple[float, float], mhz: float, cpus: int) -> tuple[float, float]:
    low, high = (walk_share_pct(fmean(found.per_s), mhz, one, cpus) for one in cycles)
    return low, high


def _compare_times(nested_s: Sequence[float], shadow_s: Sequence[float], confidence: float) -> dict[str, Any]:
    """Return the row of `ratio.ratios` for nested against shadow, and whether the two are equal."""
    modes = ["nested"] * len(nested_s) + ["shadow"] * len(shadow_s)
    times = pl.LazyFrame({"mode": modes, "elapsed_s": [*nested_s, *shadow_s]})
    found = ratios(times, "elapsed_s", ["mode"], {"mode": "shadow"}, confidence=confidence)
    return found.filter(~pl.col("is_baseline")).with_columns(equal=is_equal()).collect().row(0, named=True)


def advice(nested: Runs, shadow: Runs, mhz: float, cpus: int = 1, confidence: float = 0.95) -> Advice:
    """Recommend the mode for this work, with the evidence.

    1. Both were timed at least twice: the faster, if the times show it; either, if they are equal within 2 %.
    2. Nested walks cost at most 1 % of the CPU: either, the mode hardly matters.
    3. Timed once: the faster, as a suspicion. 4. Not timed: shadow if nested has more misses, as a suspicion.
    Otherwise undecided, with the repetitions that would decide it (`evidence.count_repetitions`).

    Args:
        nested: The work with nested paging.
        shadow: The same work with shadow page tables.
        mhz: Frequency of the CPUs.
        cpus: Number of CPUs that the misses were counted on: the vCPUs of `perf stat`, 1 for one pinned PCPU.
        confidence: Confidence of the interval.

    Raises EsxparseError: A mode has no runs.

    >>> found = advice(runs([68_456_568], [60.07]), runs([38_750_437], [59.12]), mhz=2400)
    >>> found.mode, found.shown, found.large_pages, round(found.rate_ratio, 2), round(found.time_ratio, 3)
    ('shadow', False, True, 1.74, 1.016)
    """
    for name, one in (("nested", nested), ("shadow", shadow)):
        if not one.per_s:
            raise EsxparseError(f"no runs with {name} paging to compare")
    nested_pct = _bounds(nested, NESTED_CYCLES, mhz, cpus)
    shadow_pct = _bounds(shadow, SHADOW_CYCLES, mhz, cpus)
    below = fmean(shadow.per_s)
    rate_ratio = fmean(nested.per_s) / below if below > 0 else None
    timed = bool(nested.work_s and shadow.work_s)
    time_ratio = fmean(nested.work_s) / fmean(shadow.work_s) if timed else None
    compared = _compare_times(nested.work_s, shadow.work_s, confidence) if timed else {}
    low, high = compared.get("ratio_low"), compared.get("ratio_high")
    interval = None
    if time_ratio is not None and low is not None and high is not None:
        interval = Interval(time_ratio, low, high, confidence, "fieller")
    walks = (
        f"page walks take {nested_pct[0]:.1f} to {nested_pct[1]:.1f} % of the CPU with nested paging, "
        f"{shadow_pct[0]:.1f} to {shadow_pct[1]:.1f} % with shadow page tables"
    )
    mode: Mode = "undecided"
    significant = compared.get("verdict") in {"higher", "lower"}
    if significant:
        mode = "shadow" if compared["verdict"] == "higher" else "nested"
        span = f" ({confidence:.0%} interval {low:.3f} to {high:.3f})" if interval else ""
        why = f"the work took {time_ratio:.3f} times as long with nested paging{span}: {mode} is faster"
    elif compared.get("equal"):
        mode, why = "either", f"{compared['undecided']}: either mode will do"
    elif nested_pct[1] < MATTERS_PCT:
        mode, why = "either", f"under {MATTERS_PCT:g} %: the paging mode hardly matters"
    elif timed:
        if compared["p_value"] is None and time_ratio != 1:
            mode = "shadow" if time_ratio > 1 else "nested"  # type: ignore[operator]
        why = compared["undecided"]
    else:
        mode = "shadow" if rate_ratio is not None and rate_ratio > 1 else "undecided"
        why = "the number of misses does not show their cost: time the same work in both modes"
    return Advice(
        mode=mode,
        shown=significant,
        large_pages=nested_pct[1] >= MATTERS_PCT,
        rate_ratio=rate_ratio,
        time_ratio=time_ratio,
        time_interval=interval,
        nested_walk_pct=nested_pct,
        shadow_walk_pct=shadow_pct,
        reasons=(walks, why),
    )
