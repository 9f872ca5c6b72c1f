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
