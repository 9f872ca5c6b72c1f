"""What a batch has done before it forks: polars that has run in a process hangs in its forks."""

from __future__ import annotations

import subprocess
import sys

import pytest

import esxparse as ex

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")

_THREADS = """
import importlib, os, pkgutil, sys
import esxparse
{}
names = [open(f"/proc/self/task/{{one}}/comm").read().strip() for one in os.listdir("/proc/self/task")]
print([one for one in names if one.startswith(("polars-0", "tokio", "async"))])
"""
_EVERY = """
for one in pkgutil.walk_packages(esxparse.__path__, "esxparse."):
    if not one.name.endswith("__main__"):
        importlib.import_module(one.name)
"""
_PREPARED = """
from esxparse.reports import batch_queue
batch_queue._prepare(sys.argv[1:])
"""


def threads(code, *words):
    """The threads of polars' engine after some code, in a process of its own."""
    command = [sys.executable, "-c", _THREADS.format(code), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.strip()


@pytest.mark.search
def test_no_import_runs_polars():
    assert threads(_EVERY) == "[]"


@pytest.mark.search
def test_a_batch_has_not_run_polars_when_it_forks():
    notebooks = sorted(ex.templates_dir().glob("*.ipynb"))
    assert notebooks
    assert threads(_PREPARED, *notebooks) == "[]"


def test_the_threads_of_polars_are_seen():
    ran = "import polars as pl; pl.DataFrame({'a': [1]}).lazy().select(pl.col('a').sum()).collect()"
    assert threads(ran) != "[]"
