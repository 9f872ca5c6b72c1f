"""Work on many items in processes beside this one; one that is killed is replaced."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from esxparse.fleet.tasks import Done, attempt


def _begin(jobs: int) -> None:
    """Before anything else is imported: a process of several takes its share of the processors."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(max(1, (os.cpu_count() or 1) // jobs)))


def run(work: Callable[[Any], Any], items: Sequence[Any], jobs: int, retries: int) -> Generator[Done]:
    """What came of each item, `jobs` at a time; an item whose process dies is tried `retries` times again."""
    waiting = deque(range(len(items)))
    died: Counter[int] = Counter()
    while waiting:
        # Spawned, not forked: the threads of polars do not survive a fork.
        pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (jobs,))
        # No more than are in work: which of them died with a process is then known.
        at_once = 1 if any(died[place] for place in waiting) else jobs
        running: dict[Future[Done], int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    running[pool.submit(attempt, work, waiting[0], items[waiting[0]])] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    place = running[future]
                    done = future.result()
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
            pool.shutdown(wait=True, cancel_futures=True)
