"""Lakes with damaged entries, other people's files, and questions that are none."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import hosts
import pytest

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.lakes import upkeep
from esxparse.lakes.store import Store

pytestmark = pytest.mark.needs("obstore")


@pytest.mark.parametrize("wrong", ["", '{"id": "x"}'])
def test_a_damaged_entry_is_replaced_by_force(tmp_path, wrong):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    entry = next((where / "catalogue").iterdir())
    before = entry.read_bytes()
    entry.write_text(wrong)
    told = []
    ex.lake(where).add([file], told=lambda _, made: told.append(made))
    assert told[0].endswith("add the capture again with --force")
    assert [one.skipped for one in ex.lake(where).add([file], replace=True)] == [False]
    assert entry.read_bytes() == before


def test_files_of_other_people_are_no_part_of_it_and_stay(tmp_path):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    others = [where / "catalogue" / "README.json", where / "table=vcpu" / "notes.txt", where / "judged" / "mine.csv"]
    for one in others:
        one.parent.mkdir(exist_ok=True)
        one.write_text("mine")
    assert len(ex.lake(where).captures) == 1
    assert upkeep.compact(Store.of(where), timedelta(0)) == []
    assert all(one.exists() for one in others)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "COPY (SELECT 1) TO 'out.csv'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'out.csv'",
        "SELECT 1; SELECT 2",
    ],
)
def test_a_question_changes_nothing(tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    ex.lake("lake").add([hosts.capture(tmp_path)])
    with pytest.raises(EsxparseError, match="one query, which reads and changes nothing"):
        ex.lake("lake").sql(query)
    assert not Path("out.csv").exists()


def test_questions_are_asked_in_any_case_and_wrong_ones_are_one_line(tmp_path):
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path)])
    lake = ex.lake(tmp_path / "lake")
    assert lake.sql("select count(*) from VCPU, Catalogue").item() == 3
    assert "pct_ready" in lake.sql("DESCRIBE vcpu")["column_name"].to_list()
    for query in ("SELECT INTERVAL 1 DAY", "SELECT nope FROM vcpu"):
        with pytest.raises(EsxparseError, match=r"\ADuckDB: .*\Z") as error:
            lake.sql(query)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("uri", ["", "s3://"])
def test_a_lake_that_is_nowhere_is_refused(uri):
    with pytest.raises(EsxparseError, match="is no lake: name a directory"):
        ex.lake(uri)
