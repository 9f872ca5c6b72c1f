"""Heat maps of all VMs and hosts: who comes first, what a cell is, and what a missing value looks like."""

from __future__ import annotations

import re
from datetime import date, timedelta

import polars as pl
import pytest
from chart_frames import READY, waits
from specs import layers, rows_of

from esxparse.charts import heat, theme

vl_convert = pytest.importorskip("vl_convert")


def cells(spec):
    """The cells of a heat map."""
    (rect,) = (view for view in layers(spec) if view["mark"]["type"] == "rect")
    return rows_of(spec, rect)


def missing(spec):
    """The stretches of rows without a value."""
    lines = [view for view in layers(spec) if view["mark"]["type"] == "rule"]
    return [row for view in lines for row in rows_of(spec, view)]


def order(spec):
    return layers(spec)[0]["encoding"]["y"]["scale"]["domain"]


def subtitle(spec):
    return spec["title"]["subtitle"][0]


@pytest.mark.parametrize(("vms", "drawn"), [(1, False), (3, False), (4, True)])
def test_up_to_three_vms_have_no_heat_map(vms, drawn):
    assert (heat.vms(waits(vms), "ready", READY) is not None) == drawn


def test_without_a_table_or_a_value_above_the_lowest_class_there_is_none():
    assert heat.vms(None, "ready") is None
    assert heat.vms(waits(5, contention_pct=lambda *_: 0.4), "ready", READY) is None
    assert heat.vms(waits(5), "costop", READY) is None
    assert heat.vms(waits(5).drop("used_pct"), "cpu") is None


def test_the_vm_with_the_highest_sample_comes_first_and_the_title_names_it():
    """One sample of vm-002 is the highest; that of vm-005 is next."""
    peak = waits(6, contention_pct=lambda sample, vm: 30.0 if (sample, vm) == (7, 2) else 1.0 + vm)
    spec = heat.vms(peak, "ready", READY).to_dict()
    assert order(spec) == ["vm-002", "vm-005", "vm-004", "vm-003", "vm-001", "vm-000"]
    assert spec["title"]["text"] == "Ready time of all VMs: 3 of 6 reached 5 %, highest vm-002 (30 %)"
    low = heat.vms(waits(4), "ready", READY).to_dict()
    assert low["title"]["text"] == "Ready time of all VMs: none reached 5 %"


@pytest.mark.parametrize(("vms", "said"), [(40, False), (41, True), (300, True)])
def test_at_most_40_rows_are_drawn_and_a_line_says_how_many_are_left_out(vms, said):
    spec = heat.vms(waits(vms, samples=5), "ready", READY).to_dict()
    assert len(order(spec)) == len({row["label"] for row in cells(spec)}) == min(vms, heat.MOST)
    assert order(spec)[0] == f"vm-{vms - 1:03}"
    assert (f"the worst 40 of {vms} VMs, {vms - 40} left out" in subtitle(spec)) == said


def test_a_cell_is_the_highest_sample_of_its_time_and_the_words_say_so():
    peak = waits(8, samples=1000, contention_pct=lambda sample, vm: 40.0 if (sample, vm) == (501, 3) else 2.0)
    spec = heat.vms(peak, "ready", READY).to_dict()
    assert "cell: highest sample of 2 min" in subtitle(spec).lower()
    high = [row for row in cells(spec) if row["high"] == 40.0]
    # 8:00 and 501 steps of 5 s.
    assert [(row["label"], row["time"] % 86_400_000) for row in high] == [("vm-003", (8 * 60 + 40) * 60_000)]
    assert len(cells(spec)) == 8 * 42


def test_a_long_capture_of_many_vms_has_few_cells():
    spec = heat.vms(waits(300, samples=400), "ready", READY).to_dict()
    assert len(cells(spec)) <= 1600


