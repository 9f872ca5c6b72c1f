"""Sentences on figures of benchmarks against the baseline: one clause per measure, never a mean over several.

A measure groups comparable figures: the same benchmark, metric, unit, and better direction. A rate and a latency are
two measures, and so are MB/s and GFlop/s.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.metrics import evidence

_MEASURE: Final = ["benchmark", "metric", "unit", "higher_is_better"]
_SAME: Final = 5e-4
"""Readers ignore a smaller difference."""
_REPEATS: Final = 1e-3
"""If the product of two ratios is this close to 1, one quantity is the inverse of the other."""
MANY: Final = 3.0
"""Ratios from here on are written as "times": nobody reads percentages of hundreds."""


def by_measure(figures: pl.DataFrame, label: str, base: str) -> list[str]:
    """Return a sentence for each configuration, with a clause for each measure: the change and its confidence.

    `figures`: from `Study.virtual_to_native`, without the baseline's rows. `label`: the label that identifies
    configurations. `base`: the baseline in words.
    """
    made = []
    for (who,), part in figures.filter(pl.col("ratio").is_not_null()).group_by(label, maintain_order=True):
        measures = [one for _, one in part.group_by(_MEASURE, maintain_order=True)]
        distinct = [
            one for at, one in enumerate(measures) if not any(_is_inverse(one, other) for other in measures[:at])
        ]
        clauses = [_clause(one, distinct) for one in distinct]
        made.append(f"{who} against {base}: {'; '.join(clauses)}.")
    return made


def _is_inverse(part: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Return whether a measure only repeats another, as the time of a fixed work repeats its rate."""
    keys = ["benchmark", "test", "configuration"]
    both = part.select(*keys, "ratio").join(other.select(*keys, other="ratio"), on=keys, nulls_equal=True)
    alike = (both["ratio"] * both["other"] - 1).abs() < _REPEATS
    return both.height == part.height and bool(alike.all())


def change(factor: float) -> str:
    """Return a ratio in words: percent, or "times as high" from 3 on."""
    if abs(factor - 1) < _SAME:
        return "the same"
    if factor >= MANY:
        return f"{factor:.3g} times as high"
    pct = 100 * (factor - 1)
    return f"{abs(pct):.3g} % {'higher' if pct > 0 else 'lower'}"


def _clause(part: pl.DataFrame, measures: list[pl.DataFrame]) -> str:
    """Describe the change of one measure over its figures, with the two that change least and most."""
    part = part.with_columns(pl.Series("_test", _tests(part), pl.String)).sort("ratio")
    low, high = (part.row(place, named=True) for place in (0, -1))
    name = _name(part, measures)
    if part.height == 1:
        return f"{name} is {change(low['ratio'])}{_verdict(part)}"
    if change(low["ratio"]) == change(high["ratio"]):
        return f"{name} is {change(low['ratio'])} in {part.height} figures{_verdict(part)}"
    first, last = (change(one["ratio"]) + (f" ({one['_test']})" if one["_test"] else "") for one in (low, high))
    return f"{name} is from {first} to {last}{_verdict(part)}"


def _name(part: pl.DataFrame, measures: list[pl.DataFrame]) -> str:
    """Return a measure in words; with its only test, else with its unit if another measure has the same name."""
    row = part.row(0, named=True)
    alike = [one for one in measures if one.select("benchmark", "metric").row(0) == (row["benchmark"], row["metric"])]
    tests = part["test"].unique()
    test = tests[0] if tests.len() == 1 else ""
    benchmark = "" if row["benchmark"] == "results" else row["benchmark"]
    unit = f"({row['unit']})" if len(alike) > 1 and not test else ""
    return " ".join(one for one in (benchmark, test, row["metric"], unit) if one).replace("_", " ")


def _tests(part: pl.DataFrame) -> list[str]:
    """Return what identifies each figure of a measure: its test, else the part of its configuration that varies."""
    if part["test"].is_unique().all():
        return [text.replace("_", " ") for text in part["test"]]
    pieces = [[piece for piece in text.split(", ") if piece] for text in part["configuration"]]
    shared = set(pieces[0]).intersection(*pieces)
    tests = part["test"] if part["test"].n_unique() > 1 else pl.Series([""] * part.height)
    return [
        ", ".join(one for one in (test, *(piece for piece in own if piece not in shared)) if one).replace("_", " ")
        for test, own in zip(tests, pieces, strict=True)
    ]


def _verdict(part: pl.DataFrame) -> str:
    """Return the verdict on the figures: how many are better or worse, and how many are undecided."""
    single = pl.col("p_value").is_null()
    open_ = ~single & pl.col("undecided").is_not_null()
    changed = ~single & pl.col("undecided").is_null()
    equal = open_ & evidence.is_equal()
    which = "higher" if part["higher_is_better"].null_count() else "better"
    counts = {
        "better": part.filter(changed, verdict="better").height,
        "worse": part.filter(changed, verdict="worse").height,
        "different": part.filter(changed, pl.col("verdict").is_null()).height,
        f"equal within {evidence.EQUAL_PCT:g} %": part.filter(equal).height,
        "of single runs, which may be chance": part.filter(single).height,
    }
    open_result = f"the data do not show which is {which}"
    left = part.filter(open_, ~equal).height
    if part.height == 1:
        return ", " + next((result for result, count in counts.items() if count), open_result)
    words = [f"{count} {result}" for result, count in counts.items() if count]
    return f": {', '.join([*words, f'{open_result} in {left}'] if left else words)}"
