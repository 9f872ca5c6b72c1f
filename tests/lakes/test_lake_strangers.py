"""Lakes with damaged entries, other people's files, and invalid questions."""

from __future__ import annotations

import json
import os
import re
import shutil
from datetime import timedelta
from pathlib import Path

import hosts
import pytest
from checkout import ROOT

import esxparse as ex
from esxparse.cli import main
from esxparse.errors import EsxparseError, MissingTableError
from esxparse.lakes import upkeep
from esxparse.lakes.store import Store

pytestmark = pytest.mark.needs("obstore")


@pytest.mark.parametrize("wrong", ["", '{"id": "x"}'])
def test_a_damaged_entry_is_replaced_by_force(tmp_path, wrong):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    entry = next((where / "catalogue").iterdir())
    before = entry.read_text()
    entry.write_text(wrong)
    told = []
    ex.lake(where).add([file], told=lambda _, made: told.append(made))
    assert told[0].endswith("add the capture again with --force")
    assert [one.skipped for one in ex.lake(where).add([file], replace=True)] == [False]
    assert hosts.unwritten(entry.read_text()) == hosts.unwritten(before)
    assert upkeep.compact(Store.of(where), timedelta(0)), "what nobody could name any more"


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


HOSTILE = {
    "path above": ("path", "../outside.parquet"),
    "path of here": ("path", "."),
    "absolute path": ("path", "{outside}"),
    "two slashes": ("path", "/{outside}"),
    "detour": ("path", "table=memory/../{path}"),
    "pattern": ("path", "table=*/{file}"),
    "file of another capture": ("path", "{folder}/00000000000000000000-ab.parquet"),
    "path is a number": ("path", 7),
    "date above": ("date", ".."),
    "id above": ("id", ".."),
    "id of another capture": ("id", "0" * 20),
    "host above": ("host", ".."),
    "table above": ("memory", "../memory"),
}
"""What of an entry is replaced, and by what."""


@pytest.mark.parametrize("name", HOSTILE)
def test_an_entry_that_leads_elsewhere_is_refused_and_nothing_else_is_touched(tmp_path, capfd, name):
    where, outside = tmp_path / "lake", tmp_path / "outside.parquet"
    ex.lake(where).add([hosts.capture(tmp_path)])
    (path,) = (where / "catalogue").iterdir()
    entry = json.loads(path.read_text())
    file = entry["tables"]["memory"]["files"][0]
    shutil.copy(where / file["path"], outside)
    folder, _, stem = file["path"].rpartition("/")
    what, wrong = HOSTILE[name]
    if isinstance(wrong, str):
        wrong = wrong.format(
            outside=outside, path=file["path"], folder=folder, file=f"{folder.partition('/')[2]}/{stem}"
        )
    if what == "memory":
        entry["tables"][wrong] = entry["tables"].pop(what)
    else:
        (file if what in file else entry)[what] = wrong
    path.write_text(json.dumps(entry))
    with pytest.raises(EsxparseError, match="`esxparse lake add` writes"):
        ex.lake(where)["memory"].collect()
    for words in (["ls"], ["sql", "SELECT * FROM memory"], ["verify"], ["compact"], ["rm", path.stem]):
        main(["lake", *words, "--lake", str(where)])
        said = capfd.readouterr()
        assert "Traceback" not in said.err
        assert len(said.err.splitlines()) <= 2
    assert outside.exists()
    assert not path.exists(), "taken out by its id"


WRONG = [
    (("layout",), []),
    (("layout",), "2026"),
    (("layout",), -1),
    (("esxparse",), {}),
    (("origin",), None),
    (("origin", "bytes"), "%s"),
    (("origin", "bytes"), 10**30),
    (("origin", "sha256"), 7),
    (("origin", "options"), "\ud800"),
    (("meta", "samples"), 10**30),
    (("meta", "release"), "\ud800"),
    (("meta", "objects"), {"vcpu": -1}),
    (("tables", "memory", "rows"), True),
    (("tables", "memory", "columns"), {"\ud800": "Float64"}),
    (("tables", "memory", "files", 0, "bytes"), "x"),
    (("tables", "memory", "files", 0, "bytes"), {}),
    (("tables", "memory", "files", 0, "rows"), None),
]
"""What of an entry is replaced by a value of another type, or by one that no table holds."""


