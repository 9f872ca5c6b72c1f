"""Work on many items: in this process, in processes beside it, or as tasks of a Dask cluster, with the same code.

    for done in fleet.run(work, items, on="dask://scheduler:8786"):
        done.place, done.result, done.why

`work` is a function of a module, takes one item, and returns something small; both travel to the workers as pickles. An
error in `work` affects only its item: the others go on. If a worker dies, its items are repeated, so running `work`
twice must have the same effect as running it once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from esxparse.errors import EsxparseError
from esxparse.fleet.tasks import Done, own

__all__ = ["Crew", "Done", "in_order", "run"]

T = TypeVar("T")

_SCHEMES: Final = {"dask": "tcp", "tls": "tls"}
"""Dask's names of these schemes."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers: processes on this machine, or a Dask cluster."""

    jobs: int = 1
    """Items at a time on this machine; 1 is this process itself."""
    on: str | None = None
    """Address of a Dask scheduler: `dask://host:8786`, or `tls://host:8786` with certificates by Dask's settings."""
    retries: int = 2
    """How often an item is tried again after its worker died, or after an error that is not its own."""

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise EsxparseError(f"jobs is {self.jobs}: give a number above 0")
        if self.on is not None:
            scheme, _, rest = self.on.partition("://")
            if scheme not in _SCHEMES or not rest:
                raise EsxparseError(f"{self.on!r} is no cluster: write it as dask://host:8786, or tls://host:8786")

    @property
    def elsewhere(self) -> bool:
        """Whether the work runs in other processes."""
        return self.on is not None or self.jobs > 1


def run(work: Callable[[T], Any], items: Sequence[T], crew: Crew | None = None) -> Generator[Done]:
    """Return the result for each item, in the order in which they end.

    Ending the iteration cancels items that have not begun.

    Raises:
        EsxparseError: The cluster cannot be reached, is lost, or has another version of esxparse.
    """
    crew = crew or Crew()
    if not crew.elsewhere:
        return (own(work, place, item) for place, item in enumerate(items))
    # Processes and sockets are not for --help.
    if crew.on is not None:
        from esxparse.fleet import cluster  # noqa: PLC0415

        scheme, _, rest = crew.on.partition("://")
        return cluster.run(work, items, f"{_SCHEMES[scheme]}://{rest}", crew.retries)
    from esxparse.fleet import pool  # noqa: PLC0415

    return pool.run(work, items, crew.jobs, crew.retries)


def in_order(found: Generator[Done]) -> Generator[Done]:
    """Yield the results in the order of the items, each as soon as the earlier ones have come."""
    waiting: dict[int, Done] = {}
    place = 0
    with closing(found):
        for done in found:
            waiting[done.place] = done
            while place in waiting:
                yield waiting.pop(place)
                place += 1
