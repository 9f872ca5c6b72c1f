"""How often intervals, verdicts of many comparisons and peaks of curves are right, in simulated studies.

Writes four sections of RESULTS.md; each says what was simulated. `before` is the method of the release before: Welch's
degrees of freedom with two repetitions or more, each comparison judged alone, a peak wherever the fitted coherency is
above 0. Run: `python benchmarks/coverage.py [STUDIES]`
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import sections
from scipy.special import stdtr, stdtrit

from esxparse.metrics import evidence, interval, scalability_law

STUDIES = 20_000
BOOTSTRAPS = 2_000
RESAMPLES = 2_000
TRUTH = 0.9
COUNTS = (2, 3, 4, 5, 7, 10)
NOISES = (
    *((0.02, 0.02), (0.2, 0.2)),
    *((0.04, 0.02), (0.02, 0.04), (0.06, 0.02), (0.02, 0.06)),
    *((0.1, 0.02), (0.02, 0.1), (0.1, 0.005), (0.005, 0.1)),
)
"""Standard deviations of configuration and baseline, as shares of their means."""

Shape = Literal["normal", "log-normal", "heavy tails"]
SHAPES: tuple[Shape, ...] = ("normal", "log-normal", "heavy tails")
Numbers = interval.Numbers


def draw(random: np.random.Generator, shape: Shape, mean: float, noise: float, size: tuple[int, ...]) -> Numbers:
    """Repetitions of studies, with that mean and that standard deviation as a share of it."""
    if shape == "normal":
        values = random.normal(mean, noise * mean, size)
    elif shape == "heavy tails":
        values = mean * (1 + noise * random.standard_t(3, size) / np.sqrt(3))
    else:
        sigma = np.sqrt(np.log1p(noise**2))
        values = mean * np.exp(random.normal(-(sigma**2) / 2, sigma, size))
    return np.asarray(values)


class Facts(NamedTuple):
    """What intervals need, study by study."""

    mean: Numbers
    variance: Numbers
    runs: Numbers
    base_mean: Numbers
    base_variance: Numbers
    base_runs: Numbers

    @classmethod
    def of(cls, values: Numbers, baseline: Numbers) -> Facts:
        """Of repetitions along the last axis."""
        sides = [
            (one.mean(axis=-1), one.var(axis=-1, ddof=1), np.full(one.shape[:-1], float(one.shape[-1])))
            for one in (values, baseline)
        ]
        return cls(*sides[0], *sides[1])


def welch(facts: Facts) -> tuple[Numbers, Numbers, Numbers]:
    """Fieller's interval with Welch's degrees of freedom, and the p-value: the method before."""
    square, base = facts.variance / facts.runs, facts.base_variance / facts.base_runs
    scaled = (facts.mean / facts.base_mean) ** 2 * base
    freedom = (square + scaled) ** 2 / (square**2 / (facts.runs - 1) + scaled**2 / (facts.base_runs - 1))
    t2 = stdtrit(freedom, 0.975) ** 2
    divisor = facts.base_mean**2 - t2 * base
    root = np.sqrt(t2 * np.maximum(square * divisor + facts.mean**2 * base, 0))
    middle = facts.mean * facts.base_mean
    bounded = divisor > 0
    low, high = (np.where(bounded, (middle + sign * root) / divisor, np.nan) for sign in (-1, 1))
    return low, high, 2 * stdtr(freedom, -np.abs(facts.mean - facts.base_mean) / np.sqrt(square + base))


def held(low: Numbers, high: Numbers) -> float:
    """Share of the bounded intervals that hold the truth."""
    bounded = ~np.isnan(low)
    return float(((low <= TRUTH) & (high >= TRUTH))[bounded].mean())


def bootstrap(values: Numbers, baseline: Numbers) -> str:
    """Share of the bootstrap's intervals that hold the truth."""
    if min(values.shape[1], baseline.shape[1]) < interval.FEWEST_RESAMPLED:
        return "none"
    found = [
        interval.bootstrap(list(y), list(x), resamples=RESAMPLES, seed=place)
        for place, (y, x) in enumerate(zip(values[:BOOTSTRAPS], baseline[:BOOTSTRAPS], strict=True))
    ]
    return f"{sum(one.low <= TRUTH <= one.high for one in found) / len(found):.1%}"


