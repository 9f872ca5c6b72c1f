"""The dataset of the talk on NFS and iSCSI in ESX 3.5: its method and summaries, and what its runs show."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

from esxparse.metrics import ratio

study = partial(studied.study, "protocols")
runs = partial(studied.runs, "protocols")

SIZES = [1, 4, 8, 16, 32, 64, 72, 128, 256, 512]


@cache
def against_fc(value: str) -> pl.DataFrame:
    """The ways to storage against Fibre Channel, in 3.5, one row for each and request size."""
    newer = runs().lazy().filter(pl.col("disk") != "vmfs", release="3.5")
    return ratio.ratios(newer, value, ["protocol", "size"], {"protocol": "fc"}).collect()


@cache
def vmfs_against_rdm(value: str) -> pl.DataFrame:
    newer = runs().lazy().filter(release="3.5", protocol="fc")
    return ratio.ratios(newer, value, ["disk", "size"], {"disk": "rdm"}).filter(disk="vmfs").collect()


def test_fibre_channel_has_more_throughput_less_latency_and_costs_less_cpu():
    assert (against_fc("mb_per_s").filter(pl.col("protocol") != "fc")["ratio_high"] < 1).all()
    assert (against_fc("latency_mean_ms").filter(pl.col("protocol") != "fc")["ratio_low"] > 1).all()
    cost = against_fc("used_mhz_per_mbps").filter(pl.col("protocol").is_in(["swiscsi", "nfs"]))
    assert (cost["ratio_low"] > 1).all()
    hardware = against_fc("used_mhz_per_mbps").filter(protocol="hwiscsi")["ratio"].mean()
    assert 1 < hardware < cost["ratio"].min()


def test_vmfs_is_no_slower_than_rdm_by_more_than_two_percent():
    for value in ("mb_per_s", "latency_mean_ms"):
        assert vmfs_against_rdm(value)["ratio"].to_list() == pytest.approx([1.0] * len(SIZES), abs=0.02)
    assert vmfs_against_rdm("used_mhz_per_mbps")["ratio"].to_list() == pytest.approx([1.0] * len(SIZES), abs=0.08)
