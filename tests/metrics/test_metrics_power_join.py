"""A capture and a power meter on one time line: energy is kept, nothing is made up, clocks that are apart are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.metrics import power_join
from esxparse.metrics._series import Lag
from esxparse.metrics.energy import energy, watts_per_unit
from esxparse.metrics.power_join import join_power, load_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
TIME = pl.Datetime("us", "UTC")


def at(seconds):
    return pl.Series([NOON + timedelta(seconds=float(second)) for second in seconds], dtype=TIME)


def a_capture(seconds, load, watts=None):
    cpu = pl.DataFrame(
        {"time": at(seconds), "pcpu": [None] * len(load), "pct_processor_time": load, "pct_util_time": load},
        schema_overrides={"pcpu": pl.Int64},
    )
    tables = {"physical_cpu": cpu.lazy()}
    if watts is not None:
        tables["power"] = pl.LazyFrame(
            {"time": at(seconds), "p_state": [None] * len(watts), "power_usage_now_watts": watts},
            schema_overrides={"p_state": pl.Int64},
        )
    return ex.Recording("esxtop", "capture.csv", tables)


def readings(seconds, watts, **more):
    count = len(watts)
    columns = {
        "source": "/Power",
        "sensor": "PowerControl 0",
        "kind": "system",
        "watts_average": None,
        "interval_s": None,
    }
    frame = {"time": at(seconds), "watts": [float(one) for one in watts]}
    frame |= {name: [value] * count for name, value in (columns | more).items() if name not in frame}
    types = {"watts_average": pl.Float64, "interval_s": pl.Float64}
    return ex.Recording("redfish", "power.jsonl", {"power": pl.LazyFrame(frame, schema_overrides=types)})


def bursts(seconds, seed=7):
    """A load as of benchmarks: stretches of its own length and height, the same at the same second."""
    random = np.random.default_rng(seed)
    edges = np.cumsum(random.uniform(40, 400, 2000)) - 200_000
    levels = random.uniform(5, 95, 2001)
    return levels[np.searchsorted(edges, seconds)]


def test_an_interval_has_the_mean_of_its_readings():
    capture = a_capture([0, 20, 40], [1.0, 2.0, 3.0])
    table = join_power(capture, readings([-10, 10, 30, 50], [100, 200, 200, 400])).table.collect()
    assert table["watts"].to_list() == [None, pytest.approx((150 + 200) / 2 * 0.5 + 200 * 0.5), pytest.approx(225)]
    assert table["energy_joules"].to_list() == [None, pytest.approx(3750), pytest.approx(4500)]
    assert table["interval_s"].to_list() == [None, 20, 20]
    assert table["used_pct"].to_list() == [1, 2, 3]


def test_means_of_a_history_are_steps():
    capture = a_capture([0, 10, 20], [1.0, 2.0, 3.0])
    history = readings([0, 10, 20], [100, 200, 300], interval_s=10.0)
    frame = history["power"].with_columns(pl.col("watts").alias("watts_average"))
    joined = join_power(capture, ex.Recording("redfish", "x", {"power": frame}))
    assert joined.shape == "step"
    assert joined.table.collect()["watts"].to_list() == [None, 200, 300]
    assert join_power(capture, history, shape="trapezoid").table.collect()["watts"].to_list() == [None, 150, 250]


def test_nothing_is_made_up_outside_the_readings_or_in_their_gaps():
    capture = a_capture([0, 10, 20, 30, 40, 50, 60, 70, 80], [1.0, 9.0] * 4 + [1.0])
    joined = join_power(capture, readings([12, 16, 20, 24, 28, 32, 56, 60, 64, 68], [100] * 10))
    assert joined.table.collect()["watts"].to_list() == [None, None, None, 100, None, None, None, None, None]
    assert any("7 of 8 intervals" in note.message for note in joined.notes)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.floats(1, 20), st.floats(0, 2000)), min_size=2, max_size=60),
    st.lists(st.floats(0.5, 40), min_size=1, max_size=60),
    st.sampled_from(["trapezoid", "step"]),
)
def test_energy_is_kept(points, lengths, shape):
    # Whole milliseconds: a time stamp is no better than a microsecond.
    seconds = np.round(np.cumsum([step for step, _ in points]), 3)
    watts = np.array([value for _, value in points])
    usual = np.median(np.diff(seconds))
    assume(np.diff(seconds).max() <= 3 * usual)
    inside = np.round(seconds[0] + np.cumsum([0, *lengths]), 3)
    inside = inside[inside <= seconds[-1]]
    assume(len(inside) > 1)
    capture = a_capture(inside, [1.0] * len(inside))
    joined = join_power(capture, readings(seconds, watts), shape=shape).table.collect()
    assert joined["watts"].null_count() == 1
    knots = np.union1d(inside, seconds[(seconds >= inside[0]) & (seconds <= inside[-1])])
    middles = (knots[:-1] + knots[1:]) / 2
    lines = {"trapezoid": np.interp(middles, seconds, watts), "step": watts[np.searchsorted(seconds, middles)]}
    expected = float(np.sum(lines[shape] * np.diff(knots)))
    assert joined["energy_joules"].sum() == pytest.approx(expected, rel=1e-3, abs=1e-3)


def simulated(offset=0.0, *, hours=2.0, noise=3.0, own=False):
    seconds = np.arange(0, hours * 3600, 5.0)
    load = bursts(seconds)
    random = np.random.default_rng(1)
    capture = a_capture(seconds, load, 150 + 2 * load if own else None)
    polled = np.arange(-600, hours * 3600 + 600, 10.0) + 3.1
    watts = 150 + 2 * bursts(polled) + random.normal(0, noise, len(polled))
    return capture, readings(polled + offset, watts)


def test_clocks_that_agree_raise_no_suspicion():
    for own in (False, True):
        joined = join_power(*simulated(own=own))
        assert joined.suspected_offset is None
        assert joined.correlation > 0.9
        assert not joined.notes


def test_a_clock_that_is_a_little_off_is_told_and_mended_by_the_offset():
    capture, meter = simulated(240)
    joined = join_power(capture, meter)
    assert abs(joined.suspected_offset.total_seconds() + 240) <= 10
    (note,) = [note for note in joined.notes if note.severity == "warning"]
    assert "ahead of the capture's" in note.message
    assert "time zone" not in note.message
    again = join_power(capture, meter, offset=joined.suspected_offset)
    assert again.suspected_offset is None
    assert again.correlation > joined.correlation + 0.2


@pytest.mark.parametrize(
    ("hours", "zone", "offset"),
    [(2, r"UTC\+02:00", "-2h"), (-5, "UTC-05:00", "5h"), (5.5, r"UTC\+05:30", "-5h30m"), (13, r"UTC\+13:00", "-13h")],
)
def test_a_meter_in_local_time_shares_no_time_and_the_error_names_the_zone(hours, zone, offset):
    capture, meter = simulated(hours * 3600, hours=1.5)
    with pytest.raises(ex.EsxparseError, match=rf"do not overlap in time: .*{zone} taken for UTC.*offset='{offset}'"):
        join_power(capture, meter)
    joined = join_power(capture, meter, offset=offset)
    assert joined.suspected_offset is None
    assert joined.table.collect()["watts"].null_count() == 1


def test_a_zone_is_told_where_the_two_overlap_all_the_same():
    capture, meter = simulated(3600, hours=4)
    joined = join_power(capture, meter)
    assert joined.suspected_offset == timedelta(hours=-1)
    assert any("UTC+01:00" in note.message for note in joined.notes)


def test_times_that_nothing_explains_are_no_zone():
    capture, _ = simulated(hours=1.5)
    other = np.arange(0, 5400, 10.0) + 6 * 3600
    noise = np.random.default_rng(3).normal(200, 20, len(other))
    with pytest.raises(ex.EsxparseError, match="do not overlap in time; if a clock was wrong, shift"):
        join_power(capture, readings(other, noise))


@pytest.mark.parametrize("seed", range(8))
def test_a_meter_of_another_host_raises_no_suspicion(seed):
    capture, _ = simulated()
    seconds = np.arange(0, 7200, 10.0)
    joined = join_power(capture, readings(seconds, 150 + 2 * bursts(seconds, seed=100 + seed)))
    assert joined.suspected_offset is None


def test_a_load_that_repeats_is_not_shifted_by_its_period():
    seconds = np.arange(0, 7200, 5.0)
    wave = 50 + 40 * np.sin(seconds / 600 * 2 * np.pi)
    polled = np.arange(0, 7200, 10.0)
    meter = readings(polled, 150 + 80 * np.sin(polled / 600 * 2 * np.pi))
    assert join_power(a_capture(seconds, wave), meter).suspected_offset is None


def test_a_load_that_does_not_change_says_nothing_of_the_clocks():
    joined = join_power(a_capture(range(0, 600, 5), [50.0] * 120), readings(range(0, 600, 10), [200] * 60))
    assert joined.suspected_offset is None
    assert joined.correlation is None
    assert any("cannot tell whether" in note.message for note in joined.notes)


def test_the_whole_host_is_joined_and_another_sensor_when_asked_for():
    frame = pl.concat(
        [
            readings(range(0, 100, 10), [200] * 10)["power"],
            readings(range(0, 100, 5), [90] * 20, sensor="supply 1", kind="supply")["power"],
            readings(range(1000, 1400, 10), [777] * 40, sensor="FastPowerMeter")["power"],
        ]
    )
    power = ex.Recording("redfish", "power.jsonl", {"power": frame})
    capture = a_capture([0, 40, 80], [1.0, 2.0, 3.0])
    assert join_power(capture, power).table.collect()["watts"].to_list() == [None, 200, 200]
    other = join_power(capture, power, sensor="supply 1")
    assert other.sensor == "supply 1"
    assert other.table.collect()["watts"].to_list() == [None, 90, 90]
    with pytest.raises(ex.EsxparseError, match="no readings of sensor 'x'; it has: 'PowerControl 0', 'supply 1'"):
        join_power(capture, power, sensor="x")


def test_of_a_csv_of_several_hosts_the_one_of_the_capture_is_joined():
    frame = pl.concat([readings([0, 10, 20], [100 * n] * 3, sensor=f"esx-{n}.lab")["power"] for n in (1, 2)])
    power = ex.Recording("power_csv", "power.csv", {"power": frame})
    capture = a_capture([0, 10, 20], [1.0, 2.0, 3.0])
    unnamed = join_power(capture, power)
    assert unnamed.sensor == "esx-1.lab"
    assert any("of several ('esx-1.lab', 'esx-2.lab'): 'esx-1.lab' is used" in one.message for one in unnamed.notes)
    assert not [one for one in join_power(capture, power, sensor="esx-2.lab").notes if "of several" in one.message]
    of_second = ex.Recording("esxtop", "capture.csv", capture.tables, {"host": "ESX-2"})
    assert join_power(of_second, power).sensor == "esx-2.lab"


def test_readings_without_times_cannot_be_joined():
    power = ex.Recording("redfish", "p.json", {"power": pl.LazyFrame({"watts": [1.0]})})
    with pytest.raises(ex.EsxparseError, match="have no times"):
        join_power(a_capture([0, 5], [1.0, 2.0]), power)
    with pytest.raises(ex.MissingTableError):
        join_power(ex.Recording("esxtop", "c", {}), readings([0, 1], [1, 1]))
    with pytest.raises(ex.EsxparseError, match="offset 'soon'"):
        join_power(a_capture([0, 5], [1.0, 2.0]), readings([0, 5], [1, 1]), offset="soon")


def test_the_bundled_capture_joins_with_polled_readings(busy_host):
    start = busy_host.meta["start"]
    span = (busy_host.meta["end"] - start).total_seconds()
    seconds = (start - NOON).total_seconds() + np.arange(0, span + 10, 10.0)
    table = join_power(busy_host, readings(seconds, [300] * len(seconds))).table.collect()
    assert table["watts"].drop_nulls().to_list() == pytest.approx([300] * (busy_host.meta["samples"] - 1))
    assert table["util_pct"].null_count() == 0


@given(st.lists(st.tuples(st.integers(1, 10), st.integers(0, 900)), min_size=3, max_size=40))
def test_energy_of_a_sensor_is_its_trapezoids(points):
    seconds = np.cumsum([step for step, _ in points])
    watts = [value for _, value in points]
    row = energy(readings(seconds, watts)["power"]).collect().to_dicts()[0]
    steps = np.diff(seconds)
    known = steps <= 3 * np.median(steps)
    expected = sum((a + b) / 2 * s for a, b, s, ok in zip(watts, watts[1:], steps, known, strict=False) if ok)
    assert row["energy_joules"] == pytest.approx(expected)
    assert row["energy_kwh"] == pytest.approx(expected / 3.6e6)
    assert row["covered_s"] == pytest.approx(steps[known].sum())
    assert (row["gaps"], row["gap_s"]) == (int((~known).sum()), pytest.approx(steps[~known].sum()))
    assert row["readings"] == len(points)


def test_energy_of_one_reading_is_not_known():
    row = energy(readings([0], [100])["power"]).collect().to_dicts()[0]
    assert row["energy_joules"] is None
    assert row["watts_mean"] is None


def test_energy_comes_with_its_span_and_its_mean():
    row = energy(readings([0, 10, 30], [100, 200, 100])["power"]).collect().to_dicts()[0]
    # 10 s at 150 W and 20 s at 150 W
    assert (row["energy_joules"], row["watts_mean"], row["covered_s"]) == (4500.0, 150.0, 30.0)
    assert (row["end"] - row["start"]).total_seconds() == 30


def test_watts_per_unit_of_no_work_is_none():
    table = watts_per_unit(pl.LazyFrame({"watts": [300.0, 300.0, None], "iops": [1500, 0, 10]}), "iops").collect()
    assert table["watts_per_unit"].to_list() == [0.2, None, None]
    assert table["units_per_joule"].to_list() == [5, None, None]


def test_readings_of_one_moment_share_no_time_with_a_capture():
    one = readings([0], [100], interval_s=10.0, watts_average=100.0)
    with pytest.raises(ex.EsxparseError, match="do not overlap in time"):
        join_power(a_capture([0, 20, 40], [1.0, 2.0, 3.0]), one)


def test_what_a_capture_lacks_is_a_column_of_numbers_without_any():
    load = load_of(a_capture([0, 20], [1.0, 2.0]))
    for name in ("iops", "mb_per_s", "watts_esxtop"):
        assert (load.schema[name], load[name].to_list()) == (pl.Float64, [None, None])


def test_little_power_and_little_work_are_some():
    table = watts_per_unit(pl.LazyFrame({"watts": [0.5, 0.0], "iops": [0.25, 1.0]}), "iops").collect()
    assert table["watts_per_unit"].to_list() == [2.0, None]


def test_the_power_of_the_capture_stands_beside_that_of_the_meter():
    capture = a_capture([0, 20, 40], [1.0, 2.0, 3.0], watts=[90.0, 95.0, 99.0])
    joined = join_power(capture, readings([-10, 10, 30, 50], [100, 200, 200, 400]))
    assert joined.table.collect()["watts_esxtop"].to_list() == [90.0, 95.0, 99.0]
    assert joined.shift == timedelta(0)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, 0),
        (timedelta(seconds=7), 7),
        (90, 90),
        (-1.5, -1.5),
        ("90s", 90),
        ("-2h", -7200),
        ("+3m", 180),
        ("2min", 120),
        (" -5h30m ", -19800),
        ("1.5h", 5400),
        ("0.5m", 30),
        ("1h 2m 3.25s", 3723.25),
    ],
)
def test_an_offset_is_read_from_what_people_write(given, seconds):
    assert power_join._offset(given) == timedelta(seconds=seconds)


@pytest.mark.parametrize("given", ["", "-", "2", "2d", "1s2h", "h"])
def test_what_is_no_offset_is_refused(given):
    with pytest.raises(
        ex.EsxparseError, match=f"^offset '{given}' is not a length of time: write it as -2h, 90s or -5h30m"
    ):
        power_join._offset(given)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (-90, "-1m30s"), (3600, "1h"), (-19800, "-5h30m"), (90061, "25h1m1s")],
)
def test_an_offset_is_shown_as_it_is_read(seconds, text):
    assert power_join._offset_text(timedelta(seconds=seconds)) == text
    assert power_join._offset(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("lag", "seconds"),
    [
        # seconds, step, correlation, unshifted
        ((-240.4, 10, 0.9, 0.1), -240),
        ((20, 10, 0.9, 0.1), 20),
        ((19.9, 10, 0.9, 0.1), None),
        ((240, 10, 0.6, 0.1), 240),
        ((240, 10, 0.59, 0.1), None),
        ((240, 10, 0.75, 0.5), 240),
        ((240, 10, 0.6, 0.5), None),
        ((240, 10, 0.9, float("nan")), 240),
        # Half an hour, or within a minute or two steps of it, is a time zone.
        ((1800, 10, 0.9, 0.1), 1800),
        ((-3660, 10, 0.9, 0.1), -3600),
        ((3661, 10, 0.9, 0.1), 3661),
        ((3680, 40, 0.9, 0.1), 3600),
        ((3681, 40, 0.9, 0.1), 3681),
        ((50, 10, 0.9, 0.1), 50),
    ],
)
def test_a_clock_is_suspected_where_a_shift_is_clearly_better(lag, seconds):
    lag_s, step, correlation, unshifted = lag
    found = power_join._suspect(Lag(seconds=lag_s, step=step, correlation=correlation, unshifted=unshifted))
    assert found == (None if seconds is None else timedelta(seconds=seconds))
    assert power_join._suspect(None) is None


def means_of(stamps, watts, times, shape):
    numbers = [np.array(one, dtype=float) for one in (stamps, watts, times)]
    return power_join._resampled(*numbers, shape).tolist()


def test_means_over_intervals_are_integrals_by_hand():
    nan = pytest.approx(float("nan"), nan_ok=True)
    stamps, watts = [0, 10, 20, 60], [100, 200, 100, 300]
    # From 5 s at 150 W to 200 W at 10 s; from there to 150 W at 15 s.
    assert means_of(stamps, watts, [5, 15], "trapezoid") == [175]
    # 5 s of 200 W, 5 s of 100 W.
    assert means_of(stamps, watts, [5, 15], "step") == [150]
    # Not covered: before the first reading, in the gap of four steps, over two samples of one time.
    assert means_of(stamps, watts, [-5, 5, 10], "trapezoid") == [nan, 175]
    assert means_of(stamps, watts, [0, 20, 40, 60], "trapezoid") == [150, nan, nan]
    assert means_of(stamps, watts, [0, 0, 10], "step") == [nan, 200]
    # Three steps are no gap yet.
    assert means_of([0, 10, 20, 50], [100, 100, 100, 400], [20, 50], "trapezoid") == [250]
    assert means_of([0], [100], [0, 5, 10], "step") == [nan, nan]
    assert means_of([0, 10], [100, 200], [5], "step") == []
    assert means_of([0, 10], [100, 200], [2, 4], "trapezoid") == [130]


@pytest.mark.parametrize(
    ("watts", "average", "interval", "shape"),
    [
        ([1, 2, 3], [1, 2, 3], [10, 10, 10], "step"),
        ([1, 2, 3], [1, 2, 3], [20, 20, 20], "step"),
        ([1, 2, 3], [1, 2, 3], [10, 10, 21], "trapezoid"),
        ([1, 2, 3], [1, 2, 4], [10, 10, 10], "trapezoid"),
        ([1, 2, 3], [1, 2, None], [10, 10, 10], "trapezoid"),
        ([1, 2, 3], [1, 2, 3], [10, 10, None], "trapezoid"),
        ([1, 2], [1, 2], [10, 10], "step"),
        ([1], [1], [10], "trapezoid"),
    ],
)
def test_readings_are_steps_where_each_is_the_mean_since_the_one_before(watts, average, interval, shape):
    types = ("watts", "watts_average", "interval_s")
    rows = pl.DataFrame(dict(zip(types, (watts, average, interval), strict=True)), dict.fromkeys(types, pl.Float64))
    assert power_join._shape_of(rows, 10.0 * np.arange(len(watts))) == shape
