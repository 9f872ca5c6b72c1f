"""`esxparse plan` and `esxparse audit`: options from data, shapes, files, errors."""

from __future__ import annotations

import json

import pytest
from checkout import ROOT

import esxparse as ex
from esxparse.audits import page as items
from esxparse.cli import main
from esxparse.plans import page
from esxparse.plans.forms import NAMES, form

ARTICLE = ["plan", "replication", "--vms", "15", "--size", "102400", "--change", "5", "--rpo", "15"]


@pytest.mark.parametrize("name", NAMES)
def test_help_has_every_input_with_its_unit(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", name, "--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    for key, one in form(name).inputs.items():
        assert f"--{key.replace('_', '-')} " in said
        assert not one.unit or f"[{one.unit}]" in said


def test_cases_print_beside_each_other(capsys):
    assert main([*ARTICLE, "--rate", "local=901", "routed=440"]) == 0
    said = capsys.readouterr().out
    assert "3.79" in said
    assert "7.76" in said


def test_markdown_and_json_go_to_a_file_that_is_kept(tmp_path, capsys):
    file = tmp_path / "plan.json"
    command = [*ARTICLE, "--rate", "901", "--format", "json", "-o", str(file)]
    assert main(command) == 0
    assert json.loads(file.read_text())["planner"] == "replication"
    assert main(command) == 1
    assert "already exists" in capsys.readouterr().err
    assert main([*ARTICLE, "--rate", "440", "--format", "markdown", "-o", str(file), "--force"]) == 0
    assert file.read_text().startswith("# vSphere Replication\n")


def test_what_is_missing_is_one_line(capsys):
    assert main(["plan", "power"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("esxparse: power: 4 inputs are missing: hosts [hosts]: ")
    assert said.count("\n") == 1


def test_recordings_are_named_by_case(capsys):
    capture = ex.datasets_dir() / "busy-host" / "busy-host.csv"
    assert main(["plan", "consolidation", "--from", f"now={capture}", "--start", "2026-03-11T09:05"]) == 0
    said = capsys.readouterr().out
    assert "vms, now" not in said
    assert "now: " in said
    assert main(["plan", "consolidation", "--from", "now=nowhere.csv"]) == 1
    assert "nowhere.csv" in capsys.readouterr().err


def test_an_unknown_planner_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", "replicaton"])
    assert ended.value.code == 2
    assert "replication" in capsys.readouterr().err


def test_the_page_of_inputs_is_written():
    written = (ROOT / "docs" / "planners.md").read_text(encoding="utf-8")
    assert written == f"{page.page()}\n{items.page()}", "run make written"
