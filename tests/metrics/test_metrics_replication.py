"""Replication: times, windows and the RPO."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import replication

SETUP = {"vms": [15], "change_pct_per_day": [5.0], "rpo_min": [15.0]}


def planned(evenly=False, **columns):
    return replication.plan(pl.LazyFrame(SETUP | columns), evenly=evenly).collect().row(0, named=True)


@given(change=st.floats(0, 1e9), rate=st.floats(1e-3, 1e5), rpo=st.floats(15, 1440))
def test_what_fits_has_headroom_and_the_rate_it_needs(change, rate, rpo):
    fit = replication.rpo_fit(change, rate, rpo)
    assert fit.fits == (fit.headroom_min >= 0)
    assert fit.needed_min + fit.headroom_min == pytest.approx(rpo / 2, abs=1e-6 * fit.needed_min + 1e-9)
    if fit.needed_mb_per_s > 0:
        assert replication.transfer_s(change, fit.needed_mb_per_s) / 60 == pytest.approx(rpo / 2)


def test_a_transfer_may_take_half_the_rpo():
    """Started at 12:00 and there at 12:10, a copy is too old at 12:15, five minutes before the next one is there."""
    assert replication.rpo_fit(7.5 * 60, 1, 15).fits
    assert not replication.rpo_fit(7.5 * 60 + 1, 1, 15).fits
    inside = replication.rpo_fit(76_800, 112.625, 15)
    assert (inside.allowed_min, inside.fits) == (7.5, False)
    assert inside.headroom_min == pytest.approx(7.5 - 76_800 / 112.625 / 60)
    assert inside.headroom_pct == pytest.approx(100 * (1 - 76_800 / 112.625 / 450))
    assert inside.needed_mb_per_s == pytest.approx(76_800 / 450)
    just = planned(vm_size_mb=[102_400.0], rate_mb_per_s=[76_800 / 450])
    assert (just["allowed_min"], just["fits_rpo"]) == (7.5, True)
    assert (just["headroom_min"], just["headroom_pct"]) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))
    assert just["needed_mbit_per_s"] == pytest.approx(8 * 76_800 / 450)


@pytest.mark.parametrize("rpo", [1, 14.9, 1441, 3000])
def test_an_rpo_that_cannot_be_set_has_no_verdict(rpo):
    """The source: "RPO (Recovery Point Objective = data that can be lost): 15min - 24hours"."""
    with pytest.raises(EsxparseError, match=r"RPO in minutes must be from 15 to 1440 \(24 hours\)"):
        replication.rpo_fit(1, 1, rpo)
    assert planned(vm_size_mb=[1.0], rate_mb_per_s=[1.0], rpo_min=[float(rpo)])["fits_rpo"] is None


@pytest.mark.parametrize("rpo", [15, 1440])
def test_the_shortest_and_the_longest_rpo_are_taken(rpo):
    assert replication.rpo_fit(1, 1, rpo).fits
    assert planned(vm_size_mb=[1.0], rate_mb_per_s=[1.0], rpo_min=[float(rpo)])["fits_rpo"]


@pytest.mark.parametrize("rpo", [0.0, None])
def test_an_unknown_rpo_has_no_verdict(rpo):
    row = planned(vm_size_mb=[1.0], rate_mb_per_s=[1.0], rpo_min=pl.Series([rpo], dtype=pl.Float64))
    told = ("allowed_min", "fits_rpo", "headroom_min", "headroom_pct", "needed_mbit_per_s")
    assert [row[name] for name in told] == [None] * 5


@settings(deadline=None)
@given(vms=st.integers(0, 500), size=st.floats(1, 1e6), change=st.floats(0, 200), rate=st.floats(0.1, 1e4))
def test_the_table_says_what_the_functions_say(vms, size, change, rate):
    row = planned(vms=[vms], vm_size_mb=[size], change_pct_per_day=[change], rate_mb_per_s=[rate])
    changed = replication.daily_change_mb(vms, size, change)
    fit = replication.rpo_fit(changed, rate, 15)
    assert row["initial_sync_h"] == pytest.approx(replication.initial_sync_s(vms, size, rate) / 3600)
    assert row["window_change_mb"] == pytest.approx(changed)
    assert row["replication_min"] == pytest.approx(fit.needed_min)
    assert row["headroom_min"] == pytest.approx(fit.headroom_min, abs=1e-9)
    assert row["headroom_pct"] == pytest.approx(fit.headroom_pct, abs=1e-9)
    assert row["needed_mbit_per_s"] == pytest.approx(fit.needed_mb_per_s * 8)


def test_an_even_spread_asks_for_little_in_each_window():
    assert replication.window_share(15) == 15 / 1440
    assert replication.window_share(2880) == 1
    row = planned(evenly=True, vm_size_mb=[102_400.0], rate_mbit_per_s=[440.0])
    assert (row["window_change_mb"], row["fits_rpo"]) == (pytest.approx(800), True)
    assert row["replication_min"] * 60 == pytest.approx(800 / 55)


def test_mebibytes_are_not_taken_for_megabytes():
    megabytes = planned(vm_size_mb=[102_400.0], rate_mb_per_s=[55.0])
    mebibytes = planned(vm_size_mib=[102_400.0], rate_mb_per_s=[55.0])
    assert mebibytes["replication_min"] / megabytes["replication_min"] == pytest.approx(1.048576)


def test_a_run_without_throughput_leaves_a_gap_and_the_others_stand():
    table = pl.LazyFrame({name: one * 3 for name, one in SETUP.items()}).with_columns(
        vm_size_mb=pl.Series([100.0] * 3), rate_mb_per_s=pl.Series([0.0, None, 10.0])
    )
    got = replication.plan(table).collect()
    assert got["fits_rpo"].to_list() == [None, None, True]
    assert got["initial_sync_h"].to_list() == [None, None, pytest.approx(150 / 3600)]
    assert got["needed_mbit_per_s"].to_list() == [pytest.approx(75 * 8 / 450)] * 3


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"vm_size_mb": [1.0]}, "one of rate_mb_per_s or rate_mbit_per_s, and has neither"),
        ({"vm_size_mb": [1.0], "rate_mb_per_s": [1.0], "rate_mbit_per_s": [8.0]}, "rate_mbit_per_s, and has both"),
        ({"vm_size_mb": [1.0], "vm_size_mib": [1.0], "rate_mb_per_s": [1.0]}, "vm_size_mib, and has both"),
    ],
)
def test_sizes_and_rates_in_two_units_are_refused(columns, said):
    with pytest.raises(EsxparseError, match=said):
        planned(**columns)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_zero_throughput_and_rpo_are_refused(bad):
    with pytest.raises(EsxparseError, match="rate of the transfer"):
        replication.transfer_s(100, bad)
    with pytest.raises(EsxparseError, match="RPO in minutes"):
        replication.rpo_fit(100, 10, bad)
    with pytest.raises(EsxparseError, match="RPO in minutes"):
        replication.window_share(bad)


def test_negative_sizes_are_refused():
    with pytest.raises(EsxparseError, match="size in MB"):
        replication.transfer_s(-1, 10)
    with pytest.raises(EsxparseError, match=r"^the number of VMs must be"):
        replication.initial_sync_s(-1, 10, 10)
    with pytest.raises(EsxparseError, match="percent changed a day"):
        replication.daily_change_mb(1, 1, -5)
