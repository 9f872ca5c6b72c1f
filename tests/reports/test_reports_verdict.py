"""The verdict: which rule is the worst passed, on whom, and whether it lasted."""

from __future__ import annotations

import re
from dataclasses import replace

import compose
import numpy as np
import polars as pl
import pytest
from fault_hosts import seen

import esxparse as ex
from esxparse.derived.panels import Panel
from esxparse.diagnosis import levels, rules
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.diagnose import series_of
from esxparse.diagnosis.findings import SEVERITIES
from esxparse.diagnosis.series import Series
from esxparse.diagnosis.symptoms import values
from esxparse.metrics import inventory, scheduling
from esxparse.reports import report, verdicts
from esxparse.reports.host_health import verdict


def series(kind, names, **columns):
    """Series of one kind, by column: samples x objects."""
    values = {name: np.array(rows, dtype=float).T for name, rows in columns.items()}
    return Series({kind: Panel(kind, names, values)}, len(next(iter(values.values()))))


def test_the_verdict_names_the_worst_and_tells_peaks_from_troubles():
    ready = [[1.0] * 100, [12.0] * 50 + [1.0] * 50]
    costop = [[0.0] * 100, [9.0] + [0.0] * 99]
    made = series("vm", ("calm", "waiting"), contention_pct=ready, costop_pct=costop)
    found = verdict.judge(rules.load("standard"), made)
    rows = {row["id"]: row for row in found.iter_rows(named=True)}
    assert set(rows) == {"cpu.ready", "cpu.costop"}
    assert (rows["cpu.ready"]["verdict"], rows["cpu.ready"]["object"]) == ("critical", "waiting")
    assert (rows["cpu.ready"]["objects"], rows["cpu.ready"]["of"], rows["cpu.ready"]["over_pct"]) == (1, 2, 50.0)
    assert (rows["cpu.costop"]["verdict"], rows["cpu.costop"]["extreme"]) == ("peaks", 9.0)


def test_samples_below_the_floor_do_not_count_unless_they_go_on():
    limits = {"disk.gavg": rules.load("standard")["disk.gavg"]}
    quiet = series("device", ("a",), good_iops=[[1.0, 500.0]], gavg_ms=[[400.0, 2.0]])
    assert verdict.judge(limits, quiet).select("verdict", "extreme").row(0) == ("ok", 2.0)
    dead = series("device", ("a",), good_iops=[[0.2] * 20], gavg_ms=[[5000.0] * 20])
    assert verdict.judge(limits, dead).select("verdict", "extreme").row(0) == ("critical", 5000.0)


def test_a_slow_device_passed_over_for_its_floor_is_named_with_the_reason():
    limits = {"disk.gavg": rules.load("standard")["disk.gavg"]}
    quiet = series("device", ("busy", "idle"), good_iops=[[900.0] * 9, [2.0] * 9], gavg_ms=[[3.0] * 9, [28.0] * 9])
    said = verdict.not_judged(limits, quiet, verdict.judge(limits, quiet)).text
    assert re.search(r"idle +28\.0 +ms +fewer than 10 commands/s", said)
    assert "busy" not in said


def test_few_samples_are_said_where_a_percentile_judges(busy_host):
    found = verdict.judge(rules.load("standard"), series_of(busy_host))
    assert verdict.overview(found, "standard", 3).text.startswith("3 samples: a 95th percentile of so few")
    assert "samples:" not in verdict.overview(found, "standard", 20).text
    assert "Memory that the balloon has taken from the guest" in verdict.overview(found, "standard", 20).text


