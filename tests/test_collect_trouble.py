"""Captures of a host where something goes wrong: over there, here, or on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest
from esxi import Collecting, Esxi, capture, keys, noted, until

import esxparse as ex

pytestmark = pytest.mark.needs("ssh", "sshd", "ssh-keygen")


@pytest.fixture
def esx(tmp_path):
    folder = tmp_path / "esxi"
    folder.mkdir()
    with closing(Esxi(folder, keys(tmp_path), capture())) as machine:
        yield machine


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
