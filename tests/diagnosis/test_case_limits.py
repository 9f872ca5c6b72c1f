"""Limits in cases: those of the rules, so that a profile changes findings as it changes symptoms."""

from __future__ import annotations

import re

import compose
import pytest
from case_numbers import numbers
from templated import alone

import esxparse as ex
from esxparse.cli import main
from esxparse.diagnosis import cases, references, rules, series
from esxparse.errors import EsxparseError
from esxparse.reports.host_health import verdict

ALL = cases.load()
_SUFFIX = re.compile(r"_(before|rise|peak|least|low|high)$")


def plain(case, names):
    """Names of series without what a spell makes of them."""
    return {name if name in series.known(case.kind) else _SUFFIX.sub("", name) for name in names}


def own_numbers(case):
    """The series that a case compares with numbers of its own, by place."""
    return [
        (where, plain(case, names), text) for where, one in case.expressions.items() for names, text in numbers(one)
    ]


@pytest.mark.parametrize("case", ALL, ids=[f"{one.trouble}-{one.kind}" for one in ALL])
def test_a_number_of_a_cases_own_has_a_source_and_is_of_what_no_rule_judges(case):
    judged = {(rule.kind, rule.value) for rule in rules.load().values()}
    found = own_numbers(case)
    for where, names, text in found:
        assert names & set(case.numbers), f"{case.trouble}: {where}: no source of {text} for {sorted(names)}"
        for name in names:
            kind, column, _ = series.origin(case.kind, name)
            assert (kind, column) not in judged, f"{case.trouble}: {where}: a rule judges {name}: refer to its limit"
    assert set(case.numbers) <= {name for _, names, _ in found for name in names}, "a source of a number that is gone"


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("davg_ms >= 10", ["10"]),
        ("10 <= davg_ms", ["10"]),
        ("COALESCE(davg_ms, 5) >= 10 OR iops > 0", ["10"]),
        ("tx_mbits + rx_mbits >= 80 AND (davg_ms < 2 * davg_ms_low + 1)", ["80"]),
        ("davg_ms >= 0.5 * warn('disk.davg')", []),
        ("davg_ms / 25", ["25"]),
        ("davg_ms / critical('disk.davg')", []),
        ("davg_ms_spreads >= 15 AND spell_pct < 4", []),
    ],
)
def test_the_check_sees_numbers_and_lets_references_pass(expression, found):
    assert [text for _, text in numbers(expression)] == found


def with_trigger(trigger):
    return f"""
trouble = "storage.array_slow"
title = "slow"
kind = "device"
trigger = "{trigger}"
impact = "davg_ms / critical('disk.davg')"
verdict = "slow"
next = "look"
source = "me"
[[evidence]]
if = "davg_ms >= warn('disk.davg')"
weight = 1.0
say = "slow"
"""


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        ("davg_ms >= warn('disk.dav')", r'x.toml:5: trigger has no rule "disk.dav"; .*\(did you mean "disk.davg"\?\)'),
        (
            "davg_ms >= critical('disk.queue_full')",
            'x.toml:5: trigger reads "critical" of the rule disk.queue_full, which',
        ),
        ("davg_ms >= floor('disk.queued')", 'x.toml:5: trigger reads "floor" of the rule disk.queued, which has none'),
        ("davg_ms >= warn(disk.davg)", r"x.toml:5: trigger has warn\(\.\.\.\), which takes a rule in single quotes"),
    ],
)
def test_a_wrong_reference_is_refused_where_it_is_wrong(trigger, message):
    with pytest.raises(EsxparseError, match=message):
        cases.parse(with_trigger(trigger), "x.toml")


def test_a_reference_is_the_number_of_the_profile_and_of_standard_where_the_profile_has_no_such_rule():
    case = cases.parse(with_trigger("davg_ms >= 0.5 * warn('disk.davg')"), "x.toml")
    assert case.under(rules.load("strict")).trigger == "davg_ms >= 0.5 * 2.0"
    ready = rules.load()["cpu.ready"]
    assert case.under({"cpu.ready": ready}).trigger == "davg_ms >= 0.5 * 20.0"


def test_a_limit_of_nought_is_passed_by_anything_over_it_in_a_case_too():
    limited = "max_limited_pct >= warn('cpu.max_limited')"
    filled = references.filled(limited, rules.load())
    below, at_most = (
        "step_s < warn('clock.backwards')",
        references.filled("step_s < warn('clock.backwards')", rules.load()),
    )
    assert 0.0 < float(filled.split()[-1]) < 1e-6
    assert (references.blank(below), at_most) == ("step_s < 1", "step_s < 0.0")


