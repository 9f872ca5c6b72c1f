"""The charts, by meaning: what they say, what they draw, and that nothing is lost on the way to few points."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.charts import cpu, memory, network, power, storage, theme
from esxparse.charts.reduce import (
    MAX_SERIES,
    bucket_step,
    leaders,
    over_time,
    ranking,
    rounded,
    shorten,
    spoken,
    with_labels,
)

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
READY = SimpleNamespace(warn=5.0, critical=10.0)


def times(samples, step_s=5):
    return [START + timedelta(seconds=step_s * number) for number in range(samples)]


def table(samples, instances, step_s=5, **columns):
    """Every column a function of (sample, instance); `name` columns are made by the caller."""
    rows = [(moment, sample, one) for sample, moment in enumerate(times(samples, step_s)) for one in instances]
    data = {"time": [row[0] for row in rows]}
    data |= {name: [make(row[1], row[2]) for row in rows] for name, make in columns.items()}
    return pl.LazyFrame(data).with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))


def waits(vms=3, samples=20, **change):
    base = {
        "group_id": lambda _, vm: vm,
        "vm": lambda _, vm: f"vm-{vm:03}",
        "vcpus": lambda _, __: 2,
        "ready_pct": lambda _, vm: 1.0 + vm,
        "max_limited_pct": lambda _, __: 0.0,
        "contention_pct": lambda _, vm: 1.0 + vm,
        "costop_pct": lambda _, __: 0.0,
        "swap_wait_pct": lambda _, __: 0.0,
        "used_pct": lambda _, __: 40.0,
    }
    return table(samples, range(vms), **(base | change))


def latency(devices=2, samples=20, **change):
    base = {
        "device": lambda _, device: f"naa.6000097000012007000153303033{device:04}",
        "iops": lambda _, __: 100.0,
        "read_mbps": lambda _, __: 1.0,
        "write_mbps": lambda _, __: 2.0,
        "gavg_ms": lambda _, device: 3.0 + device,
        "davg_ms": lambda _, device: 2.5 + device,
        "kavg_ms": lambda _, __: 0.5,
        "queued": lambda _, __: 0.0,
    }
    return table(samples, range(devices), **(base | change))


def summary(rows):
    keys = ("device", "mean_iops", "gavg_ms", "davg_ms", "kavg_ms", "max_gavg_ms")
    return pl.LazyFrame(rows, schema=dict.fromkeys(keys, pl.Float64) | {"device": pl.String}, orient="row")


def layers(spec):
    """Every single view of a specification, however deeply layered."""
    if "layer" not in spec:
        return [spec]
    above = {"data": spec["data"]} if "data" in spec else {}
    return [view for layer in spec["layer"] for view in layers(above | layer)]


def rows_of(spec, view):
    return spec["datasets"][view["data"]["name"]]


def rule_values(spec):
    found = []
    for view in layers(spec):
        if view["mark"]["type"] == "rule":
            assert view["mark"]["strokeDash"], "thresholds are dashed"
            found += [row["at"] for row in rows_of(spec, view)]
    return found


def rule_words(spec):
    views = [view for view in layers(spec) if view["mark"]["type"] == "text"]
    return {row["text"] for view in views for row in rows_of(spec, view)}


def titles(spec, channel):
    return {view["encoding"][channel].get("title") for view in layers(spec) if channel in view["encoding"]} - {None}


EVERY_CHART = {
    "host cpu": lambda: cpu.host(pcpus()),
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
    "curve": lambda: power.against_use(watts(), pcpus()),
    "c-states": lambda: power.c_states(states()),
    "clock": lambda: power.clock(states()),
}


def pcpus(count=4, samples=20):
    return table(
        samples,
        [None, *range(count)],
        pcpu=lambda _, one: one,
        used_pct=lambda _, __: 50.0,
        util_pct=lambda sample, one: 40.0 + (one or 0) + sample,
        core_util_pct=lambda _, __: 60.0,
    ).with_columns(pl.col("pcpu").cast(pl.Int64))


def host_memory(**change):
    base = {
        "other_mb": lambda _, __: 60_000.0,
        "vmkernel_mb": lambda _, __: 2_000.0,
        "free_mb": lambda _, __: 3_000.0,
        "minfree_mb": lambda _, __: 1_024.0,
        "balloon_mb": lambda sample, _: float(sample),
        "swap_used_mb": lambda _, __: 0.0,
        "compressed_mb": lambda _, __: 0.0,
        "swap_in_mb_per_s": lambda _, __: 0.5,
        "swap_out_mb_per_s": lambda _, __: 0.0,
    }
    return table(20, [0], **(base | change))


def ports():
    return table(
        20,
        range(2),
        switch=lambda _, __: "vSwitch0",
        port_id=lambda _, one: one,
        client=lambda _, one: f"vmnic{one}",
        kind=lambda _, __: "uplink",
        tx_mbits=lambda _, __: 900.0,
        rx_mbits=lambda _, __: 30.0,
    )


def drops():
    return pl.LazyFrame(
        {"client": ["a", "b"], "port_id": [1, 2], "drop_rx_pct": [2.0, 0.0], "max_drop_rx_pct": [7.0, 0.0]}
    )


def watts():
    return table(20, [0], watts=lambda sample, _: 200.0 + sample, cap_watts=lambda _, __: None)


def states():
    return table(
        20,
        range(2),
        pcpu=lambda _, one: one,
        pct_c_state_c0=lambda _, __: 60.0,
        pct_c_state_c1=lambda _, __: 40.0,
        pct_c_state_c2=lambda _, __: 0.0,
        pct_of_aperf_per_mperf=lambda _, one: 100.0 + 10 * one,
    )


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


def test_times_reach_the_chart_as_milliseconds_since_1970():
    frame = rounded(watts().collect())
    assert frame["time"][0] == START.timestamp() * 1000


def test_thresholds_stand_where_they_are_told_to():
    spec = cpu.wait_over_time(waits(vms=12), "ready", READY).to_dict()
    assert rule_values(spec) == [5.0, 10.0]
    assert rule_words(spec) == {"warn 5 %", "critical 10 %"}


def test_the_first_threshold_is_on_the_chart_even_where_all_is_well_and_the_second_waits():
    spec = cpu.wait_ranked(waits(vms=2), "ready", READY).to_dict()
    assert rule_values(spec) == [5.0]
    bars = next(view for view in layers(spec) if view["mark"]["type"] == "bar")
    assert bars["encoding"]["x"]["scale"]["domain"][1] > 5.0


def test_a_limit_of_zero_is_not_drawn_upon_the_axis():
    limit = SimpleNamespace(warn=0.0, critical=10.0)
    spec = cpu.wait_ranked(waits(max_limited_pct=lambda *_: 30.0), "limited", limit).to_dict()
    assert rule_values(spec) == [10.0]


@pytest.mark.parametrize("vms", [1, 8, 9, 300])
def test_few_series_are_drawn_however_many_vms_there_are(vms):
    spec = cpu.wait_over_time(waits(vms=vms, samples=5), "ready").to_dict()
    line = next(view for view in layers(spec) if view["mark"]["type"] == "line")
    domain = line["encoding"]["color"]["scale"]["domain"]
    assert len(domain) == min(vms, MAX_SERIES)
    assert {row["label"] for row in rows_of(spec, line)} == set(domain)
    subtitle = " ".join(spec["title"].get("subtitle", []))
    assert (f"of {vms} VMs" in subtitle) == (vms > MAX_SERIES)


def test_a_long_capture_gives_few_points_and_keeps_its_peak():
    peak = 17
    spiky = waits(vms=1, samples=5000, contention_pct=lambda sample, _: 99.0 if sample == peak else 1.0)
    spec = cpu.wait_over_time(spiky, "ready").to_dict()
    rows = rows_of(spec, spec)
    assert len(rows) <= 180
    assert max(row["contention_pct_max"] for row in rows) == 99.0
    assert "area" in {view["mark"]["type"] for view in layers(spec)}
    assert "band: lowest to highest sample" in spec["title"]["subtitle"][0]


def test_waits_that_nobody_had_are_no_chart_and_the_rest_is_counted():
    assert cpu.wait_ranked(waits(), "costop") is None
    some = cpu.wait_ranked(waits(costop_pct=lambda _, vm: 4.0 if vm == 1 else 0.0), "costop").to_dict()
    assert "2 more VMs had none" in some["title"]["subtitle"][0]


def test_without_the_counter_of_limits_ready_time_is_shown_with_them_and_says_so():
    spec = cpu.wait_ranked(
        waits(contention_pct=lambda *_: None).cast({"contention_pct": pl.Float64}), "ready"
    ).to_dict()
    assert "or a limit reached" in spec["title"]["subtitle"][0]
    assert rows_of(spec, spec)[0]["p95"] == 3.0


def test_latency_is_davg_plus_kavg_and_nfs_is_not_split():
    given_rows = [("naa.1", 10.0, 3.0, 2.0, 1.0, 9.0), ("nfs", 10.0, 4.0, None, None, 5.0), ("idle", 0.0, 9, 9, 0, 9)]
    spec = storage.latency_split(summary(given_rows)).to_dict()
    bars = next(view for view in layers(spec) if view["mark"]["type"] == "bar")
    rows = rows_of(spec, bars)
    assert {(row["device"], row["part"], row["ms"]) for row in rows} == {
        ("naa.1", "DAVG", 2.0),
        ("naa.1", "KAVG", 1.0),
        ("nfs", "GAVG, not split", 4.0),
    }
    assert bars["encoding"]["x"]["stack"] == "zero"
    assert bars["encoding"]["y"]["scale"]["domain"] == ["nfs", "naa.1"]


def test_latency_over_time_is_weighted_by_commands():
    frame = latency(devices=1, samples=400, iops=lambda s, _: 900.0 if s % 2 else 100.0).with_columns(
        gavg_ms=pl.when(pl.col("iops") > 500).then(1.0).otherwise(11.0)
    )
    spec = storage.latency_over_time(frame).to_dict()
    means = {row["gavg_ms"] for row in rows_of(spec, spec)}
    # A bucket holds three samples: two busy ones and a quiet one, (2 x 900 x 1 + 100 x 11) / 1900, or the other way.
    assert {1.526, 2.818} <= means


def test_a_device_keeps_its_colour_from_chart_to_chart():
    busy_first = latency(devices=5, iops=lambda _, device: 10.0 + device)
    slow_first = latency(devices=5, gavg_ms=lambda _, device: 10.0 - device)

    def colours(chart):
        spec = chart.to_dict()
        scale = next(view for view in layers(spec) if view["mark"]["type"] == "line")["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    assert colours(storage.iops(busy_first)) == colours(storage.latency_over_time(slow_first))


def test_a_device_alone_in_its_chart_is_named_and_keeps_its_colour():
    one_queues = latency(devices=3, queued=lambda sample, device: float(sample) if device == 1 else 0.0)
    spec = storage.queued(one_queues).to_dict()
    hue = next(view for view in layers(spec) if view["mark"]["type"] == "line")["encoding"]["color"]
    assert hue["scale"] == {"domain": ["naa.600…3030330001"], "range": [theme.SERIES["orange"].light]}
    assert hue["legend"] is not None
    assert "2 more devices had none" in spec["title"]["subtitle"][0]


def test_colours_of_one_chart_are_all_different():
    for vms in (3, 8, 50):
        places = leaders(with_labels(waits(vms=vms, samples=2), "vm"), "label", "contention_pct").places
        assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    "build",
    [
        lambda: cpu.host(None),
        lambda: cpu.host(pcpus().filter(pl.lit(value=False))),
        lambda: cpu.pcpu_heat(pcpus().with_columns(util_pct=pl.lit(None, dtype=pl.Float64))),
        lambda: cpu.wait_ranked(None, "ready"),
        lambda: cpu.wait_over_time(waits().filter(pl.lit(value=False)), "ready"),
        lambda: memory.host(None),
        lambda: memory.reclaimed(host_memory(balloon_mb=lambda *_: 0.0)),
        lambda: storage.latency_split(summary([])),
        lambda: storage.latency_over_time(latency(iops=lambda *_: 0.0)),
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


def test_two_vms_of_one_name_stay_two():
    twins = waits(vms=2, vm=lambda *_: "twin")
    labels = with_labels(twins, "vm", "group_id").collect()["label"].unique().sort().to_list()
    assert labels == ["twin (0)", "twin (1)"]


def test_long_names_keep_their_ends_and_stay_different():
    names = [f"naa.600009700001200700015330303341{number:02}" for number in range(20)]
    frame = pl.LazyFrame({"device": names})
    labels = with_labels(frame, "device").collect()["label"]
    assert labels.n_unique() == 20
    assert all(len(label) <= 18 and label.endswith(name[-3:]) for label, name in zip(labels, names, strict=True))


@given(name=st.text(max_size=80))
def test_a_short_label_fits(name):
    label = shorten(name)
    assert len(label) <= 18
    assert label == name or "…" in label


@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(
        st.one_of(st.none(), st.floats(min_value=-1e6, max_value=1e6, allow_subnormal=False)), min_size=1, max_size=400
    ),
    step_s=st.integers(1, 400),
    buckets=st.integers(2, 50),
    series=st.integers(1, 3),
)
def test_reducing_keeps_minima_and_maxima_and_bounds_the_points(values, step_s, buckets, series):
    names = [f"s{number % series}" for number in range(len(values))]
    frame = pl.LazyFrame(
        {"time": times(len(values), step_s), "label": names, "v": values}, schema_overrides={"v": pl.Float64}
    ).with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))
    reduced = over_time(frame, ["v"], ["label"], buckets=buckets)

    assert reduced.frame["time"].n_unique() <= max(buckets, 1)
    if len(values) <= buckets:
        assert reduced.step_s is None
    wanted = frame.group_by("label").agg(low=pl.col("v").min(), high=pl.col("v").max()).sort("label").collect()
    got = reduced.frame.group_by("label").agg(low=pl.col("v_min").min(), high=pl.col("v_max").max()).sort("label")
    assert got.equals(wanted)
    known = reduced.frame.drop_nulls("v")
    # A mean of equal floats may differ from them in the last place.
    slack = 1e-9 * (1 + known["v"].abs())
    assert ((known["v"] >= known["v_min"] - slack) & (known["v"] <= known["v_max"] + slack)).all()


@given(span=st.floats(0, 4e8), buckets=st.integers(2, 500))
def test_bucket_steps_are_long_enough(span, buckets):
    assert bucket_step(span, buckets) * (buckets - 1) >= span * (1 - 1e-12)


def test_steps_are_spoken_in_the_largest_unit_that_divides_them():
    assert [spoken(seconds) for seconds in (5, 90, 60, 300, 7200)] == ["5 s", "90 s", "1 min", "5 min", "2 h"]


def test_a_ranking_says_how_many_it_left_out():
    labelled = with_labels(waits(vms=40, samples=3), "vm", "group_id")
    found, words = ranking(labelled, "vm", "contention_pct", "VMs", n=12)
    assert words == "12 of 40 VMs"
    assert found["full"].to_list() == [f"vm-{number:03}" for number in range(39, 27, -1)]
    assert all(first >= second for first, second in pairwise(found["p95"]))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("face", [0, 1], ids=["light", "dark"])
def test_series_stand_out_from_the_page_and_text_can_be_read(face):
    page = theme.ROLES["page"][face]
    for shade in theme.SERIES.values():
        assert contrast(shade[face], page) >= 3.0
    for role in ("ink", "muted", "warn", "critical"):
        assert contrast(theme.ROLES[role][face], page) >= 4.5


def test_every_colour_of_a_chart_has_a_dark_face():
    known = set(theme.css_variables())
    for build in EVERY_CHART.values():
        for view in layers(build().to_dict()):
            used = [view["mark"].get("color"), view["mark"].get("stroke")]
            used += view["encoding"].get("color", {}).get("scale", {}).get("range", [])
            assert {colour for colour in used if colour} <= known


def test_no_two_roles_share_a_colour():
    assert len(theme.css_variables()) == len(theme.SERIES) + len(theme.ROLES) + len(theme.HEAT)
