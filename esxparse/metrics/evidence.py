"""Evidence of comparisons: the false discovery rate, the repetitions still needed, and the wording of both.

One comparison at 95 % is wrong in 1 of 20 studies without a difference. If an answer makes twenty comparisons, at
least one is usually wrong. So a difference counts only if its p-value is at most the cutoff of Benjamini and Hochberg:
of the differences that an answer shows, 5 % are false on average (at a confidence of 95 %). The procedure holds for
independent comparisons and for comparisons that share a baseline. `benchmarks/coverage.py` measures both.

A comparison that is not significant shows nothing: neither a difference nor equality. Two means count as
equal only if the interval of their ratio lies within 2 % of 1.

Sources: Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate" (1995); power of the t test: J. Cohen,
"Statistical Power Analysis for the Behavioral Sciences" (1988). The margin of 2 % and the power of 80 % are our choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from .interval import check_confidence, needs_scipy, usable_freedom

EQUAL_PCT: Final = 2.0
"""Margin of equivalence: two means are equal if the interval of their ratio lies within this many percent of 1."""
POWER: Final = 0.8
"""Share of studies in which the advised number of repetitions shows the difference."""
MOST: Final = 1000
"""Larger numbers of repetitions are reported as "more than" this."""


class Family(NamedTuple):
    """The comparisons of one answer."""

    comparisons: int
    cutoff: float
    """The largest p-value that counts as a difference."""


def find_family(p_values: Iterable[float | None], confidence: float = 0.95) -> Family:
    """Count the comparisons of one answer, and return the largest p-value that counts as a difference among them.

    Benjamini and Hochberg: with m comparisons and alpha = 1 - confidence, find the largest k whose k-th smallest
    p-value is at most k x alpha / m. The cutoff is k x alpha / m, and alpha / m if no k qualifies. Null and NaN are
    not comparisons.

    >>> find_family([0.04]), find_family([0.04, 0.5]).cutoff, find_family([0.001, 0.04, None]).cutoff
    (Family(comparisons=1, cutoff=0.05), 0.025, 0.05)
    """
    check_confidence(confidence)
    alpha = round(1 - confidence, 12)
    known = sorted(p for p in p_values if p is not None and not math.isnan(p))
    kept = max((place for place, p in enumerate(known, 1) if p <= place * alpha / len(known)), default=1)
    return Family(len(known), kept * alpha / max(len(known), 1))


class Repetitions(NamedTuple):
    """How many runs per side would show a difference, with bounds from the uncertain scatter."""

    runs: int
    fewest: int
    most: int


def count_repetitions(
    difference: float, variance: float, base_variance: float, freedom: float, alpha: float = 0.05
) -> Repetitions | None:
    """Return the runs per side that would show a difference in 4 of 5 studies; None if no number would.

    The smallest n whose power reaches 80 % in a two-sided t test at `alpha`:

        power = P(T > t(1 - alpha / 2)), T noncentral with difference / sqrt((variance + base_variance) / n)

    It assumes that `difference` is the true one, and that runs are normal, independent and scatter as before. The
    scatter is known from few runs, so `fewest` and `most` use the ends of its 95 % interval (chi squared).

    Args:
        difference: The difference to show, in the unit of the values.
        variance: Variance of the configuration's runs, n - 1 in the denominator.
        base_variance: Variance of the baseline's runs.
        freedom: Degrees of freedom behind the two variances.
        alpha: Largest p-value that counts as shown.

    >>> count_repetitions(2.0, 1.0, 1.0, freedom=8)
    Repetitions(runs=6, fewest=4, most=16)
    """
    needs_scipy()
    total = variance + base_variance
    if not (math.isfinite(difference) and difference and math.isfinite(total) and total > 0 and freedom > 0):
        return None
    from scipy.special import chdtri  # noqa: PLC0415  (an extra, and slow to import)

    def count(share: float) -> int:
        # Double up to the first power of 2 that is enough, then bisect.
        enough = 2
        while enough < MOST and _power(difference, share * variance, share * base_variance, enough, alpha) < POWER:
            enough = min(2 * enough, MOST + 1)
        low = enough // 2
        while enough - low > 1 and enough <= MOST:
            middle = (low + enough) // 2
            if middle >= 2 and _power(difference, share * variance, share * base_variance, middle, alpha) >= POWER:  # noqa: PLR2004
                enough = middle
            else:
                low = middle
        return enough

    # chdtri returns the value that chi squared exceeds with this probability.
    least, largest = (freedom / float(chdtri(freedom, tail)) for tail in (0.025, 0.975))
    return Repetitions(count(1.0), count(least), count(largest))


def is_equal() -> pl.Expr:
    """Return whether the interval of a row of `ratio.ratios` lies within the margin of equivalence.

    >>> table = pl.DataFrame({"ratio_low": [0.99, 0.9, None], "ratio_high": [1.01, 1.01, None]})
    >>> table.select(is_equal()).to_series().to_list()
    [True, False, False]
    """
    margin = EQUAL_PCT / 100
    return ((pl.col("ratio_low") >= 1 - margin) & (pl.col("ratio_high") <= 1 + margin)).fill_null(value=False)


def describe_undecided(
    which: str,
    change: str,
    interval_pct: tuple[float, float] | None,
    needed: Repetitions | None,
    *,
    target: str = "",
    repeated: bool = True,
    comparisons: int = 1,
) -> str:
    """Word a comparison that is not significant; every report uses this sentence.

    Args:
        which: The open question: "faster", "higher", "better".
        change: The measured difference: "+3.2 %", "+0.4 W".
        interval_pct: Interval of the change in percent; None if there is no ratio.
        needed: From `count_repetitions`; None if more repetitions would not help.
        target: The difference that `needed` is for: "3.2 %".
        repeated: False if a side has a single run.
        comparisons: Number of comparisons in the answer.

    >>> describe_undecided("faster", "+3.2 %", (-1.0, 7.4), Repetitions(7, 3, 40), target="3.2 %")
    'the data do not show which is faster (+3.2 % [-1, +7.4]): about 7 runs of each (3 to 40) would show 3.2 %'
    >>> describe_undecided("higher", "+0.2 %", (-0.5, 0.9), None)
    'equal within 2 % (+0.2 % [-0.5, +0.9])'
    """
    if not repeated:
        return f"the data do not show which is {which} ({change}): one run may be chance, repeat both"
    span = f" [{interval_pct[0]:+z.3g}, {interval_pct[1]:+z.3g}]" if interval_pct else ""
    if interval_pct and max(map(abs, interval_pct)) <= EQUAL_PCT:
        return f"equal within {EQUAL_PCT:g} % ({change}{span})"
    text = f"the data do not show which is {which} ({change}{span})"
    if interval_pct and not interval_pct[0] <= 0 <= interval_pct[1]:
        text += f"; among {comparisons} comparisons chance alone leaves 0 out like this"
    if needed is None:
        return f"{text}: the values are printed too coarsely for more repetitions to help"
    many = f"more than {MOST:,}" if needed.runs > MOST else f"about {needed.runs:,}"
    most = f"{needed.most:,}" if needed.most <= MOST else f"more than {MOST:,}"
    bounds = f" ({needed.fewest:,} to {most})" if needed.runs <= MOST else ""
    return f"{text}: {many} runs of each{bounds} would show {target}"


def _power(difference: float, variance: float, base_variance: float, runs: int, alpha: float) -> float:
    from scipy.special import nctdtr, stdtrit  # noqa: PLC0415

    count = np.array([float(runs)])
    freedom = float(usable_freedom(np.array([variance]) / runs, np.array([base_variance]) / runs, count, count)[0])
    reach = float(stdtrit(freedom, 1 - alpha / 2))
    return 1 - float(nctdtr(freedom, abs(difference) / math.sqrt((variance + base_variance) / runs), reach))
