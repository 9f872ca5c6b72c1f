"""The verdict: which threshold is the worst, on whom, and whether it lasted."""

from __future__ import annotations

import re

import polars as pl
import pytest

from esxparse.diagnosis import thresholds, views
from esxparse.errors import EsxparseError
from esxparse.metrics import inventory, scheduling
from esxparse.reports import report
from esxparse.reports.host_health import verdict


def test_the_verdict_names_the_worst_and_tells_peaks_from_troubles():
    times = pl.datetime_range(
        pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 0, 1, 39), "1s", time_zone="UTC", eager=True
    )
    frame = pl.concat(
        pl.LazyFrame({"time": times, "group_id": number, "vm": vm, "contention_pct": ready, "costop_pct": costop})
        for number, (vm, ready, costop) in enumerate(
            [("calm", [1.0] * 100, [0.0] * 100), ("waiting", [12.0] * 50 + [1.0] * 50, [9.0] + [0.0] * 99)]
        )
    )
    found = verdict.judge(thresholds.load("standard"), {"scheduling.per_vcpu": frame})
    rows = {row["id"]: row for row in found.iter_rows(named=True)}
    assert set(rows) == {"cpu.ready", "cpu.costop"}
    assert (rows["cpu.ready"]["verdict"], rows["cpu.ready"]["object"]) == ("critical", "waiting")
    assert (rows["cpu.ready"]["objects"], rows["cpu.ready"]["of"], rows["cpu.ready"]["over_pct"]) == (1, 2, 50.0)
    assert (rows["cpu.costop"]["verdict"], rows["cpu.costop"]["extreme"]) == ("peaks", 9.0)


def test_samples_below_the_floor_do_not_count():
    quiet = pl.LazyFrame({"device": ["a", "a"], "good_iops": [1.0, 500.0], "gavg_ms": [400.0, 2.0]})
    found = verdict.judge(thresholds.load("standard"), {"storage.latency": quiet})
    assert found.filter(pl.col("id") == "disk.gavg").select("verdict", "extreme").row(0) == ("ok", 2.0)


def test_the_verdict_on_the_bundled_host_agrees_with_its_metrics(busy_host):
    waits = scheduling.per_vcpu(busy_host["group_cpu"], inventory.vms(busy_host["vcpu"]))
    found = verdict.judge(thresholds.load("standard"), {"scheduling.per_vcpu": waits})
    ready = found.filter(pl.col("id") == "cpu.ready").row(0, named=True)
    worst = waits.group_by("vm").agg(pl.col("contention_pct").quantile(0.95, "linear")).sort("contention_pct").collect()
    assert ready["object"] == worst["vm"][-1]
    assert ready["p95"] == pytest.approx(worst["contention_pct"][-1])


OWN = """
extends = "standard"

[[threshold]]
id = "cpu.own"
screen = "PCPU UTIL(%)"
table = "physical_cpu"
column = "pct_util_time"
metric = "{metric}"
unit = "%"
per = "{per}"
direction = "above"
warn = 1.0
critical = 99.0
source = "chosen here"
"""


def profile(folder, metric, per="pcpu"):
    path = folder / "own.toml"
    path.write_text(OWN.format(metric=metric, per=per), encoding="utf-8")
    return path


def judged(rec, limits):
    measures = views.measures((limit.view for limit in limits.values()), rec.tables, rec.meta["release"])
    return measures, verdict.judge(limits, measures)


@pytest.mark.parametrize(
    ("metric", "per", "worst"),
    [
        ("host_cpu.pcpu:util_pct", "pcpu", r"PCPU \d+"),
        ("host_cpu.imbalance:spread_pct", "host", "the host"),
        ("host.cpu:util_pct", "host", "the host"),
        ("host.io:iops", "host", "the host"),
        ("power.host:watts", "host", "the host"),
        ("memory.host:machine_mib", "host", "the host"),
        ("scheduling.each_vcpu:used_pct", "vcpu", r".+, vCPU \d+.*"),
        ("scheduling.per_vcpu:used_pct", "vcpu", ".+"),
        ("memory.vms:size_mib", "vm", ".+"),
        ("storage.latency:iops", "device", ".+"),
        ("network.ports:tx_packets", "port", ".+"),
        ("", "pcpu", ".+"),
    ],
)
def test_every_view_a_profile_may_name_is_judged(busy_host, tmp_path, metric, per, worst):
    limits = thresholds.load(profile(tmp_path, metric, per))
    measures, found = judged(busy_host, limits)
    assert "cpu.own" in found["id"].to_list()
    row = found.filter(pl.col("id") == "cpu.own").row(0, named=True)
    assert row["verdict"] in {"warning", "critical"}
    assert re.fullmatch(worst, row["object"])
    # With the thresholds that are judged, those that are not make the profile.
    left = verdict.not_judged(limits, measures, found).text
    assert all(id_ in left or id_ in found["id"].to_list() for id_ in limits)


