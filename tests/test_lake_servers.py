"""Lakes on servers that are not there, busy, or without the bucket."""

from __future__ import annotations

from itertools import cycle, repeat

import hosts
import pytest
from polars.testing import assert_frame_equal
from s3_server import s3

import esxparse as ex
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.lakes import upkeep
from esxparse.lakes.store import Store

pytestmark = pytest.mark.needs("obstore")


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("moto")
    with s3() as made:
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        yield made


def test_a_server_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr("esxparse.lakes.store._RETRIES", 0)
    options = {
        "aws_endpoint_url": "http://127.0.0.1:9",
        "allow_http": "true",
        "aws_region": "us-east-1",
        "aws_access_key_id": "a",
        "aws_secret_access_key": "b",
    }
    with pytest.raises(EsxparseError, match=r"^lake s3://lake/x: ") as error:
        _ = ex.lake("s3://lake/x", **options).captures
    assert "\n" not in str(error.value)


@pytest.mark.needs("moto")
def test_a_server_that_is_busy_now_and_then_is_asked_again(server, monkeypatch, tmp_path):
    where = f"s3://lake/{tmp_path.name}"
    monkeypatch.setattr(server, "busy", cycle([False, False, True]))
    ex.lake(where).add([hosts.capture(tmp_path)])
    assert ex.lake(where)["vcpu"].collect().height == 3
    assert upkeep.verify(Store.of(where), content=True).damaged == ()
    monkeypatch.setattr(server, "busy", repeat(True))
    monkeypatch.setattr("esxparse.lakes.store._RETRIES", 0)
    with pytest.raises(EsxparseError, match=r"^lake s3://lake/\S+: the server answered 503 Service Unavailable$"):
        _ = ex.lake(where).captures


@pytest.mark.needs("moto")
@pytest.mark.usefixtures("server")
def test_a_bucket_that_is_not_there_is_one_line(tmp_path):
    told = []
    ex.lake("s3://other/x").add([hosts.capture(tmp_path)], told=lambda _, made: told.append(made))
    said = "lake s3://other/x: there is no such bucket: make it first, or name another"
    assert told == [said]
    with pytest.raises(EsxparseError, match=said):
        _ = ex.lake("s3://other/x").captures


@pytest.mark.needs("moto", "duckdb")
def test_every_command_asks_a_busy_server_again_and_gives_up_in_one_line(server, monkeypatch, tmp_path, capsys):
    where = f"s3://lake/{tmp_path.name}"
    ex.lake(where).add([hosts.capture(tmp_path, host) for host in ("esx-01", "esx-02")])
    key = ex.lake(where).captures[0].id
    commands = (["ls"], ["verify", "--content"], ["sql", "SELECT count(*) FROM vcpu"], ["judge"], ["rm", key])
    commands += (["compact", "--older", "0"],)
    with monkeypatch.context() as patched:
        patched.setattr(server, "busy", repeat(True))
        patched.setattr("esxparse.lakes.store._RETRIES", 0)
        for words in commands:
            assert main(["lake", *words, "--lake", where, "-q"]) == 1
            said = capsys.readouterr().err
            assert said == f"esxparse: lake {where}: the server answered 503 Service Unavailable\n", words
    assert len(ex.lake(where).captures) == 2
    monkeypatch.setattr(server, "busy", cycle([False, False, True]))
    for words in commands:
        assert main(["lake", *words, "--lake", where, "-q"]) == 0, words
        assert capsys.readouterr().err == ""
    monkeypatch.setattr(server, "busy", repeat(False))
    assert [one.host for one in ex.lake(where).captures] == ["esx-02"]
    assert upkeep.verify(Store.of(where)).left == ()


@pytest.mark.needs("moto")
def test_content_is_read_without_asking_for_sizes_again(server, tmp_path):
    where = f"s3://lake/{tmp_path.name}"
    ex.lake(where).add([hosts.capture(tmp_path)])
    server.asked.clear()
    assert upkeep.verify(Store.of(where), content=True).damaged == ()
    assert [(method, path) for method, path in server.asked if method == "HEAD"] == []
    assert len([path for _, path in server.asked if path.endswith(".parquet")]) == 2


@pytest.mark.needs("moto", "duckdb")
def test_of_merged_captures_one_file_is_fetched(server, tmp_path):
    where = f"s3://lake/{tmp_path.name}"
    for number in range(2):
        ready = tuple(range(3 * number, 3 * number + 3))
        ex.lake(where).add([hosts.capture(tmp_path, "esx-01", ready)])
    wanted = ex.lake(where)["vcpu"].collect()
    assert main(["lake", "compact", "--merge", "--lake", where, "-q"]) == 0
    server.sent.clear()
    assert_frame_equal(ex.lake(where)["vcpu"].collect(), wanted)
    assert ex.lake(where).sql("SELECT sum(pct_ready) FROM vcpu").item() == 15
    fetched = {path for path, _ in server.sent if path.endswith(".parquet")}
    assert len(fetched) == 1
    assert "/merged/table=vcpu/date=2026-03-02/host=esx-01/" in fetched.pop()
    assert upkeep.verify(Store.of(where), content=True).spoilt == ()
