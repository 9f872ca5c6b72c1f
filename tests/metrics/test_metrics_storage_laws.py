"""Laws of storage results, and the bounds of a baseline."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import storage_laws as laws

RATE = st.floats(0.1, 1e6)
MS = st.floats(0.01, 1e4)


@given(iops=RATE, ms=MS)
def test_littles_law_in_its_three_forms(iops, ms):
    under_way = laws.outstanding(iops, ms)
    assert laws.latency_ms(under_way, iops) == pytest.approx(ms)
    assert laws.iops_limit(under_way, ms) == pytest.approx(iops)


@pytest.mark.parametrize("bad", [0, -1, math.nan])
def test_nothing_done_has_no_latency(bad):
    with pytest.raises(EsxparseError, match="there was no I/O"):
        laws.latency_ms(1, bad)
    with pytest.raises(EsxparseError, match="is no limit"):
        laws.iops_limit(1, bad)


def test_throughput_is_never_negative():
    assert laws.mb_per_s(0, 4096) == laws.mb_per_s(5, 0) == 0
    assert laws.mb_per_s(0.5, 0.5) == 0.25e-6
    with pytest.raises(EsxparseError, match="0 or more"):
        laws.mb_per_s(1, -0.5)
    with pytest.raises(EsxparseError, match="0 or more"):
        laws.mb_per_s(-1, 4096)


@settings(deadline=None)
@given(davg=st.floats(0, 1000), kavg=st.floats(0, 100))
def test_rounding_to_two_decimals_does_not_break_the_sum(davg, kavg):
    row = {"gavg_ms": [round(davg + kavg, 2)], "davg_ms": [round(davg, 2)], "kavg_ms": [round(kavg, 2)]}
    assert laws.check_gavg(pl.LazyFrame(row)).collect()["gavg_agrees"].item()


def test_a_sum_that_is_off_shows_by_how_much_and_idle_rows_do_not():
    rows = pl.LazyFrame({"gavg_ms": [9.0, None], "davg_ms": [4.0, 1.0], "kavg_ms": [0.5, 0.0]})
    got = laws.check_gavg(rows).select("gavg_residual_ms", "gavg_agrees").collect()
    assert got.rows() == [(4.5, False), (None, None)]
    nfs = laws.check_gavg(rows.select("gavg_ms")).collect()
    assert nfs["gavg_agrees"].to_list() == [None, None]


def test_outstanding_by_law_against_what_was_configured_or_seen():
    results = pl.LazyFrame(
        {
            "iops": [64_000.0, 64_000.0, 0.0, None],
            "latency_mean_ms": [2.0, 1.0, 0.0, 1.0],
            "outstanding": [128, 128, 0, 128],
        }
    )
    got = laws.check_outstanding(results).select(pl.col("^outstanding_.*$")).collect()
    assert got.rows() == [(128, 100, True), (64, 50, False), (0, None, None), (None, None, None)]
    seen = pl.LazyFrame({"iops": [1000.0], "gavg_ms": [10.0], "active": [8.0], "queued": [2.0]})
    assert laws.check_outstanding(seen).collect()["outstanding_pct"].item() == 100


@pytest.mark.parametrize("lacking", ["iops", "latency_mean_ms", "outstanding"])
def test_the_law_needs_its_three(lacking):
    table = pl.LazyFrame({"iops": [1.0], "latency_mean_ms": [1.0], "outstanding": [1]}).drop(lacking)
    with pytest.raises(EsxparseError, match=r"^Little's law needs iops, a latency .*\); the table has: \w+, \w+$"):
        laws.check_outstanding(table)


def sweep(**changed):
    blocks = [512, 4096, 262_144, None]
    iops = [30_000.0, 28_000.0, 1000.0, 50_000.0]
    columns = {
        "direction": ["read", "read", "read", "write"],
        "block_size_bytes": blocks,
        "iops": iops,
        "bandwidth_bytes_per_s": [one * (size or 1000) for one, size in zip(iops, blocks, strict=True)],
        "latency_mean_ms": [0.5, 0.6, 16.0, None],
        "latency_max_ms": [4.0, 90.0, 40.0, None],
    }
    return pl.LazyFrame(columns | changed, schema_overrides={"latency_max_ms": pl.Float64})


def test_a_mixed_block_size_is_no_small_io():
    whole = laws.upper_bounds(sweep()).collect()
    assert whole["small_iops"].item() == 30_000
    assert "_all" not in whole.columns
    assert laws.upper_bounds(sweep(), small_bytes=100).collect()["small_iops"].item() is None


@settings(deadline=None)
@given(values=st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_the_peak_is_never_below_the_mean(values):
    got = laws.mean_and_peak(pl.LazyFrame({"used_pct": values}), ["used_pct"]).collect().row(0, named=True)
    assert got["samples"] == len(values)
    assert got["peak"] == max(values)
    assert got["mean"] <= got["peak"] * (1 + 1e-9)
    assert got["p95"] <= got["peak"]
    assert (got["peak_to_mean"] is None) == (got["mean"] == 0)


def tiles():
    return pl.LazyFrame(
        {
            "workload": ["mail", "mail", "mail", "web", "web", "shop"],
            "tiles": [1, 1, 13, 1, 13, 13],
            "ms": [80.0, 100.0, 160.0, 10.0, 30.0, 7.0],
        }
    )


def test_each_workload_is_divided_by_its_own_lowest_single_tile():
    got = laws.normalised_to_lowest(tiles(), "ms", by=["workload"]).collect()
    assert got["ms_normalised"].to_list() == [1.0, 1.25, 2.0, 1.0, 3.0, None]


def test_without_groups_there_is_one_lowest_and_zero_is_none():
    assert laws.normalised_to_lowest(tiles(), "ms").collect()["ms_normalised"].to_list()[:4] == [8, 10, 16, 1]
    none = laws.normalised_to_lowest(tiles().with_columns(ms=0), "ms").collect()
    assert none["ms_normalised"].null_count() == 6


def test_columns_that_are_not_there_are_named():
    with pytest.raises(EsxparseError, match="no column 'seconds': the table has ms, tiles, workload"):
        laws.normalised_to_lowest(tiles(), "seconds")
    with pytest.raises(EsxparseError, match="no column 'cpu'"):
        laws.mean_and_peak(tiles(), ["cpu"])
    with pytest.raises(EsxparseError, match="no columns"):
        laws.mean_and_peak(tiles(), [])


def test_latency_is_of_all_commands_where_it_is_there():
    both = pl.LazyFrame({"iops": [1000.0], "gavg_all_ms": [20.0], "gavg_ms": [10.0], "outstanding": [20.0]})
    assert laws.check_outstanding(both).collect()["outstanding_pct"].item() == 100
    assert laws.check_outstanding(both.drop("gavg_all_ms")).collect()["outstanding_pct"].item() == 50
