"""Small captures of one host and day, merged: the same answers from fewer files, whatever is added and taken out."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import hosts
import pytest
from lake_races import raced
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.cli import main
from esxparse.lakes import merged, upkeep
from esxparse.lakes.store import Store

if TYPE_CHECKING:
    import polars as pl

pytestmark = pytest.mark.needs("obstore")
HOURS = 4


def hourly(folder: Path, host: str, hour: int, more: str = "") -> Path:
    """The capture of an hour of a day."""
    made = hosts.capture(folder, host, (hour, hour + 1, hour + 2), more=more)
    text = made.read_text().replace(" 08:00", f" 1{hour}:00")
    made.unlink()
    file = folder / f"{host}-{hour}.csv"
    file.write_text(text)
    return file


@pytest.fixture
def small(tmp_path):
    """A lake with the hours of two hosts."""
    files = [hourly(tmp_path, host, hour) for host in ("esx-01", "esx-02") for hour in range(HOURS)]
    ex.lake(tmp_path / "lake").add(files)
    return str(tmp_path / "lake")


def compact(where: str, *words: str) -> int:
    return main(["lake", "compact", "--lake", where, *words])


def rows(where: str, **span: str) -> pl.DataFrame:
    return ex.lake(where).of("esx-01", **span)["vcpu"].collect()


def hidden(where: str, table: str) -> None:
    """Moves the captures' own files of a table away."""
    Path(where, f"table={table}").rename(Path(where, "away"))


def test_a_question_takes_merged_files_where_it_asks_for_all_they_stand_for(small, capsys):
    lake = ex.lake(small)
    before, memory = lake["vcpu"].collect(), lake["memory"].collect()
    count = "SELECT host, date, count(*), sum(pct_ready) FROM vcpu GROUP BY ALL ORDER BY ALL"
    said = lake.sql(count)
    assert compact(small, "--merge") == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("16 files of 2 days of hosts are merged in 4, ")
    lake = ex.lake(small)
    assert_frame_equal(lake["vcpu"].collect(), before)
    assert_frame_equal(lake["memory"].collect(), memory)
    assert rows(small, since="2026-03-02T13:00").height == 3
    hidden(small, "vcpu")
    assert_frame_equal(ex.lake(small)["vcpu"].collect(), before)
    assert_frame_equal(ex.lake(small).sql(count), said)
    with pytest.raises(FileNotFoundError, match="table=vcpu/date=2026-03-02/host=esx-01"):
        rows(small, since="2026-03-02T13:00")


def test_what_is_taken_out_added_or_replaced_is_so_in_every_answer(small, tmp_path, capsys):
    assert compact(small, "--merge") == 0
    key = ex.lake(small).of("esx-01").captures[1].id
    assert main(["lake", "rm", key, "--lake", small]) == 0
    assert rows(small)["pct_ready"].to_list() == [0, 1, 2, 2, 3, 4, 3, 4, 5]
    ex.lake(small).add([hourly(tmp_path, "esx-01", 5)])
    ex.lake(small).add([tmp_path / "esx-01-1.csv"])
    ex.lake(small).add([tmp_path / "esx-01-0.csv"], every="10s", replace=True)
    wanted = [0, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 5, 6, 7]
    assert rows(small)["pct_ready"].to_list() == wanted
    assert compact(small, "--older", "0", "--merge") == 0
    assert "10 files of 1 day of hosts are merged in 2" in capsys.readouterr().out
    assert rows(small)["pct_ready"].to_list() == wanted
    assert compact(small, "--older", "0", "--merge") == 0
    assert "0 files of 0 days of hosts" in capsys.readouterr().out
    assert compact(small, "--older", "0") == 0
    state = upkeep.verify(Store.of(small), content=True)
    assert (state.damaged, state.spoilt, state.left, len(state.merged)) == ((), (), (), 4)
    hidden(small, "vcpu")
    assert rows(small)["pct_ready"].to_list() == wanted


