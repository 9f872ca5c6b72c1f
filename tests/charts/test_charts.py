"""What holds for every chart: words, units, times, colours, and no chart where there is nothing to draw."""

from __future__ import annotations

import polars as pl
import pytest
from chart_frames import (
    READY,
    START,
    drops,
    host_cpu,
    host_memory,
    latency,
    pcpus,
    ports,
    states,
    summary,
    waits,
    watts,
)
from specs import layers, rows_of, titles

from esxparse.charts import cpu, memory, network, power, storage, theme

EVERY_CHART = {
    "host cpu": lambda: cpu.host(host_cpu()),
    "pcpu heat": lambda: cpu.pcpu_heat(pcpus()),
    "ready": lambda: cpu.wait_ranked(waits(), "ready", READY),
    "ready over time": lambda: cpu.wait_over_time(waits(), "ready", READY),
    "used": lambda: cpu.used_ranked(waits()),
    "host memory": lambda: memory.host(host_memory()),
    "reclaimed": lambda: memory.reclaimed(host_memory()),
    "swapping": lambda: memory.swapping(host_memory()),
    "latency": lambda: storage.latency_split(summary([("naa.1", 10.0, 3.0, 2.0, 1.0, 9.0)]), READY),
    "latency over time": lambda: storage.latency_over_time(latency(), READY),
    "iops": lambda: storage.iops(latency()),
    "throughput": lambda: storage.throughput(latency()),
    "queued": lambda: storage.queued(latency(queued=lambda s, _: float(s))),
    "uplinks": lambda: network.throughput(ports()),
    "drops": lambda: network.drops_ranked(drops(), "rx", READY),
    "watts": lambda: power.host(watts()),
    "curve": lambda: power.against_use(host_cpu()),
    "c-states": lambda: power.c_states(states()),
    "clock": lambda: power.clock(states()),
}


@pytest.mark.parametrize("name", EVERY_CHART)
def test_every_chart_has_words_for_those_who_do_not_see_it_and_exact_values_for_those_who_point(name):
    spec = EVERY_CHART[name]().to_dict()
    assert spec["title"]["text"]
    assert spec["description"]
    assert spec["width"] == "container"
    tips = [tip["title"] for view in layers(spec) for tip in view["encoding"].get("tooltip", [])]
    assert tips


@pytest.mark.parametrize("name", EVERY_CHART)
def test_axis_titles_say_the_unit(name):
    units = ("%", "GiB", "MiB", "ms", "milliseconds", "commands", "Mbit/s", "watts", "cores", "Time (UTC)")
    spec = EVERY_CHART[name]().to_dict()
    for channel in ("x", "y"):
        for title in titles(spec, channel):
            assert title == "Physical CPU" or any(unit in title for unit in units), title
    assert titles(spec, "x") | titles(spec, "y")


@pytest.mark.parametrize("name", [name for name in EVERY_CHART if "time" in name or name in {"watts", "iops", "clock"}])
def test_time_is_utc_and_says_so_with_its_date(name):
    spec = EVERY_CHART[name]().to_dict()
    over = [view["encoding"]["x"] for view in layers(spec) if view["encoding"].get("x", {}).get("field") == "time"]
    assert over
    assert {x["scale"]["type"] for x in over} == {"utc"}
    assert {x["title"] for x in over} == {"Time (UTC), 2026-11-20"}


@pytest.mark.parametrize(
    "build",
    [
        lambda: cpu.host(None),
        lambda: cpu.host(host_cpu().filter(pl.lit(value=False))),
        lambda: cpu.pcpu_heat(pcpus().with_columns(util_pct=pl.lit(None, dtype=pl.Float64))),
        lambda: cpu.wait_ranked(None, "ready"),
        lambda: cpu.wait_over_time(waits().filter(pl.lit(value=False)), "ready"),
        lambda: memory.host(None),
        lambda: memory.reclaimed(host_memory(balloon_mib=lambda *_: 0.0)),
        lambda: storage.latency_split(summary([])),
        lambda: storage.latency_over_time(latency(good_iops=lambda *_: 0.0)),
        lambda: storage.queued(latency()),
        lambda: network.throughput(ports(), "vmkernel"),
        lambda: network.drops_ranked(drops().filter(pl.col("drop_rx_pct") == 0), "rx"),
        lambda: power.host(watts().with_columns(watts=pl.lit(None, dtype=pl.Float64))),
        lambda: power.c_states(watts()),
        lambda: power.clock(watts()),
    ],
)
def test_nothing_to_draw_is_no_chart(build):
    assert build() is None


