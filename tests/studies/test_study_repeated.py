"""Repetitions are recordings of their own: windows, copies and shared files of one recording count as one run."""

from __future__ import annotations

import gzip
import shutil

import pytest
import studies

BASE = 'baseline = { kind = "old" }\n[host]\nload_hosts = 1\n'
FIRST = 'window = { start = "2026-03-02T08:30:00", end = "2026-03-02T08:32:30" }\n'
SECOND = 'window = { start = "2026-03-02T08:32:30", end = "2026-03-02T08:35:00" }\n'
ACROSS = 'window = { start = "2026-03-02T08:31:00", end = "2026-03-02T08:34:00" }\n'


@pytest.fixture
def folder(tmp_path):
    for place, name in enumerate(("a", "b", "c", "d")):
        studies.write_capture(tmp_path / f"{name}.csv", samples=31, seed=place + 1)
        studies.write_fio(tmp_path / f"{name}.json", 20_000 + 10 * place)
    return tmp_path


def run(kind, *lines):
    return f'[[run]]\nkind = "{kind}"\n' + "".join(f"{line.strip()}\n" for line in lines)


OLD = run("old", 'esxtop = "c.csv"') + run("old", 'esxtop = "d.csv"')


def compared(folder, *runs, value="host_util_pct"):
    found = studies.computed(folder, BASE + OLD + "".join(runs))
    new = found.compare(value).collect().filter(kind="new").row(0, named=True)
    said = [text for text in studies.warnings(found) if "parts of one recording" in text]
    return found.runs.collect(), new, said


@pytest.mark.search
def test_runs_of_two_captures_are_repetitions(folder):
    runs, new, said = compared(folder, run("new", 'esxtop = "a.csv"'), run("new", 'esxtop = "b.csv"'))
    assert (runs["recording"].to_list(), new["runs"], new["gap"], said) == ([1, 2, 3, 4], 2, None, [])
    assert new["ratio_low"] < new["ratio"] < new["ratio_high"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("a", FIRST), ("a", ACROSS), id="overlapping"),
        pytest.param(("a", FIRST), ("a", SECOND), id="adjacent"),
        pytest.param(("a", ""), ("a", ""), id="the same file twice"),
        pytest.param(("a", ""), ("copy", ""), id="a copy"),
        pytest.param(("a", FIRST), ("copy", SECOND), id="adjacent windows of copies"),
        pytest.param(("a", ""), ("sub/../a", ""), id="another way to the same file"),
        pytest.param(("a", ""), ("packed", ""), id="a copy, packed"),
    ],
)
def test_parts_and_copies_of_one_capture_are_one_run(folder, one, other):
    (folder / "sub").mkdir()
    shutil.copy(folder / "a.csv", folder / "copy.csv")
    (folder / "packed.csv").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    entries = [run("new", f'esxtop = "{name}.csv"', window) for name, window in (one, other)]
    runs, new, said = compared(folder, *entries)
    assert runs["recording"].to_list() == [1, 2, 3, 3]
    assert (new["runs"], new["ratio_low"], new["verdict"]) == (1, None, None)
    assert new["gap"] == "1 repetition: an interval needs 2 or more"
    assert new["mean"] == pytest.approx(runs["host_util_pct"][2:].mean())
    assert len(said) == 1
    assert "runs 3 and 4 are parts of one recording, not repetitions" in said[0]


def test_what_is_left_are_repetitions_of_recordings(folder):
    entries = [
        run("new", 'esxtop = "a.csv"', FIRST),
        run("new", 'esxtop = "b.csv"'),
        run("new", 'esxtop = "a.csv"', SECOND),
    ]
    runs, new, said = compared(folder, *entries)
    assert runs["recording"].to_list() == [1, 2, 3, 4, 3]
    assert (new["runs"], new["gap"]) == (2, None)
    used = runs["host_util_pct"]
    assert new["mean"] == pytest.approx(((used[2] + used[4]) / 2 + used[3]) / 2)
    assert "runs 3 and 5" in said[0]


def test_windows_with_other_labels_are_no_repetitions_and_are_let_be(folder):
    entries = [run("new", 'esxtop = "a.csv"', FIRST), run("newer", 'esxtop = "a.csv"', SECOND)]
    runs, _, said = compared(folder, *entries)
    assert (runs["recording"].to_list(), said) == ([1, 2, 3, 4], [])


@pytest.mark.search
def test_one_capture_over_several_runs_of_a_load_generator_is_several_runs(folder):
    entries = [
        run("new", 'esxtop = "a.csv"', 'fio = "a.json"', FIRST),
        run("new", 'esxtop = "a.csv"', 'fio = "b.json"', SECOND),
    ]
    for order in (entries, entries[::-1]):
        assert compared(folder, *order)[0]["recording"].to_list() == [1, 2, 3, 4]
    overlapping = [entries[0], entries[1].replace(SECOND.strip(), ACROSS.strip())]
    assert compared(folder, *overlapping)[0]["recording"].to_list() == [1, 2, 3, 3]


@pytest.mark.search
def test_one_result_under_two_captures_is_one_run(folder):
    shutil.copy(folder / "a.json", folder / "copy.json")
    entries = [
        run("new", 'esxtop = "a.csv"', 'fio = "a.json"'),
        run("new", 'esxtop = "b.csv"', 'fio = "copy.json"'),
    ]
    assert compared(folder, *entries)[0]["recording"].to_list() == [1, 2, 3, 3]


def test_tests_of_one_result_file_are_runs_of_their_own(folder):
    entries = [
        run("new", f"iometer = {{ file = '{studies.FORMATS / 'iometer-1.1.0.csv'}', test = {number} }}")
        for number in (1, 2, 2)
    ]
    assert compared(folder, *entries)[0]["recording"].to_list() == [1, 2, 3, 4, 4]


def test_figures_of_one_benchmark_file_count_once(folder):
    for name, value in (("n1", 100), ("n2", 101), ("v1", 90), ("v2", 91)):
        (folder / f"{name}.results.csv").write_text(f"# esxparse benchmark results\ntest,rate [ops/s]\nset,{value}\n")
    runs = [("native", "n1"), ("native", "n2"), ("vm", "v1"), ("vm", "v1"), ("vm", "v2")]
    text = 'baseline = { platform = "native" }\n' + "".join(
        f'[[run]]\nplatform = "{platform}"\nresults_csv = "{name}.results.csv"\n' for platform, name in runs
    )
    found = studies.computed(folder, text).virtual_to_native().collect().filter(platform="vm").row(0, named=True)
    assert (found["runs"], found["mean"]) == (2, 90.5)


def test_short_tables_of_the_same_figure_are_repetitions(folder):
    """A rate that is printed in three digits is the same every time: that makes no copies of the files."""
    for name in ("x", "y"):
        (folder / f"{name}.results.csv").write_text("# esxparse benchmark results\ntest,rate [Gbit/s]\nrx,9.40\n")
    entries = [run("new", f'results_csv = "{name}.results.csv"') for name in ("x", "y")]
    assert compared(folder, *entries)[0]["recording"].to_list() == [1, 2, 3, 4]


def test_a_file_that_two_patterns_find_is_not_added_up(folder):
    found = studies.computed(folder, '[[run]]\nfio = ["a.json", "a*.json"]\n[[run]]\nfio = ["a.json", "b.json"]\n')
    twice, two = studies.rows(found)
    assert (twice["iops"], twice["gap"]) == (
        None,
        "line 2: fio: a.json is matched twice and would count twice: name it once",
    )
    assert two["iops"] == pytest.approx(1.5 * (20_000 + 20_010) / 2)
