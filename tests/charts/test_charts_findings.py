"""Charts of findings: who is in colour, what is shaded, which limit, and which series tells of a finding."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from chart_frames import READY, START, times
from fault_hosts import seen
from specs import layers, titles

import esxparse as ex
from esxparse.charts import findings
from esxparse.charts.theme import colour
from esxparse.derived.panels import Panel
from esxparse.diagnosis import evidence
from esxparse.diagnosis.findings import Finding
from esxparse.diagnosis.series import Series


def evidence_of(names=("calm", "waiting"), fault=("waiting",), **more):
    """Ready time of VMs, 20 samples, of which the one that waits has five with 30 %."""
    columns = {"time": pl.Datetime("us", "UTC"), "name": pl.String, "value": pl.Float64}
    rows = [
        (at, name, 30.0 if name == "waiting" and 5 <= sample < 10 else 1.0)
        for sample, at in enumerate(times(20))
        for name in names
    ]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    start, end = START + timedelta(seconds=25), START + timedelta(seconds=45)
    made = findings.Evidence(table, fault, start, end, "ready time", "%RDY", "% of one core", "VM", READY)
    return made._replace(**more)


def marks_of(spec, kind):
    return [one for one in layers(spec) if one["mark"]["type"] == kind]


def data(spec, layer):
    return spec["datasets"][layer["data"]["name"]]


def words_in(spec):
    """The words of limits and of the spell in a chart."""
    layers = marks_of(spec, "text")
    return {one[layer["encoding"]["text"]["field"]] for layer in layers for one in data(spec, layer)}


def test_the_spell_is_shaded_from_the_interval_of_its_first_sample():
    spec = findings.spell(evidence_of()).to_dict()
    assert spec["title"]["text"] == "waiting: ready time 30 % on average in the spell, median 1 outside"
    (shade,) = marks_of(spec, "rect")
    (row,) = data(spec, shade)
    first = int(START.timestamp() * 1000)
    assert (row["time"] - first, row["end"] - first) == (20_000, 45_000)
    assert titles(spec, "y") == {"%RDY, % of one core"}
    assert words_in(spec) == {
        "warn 5 %",
        "critical 10 %",
        "spell",
    }


def test_objects_at_fault_are_in_colour_and_the_highest_others_grey_behind_them():
    names = ("waiting", *(f"calm-{number}" for number in range(9)))
    spec = findings.spell(evidence_of(names)).to_dict()
    (line,) = marks_of(spec, "line")
    scale = line["encoding"]["color"]["scale"]
    assert scale["domain"][0] == "waiting"
    assert scale["range"] == [colour("blue"), *[colour("rest")] * findings.MAX_OTHERS]
    assert data(spec, line)[-1]["label"] == "waiting"
    assert "the highest 6 of 9 other VMs" in spec["title"]["subtitle"][0]


def test_a_trouble_all_the_time_has_no_before_and_an_object_without_values_no_chart():
    whole = evidence_of(start=START, end=START + timedelta(seconds=95))
    assert findings.spell(whole).to_dict()["title"]["text"] == "waiting: ready time 8.25 % on average, up to 30"
    assert findings.spell(evidence_of(fault=("gone",))) is None


def test_two_limits_close_together_share_a_label():
    spec = findings.spell(evidence_of(levels=type(READY)(warn=1.0, critical=2.0))).to_dict()
    said = words_in(spec)
    assert said == {"", "warn 1, critical 2 %", "spell"}


@pytest.mark.search
@pytest.mark.parametrize(
    ("fault", "words", "who", "unit", "limit"),
    [
        ("cpu-limit", "time withheld by a limit", ("logs-01",), "% of one core", 0.0),
        ("array-slow", "device latency", ("naa.6006016011223344550000000000000a3",), "ms", 20.0),
        ("numa-remote", "local memory", ("crm-db",), "%", 80.0),
    ],
)
def test_the_series_that_bounds_a_spell_is_drawn_with_the_limit_of_its_rule(fault, words, who, unit, limit):
    found = ex.diagnose(seen(fault).recording)
    (one,) = evidence.of(found[0], found.series, found.times, "standard")
    assert (one.words, one.fault, one.unit, one.levels.warn) == (words, who, unit, limit)
    assert one.table.filter(name=who[0]).height == len(found.times)


def test_victims_of_a_neighbour_are_drawn_beside_it():
    found = ex.diagnose(seen("noisy-neighbour-cpu").recording)
    first, second = evidence.of(found[0], found.series, found.times, "standard", 2)
    assert first.fault == ("render-01",)
    assert "render-01" not in second.fault
    assert found.chart(0).to_dict()["title"]["text"].startswith("render-01: run time of the VM")


def test_a_finding_of_the_whole_host_shows_the_vms_that_it_is_about():
    found = ex.diagnose(seen("cpu-overcommit").recording)
    (one,) = evidence.of(found[0], found.series, found.times, "standard")
    assert (one.noun, one.words, len(one.fault)) == ("VM", "time waiting for a CPU", 3)


def test_what_is_there_all_the_time_need_not_move_to_be_drawn():
    """Four VMs ballooned to the last for the whole capture: the VMs come before the host's sum."""
    stamps = times(20)
    moving = np.linspace(600.0, 590.0, 20)[:, None]
    series = Series(
        {
            "vm": Panel("vm", ("a", "b"), {"balloon_mib": np.full((20, 2), 300.0)}),
            "host": Panel("host", ("host",), {"balloon_mib": moving, "free_mib": moving}),
        },
        20,
    )
    host = {"kind": "host", "name": "host"}
    ballooned = Finding("memory.balloon", "warning", 0.8, host, stamps[0], stamps[-1], "", (), (), (), "", "")
    first, *_ = evidence.of(ballooned, series, stamps, "standard", 2)
    assert (first.noun, set(first.fault)) == ("VM", {"a", "b"})
    short = replace(ballooned, end=stamps[9])
    assert evidence.of(short, series, stamps, "standard", 2)[0].noun == "host"


