"""The counters of a recording and of its derived tables: found by any of their names, or searched."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import polars as pl

from esxparse import toml
from esxparse.counters.catalogue import lookup, objects, plain_name
from esxparse.counters.model import Counter
from esxparse.counters.naming import table_name
from esxparse.counters.series import NUMBERED, series_name
from esxparse.derived.catalogue import TABLES, Column
from esxparse.derived.of_recording import lacking
from esxparse.derived.tables import declared
from esxparse.errors import EsxparseError, nearest
from esxparse.recording import Recording

_NEAREST: Final = 5
_VM: Final = "vm"
_GROUPS: Final = "group_cpu"
_NO_COUNTERS: Final = frozenset({"members"})
_TABLES: Final = toml.beside(__file__, "tables.toml")
_SEARCHES: Final = toml.beside(__file__, "words.toml")["search"]
_SHORTEST: Final = 3
"""Fewest letters of the beginning of a word: `lat` finds latency."""
_NAMED: Final = max(len(each["columns"]) for each in _SEARCHES)
"""The rank of a counter found by its name: behind the counters that people mean by the word."""


def about(table: str, what: str, otherwise: str = "") -> str:
    """Return an entry of `tables.toml` for a table: its `noun`, the column with the `name` of a row, and so on."""
    return str(_TABLES.get(table, {}).get(what, otherwise))


@dataclass(frozen=True, slots=True)
class CounterColumn:
    """A column of numbers in a table of a recording, with its entry in a catalogue."""

    table: str
    column: str
    counter: Counter | None
    derived: Column | None = None

    @property
    def name(self) -> str:
        """Its name on the screen, or in the capture; the column's name if no catalogue has it."""
        if self.derived:
            return f"{self.derived.name} ({self.derived.screen})" if self.derived.screen else self.derived.name
        return self.counter.name if self.counter else self.column

    @property
    def unit(self) -> str:
        """Its unit; empty if no catalogue has it."""
        known = self.counter or self.derived
        return known.unit if known else ""

    @property
    def meaning(self) -> str:
        """One sentence; empty if no catalogue has the column."""
        known = self.counter or self.derived
        return known.meaning if known else ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the counter."""
        one = self.counter
        spellings = (one.screen, one.batch, *one.aliases) if one else ()
        more = (self.derived.screen, self.derived.name) if self.derived else ()
        return tuple(dict.fromkeys(filter(None, (*spellings, self.column, *more))))

    @property
    def weight(self) -> str | None:
        """The column of the table that weights its mean, if any."""
        return self.derived.weight or None if self.derived else self.counter.weight_column if self.counter else None


def counter_columns(rec: Recording) -> tuple[CounterColumn, ...]:
    """Return every column of numbers, table by table, and then the derived columns that the recording can give."""
    raw = (
        CounterColumn(table, column, found)
        for table in rec
        for column, kind in rec.tables[table].collect_schema().items()
        if kind.is_numeric()
        and column not in {*NUMBERED, *_NO_COUNTERS}
        and ((found := lookup(table, column)) is not None or kind.is_float() or rec.format != "esxtop")
    )
    derived = (
        CounterColumn(table, column, None, one)
        for table in rec.derived
        for missing in (lacking(rec, table),)
        for column, one in declared()[table].items()
        if column not in missing
    )
    return (*raw, *derived)


def find(rec: Recording, name: str, table: str | None = None) -> CounterColumn:
    """Return the counter of that name; if several tables have it, from the one that `ex.counter` prefers.

    A counter of groups finds the column of their VMs: `%RDY` is `ready_pct` of the derived table `vm`, per vCPU, unless
    `table` is "group_cpu". Columns of derived tables come after counters of the same name.

    `name`: its name on the screen (`%RDY`), in the capture, or of the column. `table`: the table to look in.

    Raises EsxparseError: The recording has no such table or counter; the message has the nearest names, or the reason.
    """
    check_text("the name of a counter", name)
    if table is not None and table not in (*rec, *rec.derived):
        rec[table]
    there = [one for one in counter_columns(rec) if table in (None, one.table)]
    key = plain_name(name)
    found = [one for one in there if key in map(plain_name, one.names)]
    if not found:
        raise EsxparseError(_missing(rec, name, table, there))
    places = {one: at for at, one in enumerate((*map(table_name, objects()), *rec.derived))}

    def precedence(one: CounterColumn) -> tuple[int, int]:
        return [*map(plain_name, _kinds(one)), key].index(key), places.get(one.table, len(places))

    first = min(found, key=precedence)
    return first if table else of_vms(first, there)


def of_vms(found: CounterColumn, there: Iterable[CounterColumn]) -> CounterColumn:
    """Return the column of VMs for a counter of groups, if the recording has it; else the counter itself."""
    return next((one for one in there if (one.table, found.table) == (_VM, _GROUPS) and _stands(one, found)), found)


def _kinds(one: CounterColumn) -> tuple[str, ...]:
    """Return the names by which it is found, the most important first."""
    if one.derived:
        return ("", "", one.column, one.derived.screen, one.derived.name)
    return (one.counter.screen, one.counter.batch, one.column) if one.counter else ("", "", one.column)


def _stands(one: CounterColumn, group: CounterColumn) -> bool:
    """Return whether a column of VMs is that counter of their groups."""
    return one.derived is not None and one.derived.counters == ((group.column,),) and one.derived.screen == group.name


def check_text(what: str, value: object) -> None:
    """Refuse anything but text: `what`, for instance the name of a counter.

    Raises EsxparseError: It is something else.
    """
    if not isinstance(value, str):
        raise EsxparseError(f"{what} is text, not {value!r}")


def expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression, ignoring case.

    Raises EsxparseError: The pattern is not valid.
    """
    check_text("a regular expression", pattern)
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise EsxparseError(f"{pattern!r} is not a regular expression: {error}") from None


