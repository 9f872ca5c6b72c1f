"""Capturing a host over ssh: a real OpenSSH server, and an esxtop that writes a simulated capture in time."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from bmc import POWER, send, serve, server
from esxi import Collecting, Esxi, capture, keys, noted, rows, until

import esxparse as ex
from esxparse.collect import host
from esxparse.collect.samples import Capture, WholeLines

pytestmark = pytest.mark.needs("ssh", "sshd", "ssh-keygen")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def lines():
    return capture()


@pytest.fixture
def esx(tmp_path, pair, lines):
    folder = tmp_path / "host"
    folder.mkdir()
    machine = Esxi(folder, pair, lines)
    yield machine
    machine.close()


def test_a_host_is_captured_with_its_topology_beside_it(esx, tmp_path, lines):
    with server(serve) as url:
        esx.say("held", "until the BMC is polled")
        run = Collecting(esx, tmp_path / "out", duration=10, redfish=url)
        power = tmp_path / "out" / "power.jsonl"
        until(lambda: power.exists() and POWER in power.read_text())
        esx.say("held")
        captured = run.join()
    assert run.error is None
    assert captured.files == (run.file,)
    # 10 s at 2 s; the stand-in is quicker than the clock.
    assert captured.samples == 5
    assert gzip.decompress(run.file.read_bytes()) == b"".join(lines.splitlines(keepends=True)[:6])
    [(_, arguments)] = esx.started()
    assert arguments == "-b -a -d 2 -n 5"
    rec = ex.open(run.file)
    assert rec.meta["samples"] == 5
    assert ex.open(tmp_path / "out" / "topology.txt").meta["sockets"] == 2
    assert "Version: 8.0.2" in (tmp_path / "out" / "versions.txt").read_text()
    [about] = noted(tmp_path / "out", "host")
    assert about["release"] == "VMware ESXi 8.0.2 build-22380479 VMware ESXi 8.0 Update 2"
    assert abs(about["clock_offset_s"]) < 60
    assert "esxcli network nic list" in about["failed"]
    assert ex.open(power)["power"].collect()["watts"].max() == 200
    assert captured.power is None
    assert noted(tmp_path / "out", "end") == [{"samples": 5, "gaps": 0, "why": "done"}]


def test_the_explorer_follows_a_capture_while_it_grows(esx, tmp_path):
    esx.say("chatter", "The time and date of this login have been sent to the system logs.\n")
    run = Collecting(esx, tmp_path / "out")
    until(lambda: len(run.samples()) >= 2)
    explorer = ex.follow(run.file)
    first = explorer.about["samples"]
    assert first >= 2
    until(lambda: len(run.samples()) >= first + 3)
    assert explorer._grown()
    assert explorer.about["samples"] >= first + 3
    captured = run.end()
    assert captured.samples == len(rows(run.file)) == ex.open(run.file).meta["samples"]
    until(lambda: not esx.runs())
    assert noted(tmp_path / "out", "left_out") == [
        ["The time and date of this login have been sent to the system logs."]
    ]


def test_a_lost_connection_is_a_gap_and_no_sample_is_half_written(esx, tmp_path, lines):
    esx.say("cut", 4)
    run = Collecting(esx, tmp_path / "out")
    until(lambda: (esx.folder / "cut").read_text() == "done")
    until(lambda: len(run.samples()) == 3)
    # The host went on without us.
    esx.say("at", 8)
    esx.cut()
    until(lambda: len(run.samples()) >= 6)
    captured = run.end()
    assert captured.gaps == 1
    assert captured.files == (run.file,)
    every = lines.splitlines()
    assert rows(run.file) == [*every[1:4], *every[8 : 8 + captured.samples - 3]]
    [gap] = noted(tmp_path / "out", "gap")
    assert gap["before"] == gap["file"] == "esx.csv.gz"
    assert gap["from"] < gap["to"]
    rec = ex.open(run.file)
    warned = [note.message for note in rec.notes if note.severity == "warning"]
    assert any(f"from {gap['from']} to {gap['to']} no samples were collected" in text for text in warned)
    # The fourth row is the first of a new esxtop: its disks are not measured, as in the first.
    assert any("esxtop was restarted" in note.message for note in rec.notes)
    assert any("trying again" in text for text in run.said)
    assert any("captures again" in text for text in run.said)
    until(lambda: not esx.runs())


def test_other_columns_begin_another_file(esx, tmp_path):
    run = Collecting(esx, tmp_path / "out")
    until(lambda: len(run.samples()) >= 2)
    esx.say("columns", 40)
    esx.cut()
    second = tmp_path / "out" / "esx-2.csv.gz"
    until(lambda: len(run.samples(second)) >= 2)
    captured = run.end()
    assert captured.files == (run.file, second)
    assert captured.samples == len(rows(run.file)) + len(rows(second))
    assert ex.open(second).meta["columns"] == 40
    assert noted(tmp_path / "out", "file") == ["esx.csv.gz", "esx-2.csv.gz"]
    notes = [[note.message for note in ex.open(file).notes] for file in captured.files]
    assert any("it goes on in esx-2.csv.gz" in text for text in notes[0])
    assert any("what was before is in esx.csv.gz" in text for text in notes[1])


def test_an_esxtop_that_ends_is_started_again(esx, tmp_path):
    esx.say("at", 118)
    run = Collecting(esx, tmp_path / "out")
    # The stand-in ends with its capture, after rows 118 to 121.
    until(lambda: len(run.samples()) == 4)
    until(lambda: len(esx.started()) >= 2)
    esx.say("at", 1)
    until(lambda: len(run.samples()) >= 6)
    assert run.end().gaps == 1
    assert any("esxtop ended (exit code 0)" in text for text in run.said)


@pytest.mark.search
def test_ctrl_c_ends_the_command_with_a_summary(esx, tmp_path):
    command = [sys.executable, "-m", "esxparse", "collect", "host", "esx", "-o", "out", "-F", esx.config]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as run:
        file = tmp_path / "out" / "esx.csv.gz"
        until(lambda: file.exists() and len(rows(file)) >= 2)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert f"out/esx.csv.gz: {len(rows(file))} samples" in said
    until(lambda: not esx.runs())
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert again.stderr == "esxparse: out has a capture already (collected.jsonl): give another directory\n"


@pytest.mark.search
def test_a_bmc_that_is_lost_is_told_in_the_last_line(esx, tmp_path):
    gone = threading.Event()
    with server(lambda handler: send(handler, {}, 503) if gone.is_set() else serve(handler)) as url:
        esx.say("held", "until the BMC is lost")
        command = [sys.executable, "-m", "esxparse", "collect", "host", "esx", "-o", "out", "-F", esx.config]
        command += ["--redfish", url, "--power-interval", "1s", "--duration", "4s", "--interval", "2s"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as run:
            power = tmp_path / "out" / "power.jsonl"
            until(lambda: power.exists() and POWER in power.read_text())
            gone.set()
            until(lambda: '"error"' in power.read_text())
            esx.say("held")
            _, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert re.search(r"out/esx.csv.gz: \d samples?, BMC: \d+ requests? failed$", said.strip())


def refused(esx, folder, *, target="esx", **options):
    with pytest.raises(ex.EsxparseError) as caught:
        host(target, folder, interval=2, ssh_config=esx.config, **options)
    assert not folder.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.search
def test_what_is_wrong_on_the_other_side_is_one_clear_error(esx, tmp_path, pair):
    out = tmp_path / "out"
    with server(lambda handler: send(handler, {}, 500)) as url:
        found = Collecting(esx, tmp_path / "no-power", duration=2, redfish=url).join()
    assert found.samples == 1
    assert "500" in found.power
    esx.say("refuses", "esxtop: Permission denied")
    assert refused(esx, out).endswith("no sample came: esxtop ended (exit code 1): esxtop: Permission denied")
    (esx.folder / "bin" / "esxtop").unlink()
    assert refused(esx, out) == "esx has no esxtop: is it an ESXi host?"
    (esx.folder / "authorized_keys").write_text("")
    assert "the login is refused: load a key" in refused(esx, out)
    esx.know("")
    assert "its host key is not known: log in once by hand (ssh esx)" in refused(esx, out)
    esx.know((pair / "user.pub").read_text())
    assert "its host key is not the one in known_hosts" in refused(esx, out)
    esx.close()
    assert "nothing answers at its SSH port" in refused(esx, out)
    assert "no such host" in refused(esx, out, target="root@esx.invalid")


def test_targets_that_are_none_never_reach_ssh(esx, tmp_path):
    out = tmp_path / "out"
    for target in ("-oProxyCommand=touch x", "root@-x", "a b", "", "root@"):
        assert "is no host to log in to" in refused(esx, out, target=target)
    said = refused(esx, out, target="root:hunter2@esx")
    assert "visible to everyone" in said
    assert "hunter2" not in said
    for interval in ("1s", "2.5s", 0):
        with pytest.raises(ex.EsxparseError, match="interval"):
            host("esx", out, interval=interval, ssh_config=esx.config)
    assert "does not exist" in refused(esx, out, identity=tmp_path / "none")


def test_only_whole_lines_are_written_wherever_the_stream_is_cut(tmp_path, lines):
    head = b"".join(lines.splitlines(keepends=True)[:3])
    for size in (1, 7, 4096):
        for end in range(len(head) - 40, len(head) + 1, 13):
            folder = tmp_path / f"{size}-{end}"
            folder.mkdir()
            whole, taken = WholeLines(), Capture(folder, "esx")
            for at in range(0, end, size):
                for line in whole.feed(head[at : min(at + size, end)]):
                    taken.take(line)
            assert taken.samples == (2 if end == len(head) else 1)
            assert rows(taken.path) == head.splitlines()[1 : taken.samples + 1]


def test_a_new_esxtop_writes_nothing_before_its_own_header(tmp_path, lines):
    taken = Capture(tmp_path, "esx")
    header, first, second = lines.splitlines()[:3]
    assert [taken.take(line) for line in (header, first)] == [False, True]
    taken.restart()
    assert not taken.take(second)
    assert [taken.take(line) for line in (bytes(header), second)] == [False, True]
    assert rows(taken.path) == [first, second]
