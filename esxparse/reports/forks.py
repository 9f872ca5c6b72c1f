"""Processes that begin as copies of another, and end with it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

FORKS: Final = sys.platform == "linux"
"""Whether processes start as forks of this one: other systems' libraries forbid it."""

_PR_SET_PDEATHSIG: Final = 1


def die_with(parent: int) -> None:
    """Kill this process when its parent ends."""
    if FORKS:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
