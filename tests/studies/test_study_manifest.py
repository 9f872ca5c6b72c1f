"""`study.toml` as it is read: what is asked for, and what is refused with its line."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import studies
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.studies import study
from esxparse.studies.study_file import load, parse
from esxparse.toml import lines

DESIGN = """title = "I/O filter against default"
baseline = { filter = "default" }
axis = ["vms"]
[window]
warmup = "2m"
measure = "2m"
[host]
cpus = 16
mhz = 2400
[[run]]
filter = "default"
vms = 16
esxtop = "default-16.csv.gz"
iometer = "default-16.iometer.csv"
"""


def test_the_manifest_of_the_design_is_read(tmp_path):
    found = load(studies.manifest(tmp_path, DESIGN))
    assert (found.title, found.axis, found.baseline) == (
        "I/O filter against default",
        ("vms",),
        {"filter": "default"},
    )
    (run,) = found.runs
    assert run.labels == {"filter": ("default",), "vms": (16,)}
    assert (run.window.warmup_s, run.window.measure_s) == (120.0, 120.0)
    assert run.host == {"cpus": 16, "mhz": 2400.0}
    assert {role: entry.patterns for role, entry in run.files.items()} == {
        "esxtop": ("default-16.csv.gz",),
        "iometer": ("default-16.iometer.csv",),
    }
    assert run.line == 10
    assert not run.problems


def test_what_a_run_says_itself_counts_before_what_is_said_above(tmp_path):
    (run,) = load(
        studies.manifest(
            tmp_path,
            """
[window]
warmup = 90
span = "fio"
[host]
mhz = 2400
[labels]
array = ["a", "b"]
release = "6.7"
[files.iometer]
clock = "-90m"
[files]
hardware = "host.txt"
[[run]]
release = "7.0"
esxtop = "a.csv"
iometer = { file = "r.csv", test = 3 }
window = { start = 2026-03-02T08:00:00, end = "2026-03-02T08:30" }
host = { mhz = 2600 }
""",
        )
    ).runs
    assert run.labels == {"array": ("a", "b"), "release": ("7.0",)}
    assert run.window.warmup_s == 90
    assert run.window.span is None
    assert run.window.start == datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert run.host["mhz"] == 2600
    assert run.files["iometer"].clock == timedelta(minutes=-90)
    assert run.files["iometer"].test == 3
    assert run.files["hardware"].patterns == ("host.txt",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = \n", r"toml:1: not TOML: Invalid value \(at line 1, column 9\); correct it"),
        ("a = 1\n", r'toml:1: unknown key "a"; use one of axis, baseline'),
        ('titel = "x"\n', r'toml:1: unknown key "titel"; .* \(did you mean "title"\?\)'),
        ('[window]\nwarmpup = "2m"\n', r'toml:2: unknown key "warmpup"; .* \(did you mean "warmup"\?\)'),
        ('[window]\n\nwarmup = "2 minutes"\n', r"toml:3: warmup '2 minutes' is not a length of time"),
        ("[window]\nwarmup = true\n", r"toml:2: warmup is true, not a length of time; write"),
        ("[window]\nmeasure = 0\n", r"toml:2: measure is 0; leave it out"),
        ('[window]\nspan = "esxtop"\n', r'toml:2: span is "esxtop", not a load generator; use one of diskspd, fio'),
        ("[window]\nstart = 12\n", r"toml:2: start 12 is not a time"),
        ('[window]\nstart = "2026-03-02T09:00"\nend = "2026-03-02T08:00"\n', r"toml:3: the window ends before"),
        ('window = "2m"\n', r'toml:1: window is "2m"; write a table: \[window\] above its keys'),
        ("[host]\ncpus = 2.5\n", r"toml:2: cpus is 2\.5; write a whole number above 0"),
        ('[host]\nmhz = "2.4 GHz"\n', r'toml:2: mhz is "2\.4 GHz"; write a number above 0'),
        ("[host]\nmemory_mb = 2048\n", r'toml:2: unknown key "memory_mb"; write it as memory_mib, 2\*\*20 bytes'),
        ("axis = 3\n", r"toml:1: axis is 3; write a label, or a list of labels"),
        ('baseline = "default"\n', r'toml:1: baseline is "default"; write a table'),
        ('[files]\nesxtp = "x"\n', r'toml:2: unknown key "esxtp"; .* \(did you mean "esxtop"\?\)'),
        ('title = "empty"\n', r"toml:1: the study has no runs; add a \[\[run\]\]"),
        ('[run]\nesxtop = "x"\n', r"toml:1: run is a table; write \[\[run\]\] above each"),
    ],
)
def test_what_would_change_all_numbers_ends_it_with_its_line(tmp_path, text, message):
    rest = "" if "run" in text or "empty" in text else '[[run]]\nesxtop = "a.csv"\n'
    with pytest.raises(EsxparseError, match=message):
        study(studies.manifest(tmp_path, text + rest))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('esxtp = "a.csv"', 'unknown key "esxtp"; rename it (did you mean "esxtop"?)'),
        ('filtre = "x"', 'unknown key "filtre"; rename it (did you mean "filter"?)'),
        ('filter = "x"\niops = 5\nesxtop = "a"', 'the label "iops" has the name of a column of the results'),
        ("filter = []", 'the label "filter" is []; write text, a number of at most 64 bits, or a list of them'),
        ("filter = { a = 1 }", 'the label "filter" is a table; write text, a number, or a list of them'),
        ("esxtop = 3", "esxtop is 3; write the name of a file, or a list of names"),
        ('esxtop = ["a", "b"]', "esxtop takes one file per run, not 2; keep one"),
        ('iometer = { file = "a", tets = 3 }', '(did you mean "test"?)'),
        ('iometer = { file = "a", clock = "noon" }', "clock 'noon' is not a length of time"),
        ("values = { mbps = 3.0 }", "unit 'mbps' is ambiguous: write mb_per_s"),
        ('values = { users = "many" }', 'users is "many"; write a number'),
        ('window = { warmpu = "2m" }\nesxtop = "a"', '(did you mean "warmup"?)'),
        ('filter = "x"', "this run has neither files nor [run.values]"),
    ],
)
def test_what_is_wrong_with_one_run_is_kept_with_it(tmp_path, text, message):
    good = 'axis = "filter"\n[[run]]\nfilter = "y"\n[run.values]\nusers = 5\n[[run]]\n'
    found = study(studies.manifest(tmp_path, good + text))
    first, *others = studies.rows(found)
    assert (first["users"], first["gap"]) == (5.0, None)
    assert all(message in row["gap"] for row in others)
    (warning,) = [warning for warning in studies.warnings(found) if message in warning]
    line = 6 if "neither files" in message else 7 + ("iops" in text)
    assert warning.startswith(f"line {line}: run 2")


def test_a_manifest_that_cannot_be_read_says_so_in_one_line(tmp_path):
    with pytest.raises(EsxparseError, match=r"study\.toml cannot be read: No such file.*esxparse study new DIR"):
        study(tmp_path)
    (tmp_path / "x.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(EsxparseError, match="is not TOML, which is UTF-8"):
        study(tmp_path / "x.toml")


def test_several_complaints_are_counted(tmp_path):
    with pytest.raises(EsxparseError, match=r'toml:1: unknown key "a"; .*\(and 1 more: esxparse study check'):
        study(studies.manifest(tmp_path, 'a = 1\nb = 2\n[[run]]\nesxtop = "x"\n'))


def test_lines_are_found_behind_strings_and_arrays_of_several_lines():
    text = '''a = """
