"""Captures through the vSphere API, against govmomi's simulator, with the replies of a simulated host."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from itertools import pairwise

import pytest
from checkout import TESTS

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.cli import main
from esxparse.collect import Fetched, vsphere
from esxparse.collect.credentials import VSPHERE_PASSWORD
from esxparse.errors import EsxparseError
from esxparse_simulator.model.engine import capture
from esxparse_simulator.writers.esxtop_api import replies, write_replies

HOST = "DC0_C0_H1"
HISTOGRAMS = TESTS / "golden" / "forms" / "vscsistats" / "reply-of-the-api.xml"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """A directory with the replies of a host."""
    folder = tmp_path_factory.mktemp("replies")
    write_replies(folder, *replies(capture(simulate.busy_host(), samples=40)))
    (folder / "fetchallhistograms.txt").write_bytes(HISTOGRAMS.read_bytes())
    return folder


@pytest.fixture
def vc(vcsim, answers, monkeypatch):
    one = vcsim(replies=answers, ahead="90s")
    monkeypatch.setenv(VSPHERE_PASSWORD, one.password)
    monkeypatch.setenv("NETRC", str(one.folder / "netrc"))
    # The host here needs no mercy.
    monkeypatch.setattr(sys.modules["esxparse.collect.vsphere"], "_LEAST_S", 0.01)
    return one


def collect(vc, folder, **options):
    usual = {"host": HOST, "interval": 0.05, "duration": 0.4, "retry": 0.05, "timeout": 2.0}
    return vsphere(vc.server, folder, **(vc.login | usual | options))


def lines(folder):
    return [json.loads(line) for line in gzip.open(folder / "esxtop-api.jsonl.gz", "rt")]


def operations(folder):
    return [one.get("operation", "gap") for one in lines(folder)[1:]]


def test_raw_replies_are_a_capture(vc, answers, tmp_path):
    messages = []
    result = collect(vc, tmp_path / "esx", host="dc0_c0_h1", say=messages.append)
    assert result.files == (tmp_path / "esx" / "esxtop-api.jsonl.gz",)
    assert result == Fetched(result.files, result.samples, 0, result.seconds)
    assert 4 <= result.samples <= 9
    about, info, *samples, freed = lines(tmp_path / "esx")
    assert (about["host"], about["server"], about["interval"]) == (HOST, vc.server, 0.05)
    assert about["release"] == "8.0.2"
    assert about["skew"] == pytest.approx(90, abs=1)
    assert info["reply"] == (answers / "counterinfo.txt").read_text()
    for number, sample in enumerate(samples, 1):
        assert sample["reply"] == (answers / f"fetchstats-{number:04}.txt").read_text()
        assert sample["before"] < sample["after"]
    assert freed["operation"] == "FreeStats"
    assert vc.calls()["FetchStats"] == len(samples) == result.samples
    assert vc.calls()["Login"] == vc.calls()["Logout"] == 1
    assert messages == [messages[0]]
    assert f"a sample has {len(samples[0]['reply']) / 1e3:.0f} kB" in messages[0]
    rec = ex.open(tmp_path / "esx" / "esxtop-api.jsonl.gz")
    assert rec.meta["host"] == HOST
    assert rec.meta["samples"] == result.samples
    with pytest.raises(EsxparseError, match="has a capture already"):
        collect(vc, tmp_path / "esx")


@pytest.mark.search
def test_an_esxi_host_is_asked_without_a_location(vcsim, answers, tmp_path, monkeypatch):
    esxi = vcsim(replies=answers, esx=True)
    monkeypatch.setenv(VSPHERE_PASSWORD, esxi.password)
    result = vsphere(esxi.server, tmp_path / "esx", interval=2, duration=4, **esxi.login)
    # One at the start, and one after each interval.
    assert result.samples == 3
    assert lines(tmp_path / "esx")[0]["host"] == "localhost.localdomain"


def test_a_slow_host_gets_longer_intervals(vc, tmp_path):
    vc.trouble("slow", times=9, milliseconds=100)
    messages = []
    result = collect(vc, tmp_path / "esx", say=messages.append, duration=0.6)
    assert 2 <= result.samples <= 4
    times = [(one["before"], one["after"]) for one in lines(tmp_path / "esx")[2:-1]]
    moments = [[datetime.fromisoformat(one).timestamp() for one in pair] for pair in times]
    assert all(later[0] - one[1] >= 0.09 for one, later in pairwise(moments))
    assert ["intervals are longer than 0.05 s" in one for one in messages].count(True) == 1


@pytest.mark.parametrize("kind", ["cut", "half", "expire", "busy", "page"])
def test_what_is_lost_is_a_gap_and_nothing_else(vc, tmp_path, kind):
    vc.trouble(kind, after=2, times=2)
    messages = []
    result = collect(vc, tmp_path / "esx", say=messages.append)
    begun, *rest = operations(tmp_path / "esx")
    assert begun == "CounterInfo"
    assert rest[:5] == ["FetchStats", "FetchStats", "gap", "CounterInfo", "FetchStats"]
    assert rest.count("gap") == result.gaps == 1
    assert vc.calls()["FetchStats"] == result.samples + 2
    assert vc.calls()["FreeStats"] == 1
    # A session that is still good is used again.
    assert vc.calls()["Login"] == (3 if kind == "expire" else 1)
    assert sum("trying again" in one for one in messages) == result.gaps
    times = [(one["before"], one["after"]) for one in lines(tmp_path / "esx")[1:]]
    assert all(before <= after for before, after in times)
    assert all(one[1] <= later[0] for one, later in pairwise(times))
    rec = ex.open(tmp_path / "esx" / "esxtop-api.jsonl.gz")
    assert rec.meta["samples"] == result.samples
    assert any("gap" in note.message or "no sample" in note.message for note in rec.notes)


@pytest.mark.search
def test_a_server_that_is_gone_for_a_while(vc, tmp_path):
    def restart():
        time.sleep(0.4)
        vc.stop()
        time.sleep(0.5)
        vc.start(vc.server)

    threading.Thread(target=restart).start()
    result = collect(vc, tmp_path / "esx", duration=4)
    assert result.gaps == 1
    assert result.lost is None
    assert operations(tmp_path / "esx").count("CounterInfo") == 2
    assert vc.calls()["FreeStats"] == vc.calls()["Logout"] == 1


def test_a_server_that_does_not_come_back(vc, tmp_path):
    threading.Timer(0.3, vc.stop).start()
    result = collect(vc, tmp_path / "esx", duration=0.8)
    assert result.lost in {"FetchStats: connection refused", "FetchStats: the connection was cut"}
    assert "(FreeStats): QueryServiceList: connection refused" in result.failed[0]
    *_, last = lines(tmp_path / "esx")
    assert last["gap"] == result.lost
    assert ex.open(tmp_path / "esx" / "esxtop-api.jsonl.gz").meta["samples"] == result.samples


def test_nothing_stays_if_no_sample_came(vc, tmp_path):
    for options, error in [
        ({"host": "esx-07"}, "no host esx-07 that this account can see: there are DC0_C0_H0, DC0_C0_H1"),
        ({"host": None}, "4 hosts: choose one with --host"),
        ({"thumbprint": "0" * 64}, "another thumbprint"),
        ({"username": "nobody"}, "the login is rejected"),
        ({"duration": "2h"}, "60 min at most: each sample is work for the host"),
        ({"interval": 0.001}, "0.01 s at least"),
        ({"duration": 0.04}, "shorter than the interval"),
        ({"reset": True}, "only vscsiStats has histograms"),
    ]:
        with pytest.raises(EsxparseError, match=error):
            collect(vc, tmp_path / "esx", **options)
    for operation in ("QueryServiceList", "CounterInfo", "FetchStats"):
        vc.trouble("page", operation)
        with pytest.raises(EsxparseError, match=f"{operation}: the answer is not of the vSphere API"):
            collect(vc, tmp_path / "esx")
    assert not (tmp_path / "esx").exists()
    assert vc.calls()["FreeStats"] == 2
    assert vc.calls()["Login"] == vc.calls()["Logout"] + 1


@pytest.mark.search
def test_the_explorer_follows_a_running_capture(vc, tmp_path):
    stop = threading.Event()
    path = tmp_path / "esx" / "esxtop-api.jsonl.gz"
    running = threading.Thread(target=collect, args=(vc, tmp_path / "esx"), kwargs={"duration": 30, "stop": stop})
    running.start()
    try:
        wait_for(lambda: path.exists() and vc.calls().get("FetchStats", 0) > 3)
        explorer = ex.follow(path)
        before = explorer.recordings[0].meta["samples"]
        vc.trouble("cut")
        fetched = vc.calls()["FetchStats"]
        wait_for(lambda: vc.calls()["FetchStats"] > fetched + 3)
        assert explorer._grown()
        assert explorer.recordings[0].meta["samples"] >= before + 2
        assert any("the connection was cut" in note.message for note in explorer.recordings[0].notes)
    finally:
        stop.set()
        running.join()
    explorer._grown()
    assert explorer.recordings[0].meta["samples"] == operations(tmp_path / "esx").count("FetchStats")


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def start(vc, folder, *words):
    """The command in a process of its own, whose Ctrl-C is what a terminal gives it."""
    command = [sys.executable, "-m", "esxparse", "collect", "vsphere", "--server", vc.server, "--host", HOST]
    login = ["--username", vc.user, "--thumbprint", vc.thumbprint]
    return subprocess.Popen(
        [*command, *login, "-o", str(folder), "--interval", "2s", *words],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  no threads yet
    )


@pytest.mark.search
def test_ctrl_c_ends_a_capture_in_order(vc, tmp_path):
    for name, kind in (("esx", "none"), ("slow", "slow")):
        calls = vc.calls().get("FetchStats", 0)
        vc.trouble(kind, after=1, milliseconds=20_000)
        process = start(vc, tmp_path / name)
        wait_for(lambda calls=calls: vc.calls().get("FetchStats", 0) >= calls + 2)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=15)
        assert time.monotonic() - begun < 6
        assert process.returncode == 0
        assert vc.password not in errors
        samples = 2 if kind == "none" else 1
        assert operations(tmp_path / name) == ["CounterInfo", *["FetchStats"] * samples, "FreeStats"]
    assert vc.calls()["FreeStats"] == vc.calls()["Logout"] == 2


@pytest.mark.search
def test_a_full_disk_ends_a_capture_and_leaves_whole_samples(vc, tmp_path, capfd):
    resource = pytest.importorskip("resource")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (14_000, limit[1]))
    try:
        login = ["--username", vc.user, "--thumbprint", vc.thumbprint, "--host", HOST]
        assert main(
            ["collect", "vsphere", "--server", vc.server, *login, "-o", str(tmp_path / "esx"), "--interval", "0.1s"]
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    errors = capfd.readouterr().err
    assert "cannot be written" in errors
    assert vc.password not in errors
    assert 1 <= operations(tmp_path / "esx").count("FetchStats") < 10
    assert vc.calls()["FreeStats"] == vc.calls()["Logout"] == 1


def test_vscsistats_are_fetched_at_the_end_and_always_stopped(vc, tmp_path):
    result = collect(vc, tmp_path / "esx", vscsistats=True, reset=True)
    assert sorted(one.name for one in result.files) == ["esxtop-api.jsonl.gz", "vscsistats.xml"]
    assert (tmp_path / "esx" / "vscsistats.xml").read_bytes() == HISTOGRAMS.read_bytes()
    assert ex.open(tmp_path / "esx" / "vscsistats.xml").format == "vscsistats"
    calls = vc.calls()
    names = ("StartVscsiStats", "ResetVscsiStats", "FetchAllHistograms", "StopVscsiStats")
    assert [calls[name] for name in names] == [1, 1, 1, 1]
    vc.trouble("cut", "FetchAllHistograms")
    result = collect(vc, tmp_path / "other", vscsistats=True)
    assert result.failed == ("no histograms of vscsiStats: FetchAllHistograms: the connection was cut",)
    assert not (tmp_path / "other" / "vscsistats.xml").exists()
    vc.trouble("cut", "CounterInfo")
    with pytest.raises(EsxparseError, match="connection was cut"):
        collect(vc, tmp_path / "third", vscsistats=True)
    assert vc.calls()["StopVscsiStats"] == 3
