"""Scaling: the line of the smallest point, where a sweep leaves it, peak load, and the universal scalability law."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import scalability_law, scaling


def sweep(**columns):
    return pl.LazyFrame(columns)


def test_efficiency_against_the_smallest_point_in_any_order():
    got = scaling.efficiency(sweep(vms=[4, 1, 2, 8], iops=[360.0, 100.0, 200.0, None]), "vms", "iops").collect()
    assert got["vms"].to_list() == [4, 1, 2, 8]
    assert got["linear"].to_list() == [400.0, 100.0, 200.0, 800.0]
    assert got["efficiency"].to_list() == [0.9, 1.0, 1.0, None]
    assert got["speedup"].to_list() == [3.6, 1.0, 2.0, None]
    assert got["per_unit"].to_list() == [90.0, 100.0, 100.0, None]


def test_repetitions_are_compared_with_the_mean_of_the_smallest_point():
    got = scaling.efficiency(sweep(vms=[2, 2, 4], iops=[190.0, 210.0, 400.0]), "vms", "iops").collect()
    assert got["efficiency"].to_list() == pytest.approx([0.95, 1.05, 1.0])


def test_sweeps_are_told_apart():
    frame = sweep(mode=["a", "a", "b", "b"], hosts=[1, 2, 2, 4], mbps=[10.0, 20.0, 50.0, 50.0])
    got = scaling.efficiency(frame, "hosts", "mbps", ["mode"]).collect()
    assert got["efficiency"].to_list() == [1.0, 1.0, 1.0, 0.5]


@pytest.mark.parametrize(
    "find",
    [
        lambda frame, *by: scaling.efficiency(frame, "hosts", "mbps", by),
        lambda frame, *by: scaling.leaves_linear(frame, "hosts", "mbps", by),
        lambda frame, *by: scaling.peak_load(frame, "hosts", {"rate": pl.col("mbps") > 5}, by),
    ],
    ids=["efficiency", "leaves_linear", "peak_load"],
)
def test_no_label_has_the_name_of_a_result(find):
    frame = sweep(hosts=[1, 2], mbps=[10.0, 20.0])
    for name in set(find(frame).collect_schema()) - {"hosts", "mbps"}:
        with pytest.raises(EsxparseError, match=f"the column '{name}' clashes with a result column"):
            find(frame.with_columns(pl.lit("a").alias(name)), name)


@pytest.mark.parametrize("smallest", [0.0, None])
def test_a_smallest_point_without_throughput_gives_no_infinity(smallest):
    got = scaling.efficiency(sweep(vms=[1, 2, 4], iops=[smallest, 100.0, 200.0]), "vms", "iops").collect()
    if smallest is None:
        assert got["efficiency"].to_list() == [None, 1.0, 1.0]
    else:
        assert got["efficiency"].null_count() == 3


def test_where_it_leaves_linear():
    frame = sweep(
        mode=["a"] * 4 + ["b"] * 3 + ["c"],
        n=[1, 2, 4, 8, 1, 2, 4, 1],
        y=[10.0, 20.0, 30.0, 76.1, 10.0, 19.6, 38.2, 10.0],
    )
    got = scaling.leaves_linear(frame, "n", "y", ["mode"]).collect()
    assert got.select("mode", "points", "linear_up_to", "leaves_at").rows() == [
        # Back on the line at 8: it has left it at 4 all the same.
        ("a", 4, 2, 4),
        ("b", 3, 4, None),
        ("c", 1, 1, None),
    ]
    assert got["efficiency_there"].to_list() == [0.75, None, None]
    assert got["efficiency_last"].to_list() == pytest.approx([0.95125, 0.955, 1.0])
    strict = scaling.leaves_linear(frame, "n", "y", ["mode"], tolerance_pct=1).collect()
    assert strict["leaves_at"].to_list() == [4, 2, None]


@pytest.mark.parametrize("tolerance", [-1, 100, math.nan])
def test_a_tolerance_that_is_none(tolerance):
    with pytest.raises(EsxparseError, match="tolerance must be"):
        scaling.leaves_linear(sweep(n=[1], y=[1.0]), "n", "y", tolerance_pct=tolerance)


def test_columns_that_are_not_there():
    with pytest.raises(EsxparseError, match="no column 'hosts': the table has n, y"):
        scaling.efficiency(sweep(n=[1], y=[1.0]), "hosts", "y")
    with pytest.raises(EsxparseError, match="no column 'hosts'"):
        scalability_law.fits(sweep(n=[1], y=[1.0]), "n", "y", ["hosts"])


def qos():
    return pl.LazyFrame(
        {
            "users": [100, 100, 200, 200, 300, 300, 400, 400],
            "operation": ["login", "bid"] * 4,
            "p99_ms": [50.0, 20.0, 80.0, 30.0, 90.0, None, 240.0, 90.0],
            "limit_ms": [100.0, 50.0] * 4,
            "mix_pct": [50.0, 50.0, 51.0, 49.0, 50.0, 50.0, 60.0, 40.0],
        }
    )


RULES = {
    "p99": pl.col("p99_ms") <= pl.col("limit_ms"),
    "mix of operations": pl.col("mix_pct").is_between(45, 55),
}


def test_peak_load_meets_every_rule_for_every_operation():
    got = scaling.peak_load(qos(), "users", RULES).collect()
    # At 300 one operation has no measurement: whether it would have passed nobody knows.
    assert got.rows() == [(4, 200, 400, "p99, mix of operations", 0, 1)]
    later = scaling.peak_load(qos().filter(pl.col("users") != 300), "users", RULES).collect()
    assert later.row(0) == (3, 200, 400, "p99, mix of operations", 0, 0)
    assert scaling.peak_load(qos().filter(pl.col("users") < 300), "users", RULES).collect().row(0) == (
        2,
        200,
        None,
        None,
        0,
        0,
    )


@pytest.mark.parametrize("nothing", [None, math.nan])
def test_a_load_of_which_nothing_is_known_neither_passes_nor_fails(nothing):
    frame = pl.LazyFrame({"users": [1, 2, 3, 4], "busy": [60.0, 70.0, nothing, 40.0]})
    rules = {"busy": pl.col("busy") >= 50}
    # NaN is above every number to polars, and would have met the rule.
    assert scaling.peak_load(frame, "users", rules).collect().rows() == [(4, 2, 4, "busy", 0, 1)]
    both = rules | {"few": pl.col("users") < 3}
    assert scaling.peak_load(frame, "users", both).collect().rows() == [(4, 2, 3, "few", 0, 0)]


def test_a_point_leaves_the_line_only_where_no_rounding_explains_it():
    """1.0 may have been 0.95, and twice that is 1.9."""
    rows = scaling.efficiency(sweep(units=[1, 2], value=[1.0, 1.8]), "units", "value").collect()
    assert rows["efficiency"].to_list() == [1.0, 0.9]
    assert rows["efficiency_low"][1] == pytest.approx(1.75 / 2.1)
    assert rows["efficiency_high"][1] == pytest.approx(1.85 / 1.9)
    left = {
        value: scaling.leaves_linear(sweep(units=[1, 2], value=[1.0, value]), "units", "value") for value in (1.8, 1.7)
    }
    assert [one.collect()["leaves_at"].item() for one in left.values()] == [None, 2]
    # With two decimals printed the same point is below the line.
    fine = sweep(units=[1, 2, 4], value=[1.0, 1.8, 3.99])
    assert scaling.leaves_linear(fine, "units", "value").collect()["leaves_at"].item() == 2


def test_peak_load_per_configuration_with_doubts_said():
    frame = sweep(servers=[1, 1, 1, 2, 2], users=[100, 200, 300, 100, 200], p95_ms=[50.0, 150.0, 90.0, 101.0, 500.0])
    got = scaling.peak_load(frame, "users", {"p95": pl.col("p95_ms") <= 100}, ["servers"]).collect()
    assert got.rows() == [(1, 3, 300, None, None, 1, 0), (2, 2, None, 100, "p95", 0, 0)]
    with pytest.raises(EsxparseError, match="needs a rule"):
        scaling.peak_load(frame, "users", {})


def test_generation_ratio_at_equal_units():
    frame = sweep(release=["5.5", "6.0", "5.5", "6.0"], vcpus=[32, 32, 64, 64], opm=[100.0, 110.0, 180.0, 207.0])
    got = scaling.generation_ratio(frame, "opm", "release", "5.5", ["vcpus"]).collect()
    assert got.filter(release="6.0")["ratio"].to_list() == pytest.approx([1.1, 1.15])


@pytest.mark.parametrize("numbers", [(0, 1, 1, 1), (2, 1, 0, 1), (2, 1, 1, 0), (2, 1, 1, math.nan)])
def test_no_scale_up_from_nothing(numbers):
    with pytest.raises(EsxparseError, match="of a scale-up must be a number above 0"):
        scaling.scale_up_efficiency(*numbers)
    # Half a host is something: (0.9 / 0.6) / (0.5 / 0.25)
    assert scaling.scale_up_efficiency(0.5, 0.9, 0.25, 0.6) == pytest.approx(0.75)


UNITS = [1, 2, 4, 8, 16, 24, 32, 48]


def law(units, rate, contention, coherency):
    return [rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)) for n in units]


# scipy is slow to import, once.
@settings(deadline=None)
@given(
    rate=st.floats(min_value=0.01, max_value=1e6),
    contention=st.floats(min_value=0.001, max_value=0.3),
    coherency=st.floats(min_value=1e-4, max_value=0.01),
)
def test_a_sweep_that_follows_the_law_gives_it_back(rate, contention, coherency):
    found = scalability_law.fit(UNITS, law(UNITS, rate, contention, coherency))
    assert found.rate == pytest.approx(rate, rel=1e-3)
    assert found.contention == pytest.approx(contention, rel=1e-2, abs=1e-4)
    assert found.coherency == pytest.approx(coherency, rel=1e-2, abs=1e-6)
    peak = math.sqrt((1 - contention) / coherency)
    assert found.verdict == ("peaks" if found.peak_units else "no peak within the data")
    if abs(peak / UNITS[-1] - 1) > 0.02:
        assert found.peak_units == (pytest.approx(peak, rel=1e-2) if peak < UNITS[-1] else None)
    assert found.r_squared == pytest.approx(1.0)
    assert found.value(8) == pytest.approx(law([8], rate, contention, coherency)[0], rel=1e-4)


def test_intervals_hold_the_law_behind_the_noise_and_say_how_sure_it_is():
    random = np.random.default_rng(5)
    held = 0
    for _ in range(200):
        noisy = [
            value * factor
            for value, factor in zip(law(UNITS, 1000, 0.03, 0.001), random.normal(1, 0.02, 8), strict=True)
        ]
        low, high = scalability_law.fit(UNITS, noisy).contention_interval
        held += low <= 0.03 <= high
    # Least squares weighs large values, whose noise is larger here: approximate, and said to be.
    assert 0.85 <= held / 200 <= 0.99


def test_linear_scaling_has_no_peak():
    found = scalability_law.fit(UNITS, [10.0 * n for n in UNITS])
    assert found.rate == pytest.approx(10.0, rel=1e-6)
    assert (found.peak_units, found.peak_value) == (None, None)
    assert found.contention == pytest.approx(0, abs=1e-6)
    assert found.warnings == ()


def test_few_points_and_far_peaks_are_warned_of():
    few = scalability_law.fit([1, 2, 4], law([1, 2, 4], 100, 0.05, 0.001))
    assert few.points == 3
    assert few.contention_interval == (0.0, math.inf)
    assert few.warnings[0] == "only 3 different numbers of units: 6 or more are advised"
    assert "its error is unknown" in few.warnings[1]
    assert "beyond the largest measured, 4: an extrapolation" in few.warnings[2]


def test_a_peak_inside_the_noise_is_not_shown():
    random = np.random.default_rng(1)
    noisy = [n / (1 + 0.2 * (n - 1)) * factor for n, factor in zip(UNITS, random.normal(1, 0.08, 8), strict=True)]
    found = scalability_law.fit(UNITS, noisy)
    assert found.coherency_interval[0] == 0
    assert found.peak_units is None or found.warnings


@pytest.mark.parametrize(
    ("units", "values", "says"),
    [
        ([1, 2], [1.0, 2.0], "2 different numbers of units"),
        ([1, 1, 2, 2], [1.0] * 4, "2 different numbers of units"),
        ([1, 2, 3], [1.0, 0.0, 2.0], "above 0"),
        ([1, 2, 3], [1.0, math.nan, 2.0], "above 0"),
        ([1, 2, 3], [1.0, 2.0], "3 numbers of units, 2 values"),
        ([], [], "0 different numbers"),
    ],
)
def test_what_cannot_be_fitted(units, values, says):
    with pytest.raises(EsxparseError, match=says):
        scalability_law.fit(units, values)


def test_fits_of_a_table_say_where_there_is_none():
    good = law(UNITS, 100, 0.05, 0.001)
    frame = sweep(mode=["a"] * 8 + ["b"] * 3, n=[*UNITS, 1, 2, 4], y=[*good, 1.0, 0.0, 3.0])
    got = scalability_law.fits(frame, "n", "y", ["mode"]).collect()
    assert got["mode"].to_list() == ["a", "b"]
    assert got["contention"].to_list() == [pytest.approx(0.05, rel=1e-3), None]
    assert got["points"].to_list() == [8, 2]
    assert got["gap"][0] is None
    assert got["gap"][1].startswith("2 different numbers of units")
    assert scalability_law.fits(frame.filter(mode="a"), "n", "y").collect().height == 1


def test_a_rule_that_is_none_says_so():
    frame = sweep(users=[100], p95_ms=[50.0])
    with pytest.raises(
        EsxparseError, match=r"the rule 'p95' must be true or false for each row, such as .* is, not 3$"
    ):
        scaling.peak_load(frame, "users", {"p95": 3})
    with pytest.raises(EsxparseError, match=r"the rule 'p95' must be true or false for each row"):
        scaling.peak_load(frame, "users", {"p95": pl.col("p95_ms")})
    with pytest.raises(EsxparseError, match=r"the rule 'p95' does not fit the table: .*p99"):
        scaling.peak_load(frame, "users", {"p95": pl.col("p99_ms") < 1})


def test_a_tolerance_of_nothing_is_one():
    frame = sweep(n=[1, 2, 4], y=[100.0, 199.0, 390.0])
    assert scaling.leaves_linear(frame, "n", "y", tolerance_pct=0).collect()["leaves_at"].item() is not None
    assert scaling.leaves_linear(frame, "n", "y", tolerance_pct=3).collect()["leaves_at"].item() is None
