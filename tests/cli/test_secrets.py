"""No command writes the password, signature or token of a URL anywhere: terminal, pages, notebooks, tables, errors."""

from __future__ import annotations

import argparse
import base64
import gzip
import http.server
import json
import os
import pickle
import subprocess
import sys
import threading
import traceback
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import polars as pl
import pytest

import esxparse as ex
from esxparse.cli import build_parser, main
from esxparse.locations import complete, public

pytestmark = pytest.mark.needs("aiohttp", "fsspec", "obstore", "duckdb")

PASSWORD, SIGNATURE, TOKEN = "pa@ss-CANARY-one", "s1g+CANARY/two=", "CANARY-three"
CANARIES = [
    form.encode()
    for word in (PASSWORD, SIGNATURE, TOKEN)
    for form in {word, quote(word, safe=""), base64.b64encode(f"ann:{word}".encode()).decode()}
] + [b"CANARY"]
EXPECTED = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()


class Guarded(http.server.BaseHTTPRequestHandler):
    """Sends a file to whoever has the password and the signature, and repeats both to whoever has not."""

    content = b""

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/moved.csv":
            self.send_response(302)
            self.send_header("Location", "/missing.csv?X-Amz-Signature=CANARY-signed")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        granted = self.headers.get("Authorization", "") == f"Basic {EXPECTED}" and SIGNATURE in unquote(self.path)
        found = granted and "missing" not in self.path
        body = self.content if found else self.path.encode()
        status = 200 if found else 404 if granted else 403
        # The client encodes some characters of what it got, and not others.
        repeated = f"{self.path} with {self.headers.get('Authorization')}"
        self.send_response(status, None if found else repeated)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def server(busy_host_file):
    Guarded.content = busy_host_file.read_bytes()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()


def url_of(server: str, path: str = "esx07.csv", secret: str = PASSWORD) -> str:
    # As people paste it: the `@` of the password is not escaped.
    return f"http://ann:{secret}@{server}/{path}?sig={quote(SIGNATURE, safe='')}#access_token={TOKEN}"


def texts(path: Path) -> bytes:
    """A file, unpacked: the text of every cell of a table, every member of a bundle."""
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        frame = pl.read_parquet(path)
        cells = [json.dumps(row, default=str) for row in frame.rows()]
        return content + "\n".join([*frame.columns, *cells]).encode() + repr(pl.read_parquet_metadata(path)).encode()
    if content.startswith(b"\x1f\x8b"):
        return gzip.decompress(content)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as bundle:
            return content + b"".join(bundle.read(name) for name in bundle.namelist())
    return content


def leaks(folder: Path, *outputs: bytes) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = [str(path.relative_to(folder)) for path in files if any(one in texts(path) for one in CANARIES)]
    names = [str(path) for path in folder.rglob("*") if "CANARY" in path.name]
    return found + names + [one.decode(errors="replace") for one in outputs if any(c in one for c in CANARIES)]


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), **variables}
    (folder / "tmp").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "esxparse", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


