"""One road for what a caller says of a recording: every function and every command takes it, and means the same."""

from __future__ import annotations

import argparse
import datetime as dt
import inspect
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import compose
import pytest
from nbformat import NotebookNode

import esxparse as ex
from esxparse.cli import build_parser, main, output
from esxparse.errors import EsxparseError
from esxparse.formats.esxtop.slice import slice_capture
from esxparse.formats.opening import NAMES, Opening, Options
from esxparse.reports import run
from esxparse.reports.pick import format_of

COLUMNS = [("Memory", "Free MBytes")]
CLOCKS = [f"23:59:{second}" for second in range(30, 60, 5)] + [f"00:00:{second:02d}" for second in range(0, 30, 5)]
WANTED = [dt.datetime(2026, 4, 12, 23, 59, 30, tzinfo=dt.UTC) + dt.timedelta(seconds=5 * n) for n in range(12)]
DAY_FIRST = [f"{12 + place // 6}/04/2026 {clock}" for place, clock in enumerate(CLOCKS)]


def capture(folder, stamps, *, quotes=True, name="c.csv"):
    header = compose.text(COLUMNS, []).rstrip("\n")
    text = "\n".join([header, *(f'"{stamp}","{value}"' for value, stamp in enumerate(stamps))]) + "\n"
    return compose.write(folder, text if quotes else text.replace('"', ""), name)


def times(path, **options):
    return ex.open(path, **options)["memory"].collect()["time"].to_list()


@pytest.mark.parametrize("quotes", [True, False])
@pytest.mark.parametrize(("stamps", "options"), [(DAY_FIRST, {"date_order": "dmy"}), (CLOCKS, {"date": "2026-04-12"})])
def test_dates_are_told_to_every_function_and_mean_the_same(tmp_path, stamps, options, quotes):
    file = capture(tmp_path, stamps, quotes=quotes)
    assert times(file, **options) == WANTED
    assert times(file, lazy=True, **options) == WANTED
    assert times(file, start="2026-04-13", **options) == WANTED[6:]
    assert times(ex.convert(file, tmp_path / "lake", **options).folder) == WANTED
    slice_capture(file, tmp_path / "all.csv", **options)
    assert times(tmp_path / "all.csv") == WANTED
    # The part that is cut does not show which is day and which is month.
    slice_capture(file, tmp_path / "part.csv", end="2026-04-12T23:59:59", **options)
    assert times(tmp_path / "part.csv") == WANTED[:6]


@pytest.mark.search
@pytest.mark.parametrize(
    ("stamps", "flags"), [(DAY_FIRST, ["--date-order", "dmy"]), (CLOCKS, ["--date", "2026-04-12"])]
)
def test_dates_are_told_to_every_command(tmp_path, monkeypatch, capsys, stamps, flags):
    file = str(capture(tmp_path, stamps))
    out, lake, page = (str(tmp_path / name) for name in ("part.csv", "lake", "page.html"))
    for command in (["info", file], ["slice", file, "-o", out], ["convert", file, "-o", lake]):
        assert main(command) == 1
        assert "--date" in capsys.readouterr().err
        assert main([*command, *flags]) == 0
        assert "unused" not in capsys.readouterr().err
    assert times(out) == times(lake) == WANTED
    told = []
    execute = run._execute
    monkeypatch.setattr(
        run, "_execute", lambda template, values, *more: told.append(values) or execute(template, values, *more)
    )
    assert main(["report", file, "-o", page]) == 1
    assert main(["report", file, "-o", page, "-q", *flags]) == 0
    written = (tmp_path / "page.html").read_text()
    assert "12 Apr 2026" in written or "2026-04-12" in written
    # The same as a parameter is told to the template in the same words.
    empty = NotebookNode(cells=[], metadata=NotebookNode())
    monkeypatch.setattr(run, "_execute", lambda _, values, *_rest: told.append(values) or empty)
    assert main(["report", file, "-o", page, "-q", "-p", f"{flags[0][2:].replace('-', '_')}={flags[1]}"]) == 0
    assert len(told) == 2
    assert told[0] == told[1]
    option = f"{flags[0][2:].replace('-', '_')} = '{flags[1]}'"
    (tmp_path / "study.toml").write_text(f"[[run]]\nesxtop = {{ file = 'c.csv', {option} }}\n")
    runs = ex.study(tmp_path).runs.collect()
    assert (runs["start"][0], runs["end"][0]) == (WANTED[0], WANTED[-1])


