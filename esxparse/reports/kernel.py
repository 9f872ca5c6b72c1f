"""The Jupyter kernel that runs a report: always this very interpreter.

A kernel spec called `python3` in the user's home may start another Python, without esxparse. So no spec is looked up:
the kernel manager here knows one spec, `sys.executable -m ipykernel_launcher`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

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


class _ThisInterpreter(KernelSpecManager):
    """Answers to every name with the interpreter that is running now."""

    def __init__(self, env: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._env = dict(env)

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002 - one answer to every name
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, env=self._env, display_name=NAME, language="python")


def manager_class(home: Path, sockets: Path, env: Mapping[str, str]) -> type[AsyncKernelManager]:
    """The class of kernel manager for one run; nbclient makes one of it, and ends its kernel whatever happens.

    Args:
        home: Empty directory for everything IPython would put into the user's home.
        sockets: Empty directory for the connection file and the sockets of the kernel. Where the names of those would
            be longer than a socket's name may be, the kernel is reached through ports of this machine instead.
        env: Environment variables of the kernel on top of those of this process.
    """
    settings = {
        "IPYTHONDIR": str(home / "ipython"),
        # Jupyter's debugger warns on stderr about frozen modules; nobody debugs a report.
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        **env,
    }

    class Manager(AsyncKernelManager):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(
                **kwargs, kernel_spec_manager=_ThisInterpreter(settings), connection_file=str(sockets / "k.json")
            )
            # Sockets in a private directory: no port that others on the machine could reach, and no warning about
            # one. ZeroMQ has them on POSIX systems only.
            if os.name == "posix" and fits(sockets):
                self.transport = "ipc"

    return Manager
