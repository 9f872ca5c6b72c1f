"""Captures of many hosts as one lake, in a directory and on an S3 server."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path

import hosts
import polars as pl
import pyarrow.parquet as pq
import pytest
from lake_races import raced
from polars.testing import assert_frame_equal
from s3_server import s3

import esxparse as ex
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.lakes import entries, judging, upkeep
from esxparse.lakes.store import Store

pytestmark = pytest.mark.needs("obstore")


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("moto")
    with s3() as made:
        yield made


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.needs("moto"))])
def where(request, tmp_path, monkeypatch):
    """The address of a new lake."""
    if request.param == "directory":
        return str(tmp_path / "lake")
    server = request.getfixturevalue("server")
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)
    return f"s3://lake/{tmp_path.name}"


def state(uri):
    """Ids and hosts of a lake, and its files with their sizes."""
    store = Store.of(uri)
    files = sorted((one.path, one.size) for one in store.files(""))
    return [(one.id, one.host) for one in ex.lake(uri).captures], files


@pytest.mark.search
def test_tables_of_several_hosts_are_one(where, tmp_path):
    made = ex.lake(where).add([hosts.capture(tmp_path, "esx-01"), hosts.capture(tmp_path, "esx-02", (5, 6))])
    assert [(one.host, one.skipped) for one in made] == [("esx-01", False), ("esx-02", False)]
    lake = ex.lake(where)
    assert list(lake) == ["vcpu", "memory"]
    rows = lake["vcpu"].sort("host", "time").collect()
    assert rows["pct_ready"].to_list() == [1, 2, 3, 5, 6]
    assert rows["host"].to_list() == ["esx-01"] * 3 + ["esx-02"] * 2
    assert rows["date"].unique().to_list() == [date(2026, 3, 2)]
    assert lake.of("esx-02")["vcpu"].collect()["pct_ready"].to_list() == [5, 6]
    found = lake.sql(
        "SELECT host, max(pct_ready) AS most FROM vcpu WHERE \"date\" = DATE '2026-03-02' GROUP BY host ORDER BY host"
    )
    assert found.rows() == [("esx-01", 3), ("esx-02", 6)]
    assert lake.sql("SELECT count(*) FROM catalogue").item() == 2


@pytest.mark.search
def test_a_capture_comes_back_as_it_was(where, busy_host, busy_host_file):
    ex.lake(where).add([busy_host_file])
    lake = ex.lake(where)
    back = lake.recording(lake.captures[0].id[:6])
    assert (back.format, dict(back.meta), back.notes) == (busy_host.format, dict(busy_host.meta), busy_host.notes)
    for table in ("vcpu", "memory", "network_port"):
        keys = ["time", "instance"]
        assert_frame_equal(back[table].sort(keys).collect(), busy_host[table].sort(keys).collect(), check_exact=True)
    assert [one.trouble for one in ex.diagnose(back)] == [one.trouble for one in ex.diagnose(busy_host)]


def test_adding_twice_changes_nothing_however_it_is_packed(where, tmp_path):
    file = hosts.capture(tmp_path)
    packed = tmp_path / "other name.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    ex.lake(where).add([file])
    before = state(where)
    made = ex.lake(where).add([packed, file])
    assert [one.skipped for one in made] == [True, True]
    assert state(where) == before


def test_two_writers_of_one_capture_leave_one_copy(where, tmp_path):
    file = hosts.capture(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: ex.lake(where).add([file])[0], range(4)))
    assert len({one.id for one in made}) == 1
    captures, files = state(where)
    assert len(captures) == 1
    assert len(files) == 3
    assert ex.lake(where)["vcpu"].collect()["pct_ready"].to_list() == [1, 2, 3]
    assert not upkeep.verify(Store.of(where)).left


@pytest.mark.search
@pytest.mark.parametrize(
    ("whats", "rounds"),
    [
        ("force add rm rm", 10),
        *(pytest.param(one, 100, marks=pytest.mark.search) for one in ("add rm", "force force rm", "force add rm rm")),
    ],
)
def test_whoever_adds_and_takes_out_one_capture_at_once_it_is_there_whole_or_not_at_all(where, tmp_path, whats, rounds):
    file = str(hosts.capture(tmp_path))
    ex.lake(where).add([file])
    store = Store.of(where)
    for number in raced(whats.split(), where, file, rounds):
        found = upkeep.verify(store, content=True) if store.files("catalogue/") else None
        assert found is None or not (found.damaged or found.unreadable), number
        assert found is None or ex.lake(where)["vcpu"].collect()["pct_ready"].to_list() == [1, 2, 3]
        ex.lake(where).add([file])


def test_a_capture_that_goes_past_midnight_has_two_dates(where, tmp_path):
    ex.lake(where).add([hosts.over_midnight(tmp_path)])
    lake = ex.lake(where)
    dates = lake["vcpu"].group_by("date").len().sort("date").collect()
    assert dates.rows() == [(date(2026, 3, 2), 12), (date(2026, 3, 3), 12)]
    assert lake["vcpu"].filter(pl.col("date") != pl.col("time").dt.date()).collect().is_empty()
    second = lake.of(since="2026-03-03")
    assert [Path(one).parts[-3] for one in second.files(lake.captures[0], "vcpu")] == ["date=2026-03-03"]
    assert second["vcpu"].collect()["pct_ready"].to_list() == list(range(12, 24))
    assert lake.of(until="2026-03-02T23:59:30").sql("SELECT count(*) FROM vcpu").item() == 6
    rec = lake.recording(lake.captures[0].id)
    assert rec["vcpu"].collect()["pct_ready"].to_list() == list(range(24))


def test_releases_differ_in_columns_and_what_is_missing_is_null(tmp_path):
    where = tmp_path / "lake"
    files = [hosts.capture(tmp_path, "esx-01"), hosts.capture(tmp_path, "esx-02", more="% CoStop")]
    ex.lake(where).add(files)
    rows = ex.lake(where)["vcpu"].sort("host", "time").collect()
    assert rows["pct_costop"].to_list() == [None] * 3 + [4.0] * 3
    assert rows.columns[-2:] == ["date", "host"]
    assert ex.lake(where).sql("SELECT count(pct_costop), count(*) FROM vcpu").rows() == [(3, 6)]


def test_files_say_the_unit_of_their_columns_and_the_path_its_partition(tmp_path):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    (file,) = (where / "table=vcpu" / "date=2026-03-02" / "host=esx-01").iterdir()
    assert pq.ParquetFile(file).schema_arrow.field("pct_ready").metadata[b"unit"] == b"% of one core"
    told = json.loads(next((where / "catalogue").iterdir()).read_text())
    assert told["tables"]["vcpu"]["files"][0]["path"] == str(file.relative_to(where))


@pytest.mark.needs("daft", "duckdb")
def test_other_engines_read_it_as_plain_parquet(tmp_path):
    daft, duckdb = pytest.importorskip("daft"), pytest.importorskip("duckdb")
    where = tmp_path / "lake"
    first, second = (
        hosts.capture(tmp_path, "esx-01", (1, 2)),
        hosts.capture(tmp_path, "esx-02", (2, 4), more="% CoStop"),
    )
    ex.lake(where).add([first, second])
    glob = f"{where}/table=vcpu/**/*.parquet"
    rows = duckdb.read_parquet(glob, hive_partitioning=True, union_by_name=True)
    assert rows.aggregate("count(pct_costop)").fetchall() == [(2,)]
    rows = rows.aggregate("host, max(pct_ready)", "host").order("host")
    assert rows.fetchall() == [("esx-01", 2), ("esx-02", 4)]
    found = daft.read_parquet(glob, hive_partitioning=True).groupby("host").max("pct_ready").sort("host").to_pydict()
    assert found == {"host": ["esx-01", "esx-02"], "pct_ready": [2.0, 4.0]}
    text, number = daft.DataType.string(), daft.DataType.float64()
    schema = {"host": text, "pct_ready": number, "pct_costop": number}
    named = daft.read_parquet(glob, hive_partitioning=True, schema=schema).sum("pct_costop").to_pydict()
    assert named == {"pct_costop": [8.0]}
    files = (where / "table=vcpu").rglob("*.parquet")
    plain = pl.concat([pl.scan_parquet(one, hive_partitioning=True) for one in files], how="diagonal_relaxed")
    assert plain.select(pl.col("pct_costop").count(), pl.col("host").n_unique()).collect().row(0) == (2, 2)


@pytest.mark.search
@pytest.mark.needs("moto")
def test_only_the_columns_and_partitions_of_a_query_are_read(server, monkeypatch, tmp_path):
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)
    files = [hosts.wide(tmp_path, f"esx-0{place}") for place in range(3)]
    ex.lake("s3://lake/bytes").add(files)
    options = {name.lower().replace("aws_allow", "allow"): value for name, value in server.env.items()}
    for name in server.env:
        monkeypatch.delenv(name)
    lake = ex.lake("s3://lake/bytes", **options)
    whole = sum(one["bytes"] for entry in lake.captures for one in entry.files("vcpu"))
    assert len(lake.captures) == 3
    table = lake["vcpu"]
    server.sent.clear()
    wanted = table.filter(pl.col("host") == "esx-01").select(pl.col("pct_used").quantile(0.95))
    assert wanted.collect().item() == pytest.approx(95, abs=1)
    assert {path.split("host=")[1].split("/")[0] for path, _ in server.sent} == {"esx-01"}
    # Polars begins with the last 256 KiB of a file, where its index is.
    (_, index), *columns = server.sent
    assert index == 256 << 10
    assert sum(size for _, size in columns) < whole / len(files) / 6


@pytest.mark.search
def test_writers_that_were_killed_leave_nothing_that_counts(where, tmp_path, monkeypatch):
    file = hosts.capture(tmp_path)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(entries.Entry, "encoded", killed)
        with pytest.raises(KeyboardInterrupt):
            ex.lake(where).add([file])
    with pytest.raises(EsxparseError, match="there is no lake at"):
        _ = ex.lake(where).captures
    ex.lake(where).add([hosts.capture(tmp_path, "esx-02")])
    lake = ex.lake(where)
    assert lake["vcpu"].collect()["host"].unique().to_list() == ["esx-02"]
    store = Store.of(where)
    assert {one.path.split("host=")[1].split("/")[0] for one in upkeep.verify(store).left} == {"esx-01"}
    # They may be those of a writer that is still at it.
    assert upkeep.compact(store) == []
    assert len(upkeep.compact(store, timedelta(0))) == 2
    assert upkeep.verify(store).left == ()
    ex.lake(where).add([file])
    assert ex.lake(where)["vcpu"].select(pl.len()).collect().item() == 6


def test_what_a_killed_writer_has_left_damaged_is_written_again(tmp_path):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    entry = ex.lake(where).captures[0]
    for one in entry.files():
        (where / one["path"]).write_bytes(b"PAR1")
    (where / entry.path).unlink()
    ex.lake(where).add([file])
    assert ex.lake(where)["vcpu"].collect()["pct_ready"].to_list() == [1, 2, 3]


def test_files_that_are_missing_or_cut_are_found(tmp_path, capsys):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    assert main(["lake", "verify", "--lake", str(where)]) == 0
    first, second = ex.lake(where).captures[0].files()
    (where / first["path"]).unlink()
    with (where / second["path"]).open("r+b") as cut:
        cut.truncate(100)
    assert main(["lake", "verify", "--lake", str(where)]) == 1
    said = capsys.readouterr().err
    assert f"{first['path']} is missing; add" in said
    assert "has 100 bytes of" in said
    assert main(["lake", "add", "--force", "--lake", str(where), str(tmp_path / "esx-01-03022026.csv")]) == 0
    assert main(["lake", "verify", "--lake", str(where)]) == 0


def test_what_is_taken_out_is_gone(where, tmp_path):
    ex.lake(where).add([hosts.capture(tmp_path, "esx-01"), hosts.capture(tmp_path, "esx-02")])
    lake = ex.lake(where)
    upkeep.remove(lake.store, [lake.captures[0]])
    captures, files = state(where)
    assert [host for _, host in captures] == ["esx-02"]
    assert not any("esx-01" in path for path, _ in files)
    assert len(lake.captures) == 2, "a lake that is open stays as it was"


@pytest.mark.search
def test_captures_of_one_time_are_one_warning_however_many(tmp_path, capsys):
    where = str(tmp_path / "lake")
    first = hosts.capture(tmp_path, "localhost").read_text()
    files = [tmp_path / f"{number}.csv" for number in range(12)]
    for number, file in enumerate(files):
        file.write_text(first.replace('"1"', f'"{number}"'))
    assert main(["lake", "add", *map(str, files), "--lake", where, "-q"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "11 pairs in all: esxparse lake verify lists them" in err
    assert main(["lake", "verify", "--lake", where]) == 0
    assert capsys.readouterr().out.count("cover the same time") == 11


def test_a_host_is_named_where_captures_do_not_tell_them_apart(tmp_path, capsys):
    where = str(tmp_path / "lake")
    first, second = hosts.capture(tmp_path, "localhost"), tmp_path / "second.csv"
    second.write_text(first.read_text().replace('"1"', '"9"'))
    assert main(["lake", "add", str(first), str(second), "--lake", where]) == 0
    assert (
        "cover the same time of host localhost: if these are two hosts, set --host for one of them"
        in capsys.readouterr().err
    )
    assert main(["lake", "add", str(second), "--lake", where, "--host", "esx-09"]) == 1
    assert "is in the lake already, as of host localhost" in capsys.readouterr().err
    assert main(["lake", "add", str(second), "--lake", where, "--host", "esx-09", "--force"]) == 0
    assert {one.host for one in ex.lake(where).captures} == {"localhost", "esx-09"}
    assert not any("localhost" in path and "second" in path for path, _ in state(where)[1])
    assert upkeep.verify(Store.of(where)).left == ()


def test_each_capture_that_covers_time_of_an_earlier_one_is_pointed_out(tmp_path):
    """A whole day, and hours of it that do not touch each other."""
    where = tmp_path / "lake"
    made = [hosts.capture(tmp_path, ready=tuple(range(24)))]
    header, *rows = made[0].read_text().splitlines(keepends=True)
    for number, some in enumerate((rows[2:4], rows[6:9], rows[12:20])):
        made.append(tmp_path / f"hour-{number}.csv")
        made[-1].write_text("".join([header, *some]))
    ex.lake(where).add(made)
    told = entries.overlaps(ex.lake(where).captures)
    assert [(Path(one.source).name, Path(two.source).name) for one, two in told] == [
        (made[0].name, f"hour-{number}.csv") for number in range(3)
    ]


@pytest.mark.parametrize("host", ["a b", "../up", "x/y", "", "-", ".", "__HIVE_DEFAULT_PARTITION__"])
def test_a_host_that_is_no_directory_is_refused(tmp_path, host):
    with pytest.raises(EsxparseError, match=r"name the host of|does not name its host"):
        entries.host_of(host or None, None, "night.csv")
    assert not (tmp_path / "lake").exists()


def test_what_fails_stops_no_other_and_is_said(tmp_path, capsys):
    where = str(tmp_path / "lake")
    folder = tmp_path / "night"
    folder.mkdir()
    hosts.capture(folder, "esx-01")
    (folder / "esx-02.csv").write_text("<html>404</html>")
    (folder / "readme.txt").write_text("notes of the night")
    assert main(["lake", "add", str(folder), "--lake", where]) == 1
    told = capsys.readouterr()
    assert "esx-02.csv is not in a format esxparse reads" in told.err
    assert "1 file left out, in no format that esxparse reads: " in told.out
    assert main(["lake", "ls", "--lake", where]) == 0
    assert "1 capture of 1 host, 6 rows" in capsys.readouterr().out


def test_other_options_are_no_silent_second_copy(tmp_path):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    told = []
    ex.lake(where).add([file], every="10s", told=lambda _, made: told.append(made))
    assert "is in the lake already, read with other options" in told[0]
    ex.lake(where).add([file], every="10s", replace=True)
    assert ex.lake(where)["vcpu"].collect()["pct_ready"].to_list() == [1, 3]
    assert upkeep.verify(Store.of(where)).left == ()


def test_a_reader_of_another_layout_makes_it_again(tmp_path, monkeypatch):
    where, file = tmp_path / "lake", hosts.capture(tmp_path)
    ex.lake(where).add([file])
    monkeypatch.setattr("esxparse.formats.manifest.LAYOUT", 99)
    assert [one.skipped for one in ex.lake(where).add([file])] == [False]
    assert len(ex.lake(where).captures) == 1
    assert ex.lake(where)["vcpu"].collect().height == 3
    assert upkeep.verify(Store.of(where)).left == ()


@pytest.mark.parametrize("wrong", ["{}", "[", '{"id": "x"}', "\xff"])
def test_an_entry_that_is_none_is_said(tmp_path, wrong):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path)])
    next((where / "catalogue").iterdir()).write_bytes(wrong.encode("latin-1"))
    with pytest.raises(EsxparseError, match="is not what `esxparse lake add` writes"):
        _ = ex.lake(where).captures


def test_queries_that_cannot_be_answered_are_one_line(tmp_path, capsys):
    where = str(tmp_path / "lake")
    assert main(["lake", "sql", "SELECT 1", "--lake", where]) == 1
    assert f"there is no lake at {where}" in capsys.readouterr().err
    assert not Path(where).exists()
    ex.lake(where).add([hosts.capture(tmp_path)])
    for words, why in (
        (["sql", "SELEC"], "DuckDB: "),
        (["ls", "--host", "esx-77"], "no host 'esx-77'"),
        (["rm", "zz"], "no capture with"),
    ):
        assert main(["lake", *words, "--lake", where]) == 1
        assert why in capsys.readouterr().err
    with pytest.raises(ex.MissingTableError, match="it has: vcpu, memory"):
        ex.lake(where)["vcpus"]


@pytest.mark.search
def test_captures_are_judged_once(tmp_path, capsys):
    where = str(tmp_path / "lake")
    ex.lake(where).add([hosts.capture(tmp_path, "esx-01", (40,) * 30), hosts.capture(tmp_path, "esx-02")])
    assert [one for _, one in judging.stored_judgements(ex.lake(where))] == [None, None]
    assert main(["lake", "judge", "--lake", where]) == 0
    assert "esx-02: Only 3 samples" in capsys.readouterr().out
    assert main(["lake", "judge", "--lake", where]) == 0
    assert capsys.readouterr().out == ""
    first, second = (one for _, one in judging.stored_judgements(ex.lake(where)))
    assert first["findings"]
    assert first["quality"]["status"] in {"pass", "warn", "fail"}
    assert "Nothing found" in second["verdict"]


@pytest.mark.parametrize("other", [{"every": "10s"}, {"host": "esx-09"}], ids=str)
def test_what_was_said_of_another_reading_counts_no_more(tmp_path, other):
    where, file = tmp_path / "lake", hosts.capture(tmp_path, "esx-01", (40,) * 30)
    ex.lake(where).add([file])
    judging.judge(ex.lake(where))
    ex.lake(where).add([file], replace=True, **other)
    assert [one for _, one in judging.stored_judgements(ex.lake(where))] == [None]
    assert [one["host"] for one in judging.judge(ex.lake(where))] == [other.get("host", "esx-01")]


@pytest.mark.search
def test_a_lake_is_the_same_made_by_processes(tmp_path):
    files = [hosts.capture(tmp_path, f"esx-0{place}", (place,) * 4) for place in range(4)]
    ex.lake(tmp_path / "one").add(files)
    ex.lake(tmp_path / "two").add(files, crew=ex.Crew(jobs=2))
    # Numbers of Parquet are no text, but as Latin-1 they can be compared as one.
    one, two = (
        {
            hosts.unwritten(str(file.relative_to(tmp_path / name))): hosts.unwritten(file.read_text("latin-1"))
            for file in (tmp_path / name).rglob("*.*")
        }
        for name in ("one", "two")
    )
    assert len(one) == 12
    assert one == two


def test_formats_do_not_mix(tmp_path):
    where = tmp_path / "lake"
    lines = ["time,watts", *(f"2026-03-02T08:00:{second:02d},{100 + second}" for second in range(5))]
    (tmp_path / "meter.csv").write_text("\n".join([*lines, ""]))
    ex.lake(where).add([hosts.capture(tmp_path)])
    ex.lake(where).add([tmp_path / "meter.csv"], host="esx-01", format="power_csv")
    assert "power_csv.power" in ex.lake(where)
    assert ex.lake(where).sql('SELECT max(watts) FROM "power_csv.power"').item() == 104
    assert len(entries.overlaps(ex.lake(where).captures)) == 0