@pytest.mark.parametrize(("keys", "wrong"), WRONG, ids=lambda part: ascii(part)[:40])
def test_an_entry_with_wrong_types_is_refused_in_a_line(tmp_path, capfd, keys, wrong):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    (path,) = (where / "catalogue").iterdir()
    entry = inner = json.loads(path.read_text())
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = wrong
    path.write_text(json.dumps(entry))
    with pytest.raises(EsxparseError, match="`esxparse lake add` writes"):
        ex.lake(where)["memory"].collect()
    questions = (["sql", "SELECT * FROM catalogue"], ["verify", "--content"], ["judge"], ["compact"])
    for words in (["ls"], *questions, ["rm", path.stem]):
        main(["lake", *words, "--lake", str(where)])
        assert len(capfd.readouterr().err.splitlines()) <= 2
    assert not path.exists()


def test_an_entry_without_an_end_is_listed(tmp_path, capsys):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    (path,) = (where / "catalogue").iterdir()
    entry = json.loads(path.read_text())
    del entry["meta"]["end"]
    path.write_text(json.dumps(entry))
    assert main(["lake", "ls", "--lake", str(where)]) == 0
    assert "no time" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["../outside.parquet", "/outside.parquet", "merged/../x.parquet", "."])
def test_a_merged_file_that_leads_elsewhere_is_left_out(tmp_path, path):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    of = next(one.path for one in Store.of(where).files("table=memory/"))
    (where / "merged" / "catalogue").mkdir(parents=True)
    wrong = [{"path": path, "of": [of], "bytes": 1, "sha256": ""}]
    (where / "merged" / "catalogue" / "ab12.json").write_text(json.dumps(wrong))
    assert ex.lake(where)["memory"].collect().height == 3


def test_queries_see_tables_of_the_lake_only_and_download_nothing(tmp_path):
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path)])
    lake = ex.lake(tmp_path / "lake")
    for name in ("whole", "words", "files", "base"):
        with pytest.raises(MissingTableError):
            lake.sql(f"SELECT * FROM {name}")  # noqa: S608  names of ours
    with pytest.raises(EsxparseError, match="requires the extension"):
        lake.sql("SELECT * FROM 'http://127.0.0.1:9/x.parquet'")


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


@pytest.mark.parametrize("shape", ["csv", "json"])
@pytest.mark.parametrize("value", ["'x'::BLOB", "[1::BIT]", "{'a': 'x'::BLOB}", "MAP {1: 2}"])
def test_an_answer_that_a_format_cannot_hold_is_one_line(tmp_path, capfd, shape, value):
    """Polars panics on some of them, and prints 60 lines."""
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path)])
    words = ["lake", "sql", f"SELECT {value} AS x", "--format", shape, "--lake", str(tmp_path / "lake")]
    assert main(words) == 1
    told = capfd.readouterr().err
    assert told.startswith("esxparse: column 'x' is of type ")
    assert told.endswith(f", which {shape.upper()} cannot hold: cast it to VARCHAR\n")
    assert main([*words[:2], "SELECT [1, 2] AS x, {'a': 1} AS y, NULL AS z", *words[3:]]) == (shape == "csv")


