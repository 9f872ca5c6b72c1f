"""Copied code against what a panel draws, over bundled recordings of every kind and random states of the widget."""

from __future__ import annotations

import csv
import random

import polars as pl
import pytest

import esxparse as ex
from esxparse.explorer.code import cell
from esxparse.explorer.counter_columns import counter_columns
from esxparse.explorer.panel import PanelRequest, Values, panel

FORMATS = ex.datasets_dir() / "formats"
BUSY_HOST = ex.datasets_dir() / "busy-host" / "busy-host.csv"
# Names of series in several columns, names that are numbers, events of one moment, weighted means, one sample a minute.
FILES = [
    FORMATS / "vcenter-chart.csv",
    FORMATS / "vcenter-getstat.csv",
    FORMATS / "vcenter-aria.csv",
    FORMATS / "turbostat-samples.txt",
    FORMATS / "pidstat-tasks.txt",
    pytest.param(FORMATS / "packets-iscsi-queue.pcapng", marks=[pytest.mark.needs("tshark"), pytest.mark.search]),
    FORMATS / "iometer-1.1.0.csv",
    pytest.param(BUSY_HOST, marks=pytest.mark.search),
]
STATES = 12


def drawn_state(rec, counter, seed):
    rng = random.Random(seed)  # noqa: S311 (no secret)
    state = {"counter": counter.column, "table": counter.table, "n": rng.choice([1, 3, 8])}
    state |= {"order": rng.choice(["p95", "mean", "max", "variability"]), "buckets": rng.choice([20, 60, 400])}
    state |= {"smooth": rng.choice([1, 1, 2, 5]), "normalise": rng.random() < 0.3, "difference": rng.random() < 0.3}
    times = rec[counter.table].select(pl.col("time").unique().sort().dt.epoch("ms")).collect()["time"].to_list()
    if rng.random() < 0.4:
        state["start"], state["end"] = sorted(rng.choices(times, k=2))
    return state


def compared(recordings, state, align="clock"):
    """Asserts that the copied cell has the numbers that the panel draws; gives the panel."""
    values, asked = Values(recordings, align), PanelRequest.of(state)
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
    lines = made.get("lines_1")
    assert (lines is None) == ("piece" not in answer["series"][0])
    if lines is not None:
        assert made["chart_1"].to_dict()["encoding"]["detail"]["field"] == "piece"
        drawn = lines.sort("capture", "time") if "capture" in lines.columns else lines.sort("time")
        for one in answer["series"]:
            mine = drawn.filter(pl.col("instance") == one["instance"])
            mine = mine.filter(capture=one["capture"]) if "capture" in mine.columns else mine
            assert mine["piece"].to_list() == [piece for piece in one["piece"] if piece is not None], state
    return answer


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_copied_code_has_the_numbers_of_the_panel_in_any_state(path):
    rec = ex.open(path)
    counters = [one for one in counter_columns(rec) if "time" in rec[one.table].collect_schema()]
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
def test_weighted_means_of_differences_are_those_of_the_panel(rec, counter):
    state = {"counter": counter, "table": "physical_disk_scsi_device", "n": 8, "buckets": 20, "difference": True}
    assert compared([rec], state)["weighted"]


def rewritten(path, change):
    """busy-host with other rows: `change` takes their place, the header and their cells; None leaves one out."""
    header, *rows = csv.reader(BUSY_HOST.read_text(encoding="utf-8").splitlines())
    changed = [change(place, header, row) for place, row in enumerate(rows)]
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, quoting=csv.QUOTE_ALL).writerows([header, *(row for row in changed if row is not None)])
    return ex.open(path)


def idle(busy):
    """Disks without a command but in the samples `busy`: esxtop writes 0.00 for every rate and latency."""

    def change(place, header, row):
        if place in busy:
            return row
        return ["0.00" if "\\Physical Disk" in name else cell for name, cell in zip(header, row, strict=True)]

    return change


