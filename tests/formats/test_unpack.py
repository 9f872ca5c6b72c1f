"""Large compressed captures, and what can be read once: a temporary file, for as long as it is needed."""

from __future__ import annotations

import gc
import gzip
import pickle
import subprocess
import sys
import tempfile
import zipfile
from typing import TYPE_CHECKING

import pytest
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.formats import esxtop
from esxparse.formats.source import resolve
from esxparse.formats.unpack import unpacked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    """Where temporary files go, seen from outside."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def packed(busy_host_file, tmp_path) -> Path:
    file = tmp_path / "busy-host.csv.gz"
    file.write_bytes(gzip.compress(busy_host_file.read_bytes(), 1))
    return file


@pytest.mark.search
def test_a_large_compressed_capture_is_unpacked_for_as_long_as_its_tables(busy_host, packed, scratch, monkeypatch):
    monkeypatch.setattr(esxtop, "UNPACK_FROM", 1000)
    monkeypatch.setattr(esxtop, "LAZY_FROM", 1000)
    rec = ex.open(packed)
    assert rec.source == str(packed)
    assert len(list(scratch.iterdir())) == 1
    table = rec["vcpu"]
    del rec
    gc.collect()
    assert_frame_equal(table.collect(), busy_host["vcpu"].collect())
    del table
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_small_one_and_one_asked_for_at_once_are_read_into_memory(busy_host, packed, scratch, monkeypatch):
    assert_frame_equal(ex.open(packed)["memory"].collect(), busy_host["memory"].collect())
    monkeypatch.setattr(esxtop, "UNPACK_FROM", 1000)
    assert_frame_equal(ex.open(packed, lazy=False)["memory"].collect(), busy_host["memory"].collect())
    assert list(scratch.iterdir()) == []


def test_a_copy_sent_to_another_process_does_not_take_the_file_away(packed, scratch, monkeypatch):
    monkeypatch.setattr(esxtop, "UNPACK_FROM", 1000)
    monkeypatch.setattr(esxtop, "LAZY_FROM", 1000)
    rec = ex.open(packed)
    again = pickle.loads(pickle.dumps(rec))  # noqa: S301  our own bytes
    del again
    gc.collect()
    assert rec["memory"].collect().height == 121
    assert len(list(scratch.iterdir())) == 1


def test_a_cut_one_says_so(packed, scratch, monkeypatch):
    monkeypatch.setattr(esxtop, "UNPACK_FROM", 1000)
    packed.write_bytes(packed.read_bytes()[:-20_000])
    rec = ex.open(packed)
    assert any("gzip data is cut" in note.message and note.severity == "warning" for note in rec.notes)
    assert 1 < rec["memory"].collect().height < 121
    del rec
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_full_disk_is_one_line(packed):
    script = (
        "import resource, sys, esxparse as ex; from esxparse.formats.source import resolve;"
        "from esxparse.formats.unpack import unpacked; import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "\ntry:\n unpacked(resolve(sys.argv[1]))\nexcept ex.UnreadableError as error:\n print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script, packed], capture_output=True, text=True, check=True)
    assert "cannot be unpacked into" in done.stdout
    assert "set TMPDIR to a place with room" in done.stdout


def test_unpacked_content_is_the_content(packed, busy_host_file, scratch):
    source = unpacked(resolve(packed))
    assert source.path.read_bytes() == busy_host_file.read_bytes()
    assert source.path.is_relative_to(scratch)
    assert source.name == str(packed)


def test_a_bundle_with_another_format_is_opened_by_its_only_recording(tmp_path):
    zipped = tmp_path / "run.zip"
    sample = next((ex.datasets_dir() / "formats").glob("fio-*.json"))
    with zipfile.ZipFile(zipped, "w") as bundle:
        bundle.writestr("notes.txt", "a run")
        bundle.write(sample, "out/result.json")
    assert ex.open(zipped).format == "fio"
    with zipfile.ZipFile(zipped, "a") as bundle:
        bundle.write(ex.datasets_dir() / "busy-host" / "busy-host.csv", "capture.csv")
    assert ex.open(zipped).format == "esxtop"
    assert ex.open(f"{zipped}:out/result.json").format == "fio"
