"""Suites of one's own: how many rows each expectation judges, which fail it, and which of them is named."""

from __future__ import annotations

import json
from datetime import timedelta

import cells
import polars as pl
import pytest

import esxparse as ex
from esxparse.quality import evaluate

NODES = {"0": [10.0, 7.0, 12.0, 3.0], "1": [6.0, 8.0, 9.0, 30.0]}
VALUES = [value for pair in zip(*NODES.values(), strict=True) for value in pair]
"""Row by row: node 0 and node 1 of each sample."""


@pytest.fixture
def rec(tmp_path):
    return ex.open(cells.capture(tmp_path, {("Numa Node", node, "Free MBytes"): of for node, of in NODES.items()}))


def judged(folder, rec, kind, severity="critical", **kwargs):
    """The only expectation of a suite on the table of nodes."""
    expectation = {
        "type": f"expect_column_values_to_{kind}",
        "severity": severity,
        "kwargs": {"column": "free_mbytes", **kwargs},
    }
    meta = {"esxparse": {"table": "numa_node", "on": "table"}}
    (folder / "mine.json").write_text(json.dumps({"name": "mine", "expectations": [expectation], "meta": meta}))
    (found,) = ex.check(rec, folder / "mine.json")
    return found


def between(low, high, *, strict=False):
    def fits(value):
        above = low is None or (value > low if strict else value >= low)
        return above and (high is None or (value < high if strict else value <= high))

    return sum(not fits(value) for value in VALUES)


@pytest.mark.parametrize(("low", "high"), [(7.0, 12.0), (7.5, None), (None, 9.0), (3.0, 30.0), (None, None)])
@pytest.mark.parametrize("strict", [False, True])
def test_numbers_are_between_their_limits_or_just_at_them(tmp_path, rec, low, high, strict):
    limits = {"min_value": low, "max_value": high}
    limits |= {"strict_min": True, "strict_max": True} if strict else {}
    found = judged(tmp_path, rec, "be_between", **limits)
    bad = between(low, high, strict=strict)
    assert (found.judged, found.failed, found.status) == (8, bad, "fail" if bad else "pass")


@pytest.mark.parametrize(
    ("limits", "value", "entity", "sample"),
    [
        ({"max_value": 9.0}, 30.0, "1", 3),  # the highest above the limit
        ({"min_value": 9.0}, 3.0, "0", 3),  # the lowest below
        ({"min_value": 7.0, "max_value": 11.0}, 3.0, "0", 3),
    ],
)
def test_the_worst_row_is_named(tmp_path, rec, limits, value, entity, sample):
    found = judged(tmp_path, rec, "be_between", severity="warning", **limits)
    assert (found.status, found.value, found.entity) == ("warn", value, entity)
    assert found.time == cells.START + timedelta(seconds=5 * sample)


@pytest.mark.parametrize(
    ("kind", "values", "bad"),
    [
        ("be_in_set", [10.0, 7.0, 12.0], 5),
        ("not_be_in_set", [10.0, 7.0, 12.0], 3),
        ("not_be_in_set", [1.0], 0),
    ],
)
def test_numbers_of_a_set(tmp_path, rec, kind, values, bad):
    assert judged(tmp_path, rec, kind, value_set=values).failed == bad


def test_numbers_that_are_there_and_numbers_that_are_not(tmp_path, rec):
    assert judged(tmp_path, rec, "not_be_null").failed == 0
    assert judged(tmp_path, rec, "be_null").failed == 8
    frame = pl.DataFrame({"a": [1.0, None, 3.0, None, None]})
    for kind, counts in (("not_be_null", (5, 3)), ("be_null", (5, 2)), ("be_between", (2, 0))):
        expectation = {"type": f"expect_column_values_to_{kind}", "kwargs": {"column": "a"}}
        ((rows, bad),) = evaluate.judge([expectation], frame)
        assert (rows, bad.height) == counts, kind


@pytest.mark.parametrize(("mostly", "status"), [(0.625, "pass"), (0.626, "fail")])
def test_a_share_may_fail_and_no_more(tmp_path, rec, mostly, status):
    # 5 of 8 are 9 or less.
    assert judged(tmp_path, rec, "be_between", max_value=9.0, mostly=mostly).status == status


def test_only_rows_of_the_condition_are_judged(tmp_path, rec):
    where = {"row_condition": 'instance == "1"', "condition_parser": "pandas"}
    found = judged(tmp_path, rec, "be_between", max_value=8.0, **where)
    assert (found.judged, found.failed) == (4, 2)
    none = judged(
        tmp_path, rec, "be_between", max_value=8.0, row_condition='instance == "7"', condition_parser="pandas"
    )
    assert (none.judged, none.status) == (0, "not judged")


@pytest.mark.parametrize(("start", "status"), [(20, "pass"), (100, "pass"), (101, "warn")])
def test_files_of_one_run_lie_a_minute_apart_at_most(tmp_path, start, status):
    paths = [
        cells.capture(
            tmp_path, {("Numa Node", "0", "Free MBytes"): [1, 2, 3]}, f"{begin}.csv", [begin, begin + 20, end]
        )
        for begin, end in ((0, 40), (start, start + 70))
    ]
    for order in (paths, paths[::-1]):
        (clock,) = [one for one in ex.check([ex.open(path) for path in order]) if one.id == "files.clock"]
        assert clock.status == status
        if status == "warn":
            assert (clock.value, clock.time) == (40.0 - start, cells.START + timedelta(seconds=start))
