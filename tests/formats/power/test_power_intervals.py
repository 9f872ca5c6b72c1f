"""Watts and load are averaged over the same intervals before a line is fitted: a slope that was put in comes out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import esxparse as ex
from esxparse.metrics import power_intervals
from esxparse.metrics.energy import fit
from esxparse.metrics.power_intervals import shared
from esxparse.reports.power_profile import gather

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SLOPE, FLOOR = 3.5, 40.0


def at(seconds):
    return [NOON + timedelta(microseconds=round(float(one) * 1e6)) for one in seconds]


class Truth:
    """A load that changes at random moments, and a host that draws `FLOOR + SLOPE x load` at each of them."""

    def __init__(self, seed, length, dwell):
        random = np.random.default_rng(seed)
        count = int(4 * length / dwell) + 50
        self.edges = np.concatenate(([-length], -length + np.cumsum(random.exponential(dwell, count))))
        self.levels = random.uniform(5, 95, count)
        self.sums = np.concatenate(([0.0], np.cumsum(self.levels * np.diff(self.edges))))

    def mean(self, begins, ends):
        return np.diff(np.interp([begins, ends], self.edges, self.sums), axis=0)[0] / (ends - begins)


def laid(truth, every, of_meter, phase, *, samples, clock=0.0, own=None, momentary=False):
    """A capture and a meter of one truth, laid together."""
    length = samples * max(every, of_meter)
    ends, stamps = np.arange(0, length, every), np.arange(phase, length, of_meter)
    load = pl.DataFrame({"time": at(ends), "util_pct": truth.mean(ends - every, ends)})
    over = 1e-3 if momentary else own or of_meter
    watts = FLOOR + SLOPE * truth.mean(stamps - over, stamps)
    told = [own] * len(stamps)
    meter = pl.DataFrame({"time": at(stamps + clock), "watts": watts, "own_s": told}, schema_overrides={"own_s": float})
    return shared(load, meter)


def slope_of(table):
    return fit(table.drop_nulls(["util_pct", "watts"]))[0]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    every=st.sampled_from([2.0, 5.0, 20.0]),
    ratio=st.floats(-1.3, 1.3).map(lambda power: 10**power),
    phase=st.floats(0, 1),
    clock=st.one_of(st.just(0.0), st.floats(-1, 1)),
)
def test_the_slope_comes_out_at_any_ratio_phase_and_small_clock_error(seed, every, ratio, phase, clock):
    """Within 10 % of the slope, from a twentieth to twenty samples a reading; clocks up to one interval apart."""
    of_meter = max(round(every * ratio, 3), 0.1)
    longest = max(every, of_meter)
    truth = Truth(seed, 130 * longest, 2 * longest)
    found = laid(truth, every, of_meter, phase * of_meter, samples=120, clock=clock * longest)
    assert slope_of(found.table) == pytest.approx(SLOPE, rel=0.1)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 3.0, 15.0])
def test_means_of_meters_whose_intervals_fit_give_the_slope(ratio):
    """Nothing straddles: the slope is right to 0.3 %, whichever of the two is coarser."""
    truth = Truth(3, 4000.0, 40.0)
    found = laid(truth, 20.0, 20.0 * ratio, 20.0 * ratio, samples=60)
    slope, floor, correlation = fit(found.table.drop_nulls())
    assert (slope, floor) == (pytest.approx(SLOPE, rel=3e-3), pytest.approx(FLOOR, rel=1e-2))
    assert correlation > 0.9999
    assert found.shift_s == 0
    assert found.table["interval_s"].min() == pytest.approx(20.0 * max(ratio, 1.0))


@pytest.mark.parametrize("of_meter", [5.0, 20.0, 60.0])
def test_a_meter_that_tells_a_moment_is_moved_to_the_load_it_is_of(of_meter):
    truth = Truth(5, 9000.0, 3 * max(of_meter, 20.0))
    found = laid(truth, 20.0, of_meter, 0.4 * of_meter, samples=120, momentary=True)
    assert slope_of(found.table) == pytest.approx(SLOPE, rel=0.1)


def test_a_reading_of_a_short_interval_is_laid_on_that_interval_alone():
    """A BMC that is asked once a minute and tells the mean of its last 10 s: the rest of the minute is not its."""
    truth = Truth(7, 9000.0, 25.0)
    found = laid(truth, 5.0, 60.0, 60.0, samples=120, own=10.0)
    assert set(found.table["interval_s"].round(3)) == {10.0}
    assert fit(found.table.drop_nulls())[0] == pytest.approx(SLOPE, rel=1e-4)


def test_gaps_of_either_are_no_load_and_no_power():
    ends = [*range(0, 200, 20), *range(400, 600, 20)]
    load = pl.DataFrame({"time": at(ends), "util_pct": [float(one % 100) for one in ends]})
    stamps = [one for one in range(10, 600, 10) if not 100 < one < 160]
    meter = pl.DataFrame(
        {"time": at(stamps), "watts": [100.0] * len(stamps), "own_s": None}, schema_overrides={"own_s": pl.Float64}
    )
    table = shared(load, meter).table
    inside = (table["time"] - NOON).dt.total_seconds()
    assert set(table["watts"]) == {100.0}
    # Nothing from 180 to 380 s, where the capture has a hole, nor where the meter has none.
    known = table.filter(pl.col("util_pct").is_not_null())
    ends_of_known = (known["time"] - NOON).dt.total_seconds()
    assert not ends_of_known.is_between(181, 381).any()
    assert not inside.is_between(101, 159).any()
    assert known["interval_s"].sum() <= 560 - 60 - 200


def test_a_meter_of_another_host_is_not_moved():
    mine, other = Truth(1, 3000.0, 60.0), Truth(2, 3000.0, 60.0)
    ends = np.arange(0, 1200, 20.0)
    load = pl.DataFrame({"time": at(ends), "util_pct": mine.mean(ends - 20, ends)})
    watts = FLOOR + SLOPE * other.mean(ends - 20, ends)
    meter = pl.DataFrame(
        {"time": at(ends), "watts": watts, "own_s": [None] * len(ends)}, schema_overrides={"own_s": float}
    )
    assert shared(load, meter).shift_s == 0


@pytest.mark.parametrize("run", ["dynamic-1", "static-high-2"])
def test_the_bundled_hosts_have_one_slope_with_and_without_their_ilo(run):
    folder = ex.datasets.folder("power")
    capture, ilo = folder / f"{run}.csv.bz2", folder / f"{run}.ilo.xml"
    alone, beside = (gather.gather(paths) for paths in ([capture], [capture, ilo]))
    assert beside.measured_by == f"{run}.ilo: system"
    first, second = (fit(found.beside.drop_nulls("watts")) for found in (alone, beside))
    assert first[0] == pytest.approx(3.55, abs=0.05)
    assert second[0] == pytest.approx(first[0], rel=0.005)
    assert min(first[2], second[2]) > 0.999


def test_means_are_of_the_seconds_that_readings_cover():
    """Readings of (0, 8], (12, 20] and (20, 40] s on samples of 20 s: 4 s of the first have no power and no part."""
    meter = power_intervals._Spans(np.array([0.0, 12, 20]), np.array([8.0, 20, 40]))
    samples = power_intervals._Spans(np.array([-20.0, 0, 20]), np.array([0.0, 20, 40]))
    ends, table = power_intervals._means(samples, np.array([[9.0], [1.0], [3.0]]), meter, np.array([100.0, 120, 200]))
    assert ends.tolist() == [20, 40]
    assert table.tolist() == [[16, 110, 1], [20, 200, 3]]
    # A load that is not known of all of an interval is not known of it.
    ends, table = power_intervals._means(samples, np.array([[9.0], [1.0], [np.nan]]), meter, np.array([1.0, 2, 3]))
    assert (ends.tolist(), table.tolist()) == ([20], [[16, 1.5, 1]])


def frames(ends, loads, readings):
    """A capture of these columns, and readings of (s, watts, own interval)."""
    load = pl.DataFrame({"time": at(ends)} | loads, schema_overrides=dict.fromkeys(loads, pl.Float64))
    stamps, watts, own = zip(*readings, strict=True)
    types = {"watts": pl.Float64, "own_s": pl.Float64}
    return load, pl.DataFrame({"time": at(stamps), "watts": watts, "own_s": own}, schema_overrides=types)


def spans(*pairs):
    begins, ends = np.array(pairs, dtype=float).T
    return power_intervals._Spans(begins, ends)


NAN = np.nan


@pytest.mark.parametrize(("samples", "count"), [(1, 3), (3, 1), (1, 1)])
def test_one_sample_or_one_reading_shares_no_interval(samples, count):
    ends = [20.0 * n for n in range(samples)]
    found = shared(*frames(ends, {"util_pct": [5.0] * samples}, [(20.0 * n, 100.0, 20.0) for n in range(count)]))
    types = {"time": pl.Datetime("us", "UTC"), "interval_s": pl.Float64, "watts": pl.Float64, "util_pct": pl.Float64}
    assert (found.table.schema, found.table.height, found.shift_s) == (types, 0, 0.0)


def test_two_samples_and_two_readings_share_the_interval_between_them():
    load, meter = frames([0, 20.5], {"util_pct": [10, 30], "iops": [None, None]}, [(0, 90, None), (20.5, 140, None)])
    found = shared(load, meter)
    assert found.table.columns == ["time", "interval_s", "watts", "util_pct", "iops"]
    assert found.table.rows() == [(NOON + timedelta(seconds=20.5), 20.5, 140.0, 30.0, None)]
    assert found.shift_s == 0.0


def test_a_load_that_is_nowhere_known_has_no_intervals():
    found = shared(*frames([0, 20, 40], {"util_pct": [None] * 3}, [(n, 100, None) for n in (0, 20, 40)]))
    assert (found.table.height, found.shift_s) == (0, 0.0)


@pytest.mark.parametrize(
    ("ends", "own", "begins"),
    [
        # The first stands for nothing; 30 s are three usual steps and no gap, 40 s are one.
        ([0, 10, 20, 50, 60], None, [0, 0, 10, 20, 50]),
        ([0, 10, 20, 60, 70], None, [0, 0, 10, 50, 60]),
        # Own intervals where they are shorter than the step; none of 0 s or unknown.
        ([0, 10, 20, 30, 40], [0.5, 4, NAN, 0.5, 99], [-0.5, 6, 10, 29.5, 30]),
        ([0, 10, 20, 30], [0, 0, 5, 5], [0, 0, 15, 25]),
        ([0, 10, 20, 30], [NAN, 5, 5, 5], [0, 5, 15, 25]),
        # The first, with an own interval longer than usual: no more than usual, not than the gap after it.
        ([0, 25, 35, 45], [99, 99, 99, 99], [-10, 0, 25, 35]),
    ],
)
def test_a_value_stands_for_the_time_since_the_one_before_or_its_own_interval(ends, own, begins):
    found = power_intervals._spans(np.array(ends, dtype=float), None if own is None else np.array(own, dtype=float))
    assert (found.begins.tolist(), found.ends.tolist()) == (begins, ends)


def test_intervals_are_of_whole_microseconds():
    found = power_intervals._spans(np.array([0.12345678, 10.12345678]), np.array([1.0, 2.0]))
    assert (found.begins.tolist(), found.ends.tolist()) == ([-0.876543, 8.123457], [0.123457, 10.123457])
    moved = found.later(2.50000049)
    assert (moved.begins.tolist(), moved.ends.tolist()) == ([1.623457, 10.623457], [2.623457, 12.623457])


def test_a_moment_is_in_one_interval_or_in_none():
    """(0, 10] and (15, 20]: before, in the first to its end, between, in the second, after."""
    found = power_intervals._cells(spans((0, 10), (15, 20)), np.array([-1.0, 5.0, 10.0, 12.0, 15.0, 17.0, 21.0]))
    assert found.tolist() == [-1, 0, 0, -1, -1, 1, -1]


def means(samples, loads, meter, watts):
    ends, table = power_intervals._means(spans(*samples), np.array(loads, dtype=float), spans(*meter), np.array(watts))
    return np.column_stack((ends, table)).tolist()


MINUTES = [(0, 0), (0, 60), (60, 120), (120, 180)]


@pytest.mark.parametrize(
    ("first", "last", "ends"),
    [(-30, 120, [60, 120]), (-31, 120, [120]), (60, 210, [120, 180]), (60, 211, [120])],
)
def test_an_end_of_a_sample_counts_up_to_half_a_reading_outside_them(first, last, ends):
    """Samples may begin before and end after all readings."""
    stops = sorted({first, 60, 120, last})
    samples = list(zip([-90, *stops], stops, strict=False))
    found = means(samples, [[7.0]] * len(stops), MINUTES, [1.0, 100, 200, 300])
    assert [row[0] for row in found] == ends
    assert {row[0]: row[2] for row in found} == {end: {60: 100, 120: 200, 180: 300}[end] for end in ends}


def test_an_end_midway_between_two_ends_of_readings_goes_to_the_earlier():
    found = means([(-15, 0), (0, 15), (15, 30)], [[1], [4], [8]], [(0, 10), (10, 20), (20, 30)], [100, 200, 300])
    # (0, 10] and (10, 30]: 5 s of load 4 and 15 s of load 8.
    assert found == [[10, 10, 100, 4], [30, 20, 250, 7]]


def test_a_fine_meter_is_averaged_over_as_many_readings_as_a_sample_holds():
    meter = [(5 * n, 5 * n + 5) for n in range(8)]
    watts = [100, 110, 120, 130, 200, 210, 220, 250]
    found = means([(-20, 0), (0, 20), (20, 40)], [[1, NAN], [2, 5], [3, 6]], meter, watts)
    assert found == [[20, 20, 115, 2, 5], [40, 20, 220, 3, 6]]


def test_the_load_is_averaged_over_a_coarse_reading_by_its_seconds():
    samples = [(-20, 0), (0, 20), (20, 45), (45, 60), (60, 120)]
    found = means(samples, [[1], [3], [4], [8], [6]], [(0, 0), (0, 60), (60, 120)], [9, 100, 200])
    # (20 x 3 + 25 x 4 + 15 x 8) / 60 s
    assert found == [[60, 60, 100, pytest.approx(280 / 60)], [120, 60, 200, 6]]


def test_a_part_of_the_first_sample_counts_and_half_a_second_is_an_interval():
    # 4 s of load 2 and 20 s of load 4.
    assert means([(0, 20), (20, 40)], [[2], [4]], [(0, 16), (16, 40)], [9, 100]) == [
        [40, 24, 100, pytest.approx(88 / 24)]
    ]
    halves = [(0, 0.5), (0.5, 1)]
    assert means(halves, [[2], [4]], halves, [9, 100]) == [[1, 0.5, 100, 4]]


def test_ends_that_all_lie_nearest_to_one_reading_make_no_interval():
    meter = spans((0, 0), (0, 60), (60, 120))
    samples = spans((50, 55), (55, 60), (60, 65))
    ends, table = power_intervals._means(samples, np.ones((3, 2)), meter, np.array([1.0, 2, 3]))
    assert (ends.shape, table.shape) == ((0,), (0, 4))


def late(seconds, *, of_meter=20, samples=60, noise=0.0, every=20):
    """A capture whose load changes with each sample, and a meter that tells the means of it so many s late."""
    random = np.random.default_rng(4)
    levels = random.uniform(5, 95, samples)
    watts = FLOOR + SLOPE * np.repeat(levels, every).reshape(-1, of_meter).mean(axis=1)
    watts = watts + random.normal(0, 1, len(watts)) * noise
    stamps = of_meter * np.arange(1, len(watts) + 1) + seconds
    ends = every * np.arange(1, samples + 1)
    return frames(ends, {"util_pct": levels}, [(*one, None) for one in zip(stamps, watts, strict=True)])


@pytest.mark.parametrize(
    ("seconds", "of_meter"),
    [(12, 20), (-12, 20), (38, 20), (-38, 20), (46, 20), (7.3, 2), (-7.3, 2), (41, 2), (100, 60), (-126, 60)],
)
def test_a_meter_that_tells_late_is_moved_by_what_it_is_late(seconds, of_meter):
    """Told to a tenth of a third of the shorter interval, or of a fortieth of twice the longer: 0.67 or 0.1 s."""
    found = shared(*late(seconds, of_meter=of_meter))
    assert found.shift_s == pytest.approx(-seconds, abs=1e-6)
    slope, floor, correlation = fit(found.table.drop_nulls())
    assert (slope, floor, correlation) == (pytest.approx(SLOPE), pytest.approx(FLOOR), pytest.approx(1))


@pytest.mark.parametrize(
    "case",
    [
        {"seconds": 60},  # more than twice the interval
        {"seconds": 12, "noise": 150},  # the best correlation is low
        {"seconds": 0.7},  # nothing to gain
        {"seconds": 12, "samples": 10},  # nine intervals
    ],
)
def test_a_meter_is_not_moved_where_that_is_not_clear(case):
    assert shared(*late(**case)).shift_s == 0.0


def test_twelve_samples_tell_a_shift():
    """The first of each stands for nothing; the farther shifts leave too few and do not count."""
    assert shared(*late(8, samples=12)).shift_s == pytest.approx(-8, abs=1e-6)


def test_the_first_column_that_has_numbers_tells_the_shift():
    load, meter = late(12)
    few = pl.Series([1.0, 9.0, 3.0] + [None] * 57, dtype=pl.Float64)
    nothing = pl.lit(None, pl.Float64)
    columns = load.select("time", nothing.alias("used_pct"), "util_pct", few.alias("iops"))
    assert shared(columns, meter).shift_s == pytest.approx(-12, abs=1e-6)


@pytest.mark.parametrize(
    ("count", "watts", "load", "expected"),
    [
        (10, [1, 0], [1, 0], 1.0),
        (10, [0, 5], [1, 0], -1.0),
        (9, [1, 0], [1, 0], NAN),
        (10, [7, 7], [1, 0], NAN),
        (10, [1, 0], [7, 7], NAN),
    ],
)
def test_correlation_needs_ten_intervals_and_two_things_that_change(count, watts, load, expected):
    # The first sample ends where the first reading begins.
    samples, meter = ([(n, n + 1) for n in range(first, count)] for first in (-1, 0))
    loads = np.resize(np.array(load, dtype=float), (count + 1, 1))
    numbers = np.resize(np.array(watts, dtype=float), count + 1)[1:]
    with np.errstate(all="raise"):
        found = power_intervals._correlation(spans(*samples), loads, spans(*meter), numbers)
    assert found == pytest.approx(expected, nan_ok=True)