OVER_TIME = {
    "host cpu": (cpu.host, host_cpu),
    "ready": (lambda frame: cpu.wait_over_time(frame, "ready", READY), waits),
    "host memory": (memory.host, host_memory),
    "swapping": (memory.swapping, host_memory),
    "latency": (lambda frame: storage.latency_over_time(frame, READY), latency),
    "iops": (storage.iops, latency),
    "uplinks": (network.throughput, ports),
    "watts": (power.host, watts),
    "c-states": (power.c_states, states),
    "clock": (power.clock, states),
}


@pytest.mark.parametrize("name", OVER_TIME)
def test_nothing_is_drawn_where_nothing_was_measured(name):
    """Of 20 samples three are lost, twice, with one between them."""
    draw, make = OVER_TIME[name]
    at = ((pl.col("time") - START).dt.total_seconds() / 5).cast(pl.Int64)
    lossy = make().filter(~at.is_in([8, 9, 10, 12, 13, 14]))
    spec = draw(lossy).to_dict()
    drawn = [view for view in layers(spec) if view["mark"]["type"] in {"line", "area"}]
    assert drawn
    for view in drawn:
        assert {"field": "piece", "type": "nominal"} in view["encoding"]["detail"]
        rows = rows_of(spec, view)
        found = {(row["time"] / 1000 - START.timestamp()) / 5: row["piece"] for row in rows}
        assert found == dict.fromkeys(range(8), 0) | {11: 1} | dict.fromkeys(range(15, 20), 2)
        assert {row["piece"] for row in rows if row["alone"]} == {1}
    dots = [view for view in layers(spec) if view.get("transform") == [{"filter": "datum.alone"}]]
    assert {view["mark"]["type"] for view in dots} == {"point" if drawn[-1]["mark"]["type"] == "line" else "bar"}
    whole = draw(make()).to_dict()
    assert not any("piece" in row for view in layers(whole) for row in rows_of(whole, view))


@pytest.mark.parametrize("name", OVER_TIME)
def test_a_capture_of_one_sample_is_seen(name):
    draw, make = OVER_TIME[name]
    made = make()
    spec = draw(made.filter(pl.col("time") == made.select(pl.col("time").max()).collect().item())).to_dict()
    dots = [view for view in layers(spec) if view.get("transform") == [{"filter": "datum.alone"}]]
    assert dots
    assert all(row["alone"] for view in dots for row in rows_of(spec, view))


def test_latency_of_a_device_with_bursts_of_commands_ends_with_each():
    """Lines from burst to burst would say that latency rose and fell if there was none."""
    at = ((pl.col("time") - START).dt.total_seconds() / 5).cast(pl.Int64)
    burst = at.is_in([0, 1, 2, 9, 10, 11, 15, 19])
    bursts = latency().with_columns(pl.when(burst).then(pl.col("gavg_ms", "good_iops")))
    spec = storage.latency_over_time(bursts, READY).to_dict()
    line = next(view for view in layers(spec) if view["mark"]["type"] == "line")
    found = {(row["time"] / 1000 - START.timestamp()) / 5: row["piece"] for row in rows_of(spec, line)}
    assert found == dict.fromkeys([0, 1, 2], 0) | dict.fromkeys([9, 10, 11], 1) | {15: 2, 19: 3}


@pytest.mark.search
def test_every_colour_of_a_chart_has_a_dark_face():
    known = set(theme.css_variables())
    for build in EVERY_CHART.values():
        for view in layers(build().to_dict()):
            used = [view["mark"].get("color"), view["mark"].get("stroke")]
            used += view["encoding"].get("color", {}).get("scale", {}).get("range", [])
            assert {colour for colour in used if colour} <= known
