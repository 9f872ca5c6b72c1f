"""The dataset of the study of vCenter 6.5 and 6.7: its published figures, and what 32 threads have to do with them."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

from esxparse.metrics import ratio

THREADS = 32


@cache
def study():
    return studied.study("vcenter")


@cache
def figures():
    """Each figure of each release, with its factor over 6.5."""
    rows = study().virtual_to_native().collect().to_dicts()
    return {(row["test"], row["metric"], row["release"]): row for row in rows}


def operations():
    """vcbench by run: all operations together, and how many were in flight by Little's law."""
    each = study().results.filter(pl.col("benchmark") == "vcbench").collect()
    wide = each.pivot("metric", index=["release", "repetition", "test"], values="value")
    runs = wide.group_by("release", "repetition").agg(
        pl.col("throughput").sum().alias("ops_per_s"),
        (pl.col("throughput") * pl.col("mean_latency")).sum().alias("in_flight"),
    )
    return runs.sort("release", "repetition")


@cache
def compared_operations():
    rows = ratio.ratios(operations().lazy(), "ops_per_s", ["release"], {"release": "6.5"}).collect().to_dicts()
    return {row["release"]: row for row in rows}


def test_all_runs_are_computed_and_there_is_nothing_to_say_of_them():
    assert study().notes == ()
    assert study().runs.collect()["gap"].null_count() == 2
    assert {row["runs"] for row in figures().values()} == {3}


def test_all_operations_are_faster_and_churn_is_higher():
    newer = [row for (_, _, release), row in figures().items() if release == "6.7"]
    assert len(newer) == 18
    assert {row["verdict"] for row in newer} == {"better"}
    assert figures()["create-on-off-delete", "completed", "6.7"]["performance"] == pytest.approx(1.89, abs=0.01)


def test_the_factors_of_three_are_more_than_three_and_that_of_two_is_two():
    for what in (("vpxd", "memory", "6.7"), ("powerOn", "mean_latency", "6.7")):
        assert figures()[what]["performance_low"] > 3
        assert round(figures()[what]["performance"]) == 3
    twice = compared_operations()["6.7"]
    assert twice["ratio_low"] < 2.0 < twice["ratio_high"]


def test_no_run_has_more_operations_in_flight_than_threads():
    """By more than the noise of the runs, that is: rates and latencies were drawn independently."""
    assert operations()["in_flight"].max() < THREADS * 1.02


def test_faster_power_ons_alone_would_not_double_the_operations():
    """32 threads do 32 / mean latency operations per second: with the old latency of all others that is 1.3 times."""
    rates = {
        test: row["mean"]
        for (test, metric, release), row in figures().items()
        if (metric, release) == ("throughput", "6.5")
    }
    share = rates["powerOn"] / sum(rates.values())
    before = studied.here("vcenter")["threads_busy_6_5"] / studied.here("vcenter")["ops_6_5"]
    after = before - share * (studied.here("vcenter")["power_on_6_5"] - studied.here("vcenter")["power_on_6_7"])
    assert before / after == pytest.approx(1.32, abs=0.01)
