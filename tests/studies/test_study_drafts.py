"""Manifests written for a directory: each run has its files and labels, however they are called."""

from __future__ import annotations

import shutil

import pytest
import studies

from esxparse.studies import draft
from esxparse.studies.expand import expand
from esxparse.studies.study_file import load

KINDS = {
    "csv": lambda path: studies.write_capture(path, samples=3),
    "json": studies.write_fio,
    "txt": lambda path: shutil.copy(studies.FORMATS / "lscpu-host.txt", path),
    "xml": lambda path: shutil.copy(studies.FORMATS / "ribcl-power-readings.xml", path),
}


def drafted(folder, names):
    """Labels, repetition and files of each run of the manifest for these files."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        KINDS[path.suffix[1:]](path)
    path, other = draft.write(folder)
    assert other == []
    found = expand(load(path))
    assert not any(run.problems for run in found)
    return [
        (dict(run.labels), run.repetition, sorted(name for files in run.files.values() for name in files.names))
        for run in found
    ], path.read_text()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["native/run1.csv", "native/run2.csv", "vm/run1.csv"],
            [
                ({"name": "native"}, 1, ["native/run1.csv"]),
                ({"name": "native"}, 2, ["native/run2.csv"]),
                ({"name": "vm"}, 1, ["vm/run1.csv"]),
            ],
        ),
        (
            ["01.csv", "02.csv", "10.csv"],
            [({"number": 1}, 1, ["01.csv"]), ({"number": 2}, 1, ["02.csv"]), ({"number": 10}, 1, ["10.csv"])],
        ),
        (
            ["4vms/cap.csv", "4vms/out.json", "16vms/cap.csv", "16vms/out.json"],
            [
                ({"vms": 4}, 1, ["4vms/cap.csv", "4vms/out.json"]),
                ({"vms": 16}, 1, ["16vms/cap.csv", "16vms/out.json"]),
            ],
        ),
        (
            ["a-2.csv", "a-2.json", "a-4.csv", "a-4.json", "b-2.csv", "b-2.json", "host.txt"],
            [
                ({"name": "a", "number": 2}, 1, ["a-2.csv", "a-2.json", "host.txt"]),
                ({"name": "a", "number": 4}, 1, ["a-4.csv", "a-4.json", "host.txt"]),
                ({"name": "b", "number": 2}, 1, ["b-2.csv", "b-2.json", "host.txt"]),
            ],
        ),
        (
            ["esxtop/x1.csv", "esxtop/x2.csv", "fio/x1.json", "fio/x2.json"],
            [
                ({"x": 1}, 1, ["esxtop/x1.csv", "fio/x1.json"]),
                ({"x": 2}, 1, ["esxtop/x2.csv", "fio/x2.json"]),
            ],
        ),
        (
            ["1.csv", "1.json", "2.csv", "2.json", "3.json"],
            [
                ({"file": "*.csv", "number": 1}, 1, ["1.csv", "1.json"]),
                ({"file": "*.csv", "number": 2}, 1, ["2.csv", "2.json"]),
                ({"file": "3.json", "number": None}, 1, ["3.json"]),
            ],
        ),
        (
            ["a-1.csv", "a-1.json", "a-2.csv", "a-2.json", "b-1.csv", "b-1.json", "b-2.json"],
            [
                ({"file": "*-*", "name": "a", "number": 1}, 1, ["a-1.csv", "a-1.json"]),
                ({"file": "*-*", "name": "a", "number": 2}, 1, ["a-2.csv", "a-2.json"]),
                ({"file": "*-*", "name": "b", "number": 1}, 1, ["b-1.csv", "b-1.json"]),
                ({"file": "b-2", "name": None, "number": None}, 1, ["b-2.json"]),
            ],
        ),
        (
            ["1.csv", "2.csv", "1_2.csv", "2_2.csv"],
            [
                ({"file": "*.csv", "number": 1}, 1, ["1.csv"]),
                ({"file": "*.csv", "number": 2}, 1, ["2.csv"]),
                ({"file": "*_2.csv", "number": 1}, 1, ["1_2.csv"]),
                ({"file": "*_2.csv", "number": 2}, 1, ["2_2.csv"]),
            ],
        ),
    ],
    ids=lambda value: value[0] if isinstance(value[0], str) else "",
)
def test_each_run_of_a_draft_has_its_files_and_labels(tmp_path, names, expected):
    found, _ = drafted(tmp_path, names)

    def key(run):
        return run[2]

    assert sorted(found, key=key) == sorted(expected, key=key)


def test_a_draft_proposes_what_is_swept_and_what_is_compared(tmp_path):
    _, text = drafted(tmp_path, [f"{name}-{vms}vm.json" for name in ("old", "new") for vms in (1, 2, 16)])
    lines = text.splitlines()
    assert 'axis = ["vm"]' in lines
    assert "# the runs that the others are compared with; name is one of: new, old" in lines
    assert 'baseline = { name = "new" }' in lines
    assert lines[-1] == 'fio = "{name}-{vm}vm.json"'
    assert '# span = "fio"   # or: from start to end of the load generator\'s own run' in lines


def test_a_draft_without_words_leaves_the_baseline_to_the_reader(tmp_path):
    _, text = drafted(tmp_path, ["1.csv", "2.csv"])
    assert 'axis = ["number"]' in text
    assert "# baseline = " in text
    assert "\nbaseline = " not in text


def test_files_in_hidden_directories_are_none_of_a_study(tmp_path):
    for name in (".old/run1.csv", "native/.cache/run1.csv", "native/.run1.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        studies.write_capture(tmp_path / name, samples=3)
    runs, _ = drafted(tmp_path, ["native/run1.csv", "vm/run1.csv"])
    assert [files for _, _, files in runs] == [["native/run1.csv"], ["vm/run1.csv"]]
