"""Captures that are compressed, bundled or piped give what the plain file gives."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile

import compose
import pytest

import esxparse as ex

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
WHOLE = compose.text(COLUMNS, [[f"{n}", f"{n}.25", f"{n}.50"] for n in range(2000)], step=0).encode()


def same(rec, plain):
    assert dict(rec.meta) == dict(plain.meta)
    assert list(rec) == list(plain)
    assert all(rec[name].collect().equals(plain[name].collect()) for name in plain)


@pytest.fixture
def plain(tmp_path):
    return ex.open(compose.write(tmp_path, WHOLE, "plain.csv"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_compressed(tmp_path, plain, pack):
    rec = ex.open(compose.write(tmp_path, pack(WHOLE), "night.bin"))
    same(rec, plain)
    assert rec.notes == plain.notes
    assert rec.source == str(tmp_path / "night.bin")


def test_the_bundled_capture_compressed(tmp_path, busy_host, busy_host_file):
    rec = ex.open(compose.write(tmp_path, gzip.compress(busy_host_file.read_bytes(), 1), "busy-host.csv.gz"))
    same(rec, busy_host)
    window = ex.open(tmp_path / "busy-host.csv.gz", start="2026-03-11T09:02", end="2026-03-11T09:03")
    assert window.meta["samples"] == 13


def test_several_members_and_several_captures(tmp_path, plain):
    header, _, rows = WHOLE.partition(b"\n")
    middle = rows.index(b"\n", len(rows) // 2) + 1
    members = gzip.compress(header + b"\n" + rows[:middle]) + gzip.compress(rows[middle:])
    same(ex.open(compose.write(tmp_path, members, "a.gz")), plain)
    other = compose.text([("Memory", "Free MBytes")], [["7"]]).encode()
    glued = ex.open(compose.write(tmp_path, gzip.compress(WHOLE) + gzip.compress(other), "b.gz"), segment=2)
    assert glued["memory"].collect()["free_mbytes"].to_list() == [7.0]


def test_a_cut_gzip_gives_what_came_before_and_says_so(tmp_path):
    packed = gzip.compress(WHOLE)
    rec = ex.open(compose.write(tmp_path, packed[: len(packed) // 2], "cut.gz"))
    memory = rec["memory"].collect()["free_mbytes"].to_list()
    assert 0 < len(memory) < 2000
    assert memory == [float(n) for n in range(len(memory))]
    assert any("cut" in note.message and note.severity == "warning" for note in rec.notes)


def test_bundles(tmp_path, plain):
    compose.write(tmp_path, WHOLE, "one.csv")
    compose.write(tmp_path, compose.text([("Memory", "Free MBytes")], [["7"]]), "two.csv")
    with tarfile.open(tmp_path / "support.tgz", "w:gz") as bundle:
        bundle.add(tmp_path / "one.csv", "logs/one.csv")
        bundle.add(tmp_path / "two.csv", "logs/two.csv")
    with pytest.raises(ex.EsxparseError, match=r"holds 2 captures.*logs/one\.csv"):
        ex.open(tmp_path / "support.tgz")
    same(ex.open(tmp_path / "support.tgz", "logs/one.csv"), plain)
    assert ex.open(f"{tmp_path / 'support.tgz'}:logs/two.csv").meta["samples"] == 1
    with zipfile.ZipFile(tmp_path / "one.zip", "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.write(tmp_path / "one.csv", "one.csv")
    same(ex.open(tmp_path / "one.zip"), plain)


@pytest.mark.search
def test_standard_input(busy_host_file):
    done = subprocess.run(
        [sys.executable, "-m", "esxparse", "info", "-"],
        input=gzip.compress(busy_host_file.read_bytes(), 1),
        capture_output=True,
        env={**os.environ, "PYTHONUTF8": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"8 VMs" in done.stdout


def test_blocks_of_content_of_unknown_length(tmp_path, monkeypatch):
    """Nobody knows how long a compressed capture is: one block after another is filled."""
    monkeypatch.setattr("esxparse.formats.esxtop.body._UNKNOWN", 4096)
    monkeypatch.setattr("esxparse.formats.esxtop.body.PIECE", 4096)
    plain = ex.open(compose.write(tmp_path, WHOLE, "plain.csv"))
    same(ex.open(compose.write(tmp_path, gzip.compress(WHOLE), "packed.gz")), plain)