WORK = [
    ("info", "{url}"),
    ("check", "{url}", "--format", "json"),
    ("check", "{url}", "--format", "html"),
    ("diagnose", "{url}", "--format", "json"),
    ("diagnose", "{url}", "--format", "md"),
    ("slice", "{url}", "-o", "part.csv.gz", "--vm", "web 01 (blue) v2.1"),
    ("convert", "{url}", "-o", "converted"),
    ("report", "{url}", "-o", "page.html"),
    ("report", "{url}", "-o", "page.ipynb"),
    ("report", "{url}", "-o", "page.md"),
    ("batch", "{url}", "{other}", "-o", "pages", "--jobs", "2"),
    ("diagnose", "{url}", "{other}", "--jobs", "2"),
    ("compare", "{url}", "{other}"),
    ("plan", "consolidation", "--from", "{url}", "--format", "json"),
    ("plan", "dense-mode", "--from", "now={url}", "later={other}", "-o", "plan.txt"),
    ("audit", "{url}", "--format", "markdown", "-o", "audit.md"),
    ("right-size", "{url}", "{other}", "--format", "json"),
    ("export", "{url}", "--table", "vm", "-o", "vm.lp"),
    ("lake", "add", "--lake", "lake", "--host", "esx07", "{url}"),
    ("lake", "ls", "--lake", "lake"),
    ("lake", "sql", "--lake", "lake", "select * from catalogue", "--format", "json"),
    ("lake", "judge", "--lake", "lake"),
    ("lake", "report", "--lake", "lake", "-o", "fleet.html"),
    ("lake", "verify", "--lake", "lake", "--content"),
    ("lake", "compact", "--lake", "lake", "--merge"),
    ("study", "check", "study/study.toml", "--allow-outside"),
    ("study", "run", "study/study.toml", "--allow-outside", "-o", "runs.parquet"),
    ("study", "columns", "{url}"),
]
"""What is done with a URL that can be read. One after another, in one directory."""
REFUSED = [
    ("info", "{missing}"),
    ("info", "{wrong}"),
    ("report", "{missing}", "-o", "x.html"),
    ("batch", "{missing}", "-o", "failed"),
    ("lake", "add", "--lake", "lake", "{wrong}"),
    ("study", "new", "{url}"),
    ("study", "run", "study/study.toml"),
    ("study", "run", "{url}"),
    ("slice", "{url}", "-o", "{url}"),
    ("report", "{url}", "--template={url}", "-o", "x.html"),
    ("report", "{url}", "-p", "start={url}", "-o", "x.html"),
    ("lab", "{url}"),
    ("lake", "ls", "--lake={url}"),
    ("lake", "ls", "--lake", "s3://KEY:{password}@bucket/lake"),
    ("info", "s3://KEY:{password}@bucket/a.csv"),
    ("info", "nosuch://ann:{password}@host/a.csv"),
    ("info", "zip://a.csv::{url}"),
    ("info", "{url}", "--segmant={url}"),
    ("convert", "{missing}", "-o", "failed"),
    ("lake", "rm", "--lake", "lake", "{url}"),
    ("lake", "rm", "--lake={url}", "esx07"),
    ("lake", "sql", "--lake", "lake", "select * from '{url}'"),
    ("lake", "judge", "--lake={url}"),
    ("lake", "report", "--lake={url}"),
    ("lake", "verify", "--lake={url}"),
    ("lake", "compact", "--lake={url}"),
    ("study", "check", "{url}"),
    ("plan", "replication", "--from", "{missing}"),
    ("plan", "replication", "--rate", "{url}", "a={url}"),
    ("plan", "power", "--watts={url}"),
    ("plan", "wan", "--link", "{url}", "--from", "{url}"),
    ("plan", "raid", "--level", "{url}"),
    ("plan", "pci", "--speed", "{url}"),
    ("audit", "{missing}"),
    ("timeline", "{url}", "--capture", "{url}"),
    ("collect", "host", "{url}", "-o", "collected"),
    ("collect", "power", "--redfish", "{url}", "-o", "power.jsonl"),
    ("collect", "vcenter", "--server", "{url}", "-o", "vc"),
    ("collect", "vcenter", "--server=vc.invalid", "--username", "{url}", "--vm={url}", "--last={url}", "-o", "vc"),
    ("diagnose", "{missing}", "--inventory", "{url}"),
    ("collect", "vsphere", "--server", "{url}", "-o", "esx"),
    ("collect", "vsphere", "--server=vc.invalid", "--username={url}", "--thumbprint={url}", "-o", "esx"),
    ("collect", "vsphere", "--server=vc.invalid", "--username={url}", "--password-file={url}", "-o", "esx"),
    ("rules", "list", "{url}"),
    ("rules", "list", "--profile={url}"),
    ("rules", "show", "{url}"),
    ("rules", "check", "{url}"),
    ("simulate", "{url}", "-o", "simulated"),
    ("formats", "{url}"),
    ("templates", "list", "{url}"),
    ("templates", "new", "{url}"),
    ("templates", "copy", "{url}", "ours"),
    ("templates", "copy", "scaling", "{url}"),
    ("{url}",),
]


@pytest.fixture(scope="module")
def words(server):
    return {
        "url": url_of(server),
        "other": url_of(server, "esx08.csv"),
        "missing": url_of(server, "missing.csv"),
        "wrong": url_of(server, secret="wrong-CANARY"),  # noqa: S106
        "password": PASSWORD,
    }


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, words):
    """A directory in which all work was done; what was printed; and what of it failed."""
    folder = tmp_path_factory.mktemp("secrets")
    study = folder / "study"
    study.mkdir()
    manifest = study / "study.toml"
    manifest.write_text(f'[[run]]\nname = "a"\nesxtop = "{words["url"]}"\n', encoding="utf-8")
    done = {}
    for command in (*WORK, *REFUSED):
        done[command] = run(folder, *(one.format(**words) for one in command))
    manifest.unlink()
    return folder, done


