"""Ratios to a baseline: repetitions, ranges, intervals and verdicts; and how often the intervals hold the truth."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import _series, interval, ratio

NATIVE = [100.0, 101.0, 99.0, 100.5, 99.5]
VM = [98.0, 99.0, 97.0, 98.5, 97.5]
NEAR = [99.8, 101.2, 98.9, 100.9, 99.4]


def runs():
    values = {"native": NATIVE, "vm": VM, "near": NEAR, "once": [90.0]}
    rows = [{"platform": name, "ops": value} for name, some in values.items() for value in some]
    return pl.LazyFrame(rows)


def by_platform(**options):
    found = ratio.ratios(runs(), "ops", ["platform"], {"platform": "native"}, **options).collect()
    return {row["platform"]: row for row in found.to_dicts()}


def test_ratio_of_means_with_the_published_error_bars_and_a_verdict():
    got = by_platform()
    assert list(got) == ["native", "vm", "near", "once"]
    vm = got["vm"]
    assert (vm["runs"], vm["mean"], vm["baseline_runs"], vm["baseline_mean"]) == (5, 98.0, 5, 100.0)
    assert (vm["ratio"], vm["ratio_min"], vm["ratio_max"]) == (0.98, 0.97, 0.99)
    assert vm["change_pct"] == pytest.approx(-2.0)
    assert vm["verdict"] == "lower"
    assert vm["gap"] is None
    assert got["near"]["verdict"] == "no difference shown"
    assert got["near"]["ratio_low"] < 1 < got["near"]["ratio_high"]
    assert (vm["quantity"], vm["baseline"]) == ("ops", "platform=native")


def test_the_baseline_is_no_finding_about_itself():
    native = by_platform()["native"]
    assert native["is_baseline"]
    assert (native["ratio"], native["ratio_min"], native["ratio_max"]) == (1.0, 0.99, 1.01)
    assert (native["ratio_low"], native["verdict"], native["gap"]) == (None, None, None)


def test_the_bootstrap_is_seeded_and_asked_for():
    one, again = by_platform(method="bootstrap", seed=7), by_platform(method="bootstrap", seed=7)
    assert one == again
    irregular = [97.123, 98.271, 99.037, 96.655], [100.331, 99.412, 101.977, 100.128]
    seven, eight = (interval.bootstrap(*irregular, seed=seed) for seed in (7, 8))
    assert (seven.low, seven.high) != (eight.low, eight.high)
    assert one["vm"]["verdict"] == "lower"
    assert one["once"]["gap"].startswith("1 repetition")


def test_each_configuration_is_divided_by_the_baseline_that_shares_its_labels():
    frame = pl.LazyFrame(
        {
            "filter": ["default", "default", "null", "null", "null"],
            "vms": [1, 16, 1, 16, 32],
            "iops": [40_000.0, 70_000.0, 72_000.0, 70_000.0, 70_500.0],
        }
    )
    got = ratio.ratios(frame, "iops", ["filter", "vms"], {"filter": "default"}).collect()
    assert got.filter(pl.col("filter") == "null")["ratio"].to_list() == [1.8, 1.0, None]
    assert got["gap"][4] == "no baseline run with these labels"
    whole = ratio.ratios(frame, "iops", ["filter", "vms"], {"filter": "default", "vms": 1}, within=[]).collect()
    assert whole["ratio"].to_list() == pytest.approx([1.0, 1.75, 1.8, 1.75, 1.7625])


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (("ops", ["host"], {"host": 1}), {}, "no column 'host'"),
        (("ops", ["platform"], {}), {}, "must name one or more of the labels"),
        (("ops", ["platform"], {"ops": 1}), {}, "must name one or more of the labels"),
        (("ops", ["platform"], {"platform": "vm"}), {"within": ["platform"]}, "`within` must name"),
        (("ops", ["platform"], {"platform": "vm"}), {"confidence": 95}, "confidence must lie between 0 and 1"),
        (("ops", ["platform"], {"platform": "vm"}), {"method": "delta"}, "unknown interval 'delta'"),
    ],
)
def test_a_question_without_an_answer_is_refused_before_anything_is_read(arguments, options, says):
    with pytest.raises(EsxparseError, match=says):
        ratio.ratios(runs(), *arguments, **options)
    with pytest.raises(EsxparseError, match="clashes with a result column"):
        ratio.ratios(runs().rename({"platform": "mean"}), "ops", ["mean"], {"mean": "vm"})


def test_runs_without_a_number_and_baselines_of_zero_leave_gaps():
    frame = pl.LazyFrame(
        {
            "test": ["a", "a", "a", "b", "b", "b", "b"],
            "kind": ["old", "new", "new", "old", "old", "new", "new"],
            "value": [0.0, 1.0, 2.0, None, math.nan, 1.0, 2.0],
        }
    )
    got = ratio.ratios(frame, "value", ["test", "kind"], {"kind": "old"}).collect()
    gaps = dict(got.select(pl.concat_str("test", "kind"), "gap").rows())
    assert gaps == {
        "aold": "the baseline's mean is 0: no ratio to it, compare the difference",
        "anew": "the baseline's mean is 0: no ratio to it, compare the difference",
        "bold": "no run has a number",
        "bnew": "no run of the baseline has a number",
    }
    assert got["ratio"].null_count() == 4


def test_a_baseline_that_cannot_be_told_from_zero_has_no_interval():
    wild = [1.0, 100.0, 1.5]
    with pytest.raises(EsxparseError, match="scatters too much"):
        interval.fieller([50.0, 51.0, 52.0], wild)
    frame = pl.LazyFrame({"kind": ["old"] * 3 + ["new"] * 3, "value": [*wild, 50.0, 51.0, 52.0]})
    got = ratio.ratios(frame, "value", ["kind"], {"kind": "old"}).collect()
    assert got["gap"][1].startswith("the baseline varies too much")
    assert (got["ratio_low"][1], got["verdict"][1]) == (None, "no difference shown")
    with pytest.raises(EsxparseError, match="scatters too much"):
        interval.bootstrap([1.0, 2.0, 3.0], [0.0, 0.0, 1.0])


def test_two_repetitions_that_scatter_ask_for_more():
    frame = pl.LazyFrame({"kind": ["old"] * 2 + ["new"] * 2, "value": [10.0, 13.0, 50.0, 51.0]})
    got = ratio.ratios(frame, "value", ["kind"], {"kind": "old"}).collect().row(1, named=True)
    assert (got["ratio_low"], got["gap"]) == (None, "2 repetitions are too few for this interval: repeat the runs")


@pytest.mark.parametrize(("find", "fewest"), [(interval.fieller, 2), (interval.bootstrap, 3)])
def test_intervals_refuse_too_little(find, fewest):
    with pytest.raises(EsxparseError, match=rf"the configuration has \d repetitions?: an interval needs {fewest} or"):
        find([1.0] * (fewest - 1), NATIVE)
    assert find([100.0] * fewest, NATIVE).verdict == "no difference shown"
    with pytest.raises(EsxparseError, match="the baseline has 0 repetitions"):
        find(NATIVE, [])
    for below in (0.0, -10.7):
        with pytest.raises(EsxparseError, match=f"baseline's mean is {below:g}: a ratio needs a baseline above 0"):
            find(NATIVE, [below] * 3)
    with pytest.raises(EsxparseError, match="without a value"):
        find(NATIVE, [1.0, math.nan])


@pytest.mark.parametrize("find", [interval.fieller, interval.bootstrap])
def test_what_was_printed_is_known_to_half_a_unit_of_its_last_digit(find):
    """9.39 may have been 9.395 and 9.40 the same; 9.38 may not."""
    near, far = find([9.39] * 3, [9.40] * 3), find([9.38] * 3, [9.40] * 3)
    assert (near.low, near.high) == (pytest.approx(9.385 / 9.405), pytest.approx(9.395 / 9.395))
    assert (far.low, far.high) == (pytest.approx(9.375 / 9.405), pytest.approx(9.385 / 9.395))
    assert (near.verdict, far.verdict) == ("no difference shown", "lower")
    assert find([9.41] * 3, [9.40] * 3).verdict == "no difference shown"
    assert find([9.42] * 3, [9.40] * 3).verdict == "higher"


@pytest.mark.parametrize("find", [interval.fieller, interval.bootstrap])
def test_the_resolution_can_be_said(find):
    """9.30 and 9.40 look like one decimal; a program that printed two knows more."""
    assert find([9.3] * 3, [9.4] * 3).verdict == "no difference shown"
    fine = find([9.3] * 3, [9.4] * 3, resolution=0.01)
    assert (fine.low, fine.high) == (pytest.approx(9.295 / 9.405), pytest.approx(9.305 / 9.395))
    exact = find([9.3] * 3, [9.4] * 3, resolution=0.0)
    assert (exact.low, exact.high) == (pytest.approx(9.3 / 9.4),) * 2
    for wrong in (-0.01, math.nan, math.inf):
        with pytest.raises(EsxparseError, match="resolution must be the unit of the last printed digit"):
            find([9.3] * 3, [9.4] * 3, resolution=wrong)


@pytest.mark.parametrize("find", [interval.fieller, interval.bootstrap])
def test_a_baseline_that_rounding_can_make_zero_has_no_interval(find):
    assert find([0.05] * 3, [0.02] * 3).verdict == "higher"
    with pytest.raises(EsxparseError, match="indistinguishable from 0"):
        find([0.05] * 3, [0.02] * 3, resolution=0.05)
    with pytest.raises(EsxparseError, match="indistinguishable from 0"):
        find([5.0] * 3, [1.0] * 3, resolution=2.0)


def test_the_half_unit_is_added_to_what_repetitions_scatter():
    values, baseline = [98.0, 99.0, 97.0], [100.0, 101.0, 99.0]
    printed, exact = interval.fieller(values, baseline), interval.fieller(values, baseline, resolution=0)
    assert (printed.low, printed.high) == (
        pytest.approx(interval.fieller([97.5, 98.5, 96.5], [100.5, 101.5, 99.5], resolution=0).low),
        pytest.approx(interval.fieller([98.5, 99.5, 97.5], [99.5, 100.5, 98.5], resolution=0).high),
    )
    assert printed.low < exact.low < exact.high < printed.high


def test_below_zero_the_interval_widens_too():
    found = interval.fieller([-9.39] * 3, [9.40] * 3)
    assert (found.low, found.high) == (pytest.approx(-9.395 / 9.395), pytest.approx(-9.385 / 9.405))


@pytest.mark.parametrize(
    ("values", "half"),
    [
        ([9.4, 9.39], 0.005),
        ([9.4, None, math.nan, math.inf], 0.05),
        ([9400.0, 12.0], 0.5),
        ([0.1 + 0.2, 0.3], 0.05),
        ([sum([9.4] * 5) / 5], 0.05),
        ([1 / 3, 2.0], 0.0),
        ([1234567.25], 0.005),
        ([-0.001], 0.0005),
        ([0.0], 0.5),
        ([1e-10], 5e-11),
        ([1e-11], 0.0),
    ],
)
def test_decimals_tell_how_values_were_printed(values, half):
    numbers = np.array(values, dtype=float)
    assert _series.half_unit(numbers) == half
    assert pl.DataFrame({"a": numbers}).select(_series.half_unit_of(pl.col("a"))).item() == half


def test_each_configuration_is_as_fine_as_its_values_or_as_a_column_says():
    rows = {"new": 9.39, "newer": 9.3899, "old": 9.40}
    frame = pl.LazyFrame([{"kind": kind, "gbps": value} for kind, value in rows.items() for _ in range(3)])

    def verdicts(table, **options):
        found = ratio.ratios(table, "gbps", ["kind"], {"kind": "old"}, **options).collect()
        return dict(found.select("kind", "verdict").iter_rows())

    assert verdicts(frame) == {"new": "no difference shown", "newer": "lower", "old": None}
    assert verdicts(frame, method="bootstrap") == verdicts(frame)
    said = frame.with_columns(
        unit=pl.when(pl.col("kind") == "new").then(0.001).when(pl.col("kind") == "old").then(0.001)
    )
    assert verdicts(said, resolution="unit") == {"new": "lower", "newer": "lower", "old": None}
    with pytest.raises(EsxparseError, match="no column 'units'"):
        ratio.ratios(frame, "gbps", ["kind"], {"kind": "old"}, resolution="units")


@pytest.mark.parametrize("value", [9.4, 0.1, 1 / 3, 7.7])
@pytest.mark.parametrize("counts", [(3, 5), (7, 3), (10, 6)])
def test_the_last_digit_of_a_mean_is_no_difference(value, counts):
    one, other = ([value] * count for count in counts)
    assert interval.fieller(one, other).verdict == "no difference shown"
    frame = pl.LazyFrame(
        [{"kind": kind, "value": value} for kind, some in (("old", other), ("new", one)) for value in some]
    )
    assert ratio.ratios(frame, "value", ["kind"], {"kind": "old"}).collect()["verdict"][1] == "no difference shown"


SAMPLE = st.lists(st.floats(min_value=90, max_value=110), min_size=3, max_size=12)


@given(values=SAMPLE, baseline=SAMPLE)
def test_fieller_holds_the_ratio_and_turns_over_with_it(values, baseline):
    found = interval.fieller(values, baseline)
    turned = interval.fieller(baseline, values)
    slack = 1e-9
    assert found.low - slack <= found.ratio <= found.high + slack
    assert found.low * turned.high == pytest.approx(1.0, rel=1e-6)
    assert found.high * turned.low == pytest.approx(1.0, rel=1e-6)


@given(values=SAMPLE, baseline=SAMPLE, scale=st.floats(min_value=1e-6, max_value=1e6))
def test_a_change_of_unit_changes_no_ratio(values, baseline, scale):
    one = interval.fieller(values, baseline)
    unit = 2 * _series.half_unit(np.array([*values, *baseline]))
    scaled = ([value * scale for value in side] for side in (values, baseline))
    other = interval.fieller(*scaled, resolution=unit * scale)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-6)


@pytest.mark.parametrize("shape", ["normal", "log-normal"])
@pytest.mark.parametrize("noise", [(0.03, 0.03), (0.05, 0.01), (0.01, 0.05)])
@pytest.mark.parametrize("repetitions", [(3, 3), (5, 5), (10, 10), (3, 10), (10, 3)])
def test_monte_carlo_95_percent_intervals_hold_the_truth_in_93_to_97_percent(repetitions, noise, shape):
    random = np.random.default_rng(11)
    sides = []
    for mean, spread, runs_of_one in zip((90.0, 100.0), noise, repetitions, strict=True):
        sigma = math.sqrt(math.log1p(spread**2))
        size = (20_000, runs_of_one)
        if shape == "normal":
            sides.append(random.normal(mean, mean * spread, size))
        else:
            sides.append(mean * np.exp(random.normal(-(sigma**2) / 2, sigma, size)))
    facts = [
        fact
        for side in sides
        for fact in (side.mean(axis=1), side.var(axis=1, ddof=1), np.full(len(side), side.shape[1]))
    ]
    low, high = interval.fieller_bounds(*facts)
    assert 0.93 <= ((low <= 0.9) & (high >= 0.9)).mean() <= 0.97


def test_the_plain_bootstrap_covers_too_little_with_three_repetitions():
    random = np.random.default_rng(3)
    studies = random.normal(100.0, 3.0, (400, 2, 3))
    found = [interval.bootstrap(list(y), list(x), resamples=400) for y, x in studies]
    assert 0.70 < sum(one.low <= 1 <= one.high for one in found) / len(found) < 0.88


def results():
    rows = []
    figures = {
        ("netperf", "TCP_STREAM", "throughput", "Mbit/s", True): {"native": [9400.0] * 3, "vm": [9400.0] * 3},
        ("netperf", "TCP_RR", "latency_mean", "us", False): {"native": [29.0, 30.0, 31.0], "vm": [44.0, 45.0, 46.0]},
        ("redis", "SET", "throughput", "ops/s", True): {"native": NATIVE, "vm": VM},
        ("fio", "read", "amount", "MiB", None): {"native": [10.0, 11.0], "vm": [20.0, 21.0]},
    }
    for (benchmark, test, metric, unit, better), platforms in figures.items():
        for platform, values in platforms.items():
            for place, value in enumerate(values, 1):
                rows.append(
                    {
                        "benchmark": benchmark,
                        "test": test,
                        "configuration": "",
                        "repetition": place,
                        "metric": metric,
                        "value": value,
                        "unit": unit,
                        "higher_is_better": better,
                        "valid": True,
                        "platform": platform,
                    }
                )
    return pl.DataFrame(rows)


def vm_of(frame, test):
    found = ratio.virtual_to_native(frame.lazy()).collect()
    return found.filter((pl.col("test") == test) & (pl.col("platform") == "vm")).row(0, named=True)


def test_lower_is_better_is_turned_over():
    latency = vm_of(results(), "TCP_RR")
    assert (latency["ratio"], latency["performance"], latency["unit"]) == (1.5, pytest.approx(2 / 3), "us")
    assert latency["performance_min"] == pytest.approx(30 / 46)
    assert latency["performance_low"] < 2 / 3 < latency["performance_high"] < 1
    assert latency["verdict"] == "worse"
    throughput = vm_of(results(), "SET")
    assert (throughput["performance"], throughput["verdict"]) == (0.98, "worse")
    assert (vm_of(results(), "TCP_STREAM")["performance"], vm_of(results(), "TCP_STREAM")["verdict"]) == (
        1.0,
        "no difference shown",
    )


def test_a_tie_in_the_last_digit_printed_is_neither_better_nor_worse():
    rows = [{"platform": place, "value": value} for place, value in (("native", 9.40), ("vm", 9.39)) for _ in range(3)]
    facts = {"benchmark": "netperf", "test": "TCP_STREAM", "configuration": "", "metric": "throughput"}
    table = pl.LazyFrame(rows).with_columns(
        *(pl.lit(value).alias(name) for name, value in facts.items()), unit=pl.lit("Gbit/s"), higher_is_better=True
    )
    assert ratio.virtual_to_native(table).collect()["verdict"].to_list() == [None, "no difference shown"]
    fine = ratio.virtual_to_native(table.with_columns(resolution=0.001)).collect()
    assert fine["verdict"].to_list() == [None, "worse"]


def test_what_is_neither_better_nor_worse_has_a_ratio_only():
    amount = vm_of(results(), "read")
    assert amount["ratio"] == pytest.approx(20.5 / 10.5)
    assert (amount["performance"], amount["verdict"], amount["gap"]) == (None, None, None)


def test_a_single_virtual_run_is_no_verdict():
    once = results().filter((pl.col("platform") == "native") | (pl.col("repetition") == 1))
    got = vm_of(once, "TCP_RR")
    assert (got["performance"], got["verdict"]) == (pytest.approx(30 / 44), None)
    assert got["gap"].startswith("1 repetition")


def test_units_that_differ_are_not_divided():
    mixed = results().with_columns(
        pl.when((pl.col("test") == "SET") & (pl.col("platform") == "vm"))
        .then(pl.lit("MiB/s"))
        .otherwise("unit")
        .alias("unit")
    )
    got = vm_of(mixed, "SET")
    assert got["gap"] == "units differ: ops/s, MiB/s"
    assert (got["ratio"], got["performance"], got["unit"], got["verdict"]) == (None, None, None, None)
    assert vm_of(mixed, "TCP_RR")["ratio"] == 1.5


def test_runs_that_failed_their_own_check_are_left_out_and_counted():
    failed = results().with_columns(valid=(pl.col("value") != 97.0))
    got = vm_of(failed, "SET")
    assert (got["runs"], got["invalid_runs"], got["mean"]) == (4, 1, 98.25)
    unchecked = results().drop("valid")
    assert vm_of(unchecked, "SET")["invalid_runs"] == 0


def test_geometric_mean_over_tests():
    table = ratio.virtual_to_native(results().lazy())
    got = ratio.geometric_means(table, "platform").collect()
    vm = got.filter(pl.col("platform") == "vm").row(0, named=True)
    assert (vm["tests"], vm["left_out"]) == (3, 1)
    assert vm["geometric_mean"] == pytest.approx((1.0 * 2 / 3 * 0.98) ** (1 / 3))
    empty = ratio.geometric_means(pl.LazyFrame({"platform": ["vm"], "performance": [None]}), ["platform"])
    assert empty.collect().rows() == [("vm", 0, 1, None)]


@given(st.lists(st.floats(min_value=0.01, max_value=100), min_size=1, max_size=20))
def test_the_geometric_mean_does_not_care_which_side_is_the_baseline(values):
    assert ratio.geometric_mean(values) * ratio.geometric_mean([1 / value for value in values]) == pytest.approx(1.0)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -1.0], [math.nan]])
def test_no_geometric_mean_of_what_is_not_above_zero(values):
    with pytest.raises(EsxparseError, match="geometric mean needs ratios above 0"):
        ratio.geometric_mean(values)


def test_scalars_refuse_zero():
    for call in (
        lambda: ratio.percent_change(1.0, 0.0),
        lambda: ratio.performance(1.0, 0.0, higher_is_better=True),
        lambda: ratio.performance(0.0, 1.0, higher_is_better=False),
    ):
        with pytest.raises(EsxparseError, match="a ratio to 0 has no meaning"):
            call()


def test_confidence_and_seed_are_handed_on_and_null_labels_have_their_counts():
    table = results().filter(test="SET").lazy()

    def bounds(**options):
        found = ratio.virtual_to_native(table, **options).collect().filter(platform="vm")
        return found.select("performance_low", "performance_high").row(0)

    wide, narrow = bounds(), bounds(confidence=0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    drawn = [bounds(method="bootstrap", seed=seed) for seed in (0, 1, 1)]
    assert drawn[0] != drawn[1] == drawn[2]
    nowhere = results().with_columns(configuration=pl.lit(None, pl.String), valid=pl.col("value") != 97.0)
    assert vm_of(nowhere, "SET")["invalid_runs"] == 1
    better = results().with_columns(pl.when(platform="vm", test="SET").then(200.0).otherwise("value").alias("value"))
    assert (vm_of(better, "SET")["verdict"], vm_of(better, "SET")["performance"]) == ("better", 2.0)


def test_messages_name_what_can_be_compared_measurements_first():
    runs = pl.LazyFrame({"host": ["a"], "count": [1], "ms": [1.5], "name": ["x"]})
    with pytest.raises(EsxparseError, match=r"name is not numeric and cannot be compared; numeric columns: ms, count$"):
        ratio.ratios(runs, "name", ["host"], {"host": "a"})
    with pytest.raises(EsxparseError, match=r"must name one or more of the labels host, not none$"):
        ratio.ratios(runs, "ms", ["host"], {})
