"""The dataset of nested paging against shadow page tables: its published figures, and what may be chosen by them."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import hardware_events, mmu

FOLDER = ex.datasets.folder("mmu")
MHZ = 2667.0


@cache
def runs() -> pl.DataFrame:
    return studied.study("mmu").runs.collect()


def of(tool: str, mode: str) -> pl.DataFrame:
    return runs().filter(tool=tool, mode=mode)


def timed(mode: str, repetitions: int) -> mmu.Runs:
    table = of("perf", mode).head(repetitions)
    return mmu.runs(table["tlb_misses_load"].to_list(), table["elapsed_s"].to_list())


def polls(mode: str) -> pl.LazyFrame:
    return ex.open(FOLDER / f"{mode}.vmkperf.txt")["events"]


def test_one_run_of_each_only_points_at_a_mode():
    found = mmu.advice(timed("nested", 1), timed("shadow", 1), mhz=MHZ)
    assert (found.mode, found.shown, found.time_interval) == ("shadow", False, None)
    assert found.time_ratio == pytest.approx(1.016, abs=0.001)
    assert "the data do not show which is faster" in found.reasons[-1]


def test_five_runs_show_more_misses_and_no_more_time():
    found = mmu.advice(timed("nested", 5), timed("shadow", 5), mhz=MHZ)
    assert (found.mode, found.shown) == ("undecided", False)
    assert found.time_interval.low < 1 < found.time_interval.high
    rows = {
        row["mode"]: row
        for row in studied.study("mmu").compare("tlb_miss_load_per_s").collect().to_dicts()
        if row["tool"] == "perf"
    }
    assert rows["nested"]["verdict"] == "higher"
    assert rows["nested"]["ratio_low"] > 1.65
    assert found.large_pages
    assert found.nested_walk_pct == pytest.approx((1.72, 12.9), rel=0.01)


def test_the_other_pcpus_blur_what_the_pinned_one_shows():
    every = [hardware_events.vmkperf_totals(polls(mode)) for mode in ("nested", "shadow")]
    blurred = hardware_events.compare(*every).collect()["rate_ratio"].item()
    assert blurred == pytest.approx(1.88, abs=0.01)
    assert blurred < studied.here("mmu")["vmkperf_ratio"]
    others = polls("nested").filter(pl.col("pcpu") != 23).select(pl.col("rate_per_s").max()).collect().item()
    assert (
        others < polls("nested").filter(pl.col("pcpu") == 23).select(pl.col("rate_per_s").min()).collect().item() / 50
    )


def test_the_configurations_differ_in_the_mode_alone():
    for tool in ("perf", "vmkperf"):
        nested, shadow = (
            dict(ex.open(FOLDER / f"{tool}-{mode}.vmx")["settings"].select("key", "value").collect().iter_rows())
            for mode in ("nested", "shadow")
        )
        assert {key for key in nested if nested[key] != shadow[key]} == {"monitor.virtual_mmu"}
        assert (nested["monitor.virtual_mmu"], shadow["monitor.virtual_mmu"]) == ("hardware", "software")
        assert ("sched.cpu.affinity" in nested) == (tool == "vmkperf")
        assert ("vpmc.enable" in nested) == (tool == "perf")
