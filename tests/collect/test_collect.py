"""Polling a BMC: a real Redfish server with changing mockups, TLS, and servers that refuse, stumble and stall."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext, suppress

import pytest
from bmc import POWER, certificate, documents, free_port, link, send, serve, server, static_server, write_mockup

import esxparse as ex
from esxparse.collect import power
from esxparse.collect.bmc import Bmc
from esxparse.collect.credentials import Account, account
from esxparse.collect.failures import NoAnswerError
from esxparse.collect.origin import origin
from esxparse.collect.polling import address

SECRET = "correct horse"  # noqa: S105  of a server of our own


@pytest.fixture(autouse=True)
def _no_accounts(monkeypatch, tmp_path):
    monkeypatch.delenv("ESXPARSE_BMC_PASSWORD", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))


def lines(file):
    text = file.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_readings_that_change_are_polled_into_a_recording(tmp_path):
    write_mockup(tmp_path / "mock", documents(200))
    stop = threading.Event()
    output = tmp_path / "power.jsonl"
    with static_server(tmp_path / "mock") as port:

        def change():
            for before, watts in ((200, 230), (230, 260)):
                polled = re.compile(rf'"PowerConsumedWatts": ?{before}\b')
                while not stop.wait(0.05) and not (output.exists() and polled.search(output.read_text())):
                    pass
                write_mockup(tmp_path / "mock", {POWER: documents(watts)[POWER]})

        changing = threading.Thread(target=change)
        changing.start()
        collected = power(f"http://127.0.0.1:{port}", output, interval=0.1, duration=1.5)
        stop.set()
        changing.join()
    rec = ex.open(output)
    assert rec.format == "redfish"
    table = rec["power"].collect()
    polled = table.filter(sensor="PowerControl 0")
    assert set(polled["watts"]) == {200, 230, 260}
    assert polled["watts"].is_sorted()
    assert 5 <= polled.height <= 16
    assert table.filter(sensor="FastPowerMeter")["watts"].to_list() == [190, 191, 192]
    assert polled["round_trip_s"].min() > 0
    assert polled["bmc_time"].null_count() == 0
    assert rec.meta["host"] == "127.0.0.1"
    assert collected.gaps == 0
    assert not [note for note in rec.notes if note.severity == "warning"]


@pytest.mark.search
@pytest.mark.needs("openssl")
def test_a_certificate_is_verified_unless_told_otherwise(tmp_path):
    write_mockup(tmp_path / "mock", documents())
    with certificate(tmp_path) as (key, cert), static_server(tmp_path / "mock", "-c", cert, "-k", key) as port:
        url = f"https://127.0.0.1:{port}"
        with pytest.raises(ex.EsxparseError, match=r"certificate cannot be verified: .*--ca FILE.*--insecure"):
            power(url, tmp_path / "no.jsonl", interval=0.1, duration=0.2)
        assert not (tmp_path / "no.jsonl").exists()
        power(url, tmp_path / "ca.jsonl", interval=0.1, duration=0.2, ca=cert)
        power(url, tmp_path / "insecure.jsonl", interval=0.1, duration=0.2, insecure=True)
    for name in ("ca.jsonl", "insecure.jsonl"):
        assert 200 in ex.open(tmp_path / name)["power"].collect()["watts"].to_list()


def test_a_bmc_that_reboots_leaves_a_gap_and_is_polled_again(tmp_path):
    write_mockup(tmp_path / "mock", documents())
    port, output, said = free_port(), tmp_path / "power.jsonl", []
    stop = threading.Event()

    def wait_until(what):
        for _ in range(200):
            if output.exists() and what(output.read_text()):
                return
            time.sleep(0.05)

    with static_server(tmp_path / "mock", port=port):
        run = threading.Thread(
            target=power,
            args=(f"http://127.0.0.1:{port}", output),
            kwargs={"interval": 0.1, "stop": stop, "say": said.append},
        )
        run.start()
        wait_until(lambda text: text.count('"PowerControl"') > 1)
    wait_until(lambda text: "refused" in text)
    with static_server(tmp_path / "mock", port=port):
        before = output.read_text().count('"PowerControl"')
        wait_until(lambda text: text.count('"PowerControl"') > before)
        stop.set()
        run.join()
    rec = ex.open(output)
    # A question that was under way is not answered; the next ones are refused.
    assert rec["gaps"].collect()["error"].str.contains("connection refused")[1:].all()
    assert len(said) == 2
    assert "; retrying" in said[0]
    assert "answers again" in said[1]


def test_a_refused_account_ends_with_one_request_and_one_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ESXPARSE_BMC_PASSWORD", "wrong")
    asked = []

    def answer(handler):
        asked.append(handler.headers.get("Authorization"))
        send(handler, {"error": {"code": "Base.1.0.NoValidSession"}}, 401)

    with server(answer) as url, pytest.raises(ex.EsxparseError, match="rejects the login") as caught:
        power(url, tmp_path / "p.jsonl", username="monitor", auth="basic", interval=0.05, duration=1)
    assert asked == ["Basic " + base64.b64encode(b"monitor:wrong").decode()]
    assert "wrong" not in str(caught.value)
    assert not (tmp_path / "p.jsonl").exists()


def sessions(state, *, good=SECRET):
    """A BMC with sessions, which forgets them once."""

    def answer(handler):
        served = documents()
        served["/redfish/v1"]["Links"] = {"Sessions": link("/redfish/v1/SessionService/Sessions")}
        state["requests"].append((handler.command, handler.path, handler.headers.get("Authorization")))
        if handler.command == "POST":
            given = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
            if given != {"UserName": "monitor", "Password": good}:
                return send(handler, {}, 401)
            state["token"] = f"token-{len(state['requests'])}"
            return send(handler, {}, 201, X_Auth_Token=state["token"], Location="/redfish/v1/SessionService/Sessions/7")
        if handler.path.rstrip("/") != "/redfish/v1" and handler.headers.get("X-Auth-Token") != state.get("token"):
            return send(handler, {}, 401)
        if handler.command == "DELETE":
            return send(handler, {})
        state["polls"] += handler.path == POWER
        if state["polls"] == state.get("forgets_at"):
            state["token"] = "forgotten"  # noqa: S105  of a server of our own
        return serve(handler, served)

    return answer


def test_a_session_is_used_renewed_and_ended_and_no_secret_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("ESXPARSE_BMC_PASSWORD", SECRET)
    state = {"requests": [], "polls": 0, "forgets_at": 3}
    output = tmp_path / "p.jsonl"
    with server(sessions(state)) as url:
        collected = power(url, output, username="monitor", interval=0.05, duration=0.6)
    assert collected.gaps == 0
    assert sum(method == "POST" for method, _, _ in state["requests"]) == 2
    assert state["requests"][-1][:2] == ("DELETE", "/redfish/v1/SessionService/Sessions/7")
    assert {authorization for _, _, authorization in state["requests"]} == {None}
    written = output.read_text()
    assert not any(secret in written for secret in (SECRET, "monitor", "token-"))


def test_a_wrong_password_for_a_session_is_tried_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ESXPARSE_BMC_PASSWORD", "wrong")
    state = {"requests": [], "polls": 0}
    with server(sessions(state)) as url, pytest.raises(ex.EsxparseError, match="rejects the login"):
        power(url, tmp_path / "p.jsonl", username="monitor", interval=0.05, duration=1)
    assert sum(method == "POST" for method, _, _ in state["requests"]) == 1
    assert {authorization for _, _, authorization in state["requests"]} == {None}


def test_a_password_changed_meanwhile_ends_it_and_what_there_is_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("ESXPARSE_BMC_PASSWORD", SECRET)
    asked = []

    def answer(handler):
        asked.append(handler.path)
        if asked.count(POWER) > 4:
            return send(handler, {}, 401)
        return serve(handler)

    output = tmp_path / "p.jsonl"
    with server(answer) as url, pytest.raises(ex.EsxparseError, match="rejects the login"):
        power(url, output, username="monitor", interval=0.05, duration=5)
    assert asked.count(POWER) == 5
    assert sum("document" in line for line in lines(output)) >= 3


def stumble(how):
    """A BMC that stumbles at its third and fourth poll."""
    seen = []

    def answer(handler):
        seen.append(handler.path)
        if seen.count(POWER) not in {3, 4} or handler.path != POWER:
            return serve(handler)
        content = json.dumps(documents()[POWER]).encode()
        if how == "503":
            return send(handler, {"error": {"code": "busy"}}, 503)
        if how == "odd error":
            return send(handler, ["no object"], 500)
        if how == "html":
            return send(handler, "please wait")
        handler.send_response(200)
        if how != "cut without length":
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        if how == "stalls":
            time.sleep(1.0)
        if how == "drips":
            for at in range(len(content) // 2, len(content)):
                time.sleep(0.05)
                handler.wfile.write(content[at : at + 1])
        return None

    return answer


def test_a_document_that_becomes_forbidden_is_asked_for_once_more_and_no_more(tmp_path):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        if asked.count(POWER) > 3 and handler.path == POWER:
            return send(handler, {}, 403)
        return serve(handler)

    with server(answer) as url, pytest.raises(ex.EsxparseError, match="access is now denied"):
        power(url, tmp_path / "p.jsonl", interval=0.05, duration=5)
    assert asked.count(POWER) == 4
    assert ex.open(tmp_path / "p.jsonl")["gaps"].collect().height == 1


def end_after_recovery(output, stop):
    for _ in range(160):
        after = output.read_text().rpartition('"error"') if output.exists() else ("", "", "")
        if after[1] and '"PowerControl"' in after[2]:
            break
        time.sleep(0.05)
    stop.set()


@pytest.mark.parametrize("how", ["503", "odd error", "html", "cut", "cut without length", "stalls", "drips"])
def test_answers_that_fail_are_gaps_and_the_rest_is_there(tmp_path, how):
    output = tmp_path / "p.jsonl"
    with server(stumble(how)) as url:
        stop = threading.Event()
        ending = threading.Thread(target=end_after_recovery, args=(output, stop))
        ending.start()
        collected = power(url, output, interval=0.05, timeout=0.3, stop=stop)
        ending.join()
    assert collected.gaps >= 1
    rec = ex.open(output)
    assert rec["gaps"].collect().height == collected.gaps
    assert rec["power"].collect().filter(sensor="PowerControl 0").height >= 2
    assert not any(note.message.startswith("not valid JSON") for note in rec.notes)


def test_redirects_are_followed_to_the_same_bmc_only(tmp_path):
    def answer(handler):
        if handler.path == POWER:
            return send(handler, {}, 308, Location=f"{POWER}/")
        if handler.path.endswith("FastPowerMeter"):
            return send(handler, {}, 307, Location="http://elsewhere.example/steal")
        return serve(handler)

    with server(answer) as url:
        power(url, tmp_path / "p.jsonl", interval=0.05, duration=0.2)
    rec = ex.open(tmp_path / "p.jsonl")
    assert rec["power"].collect().height >= 2
    assert "points to elsewhere.example" in rec["gaps"].collect()["error"][0]


@pytest.mark.parametrize(
    ("location", "followed"),
    [
        ("http://127.0.0.1:{port}{moved}", True),
        ("//127.0.0.1:{port}{moved}", True),
        ("http://user@127.0.0.1:{port}{moved}", True),
        ("Http://127.0.0.1:{port}{moved}", True),
        ("https://127.0.0.1:{port}{moved}", False),
        ("http://localhost:{port}{moved}", False),
        ("http://127.0.0.1:1{moved}", False),
        ("http://127.0.0.1:99999{moved}", False),
        ("http://[127.0.0.1{moved}", False),
        ("", False),
    ],
)
def test_a_redirect_is_followed_to_the_same_origin_however_written(location, followed):
    def answer(handler):
        port = handler.server.server_port
        if handler.path == POWER:
            return send(handler, {}, 307, Location=location.format(port=port, moved=f"{POWER}?moved=1"))
        if handler.path == f"{POWER}?moved=1":
            return send(handler, documents(watts=321)[POWER])
        return serve(handler)

    with server(answer) as url:
        bmc = Bmc(url, None, verify=True, auth="auto", timeout=2)
        with closing(bmc), nullcontext() if followed else pytest.raises(NoAnswerError):
            assert bmc.get(POWER).document["PowerControl"][0]["PowerConsumedWatts"] == 321


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_an_explicit_default_port_is_the_same_origin(scheme, port):
    named, other = f"{scheme}://bmc.example/redfish/v1/", f"{scheme}://BMC.example:{port}/redfish/v1/"
    assert origin(named) == origin(other)
    assert origin(named) != origin(f"{scheme}://bmc.example:{port + 1}/redfish/v1/")


def test_a_file_that_is_there_is_added_to_only_when_asked(tmp_path):
    output = tmp_path / "p.jsonl"
    output.write_text('{"time":"2026-03-02T12:00:00Z","uri":"/x","er')
    with server(serve) as url:
        with pytest.raises(ex.EsxparseError, match="already exists"):
            power(url, output, interval=0.05, duration=0.1)
        power(url, output, interval=0.05, duration=0.1, append=True)
    text = output.read_text()
    assert text.startswith('{"time":"2026-03-02T12:00:00Z","uri":"/x","er\n{')
    assert ex.open(output)["power"].collect().height


def test_a_bmc_without_power_or_without_answer_is_an_error_at_once(tmp_path):
    served = documents()
    served["/redfish/v1/Chassis/1"].pop("Power")
    with server(lambda handler: serve(handler, served)) as url, pytest.raises(ex.EsxparseError, match="power readings"):
        power(url, tmp_path / "p.jsonl", duration=1)
    with pytest.raises(ex.EsxparseError, match="connection refused"):
        power(f"http://127.0.0.1:{free_port()}", tmp_path / "p.jsonl", duration=1)


def test_passwords_come_from_the_environment_a_netrc_or_a_prompt(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine ilo.example login reader password stored\n")
    netrc.chmod(0o600)
    assert account("ilo.example") is None
    monkeypatch.setenv("NETRC", str(netrc))
    found = account("ilo.example")
    assert (found.username, found.password) == ("reader", "stored")
    assert "stored" not in repr(found)
    assert account("other.example") is None
    with pytest.raises(ex.EsxparseError, match=r"no password for admin at ilo\.example: set ESXPARSE_BMC_PASSWORD"):
        account("ilo.example", "admin")
    monkeypatch.setenv("ESXPARSE_BMC_PASSWORD", "given")
    assert account("ilo.example", "admin").password == "given"  # noqa: S105  of nobody
    netrc.write_text("machine\n")
    with pytest.raises(ex.EsxparseError, match="cannot be used"):
        account("ilo.example")


def test_addresses():
    assert address("bmc.example", account=True, insecure=False) == "https://bmc.example"
    assert address("https://10.0.0.1:8443/redfish/v1/", account=True, insecure=False) == "https://10.0.0.1:8443"
    for bad in ("ftp://x", "https://", "https://[::1", "http://x:notaport"):
        with pytest.raises(ex.EsxparseError):
            address(bad, account=False, insecure=False)
    with pytest.raises(ex.EsxparseError, match="unencrypted"):
        address("http://bmc.example", account=True, insecure=False)
    with pytest.raises(ex.EsxparseError, match="visible to everyone") as caught:
        address("https://me:hunter2@bmc.example", account=True, insecure=False)
    assert "hunter2" not in str(caught.value)


COMMAND = """
import argparse, sys
from esxparse.cli import collect
parser = argparse.ArgumentParser()
collect.add(parser.add_subparsers())
options = parser.parse_args()
sys.exit(options.run(options))
"""


@pytest.mark.search
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_with_every_line_whole(tmp_path, number):
    output = tmp_path / "p.jsonl"
    with server(serve) as url:
        command = [
            sys.executable,
            "-c",
            COMMAND,
            "collect",
            "power",
            "--redfish",
            url,
            "-o",
            output,
            "--interval",
            "1s",
        ]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as run:
            for _ in range(200):
                if output.exists() and '"PowerControl"' in output.read_text():
                    break
                time.sleep(0.05)
            run.send_signal(number)
            _, said = run.communicate(timeout=10)
    assert run.returncode == 0, said
    assert "documents" in said
    assert all("time" in line for line in lines(output))
    assert ex.open(output)["power"].collect().height


def logging_in(how, thief):
    """A BMC with sessions that sends the login, or the session, to another host."""

    def answer(handler):
        if handler.command == "POST":
            handler.rfile.read(int(handler.headers["Content-Length"]))
            if how == "drip":
                handler.send_response(201)
                handler.send_header("X-Auth-Token", "t0ken")
                handler.send_header("Content-Length", "1000")
                handler.end_headers()
                with suppress(OSError):
                    for _ in range(100):
                        handler.wfile.write(b" ")
                        time.sleep(0.1)
                return None
            if how == "redirect":
                return send(handler, {}, 307, Location=f"{thief}/sessions")
            place = f"{thief}/session/1" if how == "location" else "/redfish/v1/SessionService/Sessions/1"
            return send(handler, {}, 201, X_Auth_Token="t0ken", Location=place)  # noqa: S106
        if handler.command == "DELETE":
            return send(handler, {}, 200)
        sessions = "/redfish/v1/SessionService/Sessions"
        served = documents()
        served["/redfish/v1"] |= {
            "SessionService": link("/redfish/v1/SessionService"),
            "Links": {"Sessions": link(f"{thief}/sessions" if how == "link" else sessions)},
        }
        served["/redfish/v1/SessionService"] = {"Id": "SessionService", "Sessions": link(sessions)}
        return serve(handler, served)

    return answer


@pytest.mark.parametrize("how", ["redirect", "link", "location", "drip"])
def test_a_password_and_a_token_go_to_the_named_bmc_only(tmp_path, how):
    stolen = []

    def steal(handler):
        length = int(handler.headers.get("Content-Length") or 0)
        stolen.append((handler.command, handler.headers.get("X-Auth-Token"), handler.rfile.read(length)))
        return send(handler, {}, 201, X_Auth_Token="t0ken", Location="/session/1")  # noqa: S106

    found = Account("reader", "pa55word")
    began, refusal = time.monotonic(), ""
    with server(steal) as thief, server(logging_in(how, thief)) as url:
        try:
            power(url, tmp_path / "p.jsonl", account=found, auth="session", interval=0.05, duration=0.1, timeout=0.5)
        except ex.EsxparseError as error:
            refusal = str(error)
    assert (refusal == "") == (how == "location")
    assert "pa55word" not in refusal
    assert how in {"location", "drip"} or "gets no password" in refusal
    assert stolen == []
    assert time.monotonic() - began < 8
