"""The dataset of the study of Virtual SAN 6.0: five access specifications scale linearly with hosts and disk groups."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

from esxparse.metrics import storage_laws

SPECS = ("4k-read", "4k-70-30", "256k-seq-read", "256k-seq-write", "256k-seq-70-30")


@cache
def study():
    return studied.study("vsan")


@cache
def runs() -> pl.DataFrame:
    return study().runs.collect()


def test_all_runs_are_computed_from_all_hosts_and_are_steady():
    assert runs().height == 2 * 5 * 4
    assert runs()["gap"].null_count() == runs().height
    assert study().notes == ()
    assert (runs()["throughput_from"] == "iometer").all()
    # Sixteen hosts with two workers of 32 (4 KiB) or 8 (256 KiB) each.
    most = runs().filter(hosts=16)
    assert dict(most.group_by("spec").agg(pl.col("outstanding").first()).rows()) == {
        spec: 16 * 2 * (32 if spec.startswith("4k") else 8) for spec in SPECS
    }


def test_no_workload_leaves_the_line():
    left = study().leaves_linear("hosts", "iops").filter(disk_groups=1).collect()
    assert left["linear_up_to"].to_list() == [16] * 10
    assert left["leaves_at"].null_count() == 10


def test_latency_stays_where_it_was():
    for rows in runs().filter(disk_groups=1).partition_by("type", "spec"):
        latency = rows["latency_mean_ms"]
        assert latency.max() == pytest.approx(latency.min(), rel=0.02)


def test_littles_law_holds_over_the_whole_cluster():
    assert runs()["outstanding_by_law"].to_list() == pytest.approx(runs()["outstanding"].to_list(), rel=0.03)


def test_esxtop_of_the_first_host_shows_its_share_on_the_ssd():
    """Reads reach the disks of an even cluster once, writes twice."""
    one = runs().filter(pl.col("disk_groups") == 1, pl.col("spec").is_in(["4k-read", "256k-seq-write"]))
    own = one["iops"] / one["hosts"] * one["spec"].replace_strict({"4k-read": 1, "256k-seq-write": 2})
    # The host's logs on its boot device are among them.
    assert one["host_iops"].to_list() == pytest.approx((own + 10.5).to_list(), rel=0.05)


def test_the_bounds_of_a_cluster_are_those_of_its_specifications():
    sixteen = (
        study().runs.filter(hosts=16, type="all-flash").with_columns(bandwidth_bytes_per_s=pl.col("mb_per_s") * 1e6)
    )
    bounds = storage_laws.upper_bounds(sixteen).collect().row(0, named=True)
    assert bounds["small_iops"] == runs().filter(hosts=16, type="all-flash", spec="4k-read")["iops"].item()
    assert bounds["mb_per_s"] == pytest.approx(
        runs().filter(hosts=16, type="all-flash", spec="256k-seq-read")["mb_per_s"].item()
    )


def test_all_flash_is_ahead_of_hybrid_in_each():
    ahead = runs().pivot("type", index=["spec", "hosts", "disk_groups"], values="iops")
    assert (ahead["all-flash"] > ahead["hybrid"]).all()