def test_a_trouble_that_is_no_case_has_no_chart():
    found = ex.diagnose(seen("cpu-limit").recording)
    other = replace(found, findings=(replace(found[0], trouble="mine.own"),))
    assert other.charts(0) == []
    assert replace(found, series=None).chart(0) is None


def test_slow_runs_have_rings_and_their_sweep_a_solid_line():
    points = pl.DataFrame(
        {
            "level": [128, 256, 128, 256],
            "label": ["slow runs' sweep"] * 2 + ["with disk = cached"] * 2,
            "mean": [117.0, 41.0, 117.0, 117.0],
            "low": [117.0, 40.0, 117.0, 117.0],
            "high": [117.0, 42.0, 117.0, 117.0],
            "slow": [False, True, False, False],
        }
    )
    spec = findings.sweep(points, factor="size", unit="Throughput, MB/s", title="Slow").to_dict()
    assert titles(spec, "y") == {"Throughput, MB/s"}
    assert marks_of(spec, "line")[0]["encoding"]["x"]["scale"]["domain"] == ["128", "256"]
    filters = [one["transform"][0]["filter"] for one in marks_of(spec, "line")]
    assert filters == ["(datum.dash === 0)", "(datum.dash === 1)"]
    assert findings.sweep(points.clear(), factor="size", unit="", title="") is None


def test_bars_of_experiments_are_coloured_by_what_they_show():
    outcomes = ["slow runs", "not slow"]
    bars = pl.DataFrame({"label": ["the slow runs", "with a"], "value": [5.0, 100.0], "outcome": outcomes})
    spec = findings.experiments(bars, unit="% of the fast runs", title="Changed").to_dict()
    (bar,) = marks_of(spec, "bar")
    assert bar["encoding"]["color"]["scale"]["domain"] == outcomes
    assert titles(spec, "x") == {"% of the fast runs"}
    assert findings.experiments(bars.clear(), unit="", title="") is None


