"""Captures from web servers: what the server does is told as what it is, and nothing goes on without an end."""

from __future__ import annotations

import http.server
import io
import threading
import time
import zipfile
from contextlib import contextmanager

import pytest
from packing import CAPTURE

import esxparse as ex
from esxparse.formats import remote

pytestmark = pytest.mark.needs("aiohttp", "fsspec")


class Server(http.server.BaseHTTPRequestHandler):
    """Answers each path in its own way."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, content, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Transfer_Encoding" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path.startswith("/status/"):
            self.answer(b"no", int(path.rpartition("/")[2]))
        elif path == "/loop":
            self.answer(b"", 302, Location="/loop")
        elif path == "/moved":
            self.answer(b"", 302, Location="/a.csv")
        elif path == "/a.csv":
            self.answer(CAPTURE)
        elif path == "/a.zip":
            self.zipped()
        elif path == "/silent":
            time.sleep(3)
        elif path == "/drip":
            self.drip()
        elif path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(CAPTURE) * 2))
            self.end_headers()
            self.wfile.write(CAPTURE)
            self.close_connection = True
        elif path == "/endless":
            self.endless()
        else:
            self.answer(b"no", 404)

    def zipped(self):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as bundle:
            bundle.writestr("a.csv", CAPTURE)
        content, place = packed.getvalue(), self.headers.get("Range", "")
        if place:
            start = int(place.removeprefix("bytes=").rstrip("-"))
            self.answer(content[start:], 206, Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.answer(content)

    def drip(self):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for byte in CAPTURE[:40]:
                self.wfile.write(bytes([byte]))
                time.sleep(0.1)
        except OSError:
            pass
        self.close_connection = True

    def endless(self):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(CAPTURE)
        row = CAPTURE.splitlines(keepends=True)[-1].rstrip() + b"\n"
        try:
            while True:
                self.wfile.write(row * 1000)
        except OSError:
            self.close_connection = True


@pytest.fixture(scope="module")
def base():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@contextmanager
def refused(message):
    with pytest.raises(ex.UnreadableError, match=message) as caught:
        yield
    assert "\n" not in str(caught.value)


def test_captures_and_bundles_are_read_as_files_are(base, tmp_path):
    (tmp_path / "a.csv").write_bytes(CAPTURE)
    wanted = ex.open(tmp_path / "a.csv")["memory"].collect()
    for path in ("/a.csv", "/moved", "/a.zip", "/a.zip:a.csv", "/a.csv?signature=x"):
        assert ex.open(base + path)["memory"].collect().equals(wanted)
    assert ex.convert(f"{base}/a.csv", tmp_path / "lake").folder.name == "a"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, r"answers 401 Unauthorized; it needs a login"),
        (403, r"answers 403 Forbidden"),
        (404, r"does not exist"),
        (429, r"answers 429 Too Many Requests"),
        (500, r"answers 500 Internal Server Error; try again later"),
        (503, r"answers 503 Service Unavailable; try again later"),
    ],
)
def test_a_status_is_told_as_what_it_is(base, status, message):
    with refused(message):
        ex.open(f"{base}/status/{status}")
    with refused(message):
        ex.open(f"{base}/status/{status}?x=b.tgz:member.csv")


def test_servers_that_are_not_there_or_lead_in_circles(base):
    with refused("the server keeps redirecting"):
        ex.open(f"{base}/loop")
    with refused("refuses the connection: nothing listens there"):
        ex.open("http://127.0.0.1:1/a.csv")
    with refused("there is no host called no-such-host.invalid"):
        ex.open("http://no-such-host.invalid/a.csv", timeout=20)
    with refused("cannot be read"):
        ex.open("http://", timeout=5)


@pytest.mark.parametrize("path", ["/silent", "/drip"])
def test_a_slow_server_is_waited_for_the_time_that_was_said(base, path):
    begun = time.monotonic()
    with refused(r"within 0\.5 s; wait longer with timeout= \(--timeout\)"):
        ex.open(base + path, timeout=0.5)
    assert time.monotonic() - begun < 3


def test_a_transfer_that_breaks_off_is_no_shorter_file(base):
    with refused("the connection ended before the file did"):
        ex.open(f"{base}/cut")["memory"].collect()


def test_an_answer_without_an_end_is_read_up_to_a_bound(base, monkeypatch):
    monkeypatch.setattr(remote, "MOST_UNSAID", 4 << 20)
    with refused("does not say how long it is, and it goes on after 4,194,304 bytes: download it"):
        ex.open(f"{base}/endless")["memory"].collect()