def test_thresholds_are_collapsed_and_have_their_finding(busy_host):
    made = series_of(busy_host)
    explained = verdicts.explained(ex.diagnose(busy_host, series=made))
    shown = verdict.overview(verdict.judge(rules.load(), made), "standard", 121, explained)
    assert shown.html.startswith('<details class="ex-quiet"><summary class="ex-caption">Thresholds exceeded: 33 of 76 ')
    rows = [line for line in shown.text.splitlines() if re.search(r" (critical|warning|peaks) ", line)]
    assert len(rows) == 33
    levels = [re.search(r" (critical|warning|peaks) ", line)[1] for line in rows]
    without = [not any(title in line for title in explained.values()) for line in rows]
    place = {"critical": 0, "warning": 1, "peaks": 2}
    order = [(place[level], one) for level, one in zip(levels, without, strict=True)]
    assert order == sorted(order)
    assert {True, False} <= set(without)
    (limit,) = [line for line in rows if line.startswith("%MLMTD")]
    assert "report-batch" in limit
    assert "A CPU limit holds a VM back" in limit


def test_without_a_finding_nothing_is_explained(busy_host):
    shown = verdict.overview(verdict.judge(rules.load(), series_of(busy_host)), "standard", 121)
    assert "Explained by" not in shown.text


def test_the_verdict_on_the_bundled_host_agrees_with_its_metrics(busy_host):
    waits = scheduling.per_vcpu(busy_host["group_cpu"], inventory.vms(busy_host["vcpu"]), busy_host["vcpu"])
    found = verdict.judge(rules.load("standard"), series_of(busy_host))
    ready = found.filter(pl.col("id") == "cpu.ready").row(0, named=True)
    worst = waits.group_by("vm").agg(pl.col("contention_pct").quantile(0.95, "linear")).sort("contention_pct").collect()
    assert ready["object"] == worst["vm"][-1]
    assert ready["p95"] == pytest.approx(worst["contention_pct"][-1])


OWN = """
extends = "standard"

[[rule]]
id = "cpu.own"
screen = "PCPU UTIL(%)"
kind = "{kind}"
value = "{value}"
unit = "%"
direction = "above"
warn = 1.0
critical = 99.0
source = "chosen here"
"""


def profile(folder, value, kind="pcpu"):
    path = folder / "own.toml"
    path.write_text(OWN.format(value=value, kind=kind), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "value", "worst"),
    [
        ("pcpu", "util_pct", r"PCPU \d+"),
        ("host", "spread_pct", "the host"),
        ("host", "2 * machine_mib", "the host"),
        ("vm", "used_pct + system_pct", ".+"),
        ("device", "iops", ".+"),
        ("port", "tx_packets", ".+"),
    ],
)
def test_a_rule_of_ones_own_judges_an_expression_over_any_series(busy_host, tmp_path, kind, value, worst):
    limits = rules.load(profile(tmp_path, value, kind))
    made = series_of(busy_host)
    found = verdict.judge(limits, made)
    row = found.filter(pl.col("id") == "cpu.own").row(0, named=True)
    assert row["verdict"] in {"warning", "critical"}
    assert re.fullmatch(worst, row["object"])
    # With the rules that are judged, those that are not make the profile.
    left = verdict.not_judged(limits, made, found).text
    assert all(one.screen in left or id_ in found["id"].to_list() for id_, one in limits.items())


def test_the_util_of_pcpus_is_that_of_the_cells(busy_host, busy_host_sheet, tmp_path):
    found = verdict.judge(rules.load(profile(tmp_path, "util_pct")), series_of(busy_host))
    row = found.filter(pl.col("id") == "cpu.own").row(0, named=True)
    highest = {
        one: max(busy_host_sheet.column("Physical Cpu", one, "% Util Time"))
        for one in busy_host_sheet.instances("Physical Cpu")
        if one != "_Total"
    }
    assert row["of"] == len(highest) == 16
    assert row["extreme"] == highest[row["object"].removeprefix("PCPU ")]


