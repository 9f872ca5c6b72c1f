"""Two captures compared, against the formulas worked out here in plain Python."""

from __future__ import annotations

from itertools import pairwise
from math import cos, pi, sqrt
from statistics import mean

import numpy as np
import pytest
import scipy.stats
from test_compare import recording

import esxparse as ex

SIZE = 44
"""Fewer than two blocks of samples: the error is that of the samples alone."""


def error_of(values):
    """Squared error of the mean, and its degrees of freedom."""
    size, off = len(values), [one - mean(values) for one in values]
    alike = sum(one * other for one, other in pairwise(off)) / sum(one * one for one in off)
    alike = min(max((size * alike + 1) / (size - 3), 0), 0.98)
    raised = min(alike * (1 + 7 / size), 0.98)
    effective = size * (1 - raised) / (1 + raised)
    left = [other - alike * one for one, other in pairwise(off)]
    count = len(left)
    waves = [
        sum(one * sqrt(2 / count) * cos(pi * number * (place + 0.5) / count) for place, one in enumerate(left))
        for number in (1, 2)
    ]
    return mean(one**2 for one in waves) / (1 - raised) ** 2 / size, max(min(2, effective - 1), 0.5)


def interval(before, after, confidence):
    """Change, its interval and p."""
    (first, freedom), (second, other) = error_of(before), error_of(after)
    square = first + second
    spread = scipy.stats.t(max(square**2 / (first**2 / freedom + second**2 / other), 1))
    change, error = mean(after) - mean(before), sqrt(square)
    reach = spread.ppf((1 + confidence) / 2) * error
    return change, change - reach, change + reach, 2 * spread.cdf(-abs(change) / error)


def adjusted(values):
    """Benjamini and Hochberg's p."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, least = {}, 1.0
    for rank in range(len(order), 0, -1):
        place = order[rank - 1]
        least = min(least, values[place] * len(values) / rank)
        found[place] = least
    return [found[place] for place in range(len(values))]


def series(seed, level, alike=0.0):
    random = np.random.default_rng(seed)
    values = [0.0]
    for step in random.normal(size=SIZE):
        values.append(alike * values[-1] + float(step))
    return [level + value for value in values[1:]]


LEVELS = {"a": (10, 18.0, 0.0), "b": (5, 5.1, 0.6), "c": (-8, -7.6, 0.0), "d": (20, 19, 0.4), "e": (3, 3.05, 0.0)}


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_every_figure_of_a_comparison_of_two_captures(confidence):
    sides = [
        {name: series(10 * side + place, of[side], of[2]) for place, (name, of) in enumerate(LEVELS.items())}
        for side in (0, 1)
    ]
    recs = [recording({"vm": {name: {"ready": values} for name, values in side.items()}}, SIZE) for side in sides]
    found = {row["instance"]: row for row in ex.compare(*recs, confidence=confidence).frame.to_dicts()}
    expected = {name: interval(sides[0][name], sides[1][name], confidence) for name in LEVELS}
    chances = dict(zip(LEVELS, adjusted([one[3] for one in expected.values()]), strict=True))
    for name, (change, low, high, _) in expected.items():
        row = found[name]
        before, after = mean(sides[0][name]), mean(sides[1][name])
        assert (row["before"], row["after"]) == pytest.approx((before, after), rel=1e-5)
        assert (row["change"], row["change_low"], row["change_high"]) == pytest.approx((change, low, high), rel=1e-4)
        assert row["change_pct"] == pytest.approx(100 * change / abs(before), rel=1e-4)
        assert row["p"] == pytest.approx(chances[name], rel=1e-3)
        assert row["differs"] == (chances[name] < 1 - confidence)
    assert {row["differs"] for row in found.values()} == {True, False}
    assert [found[name]["p"] for name in found] == pytest.approx(sorted(map(float, chances.values())), rel=1e-3)


def test_a_series_that_rests_differs_where_its_level_does():
    before = recording(
        {"vm": {"same": {"mb": [4.0] * 20}, "more": {"mb": [4.0] * 20}, "from_0": {"mb": [0.0] * 20}}}, 20
    )
    after = recording(
        {"vm": {"same": {"mb": [4.0] * 20}, "more": {"mb": [5.0] * 20}, "from_0": {"mb": [1.0] * 20}}}, 20
    )
    found = {row["instance"]: row for row in ex.compare(before, after).frame.to_dicts()}
    assert (found["same"]["differs"], found["same"]["p"], found["same"]["change_pct"]) == (False, 1.0, 0.0)
    assert (found["more"]["differs"], found["more"]["p"], found["more"]["change_pct"]) == (True, 0.0, 25.0)
    assert (found["from_0"]["differs"], found["from_0"]["change_pct"]) == (True, None)
