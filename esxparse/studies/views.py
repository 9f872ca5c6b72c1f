"""Metrics of whose columns a study takes means: a line in `VIEWS`, and `columns.csv` can name it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from esxparse.metrics import memory, power

if TYPE_CHECKING:
    import polars as pl

    Tables = Mapping[str, pl.LazyFrame]


class View(NamedTuple):
    """A frame of metrics, one row per sample."""

    make: Callable[[Tables, str | None], pl.LazyFrame | None]
    """Makes it of the tables of a capture and its release."""
    needs: tuple[str, ...] = ()
    """Tables that a capture must have for it; None comes out without them."""


VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {
        "memory.host": View(lambda tables, release: memory.host(tables["memory"], release), ("memory",)),
        "power.host": View(lambda tables, _: power.host(tables["power"]), ("power",)),
    }
)
"""Name of a view, as `columns.csv` gives it before the colon, to what it is. A metric becomes one by a line."""


def measures(names: Iterable[str], tables: Tables, release: str | None = None) -> dict[str, pl.LazyFrame | None]:
    """The frames of views by their names.

    `tables`: those of an esxtop capture. `release`: of ESXi, as the capture tells it.

    Returns:
        None for those that the capture cannot give.
    """

    def made(name: str) -> pl.LazyFrame | None:
        return VIEWS[name].make(tables, release) if set(VIEWS[name].needs) <= set(tables) else None

    return {name: made(name) for name in dict.fromkeys(names)}
