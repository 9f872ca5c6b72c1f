"""Experiments: what a scenario file says of runs, and what becomes of it."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest

from esxparse.errors import EsxparseError
from esxparse_simulator.experiment import filled, load_experiment, load_scenario, parse_experiment, placed
from esxparse_simulator.limits import ScenarioError

HEAD = """
name = "many"
title = "Runs without a host"
start = 2026-03-11T09:00:00Z
seed = 7
"""


def parsed(text: str, **options):
    return parse_experiment(tomllib.loads(HEAD + text), **options)


def test_lists_of_labels_are_crossed_the_last_changing_fastest():
    found = parsed('[[run]]\nfilter = ["off", "on"]\nvms = [1, 2]\n[[run]]\nfilter = "idle"\n')
    assert [run.labels for run in found.runs] == [
        {"filter": "off", "vms": 1},
        {"filter": "off", "vms": 2},
        {"filter": "on", "vms": 1},
        {"filter": "on", "vms": 2},
        {"filter": "idle"},
    ]


def test_runs_follow_one_another_with_seeds_of_their_own_the_first_with_that_of_the_file():
    found = parsed("every = 300\n[[run]]\nvms = [1, 2, 3]\n")
    begin = datetime(2026, 3, 11, 9, tzinfo=UTC)
    assert [run.start - begin for run in found.runs] == [timedelta(seconds=300 * n) for n in range(3)]
    assert found.runs[0].seed == 7
    assert len({run.seed for run in found.runs}) == 3


def test_runs_that_go_together_begin_at_the_same_moment():
    found = parsed('every = 300\ntogether = ["host"]\n[[run]]\nhosts = 2\nhost = [1, 2]\nspec = ["a", "b"]\n')
    minutes = [(run.start - found.runs[0].start) // timedelta(minutes=1) for run in found.runs]
    assert minutes == [0, 5, 0, 5]
    assert len({run.seed for run in found.runs}) == 4


def test_runs_may_differ_in_length_when_it_is_said_how_far_apart_they_begin():
    runs = "[[run]]\nlong = [0, 1]\n"
    found = parsed("every = 300\nsamples = { by = 'long', at = { 0 = 3, 1 = 9 } }\n" + runs)
    assert found.runs[1].start - found.runs[0].start == timedelta(minutes=5)
    with pytest.raises(ScenarioError, match="every is missing"):
        parsed("samples = { by = 'long', at = { 0 = 3, 1 = 9 } }\n" + runs)


def test_changes_are_for_the_runs_with_their_labels():
    text = """
    [[run]]
    filter = ["off", "on", "strict"]
    [[change]]
    when = { filter = ["on", "strict"] }
    set = { "file.gflops" = 95.0 }
    [[change]]
    when = { filter = "strict" }
    set = { "file[0].gflops" = 90.0 }
    [[file]]
    tool = "linpack"
    name = "{filter}.txt"
    gflops = 100.0
    """
    assert [(spec.name, spec.options["gflops"]) for run in parsed(text).runs for spec in run.files] == [
        ("off.txt", 100.0),
        ("on.txt", 95.0),
        ("strict.txt", 90.0),
    ]


@pytest.mark.parametrize(("severity", "expected"), [(0.0, 10.0), (0.25, 30.0), (1.0, 90.0)])
def test_a_severity_lies_between_mild_and_severe(severity, expected):
    assert filled({"mild": 10.0, "severe": 90.0}, {}, severity=severity) == expected


def test_lookups_by_one_label_and_by_several():
    tree = {
        "one": {"by": "vms", "at": {"1": 39000.0, "2": 70500.0}},
        "two": {"by": ["filter", "vms"], "at": {"on/1": "a"}, "other": "b"},
    }
    assert filled(tree, {"filter": "on", "vms": 1}) == {"one": 39000.0, "two": "a"}
    assert filled(tree, {"filter": "on", "vms": 2}) == {"one": 70500.0, "two": "b"}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            {"vm": [{"cpu": {"by": "size", "at": {"1": 2}}}]},
            r"vm\[0\]\.cpu is looked up by .size.*It has: vms",
        ),
        ({"cpu": {"by": "vms", "at": {"1": 2}}}, r"scenario\.cpu has no value at '4' \(by vms\)"),
    ],
)
def test_a_lookup_that_fails_names_its_place(tree, message):
    with pytest.raises(ScenarioError, match=message):
        filled(tree, {"vms": 4})


def test_a_label_alone_keeps_its_type_and_braces_that_are_no_labels_stay():
    assert filled(["{vms}", "{vms:03d}-{filter}", "web {blue}"], {"vms": 4, "filter": "on"}) == [
        4,
        "004-on",
        "web {blue}",
    ]


def test_a_value_is_placed_in_all_tables_of_a_list_or_in_one():
    tree = {"vm": [{"load": {"cpu": 1.0}}, {"load": {"cpu": 2.0}}]}
    placed(tree, "vm.load.cpu", 5.0)
    placed(tree, "vm[1].jitter", 0.0)
    placed(tree, "host.policy", "low power")
    assert tree == {
        "vm": [{"load": {"cpu": 5.0}}, {"load": {"cpu": 5.0}, "jitter": 0.0}],
        "host": {"policy": "low power"},
    }


def test_a_value_is_placed_by_the_name_of_a_table():
    tree = {"vm": [{"name": "db", "load": {}}, {"name": "web-01", "load": {}}]}
    placed(tree, "vm[web-01].load.cpu", 5.0)
    assert tree["vm"] == [{"name": "db", "load": {}}, {"name": "web-01", "load": {"cpu": 5.0}}]


@pytest.mark.parametrize("path", ["vm[2].load.cpu", "vm[web].load.cpu", "vm.load.", "vm[0]", "vm load", "name.more"])
def test_a_place_that_is_not_there_is_named(path):
    with pytest.raises(ScenarioError, match=r"is not a place in a scenario|there is no .* in the scenario"):
        placed({"name": "x", "vm": [{"name": "db", "load": {}}]}, path, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[file]]\nname = "../out.txt"\ntool = "linpack"', r"file '\.\./out\.txt': not a name inside the directory"),
        ('[[file]]\nname = "{vms}.txt"\ntool = "linpack"', "every label known"),
        ('[[file]]\nname = "a.txt"', r"file a\.txt: tool is missing"),
        ("[host]\nsockets = 2", "host: name is missing|Every field of Host"),
        ('[[vm]]\nname = "a"\ncount = -1', r"vm a: count -1 is not a number of VMs"),
    ],
)
def test_what_makes_no_sense_is_said(text, message):
    with pytest.raises(EsxparseError, match=message):
        parsed(text)


def test_a_base_is_laid_under_tables_are_merged_and_lists_joined(tmp_path):
    (tmp_path / "busy.toml").write_text(
        'base = "busy-host"\nname = "busier"\n[host]\nmemory_mb = 65536\n'
        '[[vm]]\nname = "more-{n}"\ncount = 2\nvcpus = 1\nmemory_mb = 1024\nnode = 0\nswitch = "vSwitch0"\ndisks = []\n'
    )
    (tmp_path / "busiest.toml").write_text('base = "busy.toml"\nname = "busiest"\n')
    found = load_scenario(tmp_path / "busiest.toml")
    assert (found.name, found.host.memory_mb, found.host.sockets) == ("busiest", 65536, 2)
    assert [vm.name for vm in found.vms][-2:] == ["more-1", "more-2"]
    assert len(found.vms) == 10


def test_a_scenario_that_is_its_own_base_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text('base = "b.toml"\n')
    (tmp_path / "b.toml").write_text('base = "a.toml"\n')
    with pytest.raises(ScenarioError, match="is its own base"):
        load_experiment(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("vcpus = 4\n", 'vcpus = "four"\n', r"vm ledger-db: vcpus = 'four' is not a number"),
        ("sockets = 2\n", "sockets = true\n", r"host: sockets = True is not a number"),
        ('name = "vmhba0"', "name = 0", r"adapter: name = 0 is not a text"),
        ("cpu = 96.0\n", 'cpu = "much"\n', r"vm orders-app phase cpu: 'much' is not a number"),
        ("end = 215\n", "", r"vm orders-app: end is missing"),
        ('paths = ["vmhba0:C0:T0:L0"]', "paths = []", r"device t10\.ATA_+LABDISK.*: it has no paths"),
    ],
)
def test_a_value_of_the_wrong_kind_names_its_place(tmp_path, was, becomes, message):
    text = (files("esxparse_simulator") / "scenarios" / "busy-host.toml").read_text(encoding="utf-8")
    assert was in text
    (tmp_path / "s.toml").write_text(text.replace(was, becomes, 1))
    with pytest.raises(ScenarioError, match=message):
        load_scenario(tmp_path / "s.toml")