def test_a_refused_slice_of_doubtful_dates_leaves_no_file(tmp_path):
    for quotes in (True, False):
        file = capture(tmp_path, DAY_FIRST[:6] + DAY_FIRST[6:], quotes=quotes)
        if quotes:
            with pytest.raises(ex.EsxparseError, match=r"'13/04/2026 00:00:00' have the day first.*--date-order"):
                slice_capture(file, tmp_path / "part.csv")
        assert not (tmp_path / "part.csv").exists()


def test_one_damaged_stamp_makes_no_new_day_and_two_midnights_make_two(tmp_path):
    damaged = [*CLOCKS[:3], "02:00:45", *CLOCKS[4:]]
    assert times(capture(tmp_path, damaged), date="2026-04-12")[4:] == WANTED[4:]
    days = ["08:00:00", "16:00:00", "23:00:00", "08:00:00", "16:00:00", "07:00:00", "06:30:00"]
    found = times(capture(tmp_path, days), date="2026-04-12")
    # Half an hour back is a clock that was set, not another day.
    assert [(time.day, time.hour) for time in found] == [
        (12, 8),
        (12, 16),
        (12, 23),
        (13, 8),
        (13, 16),
        (14, 7),
        (14, 6),
    ]
    evening = ["11:59:50 PM", "11:59:55 PM", "12:00:00 AM"]
    assert [time.day for time in times(capture(tmp_path, evening), date="2026-12-31")] == [31, 31, 1]
    with pytest.raises(ex.EsxparseError, match="is too late"):
        times(capture(tmp_path, CLOCKS), date="9999-12-31")


@pytest.mark.search
def test_an_option_that_a_recording_has_no_use_for_is_refused_everywhere(tmp_path, busy_host_file, capsys):
    for flags, name in ((["--time-column", "x"], "time_column"), (["--format", "fio"], "format")):
        for command in (
            ["info", str(busy_host_file)],
            ["slice", str(busy_host_file), "-o", str(tmp_path / "x.csv")],
            ["convert", str(busy_host_file), "-o", str(tmp_path / "lake")],
            ["report", str(busy_host_file), "-o", str(tmp_path / "x.html")],
        ):
            assert main([*command, *flags]) == 1
            error = capsys.readouterr().err
            assert error.count("\n") == 1
            assert name in error or "fio" in error
    made = ex.convert(capture(tmp_path, DAY_FIRST), tmp_path / "dmy", date_order="dmy")
    with pytest.raises(ex.EsxparseError, match="converted recording, which has no option date_order: leave it out"):
        ex.open(made.folder, date_order="dmy")


def test_every_road_knows_the_same_options():
    assert set(inspect.signature(ex.open).parameters) == {"path", *NAMES}
    assert set(Options.__annotations__) == set(NAMES)
    assert set(output._HELP) == set(NAMES)
    subparsers = next(one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction))
    for command in ("info", "slice", "convert", "report"):
        assert {action.dest for action in subparsers.choices[command]._actions} >= set(NAMES), command


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("start", "yesterday", "start 'yesterday' is not a time"),
        ("start", 5, "start 5 is not a time"),
        ("end", "0001-01-01T00:00+14:00", "outside the years 1 to 9999"),
        ("every", "0s", "every '0s' is not a length of time"),
        ("every", "9" * 40 + "d", "longer than any recording"),
        ("segment", 0, "segment is 0: give its number, from 1"),
        ("segment", "two", "segment is 'two'"),
        ("segment", "9" * 5000, "segment is '999"),
        ("date", "11.03.2026", "date '11.03.2026' is not a day: write it as 2026-03-11"),
        ("date", 20260311, "date 20260311 is not a day"),
        ("date_order", "day", "date_order is 'day': choose from mdy, dmy, ymd"),
        ("lazy", "perhaps", "lazy is 'perhaps': say true or false"),
        ("timeout", "-1", "timeout '-1' is not a length of time"),
        ("timeout", float("nan"), "timeout 'nan' is not a length of time"),
        ("format", 5, "format is 5: give its name"),
        ("colour", "red", "there is no option 'colour' for opening a recording"),
    ],
)
def test_what_nobody_can_use_is_one_error(option, value, message):
    with pytest.raises(ex.EsxparseError) as caught:
        Opening.of({option: value})
    assert message in str(caught.value)


