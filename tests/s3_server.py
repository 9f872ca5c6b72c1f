"""An S3 server on this machine (moto's), which counts the bytes it sends."""

from __future__ import annotations

import http.client
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

import pytest


class S3:
    """A server with an empty bucket `lake`."""

    def __init__(self) -> None:
        moto, serving = pytest.importorskip("moto.server"), pytest.importorskip("werkzeug.serving")
        self._app = moto.DomainDispatcherApplication(moto.create_backend_app)
        self._server = serving.make_server("127.0.0.1", 0, self._counting, threaded=True)
        self.sent: list[tuple[str, int]] = []
        """Path and bytes of each answer to a GET."""
        self.asked: list[tuple[str, str]] = []
        """Method and path of each request."""
        self.busy: Iterator[bool] = repeat(False)
        """Of each request whether it is answered 503."""
        self.env = {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.port}",
            "AWS_ALLOW_HTTP": "true",
        }
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.bucket("lake")

    def bucket(self, name: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port)
        connection.request("PUT", f"/{name}")
        assert connection.getresponse().status == 200
        connection.close()

    def _counting(self, environ, start_response):
        self.asked.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        if next(self.busy):
            start_response("503 Slow Down", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"]
        content = b"".join(self._app(environ, start_response))
        if environ["REQUEST_METHOD"] == "GET":
            self.sent.append((environ["PATH_INFO"], len(content)))
        return [content]

    def close(self) -> None:
        self._server.shutdown()


@contextmanager
def s3():
    """The server, as long as it is entered."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    made = S3()
    try:
        yield made
    finally:
        made.close()