def test_without_a_critical_limit_nothing_is_as_bad_as_that(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[rule]]\nid = "disk.davg"\nscreen = "DAVG"\nkind = "device"\nvalue = "davg_ms"\nunit = "ms"\n'
        'direction = "above"\nwarn = 5\nsource = "me"\n'
    )
    (slow,) = [one for one in ALL if one.trouble == "storage.array_slow"]
    assert "CAST(NULL AS DOUBLE)" in slow.under(rules.load(path)).impact


DISK = "Physical Disk SCSI Device(naa.6)\\"
QUIET = "Network Port(vSwitch0:33554437:72:web)\\"
PORT = "Network Port(vSwitch0:33554436:71:db)\\"


def written(folder, samples=40, **columns):
    """A capture of columns: a number, or one for each sample."""
    rows = [
        [f"{value[one] if isinstance(value, list) else value:.2f}" for value in columns.values()]
        for one in range(samples)
    ]
    pairs = [tuple(name.rsplit("\\", 1)) for name in columns]
    return compose.write(folder, compose.text(pairs, rows))


LATE = [0.4] * 20
PROFILES = {
    "warn": (
        'id = "cpu.ready"\nwarn = 1.0\n',
        {f"Vcpu(7:db:{70 + one}:vmx-vcpu-{one}:db)\\% Ready": [0.1] * 20 + [3.0] * 20 for one in range(4)},
        ("cpu.contention", "cpu.ready", "warning"),
        "warn 1 %",
    ),
    "critical": (
        'id = "disk.davg"\nwarn = 4.0\ncritical = 6.0\n',
        {
            f"{DISK}Commands/sec": 200.0,
            f"{DISK}Reads/sec": 100.0,
            f"{DISK}Writes/sec": 100.0,
            f"{DISK}Average Driver MilliSec/Command": LATE + [8.0] * 20,
            f"{DISK}Average Driver MilliSec/Read": LATE + [8.0] * 20,
            f"{DISK}Average Driver MilliSec/Write": LATE + [8.0] * 20,
            f"{DISK}Average Kernel MilliSec/Command": 0.01,
        },
        ("storage.array_slow", "disk.davg", "critical"),
        "critical 6 ms",
    ),
    "floor": (
        'id = "network.drop_rx"\nfloor = 10.0\n',
        {
            f"{PORT}Packets Received/sec": 30.0,
            f"{QUIET}Packets Received/sec": 30.0,
            f"{QUIET}% Received Packets Dropped": 0.0,
            f"{PORT}% Received Packets Dropped": [0.0] * 20 + [20.0] * 20,
        },
        ("network.receive_drops", "network.drop_rx", "critical"),
        "critical 10 %",
    ),
}


@pytest.mark.parametrize("kind", PROFILES)
def test_a_profile_changes_findings_symptoms_tables_chart_lines_and_fail_on_alike(kind, tmp_path):
    change, columns, (trouble, rule, severity), line = PROFILES[kind]
    file = written(tmp_path, **columns)
    profile = tmp_path / "mine.toml"
    profile.write_text(f'extends = "standard"\n[[rule]]\n{change}source = "me"\n')
    rec = ex.open(file)

    def told(name):
        found = ex.diagnose(rec, profile=name)
        limits = rules.load(name)
        places = [place for place, one in enumerate(found) if one.trouble == trouble]
        table = {row["id"]: row["verdict"] for row in verdict.judge(limits, found.series).iter_rows(named=True)}
        drawn = [
            text
            for place in places
            for chart in found.charts(place, 3)
            for text in re.findall(r'"text": "([^"]*)"', chart.to_json())
        ]
        return {
            "findings": {found[place].severity for place in places},
            "symptoms": {one["severity"] for one in found.symptoms if one["rule"] == rule},
            "table": table.get(rule, "ok"),
            "troubleshooting": severity
            in alone("troubleshooting", "symptoms = None", "symptoms is None", found=found, profile=str(name)).text,
            "lines": any(line in text for text in drawn),
            "fail-on": main(["diagnose", str(file), "--profile", str(name), "--fail-on", severity]),
        }

    before, after = told("standard"), told(profile)
    assert after == {
        "findings": {severity},
        "symptoms": {severity},
        "table": severity,
        "troubleshooting": True,
        "lines": True,
        "fail-on": 3,
    }
    assert not {key for key in before if before[key] == after[key]}