def test_a_missing_value_is_a_line_and_not_a_cell_of_0():
    """vm-001 is there from the fourth sample on, vm-002 lacks two in the middle; vm-000 has zeros."""
    rows = waits(5, samples=10, contention_pct=lambda _, vm: 3.0 * vm).collect()
    times = rows["time"].unique().sort()
    late = (pl.col("instance") == "vm-001") & (pl.col("time") < times[3])
    hole = (pl.col("instance") == "vm-002") & pl.col("time").is_in([times[4], times[5]])
    spec = heat.vms(rows.filter(~(late | hole)).lazy(), "ready", READY).to_dict()
    stamps = times.dt.epoch("ms").to_list()
    assert {(row["label"], row["time"], row["end"]) for row in missing(spec)} == {
        ("vm-001", stamps[0], stamps[3]),
        ("vm-002", stamps[4], stamps[6]),
    }
    assert "thin line: no value" in subtitle(spec)
    zeros = [row for row in cells(spec) if row["label"] == "vm-000"]
    assert [row["high"] for row in zeros] == [0.0] * 10
    assert "thin line" not in subtitle(heat.vms(rows.lazy(), "ready", READY).to_dict())


def test_a_disk_without_io_has_no_latency():
    of_one = pl.when(pl.col("instance") == "vm-000").then(0.0).otherwise(30.0)
    spec = heat.vms(waits(5).with_columns(worst_disk_ms=of_one), "latency", READY).to_dict()
    assert {row["label"] for row in cells(spec)} == {"vm-001", "vm-002", "vm-003", "vm-004"}
    assert "1 more without a value" in subtitle(spec)


def test_each_class_has_its_colour_and_the_limits_are_edges_of_classes():
    values = [0.0, 0.49, 0.5, 2.0, 4.9, 5.0, 9.9, 10.0, 90.0]
    theme.use()
    chart = heat.vms(waits(9, samples=1, contention_pct=lambda _, vm: values[vm]), "ready", READY)
    svg = vl_convert.vegalite_to_svg(chart.properties(width=400).to_dict())
    (drawn,) = re.findall(r'<g class="mark-rect role-mark.*?</g>', svg)
    shades = [shade.light for shade in theme.HEAT]
    assert [shades.index(fill) for fill in re.findall(r'fill="([^"]+)"', drawn)] == [0, 0, 1, 2, 3, 4, 4, 5, 5]
    for name in ("under 0.5 %", "2.5 to 5 %", "5 to 10 %", "10 % and more"):
        assert f">{name}</text>" in svg


def by_host(hosts, days, missing=()):
    begin = date(2026, 3, 2)
    rows = [
        (begin + timedelta(days=day), f"esx-{host}", 1.0 + host)
        for host in range(hosts)
        for day in days
        if (host, day) not in missing
    ]
    return pl.DataFrame(rows, schema={"date": pl.Date, "host": pl.String, "worst_pct": pl.Float64}, orient="row")


@pytest.mark.parametrize(("hosts", "days", "drawn"), [(3, 9, False), (4, 1, False), (4, 2, True), (0, 0, False)])
def test_hosts_need_four_and_two_days(hosts, days, drawn):
    assert (heat.hosts(by_host(hosts, range(days)), READY) is not None) == drawn


def test_a_day_without_a_capture_is_missing():
    spec = heat.hosts(by_host(5, range(4), missing={(1, 2)}), READY).to_dict()
    assert order(spec)[0] == "esx-4"
    assert spec["title"]["text"] == "Ready time of all hosts: 1 of 5 reached 5 %, highest esx-4 (5 %)"
    ((label, time, until),) = [tuple(row.values()) for row in missing(spec)]
    assert (label, until - time) == ("esx-1", 86_400_000)


def test_many_days_are_weeks():
    """70 days from a Monday on: ten cells of each host."""
    spec = heat.hosts(by_host(4, range(70)), READY).to_dict()
    assert len(cells(spec)) == 4 * 10
    assert "on a day of the week" in subtitle(spec)
