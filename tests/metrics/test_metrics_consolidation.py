"""Largest load at a tolerance, and when a host would be in dense mode."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import consolidation, inventory
from esxparse.metrics._series import half_unit

START = datetime(2015, 11, 2, 9, 0, tzinfo=UTC)


def curve(p95, vms=(100, 200, 300, 400), **more):
    return pl.LazyFrame({"vms": list(vms), "p95_ms": p95, **more})


def at_100_ms(frame, by=()):
    return consolidation.largest_loads(frame, "vms", {"p95_ms": 100.0}, by).collect()


@pytest.mark.parametrize(
    ("p95", "largest", "status", "neighbours"),
    [
        ([10.0, 50.0, 150.0, 400.0], 250.0, "interpolated", (200, 300)),
        ([10.0, 50.0, 100.0, 400.0], 300.0, "measured", (300, 400)),
        ([10.0, 20.0, 30.0, 100.0], 400.0, "measured", (400, None)),
        ([10.0, 20.0, 30.0, 40.0], 400.0, "not reached", (400, None)),
        ([110.0, 120.0, 130.0, 140.0], None, "beyond from the start", (None, 100)),
        ([10.0, None, 190.0, 400.0], 200.0, "interpolated", (100, 300)),
        ([math.nan, None, None, None], None, "no values", (None, None)),
    ],
)
def test_where_the_tolerance_lies(p95, largest, status, neighbours):
    row = at_100_ms(curve(p95)).row(0, named=True)
    assert (row["largest_load"], row["status"]) == (largest, status)
    assert (row["last_within"], row["first_beyond"]) == neighbours
    assert (row["tolerance"], row["limit"], row["within_again"]) == ("p95_ms", 100.0, 0)


def test_the_first_crossing_counts_and_a_return_is_said():
    row = at_100_ms(curve([50.0, 150.0, 90.0, 80.0])).row(0, named=True)
    assert (row["largest_load"], row["within_again"]) == (150.0, 2)


def test_order_of_rows_does_not_matter_and_repetitions_count_by_their_mean():
    frame = curve([140.0, 40.0, 60.0, 160.0], vms=[300, 200, 200, 300])
    assert at_100_ms(frame)["largest_load"].item() == 250.0


def test_each_configuration_and_tolerance_has_a_row():
    frame = pl.LazyFrame(
        {
            "mode": ["default", "default", "dense", "dense"],
            "vms": [400, 500, 400, 500],
            "p95_ms": [30.0, 130.0, 20.0, 60.0],
            "host_cpu_pct": [80.0, 100.0, 75.0, 95.0],
        }
    )
    loads = consolidation.largest_loads(frame, "vms", by=["mode"])
    assert loads.select("mode", "tolerance", "largest_load", "status").collect().rows() == [
        ("default", "p95_ms", 470.0, "interpolated"),
        ("dense", "p95_ms", 500.0, "not reached"),
        ("default", "host_cpu_pct", 450.0, "interpolated"),
        ("dense", "host_cpu_pct", 475.0, "interpolated"),
    ]
    assert consolidation.largest_load(loads, ["mode"]).collect().rows() == [
        ("default", 450.0, "host_cpu_pct", "interpolated"),
        ("dense", 475.0, "host_cpu_pct", "interpolated"),
    ]


def test_a_tolerance_that_nothing_meets_binds():
    frame = curve([200.0] * 4, host_cpu_pct=[10.0, 20.0, 30.0, 40.0])
    got = consolidation.largest_load(consolidation.largest_loads(frame, "vms")).collect()
    assert got.rows() == [(None, "p95_ms", "beyond from the start")]


@given(
    levels=st.lists(st.floats(min_value=0, max_value=200), min_size=2, max_size=10, unique=True),
    limit=st.floats(min_value=0, max_value=200),
)
def test_on_a_rising_curve_the_answer_lies_between_its_neighbours(levels, limit):
    values = sorted(levels)
    frame = curve(values, vms=range(10, 10 * len(values) + 1, 10))
    row = consolidation.largest_loads(frame, "vms", {"p95_ms": limit}).collect().row(0, named=True)
    if row["status"] == "interpolated":
        assert row["last_within"] <= row["largest_load"] <= row["first_beyond"]
    half = half_unit(np.array(values))
    assert (row["status"] == "beyond from the start") == (limit + half < values[0])
    assert (row["first_beyond"] is None) == (limit + half >= values[-1])


@pytest.mark.parametrize(
    ("limits", "says"),
    [({}, "needs a tolerance"), ({"p99_ms": 1}, "no column 'p99_ms'"), ({"p95_ms": math.nan}, "limit of p95_ms")],
)
def test_what_cannot_be_asked(limits, says):
    with pytest.raises(EsxparseError, match=says):
        consolidation.largest_loads(curve([1.0] * 4), "vms", limits)


def host(seconds, vms=80, vcpus=160, pcpus=80, util=60.0):
    count = len(seconds)

    def column(value):
        return value if isinstance(value, list) else [value] * count

    return pl.LazyFrame(
        {
            "time": [START + timedelta(seconds=second) for second in seconds],
            "vms": column(vms),
            "vcpus": column(vcpus),
            "pcpus": column(pcpus),
            "pcpu_util_pct": column(util),
        }
    )


@pytest.mark.parametrize(
    ("load", "eligible"),
    [
        ({}, True),
        ({"vms": 79}, False),
        ({"vcpus": 159}, False),
        ({"util": 49.99}, False),
        ({"util": 50.0}, True),
        ({"pcpus": 40, "vms": 40, "vcpus": 80}, True),
        ({"util": None}, None),
        # Two thresholds that hold cannot make up for one that does not.
        ({"vms": 10, "util": None}, False),
    ],
)
def test_all_three_thresholds_have_to_hold(load, eligible):
    got = consolidation.dense_mode(host([0, 30, 60], **load)).collect()
    assert got["eligible"].to_list() == [eligible]


def test_a_check_every_60_s_takes_it_back_when_any_threshold_fails():
    seconds = range(0, 301, 20)
    vms = [80 if second != 180 else 79 for second in seconds]
    util = [20.0 if second > 240 else 60.0 for second in seconds]
    got = consolidation.dense_mode(host(seconds, vms=vms, util=util)).collect()
    assert [(time - START).total_seconds() for time in got["time"]] == [60, 120, 180, 240, 300]
    assert got["samples"].to_list() == [4, 3, 3, 3, 3]
    assert got["eligible"].to_list() == [True, True, False, True, False]
    assert got["switched"].to_list() == ["on", None, "off", "on", "off"]
    assert got["enough_vms"].to_list() == [True, True, False, True, True]
    assert got["busy_enough"].to_list() == [True, True, True, True, False]
    summary = consolidation.dense_mode_summary(got.lazy()).collect()
    assert summary.columns == ["checks", "unknown_checks", "eligible_checks", "switches", "eligible_pct"]
    assert summary.row(0) == (5, 0, 3, 4, pytest.approx(60.0))


def test_a_check_of_which_nothing_is_known_changes_nothing():
    """After it the state before counts: no second "on", and no "off" that goes missing."""
    util = [60.0, 60.0, None, 60.0, math.nan, 20.0]
    got = consolidation.dense_mode(host(range(0, 301, 60), util=util)).collect()
    assert got["eligible"].to_list() == [True, None, True, None, False]
    assert got["busy_enough"].to_list() == [True, None, True, None, False]
    assert got["switched"].to_list() == ["on", None, None, None, "off"]
    assert consolidation.dense_mode_summary(got.lazy()).collect().row(0) == (5, 2, 2, 2, pytest.approx(200 / 3))


def test_values_that_rounding_may_have_put_either_side_of_the_limit_lie_on_it():
    frame = pl.LazyFrame({"vms": [1, 2, 3], "p95_ms": [80.0, 99.9, 120.0]})
    on, below, above = (
        consolidation.largest_loads(frame, "vms", {"p95_ms": limit}).collect().row(0, named=True)
        for limit in (99.94, 99.96, 99.84)
    )
    assert (on["status"], on["largest_load"], on["last_within"]) == ("measured", 2.0, 2.0)
    assert (below["status"], below["last_within"]) == ("interpolated", 2.0)
    assert (above["status"], above["first_beyond"]) == ("interpolated", 2.0)
    # Exactly half a unit of whole numbers, and a value that lies within again above the first that does not.
    whole = pl.LazyFrame({"vms": [1, 2, 3, 4], "p95_ms": [80, 100, 120, 101]})
    row = consolidation.largest_loads(whole, "vms", {"p95_ms": 100.5}).collect().row(0, named=True)
    assert (row["status"], row["largest_load"], row["within_again"]) == ("measured", 2.0, 1)
    # The same where the limit lies just below what was printed.
    low = consolidation.largest_loads(frame, "vms", {"p95_ms": 99.86}).collect().row(0, named=True)
    assert (low["status"], low["largest_load"], low["first_beyond"]) == ("measured", 2.0, 3.0)
    # And where each `by` has decimals of its own.
    two = pl.concat([frame.with_columns(a=pl.lit("x")), frame.with_columns(pl.col("p95_ms") + 0.001, a=pl.lit("y"))])
    found = consolidation.largest_loads(two, "vms", {"p95_ms": 99.94}, ["a"]).collect()
    assert dict(found.select("a", "status").iter_rows()) == {"x": "measured", "y": "interpolated"}


def test_loads_without_a_value_are_counted():
    row = at_100_ms(curve([10.0, None, 50.0, math.nan])).row(0, named=True)
    assert (row["status"], row["largest_load"], row["unknown_loads"]) == ("not reached", 300.0, 2)
    assert at_100_ms(curve([10.0, None, 20.0], vms=(1, 1, 2)))["unknown_loads"].item() == 0


def test_between_checks_nothing_changes():
    # A VM that is gone for 40 s and back at the check has not been noticed; utilisation is the mean since the last.
    seconds = [0, 20, 40, 60]
    got = consolidation.dense_mode(host(seconds, vms=[80, 10, 10, 80], util=[40.0, 40.0, 60.0, 62.0])).collect()
    assert got["eligible"].to_list() == [True]
    assert got["pcpu_util_pct"].to_list() == [50.5]


def test_samples_further_apart_than_checks_and_gaps():
    got = consolidation.dense_mode(host([0, 120, 600])).collect()
    assert [(time - START).total_seconds() for time in got["time"]] == [60, 120, 600]
    assert consolidation.dense_mode(host([0, 30])).collect().height == 0
    assert consolidation.dense_mode(host([0, 30]), check_every_s=30).collect().height == 1


@pytest.mark.parametrize("seconds", [0, -60, math.inf])
def test_no_time_between_checks(seconds):
    with pytest.raises(EsxparseError, match="time between checks"):
        consolidation.dense_mode(host([0]), check_every_s=seconds)


def test_the_load_of_a_host_from_its_capture():
    times = [START, START + timedelta(seconds=5)]
    group_cpu = pl.LazyFrame({"time": [times[0]] * 3 + [times[1]], "group_id": [1, 7, 9, 1]})
    worlds = pl.LazyFrame(
        {
            "group_id": [1, 7, 7, 9],
            "group": ["system", "db", "db", "web"],
            "world": ["idle0", "vmx-vcpu-0:db", "vmx-vcpu-1:db", "vmx-vcpu-0:web"],
        }
    )
    physical = pl.LazyFrame(
        {
            "time": [times[0]] * 3 + [times[1]] * 3,
            "pcpu": [0, 1, None] * 2,
            "pct_util_time": [80.0, 40.0, 60.0, 10.0, 20.0, 15.0],
        }
    )
    vms = inventory.vms(worlds)
    got = consolidation.host_load(group_cpu, vms, physical).collect()
    assert got.rows() == [(times[0], 2, 3, 2, 60.0), (times[1], 0, 0, 2, 15.0)]
    # A sample that lacks the groups has no VMs that are known, which is not none.
    torn = consolidation.host_load(group_cpu.filter(pl.col("time") == times[0]), vms, physical).collect()
    assert torn.rows() == [(times[0], 2, 3, 2, 60.0), (times[1], None, None, 2, 15.0)]
    hidden = vms.with_columns(vcpus=pl.when(pl.col("vm") == "db").then("vcpus"))
    assert consolidation.host_load(group_cpu, hidden, physical).collect()["vcpus"].to_list() == [None, 0]
