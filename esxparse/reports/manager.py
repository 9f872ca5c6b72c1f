"""The manager that makes a waiting process a kernel (`kernel`)."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from math import inf
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import TYPE_CHECKING, Any

import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

if TYPE_CHECKING:
    from subprocess import Popen

NAME = "esxparse-report"


class _NoSpecs(KernelSpecManager):
    """Returns these kernel arguments for every name."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002 - one answer to every name
        return KernelSpec(argv=["-f", "{connection_file}"], display_name=NAME, language="python")


class _Started(LocalProvisioner):
    """Makes a kernel of an existing process."""

    waiting: Popen[bytes]

    async def launch_kernel(self, cmd: list[str], **_: Any) -> Any:
        self.process, self.pid = self.waiting, self.waiting.pid
        # It will lead a session of its own, perhaps only in a moment: until then its group is its parent's.
        self.pgid = self.pid if hasattr(os, "getpgid") else None
        if self.waiting.stdin is not None:
            self.waiting.stdin.write(json.dumps(cmd).encode())
            self.waiting.stdin.close()
        return self.connection_info

    async def kill(self, restart: bool = False) -> None:
        await super().kill(restart)
        # A killed process is gone at once; jupyter_client would look again after a tenth of a second.
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


def managed(process: Popen[bytes], folder: Path, *, sockets: bool) -> type[AsyncKernelManager]:
    """Return the manager class for nbclient, which ends its kernel whatever happens.

    `folder`: a private directory. `sockets`: whether its path is short enough for sockets; otherwise the kernel uses
    ports of this machine.
    """

    class Manager(AsyncKernelManager):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs, kernel_spec_manager=_NoSpecs(), connection_file=str(folder / "k.json"))
            # Sockets in a private directory: no port that others on the machine could reach, and no warning about a
            # port. ZeroMQ has them on POSIX systems only.
            if os.name == "posix" and sockets:
                self.transport = "ipc"
            self.client_factory = _Client
            # The kernel may be ready at any moment: look again soon.
            self.context.setsockopt(zmq.RECONNECT_IVL, 5)
            self.provisioner = _Started(parent=self, kernel_spec=self.kernel_spec, kernel_id=NAME)
            self.provisioner.waiting = process

    return Manager
