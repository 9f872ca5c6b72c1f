"""Sessions of the vSphere API, against govmomi's simulator."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import nullcontext

import pytest

from esxparse.collect import vsphere_session
from esxparse.collect.bounded import StoppedError
from esxparse.collect.credentials import VSPHERE_PASSWORD
from esxparse.collect.failures import CutError, ForbiddenError, NoAnswerError, RefusedError, UntrustedError
from esxparse.collect.vsphere_session import ExpiredError
from esxparse.errors import EsxparseError


@pytest.fixture
def vc(vcsim, monkeypatch):
    one = vcsim()
    monkeypatch.setenv(VSPHERE_PASSWORD, one.password)
    monkeypatch.setenv("NETRC", str(one.folder / "netrc"))
    return one


def connect(vc, **options):
    return vsphere_session.session(vc.server, **(vc.login | options))


def services(content):
    return [one.serviceName for one in content.serviceManager.QueryServiceList(location=["vmware.host.DC0_H0"])]


def test_certificates_are_verified_or_pinned_and_the_session_is_ended(vc):
    for trust in (
        {"thumbprint": vc.thumbprint},
        {"thumbprint": f"SHA1:{vc.sha1.upper()}"},
        {"thumbprint": None, "ca": vc.certificate},
        {"thumbprint": None, "insecure": True},
    ):
        with connect(vc, **trust) as session:
            assert "vCenter" in session.content.about.fullName
    assert vc.calls()["Login"] == vc.calls()["Logout"] == 4
    # The loopback interface gets no more trust than others.
    advice = "cannot be verified: give its CA with --ca FILE"
    with pytest.raises(UntrustedError, match=advice) as refused, connect(vc, thumbprint=None):
        pass
    assert str(refused.value).rpartition(" ")[2].replace(":", "").lower() == vc.thumbprint
    for wrong in ("0" * 64, "0" * 40):
        with pytest.raises(UntrustedError, match="has another thumbprint"), connect(vc, thumbprint=wrong):
            pass
    assert vc.calls()["Login"] == 4


def test_a_pinned_certificate_counts_even_if_a_ca_has_signed_it(vc, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(vc.certificate))
    with connect(vc, thumbprint=None):
        pass
    with pytest.raises(UntrustedError, match="another thumbprint"), connect(vc, thumbprint="1" * 64):
        pass


def test_failures_are_one_line_without_the_password(vc, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{unused.getsockname()[1]}"
        mute = f"127.0.0.1:{silent.getsockname()[1]}"
        cases = [
            (closed, {}, CutError, "connecting: connection refused"),
            ("nowhere.invalid", {}, CutError, "connecting: no such host"),
            (mute, {}, CutError, "connecting: no answer in time"),
            (vc.server, {"username": "nobody"}, RefusedError, "the login is rejected: check the user name"),
            (vc.server, {"thumbprint": "12:34"}, EsxparseError, "64 hexadecimal digits"),
            (vc.server, {"ca": vc.certificate}, EsxparseError, "cannot be combined"),
            (f"root:pass@{vc.server}", {}, EsxparseError, "visible to everyone"),
            (vc.server, {"username": None}, EsxparseError, "there is no user name: give --username"),
            (vc.server, {"thumbprint": None, "ca": tmp_path / "no.pem"}, EsxparseError, "does not exist"),
        ]
        for place, changes, kind, text in cases:
            options = vc.login | {"timeout": 0.4} | changes
            with pytest.raises(EsxparseError, match=text) as refused, vsphere_session.session(place, **options):
                pass
            assert type(refused.value) is kind
            assert vc.password not in str(refused.value)
            assert "\n" not in str(refused.value)


def test_the_password_comes_from_a_file_or_netrc(vc, tmp_path, monkeypatch):
    monkeypatch.delenv(VSPHERE_PASSWORD)
    secret = tmp_path / "password"
    for content, refusal in [
        (f"{vc.password}\n".encode(), None),
        (vc.password.encode(), None),
        (b"\n", "has no password"),
        (b"one\ntwo\n", "has no password"),
        (b"\xff\n", "has no password"),
        (None, "cannot be read for the password"),
    ]:
        secret.unlink(missing_ok=True)
        if content is not None:
            secret.write_bytes(content)
        outcome = pytest.raises(EsxparseError, match=refusal) if refusal else nullcontext()
        with outcome, connect(vc, password_file=secret) as session:
            assert session.content.about.apiType == "VirtualCenter"
    (vc.folder / "netrc").write_text(f'machine 127.0.0.1 login {vc.user} password "{vc.password}"')
    (vc.folder / "netrc").chmod(0o600)
    with connect(vc, username=None):
        pass
    (vc.folder / "netrc").unlink()
    advice = f"no password for {vc.user} at 127.0.0.1: set {VSPHERE_PASSWORD}"
    with pytest.raises(EsxparseError, match=advice), connect(vc):
        pass


CUT = {
    "cut": "QueryServiceList: the connection was cut",
    "half": "QueryServiceList: the answer is cut",
    "page": "QueryServiceList: the answer is not of the vSphere API",
    "busy": "the server is busy or starting",
}
ENDLESS = {
    "endless": "no answer in time",
    "drip": "no answer in time",
    "slow": "no answer in time",
}


@pytest.mark.parametrize("troubles", [CUT, pytest.param(ENDLESS, marks=pytest.mark.search)], ids=["cut", "endless"])
def test_a_call_that_fails_is_one_error_and_the_next_one_works(vc, troubles):
    with connect(vc, timeout=1.0) as session:
        for kind, text in troubles.items():
            vc.trouble(kind, "QueryServiceList", milliseconds=3000)
            with pytest.raises(NoAnswerError, match=text):
                session.call("QueryServiceList", services)
            assert session.call("QueryServiceList", services) == ["Esxtop", "VscsiStats"]


def test_a_session_that_the_server_has_ended_is_renewed_on_demand(vc):
    with connect(vc) as session:
        vc.trouble("expire", "QueryServiceList")
        with pytest.raises(ExpiredError, match="the session was ended by the server"):
            session.call("QueryServiceList", services)
        assert session.call("QueryServiceList", services, renew=True) == ["Esxtop", "VscsiStats"]
    assert vc.calls()["Login"] == 2


def test_faults_name_the_privilege_and_hide_an_echoed_password(vc):
    with connect(vc) as session:
        vc.trouble("denied", "QueryServiceList")
        with pytest.raises(ForbiddenError, match=r"the account lacks a privilege \(Global.ServiceManagers\)"):
            session.call("QueryServiceList", services)
    vc.trouble("echo", "Login")
    with pytest.raises(NoAnswerError, match=r"logging in: SystemError: cannot parse ") as refused, connect(vc):
        pass
    assert "***" in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.search
def test_an_answer_that_is_awaited_is_given_up_soon_after_a_stop(vc):
    stop = threading.Event()
    with connect(vc, stop=stop) as session:
        vc.trouble("slow", "QueryServiceList", milliseconds=20_000)
        threading.Timer(0.2, stop.set).start()
        begun = time.monotonic()
        with pytest.raises(StoppedError):
            session.call("QueryServiceList", services)
        assert time.monotonic() - begun < 4
    assert vc.calls()["Logout"] == 1
