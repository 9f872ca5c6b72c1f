"""BMCs for tests: sushy-tools' static Redfish server, and servers of one function that misbehave."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

POWER = "/redfish/v1/Chassis/1/Power"


def link(uri):
    return {"@odata.id": uri}


def documents(watts=200):
    """What a BMC like an iLO 5 serves."""
    oem = {"Hpe": {"Links": {"FastPowerMeter": link(f"{POWER}/FastPowerMeter")}}}
    samples = [{"Time": f"2026-03-02T12:00:{n}0Z", "Average": 190 + n} for n in range(3)]
    return {
        "/redfish/v1": {"Id": "RootService", "Chassis": link("/redfish/v1/Chassis")},
        "/redfish/v1/Chassis": {"Members": [link("/redfish/v1/Chassis/1"), link("//elsewhere.example/Chassis")]},
        "/redfish/v1/Chassis/1": {"Id": "1", "Power": link(POWER), "Thermal": link("/redfish/v1/Chassis/1/Thermal")},
        POWER: {"@odata.id": POWER, "@odata.type": "#Power.v1_3_0.Power", "Oem": oem,
                "PowerControl": [{"MemberId": "0", "PowerConsumedWatts": watts}]},
        f"{POWER}/FastPowerMeter": {"@odata.id": f"{POWER}/FastPowerMeter", "Id": "FastPowerMeter",
                                    "@odata.type": "#HpePowerMeter.v2_0_1.HpePowerMeter", "PowerDetail": samples},
    }  # fmt: skip


def write_mockup(folder, served):
    for uri, document in served.items():
        place = folder / uri.removeprefix("/redfish/v1").lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        new = place / "index.json.new"
        new.write_text(json.dumps(document))
        new.replace(place / "index.json")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("the server does not listen")


@contextmanager
def static_server(folder, *options, port=None):
    program = Path(sys.executable).with_name("sushy-static")
    port = port or free_port()
    command = [str(program), "-i", "127.0.0.1", "-p", str(port), "-m", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(port)
            yield port
        finally:
            server.kill()


@contextmanager
def certificate(folder):
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
               "-subj", "/CN=bmc.example", "-addext", "subjectAltName=IP:127.0.0.1"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    yield key, cert


@contextmanager
def server(answer):
    """A server of one function: it gets the request's handler and answers as it likes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        do_POST = do_DELETE = do_GET  # noqa: N815  names of http.server

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_port}"
        finally:
            httpd.shutdown()


def send(handler, document, status=200, **headers):
    content = json.dumps(document).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def serve(handler, served=None):
    served = served or documents()
    path = handler.path.rstrip("/")
    send(handler, served[path]) if path in served else send(handler, {}, 404)
