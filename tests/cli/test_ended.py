"""Commands that are killed or asked to end at any moment: nothing torn, nothing left, and the next run succeeds."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import hosts
import pytest
from esxi import Esxi, capture, keys

import esxparse as ex
from esxparse.lakes import upkeep
from esxparse.lakes.store import Store

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals"),
    pytest.mark.search,
]
TIMES = int(os.environ.get("ESXPARSE_ENDINGS", "5"))
"""Moments that each test tries; docs/security.md has the counts of longer runs."""
SIGNALS = [signal.SIGTERM, signal.SIGKILL, signal.SIGINT]


def ended(command: list[object], after: float, number: int, temporary: Path) -> tuple[int, str]:
    """Exit code and standard error of a command that gets a signal after so many seconds."""
    env = {**os.environ, "TMPDIR": str(temporary)}
    words = [sys.executable, "-m", "esxparse", *map(str, command)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env) as run:
        try:
            run.wait(after)
        except subprocess.TimeoutExpired:
            run.send_signal(number)
        try:
            _, told = run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            run.kill()
            raise
    return run.returncode, told


def moments(command: list[object], temporary: Path, seed: int) -> list[float]:
    """Moments at random within the time that the command takes; it does its work once.

    Until a program's first line runs, Python itself prints where Ctrl-C interrupts it.
    """
    began = time.monotonic()
    assert ended(command, 300, signal.SIGKILL, temporary)[0] == 0
    took = time.monotonic() - began
    drawn = random.Random(seed)  # noqa: S311
    first = 0.6 if seed == signal.SIGINT else 0.02
    return [drawn.uniform(first, max(took, first)) for _ in range(TIMES)]


def temporary_files(folder: Path, wait: float = 5) -> list[str]:
    """What is left in a directory, as soon as it is empty or after some seconds."""
    until = time.monotonic() + wait
    while (left := sorted(str(one) for one in folder.rglob("*"))) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def check(number: int, code: int, told: str, temporary: Path) -> None:
    assert code in {0, 1, {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -9}[number], -number}, told
    if number != signal.SIGKILL:
        assert "Traceback" not in told, told
        assert "ignored" not in told, told
        assert told.count("\n") <= 1, told
        assert temporary_files(temporary) == [], told


@pytest.fixture
def temporary(tmp_path):
    made = tmp_path / "temporary"
    made.mkdir()
    return made


@pytest.mark.parametrize("number", SIGNALS)
def test_lake_add(tmp_path, temporary, number):
    files = [hosts.capture(tmp_path, f"esx-{one:02}") for one in range(20)]
    places = moments(["lake", "add", *files, "--lake", tmp_path / "first"], temporary, number)
    for place, after in enumerate(places):
        where = tmp_path / f"lake-{place}"
        jobs = ["--jobs", "2"] if place % 4 == 3 else []
        command = ["lake", "add", *files, "--lake", where, *jobs]
        code, told = ended(command, after, number, temporary)
        check(number, code, told, temporary)
        if where.exists() and ex.lake(where):
            state = upkeep.verify(Store.of(where), content=True)
            assert (state.damaged, state.unreadable) == ((), {})
            if state.captures:
                assert ex.lake(where)["vcpu"].collect().height == 3 * state.captures
        assert ended(command, 300, number, temporary)[0] == 0
        assert ex.lake(where)["vcpu"].collect().height == 60
        assert temporary_files(temporary, 0) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_batch(tmp_path, temporary, number):
    files = [hosts.capture(tmp_path, f"esx-{one:02}") for one in range(3)]
    places = moments(["batch", *files, "-o", tmp_path / "first"], temporary, number)
    for place, after in enumerate(places):
        where = tmp_path / f"batch-{place}"
        command = ["batch", *files, "-o", where]
        code, told = ended(command, after, number, temporary)
        check(number, code, told, temporary)
        pages = list(where.glob("*.html"))
        assert all(one.read_text().rstrip().endswith("</html>") for one in pages)
        if number == signal.SIGTERM:
            assert not list(where.rglob("*esxparse-part*"))
    assert ended(command, 300, number, temporary)[0] == 0
    assert len(list(where.glob("*.html"))) == 4
    assert temporary_files(temporary, 0) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_report_and_convert(tmp_path, temporary, number):
    file = hosts.capture(tmp_path)
    page, folder = tmp_path / "page.html", tmp_path / "converted"
    for command in (["report", file, "-o", page], ["convert", file, "-o", folder]):
        for after in moments(command, temporary, number):
            page.unlink(missing_ok=True)
            code, told = ended(command, after, number, temporary)
            check(number, code, told, temporary)
            assert not page.exists() or page.read_text().rstrip().endswith("</html>")
    assert ex.open(folder / file.stem)["vcpu"].collect().height == 3


@pytest.mark.needs("ssh", "sshd", "ssh-keygen")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_collect(tmp_path, temporary, number):
    machine = Esxi(tmp_path, keys(tmp_path), capture())
    drawn = random.Random(number)  # noqa: S311
    try:
        for place in range(TIMES):
            machine.say("at", 1)
            where = tmp_path / f"collected-{place}"
            command = ["collect", "host", "esx", "-o", where, "-F", machine.config]
            code, told = ended(command, drawn.uniform(0.02, 5), number, temporary)
            if number == signal.SIGTERM:
                assert code in {0, 1, 143, -number}, told
                assert "Traceback" not in told
                assert temporary_files(temporary) == []
            for one in where.glob("*.gz"):
                lines = gzip.decompress(one.read_bytes()) if number == signal.SIGTERM else b""
                assert lines.endswith(b"\n") or number == signal.SIGKILL
                rec = ex.open(one)
                assert rec.meta["samples"] >= (1 if number == signal.SIGTERM else 0)
        last = ["collect", "host", "esx", "-o", tmp_path / "last", "--duration", "4s", "--interval", "2s"]
        done = ended([*last, "-F", machine.config], 60, number, temporary)
        assert done[0] == 0, done
        assert temporary_files(temporary) == []
    finally:
        machine.close()
