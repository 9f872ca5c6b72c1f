"""Runs that change one lake at the same time, each a process of its own, round by round."""

from __future__ import annotations

import random
import time
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.lakes import merging, upkeep

if TYPE_CHECKING:
    from collections.abc import Iterator

_LATEST_S = 0.03
"""An `add` of a small capture takes about as long."""
_PATIENCE_S = 120


def change(what: str, where: str, file: str) -> None:
    """One run."""
    lake = ex.lake(where)
    try:
        if what == "rm":
            upkeep.remove(lake.store, lake.captures[:1])
        elif what == "merge":
            for day in merging.days(lake):
                merging.merge(day)
        elif what == "compact":
            upkeep.compact(lake.store)
        else:
            lake.add([file], replace=what == "force")
    except EsxparseError as error:
        # Another run was quicker.
        if "there is no lake" not in str(error) and not (what == "merge" and "No such file" in str(error)):
            raise


def _run(what: str, where: str, file: str, both: Any, rounds: int) -> None:
    chance = random.Random(what)  # noqa: S311
    for _ in range(rounds):
        both.wait(_PATIENCE_S)
        time.sleep(chance.uniform(0, _LATEST_S))
        change(what, where, file)
        both.wait(_PATIENCE_S)


def raced(whats: list[str], where: str, file: str, rounds: int) -> Iterator[int]:
    """After each round, in which each run did what it does once at a random time."""
    context = get_context("spawn")
    both = context.Barrier(len(whats) + 1)
    runs = [context.Process(target=_run, args=(what, where, file, both, rounds), daemon=True) for what in whats]
    for one in runs:
        one.start()
    try:
        for number in range(rounds):
            both.wait(_PATIENCE_S)
            both.wait(_PATIENCE_S)
            yield number
    finally:
        for one in runs:
            one.kill()
            one.join()
