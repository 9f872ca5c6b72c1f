"""Work on many items in processes beside this one; a killed one is replaced, and none outlives this one."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final

from esxparse.fleet.tasks import Done, error_text, own

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_GRACE_S: Final = 5
"""Time for an interrupted item to clean up."""


def _begin(jobs: int, us: Connection) -> None:
    """Prepare a process before other imports: it takes its share of the processors."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(max(1, (os.cpu_count() or 1) // jobs)))
    # A terminal interrupts all of them: an idle one must not break the pool while others clean up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(us,), daemon=True).start()


def _end_with(us: Connection) -> None:
    """Interrupt this process when its parent closes its end of the pipe, or dies."""
    us.poll(None)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_GRACE_S)
    os._exit(1)


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def _terminated() -> Iterator[None]:
    """Let SIGTERM clean up as Ctrl-C does, then end this process: ending at once would leave semaphores behind.

    A second one ends it at once. A handler set by the caller stays.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    came = False

    def interrupt(*_: object) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if came:
            signal.raise_signal(signal.SIGTERM)


def _attempt(work: Callable[[Any], Any], place: int, item: Any) -> Done:
    """Do the work; return every error as an answer."""
    try:
        signal.signal(signal.SIGINT, _interrupt)
        return own(work, place, item)
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  one item never stops the others
        return Done(place, why=error_text(error))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answer(future: Future[Done], place: int) -> Done:
    """Return the answer for an item; a result that cannot travel is its own error, too."""
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error
    return Done(place, why=error_text(error)) if error else future.result()


def run(work: Callable[[Any], Any], items: Sequence[Any], jobs: int, retries: int) -> Generator[Done]:
    """Yield the result for each item, `jobs` at a time; an item whose process dies is retried `retries` times."""
    with _terminated():
        yield from _run(work, items, jobs, retries)


def _run(work: Callable[[Any], Any], items: Sequence[Any], jobs: int, retries: int) -> Generator[Done]:
    waiting = deque(range(len(items)))
    died: Counter[int] = Counter()
    while waiting:
        # Spawned, not forked: the threads of polars do not survive a fork.
        context = get_context("spawn")
        theirs, ours = context.Pipe(duplex=False)
        pool = ProcessPoolExecutor(jobs, context, _begin, (jobs, theirs))
        # Submit only as many as can run: it is then known which of them died with a process.
        at_once = 1 if any(died[place] for place in waiting) else jobs
        running: dict[Future[Done], int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    running[pool.submit(_attempt, work, waiting[0], items[waiting[0]])] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    place = running[future]
                    done = _answer(future, place)
                    del running[future]
                    died.pop(place, None)
                    at_once = at_once if any(died.values()) else jobs
                    yield done
        except BrokenProcessPool:
            for place in sorted(running.values(), reverse=True):
                died[place] += 1
                if died[place] <= retries:
                    waiting.appendleft(place)
                else:
                    del died[place]
                    yield Done(place, why=f"its process was killed {retries + 1} times, perhaps for lack of memory")
        finally:
            if running:
                ours.close()
            pool.shutdown(wait=True, cancel_futures=True)
            ours.close()
            theirs.close()
