"""Findings in reports: sentences that lead to charts, cards, what was not judged, and the templates made of them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

import pytest
from fault_hosts import seen
from studied import made
from templated import alone, shown

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.reports import blocks, cards, report, verdicts
from esxparse.reports.host_health import verdict


@pytest.fixture(scope="module")
def limited():
    return ex.diagnose(seen("cpu-limit").recording)


@pytest.mark.search
def test_the_report_opens_with_the_verdicts_and_never_says_that_all_is_well(limited):
    sick = verdicts.sentences(limited)
    assert sick.text.startswith("1 trouble: 1 critical\n")
    assert re.search(r"11:03:20 to 11:06:15: logs-01 was held back by a CPU limit.* \(likely\)", sick.text)
    hint = r'<span class="ex-hint" title="Confidence above 0\.99, fitted on simulated hosts\. .*">likely<'
    assert re.search(hint, sick.html)
    assert limited[0].next in unescape(sick.html)
    assert '<a href="#finding-1">Finding 1</a>' in sick.html
    assert "%MLMTD was" in verdict.evidence(limited).text
    well = verdicts.sentences(ex.diagnose(seen("healthy-web", 0.0).recording)).text
    assert re.match(r"Nothing found by the checks that were possible \(\d+ of \d+ judged\)\. ", well)
    assert well.endswith(" Checks that need missing counters were skipped.")


def test_numbers_of_findings_leave_out_what_is_harmless_and_charts_bear_the_anchor(limited):
    info = replace(limited[0], severity="info")
    found = replace(limited, findings=(info, limited[0], info, limited[0]))
    assert verdicts.worst(found) == {1: 1, 2: 3}
    drawn = verdicts.charts(found)
    assert [one.to_dict()["usermeta"]["anchor"] for one in drawn.values()] == ["finding-1", "finding-2"]
    assert verdicts.sentences(found, [2]).html.count("<a href") == 1


def test_a_card_holds_for_and_against_and_no_name_can_break_it():
    sure = "weak", 'Confidence "0.4"'
    made = cards.card("<b>", "finding-1", "It waits.", "warning", [("for", "<script>"), ("next", "look")], sure)
    assert 'id="finding-1">&lt;b&gt;</h3>' in made.html
    assert "<script>" not in made.html
    assert 'It waits. <span class="ex-hint" title="Confidence &quot;0.4&quot;">weak</span>' in made.html
    assert made.text == "<b>\nIt waits. (weak)\nfor: <script>\nnext: look"


def test_what_was_not_judged_is_listed_by_reason(limited):
    blind = (
        {"what": "case", "id": "storage.nfs_slow", "title": "Slow NFS", "reason": "r: A", "why": "r", "of": "A"},
        {"what": "case", "id": "storage.snapshot", "title": "Snapshot", "reason": "r: B", "why": "r", "of": "B\nA"},
        {"what": "rule", "id": "disk.davg", "title": "DAVG/cmd", "reason": "s: C", "why": "s", "of": "C"},
    )
    found = replace(limited, not_judged=blind)
    assert re.search(r"\nr +A, B +Slow NFS; Snapshot$", verdicts.not_judged(found, "case").text)
    assert "Troubles and limits not judged: 3" in verdicts.not_judged(found, "case", "rule").text
    assert verdicts.not_judged(found, "experiment") is blocks.NOTHING
    judged, every = map(
        int, re.search(r"Storage +(\d+) +(\d+) ", alone("troubleshooting", "looked_for = ", found=found).text).groups()
    )
    assert every - judged == 2


def symptoms(found):
    return alone("troubleshooting", "symptoms = None", "symptoms is None", found=found, profile="standard")


def test_symptoms_are_put_together_by_measure_and_object(limited):
    one = {"rule": "cpu.ready", "kind": "vm", "name": "a", "samples": 4, "mean": 7.0}
    spells = [
        {**one, "severity": "warning", "start": "2026-03-02T08:00:00+00:00", "share_pct": 20.0, "peak": 7.5},
        {**one, "severity": "critical", "start": "2026-03-02T08:05:00+00:00", "share_pct": 10.0, "peak": 17.5},
        {**one, "rule": "memory.numa_local", "severity": "warning", "start": "2026-03-02T08:05:00+00:00"}
        | {"share_pct": 10.0, "peak": 60.0},
    ]
    lines = symptoms(replace(limited, symptoms=tuple(spells))).text.splitlines()
    assert re.match(r"%RDY - %MLMTD +critical +a +08:00:00 +2 +30 +17\.5 +5 +% of one core", lines[2])
    assert re.match(r"N%L +warning +a +08:05:00 +1 +10 +60\.0 +80", lines[3])
    assert "No limit was passed" in symptoms(replace(limited, symptoms=())).text


def test_an_exceeded_limit_has_the_finding_that_explains_it(limited):
    """The VM of the finding is explained in the finding's area alone; the other VM is not."""
    name = limited[0].entity["name"]
    one = {"severity": "critical", "start": "2026-03-02T08:00:00+00:00", "share_pct": 20.0, "peak": 9.0, "kind": "vm"}
    rules = {"cpu.ready": name, "cpu.costop": "other", "memory.balloon": name}
    spells = [{**one, "rule": rule, "name": vm} for rule, vm in rules.items()]
    shown = symptoms(replace(limited, symptoms=tuple(spells)))
    lines = shown.text.splitlines()[2:]
    assert [limited[0].title in line for line in lines] == [True, False, False]
    assert all(line.endswith("\N{EN DASH}") for line in lines[1:])
    assert "<details" in shown.html
    assert verdicts.explained(limited)["vm", name, "CPU"] == limited[0].title


