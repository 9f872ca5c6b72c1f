"""Copied code against what a panel draws, over bundled recordings of every kind and random states of the widget."""

from __future__ import annotations

import random

import polars as pl
import pytest

import esxparse as ex
from esxparse.explorer.code import cell
from esxparse.explorer.held import held
from esxparse.explorer.panel import Asked, Values, panel

FORMATS = ex.datasets_dir() / "formats"
# Names of series in several columns, names that are numbers, events of one moment, weighted means, one sample a minute.
FILES = [
    FORMATS / "vcenter-chart.csv",
    FORMATS / "vcenter-getstat.csv",
    FORMATS / "vcenter-aria.csv",
    FORMATS / "turbostat-samples.txt",
    FORMATS / "pidstat-tasks.txt",
    pytest.param(FORMATS / "packets-iscsi-queue.pcapng", marks=pytest.mark.needs("tshark")),
    FORMATS / "iometer-1.1.0.csv",
    ex.datasets_dir() / "busy-host" / "busy-host.csv",
]
STATES = 12


def drawn_state(rec, counter, seed):
    rng = random.Random(seed)  # noqa: S311 (no secret)
    state = {"counter": counter.column, "table": counter.table, "n": rng.choice([1, 3, 8])}
    state |= {"order": rng.choice(["p95", "mean", "max", "variability"]), "buckets": rng.choice([20, 60, 400])}
    state |= {"smooth": rng.choice([1, 1, 2, 5]), "normalise": rng.random() < 0.3, "difference": rng.random() < 0.3}
    times = rec.tables[counter.table].select(pl.col("time").unique().sort().dt.epoch("ms")).collect()["time"].to_list()
    if rng.random() < 0.4:
        state["start"], state["end"] = sorted(rng.choices(times, k=2))
    return state


def compared(recordings, state, align="clock"):
    """Asserts that the copied cell has the numbers that the panel draws; gives the panel."""
    values, asked = Values(recordings, align), Asked.of(state)
    answer = panel(values, asked)
    made = {}
    code = cell([(rec.source, values.shift(rec)) for rec in recordings], [(asked, answer)])
    exec(code, made)  # noqa: S102 (the code is what is tested)
    data = made["data_1"]
    assert data.height == sum(len(one["time"]) for one in answer["series"])
    for one in answer["series"]:
        mine = data.filter(pl.col("instance") == one["instance"])
        if "capture" in mine.columns:
            mine = mine.filter(pl.col("capture") == one["capture"])
        assert mine["time"].dt.epoch("ms").to_list() == one["time"], state
        assert mine["value"].to_list() == pytest.approx(one["mean"], rel=1e-9, abs=1e-4), state
    return answer


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_copied_code_has_the_numbers_of_the_panel_in_any_state(path):
    rec = ex.open(path)
    counters = [one for one in held(rec) if "time" in rec.tables[one.table].collect_schema()]
    compared_any = False
    for seed in range(STATES):
        counter = random.Random(f"{path.name} {seed}").choice(counters)  # noqa: S311 (no secret)
        try:
            compared([rec], drawn_state(rec, counter, seed))
        except ex.EsxparseError as error:
            assert str(error).startswith("no sample of")  # noqa: PT017 (some columns are empty)
        else:
            compared_any = True
    assert compared_any


@pytest.mark.parametrize("counter", ["DAVG/cmd", "GAVG/rd"])
def test_weighted_means_of_differences_are_those_of_the_panel(counter):
    rec = ex.open(FILES[-1])
    state = {"counter": counter, "table": "physical_disk_scsi_device", "n": 8, "buckets": 20, "difference": True}
    assert compared([rec], state)["weighted"]


def test_a_chart_of_vcenter_is_told_by_entity_counter_and_unit_too():
    rec = ex.open(FORMATS / "vcenter-chart.csv")
    answer = compared([rec], {"counter": "value", "table": "samples", "n": 8})
    assert {one["full"] for one in answer["series"]} == {
        "web-01 cpu.ready.summation ms",
        "web-01 0 cpu.ready.summation ms",
        "web-01 1 cpu.ready.summation ms",
        "web-01 cpu.costop.summation ms",
        "web-01 cpu.usage.average %",
    }
    usage = next(one for one in answer["series"] if "usage" in one["full"])
    assert usage["mean"] == [31.25, 30.5, 44.0]
    assert rec.top("value", instance="usage")["max"].item() == 44.0
    assert "web-01 0 cpu.ready.summation" in rec.search("web-01")["name"].to_list()


def test_processors_of_turbostat_are_series_of_their_own():
    rec = ex.open(FORMATS / "turbostat-samples.txt")
    assert len(rec.top("busy_pct", 20, table="cpus")) == 8
    assert "cpu" not in {one.column for one in held(rec)}
