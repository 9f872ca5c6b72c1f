"""Impossible numbers: functions of tables refuse what functions of numbers refuse, and say where."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from esxparse.errors import EsxparseError
from esxparse.metrics import consolidation, cpu_cost, power_cost, replication, scalability_law, scaling

PLAN = {"vms": 15.0, "vm_size_mb": 1e5, "change_pct_per_day": 5.0, "rpo_min": 15.0, "rate_mbit_per_s": 900.0}
YEAR = {"hosts": 20.0, "watts": 170.0, "price_per_kwh": 0.25, "climate_factor": 1.5, "units": 10.0}
COST = {"host_used_pct": 25.0, "idle_used_pct": 1.0, "cpus": 8.0, "mhz": 2400.0, "mb_per_s": 100.0, "iops": 1600.0}
COST |= {"load_hosts": 1.0}
DENSE = {"vms": 90.0, "vcpus": 160.0, "pcpus": 80.0, "pcpu_util_pct": 50.0}


def rows(numbers, **changed):
    """Three rows, of which the second is changed."""
    return pl.LazyFrame([numbers, numbers | changed, numbers])


@pytest.mark.parametrize(
    ("function", "numbers"),
    [(replication.plan, PLAN), (power_cost.yearly, YEAR), (cpu_cost.cost, COST)],
)
def test_every_negative_number_is_refused_with_its_row(function, numbers):
    assert function(rows(numbers)).collect().height == 3
    for name in numbers:
        least = 1 if name == "climate_factor" else 0
        for bad in (-numbers[name], least - 1e-9):
            with pytest.raises(
                EsxparseError, match=rf"^row 2: {name} must be a number of {least} or more, not -?[\d.]+"
            ):
                function(rows(numbers, **{name: bad})).collect()
        assert function(rows(numbers, **{name: float(least)})).collect().height == 3
        assert function(rows(numbers, **{name: None})).collect().height == 3


def test_the_message_says_what_to_do():
    with pytest.raises(
        EsxparseError, match=r"^row 2: vms must be a number of 0 or more, not -15.0: correct it, or leave"
    ):
        replication.plan(rows(PLAN, vms=-15.0)).collect()
    with pytest.raises(EsxparseError, match=r"not 0.5: 1.5 is 50 % on top for cooling$"):
        power_cost.yearly(rows(YEAR, climate_factor=0.5)).collect()
    with pytest.raises(EsxparseError, match=r"^the climate factor must be .* not 0.5: 1.5 is 50 % on top for cooling$"):
        power_cost.energy_kwh_per_year(20, 170, 0.5)
    with pytest.raises(EsxparseError, match=r"^the number of VMs must be a number of 0 or more, not -15$"):
        replication.initial_sync_s(-15, 1e5, 900)


@pytest.mark.parametrize(
    "call",
    [
        lambda curve: consolidation.largest_loads(curve, "vms", {"p95_ms": 100}),
        lambda curve: scaling.efficiency(curve, "vms", "p95_ms"),
        lambda curve: scaling.leaves_linear(curve, "vms", "p95_ms"),
        lambda curve: scalability_law.fits(curve, "vms", "p95_ms"),
    ],
)
def test_a_sweep_over_less_than_nothing_is_refused(call):
    curve = {"vms": [1, 2, 4, 8], "p95_ms": [40.0, 80.0, 130.0, 140.0]}
    assert call(pl.LazyFrame(curve)).collect().height
    with pytest.raises(EsxparseError, match=r"^row 4: vms must be a number of 0 or more, not -15"):
        call(pl.LazyFrame(curve | {"vms": [1, 2, 4, -15]})).collect()


def test_a_host_with_less_than_no_vms_is_refused():
    for name in DENSE:
        load = rows(DENSE, **{name: -1.0}).with_columns(time=pl.lit(datetime(2015, 11, 2, tzinfo=UTC)))
        with pytest.raises(EsxparseError, match=f"^row 2: {name} must be"):
            consolidation.dense_mode(load).collect()


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_divided_by_has_to_be_above_0(bad):
    for call in (
        lambda: replication.transfer_s(1.0, bad),
        lambda: cpu_cost.mhz_per_mbps(25.0, 8, 2400, bad),
        lambda: scaling.scale_up_efficiency(bad, 1.0, 1.0, 1.0),
    ):
        with pytest.raises(EsxparseError, match=f"must be a number above 0, not {bad!r}"):
            call()
