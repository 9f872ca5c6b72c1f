"""What makes a derived table: views, functions of a capture that each give some of its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import polars as pl

from esxparse.derived.capture import Capture

Make = Callable[[Capture], pl.LazyFrame | None]

F = TypeVar("F", bound=Make)

KEYS: Final = ("time", "entity")
"""The columns that tell the rows of a view apart; a view of the host has no `entity`."""


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


def derived(table: str, *needs: str, also: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Declares a function of a capture as a view of a derived table; see `View`."""

    def declare(make: F) -> F:
        VIEWS.append(View(table, needs, make, also))
        return make

    return declare