def commands_of(parser: argparse.ArgumentParser, *words: str) -> Iterator[tuple[str, ...]]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield words
    for group in groups:
        for word, part in group.choices.items():
            yield from commands_of(part, *words, word)


def test_every_command_gets_a_url_with_secrets():
    every = set(commands_of(build_parser()))
    with_secret = {
        command
        for words in (*WORK, *REFUSED)
        for command in every
        if words[: len(command)] == command and "{" in "".join(words)
    }
    # They read the URL out of what other commands wrote.
    stored = {("lake", "ls"), ("lake", "verify"), ("lake", "compact"), ("lake", "judge"), ("lake", "report")}
    assert every - with_secret - stored == set()
    assert all(any(words[:2] == command for words in WORK) for command in stored)


@pytest.mark.search
@pytest.mark.parametrize("command", WORK, ids=" ".join)
def test_work_on_a_url_with_secrets_succeeds(workplace, command):
    done = workplace[1][command]
    assert done.returncode in {0, 3}, done.stderr.decode()


@pytest.mark.search
@pytest.mark.parametrize("command", REFUSED, ids=" ".join)
def test_a_refusal_is_one_message(workplace, command):
    done = workplace[1][command]
    assert done.returncode in {1, 2}
    assert b"Traceback" not in done.stderr


@pytest.mark.search
def test_no_output_and_no_file_holds_a_secret(workplace):
    folder, done = workplace
    assert leaks(folder, *(part for one in done.values() for part in (one.stdout, one.stderr))) == []
    # Positive control: there was much to search in.
    kinds = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert kinds >= {".html", ".ipynb", ".md", ".parquet", ".json", ".gz"}


def test_the_search_notices_a_secret_in_every_kind_of_file(tmp_path):
    pl.DataFrame({"source": [f"http://ann:{PASSWORD}@host/"]}).write_parquet(tmp_path / "a.parquet", compression="zstd")
    (tmp_path / "b.gz").write_bytes(gzip.compress(SIGNATURE.encode()))
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("x", TOKEN)
    (tmp_path / "d.html").write_text(quote(SIGNATURE, safe=""))
    (tmp_path / "CANARY").touch()
    assert len(leaks(tmp_path, EXPECTED.encode())) == 6


@pytest.mark.parametrize("path", ["esx07.csv", "missing.csv", "x.zip:member.csv"])
def test_exceptions_and_their_causes_hold_no_secret(server, path):
    url = url_of(server, path)
    try:
        shown = repr(ex.open(url)) + ex.open(url).source
    except ex.EsxparseError:
        shown = traceback.format_exc()
    # Tracebacks quote source lines of this test, which name the function and not its value.
    assert "CANARY" not in shown


def test_where_a_server_sends_us_on_to_is_not_repeated(server):
    with pytest.raises(ex.EsxparseError, match="the server answers 40") as caught:
        ex.open(f"http://{server}/moved.csv")
    assert "CANARY" not in "".join(traceback.format_exception(caught.value))