def test_options_as_text_are_read_back_as_they_were():
    given = {"start": "2026-03-11T09:00:00.5", "every": dt.timedelta(milliseconds=1500), "date": dt.date(2026, 3, 11)}
    asked = Opening.of({**given, "segment": "2", "lazy": "false", "timeout": "2m", "member": ""})
    assert (asked.segment, asked.lazy, asked.timeout, asked.member) == (2, False, 120.0, None)
    assert Opening.of(asked.texts()) == asked
    assert Opening.of({"segment": 1}) == Opening()


# --- What strangers send


def test_manifests_stay_in_their_directory_unless_told(tmp_path, capsys):
    inside, beside = tmp_path / "in", tmp_path / "secret.csv"
    inside.mkdir()
    capture(tmp_path, DAY_FIRST[:3], name="secret.csv")
    (inside / "link.csv").symlink_to(beside)
    for name in ("../secret.csv", str(beside), "link.csv", "*.csv", "../*.csv", "http://127.0.0.1:1/x.csv"):
        (inside / "study.toml").write_text(f"[[run]]\nesxtop = {name!r}\n")
        found = ex.study(inside)
        assert "is outside" in str(found.notes[0]), name
        assert "--allow-outside" in str(found.notes[0])
        assert found.runs.collect()["samples"][0] is None
        assert main(["study", "check", str(inside), "-q"]) == 1
        assert "is outside" in capsys.readouterr().err
    for name in ("../secret.csv", str(beside), "link.csv", "../*.csv"):
        (inside / "study.toml").write_text(f"[[run]]\nesxtop = {name!r}\n")
        found = ex.study(inside, outside=True)
        assert (found.notes, found.runs.collect()["measured_s"][0]) == ((), 10.0)
        assert main(["study", "check", str(inside), "-q", "--allow-outside"]) == 0


