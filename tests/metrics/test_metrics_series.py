"""Straight lines through series, by arithmetic: what they say where there is nothing to tell, and of coarse digits."""

from __future__ import annotations

import numpy as np
import pytest

from esxparse.metrics import _series

T_118 = 1.9803
"""Student's t, 97.5 %, of 118 degrees of freedom (a table)."""


def test_one_moment_has_no_line():
    assert _series.trend(np.zeros(3), np.array([1.0, 2.0, 3.0])) == (0.0, np.inf, np.inf, 1.0)


def test_a_flat_line_of_exact_numbers_is_exact():
    found = _series.trend(np.arange(30.0), np.zeros(30))
    assert (found.change, found.reach, found.least_reach) == (0.0, 0.0, 0.0)
    assert 1 <= found.effective <= 30


@pytest.mark.parametrize("count", [120, 240, 480])
def test_a_flat_line_of_whole_numbers_is_known_as_well_as_rounding_lets_it(count):
    """Rounding to 1 has a variance of 1/12; means of `size` values have that over `size`, and a line over n - 2."""
    seconds = np.arange(float(count))
    size = count / 120
    middles = seconds.reshape(120, -1).mean(axis=1)
    apart = middles - middles.mean()
    error = np.sqrt(120 / 12 / size / 118 / (apart @ apart))
    found = _series.trend(seconds, np.full(count, 7.0), half=0.5)
    assert found.change == pytest.approx(0, abs=1e-9)
    assert found.least_reach == pytest.approx(T_118 * error * (count - 1), rel=0.01)
    assert found.reach > found.least_reach


def test_the_change_is_that_of_the_whole_span_whatever_the_blocks():
    for count in (10, 120, 121, 1000):
        seconds = np.linspace(50, 950, count)
        assert _series.trend(seconds, 3 + 0.01 * seconds).change == pytest.approx(9.0)


def test_blocks_are_means_of_neighbours():
    seconds, values = _series.blocks(np.arange(240.0), np.arange(240.0) ** 2)
    assert (len(seconds), len(values)) == (120, 120)
    assert (seconds[0], seconds[-1]) == (0.5, 238.5)
    assert (values[0], values[-1]) == (0.5, (238**2 + 239**2) / 2)
    few = np.arange(120.0)
    assert _series.blocks(few, few)[0] is few


@pytest.mark.parametrize("count", [60, 61])
def test_a_wave_is_as_high_as_it_is_and_noise_has_none(count):
    seconds = np.arange(float(count))
    wave = 100 + 4 * np.sin(2 * np.pi * 5 * seconds / count)
    assert _series.swing(seconds, wave) == pytest.approx(8, rel=0.05)
    assert _series.swing(seconds, wave + 0.5 * seconds) == pytest.approx(8, rel=0.1)
    assert _series.swing(seconds, np.random.default_rng(3).normal(100, 1, count)) == 0
    assert _series.swing(seconds, np.full(count, 5.0)) == 0
    assert _series.swing(np.zeros(count), wave) == pytest.approx(8, rel=0.05)


def test_a_wave_of_two_samples_is_half_of_its_ordinate():
    """The last ordinate of an even number of values is there once, and not twice."""
    values = np.tile([1.0, -1.0], 30)
    # Variance 1, as that of a sine of amplitude sqrt(2).
    assert _series.swing(np.arange(60.0), values) == pytest.approx(2 * np.sqrt(2), rel=0.05)


@pytest.mark.parametrize("count", [3, 7, 24, 120])
def test_what_residuals_of_neighbours_that_are_alike_do_is_what_the_matrices_say(count):
    """The residuals of a line are `R y` with `R = 1 - B B'`: their covariances are those of `R L R`."""
    x = np.arange(float(count)) + np.arange(count) % 3
    x = np.round((x - x.mean()) / np.linalg.norm(x - x.mean()), 9)
    basis = np.column_stack([np.full(count, count**-0.5), x])
    residual = np.eye(count) - basis @ basis.T
    apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    variance, correlation = _series._under_ar1(x.tobytes())
    for place, phi in enumerate(_series._PHI):
        like = np.where(apart == 0, 1.0, phi**apart)
        left = residual @ like @ residual
        assert variance[place] == pytest.approx(x @ like @ x / np.trace(left), rel=1e-10)
        assert correlation[place] == pytest.approx(np.trace(left, offset=1) / np.trace(left), rel=1e-10, abs=1e-12)