@pytest.mark.parametrize("name", ["a b", "a'b", 'a"b', "a;b"])
def test_a_table_with_an_odd_name_is_a_table(tmp_path, name):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    (path,) = (where / "catalogue").iterdir()
    entry = json.loads(path.read_text())
    entry["tables"][name] = entry["tables"].pop("memory")
    for file in entry["tables"][name]["files"]:
        named = file["path"].replace("table=memory", f"table={name}")
        (where / named).parent.mkdir(parents=True)
        (where / file["path"]).rename(where / named)
        file["path"] = named
    path.write_text(json.dumps(entry))
    quoted = name.replace('"', '""')
    assert ex.lake(where).sql(f'SELECT count(*) FROM "{quoted}"').item() == 3  # noqa: S608
    assert ex.lake(where)[name].collect().height == 3


def test_questions_are_asked_in_any_case_and_wrong_ones_are_one_line(tmp_path):
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path)])
    lake = ex.lake(tmp_path / "lake")
    assert lake.sql("select count(*) from VCPU, Catalogue").item() == 3
    assert "pct_ready" in lake.sql("DESCRIBE vcpu")["column_name"].to_list()
    for query in ("SELECT INTERVAL 1 DAY", "SELECT nope FROM vcpu"):
        with pytest.raises(EsxparseError, match=r"\ADuckDB: .*\Z") as error:
            lake.sql(query)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "why"), [("fio-normal.txt", "without a date"), ("sar-guest.txt", "a column 'host'")])
def test_what_a_lake_cannot_hold_is_said_and_leaves_nothing(tmp_path, name, why):
    told = []
    file = ROOT / "datasets" / "formats" / name
    ex.lake(tmp_path / "lake").add([file], host="lab", told=lambda _, made: told.append(made))
    assert why in told[0]
    assert told[0].endswith("use esxparse convert for this recording")
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_capture_without_rows_is_named(tmp_path):
    file = hosts.capture(tmp_path)
    file.write_text(file.read_text().splitlines()[0] + "\n")
    told = []
    ex.lake(tmp_path / "lake").add([file], told=lambda _, made: told.append(made))
    assert told[0].startswith(f"{file}: a header with 3 columns and no rows")
    with pytest.raises(EsxparseError, match=re.escape(str(file))):
        ex.convert(file, tmp_path / "converted")


def test_a_time_without_captures_has_empty_tables_and_a_wrong_table_is_told_the_nearest(tmp_path):
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path)])
    lake = ex.lake(tmp_path / "lake")
    assert lake.of(since="2030-01-01").sql("SELECT count(*), max(pct_ready) FROM vcpu").rows() == [(0, None)]
    with pytest.raises(MissingTableError, match=r"no table 'vcpus': did you mean 'vcpu'\? choose from catalogue, vcpu"):
        lake.of(since="2030-01-01").sql("SELECT * FROM vcpus")
    with pytest.raises(EsxparseError, match="the time ends before it begins"):
        lake.of(since="2026-03-03", until="2026-03-02")


def test_a_lake_may_be_a_file_url_and_says_what_stands_in_its_way(tmp_path):
    file = hosts.capture(tmp_path)
    where = (tmp_path / "new one" / "lake").as_uri()
    assert ex.lake(where).add([file])
    assert ex.lake(tmp_path / "new one" / "lake").sql("SELECT count(*) FROM vcpu").item() == 3
    told = []
    ex.lake(file / "lake").add([file], told=lambda _, made: told.append(made))
    assert told == [f"lake {file}/lake: Not a directory: a file is where a directory should be"]
    with pytest.raises(EsxparseError, match="there is no lake at"):
        _ = ex.lake(tmp_path / ("x" * 300)).captures


