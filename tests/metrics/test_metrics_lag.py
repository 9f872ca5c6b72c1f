"""How far two clocks are apart: each step by itself, and series whose shift is known."""

from __future__ import annotations

import numpy as np
import pytest

from esxparse.metrics import _series


def wave(seconds):
    """A load that never repeats itself within an hour."""
    at = np.asarray(seconds, dtype=float)
    return 100 + 30 * np.sin(at / 97) + 20 * np.sin(at / 31) + 10 * np.sin(at / 13)


def sampled(start, end, step, *, late=0.0):
    """Seconds and values of a clock that shows `late` seconds less than the first one does."""
    seconds = np.arange(start, end, step, dtype=float)
    return seconds, wave(seconds + late)


def test_a_finer_series_becomes_means_of_periods():
    seconds, values = _series._smoothed(np.array([1.0, 2, 3, 4, 6]), np.array([10.0, 20, 40, 60, 7]), 2)
    assert seconds.tolist() == [1.5, 3.5, 6.0]
    assert values.tolist() == [15.0, 50.0, 7.0]
    # Periods begin with the series, and not at a multiple of their length.
    seconds, values = _series._smoothed(np.array([0.5, 1.5, 2.5]), np.array([1.0, 3.0, 7.0]), 2)
    assert (seconds.tolist(), values.tolist()) == ([1.0, 2.5], [2.0, 7.0])


def test_a_grid_has_numbers_between_neighbours_and_none_in_gaps_or_outside():
    seconds = np.array([0.0, 1, 3, 10, 11])
    found = _series._gridded(seconds, seconds * 2, start=-0.5, step=1.0, points=13, gap=2.0)
    assert found[1:4].tolist() == [1, 3, 5]
    assert np.isnan(found[[0, 4, 5, 9, 10, 12]]).all()
    assert found[11] == 21


def test_correlations_are_numpys_at_every_lag():
    random = np.random.default_rng(5)
    first, second = random.normal(size=30), random.normal(size=20)
    first[4] = second[7] = np.nan
    found = _series._correlations(first, second, fewest=8)
    assert len(found) == 49
    for place, correlation in enumerate(found):
        at = place - 19
        pairs = [(first[one + at], second[one]) for one in range(20) if 0 <= one + at < 30]
        both = np.array([pair for pair in pairs if np.isfinite(pair).all()])
        if len(both) < 8:
            assert np.isnan(correlation)
        else:
            assert correlation == pytest.approx(np.corrcoef(both.T)[0, 1])


@pytest.mark.parametrize("late", [-120.0, -5.0, 0.0, 35.0, 200.0])
@pytest.mark.parametrize("step", [5.0, 1.0])
def test_a_known_shift_is_found(late, step):
    found = _series.best_lag(sampled(0, 3600, 5.0), sampled(100, 3000, step, late=late), furthest=300, gap=60)
    assert found.seconds == pytest.approx(late, abs=5)
    assert found.step == 5
    assert found.correlation > 0.99
    if abs(late) > 5:
        assert found.unshifted < found.correlation - 0.05
    at = np.arange(300, 2800, 5.0)
    assert found.unshifted == pytest.approx(np.corrcoef(wave(at), wave(at + late))[0, 1], abs=0.08)


def test_no_lag_is_further_than_allowed():
    found = _series.best_lag(sampled(0, 3600, 5.0), sampled(0, 3600, 5.0, late=200), furthest=50, gap=60)
    assert abs(found.seconds) <= 50


def test_of_lags_as_good_as_each_other_the_shortest_is_meant():
    seconds = np.arange(0, 1200, 5.0)
    series = seconds, np.sin(seconds * 2 * np.pi / 60)
    assert _series.best_lag(series, series, furthest=300, gap=60).seconds == 0


def test_series_that_never_met_have_no_correlation_as_they_are():
    first, (seconds, values) = sampled(0, 1200, 5.0), sampled(0, 1200, 5.0)
    found = _series.best_lag(first, (seconds + 5000, values), furthest=6000, gap=60)
    assert (found.seconds, np.isnan(found.unshifted)) == (-5000, True)


def test_what_cannot_tell_tells_nothing():
    long = sampled(0, 1000, 5.0)
    assert _series.best_lag(long, sampled(0, 95, 5.0), 300, 60) is None
    assert _series.best_lag(long, sampled(0, 100, 5.0), 300, 60) is not None
    assert _series.best_lag(long, (long[0], np.full(200, 7.0)), 300, 60) is None
    still = np.zeros(50)
    assert _series.best_lag((still, still), (still, still), 300, 60) is None


@pytest.mark.parametrize("swapped", [False, True])
def test_the_longer_series_says_how_fine_the_search_is(monkeypatch, swapped):
    monkeypatch.setattr(_series, "_MOST_POINTS", 200)
    pair = [sampled(0, 3605, 5.0), sampled(100, 1000, 5.0)]
    found = _series.best_lag(*(pair[::-1] if swapped else pair), furthest=300, gap=60)
    # 3,600 s in 200 points
    assert found.step == 18