def test_few_samples_are_said_to_be_few():
    rec = seen("cpu-limit").recording
    few = replace(rec, meta={**rec.meta, "samples": 3})
    assert "3 samples: too few to tell how long" in alone("troubleshooting", "few}.", rec=few).text
    assert alone("troubleshooting", "few}.", rec=rec).text == ""


def changes(rec):
    return alone("troubleshooting", "changes = None", "changes.events", "changes.series", rec=rec)


def test_a_capture_too_short_for_changes_says_so_and_others_name_the_first_mover():
    rec = seen("cpu-limit").recording
    short = replace(rec, tables={name: table.head(3) for name, table in rec.tables.items() if name == "memory"})
    assert "changes need 12 or more" in changes(short).text
    assert "When counters changed together" in changes(rec).text


@pytest.mark.search
def test_the_troubleshooting_report_leads_from_its_first_screen_to_charts(busy_host_file, tmp_path):
    page = report(busy_host_file, "troubleshooting", tmp_path / "r.html").read_text(encoding="utf-8")
    for number in (1, 2):
        assert f'href="#finding-{number}"' in page
        assert page.count(f'id="finding-{number}"') == 1
    assert page.index("report-batch was held back") < page.index("<figure")
    assert page.count("<figure data-spec") >= 8


@pytest.mark.search
def test_the_case_study_report_has_the_published_verdict(tmp_path):
    folder = ex.datasets.folder("case-alignment")
    page = report(folder / "study.toml", "case_study", tmp_path / "r.html").read_text(encoding="utf-8")
    assert "partition is misaligned" in page
    assert page.index("partition is misaligned") < page.index("Is it slow natively, without ESX?")
    assert page.count("<figure data-spec") == 2
    assert 'id="finding-1"' in page


def test_a_study_without_slow_runs_shows_what_differs():
    told = ex.diagnose(ex.datasets.load("vcenter"))
    assert verdicts.sentences(told).text == told.verdict
    vcenter, spark = (str(ex.datasets.folder(name)) for name in ("vcenter", "spark"))
    (chart,) = shown("case_study", "drawn = []", study=vcenter).charts
    assert chart["title"]["text"] == "release = 6.7 instead of release = 6.5"
    row = r"release = 6\.7 +vcbench powerOn throughput +1\.16 +2\.34 +101\.2"
    assert re.search(row, shown("case_study", "case_study.differences", study=vcenter).text)
    assert "No run is slow" in shown("case_study", "case_study.answers", study=spark).text
    assert re.search(r"Runs: +\d", shown("case_study", "tiles(items)", study=vcenter).text)


@pytest.mark.search
def test_a_spell_past_midnight_says_both_days_in_every_place(tmp_path):
    scenario = seen("cpu-limit").scenario
    path = tmp_path / "night.csv"
    simulate.write_esxtop(path, simulate.capture(replace(scenario, start=datetime(2026, 3, 11, 23, 55, tzinfo=UTC))))
    rec = ex.open(path)
    found = ex.diagnose(rec)
    both = re.compile(r"2026-03-11 23:5\d:\d\d to 2026-03-12 00:0\d:\d\d")
    texts = [
        verdicts.sentences(found).text,
        verdict.evidence(found).text,
        repr(found),
        found.charts(0)[0].description,
    ]
    assert [text for text in texts if not both.search(text)] == []
    assert re.search(r"2026-03-11 23:5\d", symptoms(found).text)
    text = changes(rec).text
    assert re.search(r"2026-03-1[12] \d\d:\d\d:\d\d", text)
    assert re.search(r"before and after 2026-03-1[12] \d\d:\d\d:\d\d UTC", text)


FIGURES = {
    "mb_per_s": ("Throughput [MB/s]", 1),
    "iops": ("I/O rate [1/s]", 0),
    "latency_mean_ms": ("Response time [ms]", 2),
    "host_util_pct": ("Host CPU [%]", 1),
    "used_above_idle_cycles_per_io": ("CPU of an I/O, above idle [cycles]", 0),
    "tcp_retransmissions": ("Packets sent again", 0),
    "davg_ms": ("DAVG [ms]", 2),
    "kavg_ms": ("KAVG [ms]", 2),
    "wire_read_p50_ms": ("Reads on the wire, median [ms]", 2),
    "wire_write_p50_ms": ("Writes on the wire, median [ms]", 2),
    "wire_read_off_size_pct": ("Reads off their boundary [%]", 0),
    "wire_write_off_size_pct": ("Writes off their boundary [%]", 0),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_column_of_the_configurations_is_the_mean_of_their_runs_under_its_own_head(tmp_path, name):
    values = {"aligned": (10.25, 20.5), "shifted": (40.0, 43.5)}
    runs = [({"alignment": kind}, {name: one}) for kind, pair in values.items() for one in pair]
    text = " ".join(alone("case_study", "case_study.runs", runs=ex.study(made(tmp_path, runs))).text.split())
    head, digits = FIGURES[name]
    assert head in text
    for kind, pair in values.items():
        assert f"{kind} 2 {sum(pair) / 2:.{digits}f}" in text
