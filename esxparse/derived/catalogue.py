"""The columns of derived tables, as `columns.csv` lists them.

table     the table, which is the kind of its objects; `io` stands for device, nfs, adapter and path
column    its name, which ends in the unit
unit      in the words of charts
better    low, high or neither: which values are good
weight    the column that weighs a mean of it: a latency by its commands
counters  what it needs in the tables it is made of: all that are named, of `a|b` one
copied    the table whose counter it is, under another name; `io`: the table of those objects; else a view makes it
screen    what esxtop calls it
name      what it is, in the words of charts
meaning   one sentence; where it is empty, the one that the catalogue of counters has
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from esxparse.schema import listed

_IO: Final = ("device", "nfs", "adapter", "path")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a derived table."""

    table: str
    column: str
    unit: str
    better: str
    weight: str
    counters: tuple[tuple[str, ...], ...]
    copied: str
    screen: str
    name: str
    meaning: str

    def lacks(self, there: Collection[str]) -> str:
        """The counter that it needs and that is not there; empty if it has what it needs."""
        return next((" or ".join(one) for one in self.counters if not set(one) & set(there)), "")


COLUMNS: Final = tuple(
    Column(each, column, unit, better, weight, tuple(tuple(one.split("|")) for one in needs.split()), *rest)
    for table, column, unit, better, weight, needs, *rest in listed(__package__)
    for each in (_IO if table == "io" else (table,))
)
"""All columns, table by table; two tables may come from one line."""
TABLES: Final = tuple(dict.fromkeys(one.table for one in COLUMNS))
"""The derived tables; each is a kind of object."""


def copied(table: str, source: str) -> dict[str, str]:
    """The columns of a derived table that are counters of a table of the capture: name to counter."""
    return {one.column: one.counters[0][0] for one in COLUMNS if (one.table, one.copied) == (table, source)}
