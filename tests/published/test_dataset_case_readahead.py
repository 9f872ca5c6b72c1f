"""The dataset of the talk's first case study: its figures, and the way to the array step by step."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import line_rate, ratio, units

LARGE = [256, 512]


@cache
def study():
    return studied.study("case-readahead")


@cache
def runs() -> pl.DataFrame:
    return study().runs.collect()


@cache
def on(disk: str, machine: str = "esx") -> pl.DataFrame:
    """The sweep over request sizes: means of its repetitions."""
    sweep = runs().filter(disk=disk, machine=machine)
    return sweep.group_by("size").agg(pl.col(pl.Float64).mean()).sort("size")


def large(sweep: pl.DataFrame) -> pl.DataFrame:
    return sweep.filter(pl.col("size").is_in(LARGE))


@cache
def of_cached(value: str) -> pl.DataFrame:
    """The LUN against the cached one, size by size."""
    esx = runs().lazy().filter(machine="esx")
    return ratio.ratios(esx, value, ["disk", "size"], {"disk": "cached"}).filter(disk="lun").sort("size").collect()


def at(sweep: pl.DataFrame, size: int, column: str) -> float:
    return sweep.filter(size=size)[column].item()


def test_the_diagnosis_is_the_published_one():
    (found,) = ex.diagnose(study())
    assert found.trouble == "storage.read_ahead"
    assert found.severity == "critical"
    assert found.against == ()


def test_all_runs_are_computed_and_nothing_is_to_be_said_of_them():
    assert runs().height == 90
    assert runs()["gap"].null_count() == 90
    assert set(runs()["samples"].drop_nulls()) == {6}
    assert study().notes == ()


def test_wire_speed_is_what_1_gbe_leaves():
    left = line_rate.available_mbit_per_s(1000, 1500, line_rate.TIMESTAMP_BYTES)
    assert at(on("lun"), 128, "mb_per_s") == pytest.approx(units.convert(left, "mbit_per_s", "mb_per_s"), rel=0.01)
    assert at(on("lun"), 128, "rx_mbit_per_s") == pytest.approx(984, rel=0.01)


def test_it_is_the_lun_beyond_128_kb_that_is_slow_and_nothing_else():
    slow = of_cached("mb_per_s").filter(pl.col("ratio") < 0.9)
    assert slow["size"].to_list() == LARGE
    assert slow["ratio"].max() < 0.6
    assert (slow["verdict"] == "lower").all()


def test_the_host_is_not_short_of_cpu_and_an_io_costs_what_it_costs():
    assert on("lun")["host_used_pct"].max() < 20
    cost = of_cached("used_above_idle_cycles_per_io")
    assert cost["ratio"].is_between(0.8, 1.2).all()
    # three runs of six samples: half a dozen percent is not told from noise
    assert (cost["verdict"] == "no difference shown").sum() >= 9


def test_the_time_is_spent_on_the_wires_other_side():
    slow = large(on("lun"))
    assert slow["latency_mean_ms"].is_between(10, 20).all()
    assert slow["gavg_ms"].is_between(10, 20).all()
    assert slow["kavg_ms"].max() < 0.1
    traced = on("lun").filter(size=256).row(0, named=True)
    assert traced["wire_read_p50_ms"] == pytest.approx(traced["latency_mean_ms"], rel=0.05)
    assert 10 < traced["wire_read_p50_ms"] < traced["wire_read_p95_ms"] < 20
    assert at(on("lun"), 128, "wire_read_p95_ms") < 5


def test_requests_go_out_as_the_guest_asked_for_them():
    traced = runs().filter(pl.col("wire_read_size_bytes").is_not_null())
    assert traced["wire_read_size_bytes"].to_list() == (1024 * traced["size"]).to_list()
    assert traced["wire_unanswered"].sum() == 0


def test_native_runs_are_as_slow():
    found = study().compare("mb_per_s").filter(machine="native").collect()
    assert found["ratio"].to_list() == pytest.approx([1.0] * 10, abs=0.03)
    assert found.filter(pl.col("size").is_in(LARGE))["verdict"].to_list() == ["no difference shown"] * 2
