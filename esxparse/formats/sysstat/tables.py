"""Titles and JSON names of sysstat's tools to tables and columns, from `tables.toml`, and cells to values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import polars as pl

from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.tables import Row, data, frame
from esxparse.schema import schema

_DATA = data(__file__)
TEXTS = frozenset(_DATA["texts"])
_WHOLES = frozenset(_DATA["wholes"])
_PROCESS = "process_"
_IDS = frozenset({"PID", "TGID", "TID"})
_COUNTED, _ALL = frozenset({"cpu", "node"}), "-1"
"""The name of all processors, or all nodes, in sadf -d and JSON of sysstat 12.0."""
_SPACE = re.compile(r"\W+")
_NUMBER = re.compile(r"([+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?)([sBkMGTP%])?")
_KIB = {"s": 0.5, "B": 1 / 1024} | {unit: 1024.0**power for power, unit in enumerate("kMGTP")}
_MIB = 1024.0
_SUM = "intr/s"
_SOFT = frozenset({"TIMER/s", "NET_RX/s"})
ROWS = schema("host str, time time, report i64, interval_s f64, since_boot bool")
"""Columns of every table, if the tool prints them."""


@dataclass(frozen=True)
class Column:
    """A column, and the factor of its numbers for the unit in its name."""

    name: str
    factor: float = 1.0


INSTANCE = Column("instance")
"""The column that identifies a row of an unknown activity."""


@dataclass(frozen=True)
class Table:
    """A table: the column of each title and of each JSON name."""

    name: str
    per: tuple[str, ...]
    titles: Mapping[str, Column]
    keys: Mapping[str, Column]

    def values(self) -> int:
        """Return the number of its columns that do not identify a row."""
        return len({column.name for column in self.titles.values()} - set(self.per))


def column_of(title: str) -> Column:
    """Return the column of a title, by rule.

    >>> [column_of(title).name for title in ("%memused", "memused-percent", "kbmemused", "cswch/s", "runq-sz")]
    ['memused_pct', 'memused_pct', 'memused_kib', 'cswch_per_s', 'runq_sz']
    """
    rules = (("%", "", "_pct"), ("", "-percent", "_pct"), ("", "/s", "_per_s"), ("kb", "", "_kib"), ("MB", "", "_mib"))
    for begin, end, unit in rules:
        if title.startswith(begin) and title.endswith(end) and len(title) > len(begin + end):
            bare = title.removeprefix(begin).removesuffix(end)
            return Column(_SPACE.sub("_", bare.lower()).strip("_") + unit)
    return Column(_SPACE.sub("_", title.lower()).strip("_") or "value")


def _columns(words: str) -> dict[str, Column]:
    found = {}
    for word in words.split():
        name, equals, titles = word.rpartition("=")
        for one in titles.split(","):
            title, _, factor = one.partition("*")
            found[title] = Column(name, float(factor or 1)) if equals else column_of(title)
    return found


def _keys(titles: Mapping[str, Column]) -> dict[str, Column]:
    """Return columns by JSON name: titles, and titles without units; if two become equal, the rate or size wins."""
    found = dict(titles)
    for title, column in titles.items():
        found.setdefault(title.removeprefix("kb").removesuffix("/s"), column)
    for title, column in titles.items():
        if title.startswith("%"):
            found.setdefault(f"{title[1:]}-percent", column)
            found.setdefault(title[1:], column)
    return found


@cache
def _shared() -> dict[str, Column]:
    """Return the columns that identify a row of pidstat."""
    return _columns(_DATA["shared"])


@cache
def tables() -> dict[str, Table]:
    """Return all tables by name."""
    shared = _shared()
    made = {}
    for name, entry in _DATA["table"].items():
        process = name.startswith(_PROCESS)
        titles = (shared if process else {}) | _columns(entry["columns"])
        per = tuple(column.name for column in shared.values()) if process else tuple(entry.get("per", "").split())
        made[name] = Table(name, per, titles, _keys(titles))
    return made


@cache
def _of_json() -> dict[str, tuple[Table, ...]]:
    names: dict[str, list[Table]] = {}
    for table in tables().values():
        for name in _DATA["table"][table.name].get("json", "").split():
            names.setdefault(name, []).append(table)
    return {name: tuple(found) for name, found in names.items()}


def in_json(name: str) -> bool:
    """Return whether JSON has an object of this name."""
    return name in _of_json()


def of_process(keys: Iterable[str]) -> dict[str, dict[str, Column]] | None:
    """Return the tables of an object of pidstat, with the column of each of its keys; None for other objects."""
    names = list(keys)
    if _IDS.isdisjoint(names):
        return None
    every = [table for table in tables().values() if table.name.startswith(_PROCESS)]
    shared = {key: _shared()[key] for key in names if key in _shared()}
    found: dict[str, dict[str, Column]] = {}
    for key in (key for key in names if key not in shared):
        table = next((one for one in every if key in one.keys), None)
        name = table.name if table else next(iter(found), "process")
        found.setdefault(name, dict(shared))[key] = table.keys[key] if table else column_of(key)
    return found


def of_json(name: str, keys: Sequence[str]) -> tuple[Table, ...]:
    """Return the tables of a JSON object, if possible those with its identifying key; a new one for unknown objects."""
    found = _of_json().get(name, ())
    about = tuple(table for table in found if table.per and keys and keys[0] in table.keys)
    return about or found or (Table(column_of(name).name, (), {}, {}),)


def of_sar(title: str, current: Table | None, filled: Collection[str], *, single: bool) -> Table:
    """Return the table of sar with a title: the current one if its column is free, else the first, else a new one.

    Args:
        title: A title.
        current: The table of the previous title.
        filled: The columns that its row has.
        single: Whether a sample has only one row: not one for each processor, disk ...
    """
    if current is not None and (column := current.titles.get(title)) is not None and column.name not in filled:
        return current
    for name, table in tables().items():
        if title in table.titles and single != bool(table.per) and "json" in _DATA["table"][name]:
            return table
    return current or Table(column_of(title).name, (), {}, {})


@dataclass(frozen=True)
class Layout:
    """The meaning of cells below a line of titles: for some of them the columns of one table."""

    table: Table
    places: tuple[tuple[int, Column], ...]
    other: str = ""
    """The column that identifies a cell, in a table with one row for each of the other cells."""
    others: tuple[tuple[int, str], ...] = ()

    def rows(self, cells: Sequence[str]) -> Iterator[dict[str, tuple[int, str, float]]]:
        """Yield place, text and factor of each column, row by row."""
        row = {column.name: (at, cells[at], column.factor) for at, column in self.places}
        if not self.other:
            yield row
        for at, name in self.others:
            yield row | {self.other: (at, name, 1.0), "interrupts_per_s": (at, cells[at], 1.0)}


def known(title: str) -> bool:
    """Return whether a tool has this title."""
    return title in _every_title()


@cache
def _every_title() -> frozenset[str]:
    return frozenset(title for table in tables().values() for title in table.titles) | {"INTR", _SUM}


@lru_cache(maxsize=256)
def layouts(titles: tuple[str, ...]) -> tuple[Layout, ...]:
    """Return the tables that a line of titles begins; process tables may be side by side."""
    if not _IDS.isdisjoint(titles):
        found = [_layout(table, titles) for table in tables().values() if table.name.startswith(_PROCESS)]
        # A table without a number of its own only repeats the names.
        return tuple(one for one in found if any(column.name not in one.table.per for _, column in one.places))
    rates = [(at, title) for at, title in enumerate(titles) if at]
    if "INTR" in titles:
        others = tuple(
            (at, "all" if title == _SUM else title.removeprefix("CPU"))
            for at, title in enumerate(titles)
            if title != "INTR"
        )
        return (Layout(tables()["interrupts"], ((titles.index("INTR"), Column("interrupt")),), "cpu", others),)
    best = max(tables().values(), key=lambda table: _fit(table, titles))
    sums = titles == ("CPU", _SUM)
    if sums or (titles[0] == "CPU" and rates and not any(title in best.titles for _, title in rates)):
        name = "soft_interrupts" if _SOFT & set(titles) else "interrupts"
        others = tuple((at, "sum" if sums else title.removesuffix("/s")) for at, title in rates)
        return (Layout(tables()[name], ((0, Column("cpu")),), "interrupt", others),)
    if not _fit(best, titles)[0]:
        # In an unknown activity, the name of a row comes first, if it has one.
        first = {} if {"%", "/"} & set(titles[0]) else {titles[0]: INSTANCE}
        best = Table(column_of(titles[0]).name, (), first, first)
    rest = [title for title in titles if title not in best.titles]
    beside = next((one for one in tables().values() if rest and not one.per and all(map(one.titles.get, rest))), None)
    if beside and not best.per:
        # sar -r of old releases has swap beside memory.
        return _layout(best, titles), _layout(beside, titles)
    places = tuple((at, best.titles.get(title) or column_of(title)) for at, title in enumerate(titles))
    return (Layout(best, places),)


def _fit(table: Table, titles: Sequence[str]) -> tuple[int, int]:
    """Return how many of the titles a table has, and the negative count of its values, for comparison."""
    if table.name.startswith(_PROCESS):
        return 0, 0
    return sum(title in table.titles for title in titles), -table.values()


def _layout(table: Table, titles: Sequence[str]) -> Layout:
    places = tuple((at, table.titles[title]) for at, title in enumerate(titles) if title in table.titles)
    return Layout(table, places)


def value(name: str, text: Any, factor: float = 1.0) -> Any:
    """Return the value of a cell; None without one.

    >>> value("util_pct", "12.3%"), value("util_pct", "12,30"), value("rx_kib_per_s", "1.5M"), value("fsused_mib", "2G")
    (12.3, 12.3, 1536.0, 2048.0)
    >>> value("cpu", "-1"), value("cpu", 3)
    ('all', '3')
    """
    if name in TEXTS:
        # A thread is below its process.
        return "all" if name in _COUNTED and str(text) == _ALL else str(text).removeprefix("|__") or None
    if name in _WHOLES:
        return whole(text)
    if not isinstance(text, str):
        found = number(text)
        return None if found is None else found * factor
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    found, unit = float(match[1].replace(",", ".")), match[2]
    if unit in {None, "%"}:
        return found * factor
    size = _KIB[unit] * found
    return size if "kib" in name else size / _MIB if "mib" in name else None


class Sheet:
    """The rows of a table while they are read: by column, with facts of a whole sample stored once.

    As separate objects, a million short cells would take a hundred times the memory of their text.
    """

    def __init__(self) -> None:
        self.samples: list[Row] = []
        self.of: list[int] = []
        """The sample of each row."""
        self.columns: dict[str, list[Any]] = {}

    def add(self, sample: Row, row: Row) -> int:
        """Add a row of a sample, and return its place."""
        if not self.samples or self.samples[-1] is not sample:
            self.samples.append(sample)
        place = len(self.of)
        self.of.append(len(self.samples) - 1)
        self.put(place, row)
        return place

    def put(self, place: int, row: Row) -> None:
        """Put values into a row."""
        for name, one in row.items():
            column = self.columns.setdefault(name, [])
            column.extend([None] * (place + 1 - len(column)))
            column[place] = one

    def frame(self, table: str, samples: Sequence[Row]) -> pl.DataFrame:
        """Return the rows as a frame, with the facts of their samples, in the columns that any row has."""
        height = len(self.of)
        values = {
            name: pl.Series(name, [*column, *([None] * (height - len(column)))], dtype=_type(name))
            for name, column in self.columns.items()
        }
        found = frame(samples, ROWS)[self.of].with_columns(*values.values())
        first = (*ROWS, *tables()[table].per) if table in tables() else tuple(ROWS)
        known_columns = (column.name for column in tables()[table].titles.values()) if table in tables() else ()
        order = [name for name in dict.fromkeys((*first, *known_columns, *values)) if name in found.columns]
        return found.select(name for name in order if name == "host" or found[name].null_count() < height)


Sheets = dict[str, Sheet]
"""The tables of a file while it is read, by name."""


def add(sheets: Sheets, table: str, sample: Row, row: Row) -> int:
    """Add a row to a table, and return its place."""
    return sheets.setdefault(table, Sheet()).add(sample, row)


def _type(name: str) -> pl.DataType:
    return ROWS.get(name) or (pl.Int64() if name in _WHOLES else pl.String() if name in TEXTS else pl.Float64())
