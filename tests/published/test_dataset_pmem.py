"""The dataset of the study of persistent memory: fio native and in a VM."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import ratio

TESTS = ("randread-4k", "randwrite-4k", "randrw-4k", "read-512k", "write-512k")


@cache
def study():
    return studied.study("pmem")


@cache
def in_vm(column: str) -> pl.DataFrame:
    """The VM's rows of a comparison with native, those tests that have the column."""
    return study().compare(column).filter(pl.col("platform") == "vm", pl.col("ratio").is_not_null()).collect()


def performance(column: str) -> float:
    """Virtual-to-native over all tests, of a column where lower is better."""
    rows = in_vm(column).select("mean", "baseline_mean").rows()
    return ratio.geometric_mean([ratio.performance(*pair, higher_is_better=False) for pair in rows])


def test_all_runs_are_computed_and_nothing_is_wrong():
    runs = study().runs.collect()
    assert runs.group_by("platform").len().sort("platform").rows() == [("native", 15), ("vm", 15)]
    assert runs["gap"].null_count() == runs.height
    assert study().notes == ()


def test_large_blocks_show_no_difference_and_small_ones_a_little():
    verdicts = dict(in_vm("mb_per_s").select("test", "verdict").rows())
    assert [verdicts[test] for test in TESTS] == [*["lower"] * 3, *["no difference shown"] * 2]


def test_littles_law_tells_of_eight_jobs():
    """A job computes between its I/Os: somewhat less than one of each is under way."""
    runs = study().runs.collect()
    assert runs["outstanding"].unique().to_list() == [8]
    assert runs["outstanding_by_law"].is_between(7.4, 8.0).all()


def test_percentiles_are_in_order_and_about_the_mean():
    for name in ("native-randread-4k-1.json", "vm-randread-4k-1.json"):
        table = ex.open(ex.datasets.folder("pmem") / name)["percentiles"].collect().sort("percentile")
        assert table["latency_ms"].is_sorted()
        assert table.filter(percentile=50.0)["latency_ms"].item() == pytest.approx(0.0024, rel=0.05)


def test_the_host_sees_cpu_time_and_no_io():
    vm = study().runs.filter(platform="vm").collect()
    # The host's own logs and the guest's system disk; fio does three million a second in the guest.
    assert (vm["host_iops"] < 20).all()
    # Eight vCPUs of 56 threads.
    assert vm["host_util_pct"].to_list() == pytest.approx([100 * 8 * 0.93 / 56] * 15, rel=0.05)
