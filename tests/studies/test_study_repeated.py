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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("repeated")
    for place, name in enumerate(("a", "b", "c", "d")):
        studies.write_capture(made / f"{name}.csv", samples=31, seed=place + 1)
        studies.write_fio(made / f"{name}.json", 20_000 + 10 * place)
    (made / "sub").mkdir()
    shutil.copy(made / "a.csv", made / "copy.csv")
    (made / "packed.csv").write_bytes(gzip.compress((made / "a.csv").read_bytes()))
    return made


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


KINDS = {
    "overlapping": [("a", FIRST), ("a", ACROSS)],
    "adjacent": [("a", FIRST), ("a", SECOND)],
    "the same file twice": [("a", ""), ("a", "")],
    "a copy": [("a", ""), ("copy", "")],
    "adjacent windows of copies": [("a", FIRST), ("copy", SECOND)],
    "another way to the same file": [("a", ""), ("sub/../a", "")],
    "a copy, packed": [("a", ""), ("packed", "")],
    "parts and another": [("a", FIRST), ("b", ""), ("a", SECOND)],
    "one label": [("a", FIRST)],
    "another label": [("a", SECOND)],
}
"""Runs of one study by their label: the capture and window of each."""


@pytest.fixture(scope="module")
def together(folder):
    """Runs of that study, its comparison with the baseline, and what it says of repetitions."""
    entries = [run(kind, f'esxtop = "{name}.csv"', window) for kind, runs in KINDS.items() for name, window in runs]
    found = studies.computed(folder, BASE + OLD + "".join(entries))
    said = [text for text in studies.warnings(found) if "parts of one recording" in text]
    return found.runs.collect(), found.compare("host_util_pct").collect(), said


def labelled(together, kind):
    runs, compared, _ = together
    return runs.filter(kind=kind), compared.filter(kind=kind).row(0, named=True)


@pytest.mark.parametrize("kind", [kind for kind, runs in KINDS.items() if len(runs) == 2])
def test_parts_and_copies_of_one_capture_are_one_run(together, kind):
    runs, row = labelled(together, kind)
    assert runs["recording"].n_unique() == 1
    assert (row["runs"], row["ratio_low"], row["verdict"]) == (1, None, None)
    assert row["gap"] == "1 repetition: an interval needs 2 or more"
    assert row["mean"] == pytest.approx(runs["host_util_pct"].mean())
    numbers = " and ".join(map(str, runs["run"]))
    (text,) = [text for text in together[2] if f"runs {numbers} are" in text]
    assert "are parts of one recording, not repetitions" in text


def test_what_is_left_are_repetitions_of_recordings(together):
    runs, row = labelled(together, "parts and another")
    first, other, second = runs["recording"]
    assert first == second != other
    assert (row["runs"], row["gap"]) == (2, None)
    used = runs["host_util_pct"]
    assert row["mean"] == pytest.approx(((used[0] + used[2]) / 2 + used[1]) / 2)
    numbers = f"runs {runs['run'][0]} and {runs['run'][2]}"
    assert [text for text in together[2] if numbers in text]


def test_windows_with_other_labels_are_no_repetitions_and_are_let_be(together):
    runs, _, said = together
    one, other = (runs.filter(kind=kind) for kind in ("one label", "another label"))
    assert one["recording"].item() != other["recording"].item()
    assert len(said) == sum(len(entries) > 1 for entries in KINDS.values())


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
