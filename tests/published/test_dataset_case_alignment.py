"""The dataset of the talk's second case study: its figures, and the way to the partition step by step."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import alignment


@cache
def study():
    return studied.study("case-alignment")


@cache
def runs() -> pl.DataFrame:
    return study().runs.collect()


@cache
def random_of_sequential(value: str, machine: str, disk: str, op: str):
    compared = study().compare(value).filter(machine=machine, disk=disk, op=op, pattern="random")
    return compared.collect().row(0, named=True)


@cache
def writes(machine: str) -> pl.LazyFrame:
    """All WRITE requests of the traces, random and sequential."""
    traces = sorted(ex.datasets.folder("case-alignment").glob(f"{machine}-large-*-write-*.tshark.tsv"))
    return pl.concat([ex.open(path)["nfs"].with_columns(trace=pl.lit(path.name)) for path in traces])


def aligned(machine: str, boundary: int) -> float:
    return alignment.shares(writes(machine), [boundary]).collect()["aligned_requests_pct"].item()


def mean(column: str, pattern: str, **labels: str) -> float:
    labels = {"machine": "esx", "disk": "large", "op": "write", **labels}
    return runs().filter(pattern=pattern, **labels)[column].mean()


@pytest.mark.search
def test_the_diagnosis_is_the_published_one():
    (found,) = ex.diagnose(study())
    assert found.trouble == "storage.misaligned"
    assert found.severity == "critical"
    assert found.against == ()


def test_all_runs_are_computed_and_nothing_is_to_be_said_of_them():
    assert runs().height == 30
    assert runs()["gap"].null_count() == 30
    assert set(runs()["samples"].drop_nulls()) == {12}
    assert study().notes == ()


def test_only_random_writes_to_the_large_vmdk_are_slow():
    iops = study().compare("iops").filter(pattern="random").collect()
    slow = iops.filter(pl.col("ratio") < 0.9)
    assert slow.select("machine", "disk", "op").rows() == [("esx", "large", "write")]
    assert slow["verdict"].item() == "lower"
    assert iops.filter(pl.col("ratio") >= 0.9)["ratio"].is_between(0.98, 1.02).all()


def test_the_host_uses_less_cpu_and_as_much_for_each_io():
    assert mean("host_used_pct", "random") < mean("host_used_pct", "sequential") / 5
    cost = random_of_sequential("used_above_idle_cycles_per_io", "esx", "large", "write")
    assert cost["verdict"] == "no difference shown"
    # without subtracting the idle host it would look twice as dear
    assert random_of_sequential("used_cycles_per_io", "esx", "large", "write")["ratio"] > 1.5


def test_the_server_finds_little_in_its_cache_for_random_writes_alone():
    hits = runs().filter(pl.col("nfs_server_cache_hit_pct").is_not_null())
    low = pl.col("nfs_server_cache_hit_pct") < 95
    assert hits.height == 12
    assert set(hits.filter(low).select("op", "pattern").rows()) == {("write", "random")}
    # 3 GB of cache, and 3 GB of new blocks with four times as many old ones beside them
    assert mean("nfs_server_cache_hit_pct", "random") == pytest.approx(100 / 5, abs=2)


def test_the_network_lost_nothing_and_the_server_took_the_time():
    traced = runs().filter(pl.col("wire_write_p50_ms").is_not_null())
    assert traced.height == 12
    assert traced["tcp_retransmissions"].sum() == 0
    assert traced["wire_unanswered"].sum() == 0
    assert set(traced["wire_write_size_bytes"]) == {1024}
    assert mean("wire_write_p50_ms", "random") == pytest.approx(mean("latency_mean_ms", "random"), rel=0.15)


def test_offsets_tell_of_a_partition_that_begins_at_sector_63():
    shifted = alignment.remainders(writes("esx"), 1024).collect()
    assert shifted.select("remainder_bytes", "requests_pct").rows() == [(63 * 512 % 1024, 100.0)]
    assert writes("esx").select(pl.col("offset_bytes").min()).collect().item() >= 63 * 512
    assert alignment.remainders(writes("native"), 1024).collect()["remainder_bytes"].to_list() == [0]


def test_alignment_alone_does_not_tell_native_from_esx_at_4_kb():
    """1 KB never fills a block of 4 KB: three of four aligned writes begin inside one, and none covers it."""
    assert aligned("native", 4096) == pytest.approx(25, abs=5)
    ends = pl.col("offset_bytes") + pl.col("size_bytes") - 1
    crossing = (pl.col("offset_bytes") // 4096 != ends // 4096).mean() * 100
    assert writes("esx").select(crossing).collect().item() == pytest.approx(25, abs=5)
    assert writes("native").select(crossing).collect().item() == 0
