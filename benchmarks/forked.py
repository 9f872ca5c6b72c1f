"""Run pytest in forks of a process that has imported what the tests import, except the package that is changed.

A line of JSON on stdin is a list of arguments for pytest; the answer on stdout is the exit status, 1 after LONGEST_S.
Mutants need it: to start Python and to import polars, altair and pytest takes longer than most tests.
Run by mutation_meaning.py: `PYTHONPATH=TREE:TREE/simulator python benchmarks/forked.py` in TREE
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from typing import Final

import pytest

LONGEST_S: Final = 600
MODULES: Final = (
    "_pytest.assertion.rewrite", "altair", "hypothesis.extra.numpy", "IPython", "jupyter_client.manager", "narwhals",
    "nbformat", "numpy", "papermill", "playwright.sync_api", "polars", "polars.testing", "xdist.plugin",
    "_hypothesis_pytestplugin",
)  # fmt: skip
"""Imported once. None of them computes anything then: threads do not survive a fork."""


def forked(arguments: list[str]) -> int:
    """The exit status of pytest in a fork, or 1 if it takes too long."""
    child = os.fork()
    if not child:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.setsid()
        status = 1
        try:
            status = int(pytest.main(arguments))
        finally:
            os._exit(status)
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def main() -> None:
    """Answers until stdin ends."""
    for name in MODULES:
        importlib.import_module(name)
    for line in sys.stdin:
        print(forked(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