def test_manifests_of_more_runs_than_anybody_has_are_refused_at_once(tmp_path):
    many = str(list(range(1000)))
    (tmp_path / "study.toml").write_text(f'[[run]]\nesxtop = "c.csv"\na = {many}\nb = {many}\nc = {many}\n')
    with pytest.raises(ex.EsxparseError, match=r"line 1: this \[\[run\]\] expands to 1,000,000,000 runs"):
        ex.study(tmp_path)
    (tmp_path / "study.toml").write_text('[[run]]\nesxtop = "{a:0999999999d}.csv"\na = 1\n')
    assert "too long for a file name" in str(ex.study(tmp_path).notes[0])


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "a = " + "9" * 5000, "[a" + ".a" * 500 + "]\nb = 1\n", "a = " + "[" * 40 + "]" * 40],
)
def test_toml_that_nobody_wrote_by_hand_is_one_error(tmp_path, capsys, busy_host_file, text):
    from esxparse import toml  # noqa: PLC0415

    with pytest.raises(tomllib.TOMLDecodeError):
        toml.parse(text)
    file = tmp_path / "deep.toml"
    file.write_text(text)
    page = str(tmp_path / "x.html")
    for command in (
        ["study", "check", str(file)],
        ["simulate", str(file), "-o", str(tmp_path / "sim")],
        ["report", str(busy_host_file), "--profile", str(file), "-o", page],
    ):
        assert main(command) == 1
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[[[",
        "[]",
        "5",
        '{"cells": 5}',
        '{"cells": [1], "metadata": 5}',
        '{"cells": [{"metadata": {"tags": 5}}]}',
        '{"cells": [{"metadata": {"tags": ["parameters"]}, "source": "a: int = \\u0000"}]}',
        '{"cells": [{"metadata": {"tags": ["parameters"]}, "source": "' + "(" * 20_000 + '"}]}',
        "[" * 100_000,
        '{"cells": [], "metadata": {"esxparse": {"formats": 5}}}',
    ],
)
def test_a_template_that_is_none_is_one_error(tmp_path, capsys, busy_host_file, text):
    (tmp_path / "own.ipynb").write_text(text)
    command = ["report", str(busy_host_file), "-t", str(tmp_path / "own.ipynb"), "-o", str(tmp_path / "x.html")]
    assert main(command) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"memory.parquet"', '"/etc/passwd"'),
        ('"memory.parquet"', '"../c/memory.parquet"'),
        ('"memory.parquet"', '"sub\\\\memory.parquet"'),
        ('"memory.parquet"', "5"),
        ('"rows": 12', '"rows": "many"'),
        ('"samples": 12', '"samples": "many"'),
        ('"vms": {', '"vms": 5, "x": {'),
        ('"severity": "info"', '"severity": "great"'),
        ('"format": "esxtop"', '"format": 7'),
    ],
)
def test_an_altered_recording_is_one_error(tmp_path, capsys, before, after):
    made = ex.convert(capture(tmp_path, CLOCKS), tmp_path / "lake", date="2026-04-12")
    about = made.folder / "recording.json"
    text = about.read_text()
    assert before in text
    about.write_text(text.replace(before, after, 1))
    assert main(["info", str(made.folder)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "recording.json is not what `esxparse convert` writes" in error


def test_an_altered_table_is_one_error(tmp_path, capsys):
    made = ex.convert(capture(tmp_path, CLOCKS), tmp_path / "lake", date="2026-04-12")
    table = made.folder / "memory.parquet"
    table.write_bytes(b"x" * table.stat().st_size)
    assert main(["info", str(made.folder)]) == 1
    assert "memory.parquet is damaged" in capsys.readouterr().err


def test_names_of_objects_that_no_file_can_have(tmp_path):
    long = [("O" * 300 + "x", "Count"), ("O" * 300 + "y", "Count")]
    file = compose.write(tmp_path, compose.text(long, [["1", "2"]]))
    made = ex.convert(file, tmp_path / "lake")
    rec, back = ex.open(file), ex.open(made.folder)
    assert made.tables == 2
    for name in rec.tables:
        assert back[name].collect().equals(rec[name].collect())


@pytest.mark.search
def test_file_names_that_are_not_utf_8(tmp_path):
    name = b"caf\xe9.csv".decode("utf-8", "surrogateescape")
    try:
        file = capture(tmp_path, CLOCKS, name=name)
    except OSError:
        pytest.skip("needs a file system that takes such names")
    told = ["--date", "2026-04-12"]
    run = [sys.executable, "-m", "esxparse"]
    for command in (
        ["info", file, *told],
        ["slice", file, "-o", tmp_path / f"part-{name}", *told],
        ["convert", file, "-o", tmp_path / "lake", *told],
        ["info", tmp_path / "lake"],
        ["report", file, "-o", tmp_path / "page.html", *told],
    ):
        done = subprocess.run([*run, *command], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
    assert times(tmp_path / "lake") == WANTED


@pytest.mark.search
def test_closed_streams(tmp_path):
    file = capture(tmp_path, CLOCKS)
    run = f"{sys.executable} -m esxparse"
    for command, code in (
        (f"{run} info {file} --date 2026-04-12 >&-", 0),
        (f"{run} slice {file} --date 2026-04-12 -o - >&-", 1),
        (f"{run} info {file} --date 2026-04-12 | {sys.executable} -c 'import sys; sys.stdin.buffer.read(1)'", 0),
        (f"{run} info {tmp_path}/none.csv 2>&-", 1),
        (f"{run} report {file} --date 2026-04-12 -o {tmp_path}/page.html >&- 2>&- <&-", 0),
    ):
        done = subprocess.run(command, shell=True, capture_output=True, check=False)  # noqa: S602
        assert done.returncode == code, command
        assert b"Traceback" not in done.stderr
    assert (tmp_path / "page.html").stat().st_size > 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["--help"], ["info", "--help"], ["--version"], ["formats"]])
@pytest.mark.parametrize("buffered", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_output_that_the_disk_has_no_room_for_is_an_error(words, buffered):
    with open("/dev/full", "wb") as full:  # noqa: PTH123  a device
        command = [sys.executable, "-m", "esxparse", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, env={**os.environ, **buffered})
    assert done.returncode == 1
    assert done.stderr == b"esxparse: cannot write the output: No space left on device\n"


# --- Reports


def test_a_report_without_its_extra_says_what_to_install(tmp_path, busy_host_file):
    code = (
        "import sys\n"
        "for name in ('papermill', 'mistune', 'vl_convert', 'altair', 'ipykernel'): sys.modules[name] = None\n"
        "from esxparse.cli import main\n"
        "sys.exit(main(['report', sys.argv[1], '-o', sys.argv[2]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, busy_host_file, tmp_path / "x.html"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert 'which is not installed: pip install "esxparse[report]"' in done.stderr


@pytest.mark.search
def test_a_report_on_standard_input_and_with_a_long_directory_for_temporary_files(tmp_path, busy_host_file):
    long = tmp_path / ("t" * 95)
    long.mkdir()
    run = [sys.executable, "-m", "esxparse", "report", "-", "-o", tmp_path / "page.html", "-q"]
    with busy_host_file.open("rb") as file:
        done = subprocess.run(run, stdin=file, capture_output=True, check=False, env={"TMPDIR": str(long), "PATH": ""})
    assert (done.returncode, done.stderr) == (0, b"")
    assert "esx-07.lab.example" in (tmp_path / "page.html").read_text()
    assert list(long.iterdir()) == []


def test_parameters_on_the_command_line_are_of_the_type_that_the_template_declares(tmp_path, capsys, busy_host_file):
    command = ["report", str(busy_host_file), "-t", "power_profile", "-o", str(tmp_path / "x.html")]
    assert main([*command, "-p", "price_per_kwh=cheap"]) == 1
    assert "parameter price_per_kwh is 'cheap': it must be a number" in capsys.readouterr().err
    assert main([*command, "-p", "opening=[1"]) == 1
    assert "it must be a JSON object" in capsys.readouterr().err
    assert main(["report", str(busy_host_file), "-p", "segment=2", "-o", str(tmp_path / "x.html")]) == 1
    assert "there is no segment 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["a" * 5000, f"{'a' * 300}.csv", "x/" * 3000, "a\0b"], ids=["long", "file", "deep", "null"]
)
@pytest.mark.parametrize("road", [ex.open, ex.study, ex.follow, format_of])
def test_a_name_that_no_file_can_have_is_an_error_of_ours(road, name):
    with pytest.raises(EsxparseError):
        road(name)


@pytest.mark.parametrize("opening", [1, [1], float("inf"), "[1]"])
def test_options_in_a_manifest_that_are_not_a_table_are_one_error(tmp_path, capsys, busy_host_file, opening):
    manifest = tmp_path / "batch.toml"
    shown = f'"{opening}"' if isinstance(opening, str) else opening
    item = f'[[item]]\ninput = "{busy_host_file.as_posix()}"\nparameters = {{opening = {shown}}}\n'
    manifest.write_text(item)
    assert main(["batch", str(manifest), "-o", str(tmp_path / "out")]) == 1
    assert "parameter opening" in capsys.readouterr().err


def test_a_complaint_about_a_study_is_no_longer_than_a_screen(tmp_path, capsys):
    (tmp_path / "study.toml").write_text(f'host = "{"x" * 5000}"\n[[run]]\nname = "a"\n')
    assert main(["study", "check", str(tmp_path / "study.toml")]) == 1
    assert max(map(len, capsys.readouterr().err.splitlines())) < 2300


def test_no_message_is_longer_than_a_screen(capsys):
    name = "x" * 5000
    for words in (
        ["info", f"{name}.csv"],
        ["report", name, "-t", name],
        ["rules", "show", name],
        ["lake", "ls", "--lake", f"s4://{name}"],
    ):
        assert main(words) in {1, 2}
        told = capsys.readouterr().err
        assert len(told) < 2200
        assert told.startswith("esxparse: ")
    assert str(ex.EsxparseError("a" * 9000 + "; do this")).endswith("a; do this")
