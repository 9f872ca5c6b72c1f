"""Lakes on servers that are not there, busy, or without the bucket."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, repeat

import hosts
import pytest
from polars.testing import assert_frame_equal
from s3_server import s3
from search import routine_of
from tcp_proxy import proxy

import esxparse as ex
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.lakes import upkeep
from esxparse.lakes.store import Store

pytestmark = pytest.mark.needs("obstore")


class _Asked(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.paths.append(self.path)
        self.send_error(403)

    do_PUT = do_GET  # noqa: N815  as http.server calls it

    def log_message(self, *_):
        pass


@contextmanager
def http_recorder():
    """A server that refuses every request and keeps its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Asked) as made:
        made.paths, made.url = [], f"http://127.0.0.1:{made.server_port}"
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("moto")
    with s3() as made:
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        yield made


def test_a_server_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr("esxparse.lakes.servers.RETRIES", 0)
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


@pytest.mark.parametrize("address", ["CANARY", "http://eve:CANARY@a b", "s3.example:9000", "ftp://eve:CANARY@nas"])
def test_an_address_that_is_not_a_url_is_one_line_that_does_not_repeat_it(monkeypatch, capfd, address):
    """The client panics on it, and prints 57 lines."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "false")
    assert main(["lake", "ls", "--lake", "s3://captures/lake"]) == 1
    wrong = "AWS_ENDPOINT_URL is not the address of a server: write https://HOST:PORT"
    assert capfd.readouterr().err == f"esxparse: lake s3://captures/lake: {wrong}\n"


@pytest.mark.search
@pytest.mark.needs("moto")
def test_a_server_that_is_busy_now_and_then_is_asked_again(server, monkeypatch, tmp_path):
    where = f"s3://lake/{tmp_path.name}"
    monkeypatch.setattr(server, "busy", cycle([False, False, True]))
    ex.lake(where).add([hosts.capture(tmp_path)])
    assert ex.lake(where)["vcpu"].collect().height == 3
    assert upkeep.verify(Store.of(where), content=True).damaged == ()
    monkeypatch.setattr(server, "busy", repeat(True))
    monkeypatch.setattr("esxparse.lakes.servers.RETRIES", 0)
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


@pytest.mark.search
@pytest.mark.needs("moto", "duckdb")
def test_every_command_asks_a_busy_server_again_and_gives_up_in_one_line(server, monkeypatch, tmp_path, capsys):
    where = f"s3://lake/{tmp_path.name}"
    ex.lake(where).add([hosts.capture(tmp_path, host) for host in ("esx-01", "esx-02")])
    key = ex.lake(where).captures[0].id
    commands = (["ls"], ["verify", "--content"], ["sql", "SELECT count(*) FROM vcpu"], ["judge"], ["rm", key])
    commands += (["compact", "--older", "0"],)
    with monkeypatch.context() as patched:
        patched.setattr(server, "busy", repeat(True))
        patched.setattr("esxparse.lakes.servers.RETRIES", 0)
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


@pytest.mark.search
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


@pytest.fixture
def between(server, monkeypatch):
    """What breaks requests on their way to the server."""
    with proxy(int(server.env["AWS_ENDPOINT_URL"].rpartition(":")[2])) as made:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{made.port}")
        yield made


@pytest.mark.needs("moto")
@pytest.mark.parametrize("action", ["reset", "lose", "cut"])
@pytest.mark.parametrize(
    "request_", [rb"PUT \S*\.json", rb"PUT \S*\.parquet", rb"POST ", rb"GET \S*list-type", rb"GET \S*\.json"]
)
def test_a_request_that_breaks_once_is_sent_again(between, tmp_path, action, request_):
    where = f"s3://lake/{tmp_path.name}"
    between.break_requests(request_, action, times=1)
    made = ex.lake(where).add([hosts.capture(tmp_path)])
    assert [one.skipped for one in made] == [False]
    assert len(ex.lake(where).captures) == 1
    assert between.hit == 1
    state = upkeep.verify(Store.of(where), content=True)
    # Parts of an upload that was lost have other names; what a catalogue entry names is whole.
    assert (state.captures, state.damaged) == (1, ())


@pytest.mark.search
@pytest.mark.needs("moto", "duckdb", "fsspec")
@pytest.mark.parametrize("action", routine_of(["reset", "cut", "stall"], {"reset"}))
def test_a_connection_that_always_breaks_is_one_line_in_time(between, tmp_path, capsys, action):
    where = f"s3://lake/{tmp_path.name}"
    file = hosts.capture(tmp_path)
    ex.lake(where).add([file])
    Store.of(where).put("a.csv", file.read_bytes())
    commands = (
        (rb"", ["info", f"{where}/a.csv"]),
        (rb"", ["lake", "ls", "--lake", where]),
        (rb"", ["lake", "add", "--lake", f"{where}/b", str(file)]),
        (rb"PUT \S*\.json", ["lake", "add", "--lake", f"{where}/c", str(file)]),
        (rb"\S+ \S*\.parquet", ["lake", "sql", "--lake", where, "SELECT * FROM vcpu"]),
        (rb"\S+ \S*\.parquet", ["lake", "judge", "--lake", where]),
    )
    capsys.readouterr()
    for pattern, words in commands:
        between.break_requests(pattern, action)
        began = time.monotonic()
        assert main([*words, "--timeout", "2"]) == 1, words
        assert time.monotonic() - began < 15, words
        told = capsys.readouterr().err
        assert told.count("\n") == 1, told
        assert not re.search(r"Generic|Error performing|retries|client error|tests|endpoint URL", told), told
        assert re.search(r"try again|wait longer|check", told), told


@pytest.mark.needs("moto", "fsspec")
def test_only_a_user_who_wants_it_has_the_metadata_address_asked(monkeypatch, capsys):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    commands = [["lake", "ls", "--lake", f"{scheme}://lake/x"] for scheme in ("s3", "gs", "az")]
    commands.append(["info", "s3://lake/a.csv"])
    with http_recorder() as asked:
        # Every request without encryption goes through it, wherever it is sent to.
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, asked.url)
        for words in commands:
            assert main([*words, "--timeout", "2"]) == 1
            told = capsys.readouterr().err
            assert "no credentials: set " in told
            assert told.count("\n") == 1
        assert asked.paths == []
        monkeypatch.setattr("esxparse.lakes.servers.RETRIES", 0)
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://169.254.169.254")
        for words in (commands[0], commands[-1]):
            assert main([*words, "--timeout", "2"]) == 1
        assert "http://169.254.169.254/latest/api/token" in asked.paths