def test_every_view_of_the_map_is_tried_above():
    tried = next(mark for mark in test_every_view_a_profile_may_name_is_judged.pytestmark if mark.name == "parametrize")
    assert {metric.partition(":")[0] for metric, _, _ in tried.args[1]} - {""} == set(views.VIEWS)


def test_the_util_of_pcpus_is_that_of_the_cells(busy_host, busy_host_sheet, tmp_path):
    _, found = judged(busy_host, thresholds.load(profile(tmp_path, "host_cpu.pcpu:util_pct")))
    row = found.filter(pl.col("id") == "cpu.own").row(0, named=True)
    highest = {
        one: max(busy_host_sheet.column("Physical Cpu", one, "% Util Time"))
        for one in busy_host_sheet.instances("Physical Cpu")
        if one != "_Total"
    }
    assert row["of"] == len(highest) == 16
    assert row["extreme"] == highest[row["object"].removeprefix("PCPU ")]


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        (
            "host_cpu.pcpus:util_pct",
            "write view:column, where the view is one of host.cpu, host.io,",
        ),
        ("host_cpu.pcpu", "write view:column"),
        ("host_cpu.pcpu:", "write view:column"),
    ],
)
def test_a_view_that_nobody_knows_is_refused_when_the_profile_is_read(tmp_path, metric, what):
    with pytest.raises(EsxparseError, match=rf"own.toml: threshold cpu.own: 'metric' is '{metric}': {what}"):
        thresholds.load(profile(tmp_path, metric))


def test_what_was_not_judged_is_listed_with_its_reason(busy_host, tmp_path):
    def reason(metric, tables):
        limits = thresholds.load(profile(tmp_path, metric))
        own = {"cpu.own": limits["cpu.own"]}
        measures = views.measures([own["cpu.own"].view], tables)
        found = verdict.judge(own, measures)
        assert found.is_empty()
        return verdict.not_judged(own, measures, found).text

    tables = busy_host.tables
    assert "host_cpu.pcpu has no column utl_pct" in reason("host_cpu.pcpu:utl_pct", tables)
    assert "the capture lacks table physical_cpu" in reason("host_cpu.pcpu:util_pct", {})
    nothing = {"physical_cpu": tables["physical_cpu"].with_columns(pct_util_time=pl.lit(None, dtype=pl.Float64))}
    assert "the capture has no values for it" in reason("host_cpu.pcpu:util_pct", nothing)
    own = {"disk.gavg": thresholds.load("standard")["disk.gavg"]}
    measures = {"storage.latency": pl.LazyFrame({"device": ["a"], "good_iops": [1.0], "gavg_ms": [400.0]})}
    found = verdict.judge(own, measures)
    assert "always below 10 commands/s" in verdict.not_judged(own, measures, found).text


def test_the_report_lists_a_threshold_of_ones_own_and_what_it_did_not_judge(busy_host_file, tmp_path):
    own = str(profile(tmp_path, "power.host:no_such_column"))
    page = report(busy_host_file, "host_health", tmp_path / "r.html", {"profile": own})
    words = page.read_text(encoding="utf-8")
    assert "Thresholds not judged: 1 of 21" in words
    assert "power.host has no column no_such_column" in words


def test_a_sample_at_the_limit_is_past_it():
    """From 5 % on is a warning: a sample of just 5.00 counts, one of 4.99 does not."""
    at_limit = [5.0] + [4.99] * 99
    frame = pl.LazyFrame({"vm": ["db"] * 100, "group_id": [7] * 100, "contention_pct": at_limit})
    own = {"cpu.ready": thresholds.load("standard")["cpu.ready"]}
    row = verdict.judge(own, {"scheduling.per_vcpu": frame}).row(0, named=True)
    assert (row["verdict"], row["over_pct"], row["extreme"]) == ("peaks", 1.0, 5.0)
    always = frame.with_columns(contention_pct=pl.lit(5.0))
    assert verdict.judge(own, {"scheduling.per_vcpu": always}).select("verdict", "objects").row(0) == ("warning", 1)
