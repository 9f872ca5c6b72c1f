"""Threshold profiles: the shipped ones are sound, and a wrong one is refused where it is wrong."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import esxparse as ex
from esxparse.cli import main
from esxparse.diagnosis import cases, rules
from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
[[rule]]
id = "cpu.ready"
screen = "%RDY"
kind = "vm"
value = "ready_pct"
unit = "%"
direction = "above"
warn = 5
critical = 10.0
source = "me"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


QUOTED = {key: rule for key, rule in rules.load("standard").items() if "Epping" in rule.source}


@pytest.mark.parametrize("profile", rules.profiles())
def test_every_shipped_rule_says_what_it_means_and_where_its_numbers_come_from(profile: str) -> None:
    loaded = rules.load(profile)
    assert len(loaded) >= 60
    for key, rule in loaded.items():
        assert key == rule.id
        assert all((rule.source.strip(), rule.meaning, rule.causes, rule.next, rule.screen)), key
        assert (rule.floor is None) == (not rule.floor_of)
    areas = {one.split(".")[0] for one in loaded}
    assert areas >= {"cpu", "memory", "numa", "disk", "network", "power", "interrupts", "vsan", "clock", "capture"}


def test_rules_speak_of_quoted_counters_as_the_catalogue_does() -> None:
    for rule in QUOTED.values():
        if re.fullmatch(r"[%A-Z]+(/[a-z]+)?", rule.screen):
            counter = ex.counter(rule.screen)
            assert counter.unit == rule.unit, rule.id


def test_standard_says_what_everybody_quotes() -> None:
    standard = rules.load("standard")
    limits = {key: (entry.warn, entry.critical) for key, entry in standard.items()}
    assert limits["cpu.ready"] == (5.0, 10.0)
    assert limits["cpu.costop"][0] == 3.0
    assert limits["cpu.max_limited"][0] == 0.0
    assert limits["cpu.swap_wait"][0] == 5.0
    assert limits["disk.gavg"][1] == 25.0
    assert limits["disk.davg"][1] == 25.0
    assert limits["disk.kavg"][0] == 2.0
    assert limits["disk.queued"][0] == 1.0
    assert limits["disk.aborts"][0] == 1.0
    assert limits["disk.resets"][0] == 1.0
    assert limits["network.drop_tx"][0] == 1.0
    assert limits["memory.balloon"][0] == 1.0
    assert limits["memory.compressed"][0] == 0.0
    assert (standard["memory.numa_local"].direction, *limits["memory.numa_local"]) == ("below", 80.0, 50.0)


def test_strict_is_nowhere_looser_than_standard() -> None:
    standard, strict = rules.load("standard"), rules.load("strict")
    assert list(strict) == list(standard)
    for key, entry in strict.items():
        sign = 1 if entry.direction == "above" else -1
        assert entry.warn * sign <= standard[key].warn * sign
        assert (entry.critical or 0) * sign <= (standard[key].critical or 0) * sign
    assert (strict["cpu.ready"].warn, strict["cpu.costop"].warn) == (3.0, 0.0)
    assert strict["disk.davg"].floor == standard["disk.davg"].floor


def test_judging_at_over_and_under_the_limits() -> None:
    standard = rules.load("standard")
    ready = standard["cpu.ready"]
    assert [ready.judge(value) for value in (0.0, 4.99, 5.0, 9.99, 10.0, 300.0)] == [
        "ok",
        "ok",
        "warning",
        "warning",
        "critical",
        "critical",
    ]
    local = standard["memory.numa_local"]
    assert [local.judge(value) for value in (100.0, 80.0, 79.0, 50.0, 49.0, 0.0)] == [
        "ok",
        "ok",
        "warning",
        "warning",
        "critical",
        "critical",
    ]


def test_a_limit_of_nought_is_passed_by_anything_over_it() -> None:
    limited = rules.load("standard")["cpu.max_limited"]
    assert [limited.judge(value) for value in (0.0, 0.01)] == ["ok", "warning"]


def test_no_value_is_no_finding() -> None:
    ready = rules.load("standard")["cpu.ready"]
    assert ready.judge(None) == "ok"
    assert ready.judge(math.nan) == "ok"


def test_under_the_floor_nothing_is_judged() -> None:
    drops = rules.load("standard")["network.drop_rx"]
    assert drops.judge(50.0, activity=2.0) == "ok"
    assert drops.judge(50.0, activity=100.0) == "critical"
    assert drops.judge(50.0) == "critical"


@given(value=st.floats(min_value=0, max_value=1e6), more=st.floats(min_value=0, max_value=1e6))
def test_worse_is_never_judged_better(value: float, more: float) -> None:
    rank = {"ok": 0, "warning": 1, "critical": 2}
    for rule in rules.load("standard").values():
        better, worse = value, value + more
        if rule.direction == "below":
            better, worse = worse, better
        assert rank[rule.judge(better)] <= rank[rule.judge(worse)]


def test_thresholds_and_profiles_cannot_be_changed() -> None:
    loaded = rules.load("standard")
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded["cpu.ready"].warn = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        loaded["cpu.ready"] = loaded["cpu.costop"]  # type: ignore[index]


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    for profile in (path, str(path)):
        loaded = rules.load(profile)
        assert list(loaded) == ["cpu.ready"]
        assert loaded["cpu.ready"].warn == 5.0
        assert loaded["cpu.ready"].floor is None
        assert loaded["cpu.ready"].reads == {"ready_pct"}


def test_a_file_may_build_on_a_shipped_profile(tmp_path: Path) -> None:
    text = 'extends = "strict"\n[[rule]]\nid = "cpu.ready"\nwarn = 1\nsource = "our SLA"\n'
    loaded = rules.load(written(tmp_path, text))
    strict = rules.load("strict")
    assert list(loaded) == list(strict)
    assert (loaded["cpu.ready"].warn, loaded["cpu.ready"].critical) == (1.0, strict["cpu.ready"].critical)
    assert loaded["cpu.ready"].source == "our SLA"
    assert loaded["disk.davg"] == strict["disk.davg"]


def test_an_unknown_profile_names_those_there_are() -> None:
    with pytest.raises(EsxparseError, match=r"unknown thresholds profile 'lax'; use one of standard, strict"):
        rules.load("lax")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("warn = 5", 'warn = "5"'), r':9: warn is "5"; write a number'),
        (("warn = 5", "warn = true"), r":9: warn is true; write a number"),
        (("warn = 5", "warn = nan"), r":9: warn is nan; write a finite number"),
        (("warn = 5\n", ""), r":2: warn is missing; write warn = \.\.\. \(a number\)"),
        (('source = "me"\n', ""), r":2: source is missing; write source = \.\.\. \(text\)"),
        (('source = "me"', 'source = ""'), r':11: source is ""; write text'),
        (('"above"', '"over"'), r':8: direction is "over"; write "above" or "below"'),
        (("warn = 5", "warn = 50"), r":10: critical is 10, which is reached before warn, 50"),
        (("warn = 5", "warn = 5\nwarm = 5"), r':10: unknown key "warm"; use one of .* \(did you mean "warn"\?\)'),
        (("warn = 5", "warn = 5\nfloor = 5"), r":10: a floor has three keys; write floor, floor_of and floor_unit"),
        (
            ('"ready_pct"', '"redy_pct"'),
            r':6: value reads "redy_pct", which no vm has; write one of .* \(did you mean "ready_pct"\?\)',
        ),
        (('"ready_pct"', '"ready_pct +"'), r":6: value is not an expression: .*; correct it"),
        (('"vm"', '"guest"'), r':5: kind is "guest"; write one of vm, device'),
        (('id = "cpu.ready"', "id = 7"), r":3: id is 7; write text"),
        (("[[rule]]", "[rule]"), r":2: rule is a table; write \[\[rule\]\] above each"),
        (("[[rule]]", "x = 1\n[[rule]]"), r':2: unknown key "x"; use one of extends, rule, title'),
        (("[[rule]]", 'extends = "lax"\n[[rule]]'), r':2: extends is "lax"; write one of standard, strict'),
        (("[[rule]]", "[[rule"), r":2: not TOML: "),
    ],
)
def test_what_is_wrong_is_named_with_file_entry_and_key(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = written(tmp_path, GOOD.replace(*change))
    with pytest.raises(EsxparseError, match=message) as caught:
        rules.load(path)
    assert str(caught.value).startswith(str(path))


def test_twice_the_same_id_an_empty_file_and_a_borrowed_source_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EsxparseError, match=r':14: the id "cpu\.ready" is given twice'):
        rules.load(written(tmp_path, GOOD + GOOD))
    with pytest.raises(EsxparseError, match=":1: the profile has no rules; write"):
        rules.load(written(tmp_path, ""))
    with pytest.raises(EsxparseError, match=":2: source is missing; write one, for a rule that replaces"):
        rules.load(written(tmp_path, 'extends = "standard"\n[[rule]]\nid = "cpu.ready"\nwarn = 1\n'))
    with pytest.raises(
        EsxparseError, match=r':3: there is no rule "cpu\.redy" to change \(did you mean "cpu\.ready"\?\)'
    ):
        rules.load(written(tmp_path, 'extends = "standard"\n[[rule]]\nid = "cpu.redy"\nwarn = 1\nsource = "me"\n'))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(EsxparseError, match="cannot be read: No such file") as caught:
        rules.load(missing)
    assert str(missing) in str(caught.value)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EsxparseError, match="not TOML, which is UTF-8"):
        rules.load(binary)


def test_a_case_that_is_asked_for_as_a_rule_is_told_as_one(capsys):
    assert main(["rules", "show", "memory.limit"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("esxparse: memory.limit is a case (A memory limit holds a VM back), not a rule")
    assert main(["rules", "show", "memory.limt"]) == 1
    assert "no rule 'memory.limt': did you mean" in capsys.readouterr().err


def test_a_rule_may_not_take_the_id_of_a_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = {one.trouble for one in cases.load()}
    mine = written(tmp_path, GOOD.replace("cpu.ready", "cpu.contention"))
    assert main(["rules", "check", str(mine)]) == 1
    assert f'{mine}:3: the id "cpu.contention" is taken by a case; choose another' in capsys.readouterr().err
    # Profiles of users replace these.
    assert len(taken & set(rules.load())) == 9
    costop = 'extends = "standard"\n[[rule]]\nid = "cpu.costop"\nwarn = 1\nsource = "me"\n'
    assert rules.load(written(tmp_path, costop))["cpu.costop"].warn == 1
