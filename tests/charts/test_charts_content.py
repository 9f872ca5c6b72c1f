"""Single charts, by meaning: thresholds, series, layers, and the colours that devices keep."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from chart_frames import READY, latency, summary, waits
from specs import drawn, layers, rows_of, rule_values, rule_words, titles

from esxparse.charts import cpu, marks, storage, study, theme
from esxparse.charts import latency as latencies
from esxparse.charts.captions import past_in_samples
from esxparse.charts.reduce import MAX_SERIES


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
    others = [f"{vms - MAX_SERIES} other VM{'s' if vms > MAX_SERIES + 1 else ''}"] if vms > MAX_SERIES else []
    assert domain[MAX_SERIES:] == others
    assert len(domain) == min(vms, MAX_SERIES) + len(others)
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
        waits(max_limited_pct=lambda *_: None).cast({"max_limited_pct": pl.Float64}), "ready"
    ).to_dict()
    assert "or a limit reached" in spec["title"]["subtitle"][0]
    assert rows_of(spec, spec)[0]["p95"] == 3.0


def test_latency_is_davg_plus_kavg_and_nfs_is_not_split():
    given_rows = [("naa.1", 10.0, 3.0, 2.0, 1.0, 9.0), ("nfs", 10.0, 4.0, None, None, 5.0), ("idle", 0.0, 9, 9, 0, 9)]
    spec = storage.latency_split(summary(given_rows)).to_dict()
    bars = next(view for view in layers(spec) if view["mark"]["type"] == "bar")
    rows = rows_of(spec, bars)
    assert {(row["instance"], row["part"], row["ms"]) for row in rows} == {
        ("naa.1", "DAVG", 2.0),
        ("naa.1", "KAVG", 1.0),
        ("nfs", "GAVG, not split", 4.0),
    }
    assert bars["encoding"]["x"]["stack"] == "zero"
    assert bars["encoding"]["y"]["scale"]["domain"] == ["nfs", "naa.1"]


def test_latency_over_time_is_weighted_by_commands():
    frame = latency(devices=1, samples=400, good_iops=lambda s, _: 900.0 if s % 2 else 100.0).with_columns(
        gavg_ms=pl.when(pl.col("good_iops") > 500).then(1.0).otherwise(11.0)
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


def test_microseconds_are_told_apart_among_percentiles():
    took = [0.002352, 0.002928, 0.004384]
    table = pl.LazyFrame({"label": "vm", "percentile": [50.0, 90.0, 99.0], "latency_ms": took})
    spec = latencies.percentiles(table).to_dict()
    assert [row["latency_ms"] for row in rows_of(spec, layers(spec)[0])] == took


def test_any_table_is_drawn_with_its_columns_names_a_chart_for_each_panel():
    table = pl.DataFrame(
        {
            "disk": ["lun"] * 4 + ["cached"] * 4,
            "size_kib": [1, 4, 8, 16] * 2,
            "mb_per_s": [10.0, 40.0, 80.0, 160.0, 11.0, 44.0, 88.0, 176.0],
        }
    )
    one = study.of(table, "mb_per_s", "size_kib", "disk", title="Throughput").to_dict()
    assert "vconcat" not in one
    assert (titles(one, "x"), titles(one, "y")) == ({"size_kib"}, {"mb_per_s"})
    named = study.of(table, "mb_per_s", "size_kib", title="T", unit="MB/s", place="size", panel="disk").to_dict()
    assert list(map(drawn, named["vconcat"])) == ["T: lun", "T: cached"]
    for part in named["vconcat"]:
        assert (titles(part, "x"), titles(part, "y")) == ({"size"}, {"MB/s"})


def test_negative_values_in_a_smaller_unit_keep_both_ends_of_their_axis():
    """Changes of latency of less than a ms are drawn in microseconds."""
    rows = pl.DataFrame({"disk": ["a", "b", "c"], "change": [-0.25, 0.1, -0.05], "low": [-0.3, 0.05, -0.06]})
    rows = rows.with_columns(high=pl.col("change") + 0.05)
    spec = study.of(rows, "change", "disk", low="low", high="high", title="Change of latency", unit="ms").to_dict()
    assert titles(spec, "x") == {"µs"}
    bars = [view for view in layers(spec) if view["mark"]["type"] == "bar"]
    assert [one["encoding"]["x"]["scale"]["domain"] for one in bars] == [pytest.approx([-300, 150])]
    drawn = {row["place"]: (row["value"], row["low"], row["high"]) for row in rows_of(spec, bars[0])}
    assert drawn == {
        name: pytest.approx((1000 * change, 1000 * low, 1000 * high)) for name, change, low, high in rows.iter_rows()
    }


@pytest.mark.parametrize(
    ("places", "drawn"), [([1, 4], "bar"), ([1, 4, 1, 4], "bar"), ([1, 4, 8], "line"), (["1", "4", "8"], "bar")]
)
def test_three_numbers_are_a_sweep_and_two_are_names(places, drawn):
    table = pl.DataFrame({"size": places, "mb_per_s": [10.0, 40.0, 80.0, 20.0][: len(places)]})
    kinds = {view["mark"]["type"] for view in layers(study.of(table, "mb_per_s", "size", title="T").to_dict())}
    assert drawn in kinds
    assert not kinds & ({"bar", "line"} - {drawn})


def test_one_line_has_no_legend():
    table = pl.DataFrame({"disk": ["a"] * 3 + ["b"] * 3, "size": [1, 4, 8] * 2, "mb_per_s": [10.0, 40, 80, 9, 39, 79]})
    for rows, names in ((table, ["a", "b"]), (table.head(3), None)):
        spec = study.of(rows, "mb_per_s", "size", "disk", title="T").to_dict()
        legends = [view["encoding"]["color"]["legend"] for view in layers(spec) if view["mark"]["type"] == "line"]
        assert [one and one["values"] for one in legends] == [names]


@pytest.mark.parametrize(
    ("warn", "critical", "sides"),
    [(25.0, 75.0, ["left", "right"]), (26.0, 74.0, ["right", "left"]), (25.0, 74.0, ["left", "left"])],
)
def test_words_at_limits_of_a_ranking_keep_off_its_ends_and_each_other(warn, critical, sides):
    drawn = marks.rules(SimpleNamespace(warn=warn, critical=critical), 100.0, "%", axis="x")
    words = [chart.to_dict()["mark"] for chart in drawn]
    assert [one["align"] for one in words if one["type"] == "text"] == [side for side in sides for _ in range(2)]


def test_a_bar_below_a_limit_that_samples_passed_says_so():
    peaks = waits(vms=2, samples=100, contention_pct=lambda sample, vm: 30.0 if sample == vm == 0 else 1.0 + vm)
    spec = cpu.wait_ranked(peaks, "ready", READY).to_dict()
    row = next(row for row in rows_of(spec, layers(spec)[0]) if row["max"] == 30.0)
    assert row["p95"] < READY.warn
    said = f"some samples passed the critical limit, although the bar ends below it: {row['label']}"
    assert said in spec["title"]["subtitle"][0]
    assert "some samples" not in str(cpu.wait_ranked(peaks, "ready").to_dict()["title"])


@pytest.mark.parametrize(
    ("highest", "said"),
    [(12.0, "the critical limit, although the bar ends below it: db"), (7.0, "the warning limit"), (4.0, "")],
)
def test_the_higher_limit_that_samples_passed_is_named(highest, said):
    table = pl.DataFrame({"label": ["db"], "p95": [1.0], "max": [highest]})
    told = past_in_samples(table, "p95", "max", READY)
    assert said in told
    assert bool(said) == bool(told)


def test_charts_of_latency_have_their_statistic_and_unit_in_the_title():
    made = (
        storage.latency_split(summary([("naa.1", 10.0, 3.0, 2.0, 1.0, 9.0)]), READY),
        storage.latency_over_time(latency(), READY),
    )
    assert [chart.to_dict()["title"]["text"] for chart in made] == [
        "Mean latency of each device, ms",
        "Mean guest latency (GAVG) over time, ms",
    ]
