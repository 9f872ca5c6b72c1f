"""Work on many items: here, in processes beside this one, or as tasks of a Dask cluster. The work is the same code.

    for done in fleet.run(work, items, on="dask://scheduler:8786"):
        done.place, done.result, done.why

`work` is a function of a module, takes one item, and gives something small; both travel to the workers as pickles. What
it raises is the item's own matter: the others go on. A worker that dies costs a repetition of what it had in hand, so
`work` must be such that doing it twice is doing it once.
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
"""What Dask calls them."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does the work: processes on this machine, or a Dask cluster."""

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
        """Whether the work is done in other processes."""
        return self.on is not None or self.jobs > 1


def run(work: Callable[[T], Any], items: Sequence[T], crew: Crew | None = None) -> Generator[Done]:
    """What came of each item, in the order in which they end.

    Ending the iteration cancels what has not begun.

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
    """What came of items, in their own order, each as soon as those before it are there."""
    waiting: dict[int, Done] = {}
    place = 0
    with closing(found):
        for done in found:
            waiting[done.place] = done
            while place in waiting:
                yield waiting.pop(place)
                place += 1
