"""What a derived table is: columns as data (`columns.csv`), and functions that make some of them (`derived`).

table     the table, which is the kind of its objects; `io` stands for device, nfs, adapter and path
column    its name, which ends in the unit
unit      in the words of charts
better    low, high or neither: which values are good
weight    the column that weighs a mean of it: a latency by its commands
counters  what it needs in the tables it is made of: all that are named, of `a|b` one
screen    what esxtop calls it
name      what it is, in the words of charts
meaning   one sentence; the catalogue's of the counter where it is empty
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

    from esxparse.derived.capture import Capture

    Make = Callable[[Capture], pl.LazyFrame | None]

KEYS: Final = ("time", "entity")
"""The columns that tell the rows of a view apart; a view of the host has no `entity`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a derived table, as `columns.csv` has it."""

    table: str
    column: str
    unit: str
    better: str
    weight: str
    counters: tuple[tuple[str, ...], ...]
    screen: str
    name: str
    meaning: str

    def lacks(self, there: Collection[str]) -> str:
        """The counter that it needs and that is not there; empty if it has what it needs."""
        return next((" or ".join(one) for one in self.counters if not set(one) & set(there)), "")


@dataclass(frozen=True, slots=True)
class View:
    """Some columns of a derived table: those that `make` gives of a capture with the tables `needs`.

    `also`: tables that it reads where the capture has them.
    """

    table: str
    needs: tuple[str, ...]
    make: Make
    also: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """All its tables, those that it needs first."""
        return (*self.needs, *self.also)


VIEWS: Final[list[View]] = []
"""All views; of two that give one column of a table, the first counts where it has a value."""


def derived(table: str, *needs: str, also: tuple[str, ...] = ()) -> Callable[[Make], Make]:
    """Declares a function of a capture as a view of a derived table; see `View`."""

    def declare(make: Make) -> Make:
        VIEWS.append(View(table, needs, make, also))
        return make

    return declare
