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
from esxparse.metrics import _series, steady
from esxparse.metrics._series import half_unit

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
        (0, 0, None, f"^it starts and ends at {START:%H:%M:%S}: it has one sample"),
        (60, 1e300, None, "^the recording is 60 s long, too short for 1e[+]300 s of warm-up: record longer"),
        (60, 0, 1e300, "^the recording is 60 s long, too short for 0 s of warm-up and 1e[+]300 s measured"),
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
    away = np.median(np.abs(np.array(values) - np.median(values)))
    # Where most values are the same, how many decimals they have decides.
    if max(values) - min(values) > 1e-3 * max(values) and away > half_unit(np.array(values)):
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


def autocorrelated(count, phi, runs, seed=7):
    """Series of AR(1): each value is phi of the one before, and noise of its own."""
    random = np.random.default_rng(seed)
    noise = random.normal(size=(runs, count))
    found = np.empty_like(noise)
    found[:, 0] = noise[:, 0] / math.sqrt(1 - phi**2)
    for place in range(1, count):
        found[:, place] = phi * found[:, place - 1] + noise[:, place]
    return found


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.5, 0.7, 0.9, 0.95])
@pytest.mark.parametrize("count", [5, 12, 24, 60, 240])
def test_the_interval_of_the_drift_holds_it_in_91_to_99_percent_however_alike_neighbours_are(count, phi):
    seconds = np.arange(count) * 5.0
    lines = [_series.trend(seconds, 100 + series) for series in autocorrelated(count, phi, 1500)]
    held = np.mean([abs(line.change) <= line.reach for line in lines])
    # Of 1,500 series, the share is within 1.1 points of the truth in 95 of 100 cases.
    assert (0.90 if count == 5 else 0.915) <= held <= 0.995


def test_samples_that_resemble_each_other_tell_less():
    seconds = np.arange(60) * 5.0

    def typical(phi):
        return np.median([_series.trend(seconds, 100 + one).effective for one in autocorrelated(60, phi, 300)])

    assert 35 < typical(0.0) <= 60
    # (1 - 0.8) / (1 + 0.8) of 60 are 6.7; taken to be more alike than they look, they are fewer.
    assert 2 < typical(0.8) < 6.7
    row = steady.steadiness(samples(noisy(60)), "iops").collect().row(0, named=True)
    assert 35 < row["effective_samples"] <= 60


def test_the_line_is_that_of_least_squares_and_its_least_error_the_books():
    """Draper and Smith: slope -+ t s / sqrt(sum of squares), here over the span."""
    seconds, values = np.array([0.0, 5.0, 10.0, 15.0, 20.0]), np.array([10.0, 13.0, 11.0, 16.0, 15.0])
    line = _series.trend(seconds, values)
    slope, level = np.polyfit(seconds, values, 1)
    left = ((values - level - slope * seconds) ** 2).sum()
    assert line.change == pytest.approx(slope * 20)
    assert line.least_reach == pytest.approx(3.1824 * math.sqrt(left / 3 / ((seconds - 10) ** 2).sum()) * 20, rel=1e-3)
    assert line.reach >= line.least_reach


def test_many_samples_are_taken_in_blocks_and_mean_the_same():
    values = np.array(noisy(1200, drift=0.1, noise=0.05))
    seconds = np.arange(1200) * 2.0
    line = _series.trend(seconds, values)
    assert line.change == pytest.approx(np.polyfit(seconds, values, 1)[0] * seconds[-1], rel=0.01)
    assert len(_series.blocks(seconds, values)[1]) == 120
    assert 0.8 * 1200 / 2 < line.effective <= 1200
    held = [_series.trend(seconds, 100 + one) for one in autocorrelated(1200, 0.9, 200)]
    assert 0.92 <= np.mean([abs(line.change) <= line.reach for line in held]) <= 1.0


@pytest.mark.parametrize(("degrees", "t"), [(1, 12.706), (2, 4.303), (6, 2.447), (8, 2.306), (20, 2.086), (118, 1.980)])
def test_students_t_is_that_of_the_tables(degrees, t):
    assert _series.student(degrees) == pytest.approx(t, rel=0.01)


def test_rounding_leaves_a_series_no_surer_than_its_digits():
    """Ten samples of 10 and 11 that were printed without decimals; and ten of 10."""
    still = steady.steadiness(samples([10.0] * 10), "iops").collect().row(0, named=True)
    assert still["drift_pct"] == pytest.approx(0.0, abs=1e-9)
    assert 10 < still["drift_high_pct"] < 40
    assert steady.steadiness(samples([1000.0] * 10), "iops").collect()["drift_high_pct"].item() < 0.5


def waves(count, cycles, height, noise=0.0, shape=np.sin, seed=5):
    random = np.random.default_rng(seed)
    return list(
        1000 * (1 + height * shape(2 * np.pi * cycles * np.arange(count) / count) + random.normal(0, noise, count))
    )


@pytest.mark.parametrize("count", [24, 60, 240, 600])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("shape", [np.sin, lambda x: np.sign(np.sin(x))])
def test_a_swing_with_a_tenth_of_the_span_as_period_varies(count, noise, shape):
    values = waves(count, 10, 0.6, noise, shape)
    row = steady.steadiness(samples(values), "iops").collect().row(0, named=True)
    assert row["verdict"] == "varies"
    assert 90 < row["swing_pct"] < 200


