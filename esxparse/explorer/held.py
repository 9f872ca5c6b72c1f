"""The counters that a recording holds: found by any of their names, or searched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.counters.catalogue import lookup, objects
from esxparse.counters.naming import table_name
from esxparse.counters.series import NUMBERED, series_name
from esxparse.errors import EsxparseError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from esxparse.counters.model import Counter
    from esxparse.recording import Recording

_NEAREST: Final = 5
_NO_COUNTERS: Final = frozenset({"members"})
NAMED: Final = {
    "group_cpu": "group",
    "group_memory": "group",
    "vcpu": "world",
    "network_port": "client",
}
"""The column that people know a row by; in other tables it is `instance`."""
VM: Final = {
    "group_cpu": "group",
    "group_memory": "group",
    "vcpu": "group",
    "virtual_disk": "vm",
    "network_port": "client",
}
"""The column with the name of the VM, in the tables that have one."""


@dataclass(frozen=True, slots=True)
class Held:
    """A column of numbers in a table of a recording, and what the catalogue says of it."""

    table: str
    column: str
    counter: Counter | None

    @property
    def name(self) -> str:
        """What the screen calls it, or the capture; the column's name where the catalogue has none."""
        return self.counter.name if self.counter else self.column

    @property
    def unit(self) -> str:
        """Its unit; empty where only the column's name tells."""
        return self.counter.unit if self.counter else ""

    @property
    def meaning(self) -> str:
        """One sentence; empty without a counter of the catalogue."""
        return self.counter.meaning if self.counter else ""

    @property
    def names(self) -> tuple[str, ...]:
        """All its names."""
        one = self.counter
        named = (one.screen, one.batch, *one.aliases) if one else ()
        return tuple(dict.fromkeys(filter(None, (*named, self.column))))


def held(rec: Recording) -> tuple[Held, ...]:
    """Every column of numbers, table by table."""
    return tuple(
        Held(table, column, found)
        for table in rec
        for column, kind in rec.tables[table].collect_schema().items()
        if kind.is_numeric()
        and column not in {*NUMBERED, *_NO_COUNTERS}
        and ((found := lookup(table, column)) is not None or kind.is_float() or rec.format != "esxtop")
    )


def find(rec: Recording, name: str, table: str | None = None) -> Held:
    """The counter of that name, where several tables have it the one that `ex.counter` would take first.

    `name`: its name on the screen (`%RDY`), in the capture, or of the column. `table`: the table to look in.

    Raises EsxparseError: The recording has no such table or counter; the nearest names are given.
    """
    said("the name of a counter", name)
    if table is not None:
        rec[table]
    there = [one for one in held(rec) if table in (None, one.table)]
    key = _key(name)
    found = [one for one in there if key in map(_key, one.names)]
    if not found:
        raise EsxparseError(_missing(rec, name, table, there))
    places = {one: at for at, one in enumerate(map(table_name, objects()))}

    def precedence(one: Held) -> tuple[int, int]:
        kinds = (one.counter.screen, one.counter.batch, one.column) if one.counter else ("", "", one.column)
        return [*map(_key, kinds), key].index(key), places.get(one.table, len(places))

    return min(found, key=precedence)


def said(what: str, given: object) -> None:
    """Refuses what is not text: `what`, for instance the name of a counter.

    Raises EsxparseError: It is something else.
    """
    if not isinstance(given, str):
        raise EsxparseError(f"{what} is text, not {given!r}")


def expression(pattern: str) -> re.Pattern[str]:
    """The regular expression, for which case does not matter.

    Raises EsxparseError: It is none.
    """
    said("a regular expression", pattern)
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise EsxparseError(f"{pattern!r} is not a regular expression: {error}") from None


def _key(name: str) -> str:
    return "".join(name.split()).casefold()


def _missing(rec: Recording, name: str, table: str | None, there: Iterable[Held]) -> str:
    near = nearest(name, (spelling for one in there for spelling in one.names), _NEAREST, 0.5)
    where = f"table {table} of {rec.source}" if table else rec.source
    return f"{where} has no counter {name!r}; " + (
        f"the nearest are {', '.join(near)}" if near else "rec.search('') lists what there is"
    )


def search(rec: Recording, pattern: str = "") -> pl.DataFrame:
    """The counters and instances that a pattern finds.

    `pattern`: regular expression, case does not matter; sought in the names and meanings of counters, and in the names
    of VMs, devices, ports and so on. Without one: all counters.

    Returns a table with `kind` (counter or instance), `table`, `name` (on the screen, or of the instance), `column`,
    `unit`, `meaning`; counters first, those whose name has it before those whose meaning has it.

    Raises EsxparseError: The pattern is not a regular expression.
    """
    wanted = expression(pattern)
    named: list[tuple[str, ...]] = []
    meant: list[tuple[str, ...]] = []
    for one in held(rec):
        row = ("counter", one.table, one.name, one.column, one.unit, one.meaning)
        if any(map(wanted.search, one.names)):
            named.append(row)
        elif wanted.search(one.meaning):
            meant.append(row)
    instances = [
        ("instance", table, name, "", "", "") for table in rec if pattern for name in instances_of(rec, table, wanted)
    ]
    columns = ("kind", "table", "name", "column", "unit", "meaning")
    return pl.DataFrame([*named, *meant, *instances], schema=dict.fromkeys(columns, pl.String), orient="row")


def instances_of(rec: Recording, table: str, wanted: re.Pattern[str]) -> list[str]:
    """The instances of a table whose name has the pattern, in the order of the table."""
    frame = rec.tables[table]
    name = series_name(frame.collect_schema())
    names = frame.select(name.drop_nulls().unique(maintain_order=True)).collect()
    return [name for name in names.to_series() if wanted.search(name)]
