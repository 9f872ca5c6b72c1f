"""The contents of checks.toml: classes of instances, identities, limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from esxparse import toml
from esxparse.counters.catalogue import lookup

HERE: Final = Path(__file__).parent
_LISTS: Final = ("mean", "optional")


@dataclass(frozen=True)
class Rule:
    """An entry of checks.toml, for one name of its `each`."""

    id: str
    tables: tuple[str, ...]
    """As `format.table`."""
    means: str
    fail: bool = False
    low: float | None = None
    high: float | None = None
    column: str = ""
    where: str = ""
    value: str = ""
    sql: str = ""
    """A whole query; `{values}` is replaced by the values of all names of `each`, `{parts}` by their parts."""
    part: str = ""
    mean: tuple[float, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def counters(self) -> frozenset[str]:
        """The words of its formula, including counters."""
        return frozenset(re.findall(r"\w+", self.value or self.sql))

    @property
    def parts_in(self) -> frozenset[str]:
        """The tables whose rows it adds up, if it compares objects with their parts; else empty."""
        return frozenset(re.findall(r"(?:FROM|JOIN) (\w+)", self.sql)) if "GROUP BY" in self.sql else frozenset()


def raw() -> dict[str, Any]:
    """Return the parsed file."""
    return toml.beside(__file__, "checks.toml")


@cache
def suite_names() -> tuple[str, ...]:
    """Return every table with a suite, as `format.table`."""
    return tuple(f"{form}.{table}" for form, tables in raw()["suites"].items() for table in tables)


@cache
def rules(kind: str) -> tuple[Rule, ...]:
    """Return the entries of a kind, `check` or `identity`."""
    return tuple(rule for entry in raw()[kind] for rule in _each(entry))


@cache
def identity(form: str, table: str, name: str) -> Rule | None:
    """Return the identity with that name on a table of a format; None for a counter."""
    matching = (one for one in rules("identity") if one.id == name and f"{form}.{table}" in one.tables)
    return next(matching, None)


def is_of(instance: str, name: str) -> bool:
    """Return whether an instance is an object with that name, or part of it: a world or a disk of a VM.

    >>> is_of("db-01:scsi0:0", "db-01"), is_of("db-012", "db-01")
    (True, False)
    """
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", instance) is not None


def _each(entry: Mapping[str, Any]) -> Iterator[Rule]:
    """Yield an entry, once for each of its names."""
    for one in entry.get("each", [""]):
        words = one.split()
        names = {"{c}": words[0] if words else ""} | {f"{{{place}}}": word for place, word in enumerate(words, 1)}
        fields: dict[str, Any] = {
            key: _filled(value, names) if isinstance(value, str) else tuple(value) if key in _LISTS else value
            for key, value in entry.items()
        }
        fields.pop("each", None)
        globs = _expanded(fields.pop("on"))
        tables = tuple(name for name in suite_names() if any(fnmatch(name, glob) for glob in globs))
        yield Rule(tables=tables, **fields)


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, word in names.items():
        text = text.replace(name, word)
    return text


def _expanded(on: list[str]) -> list[str]:
    sets = raw()["sets"]
    return [name for one in on for name in (_expanded(sets[one]) if one in sets else [one])]


def classes(form: str, table: str, frame: pl.DataFrame, width: int) -> dict[str, pl.Series | None]:
    """Return the rows of each class of instances of a table; None if one class has all rows.

    The class has no name if the table has no classes.

    `width`: rows after which the same instances repeat, 0 if they do not.
    """
    expression = raw()["class"].get(form, {}).get(table)
    if expression is None or not frame.height:
        return {"": None}
    # The class depends on the instance alone: one sample has all instances.
    length = width or frame.height
    try:
        marks = frame.head(length).select(pl.sql_expr(expression)).to_series()
    except pl.exceptions.ColumnNotFoundError:
        return {"": None}
    # Sorted, to be independent of the order of the rows.
    found = marks.unique().sort(descending=True).to_list()
    if len(found) == 1:
        return {found[0]: None}
    places = np.arange(frame.height, dtype=np.uint32).reshape(-1, length)
    return {of: pl.Series(places[:, (marks == of).to_numpy()].ravel()) for of in found}


@cache
def unit_of(form: str, table: str, column: str) -> str:
    """Return the unit of a column, from the catalogue of counters or the end of its name; empty if unknown."""
    if form == "esxtop":
        found = lookup(table, column)
        return found.unit if found and found.unit not in {"unknown", "text"} else ""
    return next((unit for end, unit in raw()["unit"].items() if column.endswith(end)), "")


def fields(form: str, table: str, names: list[str]) -> tuple[list[str], list[str]]:
    """Return the counters of a table that occur together, and the missing ones; empty if most are missing."""
    together = raw()["field"].get(form, {}).get(table, [])
    lacking = [one for one in together if one not in names]
    return (together, lacking) if 2 * len(lacking) < len(together) else ([], [])


def identities(form: str, frames: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """Yield identities whose counters exist: the table, its rows or a query's, and the values of each identity.

    A value is null if its identity is not finite for a row. All identities of a table, or of a query, are computed at
    once: separate queries would take longer than the computation.
    """
    by_query: dict[tuple[str, str], list[Rule]] = {}
    for rule in rules("identity"):
        for table in rule.tables:
            of, _, name = table.partition(".")
            if of == form and name in frames and frames[name].height:
                by_query.setdefault((name, rule.sql), []).append(rule)
    context = pl.SQLContext({name: frame.lazy() for name, frame in frames.items() if frame.width})
    queries: list[tuple[str, list[Rule], pl.LazyFrame]] = []
    for (name, sql), mine in by_query.items():
        if not sql:
            yield name, frames[name], _finite(_values(frames[name], mine))
        elif made := _query(mine, context):
            queries.append((name, *made))
    for (name, mine, _), frame in zip(queries, pl.collect_all([query for *_, query in queries]), strict=True):
        yield name, frame, _finite(frame.select(pl.col(rule.id).cast(pl.Float64) for rule in mine))


def _finite(values: pl.DataFrame) -> pl.DataFrame:
    return values.with_columns(pl.when(pl.all().is_finite()).then(pl.all()))


def _values(frame: pl.DataFrame, mine: Sequence[Rule]) -> pl.DataFrame:
    """Return the values of identities for each row."""
    wanted = {rule: _value(rule.value, rule.where) for rule in mine}
    fit = [rule for rule, value in wanted.items() if set(value.meta.root_names()) <= {*frame.columns, *rule.optional}]
    lacking = dict.fromkeys(name for rule in fit for name in rule.optional if name not in frame.columns)
    with_zeros = frame.lazy().with_columns(pl.lit(0.0).alias(name) for name in lacking)
    # Planning does not pay off for a single pass over columns in memory.
    return with_zeros.select(wanted[rule].alias(rule.id) for rule in fit).collect(optimizations=pl.QueryOptFlags.none())


@cache
def _value(value: str, where: str) -> pl.Expr:
    number = pl.sql_expr(value).cast(pl.Float64)
    return pl.when(pl.sql_expr(where)).then(number) if where else number


def _query(mine: list[Rule], context: pl.SQLContext[Any]) -> tuple[list[Rule], pl.LazyFrame] | None:
    """Return one query for all possible identities; None if each of them misses a counter or a table."""
    values = ", ".join(f'{rule.value} AS "{rule.id}"' for rule in mine)
    parts = ", ".join(rule.part for rule in mine)
    sql = mine[0].sql.replace("{values}", values).replace("{parts}", parts)
    try:
        made = context.execute(sql, eager=False).rename({"value": mine[0].id}, strict=False)
        keys = [name for name in made.collect_schema() if name not in {rule.id for rule in mine}]
    except (pl.exceptions.ColumnNotFoundError, pl.exceptions.SQLInterfaceError):
        possible = [rule for rule in mine if _query([rule], context)] if len(mine) > 1 else []
        return _query(possible, context) if possible else None
    # A join has no order; sort, so that the first of equal extremes is reproducible.
    return mine, made.sort(keys)
