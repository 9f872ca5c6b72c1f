"""Progress on a terminal, and none elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from esxparse.cli.progress import Progress

SLOW = """
import sys, time
import esxparse.formats.registry as registry
from esxparse.cli import main
read = registry.open_recording
def slow(*given, **options):
    time.sleep(1.6)
    return read(*given, **options)
registry.open_recording = slow
sys.exit(main(sys.argv[1:]))
"""


def run_on_a_terminal(*words):
    """Standard output, and what a terminal got as standard error."""
    main, side = pty.openpty()
    try:
        command = [sys.executable, "-c", SLOW, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=side, env=dict(os.environ)) as run:
            os.close(side)
            shown = b""
            while piece := _read(main):
                shown += piece
            printed = run.stdout.read()
    finally:
        os.close(main)
    return printed.decode(), shown.decode()


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        # The other side has closed it.
        return b""


def test_a_command_that_takes_over_a_second_says_so_on_a_terminal(busy_host_file):
    printed, shown = run_on_a_terminal("info", str(busy_host_file))
    assert "esx-07" in printed
    assert "reading busy-host.csv (1 s)" in shown
    # Nothing of it stays.
    assert shown.endswith("\r\x1b[K")


class Terminal:
    def __init__(self, is_one):
        self.is_one = is_one
        self.text = ""

    def isatty(self):
        return self.is_one

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(("is_one", "quiet"), [(False, False), (True, True)])
def test_nothing_is_shown_without_a_terminal_or_if_asked_to_be_quiet(monkeypatch, is_one, quiet):
    terminal = Terminal(is_one)
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("x", quiet=quiet) as progress:
        progress(1, 2, "y")
    assert not terminal.text


def test_steps_are_drawn_at_once_and_names_cannot_steer_the_terminal(monkeypatch):
    terminal = Terminal(True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("x") as progress:
        progress(1, 2, "a\x1b]0;name\x07")
    assert "[############............]" in terminal.text
    assert "\x1b]" not in terminal.text
