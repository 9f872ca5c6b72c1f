"""The diagnosis: what it says of a capture, of a part of one, and of what it could not see."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from checkout import DOCS
from compose import real_data
from fault_hosts import seen

import esxparse as ex
from esxparse.cli import main
from esxparse.derived.panels import Panel
from esxparse.derived.tables import sample_times
from esxparse.diagnosis import cases, engine, rules
from esxparse.diagnosis.diagnose import _place, series_of
from esxparse.diagnosis.series import Series
from esxparse.diagnosis.symptoms import symptoms, values
from esxparse.diagnosis.wording import fill_text
from esxparse.errors import EsxparseError
from esxparse.reports import verdicts

SCHEMA = json.loads((DOCS / "diagnosis.schema.json").read_text(encoding="utf-8"))


def capture(path, columns, samples=40):
    """A capture of columns by `object(instance)\\counter`: a number, or one for each sample."""
    names = ",".join(f'"\\\\esx\\{name}"' for name in columns)
    lines = [f'"(PDH-CSV 4.0) (UTC)(0)",{names}']
    for one in range(samples):
        cells = [value[one] if isinstance(value, list) else value for value in columns.values()]
        stamp = f"03/02/2026 08:{one * 5 // 60:02}:{one * 5 % 60:02}"
        lines.append(",".join([f'"{stamp}"', *(f'"{cell:.2f}"' for cell in cells)]))
    path.write_text("\n".join(lines) + "\n")
    return ex.open(path)


def told(found):
    return [one.trouble for one in found if one.severity != "info"]


@pytest.fixture(scope="module")
def limited():
    return ex.diagnose(seen("cpu-limit").recording)


def test_the_first_line_says_who_waited_for_what_and_how_much(limited):
    assert re.match(
        r"logs-01 was held back by a CPU limit: ready \d+ % of each vCPU, of which %MLMTD \d+ %", limited.verdict
    )
    assert limited.text().splitlines()[0] == limited.verdict


def test_a_likely_trouble_comes_before_a_weak_one_and_one_that_began_before_one_that_stands(limited):
    times = limited.times
    whole = {"start": times[0], "end": times[-1], "severity": "critical"}
    began = {**whole, "start": times[5]}
    kinds = {"weak": (0.3, began), "stands": (0.97, whole), "began": (0.83, began), "warned": (0.99, began)}
    ones = {name: replace(limited[0], confidence=sure, **span) for name, (sure, span) in kinds.items()}
    ones["warned"] = replace(ones["warned"], severity="warning")
    assert sorted(ones, key=lambda name: _place(ones[name], times)) == ["began", "stands", "weak", "warned"]


CALM = {"Physical Cpu(0)\\% Util Time": 20.0, "Group Cpu(11:web)\\% Ready": 1.0}
LIMITED = {**CALM, "Group Cpu(11:web)\\% Ready": 60.0, "Group Cpu(11:web)\\% Max Limited": 55.0}


@pytest.mark.parametrize("columns", [CALM, LIMITED])
def test_a_short_recording_says_so_before_its_verdict(tmp_path, columns):
    short, long = (ex.diagnose(capture(tmp_path / f"{samples}.csv", columns, samples)) for samples in (11, 12))
    said = "Only 11 samples in 50 s: troubles that come and go may be missing."
    for text in (short.text(), json.loads(short.json())["verdict"]):
        assert text.startswith(f"{said} {short.verdict}")
    assert said in short.markdown()
    assert said in short._repr_html_()
    assert said in verdicts.sentences(short).html
    assert long.caution == ""
    assert long.text().startswith(long.verdict)
    # The check warns at the same length.
    for samples, warned in ((11, True), (12, False)):
        checked = ex.check(ex.open(tmp_path / f"{samples}.csv"))
        assert ("samples.enough" in [one.id for one in checked.warned]) == warned


def test_a_finding_has_evidence_for_and_against_a_time_and_the_next_experiment(limited):
    first = limited[0]
    assert (first.trouble, first.severity, first.entity) == ("cpu.limit", "critical", {"kind": "vm", "name": "logs-01"})
    assert any("%MLMTD was" in text for text in first.evidence)
    assert "Find out who set it and why, then raise or remove it" in first.next
    assert (first.end - first.start).total_seconds() == pytest.approx(175, abs=25)
    frame = limited.frame()
    assert frame.height == len(limited)
    assert frame["start"].dtype.time_zone == "UTC"


def test_the_json_is_as_its_published_schema_says_and_ids_stay(limited):
    document = json.loads(limited.json())
    jsonschema.validate(document, SCHEMA)
    assert document["symptoms"]
    again = ex.diagnose(seen("cpu-limit").recording)
    assert [one.id for one in again] == [one.id for one in limited]


def test_names_of_objects_cannot_break_the_page_or_the_markdown(limited):
    bad = "<script>|`x`"
    findings = replace(limited, findings=(replace(limited[0], entity={"kind": "vm", "name": bad}),))
    assert "<script>" not in findings._repr_html_()
    assert r"\<script\>\|\`x\`" in findings.markdown()


def test_what_a_capture_lacks_is_listed_and_not_passed_over(tmp_path):
    found = ex.diagnose(capture(tmp_path / "a.csv", {"Physical Cpu(_Total)\\% Util Time": 20.0}))
    assert not told(found)
    assert "Nothing found by the checks that were possible" in found.verdict
    assert f"({found.judged} of {found.of} judged)" in found.verdict
    reasons = {one["id"]: one["reason"] for one in found.not_judged if one["what"] == "case"}
    reasons |= {one["id"]: one["reason"] for one in found.not_judged if one["what"] == "rule"}
    assert reasons["storage.array_slow"] == "not in this capture's fields: DAVG/cmd, CMDS/s - FCMDS/s"
    assert reasons["cpu.ready"] == "not in this capture's fields: %RDY - %MLMTD"
    assert not any("without -a" in reason for reason in reasons.values())
    assert "cpu.host_util" not in reasons
    assert len(found.not_judged) == found.of - found.judged


def test_a_device_that_hardly_answers_is_found_below_any_floor_and_one_slow_command_is_not(tmp_path):
    disk = "Physical Disk SCSI Device(naa.6)\\"
    dead = {
        f"{disk}Commands/sec": 0.2,
        f"{disk}Average Driver MilliSec/Command": 5002.0,
        f"{disk}Average Kernel MilliSec/Command": 0.02,
        f"{disk}Average Guest MilliSec/Command": 5002.0,
    }
    found = ex.diagnose(capture(tmp_path / "dead.csv", dead))
    assert found[0].trouble == "storage.array_slow"
    once = [0.3] * 20 + [500.0] + [0.3] * 19
    quick = dict.fromkeys(dead, 0.3) | {f"{disk}Commands/sec": 2.0}
    quick[f"{disk}Average Driver MilliSec/Command"] = quick[f"{disk}Average Guest MilliSec/Command"] = once
    assert not told(ex.diagnose(capture(tmp_path / "once.csv", quick)))


def test_ready_of_groups_that_are_no_vms_means_nothing(tmp_path):
    columns = {
        f"Group Cpu({number}:{name})\\% Ready": 2400.0 for number, name in enumerate(("idle", "system", "helper"), 1)
    }
    assert not told(ex.diagnose(capture(tmp_path / "idle.csv", columns)))


def test_ready_without_co_stop_is_contention_and_never_a_vm_too_wide(tmp_path):
    worlds = [f"Vcpu(7:db:{70 + one}:vmx-vcpu-{one}:db)\\" for one in range(8)]
    wait = [0.5] * 10 + [17.0] * 20 + [0.5] * 10
    columns = {f"{world}% Ready": wait for world in worlds} | {f"{world}% CoStop": 0.14 for world in worlds}
    found = told(ex.diagnose(capture(tmp_path / "ready.csv", columns)))
    assert found[0] == "cpu.contention"
    assert "cpu.costop" not in found


def test_ready_above_latency_is_a_limit_though_the_limit_is_not_in_the_capture(tmp_path):
    world = "Vcpu(7:app:71:vmx-vcpu-0:app)\\"
    wait = ([0.1] * 8 + [17.8] * 12) * 2
    columns = {f"{world}% Ready": wait, f"{world}% CPU Latency": [one * 0.6 for one in wait]}
    assert told(ex.diagnose(capture(tmp_path / "limit.csv", columns)))[0] == "cpu.limit"


def test_swapped_pages_that_nobody_asks_for_are_harmless(tmp_path):
    vm = "Group Memory(7:old)\\"
    columns = {f"{vm}Swapped MBytes": 300.0, f"{vm}Swap Target MBytes": 0.0, f"{vm}Swap Read MBytes/sec": 0.0}
    found = ex.diagnose(capture(tmp_path / "stale.csv", columns))
    assert [(one.trouble, one.severity) for one in found] == [("harmless.stale_swap", "info")]


def test_drops_of_every_port_at_once_are_broadcasts(tmp_path):
    drops = ([0.0] * 6 + [3.0] * 4) * 4
    ports = {f"vSwitch0:{33554440 + one}:{1000 + one}:vm-{one}": one for one in range(5)}
    columns = {f"Network Port({port})\\% Received Packets Dropped": drops for port in ports}
    columns |= {f"Network Port({port})\\Packets Received/sec": 200.0 + 900 * one for port, one in ports.items()}
    found = ex.diagnose(capture(tmp_path / "drops.csv", columns))
    assert found[0].trouble == "harmless.broadcast_drops"
    assert not told(found)


def test_two_vms_of_one_name_are_two_objects(tmp_path):
    columns = {}
    for gid, ready in ((7, 0.0), (9, 30.0)):
        columns[f"Vcpu({gid}:twin:{gid}1:vmx-vcpu-0:twin)\\% Ready"] = ready
        columns[f"Vcpu({gid}:twin:{gid}1:vmx-vcpu-0:twin)\\% Max Limited"] = ready
    found = ex.diagnose(capture(tmp_path / "twins.csv", columns))
    assert found[0].entity == {"kind": "vm", "name": "twin (9)"}


def series(kind, **columns):
    values = {name: np.array(rows, dtype=float).T for name, rows in columns.items()}
    samples, objects = next(iter(values.values())).shape
    return Series({kind: Panel(kind, tuple(f"o{one}" for one in range(objects)), values)}, samples)


def test_names_in_expressions_speak_of_the_others_of_all_and_of_before():
    made = series("vm", used_pct=[[1.0, 1.0, 9.0, 9.0, 1.0], [3.0] * 5, [5.0] * 5])
    inside = np.array([False, False, True, True, False])
    names = ["used_pct", "used_pct_before", "used_pct_rise", "others_used_pct", "othersmax_used_pct", "vmssum_used_pct"]
    assert [made.spell("vm", 0, inside, name) for name in names] == [9.0, 1.0, 8.0, 4.0, 5.0, 17.0]
    assert made.spell("vm", 1, inside, "othersmax_used_pct") == 9.0
    assert made.spell("vm", 0, inside, "share_used_pct") == pytest.approx(9 / 17)
    assert made.spell("vm", 0, inside, "spell_pct") == 40.0
    assert made.matrix("vm", "host_util_pct") is None


TABLE = """
trouble = "cpu.example"
title = "an example"
kind = "vm"
trigger = "used_pct >= 5"
impact = "used_pct / 10"
verdict = "{name} used {used_pct:.0f} %; {ready_pct} ready."
next = "Look."
source = "chosen here"
[[evidence]]
if = "used_pct >= 8"
weight = 2.0
say = "much"
else = -3.0
otherwise = "little"
[[evidence]]
if = "ready_pct > 1"
weight = 1.0
say = "ready is {ready_pct}"
"""


def test_a_case_weighs_its_evidence_and_lists_what_is_missing():
    case = cases.parse(TABLE, "x.toml")
    busy, calm = engine.stories([case], series("vm", used_pct=[[9.0] * 9, [6.0] * 9]))
    assert (busy.name, busy.evidence, busy.against, busy.missing) == ("o0", ("much",), (), ("%RDY",))
    assert (calm.name, calm.evidence, calm.against) == ("o1", (), ("little",))
    assert busy.confidence > calm.confidence
    assert busy.text == "o0 used 9 %."


def test_a_cause_takes_its_symptom_under_it_but_nothing_that_it_cannot_have_brought_about():
    symptom = cases.parse(TABLE, "x.toml")
    cause = replace(symptom, trouble="power.example", explains=("cpu.*",), prior=5.0)
    made = series("vm", used_pct=[[9.0] * 40])
    (one,) = engine.stories([symptom, cause], made)
    assert (one.case.trouble, [inner.case.trouble for inner in one.symptoms]) == ("power.example", ["cpu.example"])
    short = replace(symptom, trigger="used_pct >= 9", kind="vm")
    made = series("vm", used_pct=[[6.0] * 36 + [9.0] * 4])
    assert len(engine.stories([short, cause], made)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"vm"', '"guest"'), 'x.toml:4: kind is "guest"; write one of vm'),
        (
            ('"used_pct >= 5"', '"usd_pct >= 5"'),
            r'x.toml:5: trigger reads "usd_pct", which no vm has; .* \(did you mean "used_pct"\?\)',
        ),
        (("{ready_pct} ready", "{redy_pct} ready"), 'x.toml:7: verdict reads "redy_pct", which no vm has'),
        (('"used_pct >= 5"', '"used_pct >="'), "x.toml:5: trigger is not an expression"),
        (("weight = 2.0", "wait = 2.0"), 'x.toml:12: unknown key "wait"; .*"weight"'),
        (('next = "Look."', ""), "x.toml:1: next is missing"),
        (("title =", "titel ="), 'x.toml:3: unknown key "titel"; .*"title"'),
        (("trouble =", "trouble"), "x.toml:2: not TOML: "),
    ],
)
def test_a_wrong_case_is_refused_where_it_is_wrong(change, message):
    with pytest.raises(EsxparseError, match=message):
        cases.parse(TABLE.replace(*change), "x.toml")


def test_every_trouble_of_the_docs_has_a_case():
    text = (DOCS / "faults.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `[\w-]+` \| `([a-z_]+\.[a-z_]+)`", text, re.MULTILINE))
    assert len(named) >= 37
    assert named <= {one.trouble for one in cases.load()}


def test_symptoms_are_episodes_of_rules_with_peak_and_share():
    made = series("vm", contention_pct=[[0.0] * 10 + [6.0, 7.0, 12.0] + [0.0] * 7, [0.0] * 20])
    times = sample_times(seen("healthy-web", 0.0).recording)[:20]
    limits = {"cpu.ready": rules.load("standard")["cpu.ready"]}
    (one,) = symptoms(limits, made, values(limits.values(), made), times)
    assert (one["name"], one["samples"], one["peak"], one["severity"], one["share_pct"]) == (
        "o0",
        3,
        12.0,
        "warning",
        15.0,
    )


def test_a_diagnosis_needs_a_capture_of_esxtop():
    sheet = next((ex.datasets_dir() / "formats").rglob("*stream*"))
    with pytest.raises(EsxparseError, match="a diagnosis needs a capture of esxtop"):
        ex.diagnose(ex.open(sheet))


@pytest.mark.search
def test_the_command_prints_three_ways_and_fails_where_it_is_told_to(busy_host_file, capsys, tmp_path):
    assert main(["diagnose", str(busy_host_file), "--format", "json"]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), SCHEMA)
    assert main(["diagnose", str(busy_host_file), "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("# ")
    vm = "Vcpu(7:db:71:vmx-vcpu-0:db)\\"
    capture(tmp_path / "limit.csv", {f"{vm}% Ready": 30.0, f"{vm}% Max Limited": 30.0})
    bad = str(tmp_path / "limit.csv")
    assert main(["diagnose", bad]) == 0
    assert main(["diagnose", bad, "--fail-on", "critical"]) == 3
    assert main(["diagnose", bad, str(tmp_path / "none.csv"), "--fail-on", "critical"]) == 1


def test_rules_are_listed_shown_and_checked(capsys, tmp_path):
    assert main(["rules", "list"]) == 0
    listed = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert set(listed) == set(rules.load("standard"))
    assert "cases: cpu.contention, cpu.costop, " in listed["cpu.ready"]
    assert "; tables: host_health, troubleshooting, fleet; charts: host_health, findings" in listed["cpu.ready"]
    assert (
        "cpu.costop_io, cpu.host_group, cpu.limit, cpu.waiting_or_limited, power.p_states, study: cpu_bound"
        in " ".join(listed["cpu.host_util"].split())
    )
    assert "cases:" not in listed["cpu.imbalance"]
    assert main(["rules", "show", "disk.davg", "--profile", "strict"]) == 0
    shown = capsys.readouterr().out
    assert "warning   above 2 ms" in shown
    assert re.search(
        r"cases +storage.aborts, storage.array_slow, .*\n.*\ntables +host_health, troubleshooting\n", shown
    )
    (tmp_path / "mine.toml").write_text('extends = "standard"\n[[rule]]\nid = "cpu.ready"\nwarn = 1\n')
    assert main(["rules", "check", str(tmp_path / "mine.toml")]) == 1
    assert "needs its own source" in capsys.readouterr().err
    assert main(["rules", "show", "cpu.none"]) == 1


@pytest.mark.search
def test_of_a_real_host_it_says_what_an_expert_would():
    """Six VMs on 8 GB, four of them ballooned to the last: short of memory and not hurt; nothing else is wrong."""
    found = ex.diagnose(ex.open(real_data("esxtop", "esxi65_all_counters.csv")))
    assert told(found) == ["memory.balloon"]
    assert not [one for one in found if one.severity == "critical" or one.trouble.startswith("numa")]
    assert not told(ex.diagnose(ex.open(real_data("esxtop", "excel_resaved.csv"))))


def test_series_are_read_where_their_tables_are(busy_host):
    made = series_of(busy_host)
    assert set(made.panels) >= {"vm", "host", "pcpu", "device", "port"}
    assert made.matrix("vm", "ready_pct").shape == (made.samples, len(made.panels["vm"].names))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ready": 5.0, "busy": 60.0, "asker": "web"}, "waited 5 %; PCPUs were 60 % busy. %RUN rose most in web."),
        ({"ready": 5.0, "busy": None, "asker": None}, "waited 5 %."),
        ({"ready": 5.0, "busy": 60.0, "asker": None}, "waited 5 %; PCPUs were 60 % busy."),
        ({"ready": 5.0, "busy": None, "asker": "web"}, "waited 5 %; %RUN rose most in web."),
        ({"ready": None, "busy": 60.0, "asker": "web"}, "PCPUs were 60 % busy. %RUN rose most in web."),
    ],
)
def test_a_clause_without_its_number_is_left_out(values, words):
    text = "waited {ready:.0f} %; PCPUs were {busy:.0f} % busy. %RUN rose most in {asker}."
    assert fill_text(text, values) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PCPUs were {busy:.0f} % busy, in the busiest node {node:.0f} %", "PCPUs were 93 % busy"),
        ("It was full: {busy:.0f} Mbit/s, {node:.0f} % of {speed}.", "It was full: 93 Mbit/s."),
        ("All of it, up to {node:.0f} %; look at {busy:.0f}.", "All of it; look at 93."),
        ("It runs more ({busy:.0f} %, before {node:.0f})", "It runs more (93 %)"),
        ("Clocks {busy:.0f} %, {node:.0f} % in P9: the policy.", ""),
    ],
)
def test_an_end_of_a_clause_without_its_number_is_left_out(text, words):
    assert fill_text(text, {"busy": 93.0, "node": None, "speed": None}) == words


@pytest.mark.parametrize(
    ("used", "likely", "severity"),
    [(10.0, True, "critical"), (9.0, True, "warning"), (12.0, False, "warning"), (9.0, False, "warning")],
)
def test_a_finding_is_critical_if_it_hurts_and_is_likely(used, likely, severity):
    """Impact is used % / 10 here; with "much" as evidence against it the example is unlikely."""
    case = cases.parse(TABLE.replace("weight = 2.0", f"weight = {3.0 if likely else -3.0}"), "x.toml")
    (one,) = engine.stories([case], series("vm", used_pct=[[used] * 9]))
    assert one.severity == severity
    assert one.impact == used / 10
    assert (one.confidence > 0.75) == likely


def test_a_device_that_hardly_answers_is_judged_beside_those_that_are_busy():
    """Twelve bad samples on end count below the floor too; eleven do not, and never those that are not bad."""
    well = [1.0] * 6
    slow = {"dead": well + [5000.0] * 12, "short": well + [5000.0] * 11 + [1.0], "busy": [3.0] * 18}
    rates = {"dead": [0.2] * 18, "short": [0.2] * 18, "busy": [900.0] * 18}
    made = series("device", gavg_ms=[*slow.values()], good_iops=[*rates.values()])
    limits = {"disk.gavg": rules.load("standard")["disk.gavg"]}
    found = values(limits.values(), made)["disk.gavg"].T
    for name, row in zip(slow, found, strict=True):
        expected = {"dead": [np.nan] * 6 + [5000.0] * 12, "short": [np.nan] * 18}.get(name, slow[name])
        np.testing.assert_array_equal(row, expected, name)


@pytest.mark.parametrize(("kind", "column", "found"), [("device", "gavg_ms", 2), ("vm", "used_pct", 1)])
def test_a_full_queue_of_one_device_is_no_reason_for_another_that_is_slow(kind, column, found):
    """VMs share the PCPUs of the host; LUNs have troubles of their own."""
    symptom = replace(
        cases.parse(TABLE, "x.toml"), kind=kind, trigger=f"{column} BETWEEN 5 AND 10", evidence=(), who={}
    )
    symptom = replace(symptom, impact="0", verdict="{name}", next="", level="")
    cause = replace(symptom, trouble="power.example", trigger=f"{column} > 10", explains=("cpu.*",), prior=5.0)
    made = series(kind, **{column: [[20.0] * 40, [9.0] * 40]})
    assert len(engine.stories([symptom, cause], made)) == found


def test_a_symptom_of_a_symptom_stands_under_the_first_cause():
    symptom = cases.parse(TABLE, "x.toml")
    between = replace(symptom, trouble="power.example", explains=("cpu.*",))
    cause = replace(symptom, trouble="memory.example", explains=("power.*",))
    (one,) = engine.stories([symptom, between, cause], series("vm", used_pct=[[9.0] * 40]))
    assert one.case.trouble == "memory.example"
    assert {inner.case.trouble for inner in one.symptoms} == {"cpu.example", "power.example"}


@pytest.mark.parametrize(("samples", "held", "found"), [(4, 3, 1), (4, 2, 0), (20, 4, 0), (20, 5, 1), (1, 1, 1)])
def test_a_short_capture_asks_for_all_samples_but_one(samples, held, found):
    case = replace(cases.parse(TABLE, "x.toml"), persist=5)
    used = [1.0] * (samples - held) + [9.0] * held
    assert len(engine.stories([case], series("vm", used_pct=[used]))) == found


def test_readings_of_one_thing_are_one_story_only_while_they_share_their_time():
    """The second reading lies in the spell of the first, the third in that of the second alone."""
    spans = {"used_pct": (0, 20), "ready_pct": (8, 28), "costop_pct": (16, 36)}
    columns = {name: [[9.0 * (begin <= at < end) for at in range(40)]] for name, (begin, end) in spans.items()}
    readings = [
        replace(cases.parse(TABLE, "x.toml"), trouble=f"cpu.{name}", trigger=f"{name} >= 5", prior=prior)
        for name, prior in zip(spans, (9.0, 6.0, 3.0), strict=True)
    ]
    found = engine.stories(readings, series("vm", **columns))
    under = {one.case.trouble: [inner.case.trouble for inner in one.symptoms] for one in found}
    assert under == {"cpu.used_pct": ["cpu.ready_pct"], "cpu.costop_pct": []}
