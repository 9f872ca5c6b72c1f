"""One report of a batch: the page, and the facts that the batch keeps."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from esxparse.errors import LossWarning
from esxparse.reports import facts, forks, kernel, standby
from esxparse.reports.batch_state import fingerprints
from esxparse.reports.run import Order, made
from esxparse.whole import sha256, whole_file

_KEPT_FDS: Final = 3


class Forked:
    """A copy of this process that waits to become a kernel; has the part of Popen that provisioners use."""

    stdout = stderr = None

    def __init__(self, env: Mapping[str, str], work: Path) -> None:
        arguments, write_end = os.pipe()
        self.returncode: int | None = None
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid:
            os.close(arguments)
            self.stdin = os.fdopen(write_end, "wb")
            return
        try:
            forks.die_with(parent)
            os.setsid()
            os.environ.clear()
            os.environ.update(env)
            os.chdir(work)
            os.dup2(arguments, 0)
            sys.stdin = os.fdopen(0, closefd=False)
            # A kernel must not have the locks, pipes and files of its parent.
            os.closerange(_KEPT_FDS, os.sysconf("SC_OPEN_MAX"))
            standby.become(f"--IPKernelApp.parent_handle={parent}")
        finally:
            os._exit(0)

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._look(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int | None:  # noqa: ARG002  as of Popen
        """Wait for the end."""
        return self._look(0)

    def _look(self, how: int) -> int | None:
        if self.returncode is None:
            with suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, how)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


def _forked(_notebook: Path, env: dict[str, str], work: Path) -> Forked:
    return Forked(env, work)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Make the report of `job` and its state file, which a later batch trusts (`batch_state`); return the state.

    `job`: {inputs, template, parameters, opening, output, state, asked}.
    """
    before = fingerprints(job["inputs"])
    with warnings.catch_warnings():
        # The facts include the losses, for the end of the batch.
        warnings.simplefilter("ignore", LossWarning)
        order = Order(job["inputs"], job["template"], job["output"], job["parameters"], job["opening"], last=facts.CELL)
        page, notebook = made(order, launch=_forked if forks.FORKS else kernel.launched)
    state = {**job["asked"], "files": before, "page": sha256(page), "facts": facts.kept(notebook)}
    with whole_file(Path(job["state"])) as file:
        file.write(json.dumps(state).encode())
    return state
