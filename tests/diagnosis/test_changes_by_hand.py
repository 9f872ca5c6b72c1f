"""What changed and what moves alike, against the formulas worked out here in plain Python."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from test_changes import moment, recording

import esxparse as ex

SIZE = 60


def series(seed, level, alike=0.0):
    random = np.random.default_rng(seed)
    values = [0.0]
    for step in random.normal(size=SIZE):
        values.append(alike * values[-1] + float(step))
    # As the table of a capture holds them.
    return [float(np.float32(level + value)) for value in values[1:]]


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


def test_what_changed_for_a_short_time_has_its_own_level_after():
    values = [0.0] * 40
    values[24:31] = [620.0, 630.0, 640.0, 620.0, 610.0, 620.0, 630.0]
    tables = {"vm": {"short": {"ready": values}, "still": {"ready": [1.0 + 0.01 * (place % 5) for place in range(40)]}}}
    row = ex.changes(recording(tables, 40), at=moment(22)).series.row(0, named=True)
    # The median after is 0, as it is before: that is not what was scored.
    assert (row["instance"], row["before"]) == ("short", 0)
    assert row["beyond"] > 1000
    assert row["after"] >= 600


def test_without_a_common_moment_none_is_named():
    tables = {"vm": {f"v{one}": {"ready": stepped(60, 6 + 8 * one)} for one in range(6)}}
    found = ex.changes(recording(tables, 60))
    assert found.at is None
    for row in found.series.to_dicts():
        assert row["onset"] == moment(6 + 8 * int(row["instance"][1:]))
        assert (row["before"], row["after"]) == (pytest.approx(1, abs=0.05), pytest.approx(9, abs=0.05))
        assert row["beyond"] > 10
