"""The Jupyter kernel that runs a report: always this interpreter, started before it is needed.

A kernel spec called `python3` in the user's home may start another Python, without esxparse. So no spec is looked up:
the process here is `sys.executable`. It imports the template's imports (`standby`) while the command still checks its
arguments. Then it waits for the manager (`manager`) that makes it a kernel.
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
"""Most bytes of a directory's path for a socket's name to fit: POSIX allows some 100 in all."""

_SHORT = ("XDG_RUNTIME_DIR",)
"""Variables that may hold a directory with a short path."""


def fits(folder: Path) -> bool:
    """Return whether a directory's path is short enough for sockets."""
    return len(os.fsencode(folder)) <= _LONGEST_SOCKET


def short_folder() -> Path | None:
    """Return a directory for sockets if the usual path is too long; None if it is not, or without such a directory."""
    if fits(Path(tempfile.gettempdir(), "ex-12345678")):
        return None
    candidates = (*(os.environ.get(name, "") for name in _SHORT), "/tmp", "/var/tmp")  # noqa: S108  made by mkdtemp
    return next((Path(one) for one in candidates if one and os.access(one, os.W_OK) and fits(Path(one))), None)


def launched(notebook: Path, env: dict[str, str], work: Path) -> Popen[bytes]:
    """Start a new process that will become the kernel of `notebook`."""
    command = [sys.executable, "-m", "esxparse.reports.standby", str(notebook.resolve())]
    if os.name == "posix":
        # As jupyter_client's launcher does, whose import takes as long as starting Python.
        env = {**env, "JPY_PARENT_PID": str(os.getpid())}
        return Popen(command, stdin=PIPE, env=env, cwd=work, start_new_session=True)  # noqa: S603  Python itself
    from jupyter_client.launcher import launch_kernel  # noqa: PLC0415

    process: Popen[bytes] = launch_kernel(command, stdin=PIPE, env=env, cwd=str(work))
    return process


@contextmanager
def started(
    notebook: Path, env: Mapping[str, str], launch: Callable[[Path, dict[str, str], Path], Any] = launched
) -> Iterator[type[AsyncKernelManager]]:
    """Yield the class of kernel manager for one run of `notebook`; its kernel starts now, and ends with the context.

    `env`: environment variables of the kernel on top of this process's. `launch`: starts its process.
    """
    with Scratch("ex-") as home, Scratch("ex-", short_folder()) as sockets:
        settings = {
            # Otherwise polars keeps freed memory until the system needs it: a tenth of the memory for a day's capture.
            "_RJEM_MALLOC_CONF": "muzzy_decay_ms:0",
            **os.environ,
            # IPython would put its files into the user's home.
            "IPYTHONDIR": str(home / "ipython"),
            # Jupyter's debugger warns on stderr about frozen modules; nobody debugs a report.
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            **env,
        }
        work = home / "work"
        work.mkdir()
        # A kernel is killed at the end, and does not clean up.
        settings["TMPDIR"] = str(home / "tmp")
        (home / "tmp").mkdir()
        process = launch(notebook, settings, work)
        try:
            # Jupyter is imported here while the process imports its modules.
            from esxparse.reports.manager import managed  # noqa: PLC0415

            yield managed(process, sockets, sockets=fits(sockets))
        finally:
            process.kill()
            process.wait()
