"""Limits that a shell sets for its programs (`ulimit`): raised if allowed, else one line with the limit.

Polars, DuckDB and Jupyter end the process, or wait forever, if they get no memory, thread or file.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from esxparse.errors import EsxparseError
from esxparse.whole import clear_temporary

_MIB: Final = 1 << 20
_THREADS: Final = "2"
"""Threads of polars under a memory limit: each reserves some 30 MiB."""
_MEMORY: Final = {
    **dict.fromkeys(("check", "convert", "diagnose", "study", "lake"), 1280),
    **dict.fromkeys(("report", "batch", "lab", "lake report"), 1920),
}
"""MiB of address space that a command needs for a small capture with `_THREADS` threads."""
_LEAST: Final = 900
_FILES: Final = dict.fromkeys(("report", "batch", "lab", "lake report"), 128)
"""Open files that a command needs: a kernel has some 80."""
_FEWEST_FILES: Final = 24
_ENOUGH_FILES: Final = 4096
_SHOWN: Final = 1 << 20
"""Bytes kept of a command's standard error, under a memory limit."""
_STILL_S: Final = 10
_STACK: Final = 8 * _MIB
"""A command waits for a thread if it has no room for one and uses no processor time for `_STILL_S` seconds."""
_CRASHED: Final = frozenset(getattr(signal, name, 0) for name in ("SIGABRT", "SIGSEGV", "SIGILL", "SIGBUS", "SIGTRAP"))
_NO_MEMORY: Final = 70
_EXHAUSTED: Final = frozenset({_NO_MEMORY, 127})
"""Exit codes of a process without memory: ours, and the C library's if a thread gets none."""


def name_of(options: argparse.Namespace) -> str:
    """Return the command, with its subcommand if that has limits of its own: `lake report`."""
    whole = f"{options.command} {getattr(options, 'lake_command', '')}"
    return whole if whole in _FILES else str(options.command)


if sys.platform == "win32":

    def prepare(_command: str) -> bool:
        """Return False: Windows has no such limits."""
        return False

    def contained(run: Callable[[], int]) -> int:
        """Run the command."""
        return run()

    def exceeded(_error: BaseException) -> str | None:
        """Return None: Windows has no such limits."""
        return None

