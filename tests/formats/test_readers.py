"""Every registered reader over every bundled recording: a new reader is tested the day it is added."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import zipfile

import polars as pl
import pytest

import esxparse as ex
from esxparse import cli
from esxparse.formats import registry, source
from esxparse.formats.catalogue import described
from esxparse.formats.kit.head import Head
from esxparse.formats.registry import readers

RECORDINGS = [
    path
    for folder in ("busy-host", "formats")
    for path in sorted((ex.datasets_dir() / folder).iterdir())
    if path.suffix != ".md"
]
"""Those of the studies have tests of their own."""


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
def test_a_reader_says_what_it_reads_and_which_tables_come_out(reader):
    assert reader.title
    assert reader.name == reader.reading.FORMAT
    assert "Tables\n------" in described(reader.name).text
    assert not reader.recognise(Head(b""))
    assert not reader.recognise(Head(b"time,value\n1,2\n"))


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
def test_a_reader_has_a_recording_to_show(reader):
    assert any(reader.recognise(Head(path.read_bytes()[:4096])) for path in RECORDINGS)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.needs("tshark")] if path.suffix == ".pcapng" else [])
        for path in RECORDINGS
    ],
)
def test_a_bundled_recording_is_read_by_one_reader_into_sound_tables(path):
    head = Head(path.read_bytes()[: 1 << 20])
    (reader,) = [reader for reader in readers() if reader.recognise(head)]
    rec = ex.open(path)
    assert rec.format == reader.recordings
    assert len(rec) == len(rec.tables) > 0
    for name in rec:
        frame = rec[name].collect()
        assert frame.height > 0, name
        if "time" in frame.columns:
            assert frame.schema["time"] == pl.Datetime("us", "UTC")
            assert frame["time"].null_count() == 0
    assert not any(note.severity == "warning" for note in rec.notes)


def test_a_recording_shows_itself(busy_host):
    assert "esx-07.lab.example" in repr(busy_host)
    assert "vcpu" in repr(busy_host)
    shown = busy_host._repr_html_()
    assert "esx-07.lab.example" in shown
    assert "vcpu (83)" in shown


def test_what_a_recording_shows_is_escaped():
    rec = ex.Recording("esxtop", "<img src=x>", {}, {"vms": ["<script>"]}, (ex.Note("<b>"),))
    shown = rec._repr_html_()
    assert "<script>" not in shown
    assert "<img" not in shown
    assert "&lt;b&gt;" in shown


def test_a_recording_can_be_copied_and_sent_to_another_process(busy_host):
    again = pickle.loads(pickle.dumps(busy_host))  # noqa: S301  our own bytes
    assert again.meta == busy_host.meta
    assert again.notes == busy_host.notes
    assert again["memory"].collect().equals(busy_host["memory"].collect())
    assert copy.copy(busy_host)["memory"].collect().equals(busy_host["memory"].collect())
    assert len({busy_host, again}) == 2


def test_a_recording_shows_no_control_characters():
    rec = ex.Recording("esxtop", "capture.csv", {}, {"vms": ("\x1b]0;title\x07",)})
    assert "\x1b" not in repr(rec)


def test_a_recording_cannot_be_changed(busy_host):
    with pytest.raises(TypeError):
        busy_host.tables["memory"] = None
    with pytest.raises(AttributeError):
        busy_host.notes = ()


def test_what_the_command_line_can_do_python_can(busy_host_file, tmp_path):
    sliced = ex.slice(busy_host_file, tmp_path / "small.csv", counters=["%RDY"])
    assert isinstance(sliced, ex.Sliced)
    assert ex.open(tmp_path / "small.csv").meta["samples"] == sliced.samples
    assert isinstance(ex.templates()[0], ex.Template)
    assert callable(ex.collect.power)
    commands = {"info": "open", "collect": "collect", "report": "report", "slice": "slice", "convert": "convert"}
    commands |= {"formats": "catalogue", "study": "study", "templates": "templates", "simulate": "simulate"}
    commands |= {"diagnose": "diagnose", "rules": "rules", "check": "check", "batch": "batch", "lab": "explore"}
    commands |= {"lake": "lake", "compare": "compare", "right-size": "right_size"}
    commands |= {"export": "export", "timeline": "timeline", "plan": "plan", "audit": "audit"}
    assert set(cli._COMMANDS) == set(commands)
    assert all(hasattr(ex, function) for function in commands.values())


def test_the_public_names_are_all_there():
    assert all(getattr(ex, name) is not None for name in ex.__all__)
    assert {"open", "Recording", "datasets", "rules"} <= set(ex.__all__)
    assert set(ex.__all__) <= set(dir(ex))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ex.nonsense  # noqa: B018


def test_a_note_shows_no_control_characters():
    assert "\x1b" not in str(ex.Note("\x1b]0;title\x07", line=1))


@pytest.mark.parametrize("name", ["stream-runs.txt", "numactl-hardware.txt", "vmkperf-llc-misses.txt"])
def test_a_file_is_opened_once_to_be_recognised_and_once_to_be_read(monkeypatch, name):
    path = next(path for path in RECORDINGS if path.name.startswith(name.partition("-")[0]))
    opened = []
    local = source._local
    monkeypatch.setattr(source, "_local", lambda path: opened.append(path) or local(path))
    ex.open(path)
    assert opened == [path, path]


IN_THREADS = """
import importlib, sys, threading, tomllib
from esxparse.formats import registry

told = tomllib.loads(registry._DATA.read_text())
sys.setswitchinterval(1e-7)
for _ in range(100):
    of = importlib.reload(registry).Reader.of
    threads = [threading.Thread(target=lambda: [of(*one) for one in told.items()]) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
"""


def test_threads_that_open_the_first_files_at_once_do_not_kill_the_process():
    """One process in four died so, with nothing but a number of a signal."""
    subprocess.run([sys.executable, "-c", IN_THREADS], check=True, timeout=120)


def test_each_member_of_a_bundle_is_asked_for_once(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(registry, "_known", lambda head: asked.append(head.content) or head.content == b"two")
    with zipfile.ZipFile(tmp_path / "night.zip", "w") as bundle:
        for name in ("one", "two", "three"):
            bundle.writestr(name, name)
    with pytest.raises(ex.UnknownFormatError, match=r"night\.zip:two"):
        ex.open(tmp_path / "night.zip")
    assert asked == [b"one", b"two", b"three"]