@pytest.mark.parametrize(
    "uri", ["", "s3://", __file__, "http://127.0.0.1/captures", "s3:/captures", "file:/srv/lake", "file://nas/srv/lake"]
)
def test_a_lake_that_is_nowhere_is_refused(uri):
    with pytest.raises(EsxparseError, match="is no lake: name a directory"):
        ex.lake(uri)


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("s3://captures/a#1", "cannot have '#' in it, as s3://captures/a#\\*\\*\\*: name another prefix"),
        ("s3://captures/a?b", r"cannot have '\?' in it"),
        ("s3://captures/a%20b", "cannot have '%' in it"),
        ("s3://captures/[1]", r"cannot have '\[' in it"),
        ("s3://captures/../b", "cannot have '..' in it"),
        ("file:///srv/a#1", "cannot have '#' in it, as file:///srv/a#\\*\\*\\*: write # as %23"),
        ("s3://captures/month=11", "'month=11' in the address 's3://captures/month=11' would be a column of the lake"),
        ("/srv/host=a/lake", "'host=a' in the address '/srv/host=a/lake' would be a column of the lake"),
    ],
)
def test_an_address_that_means_different_places_to_different_readers_is_refused(uri, why):
    with pytest.raises(EsxparseError, match=why):
        ex.lake(uri)


@pytest.mark.parametrize("name", ["a*", "a?", "[a]x", "a [1]"])
def test_a_directory_whose_name_is_a_pattern_is_itself(tmp_path, name):
    """Another that the pattern fits stands beside it."""
    where, file = tmp_path / name / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    converted = ex.convert(file, tmp_path / name / "converted").folder
    for other in ("ab", "ax", "a 1"):
        shutil.copytree(tmp_path / name, tmp_path / other)
    assert ex.lake(where).sql("SELECT count(*) FROM vcpu").item() == 3
    assert ex.lake(where)["vcpu"].collect().height == 3
    assert ex.open(converted)["vcpu"].collect().height == 3


def test_a_flipped_byte_is_found_by_content_and_mended_by_force(tmp_path, capsys):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    path = next(one["path"] for one in ex.lake(where).captures[0].files("vcpu"))
    before = (where / path).read_bytes()
    (where / path).write_bytes(before[:40] + bytes([before[40] ^ 1]) + before[41:])
    assert main(["lake", "verify", "--lake", str(where)]) == 0
    assert main(["lake", "verify", "--content", "--lake", str(where)]) == 1
    said = f"{path} is damaged: its content is not what was written; add {file} again with --force"
    assert said in capsys.readouterr().err
    ex.lake(where).add([file], replace=True)
    again = next(one["path"] for one in ex.lake(where).captures[0].files("vcpu"))
    assert (where / again).read_bytes() == before
    assert not (where / path).exists()
    assert main(["lake", "verify", "--content", "--lake", str(where)]) == 0


@pytest.mark.search
@pytest.mark.parametrize("how", ["missing", "cut"])
def test_a_file_that_cannot_be_read_stops_no_other_capture_and_is_said(tmp_path, capsys, how):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path, host) for host in ("esx-01", "esx-02")])
    path = where / next(one["path"] for one in ex.lake(where).captures[0].files("vcpu"))
    path.unlink() if how == "missing" else path.write_bytes(path.read_bytes()[:100])
    at = ["--lake", str(where)]
    assert main(["lake", "judge", *at]) == 1
    said = capsys.readouterr()
    assert "esx-02: " in said.out
    told = f"lake {where} cannot be read: "
    todo = f"esxparse lake verify --content --lake {where} shows which files are missing or damaged"
    assert told in said.err
    assert todo in said.err
    for words in (["sql", "SELECT sum(pct_ready) FROM vcpu"], ["report", "-o", str(tmp_path / "page.html")]):
        assert main(["lake", *words, *at]) == 1
        assert todo in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_entries_without_checksums_are_read_and_counted(tmp_path, capsys):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    entry = next((where / "catalogue").iterdir())
    told = json.loads(entry.read_text())
    for table in told["tables"].values():
        for one in table["files"]:
            del one["sha256"]
    entry.write_text(json.dumps(told))
    assert ex.lake(where)["vcpu"].collect().height == 3
    assert main(["lake", "verify", "--content", "--lake", str(where)]) == 0
    assert "2 files of an early version without a checksum" in capsys.readouterr().out


