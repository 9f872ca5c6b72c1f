"""Columns of the header to tables: the counter and instance of each cell, and the place of its numbers.

A block of rows is one flat run of floats. Each counter of each table has its own stretch, time-major, with one number
per row and instance, so that the stretch becomes a column without being copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import TypeVar

import numpy as np
import polars as pl

from esxparse.counters.catalogue import objects
from esxparse.counters.naming import column_name, table_name
from esxparse.formats.esxtop import instances
from esxparse.formats.esxtop.scan import Integers
from esxparse.formats.esxtop.scan_twin import JUDGED
from esxparse.recording import Note

_Value = TypeVar("_Value", str, int)
_NO_PARTS = ("time", "instance")
_column_name = cache(column_name)
_table_name = cache(table_name)


@dataclass(frozen=True)
class TableShape:
    """The header's facts about one table."""

    name: str
    object: str
    instances: tuple[str | None, ...]
    counters: tuple[str, ...]  # as in the header, in the order first met; a repeated one is listed twice
    columns: tuple[str, ...]  # names, one per counter
    offset: int  # numbers per row in the tables before this one
    kept: bool = True  # whether its numbers are kept; its instances always are


@dataclass(frozen=True)
class Layout:
    """All tables of a capture, and the place of the number of each cell of a row."""

    tables: tuple[TableShape, ...]
    # For each cell after the time stamp: its place in `tables`, and in `columns` and `instances` of the table.
    table: Integers
    column: Integers
    lane: Integers
    width: int  # numbers per row in all tables that are kept
    repeated: tuple[int, ...]  # cells whose object, instance and counter were met before

    def places(self, capacity: int) -> tuple[Integers, Integers]:
        """Return, for a block of `capacity` rows, the place of each cell of row 0 and the step to the next row.

        The first cell, the time stamp, has no place (-1). The scanner reports odd cells of tables that are not kept,
        too.
        """
        lanes = np.array([len(shape.instances) for shape in self.tables], dtype=np.int64)
        offsets = np.array([shape.offset for shape in self.tables], dtype=np.int64)
        kept = np.array([shape.kept for shape in self.tables], dtype=np.bool_)[self.table]
        step = np.where(kept, lanes[self.table], 0)
        first = capacity * (offsets[self.table] + self.column * step) + self.lane
        first = np.where(kept, first, JUDGED)
        stamp = np.array([-1], dtype=np.int64)
        return np.concatenate([stamp, first]), np.concatenate([stamp * 0, step])

    def cells(self, place: int) -> Integers:
        """Return the cell of each column and instance of a table, without the time stamp; -1 if it has none."""
        cells = np.flatnonzero(self.table == place)
        found = np.full((len(self.tables[place].columns), len(self.tables[place].instances)), -1)
        found[self.column[cells], self.lane[cells]] = cells
        return found

    def parts(self) -> dict[str, pl.DataFrame]:
        """Return the instances of each table with their parsed parts."""
        known = {shape.name: shape.instances for shape in self.tables}
        return {name: instances.parts(name, texts, known) for name, texts in known.items()}

    def only(self, names: Collection[str]) -> Layout:
        """Return the layout with the numbers of only these tables."""
        shapes: list[TableShape] = []
        offset = 0
        for shape in self.tables:
            kept = shape.name in names
            shapes.append(replace(shape, offset=offset, kept=kept))
            offset += len(shape.columns) * len(shape.instances) * kept
        return replace(self, tables=tuple(shapes), width=offset)


def split_owner(owner: str) -> tuple[str, str | None]:
    """Return object and instance (None without one) from the text between host and counter.

    >>> split_owner("Virtual Disk(db (old):scsi0:1)")
    ('Virtual Disk', 'db (old):scsi0:1')
    >>> split_owner("Memory")
    ('Memory', None)
    """
    name, opening, rest = owner.partition("(")
    if opening and rest.endswith(")"):
        return name, rest[:-1]
    return owner, None


