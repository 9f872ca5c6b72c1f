"""From a manifest to runs: labels crossed, patterns matched with files, repetitions counted."""

from __future__ import annotations

import pytest
import studies

from esxparse.studies import patterns
from esxparse.studies.expand import expand
from esxparse.studies.study_file import load


def runs(folder, text, names=()):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return expand(load(studies.manifest(folder, text)))


def told(run, role="esxtop"):
    return (*run.labels.values(), run.repetition, *(run.files[role].names if role in run.files else ()))


def test_forty_runs_are_one_line(tmp_path):
    counts = (1, 2, 4, 8, 16)
    names = [f"{name}-{vms}vm-{n}.csv.gz" for name in ("default", "null") for vms in counts for n in (1, 2, 3, 4)]
    found = runs(
        tmp_path,
        '[[run]]\nfilter = ["default", "null"]\nvms = [1, 2, 4, 8, 16]\nesxtop = "{filter}-{vms}vm-*.csv.gz"\n',
        names,
    )
    assert len(found) == 40
    assert told(found[5]) == ("default", 2, 2, "default-2vm-2.csv.gz")
    assert [run.number for run in found] == list(range(1, 41))
    assert all(not run.problems for run in found)


def test_labels_that_are_not_given_are_found_in_the_names_of_files(tmp_path):
    found = runs(
        tmp_path,
        '[[run]]\nesxtop = "{filter}-{vms}vm.csv"\niometer = "results/{filter}_{vms}.csv"\n',
        ["a-b-2vm.csv", "a-b-10vm.csv", "results/a-b_2.csv", "results/a-b_10.csv", "other.txt"],
    )
    assert [told(run) for run in found] == [("a-b", 2, 1, "a-b-2vm.csv"), ("a-b", 10, 1, "a-b-10vm.csv")]
    assert [told(run, "iometer")[-1] for run in found] == ["results/a-b_2.csv", "results/a-b_10.csv"]


def test_a_file_that_only_one_kind_has_is_a_run_with_a_gap(tmp_path):
    found = runs(
        tmp_path,
        '[[run]]\nesxtop = "{vms}.csv"\nfio = "{vms}.json"\n',
        ["1.csv", "1.json", "2.json", "4.csv"],
    )
    assert [run.labels["vms"] for run in found] == [1, 2, 4]
    assert [set(run.files) for run in found] == [{"esxtop", "fio"}, {"fio"}, {"esxtop"}]
    assert "esxtop = '{vms}.csv' matches no file" in found[1].problems[0].message
    assert found[1].problems[0].line == 2


def test_labels_are_numbers_only_where_all_of_them_are(tmp_path):
    found = runs(tmp_path, '[[run]]\nesxtop = "run-{size}.csv"\n', ["run-4.csv", "run-64k.csv"])
    assert [run.labels["size"] for run in found] == ["4", "64k"]


def test_a_run_is_called_by_the_labels_it_has(tmp_path):
    text = '[[run]]\nfilter = "null"\nesxtop = "a.csv"\n[[run]]\nvms = 4\nesxtop = "b.csv"\n'
    assert [str(run) for run in runs(tmp_path, text, ["a.csv", "b.csv"])] == ["run 1 (filter=null)", "run 2 (vms=4)"]


def test_wildcards_of_two_kinds_of_file_stand_for_the_same_text(tmp_path):
    found = runs(
        tmp_path,
        '[[run]]\nesxtop = "*/esxtop.csv"\nfio = "*/fio.json"\n',
        ["r10/esxtop.csv", "r10/fio.json", "r2/esxtop.csv", "r2/fio.json"],
    )
    assert [(run.repetition, run.files["fio"].names) for run in found] == [
        (1, ("r2/fio.json",)),
        (2, ("r10/fio.json",)),
    ]


def test_all_files_of_a_list_belong_to_one_run(tmp_path):
    names = ["2/vm-1.json", "2/vm-2.json", "4/vm-1.json"]
    found = runs(tmp_path, '[[run]]\nfio = ["{vms}/vm-*.json"]\n', names)
    assert [(run.labels["vms"], run.files["fio"].names) for run in found] == [
        (2, tuple(names[:2])),
        (4, tuple(names[2:])),
    ]


def test_a_repetition_in_the_name_is_no_label(tmp_path):
    found = runs(tmp_path, '[[run]]\nvms = 2\nesxtop = "{vms}-r{repetition}.csv"\n', ["2-r7.csv", "2-r3.csv"])
    assert [(dict(run.labels), run.repetition) for run in found] == [({"vms": 2}, 3), ({"vms": 2}, 7)]


def test_rows_with_the_same_labels_are_repetitions_whatever_line_they_are_from(tmp_path):
    text = '[[run]]\nvms = [1, 2]\nesxtop = "a{vms}.csv"\n[[run]]\nvms = 2\nesxtop = "b.csv"\n'
    found = runs(tmp_path, text, ["a1.csv", "a2.csv", "b.csv"])
    assert [told(run) for run in found] == [(1, 1, "a1.csv"), (2, 1, "a2.csv"), (2, 2, "b.csv")]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('esxtop = "gone.csv"', "esxtop: there is no file gone.csv"),
        ('esxtop = "gone-*.csv"', "esxtop = 'gone-*.csv' matches no file"),
        ('esxtop = "{vms:>03d}x{.csv"', "pattern '{vms:>03d}x{.csv': "),
        ('esxtop = "{0}.csv"', "{0} is not a valid label name"),
        ('vms = "many"\nesxtop = "{vms:02d}.csv"', "vms is 'many': Unknown format code 'd'"),
        ('esxtop = ["?.csv"]', "esxtop = '?.csv' finds 2 files for one run"),
    ],
)
def test_a_pattern_that_finds_nothing_or_too_much_is_one_clear_line(tmp_path, entry, message):
    text = f"[[run]]\n{entry}\n"
    if "?" in entry:
        text = text.replace("esxtop", "fio").replace('["?.csv"]', '"{x}.csv"') + 'hardware = ["?.csv"]\n'
        found = runs(tmp_path, text, ["1.csv", "2.csv"])
        assert all(not run.problems for run in found)
        return
    (run,) = runs(tmp_path, text, ["1.csv"])
    assert message in run.problems[0].message
    assert run.files == {}


def test_braces_and_brackets_of_file_names_are_meant_as_they_are(tmp_path):
    found = runs(tmp_path, '[[run]]\nesxtop = "[a]{{{vms}}}.csv"\n', ["[a]{4}.csv", "a{4}.csv"])
    assert [told(run) for run in found] == [(4, 1, "[a]{4}.csv")]


def test_a_placeholder_met_twice_is_one_value(tmp_path):
    found = patterns.matches("{vms}/{vms}.csv", tmp_path)
    assert found == []
    for name in ("1/1.csv", "1/2.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [known for known, _ in patterns.matches("{vms}/{vms}.csv", tmp_path)] == [{"vms": "1"}]
