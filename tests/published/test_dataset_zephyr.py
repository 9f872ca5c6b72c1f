"""The dataset of the study that introduced Zephyr: the peak load within all rules of QoS, by application servers."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import studied

from esxparse.metrics import scaling

study = partial(studied.study, "zephyr")

OFF_PCT = 5.0
"""How far the share of an operation may be from what the mix requires, in percent of it."""
COMPUTE = {"login", "joinAuction", "placeBid"}
PICTURES = {"homePage", "getItemDetail"}


@cache
def operations() -> tuple[str, ...]:
    return tuple(study().results.select(pl.col("test").unique()).collect()["test"].sort())


def rules() -> dict[str, pl.Expr]:
    """Each rule: the 99th percentile of an operation, and the mix of all of them."""
    columns = {name: f"liveauction_{name.lower()}" for name in operations()}
    slow = {name: pl.col(f"{start}_p99_ms") <= pl.col(f"{start}_limit_ms") for name, start in columns.items()}
    off = [(pl.col(f"{start}_mix_pct") / pl.col(f"{start}_required_pct") - 1).abs() for start in columns.values()]
    return slow | {"mix of operations": pl.max_horizontal(off) <= OFF_PCT / 100}


@cache
def peaks():
    return study().peak_load("users", rules()).collect()


def test_each_peak_lies_between_a_load_that_passes_and_one_that_fails():
    assert set(peaks()["loads"]) == {5}
    assert set(peaks()["failed_below_peak"]) == {0}
    assert peaks().select((pl.col("fails_at") - pl.col("peak_load")).is_in([50, 100]).all()).item()


def test_application_servers_end_the_linear_part_and_web_servers_the_rest():
    failed = {row["servers"]: set(row["failed_rules"].split(", ")) for row in peaks().to_dicts()}
    assert all(failed[servers] == COMPUTE for servers in range(1, 7))
    assert all(failed[servers] == PICTURES for servers in range(7, 11))


def test_what_linear_means_decides_how_far_it_goes():
    """At 5 % it is six servers, at 1.5 % it is five: the study names no tolerance."""
    strict = scaling.leaves_linear(peaks().lazy(), "servers", "peak_load", tolerance_pct=1.5)
    assert strict.collect()["linear_up_to"].item() == 5


def test_a_mix_that_is_off_fails_a_run_that_is_fast_enough():
    runs = study().runs.with_columns(pl.col("liveauction_placebid_mix_pct") * 0.9)
    assert scaling.peak_load(runs, "users", rules(), ["servers"]).collect()["peak_load"].null_count() == 10
