"""The dataset of the studies of monster VMs: orders per minute of Oracle and SQL Server by vCPUs and VMs."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import host_cpu, ratio, scaling

SHAPE = ["database", "vsphere", "sharing", "vms", "vcpus"]
BUSY_PCT = 10.0
"""From here a PCPU counts as one that the VM runs on; the others do the VMkernel's work, under 1 %."""


@cache
def study():
    return studied.study("monster")


@cache
def orders():
    """Orders per minute of the whole host, one row for each repetition of a shape."""
    per_host = study().results.group_by(*SHAPE, "repetition", maintain_order=True).agg(pl.col("value").sum())
    return per_host.rename({"value": "opm"}).collect()


@cache
def shape(**labels: object):
    return study().runs.filter(**labels).collect().row(0, named=True)


@cache
def busy_pcpus(sharing: str, vcpus: int) -> int:
    capture = ex.open(ex.datasets.folder("monster") / f"oracle-6.0-{sharing}-{vcpus}x1.csv.bz2")
    pcpus = host_cpu.pcpu(capture["physical_cpu"]).filter(pl.col("pcpu").is_not_null())
    util = pcpus.group_by("pcpu").agg(pl.col("util_pct").mean()).collect()["util_pct"]
    return int((util > BUSY_PCT).sum())


def opm(**labels: object) -> float:
    return orders().filter(**labels)["opm"].mean()


def test_all_runs_are_computed_and_there_is_nothing_to_say_of_them():
    runs = study().runs.collect()
    assert study().notes == ()
    assert runs["gap"].null_count() == runs.height == 12
    assert runs.filter(pl.col("samples").is_not_null())["samples"].to_list() == [12] * 10
    assert orders().group_by(SHAPE).len()["len"].to_list() == [3] * 12


def test_the_fair_pair_measures_scaling_up_and_the_unfair_one_hyper_threads():
    largest, half = opm(sharing="thread", vcpus=120), opm(sharing="thread", vcpus=60)
    fair = scaling.scale_up_efficiency(120, largest, 60, half)
    unfair = scaling.scale_up_efficiency(120, largest, 60, opm(sharing="core", vcpus=60))
    assert fair == pytest.approx(studied.here("monster")["oracle_efficiency_120_of_60"])
    assert fair > 0.95
    assert unfair == pytest.approx(0.62, abs=0.01)
    # the threads of 60 cores together do a quarter more than the cores
    assert 2 * unfair == pytest.approx(1.24, abs=0.02)


def test_the_two_vms_of_60_vcpus_have_as_many_pcpus_but_not_as_many_cores():
    assert busy_pcpus("thread", 60) == 60
    assert busy_pcpus("core", 60) == 120
    assert shape(sharing="thread", vcpus=60)["host_core_util_pct"] < 40
    assert shape(sharing="core", vcpus=60)["host_core_util_pct"] > 60


def test_sql_server_does_less_in_fewer_larger_vms_and_waits_more():
    table = orders().filter(sharing="host")
    found = ratio.ratios(table.lazy(), "opm", ["vms", "vcpus"], {"vms": 8, "vcpus": 8}, within=[]).collect()
    assert found["vms"].to_list() == [8, 4, 2, 1]
    assert found["ratio"].is_sorted(descending=True)
    assert set(found["verdict"][2:]) == {"lower"}
    waits = study().runs.filter(sharing="host").sort("vcpus").collect()
    assert waits["costop_pct"].is_sorted()
    assert waits["vcpus_per_core"].to_list() == [1.6] * 4
    # what they do less is what their vCPUs ran less
    ran = waits["host_util_pct"] / waits["host_util_pct"][0]
    assert found["ratio"].to_list() == pytest.approx(ran.to_list(), abs=0.02)


def test_vms_that_are_alike_do_alike():
    per_vm = study().results.filter(sharing="host", vcpus=8).group_by("test").agg(pl.col("value").mean()).collect()
    assert per_vm.height == 8
    assert per_vm["value"].max() / per_vm["value"].min() < 1.02


def test_a_vm_of_eight_vcpus_against_that_of_the_2009_study():
    """No figure of 2009 is in the text: the ratio is of made-up numbers, and of two hosts as well as two releases."""
    alone = orders().filter(sharing="alone")
    found = scaling.generation_ratio(alone.lazy(), "opm", "vsphere", "4.0", ["vcpus"]).collect()
    newer = found.filter(vsphere="5.5").row(0, named=True)
    assert newer["ratio"] == pytest.approx(2.57, abs=0.01)
    assert newer["verdict"] == "higher"
    # alone it has cores to itself, and does more than as one of eight
    assert newer["mean"] > 1.3 * studied.here("monster")["sql_opm_per_vm"]
