"""How often the intervals of a ratio hold the truth, in simulated studies; prints a table in markdown.

A study is a baseline and a configuration with some repetitions each; the true ratio of their means is known. Counted is
how many of the studies' intervals hold it, which should be 95 of 100. `only one` scatters five times as much as the
other. Unbounded intervals (Fieller, a baseline that scatters too much) count as none at all and have a column.
Run: `python benchmarks/coverage.py [STUDIES]`
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Literal

import numpy as np
import sections

from esxparse.metrics import interval

STUDIES = 100_000
BOOTSTRAPS = 4_000
RESAMPLES = 2_000
TRUTH = 0.9
NOISES: dict[str, tuple[float, float]] = {
    "2 %": (0.02, 0.02),
    "10 %": (0.10, 0.10),
    "20 %": (0.20, 0.20),
    "5 %, baseline 1 %": (0.05, 0.01),
    "1 %, baseline 5 %": (0.01, 0.05),
}

Shape = Literal["normal", "log-normal"]


def draw(
    random: np.random.Generator, shape: Shape, mean: float, noise: float, size: tuple[int, int]
) -> interval.Numbers:
    """Repetitions of studies, with that mean and that standard deviation as a share of it."""
    if shape == "normal":
        return random.normal(mean, noise * mean, size)
    sigma = np.sqrt(np.log1p(noise**2))
    return mean * np.exp(random.normal(-(sigma**2) / 2, sigma, size))


def fieller(values: interval.Numbers, baseline: interval.Numbers) -> tuple[float, float]:
    """Share of the bounded intervals that hold the truth, and share of the studies without one."""
    low, high = interval.fieller_bounds(
        values.mean(axis=1),
        values.var(axis=1, ddof=1),
        np.full(len(values), values.shape[1]),
        baseline.mean(axis=1),
        baseline.var(axis=1, ddof=1),
        np.full(len(baseline), baseline.shape[1]),
    )
    bounded = ~np.isnan(low)
    return float(((low <= TRUTH) & (high >= TRUTH))[bounded].mean()), float((~bounded).mean())


def bootstrap(values: interval.Numbers, baseline: interval.Numbers) -> float:
    """Share of the intervals that hold the truth."""
    found = [
        interval.bootstrap(list(y), list(x), resamples=RESAMPLES, seed=place)
        for place, (y, x) in enumerate(zip(values, baseline, strict=True))
    ]
    return sum(one.low <= TRUTH <= one.high for one in found) / len(found)


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    random = np.random.default_rng(2006)
    lines = [
        f"{studies:,} studies a row ({min(studies, BOOTSTRAPS):,} for the bootstrap), true ratio {TRUTH:g}. How many",
        "of the 95 % intervals hold it. Made by `benchmarks/coverage.py`.",
        "",
        "| repetitions | noise | standard deviation | Fieller | no interval | bootstrap |",
        "|---|---|---|---|---|---|",
    ]
    shapes: tuple[Shape, ...] = ("normal", "log-normal")
    for runs, shape, (name, (noise, base_noise)) in product((3, 5, 10), shapes, NOISES.items()):
        values = draw(random, shape, TRUTH * 100, noise, (studies, runs))
        baseline = draw(random, shape, 100, base_noise, (studies, runs))
        covered, unbounded = fieller(values, baseline)
        plain = bootstrap(values[:BOOTSTRAPS], baseline[:BOOTSTRAPS])
        lines.append(f"| {runs} | {shape} | {name} | {covered:.1%} | {unbounded:.1%} | {plain:.1%} |")
    sections.put("Coverage of the intervals of ratios", lines)


if __name__ == "__main__":
    main()
