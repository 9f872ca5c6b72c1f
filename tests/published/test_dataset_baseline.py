"""The dataset of the pre-deployment checklist: each of its questions, answered from the recordings."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import studied

import esxparse as ex

if TYPE_CHECKING:
    import polars as pl

FOLDER = ex.datasets.folder("baseline")


@cache
def study():
    return studied.study("baseline")


@cache
def run(pattern: str, size_kib: int, depth: int) -> dict[str, object]:
    """The row of one run of the sweep."""
    return study().runs.filter(pattern=pattern, size_kib=size_kib, depth=depth).collect().row(0, named=True)


@cache
def histograms(vm: str) -> pl.LazyFrame:
    return ex.open(FOLDER / f"{vm}.vscsistats.csv")["histograms"]


def test_the_sweep_is_steady_and_the_workload_is_not():
    runs = study().runs.collect()
    assert runs.height == 24
    assert runs["gap"].null_count() == 24
    assert runs.filter(phase="sweep")["steady"].unique().to_list() == ["steady"]
    (note,) = study().notes
    assert "pattern=production" in str(note)
    assert "not shown to be steady" in str(note)


def test_guest_and_host_tell_of_the_same_response_times():
    sweep = study().runs.filter(phase="sweep", depth=32).collect()
    assert (sweep["gavg_ms"] / sweep["latency_mean_ms"]).to_list() == pytest.approx([1.0] * 20, rel=0.01)


def test_littles_law_holds_in_every_run_of_the_sweep():
    for row in study().runs.filter(phase="sweep").collect().rows(named=True):
        assert row["outstanding_by_law"] == pytest.approx(row["depth"], rel=0.06)


def test_small_ios_are_bound_by_commands_and_large_ones_by_bytes():
    for pattern in ("read", "write"):
        small, large = run(pattern, 4, 32), run(pattern, 1024, 32)
        assert small["iops"] > 20 * large["iops"]
        assert large["mb_per_s"] > 10 * small["mb_per_s"]


def test_the_worst_response_time_is_far_from_the_mean():
    assert run("randread", 4, 32)["latency_max_ms"] > 10 * run("randread", 4, 32)["latency_mean_ms"]


def test_reads_at_random_wait_for_the_disks_and_writes_do_not():
    assert run("randread", 4, 32)["latency_mean_ms"] > 2.5 * run("randwrite", 4, 32)["latency_mean_ms"]
    assert run("randwrite", 4, 32)["iops"] == pytest.approx(run("write", 4, 32)["iops"], rel=0.02)
