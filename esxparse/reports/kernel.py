"""The Jupyter kernel that runs a report: always this very interpreter.

A kernel spec called `python3` in the user's home may start another Python, without esxparse. So no spec is looked up:
the kernel manager here knows one spec, `sys.executable -m ipykernel_launcher`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAME = "esxparse-report"


class _ThisInterpreter(KernelSpecManager):
    """Answers to every name with the interpreter that is running now."""

    def __init__(self, env: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._env = dict(env)

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002 - one answer to every name
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, env=self._env, display_name=NAME, language="python")


def manager_class(home: Path, env: Mapping[str, str]) -> type[AsyncKernelManager]:
    """The class of kernel manager for one run; nbclient makes one of it, and ends its kernel whatever happens.

    Args:
        home: Empty directory for the connection file and everything IPython would put into the user's home. Its path
            must be short: the sockets of the kernel lie in it, and their names may have about 100 characters.
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
                **kwargs, kernel_spec_manager=_ThisInterpreter(settings), connection_file=str(home / "k.json")
            )
            # Sockets in a private directory: no port that others on the machine could reach, and no warning about
            # one. ZeroMQ has them on POSIX systems only.
            if os.name == "posix":
                self.transport = "ipc"

    return Manager
