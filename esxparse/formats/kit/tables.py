"""Rows to tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from esxparse import toml
from esxparse.errors import EsxparseError, choose_from
from esxparse.formats.kit.numbers import number, whole
from esxparse.schema import TYPES, Schema

Row = dict[str, Any]
"""A row of a table by column, optionally without unknown values."""

data = toml.beside


_KEYS = ("about", "columns", "like")
_KINDS = (*TYPES, "enum")
"""Types of columns; readers with an `enum` make its type themselves."""
_READ: Mapping[pl.DataType | None, Callable[[str], float | None]] = {pl.Int64(): whole, pl.Float64(): number}


@dataclass(frozen=True)
class Table:
    """A table of a reader, as declared in the TOML file beside it."""

    name: str
    about: str
    """The meaning of a row."""
    columns: Mapping[str, tuple[str, str]]
    """Type and meaning by name; the unit ends the name, or is in the meaning."""

    @property
    def schema(self) -> Schema:
        """Columns and their types."""
        return {name: TYPES[kind] for name, (kind, _) in self.columns.items()}


def _check(path: Path, name: str, table: Mapping[str, Any]) -> None:
    """Refuse keys and types that a declared table cannot have.

    Raises EsxparseError: A key or type is wrong, or the meaning of a row is missing.
    """
    place = f"{path.with_suffix('.toml').name}: [tables.{name}]"
    for key in table:
        if key not in _KEYS:
            raise EsxparseError(f"{place}: unknown key {key!r}; {choose_from(key, _KEYS)}")
    if "about" not in table:
        raise EsxparseError(f"{place} has no about; write what a row is")
    for column, (kind, *_) in table.get("columns", {}).items():
        if kind not in _KINDS:
            raise EsxparseError(f"{place}: {column} has the unknown type {kind!r}; {choose_from(kind, _KINDS)}")


def tables_in(path: Path) -> Iterator[Table]:
    """Yield the tables that a TOML file declares: `[tables.NAME]`, `about` and `columns.NAME = [type, meaning]`.

    `like` is another file with a table of that name, whose columns are appended.
    """
    for name, table in data(str(path)).get("tables", {}).items():
        _check(path, name, table)
        more = data(str(path), table["like"])["tables"][name]["columns"] if "like" in table else {}
        listed = {**table.get("columns", {}), **more}
        columns = {column: (kind, " ".join(meaning)) for column, (kind, *meaning) in listed.items()}
        yield Table(name, table["about"], columns)


def schemas(module: str) -> dict[str, Schema]:
    """Return tables by name, with the columns in the TOML file beside a module."""
    return {table.name: table.schema for table in tables_in(Path(module))}


def typed(row: Mapping[str, Any], columns: Schema) -> Row:
    """Return the row with texts converted to numbers in columns of numbers.

    >>> typed({"count": "12", "host": "12"}, {"count": pl.Int64(), "host": pl.String()})
    {'count': 12, 'host': '12'}
    """
    kinds = {name: _READ.get(columns.get(name)) for name in row}
    return {
        name: read(value) if isinstance(value, str) and (read := kinds[name]) else value for name, value in row.items()
    }


def picked(found: Mapping[str, Any], names: Mapping[str, str], read: Callable[[Any], Any]) -> Row:
    """Return a row of the values that `names` lists by column, each converted by `read`; None if a value is missing.

    >>> picked({"Cpu": "7", "Fan": "fast"}, {"cpu_watts": "Cpu", "fan_watts": "Fan"}, str)
    {'cpu_watts': '7', 'fan_watts': 'fast'}
    """
    return {column: read(found.get(name)) for column, name in names.items()}


def known(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that are not None."""
    return {name: value for name, value in facts.items() if value is not None}


def distinct(values: Iterable[Any]) -> int | None:
    """Return the number of distinct values; None if one is unknown."""
    found = set(values)
    return None if None in found or not found else len(found)


def frame(rows: Iterable[Mapping[str, Any] | tuple[Any, ...]], columns: Schema) -> pl.DataFrame:
    """Return the rows, by name or in column order, as a frame; missing names become null."""
    kept = list(rows)
    if kept and isinstance(kept[0], tuple):
        return pl.DataFrame(kept, schema=columns, orient="row")
    mappings = cast("list[Mapping[str, Any]]", kept)
    return pl.DataFrame({name: [row.get(name) for row in mappings] for name in columns}, schema=columns)


def frames(
    tables: Mapping[str, tuple[Sequence[Mapping[str, Any] | tuple[Any, ...]], Schema]],
) -> dict[str, pl.LazyFrame]:
    """Return tables by name from rows and columns, without empty ones."""
    return {name: frame(rows, columns).lazy() for name, (rows, columns) in tables.items() if rows}
