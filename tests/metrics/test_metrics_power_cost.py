"""Cost of power over a year, and policies beside the ready time they cost."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import power_cost

AMOUNT = st.floats(0, 1e5)


def policies(**changed):
    columns = {
        "policy": ["dynamic", "static high"],
        "hosts": [20, 20],
        "watts": [170, 230],
        "price_per_kwh": [0.25, 0.25],
        "climate_factor": [1.5, 1.5],
        "units": [1000, 1000],
        "ready_pct": [2.0, 1.0],
        "costop_pct": [0.0, 0.0],
    }
    return pl.LazyFrame(columns | changed)


@settings(deadline=None)
@given(hosts=st.integers(0, 1000), watts=AMOUNT, price=st.floats(0, 10), climate=st.floats(1, 3))
def test_scalar_and_table_agree(hosts, watts, price, climate):
    row = {"hosts": [hosts], "watts": [watts], "price_per_kwh": [price], "climate_factor": [climate]}
    got = power_cost.yearly(pl.LazyFrame(row)).collect().row(0, named=True)
    assert got["energy_kwh_per_year"] == pytest.approx(power_cost.energy_kwh_per_year(hosts, watts, climate))
    assert got["cost_per_year"] == pytest.approx(power_cost.cost_per_year(hosts, watts, price, climate))


@given(hosts=st.integers(1, 1000), watts=st.floats(1, 2000), price=st.floats(0.01, 1), times=st.integers(2, 9))
def test_cost_grows_in_proportion(hosts, watts, price, times):
    once = power_cost.cost_per_year(hosts, watts, price)
    assert power_cost.cost_per_year(hosts * times, watts, price) == pytest.approx(once * times)
    assert power_cost.cost_per_year(hosts, watts * times, price) == pytest.approx(once * times)


def test_one_kilowatt_for_a_year_is_8760_kwh():
    assert power_cost.energy_kwh_per_year(1, 1000) == 8760


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((-1, 170, 0.25, 1.5), "hosts must be a number of 0 or more"),
        ((20, math.nan, 0.25, 1.5), "watts must be"),
        ((20, 170, -0.25, 1.5), "price_per_kwh must be"),
        ((20, 170, 0.25, 0.5), "climate factor must be a number of 1 or more"),
        ((20, 170, 0.25, math.inf), "climate factor must be a number of 1 or more"),
    ],
)
def test_numbers_that_cannot_be_are_refused(arguments, said):
    with pytest.raises(EsxparseError, match=said):
        power_cost.cost_per_year(*arguments)


@pytest.mark.parametrize("units", [0, -5, math.nan])
def test_power_is_not_shared_among_none(units):
    with pytest.raises(EsxparseError, match="cannot be divided by"):
        power_cost.watts_per_unit(20, 170, units)


def test_lacking_numbers_are_null_and_no_climate_is_1():
    table = pl.LazyFrame({"hosts": [1, 1, None], "watts": [1000.0, None, 5.0], "units": [0, 1, 1]})
    got = power_cost.yearly(table).collect()
    assert got["energy_kwh_per_year"].to_list() == [8760, None, None]
    assert got["cost_per_year"].to_list() == [None] * 3
    assert got["watts_per_unit"].to_list() == [None] * 3


def test_a_saving_stands_beside_its_penalty():
    dynamic, static = power_cost.compare_policies(policies(), baseline="static high").collect().to_dicts()
    assert (dynamic["saved_watts"], dynamic["saved_cost_per_year"]) == (60, 3942)
    assert dynamic["saved_pct"] == pytest.approx(60 / 230 * 100)
    assert (dynamic["ready_ms"], static["ready_ms"]) == (400, 200)
    assert (dynamic["ready_penalty_pct"], dynamic["ready_penalty_ms"]) == (1, 200)
    assert (dynamic["watts_per_unit"], static["watts_per_unit"]) == (3.4, 4.6)
    assert (static["saved_cost_per_year"], static["ready_penalty_ms"]) == (0, 0)
    assert dynamic["meets_targets"]
    with_costop = power_cost.compare_policies(policies(costop_pct=[0.25, 0.0]), baseline="static high").collect()
    assert with_costop["costop_pct"].to_list() == [0.25, 0.0]


def test_turned_around_the_saving_is_a_cost():
    got = power_cost.compare_policies(policies(), baseline="dynamic").collect()
    assert got["saved_cost_per_year"].to_list() == [0, -3942]
    assert got["ready_penalty_pct"].to_list() == [0, -1]


@pytest.mark.parametrize(
    ("ready", "costop", "meets"),
    [
        (3.0, 0.0, True),
        # Targets are printed in whole percent.
        (3.49, 0.49, True),
        (3.5, 0.0, False),
        (1.0, 0.5, False),
        (None, 0.0, None),
        (1.0, None, None),
        (1.0, math.nan, None),
        (math.nan, 0.0, None),
        (3.5, None, False),
        (None, 0.5, False),
        (None, None, None),
    ],
)
def test_targets_are_3_percent_ready_and_0_percent_costop_as_printed(ready, costop, meets):
    table = policies(
        ready_pct=pl.Series([ready, 1.0], dtype=pl.Float64), costop_pct=pl.Series([costop, 0.0], dtype=pl.Float64)
    )
    got = power_cost.compare_policies(table, baseline="static high").collect()
    assert got["meets_targets"][0] is meets


def test_power_alone_compares_without_ready():
    table = policies().drop("ready_pct", "costop_pct", "units")
    got = power_cost.compare_policies(table, baseline="static high").collect()
    assert got["saved_cost_per_year"].to_list() == [3942, 0]
    assert got["ready_penalty_ms"].to_list() == [None, None]
    assert got["meets_targets"].to_list() == [None, None]


def test_a_capture_without_costop_does_not_meet_the_target_of_none():
    got = power_cost.compare_policies(policies().drop("costop_pct"), baseline="static high").collect()
    assert got["meets_targets"].to_list() == [None, None]


@pytest.mark.parametrize(("names", "rows"), [(["dynamic", "dynamic"], 0), (["static high", "static high"], 2)])
def test_the_baseline_must_be_one(names, rows):
    compared = power_cost.compare_policies(policies(policy=names), baseline="static high")
    assert isinstance(compared, pl.LazyFrame)
    with pytest.raises(EsxparseError, match=f"'static high' must be in exactly one row, not {rows}; policies: '"):
        compared.collect()


def test_other_charts_have_other_intervals():
    got = power_cost.compare_policies(policies(), baseline="static high", interval_s=300).collect()
    assert got["ready_ms"].to_list() == [6000, 3000]