else:
    import resource
    import select

    def prepare(command: str) -> bool:
        """Raise the limit of open files as far as allowed; return whether the process has a memory limit.

        Raises:
            EsxparseError: A limit is too low for the command.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < _ENOUGH_FILES:
            soft = _ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(_ENOUGH_FILES, hard)
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        files = _FILES.get(command, _FEWEST_FILES)
        if soft != resource.RLIM_INFINITY and soft < files:
            raise EsxparseError(f"{command} needs {files} open files, and {_limit(resource.RLIMIT_NOFILE)}: raise it")
        room = resource.getrlimit(resource.RLIMIT_AS)[0]
        if room == resource.RLIM_INFINITY:
            return False
        least = _MEMORY.get(command, _LEAST)
        if room < least * _MIB:
            raise EsxparseError(f"{command} needs {least:,} MiB of memory, and {_limit(resource.RLIMIT_AS)}: raise it")
        os.environ.setdefault("POLARS_MAX_THREADS", _THREADS)
        return True

    def contained(run: Callable[[], int]) -> int:
        """Run a command in a process of its own: without memory it may end abruptly, or fail to print the reason.

        Raises:
            EsxparseError: The process ran out of memory.
        """
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _run_and_exit(run, writing)
        os.close(writing)
        previous = [(one, signal.signal(one, lambda number, _: _pass_on(child, number))) for one in _PASSED_ON]
        try:
            words = _all_of(reading, child)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        finally:
            for number, handler in previous:
                signal.signal(number, handler)
        if -status in _CRASHED or status in _EXHAUSTED:
            clear_temporary()
            raise EsxparseError(f"out of memory: {_limit(resource.RLIMIT_AS)}: raise it, or read a smaller part")
        sys.stderr.buffer.write(words)
        sys.stderr.buffer.flush()
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        return status

    def _all_of(reading: int, child: int) -> bytes:
        """Return the child's output until it ends, at most `_SHOWN` bytes. End a child that waits for memory."""
        words = b""
        spent: dict[int, list[str]] = {}
        with open(reading, "rb", buffering=0) as errors:
            while True:
                if select.select([errors], [], [], _STILL_S)[0]:
                    if not (piece := errors.read(_SHOWN)):
                        return words
                    words = (words + piece)[:_SHOWN]
                    continue
                spent = _end_if_waiting(child, spent)

    def _end_if_waiting(child: int, before: dict[int, list[str]]) -> dict[int, list[str]]:
        """End the child's processes without room for a thread, if none used processor time since `before`.

        Returns the processor time of each.
        """
        spent = {process: _processor_time(process) for process in _family(child)}
        for process in spent if spent == before else ():
            if _room_left(process) < _STACK:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGABRT)
        return spent

    def _family(process: int) -> list[int]:
        """Return a process and its descendants, if the system lists them (Linux)."""
        found = [process]
        for one in found:
            with suppress(OSError):
                for children in Path(f"/proc/{one}/task").glob("*/children"):
                    found += map(int, children.read_text().split())
        return found

    def _processor_time(process: int) -> list[str]:
        """Return the processor time of a process, in the system's units; the name before it may contain blanks."""
        with suppress(OSError):
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
        return []

    def _room_left(process: int) -> int:
        """Return the bytes of address space that a process may still take."""
        with suppress(OSError):
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[0])
            return resource.getrlimit(resource.RLIMIT_AS)[0] - pages * resource.getpagesize()
        return _STACK

    def _run_and_exit(run: Callable[[], int], writing: int) -> NoReturn:
        """Run the command; only its own messages go to `writing`, not the output of libraries and threads."""
        try:
            sys.stderr.flush()
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            sys.stderr = open(writing, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
            threading.excepthook = sys.unraisablehook = _ignore
            code = run()
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            sys.stderr.flush()
            # Working files that are removed when Python ends.
            atexit._run_exitfuncs()  # noqa: SLF001
        except BaseException:  # noqa: BLE001  also MemoryError while another is reported
            code = _NO_MEMORY
        os._exit(code)

    def _ignore(_: object) -> None:
        """Print nothing."""

    _PASSED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def _pass_on(child: int, number: int) -> None:
        # A terminal interrupts all of its processes itself.
        if number != signal.SIGINT:
            os.kill(child, number)

    def exceeded(error: BaseException) -> str | None:
        """Return the message for an error that comes from a limit; None for others."""
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            return f"too many open files: {_limit(resource.RLIMIT_NOFILE)}: raise it"
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return f"out of memory: {_limit(resource.RLIMIT_AS)}: raise it, or read a smaller part"
        if "start new thread" in str(error) or (isinstance(error, OSError) and error.errno == errno.EAGAIN):
            return f"no more threads or processes: {_limit(resource.RLIMIT_NPROC)}: raise it"
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY and not isinstance(error, OSError):
            # Libraries without memory fail in many ways, most often while they are imported.
            return f"out of memory ({type(error).__name__}): {_limit(resource.RLIMIT_AS)}: raise it"
        return None

    def _limit(which: int) -> str:
        soft = resource.getrlimit(which)[0]
        name, size = _NAMES[which]
        return f"{name} is not limited" if soft == resource.RLIM_INFINITY else f"{name} allows {size(soft)}"

    _NAMES: Final[dict[int, tuple[str, Callable[[int], str]]]] = {
        resource.RLIMIT_NOFILE: ("ulimit -n", "{:,}".format),
        resource.RLIMIT_AS: ("ulimit -v", lambda size: f"{size // _MIB:,} MiB"),
        resource.RLIMIT_NPROC: ("ulimit -u", "{:,}".format),
    }
