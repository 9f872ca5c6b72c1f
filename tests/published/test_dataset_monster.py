"""The dataset of the studies of monster VMs: orders per minute of Oracle and SQL Server by vCPUs and VMs."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import host_cpu, scaling

study = partial(studied.study, "monster")

SHAPE = ["database", "vsphere", "sharing", "vms", "vcpus"]
BUSY_PCT = 10.0
"""From here a PCPU counts as one that the VM runs on; the others do the VMkernel's work, under 1 %."""


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


def test_a_vm_of_eight_vcpus_against_that_of_the_2009_study():
    """No figure of 2009 is in the text: the ratio is of made-up numbers, and of two hosts as well as two releases."""
    alone = orders().filter(sharing="alone")
    found = scaling.generation_ratio(alone.lazy(), "opm", "vsphere", "4.0", ["vcpus"]).collect()
    newer = found.filter(vsphere="5.5").row(0, named=True)
    assert newer["ratio"] == pytest.approx(2.57, abs=0.01)
    assert newer["verdict"] == "higher"
    # alone it has cores to itself, and does more than as one of eight
    assert newer["mean"] > 1.3 * studied.here("monster")["sql_opm_per_vm"]