@pytest.mark.search
def test_what_stands_for_less_goes_and_all_goes_when_asked(small, tmp_path):
    assert compact(small, "--merge", "-q") == 0
    first = set(merged.load(Store.of(small)))
    ex.lake(small).add([hourly(tmp_path, "esx-02", 6)])
    assert compact(small, "--merge", "-q") == 0
    assert len(merged.load(Store.of(small))) == 3
    assert len(upkeep.compact(Store.of(small), timedelta(0))) == 3
    assert len(first & merged.load(Store.of(small)).keys()) == 1
    assert compact(small, "--no-merge", "-q") == 0
    assert not [one for one in Path(small, "merged").rglob("*") if one.is_file()]
    assert ex.lake(small)["vcpu"].collect().height == 27


def test_captures_that_differ_in_columns_or_go_past_midnight_stay_apart(tmp_path):
    where = str(tmp_path / "lake")
    files = [hourly(tmp_path, "esx-01", hour, more="% CoStop" if hour > 1 else "") for hour in range(HOURS)]
    ex.lake(where).add([*files, hosts.over_midnight(tmp_path)])
    before = ex.lake(where)["vcpu"].sort("time").collect()
    assert compact(where, "--merge", "-q") == 0
    made = [one for some in merged.load(Store.of(where)).values() for one in some]
    assert sorted((one.table, len(one.of)) for one in made) == [("memory", 5), ("vcpu", 2), ("vcpu", 3)]
    assert_frame_equal(ex.lake(where)["vcpu"].sort("time").collect(), before)


def test_a_merge_that_was_killed_counts_for_nothing_and_goes(small):
    store = Store.of(small)
    assert compact(small, "--merge", "-q") == 0
    for path in merged.load(store):
        (Path(small) / path).unlink()
    assert len(upkeep.verify(store).left) == 4
    assert compact(small, "--merge", "-q") == 0
    assert len(upkeep.verify(store).left) == 4
    assert ex.lake(small)["vcpu"].collect().height == 24
    assert len(upkeep.compact(store, timedelta(0))) == 4
    assert upkeep.verify(store, content=True).spoilt == ()


@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_a_damaged_merged_file_is_found_and_mended(small, capsys, how):
    assert compact(small, "--merge", "-q") == 0
    file = next(Path(small, "merged").rglob("*.parquet"))
    content = file.read_bytes()
    file.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:] if how == "flipped" else content[:40])
    if how == "gone":
        file.unlink()
    assert main(["lake", "verify", "--lake", small, "--content"]) == 1
    said = capsys.readouterr().err
    assert str(file.relative_to(small)) in said
    assert said.endswith("; take merged files away with esxparse lake compact --no-merge\n")
    assert compact(small, "--no-merge", "-q") == compact(small, "--merge", "-q") == 0
    assert main(["lake", "verify", "--lake", small, "--content"]) == 0
    assert "4 merged files, 0.00 GB, instead of small ones" in capsys.readouterr().out


def test_a_list_of_merged_files_that_cannot_be_read_costs_no_answer(small):
    assert compact(small, "--merge", "-q") == 0
    for one, text in zip(Path(small, "merged", "catalogue").iterdir(), ("[{", '[{"path": 1}]'), strict=True):
        one.write_text(text)
        os.utime(one, (0, 0))
    assert ex.lake(small)["vcpu"].collect().height == 24
    assert len(upkeep.compact(Store.of(small))) == 2


@pytest.mark.search
@pytest.mark.parametrize("rounds", [8, pytest.param(75, marks=pytest.mark.search)])
def test_whoever_merges_while_captures_come_and_go_answers_are_right(small, tmp_path, rounds):
    file = str(tmp_path / "esx-01-0.csv")
    store = Store.of(small)
    for number in raced(["merge", "merge", "rm", "force", "compact"], small, file, rounds):
        state = upkeep.verify(store, content=True)
        assert (state.damaged, state.spoilt) == ((), ()), number
        lake = ex.lake(small)
        assert lake["vcpu"].collect().height == 3 * len(lake.captures)
        ex.lake(small).add([tmp_path / f"{host}-{hour}.csv" for host in ("esx-01", "esx-02") for hour in range(HOURS)])
