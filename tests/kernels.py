"""Jupyter kernels of tests. Two processes start theirs at once, and must not get into each other's way.

jupyter_client looks for free ports and lets go of them again: a kernel whose port was taken meanwhile never answers.
And IPython keeps all history in one database, where a kernel that starts may wait for another.
"""

from __future__ import annotations

import os
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import nbval.kernel
from jupyter_client.manager import KernelManager

_FOLDER = tempfile.TemporaryDirectory(prefix="ex-")
_NUMBERS = count()


class SocketKernelManager(KernelManager):
    """Reaches its kernel through sockets in a directory of this process."""

    def __init__(self, **kwargs: Any) -> None:
        file = Path(_FOLDER.name, f"{next(_NUMBERS)}.json")
        super().__init__(**kwargs, transport="ipc", connection_file=str(file))


def keep_apart() -> None:
    """From here on kernels that this process starts, those of nbval too, share nothing with other processes."""
    os.environ["IPYTHONDIR"] = _FOLDER.name
    nbval.kernel.KernelManager = SocketKernelManager
