"""Two captures compared, and what moves alike, against the formulas worked out here in plain Python."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from statistics import mean, median, variance

import numpy as np
import pytest
import scipy.stats
from test_changes import moment, recording

import esxparse as ex

SIZE = 60


def counted_as(values):
    """How many independent samples a series is worth, by the correlation of neighbours."""
    off = [one - mean(values) for one in values]
    alike = sum(one * other for one, other in pairwise(off)) / sum(one * one for one in off)
    alike = min(max(alike, 0), 0.99)
    return max(len(values) * (1 - alike) / (1 + alike), 2)


def welch(before, after, confidence):
    """Change, its interval and p."""
    sizes = [counted_as(values) for values in (before, after)]
    parts = [variance(values) / size for values, size in zip((before, after), sizes, strict=True)]
    freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    spread = scipy.stats.t(max(freedom, 1))
    change, error = mean(after) - mean(before), sqrt(sum(parts))
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
    # As the table of a capture holds them.
    return [float(np.float32(level + value)) for value in values[1:]]


LEVELS = {"a": (10, 11.2, 0.0), "b": (5, 5.1, 0.6), "c": (-8, -7.6, 0.0), "d": (20, 19, 0.9), "e": (3, 3.05, 0.0)}


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_every_figure_of_a_comparison_of_two_captures(confidence):
    sides = [
        {name: series(10 * side + place, of[side], of[2]) for place, (name, of) in enumerate(LEVELS.items())}
        for side in (0, 1)
    ]
    recs = [recording({"vm": {name: {"ready": values} for name, values in side.items()}}, SIZE) for side in sides]
    found = {row["instance"]: row for row in ex.compare(*recs, confidence=confidence).to_dicts()}
    expected = {name: welch(sides[0][name], sides[1][name], confidence) for name in LEVELS}
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
    found = {row["instance"]: row for row in ex.compare(before, after).to_dicts()}
    assert (found["same"]["differs"], found["same"]["p"], found["same"]["change_pct"]) == (False, 1.0, 0.0)
    assert (found["more"]["differs"], found["more"]["p"], found["more"]["change_pct"]) == (True, 0.0, 25.0)
    assert (found["from_0"]["differs"], found["from_0"]["change_pct"]) == (True, None)


def pearson(one, other):
    return float(np.corrcoef(one, other)[0, 1])


def test_the_correlation_is_the_largest_of_those_at_six_samples_to_either_side():
    own = series(1, 0, 0.95)
    others = {name: series(seed, 0, 0.9) for name, seed in (("x", 2), ("y", 3))}
    others["late"] = [*own[-6:], *own[:-6]]
    rec = recording({"vm": {name: {"ready": values} for name, values in {"own": own, **others}.items()}}, SIZE)
    found = {row["instance"]: row for row in ex.similar(rec, ("vm", "ready", "own")).to_dicts()}
    middle = own[6:-6]
    for name, values in others.items():
        each = {lag: pearson(middle, values[6 + lag : SIZE - 6 + lag]) for lag in range(-6, 7)}
        best = max(each, key=lambda lag: abs(each[lag]))
        assert found[name]["correlation"] == pytest.approx(each[best], abs=1e-4)
        assert found[name]["lag_s"] == 5.0 * best
    assert found["late"]["lag_s"] == 30.0


def test_twenty_samples_are_enough_to_look_for_what_moves_alike():
    values = {name: {"ready": series(seed, 0)} for name, seed in (("a", 1), ("b", 2))}
    rec = recording({"vm": values}, SIZE)
    assert ex.similar(rec, ("vm", "ready", "a"), (moment(10), moment(29))).height == 1
    with pytest.raises(ex.EsxparseError, match=r"the window has 19 samples .* give one of 20 or more"):
        ex.similar(rec, ("vm", "ready", "a"), (moment(10), moment(28)))


def stepped(samples, at, low=1.0, high=9.0):
    """A little noise, and another level from a sample on."""
    return [(high if place >= at else low) + 0.01 * (place % 3) for place in range(samples)]


def test_levels_before_and_after_are_medians_and_events_are_counted():
    at = 25
    tables = {"vm": {f"v{one}": {"ready": stepped(40, at + one // 3)} for one in range(4)}}
    tables["vm"]["still"] = {"ready": [1.0 + 0.01 * (place % 5) for place in range(40)]}
    found = ex.changes(recording(tables, 40))
    assert found.events.row(0, named=True)["series"] == 4
    assert found.events.row(0, named=True)["first_instance"] in {"v0", "v1", "v2"}
    rows = {row["instance"]: row for row in found.series.to_dicts()}
    place = round((found.at - moment(0)).total_seconds() / 5)
    assert at - 1 <= place <= at
    for one in range(4):
        values = stepped(40, at + one // 3)
        assert rows[f"v{one}"]["before"] == pytest.approx(median(values[:place]), abs=1e-3)
        assert rows[f"v{one}"]["after"] == pytest.approx(median(values[place:]), abs=1e-3)
        assert rows[f"v{one}"]["onset"] == moment(at + one // 3)
    assert rows["still"]["onset"] is None
    assert rows["still"]["beyond"] <= 1 < rows["v0"]["beyond"]


@pytest.mark.parametrize(("at", "fine"), [(2, False), (3, True), (17, True), (18, False)])
def test_a_time_has_three_samples_to_either_side(at, fine):
    rec = recording({"vm": {"a": {"ready": stepped(20, 10)}}}, 20)
    if fine:
        assert ex.changes(rec, at=moment(at)).at == moment(at)
    else:
        with pytest.raises(ex.EsxparseError, match="give a time from"):
            ex.changes(rec, at=moment(at))


@pytest.mark.parametrize(("samples", "fine"), [(11, False), (12, True)])
def test_twelve_samples_are_enough_for_changes(samples, fine):
    rec = recording({"vm": {"a": {"ready": stepped(samples, 6)}}}, samples)
    if fine:
        assert ex.changes(rec).series.height == 1
    else:
        with pytest.raises(ex.EsxparseError, match="11 samples: changes need 12"):
            ex.changes(rec)
