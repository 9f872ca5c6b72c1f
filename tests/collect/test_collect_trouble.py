"""Captures of a host where something goes wrong: over there, here, or on the way."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from bmc import POWER, serve, server
from esxi import Collecting, Esxi, alive, capture, keys, noted, until

import esxparse as ex
from esxparse.collect import host
from esxparse.collect.lines import Lines
from esxparse.collect.samples import Capture
from esxparse.collect.ssh import Login, Remote

pytestmark = pytest.mark.needs("ssh", "sshd", "ssh-keygen")
_MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


@pytest.fixture
def esx(tmp_path):
    folder = tmp_path / "esxi"
    folder.mkdir()
    with closing(Esxi(folder, keys(tmp_path), capture())) as machine:
        yield machine


@pytest.mark.search
def test_a_connection_that_stays_lost_is_a_gap_up_to_the_end(esx, tmp_path):
    run = Collecting(esx, tmp_path / "out", duration=6)
    until(lambda: len(run.samples()) >= 1)
    esx.close()
    captured = run.join()
    assert captured.gaps == 1
    assert "nothing answers at its SSH port" in captured.lost
    [gap] = noted(run.folder, "gap")
    assert gap["before"] == gap["file"] == "esx.csv.gz"
    assert gap["from"] < gap["to"]
    assert noted(run.folder, "end") == [{"samples": captured.samples, "gaps": 1, "why": captured.lost}]
    assert "not connected at the end" in run.said[-1]
    assert any("no samples were collected" in note.message for note in ex.open(run.file).notes)


def test_ctrl_c_while_the_connection_is_lost_exits_with_1(esx, tmp_path):
    command = [sys.executable, "-m", "esxparse", "collect", "host", "esx", "-o", "out", "-F", esx.config]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as run:
        until((tmp_path / "out" / "esx.csv.gz").exists)
        esx.close()
        said = ""
        while "trying again" not in said:
            said = run.stderr.readline()
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "not connected at the end" in said
    assert len(noted(tmp_path / "out", "gap")) == 1


def test_standard_error_without_a_line_end_is_kept_in_part(esx):
    esx.install("noise", "#!/bin/sh\nhead -c 30000000 /dev/zero | tr '\\0' x >&2\necho >&2\necho end >&2\n")
    remote = Remote(Login.of("esx", config=esx.config), "noise")
    until(lambda: remote.said and remote.said[-1] == "end")
    assert remote.end() == 0
    assert sum(map(len, remote.said)) < 200_000


def test_a_directory_belongs_to_one_collection(esx, tmp_path):
    first, second = (Collecting(esx, tmp_path / "out") for _ in range(2))
    until(lambda: any(run.error and len(other.samples()) >= 2 for run, other in ((first, second), (second, first))))
    loser, winner = (first, second) if first.error else (second, first)
    assert str(loser.error).endswith("out has a capture already (collected.jsonl): give another directory")
    captured = winner.end()
    assert captured.samples == len(winner.samples())
    assert {path.name for path in winner.folder.iterdir()} == {
        "collected.jsonl",
        "esx.csv.gz",
        "topology.txt",
        "versions.txt",
    }


@pytest.mark.parametrize("name", ["topology.txt", "versions.txt", "power.jsonl", "esx.csv.gz", "esx-2.csv.gz"])
def test_files_of_others_are_never_touched(esx, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    esx.say("refuses", "no")
    with pytest.raises(ex.EsxparseError, match=rf"has a capture already \({name}\)"):
        host("esx", out, ssh_config=esx.config)
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [(name, "mine")]


def test_what_is_made_goes_again_and_nothing_else(esx, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "other.csv.gz").write_text("mine")
    esx.say("refuses", "no")
    with pytest.raises(ex.EsxparseError, match="no sample came"):
        host("esx", out, ssh_config=esx.config)
    assert [path.name for path in out.iterdir()] == ["other.csv.gz"]


def test_a_first_sample_that_cannot_be_written_leaves_no_file(tmp_path):
    header, first = capture().splitlines()[:2]
    taken = Capture(tmp_path, "esx")
    taken.take(header)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(ex.EsxparseError, match=r"esx.csv.gz cannot be written"):
            taken.take(first)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert taken.files == list(tmp_path.iterdir()) == []


def test_words_of_the_program_are_no_refused_login(esx, tmp_path):
    program = esx.folder / "bin" / "esxtop"
    warning = "print('warning: /var/log/x: Permission denied', file=sys.stderr, flush=True)"
    program.write_text(program.read_text().replace("import os, sys, time", f"import os, sys, time\n{warning}"))
    run = Collecting(esx, tmp_path / "out")
    until(lambda: len(run.samples()) >= 1)
    esx.cut()
    until(lambda: any("captures again" in text for text in run.said))
    assert run.end().gaps == 1
    assert not any("refused" in text for text in run.said)


@pytest.mark.search
def test_ssh_never_sees_the_password_of_the_bmc(esx, tmp_path, monkeypatch):
    monkeypatch.setenv("ESXPARSE_BMC_PASSWORD", "hunter2")
    seen = tmp_path / "seen"
    esx.install("proxy", f"#!/bin/sh\n/usr/bin/env > {seen}\n/bin/cat > /dev/null\n")
    esx.config.write_text(f"{esx.config.read_text()}  ProxyCommand {esx.folder}/bin/proxy\n")
    with pytest.raises(ex.EsxparseError):
        host("esx", tmp_path / "out", patience=1, ssh_config=esx.config)
    assert "LC_ALL=C" in seen.read_text()
    assert "hunter2" not in seen.read_text()


def test_a_duration_below_the_interval_names_both(esx, tmp_path):
    with pytest.raises(ex.EsxparseError, match=r"^duration 0.5 is shorter than the interval of 2 s"):
        host("esx", tmp_path / "out", interval=2, duration=0.5, ssh_config=esx.config)


def test_without_a_common_algorithm_ssh_says_which(esx, tmp_path):
    esx.config.write_text(f"{esx.config.read_text()}  HostKeyAlgorithms rsa-sha2-512\n")
    with pytest.raises(ex.EsxparseError, match=r"no matching host key type found. Their offer: ssh-ed25519"):
        host("esx", tmp_path / "out", ssh_config=esx.config)


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("root@[::1]", "root@::1"),
        ("root@::1", "root@::1"),
        ("[fe80::1%eth0]", "fe80::1%eth0"),
        ("root@esx-1.example.com", "root@esx-1.example.com"),
    ],
)
def test_addresses_of_ipv6_stand_with_brackets_or_without(target, named):
    assert Login.of(target).target == named


@pytest.mark.parametrize("target", ["root@esx:22", "root@[::1]:22", "root@[esx]", "root@-::1"])
def test_a_port_is_no_part_of_a_target(target):
    with pytest.raises(ex.EsxparseError, match="is no host to log in to"):
        Login.of(target)


@pytest.mark.search
def test_a_command_that_hangs_costs_its_own_answer_and_does_not_stay(esx, tmp_path):
    esx.install(
        "vim-cmd",
        f"#!/bin/sh\necho $$ >> {esx.folder}/hanging\n/bin/sleep 600 &\necho $! >> {esx.folder}/hanging\nwait\n",
    )
    captured = host("esx", tmp_path / "out", interval=2, duration=2, patience=3, ssh_config=esx.config)
    assert captured.samples == 1
    assert ex.open(tmp_path / "out" / "topology.txt").meta["sockets"] == 2
    assert "Version: 8.0.2" in (tmp_path / "out" / "versions.txt").read_text()
    [about] = noted(tmp_path / "out", "host")
    assert {"vim-cmd hostsvc/hosthardware", "vim-cmd vmsvc/getallvms"} <= set(about["failed"])
    hanging = [int(pid) for pid in (esx.folder / "hanging").read_text().split()]
    assert len(hanging) == 2
    until(lambda: not any(map(alive, hanging)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_capture_in_order(esx, tmp_path, number):
    command = [sys.executable, "-m", "esxparse", "collect", "host", "esx", "-o", "out", "-F", esx.config]
    # A program is not told of what its parent ignores, as nohup ignores SIGHUP; of what it handles, it is.
    before = signal.signal(number, lambda *_: None)
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=dict(os.environ))
    signal.signal(number, before)
    with run:
        until((tmp_path / "out" / "esx.csv.gz").exists)
        run.send_signal(number)
        run.communicate(timeout=60)
    assert run.returncode == 0
    [end] = noted(tmp_path / "out", "end")
    assert end["why"] == "done"


@pytest.mark.search
def test_words_without_end_are_no_samples(esx, tmp_path):
    esx.install("esxtop", "#!/bin/sh\nwhile :; do echo no sample; done\n")
    with pytest.raises(ex.EsxparseError, match="no sample came for 8 s"):
        host("esx", tmp_path / "out", interval=2, patience=8, ssh_config=esx.config)
    assert not (tmp_path / "out").exists()


def test_any_failure_of_power_is_told(esx, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["esxparse.collect.host"], "power", lambda *_, **__: {}["x"])
    captured = host("esx", tmp_path / "out", interval=2, duration=2, redfish="https://bmc", ssh_config=esx.config)
    assert captured.power == "KeyError('x')"
    assert not (tmp_path / "out" / "power.jsonl").exists()


def test_a_directory_removed_meanwhile_is_one_error(esx, tmp_path):
    command = [sys.executable, "-m", "esxparse", "collect", "host", "esx", "-o", "out", "-F", esx.config]
    power = tmp_path / "out" / "power.jsonl"
    with (
        server(serve) as url,
        subprocess.Popen(
            [*command, "--redfish", url], cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        ) as run,
    ):
        until(lambda: power.exists() and POWER in power.read_text() and (tmp_path / "out" / "esx.csv.gz").exists())
        shutil.rmtree(tmp_path / "out")
        _, said = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "Traceback" not in said
    *_, early, last = said.splitlines()
    assert "esx: ended early, after" in early
    assert last.endswith("is no longer there: it or its directory was removed or renamed meanwhile")
    until(lambda: not esx.runs())


def test_lines_of_a_removed_file_are_not_written_to_nowhere(tmp_path):
    with closing(Lines(tmp_path / "power.jsonl")) as lines:
        lines.write({"watts": 200})
        (tmp_path / "power.jsonl").unlink()
        with pytest.raises(ex.EsxparseError, match=r"power.jsonl is no longer there"):
            lines.write({"watts": 201})


def test_a_key_of_the_host_that_changes_meanwhile_ends_it_and_keeps_what_there_is(esx, tmp_path):
    run = Collecting(esx, tmp_path / "out")
    until(lambda: len(run.samples()) >= 2)
    esx.know((tmp_path / "user.pub").read_text())
    esx.cut()
    run.join()
    assert "its host key is not the one in known_hosts" in str(run.error)
    [end] = noted(run.folder, "end")
    assert end["why"] == str(run.error)
    assert end["samples"] == len(run.samples()) == ex.open(run.file).meta["samples"]


@pytest.mark.search
def test_an_esxtop_that_stalls_is_started_again(esx, tmp_path):
    run = Collecting(esx, tmp_path / "out", patience=1)
    until(lambda: len(run.samples()) >= 2)
    [(stalled, _)] = esx.started()
    os.kill(int(stalled), signal.SIGSTOP)
    until(lambda: any("captures again" in text for text in run.said))
    os.kill(int(stalled), signal.SIGCONT)
    assert run.end().gaps == 1
    # Four intervals, which are longer than the patience.
    [gap] = noted(run.folder, "gap")
    assert gap["why"] == "no sample came for 8 s"
    until(lambda: not esx.runs())


@pytest.mark.search
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("noise", ["tr '\\0' x < /dev/zero", "yes a line of some length"], ids=["one line", "lines"])
def test_endless_standard_error_takes_no_memory(esx, tmp_path, noise):
    """Besides the samples; `noisy` is there as soon as 20 MB of it were taken."""
    (esx.folder / "bin" / "esxtop").rename(esx.folder / "bin" / "real")
    begun = f"{noise} | (head -c 20000000 >&2; touch {esx.folder}/noisy; cat >&2)"
    esx.install("esxtop", f'#!/bin/sh\n({begun}) &\n{esx.folder}/bin/real "$@"\nkill 0\n')
    esx.say("pace", "0.5")
    command = [sys.executable, "-m", "esxparse", "collect", "host", "esx", "-o", "out", "-F", esx.config]
    # Tests before this one have had larger children: a process of its own asks for the memory.
    measured = [sys.executable, "-c", _MEASURED, *command, "--duration", "20s", "--interval", "2s"]
    with subprocess.Popen(measured, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        said, told = run.communicate(timeout=60)
    largest = int(said.split()[-1])
    assert run.returncode == 0, told[-500:]
    assert (esx.folder / "noisy").exists()
    assert len(told) < 20_000
    assert largest < 400_000
    assert ex.open(tmp_path / "out" / "esx.csv.gz").meta["samples"] == 10
