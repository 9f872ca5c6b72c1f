"""A queue of jobs, each in a separate process, bounded in time and memory; a failure does not stop the others.

`python -m esxparse.reports.batch_queue` is the process that makes a batch's reports. It imports their dependencies,
computes nothing, and forks for each report and its kernel. So each report starts from the same imported state, and
costs its own work only. The process reads its orders as one line of JSON from standard input and writes events as
lines of JSON to standard output. It ends, with everything it started, when standard input ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import psutil  # type: ignore[import-untyped]

from esxparse.errors import EsxparseError
from esxparse.formats.memory import size_text
from esxparse.locations import adopt
from esxparse.reports.forks import FORKS, die_with

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_LOOK_S: Final = 0.1
_WEIGH_S: Final = 0.5
_GRACE_S: Final = 3
"""Time for terminated jobs to remove their unfinished files."""
_NEEDS: Final = ("nbformat", "papermill", "IPython.display", "ipykernel.ipkernel", "ipykernel.zmqshell")
_OURS: Final = ("kernel", "export", "recordings", "batch_work", "facts", "standby")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a job: seconds, and bytes of memory of all its processes."""

    seconds: float
    memory: int


@dataclass(slots=True)
class _Running:
    job: int
    process: Any
    answers: Connection
    until: float
    look: float = 0.0
    """Time of the next memory check."""


def run(
    jobs: Sequence[Any],
    work: Callable[[Any], Any],
    workers: int,
    bounds: Bounds,
    tell: Callable[[dict[str, Any]], None],
    ended: Callable[[], bool] = lambda: False,
) -> None:
    """Run `work` on every job, `workers` at a time.

    Args:
        jobs: Arguments of `work`.
        work: Runs in a process of its own; returns something picklable, or raises.
        workers: Number of jobs at a time.
        bounds: Limits of each job. A job beyond them is killed with every process below it.
        tell: Called with {"job", "began"}, then {"job", "result"} or {"job", "why"}: the reason in one line.
        ended: Whether to kill the running jobs and return.
    """
    context: Any = get_context("fork" if FORKS else "spawn")
    waiting = list(enumerate(jobs))[::-1]
    running: list[_Running] = []
    try:
        while (waiting or running) and not ended():
            while waiting and len(running) < workers:
                place, job = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_answer, args=(work, job, theirs, os.getpid()))
                process.start()
                theirs.close()
                running.append(_Running(place, process, ours, monotonic() + bounds.seconds))
                tell({"job": place, "began": process.pid})
            connection.wait([one.answers for one in running], timeout=_LOOK_S)
            for one in list(running):
                if (answer := _answered(one) or _passed(one, bounds)) is not None:
                    _end(one)
                    running.remove(one)
                    tell({"job": one.job, **answer})
    finally:
        # Processes below a process that ends become orphans: list them first.
        below = [process for one in running for process in _tree(one.process.pid)]
        for one in running:
            one.process.terminate()
        until = monotonic() + _GRACE_S
        for one in running:
            one.process.join(max(until - monotonic(), 0))
            _end(one)
        _kill(below)


def _answered(one: _Running) -> dict[str, Any] | None:
    try:
        if one.answers.poll():
            answer: dict[str, Any] = one.answers.recv()
            return answer
    except (EOFError, OSError):
        one.process.join(_LOOK_S)
        return {"why": f"its process ended ({_cause(one.process.exitcode)})"}
    return None


def _cause(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _passed(one: _Running, bounds: Bounds) -> dict[str, Any] | None:
    if monotonic() > one.until:
        return {"why": f"it took more than {bounds.seconds:g} s: raise --timeout"}
    if monotonic() < one.look:
        return None
    one.look = monotonic() + _WEIGH_S
    # The quick sum counts memory shared by forks once per process, the exact sum counts it once.
    heavy = _resident(one.process.pid) > bounds.memory
    if heavy and (not FORKS or _resident(one.process.pid, "pss") > bounds.memory):
        return {"why": f"it took more than {size_text(bounds.memory)} of memory: raise --memory"}
    return None


def _tree(pid: int) -> list[psutil.Process]:
    try:
        top = psutil.Process(pid)
        return [*top.children(recursive=True), top]
    except psutil.NoSuchProcess:
        return []


def _resident(pid: int, what: str = "rss") -> int:
    """Return the bytes of memory of a process and its descendants, by psutil's field `what`."""
    total = 0
    for one in _tree(pid):
        try:
            total += one.memory_info().rss if what == "rss" else one.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


def _end(one: _Running) -> None:
    _kill(_tree(one.process.pid))
    one.process.join()
    one.answers.close()


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _leave(*_: object) -> None:
    """End the job and clean up after it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Python prints an exception in a callback, and goes on: the job is killed a moment later.
    sys.unraisablehook = lambda _: None
    raise SystemExit(1)


def _answer(work: Callable[[Any], Any], job: Any, answers: Connection, parent: int) -> None:
    """Run the job, and send its result."""
    die_with(parent)
    signal.signal(signal.SIGTERM, _leave)
    try:
        answers.send({"result": work(job)})
    except EsxparseError as error:
        answers.send({"why": str(error)})
    except MemoryError:
        answers.send({"why": "it needs more memory than there is"})
    except Exception as error:  # noqa: BLE001  one job never stops the others
        answers.send({"why": f"{type(error).__name__}: {error}".splitlines()[0]})


def _prepare(notebooks: Iterable[str]) -> None:
    """Import everything that reports on these templates need."""
    for name in (*_NEEDS, *(f"esxparse.reports.{one}" for one in _OURS)):
        importlib.import_module(name)
    standby = sys.modules["esxparse.reports.standby"]
    for notebook in notebooks:
        standby.prepare(notebook)
    gc.collect()
    # Exclude existing objects from garbage collection, so that their memory stays shared.
    gc.freeze()


def main() -> None:
    """Read the orders and make the reports."""
    orders = json.loads(sys.stdin.buffer.readline())
    adopt(orders["locations"])
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    # Keep the output of libraries out of the events.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if FORKS:
        _prepare(orders["notebooks"])
    from esxparse.reports.batch_work import work  # noqa: PLC0415

    def tell(event: dict[str, Any]) -> None:
        events.write(json.dumps(event).encode() + b"\n")

    def ended() -> bool:
        return bool(connection.wait([sys.stdin.fileno()], timeout=0))

    # If the caller is gone, nobody needs the rest.
    with suppress(BrokenPipeError):
        run(orders["jobs"], work, orders["workers"], Bounds(orders["seconds"], orders["memory"]), tell, ended)


if __name__ == "__main__":
    main()