def _numbered(values: Sequence[_Value]) -> tuple[list[_Value], Integers]:
    """Return the distinct values in the order met, and for each value its place among them."""
    distinct = list(dict.fromkeys(values))
    place_of = {value: place for place, value in enumerate(distinct)}
    return distinct, np.fromiter(map(place_of.__getitem__, values), dtype=np.int64, count=len(values))


def _unique_columns(table: str, counters: Sequence[str]) -> tuple[str, ...]:
    """Return the column names of a table's counters: a name already taken gets `_2`, `_3` ..."""
    taken = set(instances.PART_NAMES.get(table, _NO_PARTS))
    last: dict[str, int] = {}
    names = []
    for counter in counters:
        plain = name = _column_name(counter)
        number = last.get(plain, 1)
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name)
        last[plain] = number
        names.append(name)
    return tuple(names)


def build(owners: Sequence[str], counters: Sequence[str]) -> Layout:
    """Lay out the tables of a capture from the owner (`object(instance)`) and the counter of each of its cells."""
    distinct_owners, owner = _numbered(owners)
    distinct_counters, counter = _numbered(counters)
    tables: dict[str, tuple[str, dict[str | None, int]]] = {}
    place_of_table: dict[str, int] = {}
    table_of_owner, lane_of_owner = [], []
    for text in distinct_owners:
        name, instance = split_owner(text)
        key_name = _table_name(name)
        _, lanes = tables.setdefault(key_name, (name, {}))
        lane_of_owner.append(lanes.setdefault(instance, len(lanes)))
        table_of_owner.append(place_of_table.setdefault(key_name, len(place_of_table)))
    table, lane = np.array(table_of_owner)[owner], np.array(lane_of_owner)[owner]
    kinds = len(distinct_counters)
    keys = (table * (int(lane.max()) + 1) + lane) * kinds + counter
    repeats = np.zeros(len(owners), dtype=np.int64)
    # `np.unique` imports the masked arrays of numpy, which takes longer than all of this.
    if not np.diff(np.sort(keys)).all():
        nth = pl.int_range(pl.len()).over("key")
        repeats = pl.DataFrame({"key": keys}).select(nth).to_series().to_numpy()
    most = int(repeats.max()) + 1
    distinct, key = _numbered(((table * kinds + counter) * most + repeats).tolist())
    counters_of: list[list[str]] = [[] for _ in tables]
    columns = np.zeros(len(distinct), dtype=np.int64)
    for place, one in enumerate(distinct):
        there = counters_of[one // most // kinds]
        columns[place] = len(there)
        there.append(distinct_counters[one // most % kinds])

    shapes: list[TableShape] = []
    offset = 0
    for (key_name, (name, lanes)), names in zip(tables.items(), counters_of, strict=True):
        shapes.append(TableShape(key_name, name, tuple(lanes), tuple(names), _unique_columns(key_name, names), offset))
        offset += len(names) * len(lanes)
    return Layout(
        tables=tuple(shapes),
        table=table,
        column=columns[key],
        lane=lane,
        width=offset,
        repeated=tuple(np.flatnonzero(repeats).tolist()),
    )


_NEAR = 0.8


def mangled_names(layout: Layout) -> Iterator[Note]:
    """Yield warnings about objects that nearly match one of esxtop's, if most objects of the capture are esxtop's.

    Windows has objects of its own, such as PhysicalDisk.
    """
    known = objects()
    strange = [shape for shape in layout.tables if shape.object not in known]
    if len(strange) * 2 >= len(layout.tables):
        return
    for shape in strange:
        for near in get_close_matches(shape.object, known, 1, _NEAR):
            message = (
                f"object {shape.object!r} is nearly {near!r}: if its name lost letters, the numbers in table "
                f"{shape.name} belong to table {table_name(near)}"
            )
            yield Note(message, severity="warning")
