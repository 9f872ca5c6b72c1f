"""The work of a study: runs that share a file one after another, so that it is read once; two such groups at a time.

One capture is scanned by all processors, and then queried by one for as long: two at a time keep all of them busy. More
would be more captures in memory at once.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from esxparse.studies.opened import open_run
from esxparse.studies.row import row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    import polars as pl

    from esxparse.recording import Note
    from esxparse.studies.expand import Run
    from esxparse.studies.opened import Kept
    from esxparse.studies.row import Row

    Computed = tuple[Row, list[pl.DataFrame], list[Note]]

AT_ONCE: Final = 2


def groups(runs: Sequence[Run]) -> list[list[int]]:
    """Places of runs that read the same capture, or without one the same file, together; in the order of the first."""
    found: dict[object, list[int]] = {}
    for place, run in enumerate(runs):
        files = run.files.get("esxtop") or next(iter(run.files.values()), None)
        found.setdefault(files.paths if files else place, []).append(place)
    return list(found.values())


def rows_of(runs: Sequence[Run], progress: Callable[[int, int, str], None] | None = None) -> list[Computed]:
    """The columns, figures and notes of each run (`row.row_of`), in the order of the runs."""
    idle: dict[str, Row] = {}
    found: dict[int, Computed] = {}

    def compute(group: list[int]) -> list[Computed]:
        kept: Kept = {}
        return [row_of(open_run(runs[place], kept), idle) for place in group]

    waiting: deque[tuple[list[int], Future[list[Computed]]]] = deque()
    left = deque(groups(runs))
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        while left or waiting:
            while left and len(waiting) <= AT_ONCE:
                group = left.popleft()
                waiting.append((group, pool.submit(compute, group)))
            group, future = waiting.popleft()
            if progress:
                progress(len(found), len(runs), str(runs[group[0]]))
            found |= zip(group, future.result(), strict=True)
    finally:
        # Who interrupts a study does not wait for the captures that are next.
        pool.shutdown(cancel_futures=True)
    return [found[place] for place in range(len(runs))]