[[run]]
b = 1
"""
c = [ # ]
  "]", [1,
  2],
]
"quoted key" = { x = "{", y = 2 }
[d."e.f"]
g.h = 1
[[run]] # first
[run.host]
mhz = 1
[[run]]
host.mhz = '[' # [
vms = 1
'''
    found = lines.index(text)
    assert found == {
        ("a",): 1,
        ("c",): 5,
        ("quoted key",): 9,
        ("d", "e.f"): 10,
        ("d", "e.f", "g", "h"): 11,
        ("run", 0): 12,
        ("run", 0, "host"): 13,
        ("run", 0, "host", "mhz"): 14,
        ("run", 1): 15,
        ("run", 1, "host", "mhz"): 16,
        ("run", 1, "vms"): 17,
    }


KEYS = st.text("abc-_1", min_size=1, max_size=4)
VALUES = st.sampled_from(["1", '"#["', "'{'", "[1, [2]]", "{ z = 1 }", '"""\nq = 1\n"""', "[\n1, # ]\n2\n]", "1.5"])


@given(st.lists(st.tuples(KEYS, VALUES), unique_by=lambda pair: pair[0], max_size=6))
def test_every_key_has_the_line_it_begins_on(pairs):
    text = ""
    expected = {}
    for key, value in pairs:
        expected[(key,)] = text.count("\n") + 1
        text += f"{key} = {value}\n"
    assert set(tomllib.loads(text)) == {key for (key,) in expected}
    assert lines.index(text) == expected


@given(st.text(max_size=200))
def test_any_text_is_a_manifest_or_one_clear_error(text):
    wrong = ["not TOML"]
    with suppress(EsxparseError):
        wrong = parse(text, Path("study.toml"))[1]
    assert wrong