def without(places):
    """Leaves rows at these places out."""
    return lambda place, _header, row: None if place in places else row


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    return rewritten(tmp_path_factory.mktemp("gaps") / "gaps.csv", without({*range(40, 70), *range(71, 90)}))


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """The second half has a sixth of the samples."""
    places = {place for place in range(61, 121) if place % 6}
    return rewritten(tmp_path_factory.mktemp("slower") / "slower.csv", without(places))


@pytest.mark.parametrize("buckets", [400, 30])
@pytest.mark.parametrize("difference", [False, True])
def test_copied_lines_end_where_those_of_the_panel_do(rec, gaps, buckets, difference):
    state = {"counter": "%RDY", "table": "group_cpu", "n": 3, "buckets": buckets, "difference": difference}
    answer = compared([gaps], state)
    assert {max(filter(None, one["piece"])) for one in answer["series"]} == {2}
    assert not any("piece" in one for one in compared([rec], state)["series"])
    compared([gaps, rec], state)


@pytest.mark.parametrize("counter", [("% Util Time", "physical_cpu"), ("DAVG/cmd", "physical_disk_scsi_device")])
@pytest.mark.parametrize("difference", [False, True])
def test_copied_code_counts_samples_by_the_time_they_cover(rec, slower, counter, difference):
    state = {"counter": counter[0], "table": counter[1], "n": 3, "buckets": 20, "difference": difference}
    assert compared([slower], state)["by_time"]
    assert compared([slower, rec], state)["by_time"]
    assert not compared([rec], state)["by_time"]


def test_a_disk_has_a_latency_where_it_did_something(tmp_path):
    """The 0.00 of samples without a command is no latency: neither mean nor lowest, and no line leads there."""
    busy = [*range(1, 11), 30, *range(50, 60)]
    rec = rewritten(tmp_path / "idle.csv", idle(busy))
    table = "physical_disk_scsi_device"
    state = {"counter": "GAVG/cmd", "table": table, "n": 3}
    for one in compared([rec], state)["series"]:
        told = [place for place, mean in enumerate(one["mean"], 1) if mean is not None]
        assert told == busy
        assert [one["low"][place - 1] for place in told] == [one["mean"][place - 1] for place in told]
        assert all(value is None for mean, value in zip(one["mean"], one["low"], strict=True) if mean is None)
        assert [one["piece"][place - 1] for place in told] == [0] * 10 + [1] + [2] * 10
        assert [place for place in told if one["alone"][place - 1]] == [30]
    for one in compared([rec], {**state, "buckets": 30})["series"]:
        assert min(low for low in one["low"] if low is not None) > 0.3
    # From one sample with commands to the next, not from 0.
    for one in compared([rec], {**state, "difference": True})["series"]:
        assert one["mean"][10:29] == [None] * 19
    shown = rec.plot("GAVG/cmd", table=table).to_dict()
    lows = [row["value_min"] for rows in shown["datasets"].values() for row in rows if "value_min" in row]
    assert min(lows) > 0.3


def test_a_share_dropped_is_of_the_packets_offered(tmp_path):
    """1,000 packets a second are offered; at first none is dropped, then 90 %, in the end all."""
    shares = [0] * 60 + [90] * 50 + [100] * 11

    def dropping(place, header, row):
        port = "Network Port(vSwitch0:33554449:2100471:ledger-db)\\"
        cells = {
            f"{port}% Received Packets Dropped": f"{shares[place]}.00",
            f"{port}Packets Received/sec": f"{1000 - 10 * shares[place]}.00",
        }
        return [cells.get(name.split("\\", 3)[-1], cell) for name, cell in zip(header, row, strict=True)]

    rec = rewritten(tmp_path / "drops.csv", dropping)
    worst = rec.top("%DRPRX", n=1, order="mean")
    assert worst.select("name", "max", "samples").rows() == [("ledger-db", 100.0, 121)]
    assert worst["mean"].item() == pytest.approx(100 * 50 * 900 / (110 * 1000))
    for buckets in (400, 20):
        state = {"counter": "%DRPRX", "table": "network_port", "n": 1, "buckets": buckets}
        assert compared([rec], state)["series"][0]["mean"][-1] == 100


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
    assert "cpu" not in {one.column for one in counter_columns(rec)}