def test_the_height_of_a_wave():
    row = steady.steadiness(samples(waves(240, 10, 0.6)), "iops").collect().row(0, named=True)
    assert row["swing_pct"] == pytest.approx(120, rel=0.01)
    assert row["range_pct"] < 5
    # An alternation from sample to sample is a wave of two.
    row = steady.steadiness(samples([900.0, 1100.0] * 30), "iops").collect().row(0, named=True)
    assert (row["verdict"], row["swing_pct"]) == ("varies", pytest.approx(20 * math.sqrt(2), rel=0.02))
    # Bursts, a sample in each ten.
    bursts = [2000.0 if place % 10 == 0 else 1000.0 + place % 3 for place in range(240)]
    assert steady.steadiness(samples(bursts), "iops").collect()["verdict"].item() == "varies"
    assert verdict(waves(240, 10, 0.01, 0.02)) == "steady"


def test_noise_has_no_waves():
    random = np.random.default_rng(9)
    seconds = np.arange(60) * 5.0
    for draw in (random.normal, lambda size: random.standard_t(3, size=size)):
        found = [_series.swing(seconds, 100 + draw(size=60)) > 0 for _ in range(1000)]
        assert np.mean(found) < 0.025


@pytest.mark.parametrize(
    ("count", "heavy"), [(5, 0.03), (6, 0.05), (7, 0.06), (12, None), (24, None), (60, None), (240, None)]
)
def test_runs_of_pure_noise_have_hardly_an_outlier(count, heavy):
    random = np.random.default_rng(13)
    runs = 3000 if count < 60 else 400

    def rate(values):
        frame = pl.LazyFrame({"run": np.repeat(np.arange(runs), count), "iops": 100 + values.ravel()})
        marked = steady.outliers(frame, "iops", ["run"]).collect()
        return marked.group_by("run").agg(pl.col("iops_outlier").any())["iops_outlier"].mean()

    assert rate(random.normal(size=(runs, count))) < 0.016
    if heavy:
        assert rate(random.standard_t(3, size=(runs, count))) < heavy


def test_too_few_values_tell_of_no_outlier():
    got = steady.outliers(samples([1000.0, 1000.1, 999.9, 5.0]), "iops").collect()
    assert got["iops_outlier"].to_list() == [None] * 4
    five = steady.outliers(samples([1000.0, 1000.1, 999.9, 1000.2, 5.0]), "iops").collect()
    assert five["iops_outlier"].to_list() == [False] * 4 + [True]


def test_one_step_of_the_last_digit_is_no_outlier():
    got = steady.outliers(samples([9.4] * 9 + [9.5]), "iops").collect()
    assert not got["iops_outlier"].any()
    assert got["iops_deviation"][9] == pytest.approx(0.6745 * 0.1 / 0.05)


def shares(series):
    """The share of each verdict among series of one length."""
    runs, count = series.shape
    times = [START + timedelta(seconds=5.0 * place) for place in range(count)] * runs
    frame = pl.LazyFrame({"run": np.repeat(np.arange(runs), count), "time": times, "iops": series.ravel()})
    found = steady.steadiness(frame, "iops", ["run"]).collect()["verdict"].value_counts(normalize=True)
    return dict(found.iter_rows())


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("count", [6, 12, 24, 48])
def test_little_noise_is_steady_and_a_drift_beneath_it_is_not(count, phi):
    """1 % of noise, however alike neighbours are; with a drift of 20 % of the mean under it."""
    still = 100 + math.sqrt(1 - phi**2) * autocorrelated(count, phi, 100)
    assert shares(still)["steady"] >= 0.99
    assert "steady" not in shares(still + 20 * np.linspace(-0.5, 0.5, count))


@pytest.mark.parametrize(("count", "phi", "steady_pct"), [(24, 0.0, 59), (48, 0.0, 95), (48, 0.5, 79), (24, 0.9, 58)])
def test_five_percent_of_noise_is_steady_once_there_are_samples_to_tell(count, phi, steady_pct):
    """Shares of 4,000 series that were computed apart from this package."""
    series = 100 + 5 * math.sqrt(1 - phi**2) * autocorrelated(count, phi, 200)
    # Of 200, the share is within 7 points in 95 of 100 cases.
    assert 100 * shares(series)["steady"] == pytest.approx(steady_pct, abs=10)
    assert shares(series + 20 * np.linspace(-0.5, 0.5, count)).get("steady", 0.0) <= 0.06


def test_what_cannot_be_told_from_few_samples_is_said():
    """Two slow waves of 17 %: level if no sample resembled the next, which these do too much to tell."""
    row = steady.steadiness(samples(waves(48, 2, 0.085, shape=np.cos)), "iops").collect().row(0, named=True)
    assert row["verdict"] == "too few samples to tell"
    assert max(-row["drift_low_pct"], row["drift_high_pct"]) > 10
    assert row["range_pct"] > 10
    few = noisy(6, noise=0.012, seed=2)
    row = steady.steadiness(samples(few), "iops").collect().row(0, named=True)
    # The interval is as wide, but values within 3 % of each other did not drift by 10.
    assert (row["verdict"], row["drift_high_pct"] > 10) == ("steady", True)
    at_one_time = pl.LazyFrame({"time": [START] * 6, "iops": few})
    row = steady.steadiness(at_one_time, "iops").collect().row(0, named=True)
    assert (row["verdict"], row["drift_low_pct"], row["drift_high_pct"]) == ("too noisy to tell", None, None)


def test_samples_out_of_order_are_judged_in_order_of_time():
    frame = samples([100.0 + place for place in range(40)] + [90.0]).collect()
    turned = frame.sample(fraction=1.0, shuffle=True, seed=3)
    wanted, found = (steady.steadiness(one.lazy(), "iops").collect() for one in (frame, turned))
    assert found.rows() == [pytest.approx(row) for row in wanted.rows()]


def test_a_column_that_is_0_but_for_once_has_its_outlier_by_the_mean():
    got = steady.outliers(samples([0.0] * 9 + [50.0]), "iops").collect()
    assert got["iops_outlier"].to_list() == [False] * 9 + [True]
