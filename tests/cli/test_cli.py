"""The command line: what it prints, how it ends, and what it says of mistakes."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import compose
import pytest

import esxparse as ex
from esxparse.cli import build_parser, main

MEMORY = [("Memory", "Free MBytes")]


def run(*arguments):
    """What a command prints and how it ends, without the start of a process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([str(one) for one in arguments])
        except SystemExit as end:
            code = end.code
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.mark.search
def test_a_command_is_a_program(busy_host_file):
    command = [sys.executable, "-m", "esxparse", "info", busy_host_file]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, run("info", busy_host_file).stdout, "")


def test_info_says_what_a_capture_is(busy_host_file):
    done = run("info", busy_host_file)
    assert done.returncode == 0
    assert done.stderr == ""
    for said in (
        "format    esxtop",
        "host      esx-07.lab.example",
        "121 every 5 s",
        "8 VMs",
        "ledger-db",
        "vcpu (83)",
    ):
        assert said in done.stdout
    assert len(done.stdout.splitlines()) <= 24, "one screen"


def test_info_goes_on_after_a_file_that_cannot_be_read(tmp_path, busy_host_file):
    done = run("info", tmp_path / "none.csv", busy_host_file)
    assert done.returncode == 1
    assert done.stderr == f"esxparse: {tmp_path / 'none.csv'} does not exist\n"
    assert "format    esxtop" in done.stdout


def test_info_shows_the_notes_of_the_reader(tmp_path):
    file = compose.write(tmp_path, compose.text(MEMORY, [["1"], ["2"]])[:-3])
    done = run("info", file)
    assert done.returncode == 0
    assert "warning   line 3, column 2: 1 cell not closed" in done.stdout


BAD = {
    "empty.csv": (b"", "is empty"),
    "other.csv": (b"time,value\n1,2\n", "not in a format esxparse reads"),
    "header.csv": (compose.text(MEMORY, []).encode(), "and no rows"),
    "packed.csv": (b"\x1f\x8b\x08\x00rest", "gzip data is cut"),
    "no-column.csv": (b'"(PDH-CSV 4.0) (UTC)(0)"\n"03/02/2026 08:00:00"\n', "without a single column"),
}


@pytest.mark.parametrize("command", ["info", "report"])
@pytest.mark.parametrize("name", [*BAD, "directory", "none.csv"])
def test_bad_input_gets_one_clear_line_and_leaves_nothing_behind(tmp_path, monkeypatch, command, name):
    inputs, outputs = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()
    outputs.mkdir()
    (inputs / "directory").mkdir()
    says = {"directory": "is a directory", "none.csv": "does not exist"}.get(name) or BAD[name][1]
    if name in BAD:
        (inputs / name).write_bytes(BAD[name][0])
    target = ["-o", outputs / "report.html"] if command == "report" else []
    monkeypatch.chdir(outputs)
    done = run(command, inputs / name, *target)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"esxparse: {inputs / name}")
    assert says in line
    assert list(outputs.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(tmp_path):
    file = compose.write(tmp_path, compose.text(MEMORY, [["1"]]))
    file.chmod(0)
    done = run("info", file)
    assert done.returncode == 1
    assert done.stderr == f"esxparse: {file} cannot be read: Permission denied\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run("info", tmp_path / "pipe")
    assert done.returncode == 1
    assert "is not a regular file" in done.stderr


@pytest.mark.search
def test_names_a_terminal_cannot_show_are_shown_in_another_way(tmp_path):
    file = compose.write(tmp_path, compose.text([("Vcpu(1:日本語:2:vmx-vcpu-0:日本語)", "% Used")], [["1"]]))
    done = subprocess.run(
        [sys.executable, "-m", "esxparse", "info", str(file)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        check=False,
    )
    assert done.returncode == 0
    assert b"\\u65e5" in done.stdout


@pytest.mark.search
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line(busy_host_file):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "esxparse", "info", str(busy_host_file)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "esxparse: cannot write the output: No space left on device\n"


def test_names_cannot_act_on_the_terminal(tmp_path):
    file = compose.write(tmp_path, compose.text([("Vcpu(1:\x1b[31mred:2:vmx-vcpu-0:x)", "% Used")], [["1"]]))
    done = run("info", file)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "[31mred" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["info"], ["report"], ["report", "x.csv", "--parameter", "novalue"], ["info", "--none", "x"]],
)
def test_usage_errors_exit_with_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: esxparse")


