"""The Jupyter kernel that runs a report: always this very interpreter, started before it is needed.

A kernel spec called `python3` in the user's home may start another Python, without esxparse. So no spec is looked up:
the process here is `sys.executable`, which imports what the template imports (`standby`) while the command still checks
its arguments, and waits for the manager that makes a kernel of it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from queue import Empty
from subprocess import PIPE, Popen
from time import monotonic
from typing import Any

import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.launcher import launch_kernel
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from esxparse.whole import Scratch

NAME = "esxparse-report"


_LONGEST_SOCKET = 90
"""Bytes of a directory's path to which a socket's name can be added: POSIX takes some 100 in all."""

_SHORT = ("XDG_RUNTIME_DIR",)
"""Variables that may name a directory with a short path."""


def fits(folder: Path) -> bool:
    """Whether sockets can lie in a directory."""
    return len(os.fsencode(folder)) <= _LONGEST_SOCKET


def short_folder() -> Path | None:
    """A directory for sockets, where the path of the usual one is too long; None where there is nothing to be done."""
    if fits(Path(tempfile.gettempdir(), "ex-12345678")):
        return None
    candidates = (*(os.environ.get(name, "") for name in _SHORT), "/tmp", "/var/tmp")  # noqa: S108  made by mkdtemp
    return next((Path(one) for one in candidates if one and os.access(one, os.W_OK) and fits(Path(one))), None)


class _NoSpecs(KernelSpecManager):
    """Answers to every name that the kernel takes these arguments."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002 - one answer to every name
        return KernelSpec(argv=["-f", "{connection_file}"], display_name=NAME, language="python")


class _Started(LocalProvisioner):
    """Makes a kernel of a process that is there."""

    waiting: Popen[bytes]

    async def launch_kernel(self, cmd: list[str], **_: Any) -> Any:
        self.process, self.pid = self.waiting, self.waiting.pid
        self.pgid = os.getpgid(self.pid) if hasattr(os, "getpgid") else None
        if self.waiting.stdin is not None:
            self.waiting.stdin.write(json.dumps(cmd).encode())
            self.waiting.stdin.close()
        return self.connection_info

    async def kill(self, restart: bool = False) -> None:
        await super().kill(restart)
        # A process that was killed is gone at once; jupyter_client would look again after a tenth of a second.
        self.waiting.wait()


class _Client(AsyncKernelClient):
    """Talks to the kernel as soon as it answers; jupyter_client would listen a fifth of a second for more."""

    async def wait_for_ready(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - so it is called
        until = monotonic() + (timeout or inf)
        while monotonic() < until:
            self.kernel_info()
            with suppress(Empty):
                await self.shell_channel.get_msg(timeout=1)
                await self.iopub_channel.get_msg(timeout=0.2)
                return
            if not await self.is_alive():
                raise RuntimeError("the kernel ended before it was ready")
        raise RuntimeError(f"the kernel did not start in {timeout:g} s")


def launched(notebook: Path, env: dict[str, str], work: Path) -> Popen[bytes]:
    """A process that is about to become the kernel of `notebook`, begun from nothing."""
    command = [sys.executable, "-m", "esxparse.reports.standby", str(notebook.resolve())]
    process: Popen[bytes] = launch_kernel(command, stdin=PIPE, env=env, cwd=str(work))
    return process


@contextmanager
def started(
    notebook: Path, env: Mapping[str, str], launch: Callable[[Path, dict[str, str], Path], Any] = launched
) -> Iterator[type[AsyncKernelManager]]:
    """The class of kernel manager for one run of `notebook`; its kernel starts now, and ends with the context.

    `env`: environment variables of the kernel on top of those of this process. `launch`: what begins its process.
    """
    with Scratch("ex-") as home, Scratch("ex-", short_folder()) as sockets:
        settings = {
            **os.environ,
            # Everything that IPython would put into the user's home.
            "IPYTHONDIR": str(home / "ipython"),
            # Jupyter's debugger warns on stderr about frozen modules; nobody debugs a report.
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            **env,
        }
        work = home / "work"
        work.mkdir()
        process = launch(notebook, settings, work)
        try:
            yield _manager(process, sockets)
        finally:
            process.kill()
            process.wait()


def _manager(process: Popen[bytes], sockets: Path) -> type[AsyncKernelManager]:
    """The class of which nbclient makes a manager, and ends its kernel whatever happens.

    Where the names of sockets would be longer than they may be, the kernel is reached through ports of this machine.
    """

    class Manager(AsyncKernelManager):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs, kernel_spec_manager=_NoSpecs(), connection_file=str(sockets / "k.json"))
            # Sockets in a private directory: no port that others on the machine could reach, and no warning about
            # one. ZeroMQ has them on POSIX systems only.
            if os.name == "posix" and fits(sockets):
                self.transport = "ipc"
            self.client_factory = _Client
            # The kernel is there at any moment: look again soon.
            self.context.setsockopt(zmq.RECONNECT_IVL, 5)
            self.provisioner = _Started(parent=self, kernel_spec=self.kernel_spec, kernel_id=NAME)
            self.provisioner.waiting = process

    return Manager
