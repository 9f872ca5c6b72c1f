"""What a test needs that a machine may lack, said in one way: `@pytest.mark.needs("tshark", "isal")`.

A test finds on its PATH the programs that it names, and no other. So a forgotten word fails on every machine, and not
only on the one that lacks the program.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

PROGRAMS = {
    # Debian's name, and the names of others: the first that is there.
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    **{
        name: (name,)
        for name in (
            "fio",
            "go",
            "hpcc",
            "ioping",
            "iostat",
            "iperf3",
            "lscpu",
            "mpstat",
            "numactl",
            "openssl",
            "perf",
            "pidstat",
            "redis-benchmark",
            "redis-server",
            "sadf",
            "sar",
            "ssh",
            "ssh-keygen",
            "sshd",
            "sysbench",
            "tshark",
            "unshare",
            "vmstat",
        )
    },
}
PACKAGES = {
    "aiohttp": "aiohttp",
    "anywidget": "anywidget",
    "daft": "daft",
    "distributed": "distributed",
    "duckdb": "duckdb",
    "fsspec": "fsspec",
    "great-expectations": "great_expectations",
    "isal": "isal",
    "moto": "moto",
    "obstore": "obstore",
    "jupyterlab": "jupyterlab",
    # `make docs` installs it.
    "mkdocs": "mkdocs",
    # The compiled scanner, which is built where the machine has a Rust toolchain.
    "native": "esxparse._native",
    "playwright": "playwright",
    "pyvmomi": "pyVmomi",
    "zstd": "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",
}
# Fixtures that start a program: who asks for one need not say it again.
FIXTURES = {"chromium": ("chromium", "playwright"), "vcsim": ("go", "pyvmomi")}
# The PATH of the machine, which the processes of pytest-xdist would not see otherwise.
PATH = os.environ.setdefault("ESXPARSE_MACHINE_PATH", os.environ.get("PATH", os.defpath))


def missing(what: str) -> None:
    """Skips the test that needs `what`; fails it where everything was promised to be there."""
    if os.environ.get("ESXPARSE_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is required here (ESXPARSE_REQUIRE_ALL=1)")
    pytest.skip(f"needs {what}")


def installed(package: str) -> bool:
    above, _, _ = package.rpartition(".")
    return (not above or installed(above)) and importlib.util.find_spec(package) is not None


def check(names: frozenset[str]) -> None:
    """Skips the test, or fails it, where one of `names` is missing."""
    unknown = names - PROGRAMS.keys() - PACKAGES.keys()
    if unknown:
        pytest.fail(f"tests/needs.py knows no {', '.join(sorted(unknown))}")
    for name in sorted(names):
        if not (installed(PACKAGES[name]) if name in PACKAGES else program(name)):
            missing(name)


def program(name: str) -> str | None:
    """Where a program is on this machine."""
    # Debian keeps servers where users have no PATH to.
    where = f"{PATH}{os.pathsep}/usr/sbin"
    return next(filter(None, (shutil.which(one, path=where) for one in PROGRAMS[name])), None)


@cache
def path_of(names: frozenset[str]) -> str:
    """A directory that holds `names`, the programs among them, and nothing else.

    A program that is a script finds its own helpers all the same: it is started with the PATH of the machine.
    """
    folder = Path(_ROOT.name, "-".join(sorted(names & PROGRAMS.keys())) or "none")
    folder.mkdir(exist_ok=True)
    for name in names & PROGRAMS.keys():
        if real := program(name):
            start = folder / name
            start.write_text(f'#!/bin/sh\nPATH={shlex.quote(PATH)} exec {shlex.quote(real)} "$@"\n')
            start.chmod(0o755)
    return str(folder)


_ROOT = tempfile.TemporaryDirectory(prefix="esxparse-programs-")
