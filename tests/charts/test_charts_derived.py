"""Charts of derived tables, as people call them on a capture: `charts.cpu.wait_ranked(rec["vm"], "ready")`."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import cells
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse import charts
from esxparse.charts.reduce import ranking
from esxparse.diagnosis.diagnose import series_of
from esxparse.metrics import storage

START = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
DRAWN = {
    "ready": lambda rec: charts.cpu.wait_ranked(rec["vm"], "ready"),
    "ready over time": lambda rec: charts.cpu.wait_over_time(rec["vm"], "ready"),
    "used": lambda rec: charts.cpu.used_ranked(rec["vm"]),
    "host": lambda rec: charts.cpu.host(rec["host"]),
    "heat": lambda rec: charts.cpu.pcpu_heat(rec["pcpu"]),
    "memory": lambda rec: charts.memory.host(rec["host"]),
    "latency": lambda rec: charts.storage.latency_split(storage.summary(rec["device"], by="instance")),
    "volumes": lambda rec: charts.storage.latency_split(storage.summary(rec["nfs"], by="instance")),
    "iops": lambda rec: charts.storage.iops(rec["device"]),
    "throughput": lambda rec: charts.storage.throughput(rec["device"]),
    "watts": lambda rec: charts.power.host(rec["host"]),
    "watts against use": lambda rec: charts.power.against_use(rec["host"]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_derived_table_is_drawn(busy_host, name):
    assert DRAWN[name](busy_host).to_dict()["title"]["text"]


@pytest.mark.parametrize("lacking", ["vcpu", "group_cpu", "physical_cpu", "memory", "power"])
def test_what_a_capture_lacks_is_no_chart_and_no_error(busy_host, lacking):
    part = dataclasses.replace(
        busy_host, tables={name: busy_host.tables[name] for name in busy_host if name != lacking}
    )
    for draw in DRAWN.values():
        with suppress(ex.MissingTableError):
            draw(part)
    empty = {"physical_cpu": "heat", "memory": "memory", "power": "watts"}.get(lacking)
    assert empty is None or DRAWN[empty](part) is None
    assert DRAWN["iops"](part) is not None


def test_a_capture_with_some_counters_is_drawn_as_far_as_they_go(busy_host_file, tmp_path):
    ex.slice(
        busy_host_file, tmp_path / "part.csv", counters=["% Ready", "Average Guest MilliSec/Command", "Commands/sec"]
    )
    rec = ex.open(tmp_path / "part.csv")
    assert "or a limit reached" in " ".join(DRAWN["ready"](rec).to_dict()["title"]["subtitle"])
    assert DRAWN["latency"](rec) is not None
    assert DRAWN["used"](rec) is DRAWN["throughput"](rec) is None


def test_the_series_of_a_diagnosis_have_the_same_tables(busy_host):
    series = series_of(busy_host)
    for name in busy_host.derived:
        told = busy_host[name].collect()
        unknown = pl.all_horizontal(pl.col(*told.columns[2:]).is_null())
        known = series.table(name).select(told.columns).filter(~unknown).collect()
        # Polars adds up a group in whatever order its parts come: a sum of interrupts differs in its last bit.
        assert_frame_equal(known, told, rel_tol=1e-12, abs_tol=0)
    assert series.table("vsan") is None


def rows_of(chart):
    """All rows of a chart's data."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_samples_of_0_watts_are_not_drawn():
    """esxtop prints 0 W where the host has no reading."""
    times = [START + timedelta(seconds=20 * place) for place in range(4)]
    host = pl.LazyFrame({"time": times, "watts": [200.0, 0.0, 220.0, 210.0], "cap_watts": [None] * 4})
    assert [row["watts"] for row in rows_of(charts.power.host(host)) if "watts" in row] == [200, 220, 210]


def test_the_slowest_of_many_devices_are_drawn(tmp_path):
    columns = {}
    for place in range(30):
        name = f"naa.{place:02}"
        columns |= cells.disk(name, iops=[0, 50, 50], gavg=[0, place + 1, place + 1], davg=[0, place + 1, place + 1])
    rec = ex.open(cells.capture(tmp_path, columns))
    chart = charts.storage.latency_split(storage.summary(rec["device"], by="instance"))
    drawn = {row["instance"] for row in rows_of(chart) if "instance" in row}
    assert "naa.29" in drawn
    assert "naa.00" not in drawn
    assert f"{len(drawn)} of 30" in str(chart.to_dict()["title"])


@pytest.mark.parametrize(("devices", "said"), [(3, ""), (4, "3 of 4 devices")])
def test_a_ranking_says_how_many_it_leaves_out(devices, said):
    rows = [
        {"time": START + timedelta(seconds=5 * place), "instance": f"d{number}", "label": f"d{number}", "iops": 1.0}
        for place in range(3)
        for number in range(devices)
    ]
    ranked, words = ranking(pl.LazyFrame(rows), "instance", "iops", "devices", n=3)
    assert ranked.height == 3
    assert words == said
