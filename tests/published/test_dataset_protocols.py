"""The dataset of the talk on NFS and iSCSI in ESX 3.5: its method and summaries, and what its runs show."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import ratio

SIZES = [1, 4, 8, 16, 32, 64, 72, 128, 256, 512]


@cache
def study():
    return studied.study("protocols")


@cache
def runs() -> pl.DataFrame:
    return study().runs.collect()


@cache
def against_30(value: str, protocol: str) -> pl.DataFrame:
    """ESX 3.5 against 3.0, one row for each request size."""
    return study().compare(value).filter(release="3.5", protocol=protocol).filter(pl.col("disk") != "vmfs").collect()


@cache
def against_fc(value: str) -> pl.DataFrame:
    """The ways to storage against Fibre Channel, in 3.5, one row for each and request size."""
    newer = runs().lazy().filter(pl.col("disk") != "vmfs", release="3.5")
    return ratio.ratios(newer, value, ["protocol", "size"], {"protocol": "fc"}).collect()


@cache
def vmfs_against_rdm(value: str) -> pl.DataFrame:
    newer = runs().lazy().filter(release="3.5", protocol="fc")
    return ratio.ratios(newer, value, ["disk", "size"], {"disk": "rdm"}).filter(disk="vmfs").collect()


def test_all_runs_are_computed_and_nothing_is_to_be_said_of_them():
    assert runs().height == 2 * 5 * 3 * len(SIZES)
    assert runs()["gap"].null_count() == runs().height
    assert set(runs()["samples"]) == {6}
    assert study().notes == ()


def test_cpu_cost_is_the_talks_formula():
    """MHz/MBps = (physical CPU use / 100 %) x CPUs x MHz / MBps, from the capture's own columns."""
    capture = ex.open(ex.datasets.folder("protocols") / "3.5-swiscsi-rdm-2.csv.bz2")
    run = runs().filter(release="3.5", protocol="swiscsi", repetition=2, size=64).row(0, named=True)
    mine = pl.col("time").is_between(run["start"], run["end"], closed="right")
    use = (
        capture["physical_cpu"]
        .filter(mine, instance="_Total")
        .select(pl.col("pct_processor_time").mean())
        .collect()
        .item()
    )
    assert run["used_mhz_per_mbps"] == pytest.approx(use / 100 * 8 * 2400 / run["mb_per_s"], rel=1e-3)


def test_small_ios_gain_most_latency_and_large_ones_most_cpu():
    for protocol in ("swiscsi", "hwiscsi"):
        latency, cost = (
            against_30(value, protocol).sort("size") for value in ("latency_mean_ms", "used_cycles_per_io")
        )
        assert latency["ratio"].head(3).mean() < latency["ratio"].tail(3).mean() - 0.05
        assert cost["ratio"].tail(3).mean() < cost["ratio"].head(3).mean() - 0.05
    assert set(against_30("used_cycles_per_io", "swiscsi")["verdict"]) == {"lower"}


def test_fibre_channel_has_more_throughput_less_latency_and_costs_less_cpu():
    assert (against_fc("mb_per_s").filter(pl.col("protocol") != "fc")["ratio_high"] < 1).all()
    assert (against_fc("latency_mean_ms").filter(pl.col("protocol") != "fc")["ratio_low"] > 1).all()
    cost = against_fc("used_mhz_per_mbps").filter(pl.col("protocol").is_in(["swiscsi", "nfs"]))
    assert (cost["ratio_low"] > 1).all()
    hardware = against_fc("used_mhz_per_mbps").filter(protocol="hwiscsi")["ratio"].mean()
    assert 1 < hardware < cost["ratio"].min()


def test_the_wire_limits_software_iscsi_and_nfs_from_16_kb_on():
    """Half the bytes go each way: twice what 1 GbE carries one way, and the ports show it."""
    full = runs().filter(pl.col("size") >= 16, pl.col("protocol").is_in(["swiscsi", "nfs"]), release="3.5")
    assert full["mb_per_s"].min() > 225
    assert full["mb_per_s"].max() < 2 * 117.7
    assert full["tx_mbit_per_s"].to_list() == pytest.approx([976] * full.height, rel=0.02)
    assert runs().filter(protocol="fc")["tx_mbit_per_s"].max() < 1


def test_vmfs_is_no_slower_than_rdm_by_more_than_two_percent():
    for value in ("mb_per_s", "latency_mean_ms"):
        assert vmfs_against_rdm(value)["ratio"].to_list() == pytest.approx([1.0] * len(SIZES), abs=0.02)
    assert vmfs_against_rdm("used_mhz_per_mbps")["ratio"].to_list() == pytest.approx([1.0] * len(SIZES), abs=0.08)


def test_esxtop_saw_what_iometer_measured():
    block = runs().filter(pl.col("protocol") != "nfs")
    # ten commands a second of hostd's logs are among the fewest, those of 512 KB
    assert block["gavg_ms"].to_list() == pytest.approx(block["latency_mean_ms"].to_list(), rel=0.04)
    # ESX 3.5 shows no NFS volumes among its disks: what is left there are the host's own logs.
    assert runs().filter(protocol="nfs")["host_iops"].max() < 20