def intervals(random: np.random.Generator, studies: int) -> list[str]:
    """Coverage and width by the fewest repetitions of a side, before and after."""
    lines = [
        f"{studies:,} studies a case, true ratio {TRUTH:g}, nominal coverage 95 %. A case is a pair of numbers of",
        f"repetitions out of {', '.join(map(str, COUNTS))}, and a pair of standard deviations from 0.5 to 20 %,",
        "up to 20 times as large on one side. Heavy tails are Student's t with 3 degrees of freedom. Worst and mean",
        "are over the cases; width: the interval after over that before; no interval: the largest share without a",
        f"bounded one; bootstrap: equal repetitions, 2 %, {BOOTSTRAPS:,} studies. Made by `benchmarks/coverage.py`.",
        "",
        "| runs | noise | cases | before: worst | mean | after: worst | mean | width | no interval | bootstrap |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for fewest, shape in product((2, 3, 4, 5, 7), SHAPES):
        before, after, widths, unbounded = [], [], [], []
        for runs, base_runs in product(COUNTS, COUNTS):
            if min(runs, base_runs) != fewest:
                continue
            for noise, base_noise in NOISES:
                values = draw(random, shape, TRUTH * 100, noise, (studies, runs))
                facts = Facts.of(values, draw(random, shape, 100, base_noise, (studies, base_runs)))
                (old_low, old_high, _), (low, high) = welch(facts), interval.fieller_bounds(*facts)
                before.append(held(old_low, old_high))
                after.append(held(low, high))
                widths.append(np.nanmedian((high - low) / (old_high - old_low)))
                unbounded.append(np.isnan(low).mean())
        sides = [draw(random, shape, mean, 0.02, (BOOTSTRAPS, fewest)) for mean in (TRUTH * 100, 100)]
        lines.append(
            f"| {fewest} | {shape} | {len(before)} | {min(before):.1%} | {np.mean(before):.1%} | {min(after):.1%} | "
            f"{np.mean(after):.1%} | {np.mean(widths):.2f} | {max(unbounded):.1%} | {bootstrap(*sides)} |"
        )
    return lines


GRID = (2, 3, 5, 10)
SIDES = ((0.02, 0.02), (0.1, 0.02), (0.02, 0.1))


def grid(random: np.random.Generator, studies: int) -> list[str]:
    """Coverage for each pair of numbers of repetitions, before and after, with a quiet and a noisy side."""
    lines = [
        "",
        "By the repetitions of the configuration and the baseline, with normal noise; before, then after:",
        "",
        "| runs | baseline runs | 2 % on both sides | runs 10 %, baseline 2 % | runs 2 %, baseline 10 % |",
        "|---|---|---|---|---|",
    ]
    for runs, base_runs in product(GRID, GRID):
        told = []
        for noise, base_noise in SIDES:
            values = draw(random, "normal", TRUTH * 100, noise, (studies, runs))
            facts = Facts.of(values, draw(random, "normal", 100, base_noise, (studies, base_runs)))
            told.append(f"{held(*welch(facts)[:2]):.1%}, {held(*interval.fieller_bounds(*facts)):.1%}")
        lines.append(f"| {runs} | {base_runs} | {' | '.join(told)} |")
    return lines


COMPARISONS = 20
FAMILIES = 2_000


def families(random: np.random.Generator) -> list[str]:
    """False verdicts and power with 20 comparisons, each alone and as one answer."""
    lines = [
        f"{FAMILIES:,} studies a row of {COMPARISONS} comparisons, 2 % of normal noise; each true difference is 10 %.",
        "Shared: all are compared with one baseline; else each with its own. Any false: studies that show a difference",
        "although the values are equal; FDR: mean share of false differences among those shown; power: share of true",
        "differences shown.",
        "",
        "| repetitions | true | baseline | each alone: any false | FDR | power | one answer: any false | FDR | power |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for runs, true, shared in product((2, 3, 5), (0, 5), (True, False)):
        effects = np.array([1.1] * true + [1.0] * (COMPARISONS - true))
        size = (FAMILIES, 1 if shared else COMPARISONS, runs)
        values = random.normal(1, 0.02, (FAMILIES, COMPARISONS, runs)) * effects[:, None] * 100
        baseline = np.broadcast_to(random.normal(100, 2, size), values.shape)
        facts = Facts.of(values, baseline)
        alone = welch(facts)[2] <= 0.05
        p_values = interval.differences(*facts).p_value
        together = np.array([row <= evidence.find_family(row).cutoff for row in p_values])
        told = []
        for shown in (alone, together):
            false, right = shown[:, true:].sum(axis=1), shown[:, :true].sum(axis=1)
            rate = (false / np.maximum(false + right, 1)).mean()
            told += [f"{(false > 0).mean():.1%}", f"{rate:.1%}", f"{right.mean() / true:.1%}" if true else "-"]
        lines.append(f"| {runs} | {true} of {COMPARISONS} | {'shared' if shared else 'own'} | {' | '.join(told)} |")
    return lines


KINDS = {"benchmark figures": 8, "load generator results": 12, "host counters": 20}
NULL_STUDIES = 400


def kinds(random: np.random.Generator) -> list[str]:
    """False verdicts of studies with three kinds of results and no true difference, a family each or one for all."""
    ends = np.cumsum(list(KINDS.values()))
    each = ", ".join(f"{count} {kind}" for kind, count in KINDS.items())
    lines = [
        f"{NULL_STUDIES} studies a row without any true difference: {each}. 2 % of normal noise, own baselines.",
        "Any false: studies that show a difference. Before, each kind was a family of its own.",
        "",
        "| repetitions | each alone: any false | a family of each kind: any false | one family: any false |",
        "|---|---|---|---|",
    ]
    for runs in (3, 5, 10):
        values, baseline = random.normal(100, 2, (2, NULL_STUDIES, ends[-1], runs))
        p_values = interval.differences(*Facts.of(values, baseline)).p_value
        shown = [
            (p_values <= 0.05).any(axis=1),
            [any(_shows_any(part) for part in np.split(row, ends[:-1])) for row in p_values],
            [_shows_any(row) for row in p_values],
        ]
        lines.append(f"| {runs} | {' | '.join(f'{np.mean(one):.1%}' for one in shown)} |")
    return lines


def _shows_any(p_values: Numbers) -> bool:
    return bool((p_values <= evidence.find_family(p_values).cutoff).any())


CURVES: dict[str, tuple[float, float]] = {
    "linear": (0.0, 0.0),
    "Amdahl, contention 2 %": (0.02, 0.0),
    "Amdahl, contention 10 %": (0.1, 0.0),
    "peak at 4 x the largest": (0.02, 0.98 / 128**2),
    "peak at 1.5 x the largest": (0.02, 0.98 / 48**2),
    "peak at 0.75 x the largest": (0.02, 0.98 / 24**2),
    "peak at 0.4 x the largest": (0.02, 0.98 / 12.8**2),
}
SWEEP = np.array([1, 2, 4, 8, 12, 16, 24, 32.0])
FITS = 400


def curves(random: np.random.Generator) -> list[str]:
    """Verdicts on curves whose peak is known."""
    lines = [
        f"{FITS} sweeps a row over 1 to {SWEEP[-1]:g} units, with repetitions of each number of units.",
        "Before: sweeps called peaks, within the data or beyond. Interval: 95 % intervals that hold the coherency.",
        "",
        "| true curve | noise | repetitions | before: peaks | peaks | no peak within the data | other | interval |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (name, (contention, coherency)), noise, repetitions in product(CURVES.items(), (0.01, 0.03), (1, 3)):
        units = np.repeat(SWEEP, repetitions)
        truth = 1000 * units / (1 + contention * (units - 1) + coherency * units * (units - 1))
        found = [
            scalability_law.fit(units.tolist(), (truth * random.normal(1, noise, len(units))).tolist())
            for _ in range(FITS)
        ]
        verdicts: Counter[Any] = Counter(one.verdict for one in found)
        peaks, open_ = verdicts["peaks"], verdicts["no peak within the data"]
        before = sum(one.verdict in {"peaks", "no peak within the data"} and one.coherency > 1e-9 for one in found)
        inside = np.mean([one.coherency_interval[0] <= coherency <= one.coherency_interval[1] for one in found])
        lines.append(
            f"| {name} | {noise:.0%} | {repetitions} | {before} | {peaks} | {open_} | {FITS - peaks - open_} "
            f"| {inside:.1%} |"
        )
    return lines


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    random = np.random.default_rng(2006)
    sections.put("Coverage of the intervals of ratios", [*intervals(random, studies), *grid(random, studies)])
    sections.put("Verdicts of many comparisons in one answer", families(random))
    sections.put("Verdicts of three kinds of results in one answer", kinds(np.random.default_rng(2007)))
    sections.put("Verdicts on scalability", curves(random))


if __name__ == "__main__":
    main()