def _lacking(rec: Recording, table: str) -> dict[str, str]:
    return lacking(rec, table) if rec.format == "esxtop" and table in TABLES and table not in rec else {}


def _missing(rec: Recording, name: str, table: str | None, there: Iterable[CounterColumn]) -> str:
    reasons = {column: why for one in ((table,) if table else TABLES) for column, why in _lacking(rec, one).items()}
    if name in reasons:
        return f"{rec.source} cannot give {name}: {reasons[name]}"
    near = nearest(name, (spelling for one in there for spelling in one.names), _NEAREST, 0.5)
    where = f"table {table} of {rec.source}" if table else rec.source
    return f"{where} has no counter {name!r}; " + (
        f"the nearest are {', '.join(near)}" if near else "rec.search('') lists what there is"
    )


def words_for(one: CounterColumn) -> dict[str, int]:
    """Return the words by which people mean a counter, each with the counter's rank for the word."""
    name = f"{one.table}.{one.column}"
    lists = [each for each in _SEARCHES if one.derived and name in each["columns"]]
    return {word: each["columns"].index(name) for each in lists for word in each["words"]}


def search(rec: Recording, pattern: str = "") -> pl.DataFrame:
    """Return the counters and instances that a pattern finds.

    `pattern`: regular expression, case does not matter; sought in the names and meanings of counters, and in the names
    of VMs, devices, ports and so on. Without one: all counters.

    Returns a table with `kind` (counter or instance), `table`, `name` (on the screen, or of the instance), `column`,
    `unit`, `meaning`; counters first: the ones that people mean by the word (`words.toml`: GAVG for latency), then
    matches in the name, then matches in the meaning.

    Raises EsxparseError: The pattern is not a regular expression.
    """
    wanted = expression(pattern)
    typed = pattern.strip().casefold()
    ranked: list[tuple[int, tuple[str, ...]]] = []
    for one in counter_columns(rec):
        row = ("counter", one.table, one.name, one.column, one.unit, one.meaning)
        usual = [at for word, at in words_for(one).items() if len(typed) >= _SHORTEST and word.startswith(typed)]
        if usual:
            ranked.append((min(usual), row))
        elif any(map(wanted.search, one.names)):
            ranked.append((_NAMED, row))
        elif wanted.search(one.meaning):
            ranked.append((_NAMED + 1, row))
    counters = [row for _, row in sorted(ranked, key=itemgetter(0))]
    instances = [
        ("instance", table, name, "", "", "") for table in rec if pattern for name in instances_of(rec, table, wanted)
    ]
    columns = ("kind", "table", "name", "column", "unit", "meaning")
    return pl.DataFrame([*counters, *instances], schema=dict.fromkeys(columns, pl.String), orient="row")


def instances_of(rec: Recording, table: str, wanted: re.Pattern[str]) -> list[str]:
    """Return the instances of a table with names that match the pattern, in the order of the table."""
    frame = rec.tables[table]
    name = series_name(frame.collect_schema())
    names = frame.select(name.drop_nulls().unique(maintain_order=True)).collect()
    return [name for name in names.to_series() if wanted.search(name)]
