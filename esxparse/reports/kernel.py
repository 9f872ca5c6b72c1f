"""The Jupyter kernel that runs a report: always this very interpreter, started before it is needed.

A kernel spec called `python3` in the user's home may start another Python, without esxparse. So no spec is looked up:
the process here is `sys.executable`, which imports what the template imports (`standby`) while the command still checks
its arguments, and waits for the manager (`manager`) that makes a kernel of it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING, Any

from esxparse.whole import Scratch

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

_LONGEST_SOCKET = 90
"""Bytes of a directory's path to which a socket's name can be added: POSIX takes some 100 in all."""

_SHORT = ("XDG_RUNTIME_DIR",)
"""Variables that may name a directory with a short path."""


def fits(folder: Path) -> bool:
    """Whether sockets can lie in a directory."""
    return len(os.fsencode(folder)) <= _LONGEST_SOCKET


def short_folder() -> Path | None:
    """A directory for sockets, where the path of the usual one is too long; None if there is nothing to be done."""
    if fits(Path(tempfile.gettempdir(), "ex-12345678")):
        return None
    candidates = (*(os.environ.get(name, "") for name in _SHORT), "/tmp", "/var/tmp")  # noqa: S108  made by mkdtemp
    return next((Path(one) for one in candidates if one and os.access(one, os.W_OK) and fits(Path(one))), None)


def launched(notebook: Path, env: dict[str, str], work: Path) -> Popen[bytes]:
    """A process that is about to become the kernel of `notebook`, begun from nothing."""
    command = [sys.executable, "-m", "esxparse.reports.standby", str(notebook.resolve())]
    if os.name == "posix":
        # What jupyter_client's launcher does, which takes as long to import as Python to start.
        env = {**env, "JPY_PARENT_PID": str(os.getpid())}
        return Popen(command, stdin=PIPE, env=env, cwd=work, start_new_session=True)  # noqa: S603  Python itself
    from jupyter_client.launcher import launch_kernel  # noqa: PLC0415

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
            # Else polars keeps what it freed until the system asks for it: a tenth of what a day's capture takes.
            "_RJEM_MALLOC_CONF": "muzzy_decay_ms:0",
            **os.environ,
            # Everything that IPython would put into the user's home.
            "IPYTHONDIR": str(home / "ipython"),
            # Jupyter's debugger warns on stderr about frozen modules; nobody debugs a report.
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            **env,
        }
        work = home / "work"
        work.mkdir()
        # A kernel is killed at the end, and clears nothing away itself.
        settings["TMPDIR"] = str(home / "tmp")
        (home / "tmp").mkdir()
        process = launch(notebook, settings, work)
        try:
            # Jupyter is imported here while the process imports what it needs.
            from esxparse.reports.manager import managed  # noqa: PLC0415

            yield managed(process, sockets, sockets=fits(sockets))
        finally:
            process.kill()
            process.wait()
