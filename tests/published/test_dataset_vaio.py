"""The dataset of the study of a null I/O filter: its published figures, and what its runs show."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex

LATENCY, COST, CYCLES = "median_read_latency_ms", "used_pct_of_core_per_1k_iops", "used_cycles_per_io"
VMS, OIOS = [1, 2, 4, 8, 16, 32], [1, 2, 4, 8, 16, 32, 64, 128]
IN_VM_SWEEP, IN_OIO_SWEEP = pl.col("oio") == 128, pl.col("vms") == 16


@cache
def study():
    return studied.study("vaio")


@cache
def runs():
    return study().runs.collect()


@cache
def compared(column: str):
    """The filter's rows of a comparison with default, by VMs and outstanding I/Os."""
    return study().compare(column).collect().filter(filter="iofilter").sort("vms", "oio")


def test_all_runs_are_computed_and_none_wanders():
    assert runs().height == 81
    assert runs()["gap"].null_count() == 81
    assert set(runs()["samples"]) == {12}
    assert set(runs()["steady"]) == {"steady"}
    assert list(study().notes) == []


def test_the_sweeps_are_whole():
    for sweep, points, label, values in (("vms", IN_VM_SWEEP, "vms", VMS), ("oio", IN_OIO_SWEEP, "oio", OIOS)):
        rows = compared("iops").filter(points)
        assert rows[label].to_list() == values, sweep
        assert set(rows["runs"]) == set(rows["baseline_runs"]) == {3}, sweep


def test_every_point_costs_ten_to_twenty_percent_more_cpu_and_the_repetitions_show_it():
    assert compared(COST)["change_pct"].is_between(10, 20).all()
    assert (compared(COST)["ratio_low"] > 1).all()


def test_only_one_vm_shows_a_difference_of_iops_or_latency():
    for column, verdict in (("iops", "higher"), (LATENCY, "lower")):
        rows = compared(column)
        assert rows.filter(pl.col("verdict") != "no difference shown").select("vms", "verdict").rows() == [(1, verdict)]


def test_the_default_saturates_above_70_thousand_iops_once_one_vcpu_no_longer_limits_it():
    default = runs().filter(pl.col("filter") == "default")
    assert (default.filter(pl.col("vms") > 1, pl.col("oio") > 1)["iops"] > 70_000).all()
    assert (default.filter(vcpus=2)["iops"] > 70_000).all()
    alone = default.filter(vcpus=1, vms=1)
    assert (alone["iops"] < 41_000).all()
    assert (alone["davg_ms"] < 0.45).all()


def test_one_vm_is_limited_by_its_vcpu_and_not_by_the_disk():
    idle = {}
    for name in ("default-1x01vm", "default-1x16vm", "default-2x01vm"):
        groups = ex.open(ex.datasets.folder("vaio") / f"{name}-128oio-1.csv.bz2")["group_cpu"]
        vms = groups.filter(pl.col("group").str.starts_with("ioa-clone"), pl.col("time") > pl.col("time").min())
        idle[name] = vms.select(pl.col("pct_idle").mean()).collect().item()
    assert idle["default-1x01vm"] < 6
    assert idle["default-2x01vm"] > 15
    assert idle["default-1x16vm"] > 80


@pytest.mark.parametrize("oio", OIOS)
def test_as_many_ios_are_under_way_as_iometer_was_told_to_keep(oio):
    rows = runs().filter(oio=oio)
    # a VM with a single I/O under way never has less in flight than one, now and then more
    assert rows["outstanding_by_law"].to_list() == pytest.approx(rows["outstanding"].to_list(), rel=0.06)


def test_what_the_disk_does_not_take_waits_in_the_vmkernel_not_in_the_disk():
    full = runs().filter(vms=32)
    assert (full["davg_ms"] < 0.46).all()
    assert (full["kavg_ms"] > 50).all()
    assert full["gavg_ms"].to_list() == pytest.approx(full["latency_mean_ms"].to_list(), rel=0.01)


def test_the_warm_up_is_slower_and_left_out():
    capture = ex.open(ex.datasets.folder("vaio") / "iofilter-1x16vm-128oio-2.csv.bz2")
    second = (pl.col("time") - pl.col("time").min()).dt.total_seconds()
    disk = capture["physical_disk"].with_columns(second=second).collect()
    first, measured = (
        disk.filter(pl.col("second").is_between(*span))["reads_per_sec"].mean() for span in ((0, 60), (121, 240))
    )
    assert first < 0.85 * measured
    assert runs().filter(filter="iofilter", vms=16, oio=128)["iops"][1] == pytest.approx(measured, rel=0.01)
