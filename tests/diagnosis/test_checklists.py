"""Check lists: answers by runs and by people, and every condition over columns that studies have."""

from __future__ import annotations

import polars as pl
import pytest

from esxparse.diagnosis.checklists import LISTS, answered
from esxparse.errors import EsxparseError
from esxparse.studies.columns import COLUMNS


def answers(name, runs, given=None):
    return dict(answered(name, pl.DataFrame(runs), given).select("id", "answer").rows())


def test_all_runs_have_to_meet_a_condition():
    assert answers("vaio", {"vcpus_per_core": [0.5, 1.0, None]})["cpu_room"] == "yes"
    assert answers("vaio", {"vcpus_per_core": [0.5, 1.5, None]})["cpu_room"] == "no"
    for unknown in ({"vcpus_per_core": pl.Series([None, None], dtype=pl.Float64)}, {"iops": [1.0]}):
        assert answers("vaio", unknown)["cpu_room"] == "unknown"


def test_one_run_is_enough_for_a_measurement():
    runs = {"block_size_bytes": [4096.0, 8192.0], "iops": [9e4, 8e4], "mb_per_s": [370.0, 650.0]}
    found = answers("storage", runs)
    assert (found["most_iops"], found["most_mbps"], found["spindles"]) == ("yes", "no", "unknown")


def test_a_person_knows_better():
    found = answered("nfs", pl.DataFrame({"wire_unanswered": [3, 0]}), {"mounts": "yes", "protocol": "unknown"})
    assert found.select("id", "answer", "evidence").rows() == [
        ("mounts", "yes", "as answered"),
        ("export", "unknown", ""),
        ("protocol", "unknown", "as answered"),
    ]
    plain = answered("nfs", pl.DataFrame({"wire_unanswered": [3, 0]}))
    assert plain.row(2)[2:] == ("no", "wire_unanswered = 0 in 1 of 2 runs")


def test_conditions_use_columns_of_studies():
    for name, one in LISTS.items():
        for key, question in one["questions"].items():
            assert question["text"].endswith("?"), (name, key)
            if text := question.get("all") or question.get("any"):
                assert set(pl.sql_expr(text).meta.root_names()) <= set(COLUMNS), (name, key)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("nsf", None, "no check list 'nsf': did you mean 'nfs'"),
        ("nfs", {"mount": "yes"}, "check list nfs has no question 'mount': did you mean 'mounts'"),
        ("nfs", {"mounts": "perhaps"}, "answer 'perhaps' to mounts: write yes, no or unknown"),
    ],
)
def test_mistakes(name, given, told):
    with pytest.raises(EsxparseError) as caught:
        answered(name, pl.DataFrame({"iops": [1.0]}), given)
    assert told in str(caught.value)
