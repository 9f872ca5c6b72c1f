"""The measured part of a run: where it starts and ends, whether it stood still, what stands out."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import steady

START = datetime(2015, 11, 2, 9, 0, tzinfo=UTC)


def samples(values, step=5.0, **more):
    times = [START + timedelta(seconds=step * place) for place in range(len(values))]
    return pl.LazyFrame({"time": times, "iops": values, **more}, schema_overrides={"iops": pl.Float64})


def noisy(count, drift=0.0, noise=0.01, seed=1):
    random = np.random.default_rng(seed)
    return list(1000 * (1 + drift * (np.arange(count) / (count - 1) - 0.5) + random.normal(0, noise, count)))


def verdict(values, **options):
    return steady.steadiness(samples(values), "iops", **options).collect()["verdict"].item()


def test_the_span_of_two_minutes_after_two():
    start, end = steady.measured_span(START, START + timedelta(minutes=10), 120, 120)
    assert (start - START, end - START) == (timedelta(minutes=2), timedelta(minutes=4))
    assert steady.measured_span(START, START + timedelta(minutes=10), 60)[1] == START + timedelta(minutes=10)


@pytest.mark.parametrize(
    ("seconds", "warmup", "measure", "says"),
    [
        (200, 120, 120, "200 s long, too short for 120 s of warm-up and 120 s measured"),
        (120, 120, None, "120 s long, too short for 120 s of warm-up:"),
        (600, -1, None, "warm-up must be 0 seconds or more"),
        (600, math.nan, None, "warm-up must be"),
        (600, 0, 0, "measured span must be longer than 0"),
    ],
)
def test_a_span_outside_the_recording_is_refused(seconds, warmup, measure, says):
    with pytest.raises(EsxparseError, match=says):
        steady.measured_span(START, START + timedelta(seconds=seconds), warmup, measure)


def test_a_sample_belongs_to_the_interval_before_it():
    frame = samples(list(range(61)))
    got = steady.cut(frame, 120, 120).collect()
    # 125 s to 240 s: 24 samples, which tell of 120 s.
    assert got["iops"].to_list() == list(range(25, 49))
    assert got.columns == ["time", "iops"]
    assert steady.cut(frame, 120).collect()["iops"].to_list() == list(range(25, 61))
    assert steady.cut(frame, 0).collect().height == 61
    with pytest.raises(EsxparseError, match="warm-up"):
        steady.cut(frame, -5)


def test_each_run_is_cut_by_its_own_clock():
    late = samples(list(range(10))).with_columns(pl.col("time") + timedelta(hours=1), run=pl.lit("b"))
    both = pl.concat([samples(list(range(10))).with_columns(run=pl.lit("a")), late])
    got = steady.cut(both, 20, 15, by=["run"]).collect()
    assert got.select("run", "iops").rows() == [(run, value) for run in "ab" for value in (5.0, 6.0, 7.0)]


def test_outliers_are_marked_and_kept():
    values = [*(1000.0 + place % 7 for place in range(30)), 300.0, None, math.nan]
    got = steady.outliers(samples(values), "iops").collect()
    assert got.height == 33
    assert got["iops_outlier"].to_list() == [False] * 30 + [True, None, None]
    assert got["iops_deviation"][30] < -3.5
    assert got["iops"].to_list()[:31] == values[:31]
    assert got.columns == ["time", "iops", "iops_deviation", "iops_outlier"]


def test_one_that_differs_among_equals_is_an_outlier():
    got = steady.outliers(samples([100.0] * 9 + [0.0]), "iops").collect()
    assert got["iops_outlier"].to_list() == [False] * 9 + [True]
    same = steady.outliers(samples([100.0] * 5), "iops").collect()
    assert same["iops_deviation"].to_list() == [0.0] * 5
    assert not same["iops_outlier"].any()


def test_outliers_of_each_run_are_its_own():
    values = [*noisy(20), *(value / 10 for value in noisy(20))]
    frame = samples(values, run=["a"] * 20 + ["b"] * 20)
    assert not steady.outliers(frame, "iops", ["run"]).collect()["iops_outlier"].any()
    with pytest.raises(EsxparseError, match="score of an outlier"):
        steady.outliers(frame, "iops", far_out=0)
    with pytest.raises(EsxparseError, match="no column 'mbps'"):
        steady.outliers(frame, "mbps")


@given(
    values=st.lists(st.floats(min_value=1, max_value=1e5), min_size=1, max_size=40),
    scale=st.floats(min_value=0.001, max_value=1000),
)
def test_outliers_do_not_depend_on_the_unit(values, scale):
    one = steady.outliers(samples(values), "iops").collect()["iops_deviation"].to_list()
    other = steady.outliers(samples([value * scale for value in values]), "iops").collect()["iops_deviation"].to_list()
    if max(values) - min(values) > 1e-3 * max(values):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (noisy(24), "steady"),
        (noisy(8), "steady"),
        (noisy(5), "steady"),
        (noisy(24, drift=0.3), "drifts up"),
        (noisy(24, drift=-0.3), "drifts down"),
        (noisy(8, drift=0.3), "drifts up"),
        (noisy(400, drift=0.02), "steady"),
        ([1000.0] * 12 + [600.0] * 6 + [1000.0] * 12, "varies"),
        (noisy(24, noise=0.12, seed=3), "too noisy to tell"),
        ([1000.0] * 30, "steady"),
        ([0.0] * 30, "no throughput"),
        ([1000.0] * 4, "too few samples"),
        ([None] * 30, "too few samples"),
        ([], "too few samples"),
    ],
)
def test_verdicts(values, expected):
    assert verdict(values) == expected


def test_the_numbers_behind_a_verdict():
    row = steady.steadiness(samples([1000.0 + 10 * place for place in range(21)]), "iops").collect().row(0, named=True)
    assert (row["samples"], row["span_s"], row["mean"], row["outliers"]) == (21, 100.0, 1100.0, 0)
    # From 1,000 to 1,200 about a mean of 1,100.
    assert row["drift_pct"] == pytest.approx(100 * 200 / 1100)
    assert row["drift_low_pct"] <= row["drift_pct"] <= row["drift_high_pct"]


def test_a_warm_up_left_in_shows_and_goes_when_it_is_cut():
    warming = [1000 * (1 - math.exp(-place / 6)) for place in range(24)]
    values = [*warming, *noisy(48)]
    assert verdict(values) in {"drifts up", "varies"}
    measured = steady.steadiness(steady.cut(samples(values), 120, 120), "iops").collect()
    assert measured["verdict"].item() == "steady"


def test_an_outlier_is_counted_and_stays_in_the_mean():
    values = [1000.0 + place % 3 for place in range(24)]
    values[12] = 900.0
    row = steady.steadiness(samples(values), "iops").collect().row(0, named=True)
    assert row["outliers"] == 1
    assert row["mean"] == pytest.approx(sum(values) / 24)


def test_runs_keep_their_order_and_none_is_lost():
    frame = pl.concat(
        [
            samples(noisy(24)).with_columns(run=pl.lit("z")),
            samples([None] * 6).with_columns(run=pl.lit("m")),
            samples(noisy(24, drift=0.4)).with_columns(run=pl.lit("a")),
        ]
    )
    got = steady.steadiness(frame, "iops", ["run"]).collect()
    assert got.select("run", "samples", "verdict").rows() == [
        ("z", 24, "steady"),
        ("m", 0, "too few samples"),
        ("a", 24, "drifts up"),
    ]


def test_limits_are_the_callers_and_have_to_be_limits():
    drifting = noisy(60, drift=0.05, noise=0.002)
    assert verdict(drifting) == "steady"
    assert verdict(drifting, drift_pct=2.0) == "drifts up"
    with pytest.raises(EsxparseError, match="drift_pct must be above 0"):
        verdict(drifting, drift_pct=0.0)
    with pytest.raises(EsxparseError, match="no column 'mbps'"):
        steady.steadiness(samples(drifting), "mbps")


def test_a_run_that_stands_still_is_seldom_called_drifting():
    wrong = [verdict(noisy(48, noise=0.05, seed=seed)).startswith("drifts") for seed in range(100)]
    assert sum(wrong) <= 3
