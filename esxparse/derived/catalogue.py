"""The columns of derived tables, from `columns.csv`.

table     the table, which is the kind of its objects; `io` means device, nfs, adapter and path
column    its name, which ends in the unit
unit      in the words of charts
better    low, high or neither: which values are good
weight    the column that weights its mean: for a latency, the commands
counters  required counters of the source tables: all of them, for `a|b` one
copied    the table, if the column is a renamed counter; `io`: the table of those objects; empty if a view computes it
screen    esxtop's name for it
name      its name in the words of charts
meaning   one sentence; if empty, the sentence in the catalogue of counters
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

    def missing_counter(self, there: Collection[str]) -> str:
        """Return the first missing counter; empty if it has all it needs."""
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
    """Return the columns of a derived table that are renamed counters of a capture's table: name to counter."""
    return {one.column: one.counters[0][0] for one in COLUMNS if (one.table, one.copied) == (table, source)}
