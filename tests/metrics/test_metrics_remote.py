"""Volume and rate by activity."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import remote

START = datetime(2026, 3, 2, 20, tzinfo=UTC)
samples = st.lists(st.tuples(st.integers(0, 10**9), st.sampled_from(["typing", "video", None])), min_size=2)


def table(seconds, activity, **values):
    return pl.LazyFrame({"elapsed_s": [float(one) for one in seconds], "activity": activity} | values)


@settings(deadline=None)
@given(rows=samples)
def test_bytes_are_kept_whatever_the_activities(rows):
    got = remote.by_activity(
        table(range(len(rows)), [one[1] for one in rows], bytes=[one[0] for one in rows])
    ).collect()
    total = sum(one[0] for one in rows)
    assert got["volume_mb"].sum() == pytest.approx(total / 1e6)
    assert got["samples"].sum() == len(rows)
    assert got["duration_s"].sum() == len(rows)
    if total:
        assert got["of_volume_pct"].sum() == pytest.approx(100)


@settings(deadline=None)
@given(rows=samples)
def test_bytes_and_rates_of_the_same_traffic_agree(rows):
    activity, moved = [one[1] for one in rows], [one[0] for one in rows]
    seconds = range(0, 20 * len(rows), 20)
    counted = remote.by_activity(table(seconds, activity, bytes=moved)).collect().to_dicts()
    rated = remote.by_activity(table(seconds, activity, kb_per_s=[one / 20_000 for one in moved])).collect().to_dicts()
    for one, other in zip(counted, rated, strict=True):
        assert one["activity"] == other["activity"]
        for name in ("volume_mb", "mean_kb_per_s", "peak_kb_per_s"):
            assert one[name] == pytest.approx(other[name])


@pytest.mark.parametrize(
    ("unit", "value"), [("kb_per_s", 1400), ("mbit_per_s", 11.2), ("mb_per_s", 1.4), ("kib_per_s", 1400 / 1.024)]
)
def test_rates_may_come_in_any_of_their_units(unit, value):
    got = remote.by_activity(table([20, 40], ["typing"] * 2, **{unit: [value] * 2})).collect()
    assert got["mean_kb_per_s"].item() == pytest.approx(1400)


def test_stretches_of_an_activity_are_added_up_in_order_of_time():
    got = remote.by_activity(
        table([60, 20, 40], ["typing", "typing", "video"], kb_per_s=[1500.0, 1300.0, 3000.0])
    ).collect()
    assert got.select("activity", "samples", "mean_kb_per_s", "peak_kb_per_s").rows() == [
        ("typing", 2, 1400.0, 1500.0),
        ("video", 1, 3000.0, 3000.0),
    ]


def test_a_rate_does_not_hold_through_a_gap_and_bytes_were_moved_in_it():
    seconds, activity = [0, 10, 20, 1000], ["a", "a", "a", "b"]
    rated = remote.by_activity(table(seconds, activity, kb_per_s=[100.0] * 4)).collect()
    assert rated["duration_s"].to_list() == [30, 10]
    counted = remote.by_activity(table(seconds, activity, bytes=[1000] * 4)).collect()
    assert counted["duration_s"].to_list() == [30, 980]


def test_times_do_as_well_as_seconds():
    times = [START + timedelta(seconds=20 * one) for one in range(3)]
    rows = pl.LazyFrame({"time": times, "activity": ["a"] * 3, "bytes": [1000, None, 3000]})
    got = remote.by_activity(rows).collect().row(0, named=True)
    assert (got["samples"], got["duration_s"], got["volume_mb"]) == (2, 80, 0.004)


def test_one_sample_of_a_rate_has_no_volume_and_one_of_bytes_has():
    rated = remote.by_activity(table([20], ["a"], kb_per_s=[5.0])).collect().row(0, named=True)
    assert (rated["volume_mb"], rated["mean_kb_per_s"], rated["peak_kb_per_s"]) == (None, None, 5.0)
    counted = remote.by_activity(table([20], ["a"], bytes=[5000])).collect().row(0, named=True)
    assert (counted["volume_mb"], counted["mean_kb_per_s"], counted["of_volume_pct"]) == (0.005, None, 100)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"elapsed_s": [1.0], "activity": ["a"]}, "and has none"),
        ({"elapsed_s": [1.0], "activity": ["a"], "bytes": [1], "kb_per_s": [1.0]}, "and has bytes, kb_per_s"),
        ({"activity": ["a"], "bytes": [1]}, "neither time nor elapsed_s"),
    ],
)
def test_tables_without_one_meaning_are_refused(rows, said):
    with pytest.raises(EsxparseError, match=said):
        remote.by_activity(pl.LazyFrame(rows))


@pytest.mark.parametrize("bad", [0, -1, math.nan])
def test_zero_times_and_rates_are_refused(bad):
    with pytest.raises(EsxparseError, match="time above 0"):
        remote.mean_kb_per_s(21, bad)
    with pytest.raises(EsxparseError, match="no number of connections"):
        remote.connections(100, bad)


@given(link=st.floats(0, 1e5), rate=st.floats(0.1, 1e5))
def test_connections_fit_and_one_more_does_not(link, rate):
    count = remote.connections(link, rate)
    assert count * rate <= link * 125 * (1 + 1e-9)
    assert (count + 1) * rate > link * 125 * (1 - 1e-9)