def test_what_was_not_judged_is_listed_with_its_reason(busy_host, tmp_path):
    own = {"cpu.own": rules.load(profile(tmp_path, "util_pct"))["cpu.own"]}
    without = {name: frame for name, frame in busy_host.tables.items() if name != "physical_cpu"}
    blind = series_of(replace(busy_host, tables=without))
    found = verdict.judge(own, blind)
    assert found.is_empty()
    words = verdict.not_judged(own, blind, found).text
    assert re.search(r"CPU counters not in this capture's fields +PCPU UTIL +PCPU UTIL\(%\)", words)
    assert "without -a" not in words


@pytest.mark.search
def test_the_report_lists_what_it_did_not_judge(busy_host_file, tmp_path):
    own = str(profile(tmp_path, "congestion", "vsan"))
    page = report(busy_host_file, "host_health", tmp_path / "r.html", {"profile": own})
    words = page.read_text(encoding="utf-8")
    assert re.search(rf"Thresholds not judged: \d+ of {len(rules.load(own))}", words)
    assert "No such objects on this host" in words


@pytest.mark.search
def test_a_profile_may_be_named_relative_to_the_working_directory(busy_host_file, tmp_path, monkeypatch):
    own = profile(tmp_path, "util_pct")
    monkeypatch.chdir(tmp_path)
    page = report(busy_host_file.resolve(), "host_health", "r.html", {"profile": own.name})
    assert str(own) in page.read_text(encoding="utf-8")


def test_a_sample_at_the_limit_is_past_it():
    """From 5 % on is a warning: a sample of just 5.00 counts, one of 4.99 does not."""
    own = {"cpu.ready": rules.load("standard")["cpu.ready"]}
    row = verdict.judge(own, series("vm", ("db",), contention_pct=[[5.0] + [4.99] * 99])).row(0, named=True)
    assert (row["verdict"], row["over_pct"], row["extreme"]) == ("peaks", 1.0, 5.0)
    always = series("vm", ("db",), contention_pct=[[5.0] * 100])
    assert verdict.judge(own, always).select("verdict", "objects").row(0) == ("warning", 1)


@pytest.mark.parametrize("name", ["compression", "interrupt-on-one-pcpu", "oversized-smp", "cpu-overcommit"])
def test_a_finding_is_as_severe_as_its_object_is_in_the_table_of_thresholds(name):
    rec = seen(name).recording
    limits, series = rules.load(), series_of(rec)
    table = verdict.judge(limits, series).filter(verdict="critical")
    critical = {(kind, area_of(rule)) for kind, rule in table.select("kind", "id").rows()}
    found = [one for one in ex.diagnose(rec, series=series) if one.severity != "info"]
    of = [one for one in found if (one.entity["kind"], area_of(one.trouble)) in critical]
    worst = levels.levels(limits, values(limits.values(), series), series)
    mine = [one for one in of if worst.get((*one.entity.values(), area_of(one.trouble))) == "critical"]
    assert mine
    assert {one.severity for one in mine} == {"critical"}


def test_thresholds_that_lack_columns_have_the_reason_of_the_diagnosis(tmp_path):
    """With 256 columns a spreadsheet may have cut the rest off: esxtop is not to blame."""
    rows = [["1.50"] * 255] * 3
    rec = ex.open(
        compose.write(tmp_path, compose.text([(f"Group Cpu({n}:vm{n})", "% Used") for n in range(255)], rows))
    )
    series = series_of(rec)
    text = verdict.not_judged(rules.load(), series, verdict.judge(rules.load(), series)).text
    assert "a spreadsheet may have cut columns off" in text
    assert "without -a" not in text
    reasons = {one["why"] for one in ex.diagnose(rec).not_judged if one["what"] == "rule"}
    assert reasons
    assert all(reason in text for reason in reasons)


def test_critical_findings_come_before_warnings(busy_host):
    """The likely and harmful come first among equals: one of the critical ones is less likely than a warning."""
    found = [one for one in ex.diagnose(busy_host) if not one.verdict.startswith("Another reading")]
    order = [SEVERITIES.index(one.severity) for one in found]
    assert {"critical", "warning"} <= {one.severity for one in found}
    assert order == sorted(order)