def test_changes_against_a_baseline_are_for_the_better_or_the_worse():
    outcomes = ["better", "worse", "no difference shown"]
    rows = pl.DataFrame({"label": ["a", "b", "c"], "change_pct": [54.0, 16.0, 0.1], "outcome": outcomes})
    rows = rows.with_columns(least_pct=pl.col("change_pct") - 5, most_pct=pl.col("change_pct") + 5)
    spec = findings.changes(rows, title="null instead of default").to_dict()
    (bar,) = marks_of(spec, "bar")
    assert bar["encoding"]["color"]["scale"]["domain"] == outcomes
    assert titles(spec, "x") == {"change, %"}
    assert findings.changes(rows.clear(), title="") is None


@pytest.mark.parametrize("many", [1, 2, 7])
def test_bars_against_a_baseline_have_room_for_each_and_a_range_only_where_there_is_one(many):
    rows = pl.DataFrame({"label": [f"m{place}" for place in range(many)], "change_pct": [4.0] * many})
    rows = rows.with_columns(outcome=pl.lit("better"), least_pct=pl.lit(4.0), most_pct=pl.lit(4.0))
    plain = findings.changes(rows, title="changed").to_dict()
    heights = {
        count: findings.changes(pl.concat([rows] * 9).head(count), title="changed").to_dict()["height"]
        for count in (many, many + 1)
    }
    assert heights[many + 1] > heights[many] or many == 1
    assert "range" not in str(plain["title"])
    one_with = rows.with_columns(least_pct=pl.when(pl.int_range(pl.len()) == 0).then(1.0).otherwise(4.0))
    assert "range over configurations" in str(findings.changes(one_with, title="changed").to_dict()["title"])
    above = rows.with_columns(most_pct=pl.lit(9.0))
    assert "range over configurations" in str(findings.changes(above, title="changed").to_dict()["title"])


@pytest.mark.parametrize(("letters", "columns"), [(18, 2), (19, 1)])
def test_labels_of_a_sweep_stand_in_two_columns_where_they_are_short(letters, columns):
    values = {"level": [1, 2], "label": ["short", "x" * letters], "mean": [4.0, 5.0], "slow": [False, True]}
    points = pl.DataFrame(values).with_columns(low="mean", high="mean")
    spec = findings.sweep(points, factor="size", unit="MB/s", title="Slow").to_dict()
    assert {one["encoding"]["color"]["legend"]["columns"] for one in marks_of(spec, "line")} == {columns}
    assert "lowest to highest" not in str(spec["title"])
    ranged = points.with_columns(high=pl.Series([4.5, 5.0]))
    spec = findings.sweep(ranged, factor="size", unit="MB/s", title="Slow").to_dict()
    assert "lowest to highest" in str(spec["title"])


def test_what_only_some_have_and_never_changes_comes_after_what_moves():
    """One VM of two is ballooned all the time: the host's sum moves within the spell, and comes first."""
    stamps = times(20)
    series = Series(
        {
            "vm": Panel("vm", ("a", "b"), {"balloon_mib": np.full((20, 2), [300.0, 0.0])}),
            "host": Panel("host", ("host",), {"balloon_mib": np.linspace(600.0, 590.0, 20)[:, None]}),
        },
        20,
    )
    host = {"kind": "host", "name": "host"}
    short = Finding("memory.balloon", "warning", 0.8, host, stamps[0], stamps[9], "", (), (), (), "", "")
    assert [one.noun for one in evidence.of(short, series, stamps, "standard", 2)] == ["host", "VM"]


def test_the_spell_has_its_word_above_the_shade_but_not_where_all_is_shaded():
    spec = findings.spell(evidence_of()).to_dict()
    (word,) = (one for layer in marks_of(spec, "text") for one in data(spec, layer) if "word" in one)
    (shade,) = (one for layer in marks_of(spec, "rect") for one in data(spec, layer))
    assert word["time"] == (shade["time"] + shade["end"]) / 2
    seen = evidence_of()
    times = seen.table["time"]
    always = findings.spell(seen._replace(start=times.min(), end=times.max())).to_dict()
    assert "spell" not in words_in(always)
