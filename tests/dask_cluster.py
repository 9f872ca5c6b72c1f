"""A Dask cluster of real processes on this machine: a scheduler, and workers of one thread each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from esxparse.reports.forks import die_with

_START_S = 120


def _with_us(parent: int):
    """What ends a process with this one, however that ends."""
    return lambda: die_with(parent)


class Cluster:
    """A scheduler and its workers, each a process that can be killed."""

    def __init__(
        self,
        folder: Path,
        workers: int,
        path: tuple[str, ...] = (),
        *,
        pinned: bool = False,
        first: str = "",
        theirs: str = "",
        limit: str = "",
        tls: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._nanny = ("--memory-limit", limit) if limit else ("--no-nanny",)
        self._pinned = pinned
        self._theirs = theirs
        self._env = os.environ | {
            "PYTHONPATH": os.pathsep.join((*path, os.environ.get("PYTHONPATH", ""))),
            "POLARS_MAX_THREADS": "1",
            "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h",
            **(tls or {}),
        }
        host = "tls://127.0.0.1" if tls else "127.0.0.1"
        file = folder / "scheduler.json"
        file.unlink(missing_ok=True)
        self.scheduler = self._start(
            *("scheduler", "--host", host, "--port", "0", "--no-dashboard", "--scheduler-file", str(file)),
            first=first,
        )
        self._wait(file.is_file)
        # The file is there before all of it is written.
        self._wait(lambda: b'"address"' in file.read_bytes() and file.read_bytes().rstrip().endswith(b"}"))
        with pytest.importorskip("distributed").Client(scheduler_file=str(file), set_as_default=False) as client:
            self.tcp = client.scheduler.address
            self.workers = [self._worker(place) for place in range(workers)]
            client.wait_for_workers(workers, timeout=_START_S)
        self.on = self.tcp.replace("tcp://", "dask://")

    def _worker(self, place: int) -> subprocess.Popen[bytes]:
        folder = str(self._folder / f"worker-{place}")
        words = ("--nthreads", "1", "--no-dashboard", "--local-directory", folder, *self._nanny)
        made = self._start("worker", self.tcp, *words, first=self._theirs)
        if self._pinned:
            os.sched_setaffinity(made.pid, {place})
        return made

    def _start(self, *words: str, first: str = "") -> subprocess.Popen[bytes]:
        env = self._env | ({"PYTHONPATH": first} if first else {})
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        with (self._folder / f"{words[0]}-{time.monotonic_ns()}.log").open("wb") as log:
            end = _with_us(os.getpid())
            # `-m` looks for modules in its directory first.
            here = first or None
            return subprocess.Popen(command, env=env, cwd=here, stdout=log, stderr=log, preexec_fn=end)  # noqa: PLW1509

    @staticmethod
    def _wait(ready) -> None:
        until = time.monotonic() + _START_S
        while not ready():
            assert time.monotonic() < until, "the cluster does not start"
            time.sleep(0.05)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a process without a word, as a machine that loses power."""
        process.send_signal(signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        """Ends all that is left."""
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                self.kill(process)


@contextmanager
def cluster(folder: Path, workers: int = 2, path: tuple[str, ...] = (), **more: Any):
    """A cluster as long as it is entered.

    `path`: where workers find modules of tests. `pinned`: whether each worker has a processor of its own.
    `first`, `theirs`: where the scheduler and the workers look for modules before anywhere else. `limit`: memory of
    each worker, which a nanny then kills if it takes more. `tls`: the settings for certificates, in the environment.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = Cluster(folder, workers, path, **more)
    try:
        yield made
    finally:
        made.close()
