"""Mistakes in a manifest and odd names of files: refused with their line; no run is computed otherwise than asked."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import studies

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.studies import draft, study
from esxparse.studies.checked import check
from esxparse.studies.columns import COLUMNS
from esxparse.studies.expand import expand
from esxparse.studies.study_file import examine, load
from esxparse.toml import lines

CAPTURE = '[[run]]\nesxtop = "a.csv"\n'


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def drafted(folder):
    path, other = draft.write(folder)
    return expand(load(path)), path.read_text(encoding="utf-8"), other


def found_once(folder, found, other, *shared):
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {"study.toml"}
    times = Counter(name for run in found for files in run.files.values() for name in files.names)
    assert set(times) | set(other) == there
    assert all(count == 1 for name, count in times.items() if name not in shared)
    assert not any(run.problems for run in found)


@pytest.mark.parametrize("window", ['{ warmpup = "60s" }', '{ start = "2026-05-12T99:00" }', "3"])
def test_a_run_whose_window_cannot_be_used_is_not_computed_over_another(tmp_path, window):
    studies.write_capture(tmp_path / "a.csv")
    text = f'[window]\nwarmup = "10s"\n{CAPTURE}window = {window}\n{CAPTURE}'
    first, second = studies.rows(studies.computed(tmp_path, text))
    assert first["gap"].startswith("line 5: ")
    assert all(
        first[name] is None for name in COLUMNS if name in first and name not in {"run", "repetition", "files", "gap"}
    )
    assert second["host_used_pct"] is not None


def test_only_a_mistake_in_the_entry_makes_a_run_unusable(tmp_path):
    touch(tmp_path, "a.csv")
    text = f'{CAPTURE}fio = "gone.json"\n{CAPTURE}host = 7\n[[run]]\nesxtop = "{{x.csv"\n'
    found = expand(load(studies.manifest(tmp_path, text)))
    assert [(bool(run.problems), run.unusable) for run in found] == [(True, False), (True, True), (True, True)]


def test_wildcards_that_touch_are_one(tmp_path):
    touch(tmp_path, "ab1.csv")
    for pattern in ("{name}{vms}.csv", "**.csv", "{name}*.csv"):
        (run,) = expand(load(studies.manifest(tmp_path, f'[[run]]\nesxtop = "{pattern}"\n')))
        assert run.files["esxtop"].names == ("ab1.csv",)


def test_a_table_of_a_run_that_is_none_is_told_with_its_own_line(tmp_path):
    text = f"[window]\n[host]\n{CAPTURE}window = 3\n{CAPTURE}host = 7\n[[run]]\nvalues = 9\n"
    found = expand(load(studies.manifest(tmp_path, text)))
    assert [str(run.problems[0]).split(" above")[0] for run in found] == [
        "line 5: window is 3; write a table: [run.window]",
        "line 8: host is 7; write a table: [run.host]",
        "line 10: values is 9; write a table: [run.values]",
    ]


@pytest.mark.parametrize("name", ["cpus", "start", "end", "iops", "samples", "files", "gap", "run", "is_baseline"])
def test_a_label_found_in_file_names_has_no_name_of_a_column(tmp_path, name):
    touch(tmp_path, "a-1.csv")
    path = studies.manifest(
        tmp_path, f'[[run]]\nesxtop = "a-{{{name}}}.csv"\n[[run]]\nx = 1\n[run.values]\nusers = 2\n'
    )
    (note,) = check(path).notes
    assert str(note).startswith(f"line 2: run 1: esxtop: {{{name}}} is also a column")
    assert [row["run"] for row in studies.rows(study(path))] == [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[[run]]\nsize_kib = 4\n[run.values]\nsize_kib = 4\n",
            'line 4: the figure "size_kib" is also a label',
        ),
        (
            "[[run]]\nsize_kib = 4\n[[run]]\n[run.values]\nsize_kib = 4\n",
            'line 5: the figure "size_kib" is also a label',
        ),
        ('[[run]]\n[run.values]\nx = 4\n[[run]]\nfio = "{x}.json"\n', 'line 3: the figure "x" is also a label'),
        ('[[run]]\n[run.values]\n"" = 3\n', 'line 3: "" is not a valid name for a figure; start it with a letter'),
        ("[[run]]\n[run.values]\n_foo = 3\n", 'line 3: "_foo" is not a valid name for a figure'),
        ("[[run]]\n[run.values]\nusers = 1" + "0" * 400 + "\n", "line 3: users is 1000"),
        (
            "[[run]]\nvms = 99999999999999999999\n",
            'line 2: the label "vms" is 99999999999999999999; write text, a number of at most 64 bits',
        ),
        ('[[run]]\n"" = 3\n', 'line 2: the label "" has no name'),
    ],
)
def test_labels_and_figures_that_no_table_can_hold_are_refused(tmp_path, text, message):
    path = studies.manifest(tmp_path, text)
    assert any(message in str(problem) for run in load(path).runs for problem in run.problems)
    assert any(message.split(": ", 1)[1] in note.message for note in check(path).notes)
    assert any(message in (row["gap"] or "") for row in studies.rows(study(path)))


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ('span = ["fio"]', 'span is ["fio"], not a load generator'),
        ("warmup = 1e300", "warmup is 1e+300, not a length of time"),
        ("measure = 1e300", "measure is 1e+300, not a length of time"),
        ('warmup = "99999999999h"', "warmup '99999999999h' is longer than any recording"),
        ("start = 0001-01-01T00:00:00+14:00", "start 0001-01-01 00:00:00+14:00 is outside the years 1 to 9999"),
    ],
)
def test_windows_beyond_all_times_are_refused(tmp_path, window, message):
    path = studies.manifest(tmp_path, f"[window]\n{window}\n{CAPTURE}")
    (wrong,) = examine(path)[1]
    assert (wrong.line, wrong.message[: len(message)]) == (2, message)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("clock = 1e300", "clock is 1e+300, not a length of time"),
        ('clock = "-99999999999h"', "clock '99999999999h' is longer than any recording"),
        ('segment = "x"', "segment is 'x': give its number, from 1"),
        ("segment = 0", "segment is 0: give its number, from 1"),
        ('date_order = "q"', "date_order is 'q': choose from mdy, dmy, ymd"),
        ("date_order = 5", "date_order is 5: choose from mdy, dmy, ymd"),
        ("member = 5", "member is 5: give its name"),
    ],
)
def test_options_that_no_reader_understands_are_refused(tmp_path, option, message):
    (run,) = load(studies.manifest(tmp_path, f'[[run]]\nesxtop = {{ file = "a.csv", {option} }}\n')).runs
    assert str(run.problems[0]).startswith(f"line 2: {message}")


@pytest.mark.parametrize("name", ["esxtop", "power", "host"])
def test_labels_of_all_runs_are_not_called_as_keys(tmp_path, name):
    with pytest.raises(EsxparseError, match=rf'toml:2: "{name}" is a key of \[\[run\]\]'):
        load(studies.manifest(tmp_path, f'[labels]\n{name} = "x"\n{CAPTURE}'))


def test_a_list_that_finds_two_files_of_a_kind_that_a_run_has_one_of_is_a_gap(tmp_path):
    for name in ("a-1.csv", "a-2.csv"):
        studies.write_capture(tmp_path / name, samples=3)
    path = studies.manifest(tmp_path, '[[run]]\nesxtop = ["a-*.csv"]\n')
    message = "esxtop = 'a-*.csv' matches 2 files for one run, starting with a-1.csv; a run takes one such file"
    assert message in check(path).notes[0].message
    (row,) = studies.rows(study(path))
    assert message in row["gap"]


def test_a_file_whose_name_is_not_utf_8_is_a_gap_and_the_others_are_computed(tmp_path):
    studies.write_capture(tmp_path / "a-1.csv", samples=3)
    shutil.copy(tmp_path / "a-1.csv", os.fsencode(tmp_path) + b"/a-\xff.csv")
    path = studies.manifest(tmp_path, '[[run]]\nesxtop = "a-{x}.csv"\n')
    assert r"a-\xff.csv is not valid UTF-8: rename it" in "".join(note.message for note in check(path).notes)
    rows = {row["x"]: row for row in studies.rows(study(path))}
    assert r"a-\xff.csv is not valid UTF-8" in rows[r"\xff"]["gap"]
    assert rows["1"]["host_used_pct"] is not None


def test_new_leaves_out_files_whose_names_no_manifest_can_have(tmp_path, monkeypatch):
    folder = tmp_path / os.fsdecode(b"d-\xff")
    folder.mkdir()
    with pytest.raises(EsxparseError, match=r"d-\\xff is not valid UTF-8: rename it"):
        draft.write(folder)
    monkeypatch.chdir(folder)
    folder = Path()
    studies.write_capture(folder / "a.csv", samples=3)
    for name in (b"/b-\xff.csv", b"/b*.csv"):
        shutil.copy(folder / "a.csv", os.fsencode(folder) + name)
    found, text, other = drafted(folder)
    assert sorted(other) == ["b*.csv", r"b-\xff.csv"]
    assert text.startswith('title = "d-\\\\xff"')
    assert [run.labels for run in found] == [{}]


def test_new_leaves_nothing_behind_where_it_cannot_write(tmp_path, monkeypatch):
    studies.write_capture(tmp_path / "a.csv", samples=3)
    monkeypatch.setattr(draft, "draft", lambda _: ("\udcff", []))
    with pytest.raises(UnicodeEncodeError):
        draft.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_new_makes_one_run_of_each_file_where_one_pattern_would_find_those_of_another(tmp_path):
    for path in (ex.datasets_dir() / "docker").glob("*.redis.txt"):
        shutil.copy(path, tmp_path)
    found, text, other = drafted(tmp_path)
    found_once(tmp_path, found, other)
    assert 'name = ["native", "vm"]\nredis_benchmark = "{name}.redis.txt"' in text
    assert len({(run.labels["file"], run.labels["name"]) for run in found}) == len(found) == 6
    compared = study(tmp_path).compare("redis_benchmark_set_throughput_requests_per_s").collect()
    assert (compared.height, set(compared["runs"])) == (6, {1})


def test_new_pairs_files_of_one_name(tmp_path):
    studies.write_capture(tmp_path / "dynamic-1.csv", samples=3)
    shutil.copy(tmp_path / "dynamic-1.csv", tmp_path / "static-high-1.csv")
    for name in ("dynamic-1", "static-high-1"):
        shutil.copy(studies.FORMATS / "ribcl-power-readings.xml", tmp_path / f"{name}.ilo.xml")
    found, _, other = drafted(tmp_path)
    found_once(tmp_path, found, other)
    names = [[files.names[0].split(".")[0] for files in run.files.values()] for run in found]
    assert names == [[name, name] for name in ("dynamic-1", "static-high-1")]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        # Directories of one run each; of one kind of file each; a run that lacks one of its files.
        (("r1/host.csv", "r1/load.xml", "r2/host.csv", "r2/load.xml"), 2),
        (("host/x-1.csv", "host/x-2.csv", "load/x-1.xml", "load/x-2.xml"), 2),
        (("x-1.csv", "x-2.csv", "x-1.xml"), 2),
        # Numbers that touch words, numbers with zeros before them, and values that are not all crossed.
        (("ab1.csv", "ab12.csv", "cd1.csv"), 3),
        (("a-01.csv", "a-1.csv", "a-1-2.csv"), 3),
        (("a-r01.csv", "a-r02.csv", "a-b-r03.csv", "a-x-r1.xml"), 4),
        # What a dot or a hyphen in a value would take in.
        (("a.csv", "b.csv", "a.more.csv", "file-1.csv", "file-2.csv"), 5),
    ],
)
def test_new_gives_every_file_once_whatever_the_names(tmp_path, names, expected):
    studies.write_capture(tmp_path / "capture", samples=3)
    for name in names:
        (tmp_path / "d" / name).parent.mkdir(parents=True, exist_ok=True)
        source = tmp_path / "capture" if name.endswith(".csv") else studies.FORMATS / "diskspd-2.0.21.xml"
        shutil.copy(source, tmp_path / "d" / name)
    found, _, other = drafted(tmp_path / "d")
    found_once(tmp_path / "d", found, other)
    assert other == []
    assert len(found) == expected


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (r"files = ['C:\runs\', 'C:\more\']", 3),
        (r'files = ["C:\\runs\\", "a \" ] b"]', 3),
        ("files = [\n'a', # ]\n\"b\"]", 5),
        (r'text = """one \""" [ """', 3),
        (r"text = '''one [ \'''", 3),
        ('text = """[\n[[run]]\n"""', 5),
    ],
)
def test_the_line_of_a_key_is_found_behind_any_text(value, line):
    text = f"[[run]]\n{value}\nvms = 4\n"
    assert tomllib.loads(text)["run"][0]["vms"] == 4
    assert lines.index(text)["run", 0, "vms"] == line