def test_report_errors_that_no_capture_causes(tmp_path, busy_host_file):
    missing = run("report", busy_host_file, "-o", tmp_path / "none" / "report.html")
    assert missing.returncode == 1
    assert "there is no directory" in missing.stderr
    several = run("report", busy_host_file, __file__, "-o", tmp_path / "both.pdf")
    assert several.returncode == 1
    assert "both.pdf is the name of one report, but 2 are made: name a directory for them" in several.stderr
    disputed = run("report", busy_host_file, "-o", tmp_path / "report.md", "--to", "ipynb")
    assert "report.md is named as md, but ipynb is asked for" in disputed.stderr
    unknown = run("report", busy_host_file, "-t", "nonsense", "-o", tmp_path / "report.html")
    assert unknown.returncode == 1
    assert "host_health" in unknown.stderr
    assert list(tmp_path.iterdir()) == []


def test_templates_are_listed_with_their_parameters():
    done = run("templates")
    assert done.returncode == 0
    assert "host_health: Host health\n" in done.stdout
    assert "profile: str = 'standard'" in done.stdout
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert {line: lines.count(line) for line in lines if ": str = " in line and lines.count(line) > 1} == {}
    assert "study, values, question, outside, allow: see below" in lines


def test_version():
    assert run("--version").stdout == f"esxparse {ex.__version__}\n"


def modules_after(*words: str) -> set[str]:
    """What is imported when a command has parsed its words."""
    code = (
        "import sys, contextlib, io\n"
        "import esxparse\n"
        "from esxparse.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(sys.argv[1:])\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("words", [["--help"], ["report", "--help"]])
def test_help_and_import_load_nothing_heavy(words):
    assert not {"polars", "numpy", "msgspec", "altair", "papermill", "jinja2", "IPython"} & modules_after(*words)


def test_a_command_loads_no_other():
    commands = {f"esxparse.cli.{name}" for name in ("check", "info", "report", "study", "simulate", "slice")}
    assert modules_after("info", "--help") & commands == {"esxparse.cli.info"}
    assert modules_after("--help") >= commands


@pytest.mark.parametrize(("words", "same"), [(["help"], ["--help"]), (["help", "check"], ["check", "--help"])])
def test_help_is_a_word_too(words, same, capsys):
    told = []
    for asked in (words, same):
        with pytest.raises(SystemExit) as ended:
            main(asked)
        assert ended.value.code == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert "3 what --fail-on asks for was found" in " ".join(told[0].split())


def test_every_command_has_help():
    (commands,) = [action for action in build_parser()._actions if action.dest == "command"]
    named = "audit batch check collect compare convert diagnose export formats info lab lake plan report right-size"
    assert set(commands.choices) == {*named.split(), "rules", "simulate", "slice", "study", "templates", "timeline"}
    for choice in commands._choices_actions:
        assert choice.help
    for parser in commands.choices.values():
        assert parser.description
        assert all(action.help for action in parser._actions)


@pytest.mark.search
def test_one_thing_is_told_as_one(tmp_path, busy_host_file, monkeypatch):
    """Whatever is told of a capture with one sample, in a lake with one capture and a study with one run."""
    monkeypatch.chdir(tmp_path)
    lines = Path(busy_host_file).read_text(encoding="utf-8").splitlines(keepends=True)
    Path("one.csv").write_text("".join(lines[:2]), encoding="utf-8")
    lake = ("--lake", "lake")
    commands = [
        *((name, "one.csv") for name in ("info", "check", "diagnose")),
        ("convert", "one.csv", "-o", "converted"),
        ("slice", "one.csv", "-o", "sliced.csv"),
        ("lake", "add", "one.csv", *lake),
        *(("lake", name, *lake) for name in ("ls", "verify", "judge", "compact")),
        ("study", "new", "."),
        ("study", "check", "study.toml"),
        ("report", "one.csv", "-o", "one.html"),
    ]
    told = {command: run(*command) for command in commands}
    said = {command: done.stdout + done.stderr for command, done in told.items()}
    page = re.sub(r"<(script|style).*?</\1>", "", Path("one.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    said["page",] = re.sub(r"<[^>]+>", "|", page)
    assert all(said.values())
    found = {command: re.findall(r"(?<![\d.,:])1 [A-Za-z]+s\b", text) for command, text in said.items()}
    assert not any(found.values()), found