def test_a_refused_connection_holds_no_secret():
    with pytest.raises(ex.EsxparseError) as caught:
        ex.open(f"http://ann:{PASSWORD}@127.0.0.1:9/x.csv?sig={SIGNATURE}")
    assert "CANARY" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://ann:pw@nas/a.csv", "https://***@nas/a.csv"),
        ("https://ann:p@w@nas:8443/a.csv", "https://***@nas:8443/a.csv"),
        ("https://ann:p/w@nas/a.csv", "https://***@nas/a.csv"),
        ("https://ann:p?w#@nas/a.csv", "https://***@nas/a.csv"),
        ("https://token@nas/a.csv", "https://***@nas/a.csv"),
        ("https://ann:pw@[fe80::1]:80/a.csv?x", "https://***@[fe80::1]:80/a.csv?***"),
        ("https://nas/a.csv?X-Amz-Signature=ab&y=1", "https://nas/a.csv?***"),
        ("https://nas/a.csv#access_token=ab", "https://nas/a.csv#***"),
        ("zip://a.csv::https://ann:pw@nas/b.zip?sig=1", "zip://a.csv::https://***@nas/b.zip?***"),
        ("s3://bucket/2026@night/a.csv", "s3://bucket/2026@night/a.csv"),
        ("C:/captures/what?.csv", "C:/captures/what?.csv"),
        ("night#1.csv", "night#1.csv"),
    ],
)
def test_secrets_of_a_url_are_masked_and_the_url_is_kept(url, text):
    masked = public(url)
    # Another test may have taken the plain mask for another secret.
    assert masked.replace("***2", "***").replace("***3", "***").replace("***4", "***") == text
    assert complete(masked) == url
    assert public(masked) == masked
    assert json.dumps({"source": masked}) == json.dumps({"source": str(masked)})


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("no /a?sig=x%2BCANARY/y%3D", "no /a?sig=***"),
        ("no /a?sig=x%2bCANARY%2fy=", "no /a?sig=***"),
        ("moved to https://bob:CANARY@nas2/b?t=CANARY#CANARY: gone", "moved to https://***@nas2/b?***#***: gone"),
        ("proxy http://CANARY@10.0.0.1:3128.", "proxy http://***@10.0.0.1:3128."),
        ("see <https://ann:CANARY@nas/>, or https://nas/b.", "see <https://***@nas/>, or https://nas/b."),
        (f"Authorization: Basic {base64.b64encode(b'eve:CANARY').decode()}!", "Authorization: Basic ***!"),
        ("with Bearer CANARY.CANARY-x", "with Bearer ***"),
        ("'http:/ann:p@CANARY@nas/a?s=CANARY#t' does not exist", "'http:/***@nas/a?***#***' does not exist"),
        ("url=http:/ann:CANARY@nas/a does not exist", "url=http:/***@nas/a does not exist"),
        ("//ann:CANARY@nas/a does not exist", "//***@nas/a does not exist"),
        ("file://http://ann:CANARY@nas/a does not exist", "file://http://***@nas/a does not exist"),
        ("C:/night/ann:x@y.csv, D://a?b, /srv//b:c@d", "C:/night/ann:x@y.csv, D://a?b, /srv//b:c@d"),
        ("a basic function of the bearer cable", "a basic function of the bearer cable"),
        ("https://***2@nas/a.csv?***2 does not exist", "https://***2@nas/a.csv?***2 does not exist"),
        ("key CANARY-azure, password CANARY-bmc", "key ***, password ***"),
    ],
)
def test_what_servers_and_libraries_repeat_is_masked(monkeypatch, text, plain):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "CANARY-azure")
    monkeypatch.setenv("ESXPARSE_BMC_PASSWORD", "CANARY-bmc")
    public("https://nas/a?sig=x%2BCANARY%2Fy%3D")
    assert str(ex.EsxparseError(text)) == plain


def test_a_list_of_urls_and_wrong_usage_repeat_no_secret(tmp_path, capsys):
    (tmp_path / "urls.txt").write_text("input,note\nhttp://ann:p@CANARY@nas/a.csv,x\n")
    with pytest.raises(ex.EsxparseError, match="it begins with") as caught:
        ex.open(tmp_path / "urls.txt")
    assert "CANARY" not in str(caught.value)
    with pytest.raises(SystemExit):
        main(["info", "a.csv", "'http://ann:p@CANARY@nas/a.csv'", "--segmant=<http://ann:p@CANARY@nas/a.csv>"])
    assert "CANARY" not in capsys.readouterr().err


def test_urls_that_differ_in_secrets_only_stay_apart():
    ends = [public(f"https://nas/export?id={number}") for number in range(3)]
    assert len(set(ends)) == 3
    assert [complete(one)[-1] for one in ends] == ["0", "1", "2"]


def test_a_worker_gets_the_url_and_a_file_does_not():
    masked = public("https://ann:pickled@nas/a.csv")
    ask = "import pickle, sys; from esxparse.locations import complete; print(complete(pickle.load(sys.stdin.buffer)))"
    done = subprocess.run([sys.executable, "-c", ask], input=pickle.dumps(masked), capture_output=True, check=True)
    assert done.stdout.decode().strip() == "https://ann:pickled@nas/a.csv"
    with pytest.raises(ex.EsxparseError, match="stored without its password or signature"):
        ex.open("https://***@elsewhere/a.csv")