def test_a_damaged_entry_stops_questions_and_nothing_else(tmp_path, capsys):
    where = str(tmp_path / "lake")
    ex.lake(where).add([hosts.capture(tmp_path, "esx-01"), hosts.capture(tmp_path, "esx-02")])
    first = ex.lake(where).captures[0]
    (tmp_path / "lake" / first.path).write_text("{")
    assert main(["lake", "ls", "--lake", where]) == 1
    told = capsys.readouterr()
    assert f"{first.id}.json is not what `esxparse lake add` writes" in told.err
    assert "1 capture of 1 host" in told.out
    assert main(["lake", "verify", "--lake", where]) == 1
    assert first.id in capsys.readouterr().err
    assert upkeep.compact(Store.of(where), timedelta(0)) == [], "its files may be wanted"
    with pytest.raises(EsxparseError, match="esxparse lake verify lists all that is wrong"):
        ex.lake(where).sql("SELECT count(*) FROM vcpu")
    assert main(["lake", "rm", "", "--lake", where]) == 1
    assert "has 2 captures with the id ''" in capsys.readouterr().err
    assert main(["lake", "rm", first.id[:6], "--lake", where]) == 0
    assert capsys.readouterr().out == f"{first.id}: an entry that cannot be read is taken out\n"
    assert [one.host for one in ex.lake(where).captures] == ["esx-02"]
    assert upkeep.verify(Store.of(where)).left == ()


@pytest.mark.parametrize("change", [{"shape": "new"}, {"layout": 99}])
def test_an_entry_of_a_newer_version_is_no_damaged_one(tmp_path, change):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    entry = next((where / "catalogue").iterdir())
    entry.write_text(json.dumps(json.loads(entry.read_text()) | change))
    told = []
    ex.lake(where).add([file], replace=True, told=lambda _, made: told.append(made))
    assert "was written by a newer esxparse" in told[0]


def test_what_a_killed_writer_has_left_goes_while_the_capture_is_added_again(tmp_path):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    entry = ex.lake(where).captures[0]
    (where / entry.path).unlink()
    for path in entry.paths:
        os.utime(where / path, (0, 0))
    ex.lake(where).add([file])
    assert {one.path for one in upkeep.compact(Store.of(where))} == entry.paths
    assert upkeep.verify(Store.of(where), content=True).damaged == ()
    assert ex.lake(where)["vcpu"].collect().height == 3


def test_a_lake_that_is_still_to_be_made_is_empty(tmp_path):
    lake = ex.lake(tmp_path / "lake")
    assert not lake
    assert repr(lake) == f"Lake({tmp_path}/lake)\n  no captures"
    assert not (tmp_path / "lake").exists()
    lake.add([hosts.capture(tmp_path)])
    assert lake
    assert "1 capture of 1 host, 6 rows" in repr(lake)
    assert not lake.of(since="2030-01-01")


def test_a_lake_opened_as_a_recording_is_called_a_lake(tmp_path):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    with pytest.raises(ex.UnreadableError, match=re.escape(f"is a lake of captures: esxparse lake ls --lake {where}")):
        ex.open(where)


@pytest.mark.skipif(os.name == "nt", reason="file names are bytes on other systems")
def test_a_file_name_that_is_not_utf_8_is_listed(tmp_path, capsys):
    named = Path(os.fsdecode(bytes(tmp_path) + b"/night-\xff.csv"))
    hosts.capture(tmp_path).rename(named)
    where = str(tmp_path / "lake")
    ex.lake(where).add([named])
    (source,) = ex.lake(where).catalogue["source"]
    assert source.endswith(r"night-\xff.csv")
    assert ex.lake(where).sql("SELECT source FROM catalogue")["source"].to_list() == [source]
    assert main(["lake", "ls", "--lake", where]) == 0
    assert "Traceback" not in capsys.readouterr().err
