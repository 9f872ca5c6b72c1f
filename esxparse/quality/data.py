"""checks.toml, read: classes of instances, identities, limits."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse import toml
from esxparse.counters.catalogue import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE: Final = Path(__file__).parent


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
    mean: Sequence[float] = ()
    optional: Sequence[str] = ()


def raw() -> dict[str, Any]:
    """The file as it is."""
    return toml.beside(__file__, "checks.toml")


@cache
def suite_names() -> tuple[str, ...]:
    """Every table with a suite, as `format.table`."""
    return tuple(f"{form}.{table}" for form, tables in raw()["suites"].items() for table in tables)


@cache
def rules(kind: str) -> tuple[Rule, ...]:
    """The entries of a kind, `check` or `identity`."""
    return tuple(rule for entry in raw()[kind] for rule in _each(entry))


def _each(entry: Mapping[str, Any]) -> Iterator[Rule]:
    """An entry, once for each of its names."""
    for one in entry.get("each", [""]):
        words = one.split()
        names = {"{c}": words[0] if words else ""} | {f"{{{place}}}": word for place, word in enumerate(words, 1)}
        said: dict[str, Any] = {
            key: _filled(value, names) if isinstance(value, str) else value for key, value in entry.items()
        }
        said.pop("each", None)
        globs = _named(said.pop("on"))
        tables = tuple(name for name in suite_names() if any(fnmatch(name, glob) for glob in globs))
        yield Rule(tables=tables, **said)


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, word in names.items():
        text = text.replace(name, word)
    return text


def _named(on: list[str]) -> list[str]:
    sets = raw()["sets"]
    return [name for one in on for name in (_named(sets[one]) if one in sets else [one])]


def classes(form: str, table: str, frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of a table by class of instances; one class without a name where none is told apart."""
    said = raw()["class"].get(form, {}).get(table)
    if said is None or not frame.height:
        return {"": frame}
    try:
        marked = frame.with_columns(pl.sql_expr(said).alias("_of"))
    except pl.exceptions.ColumnNotFoundError:
        return {"": frame}
    parts = marked.partition_by("_of", as_dict=True, include_key=False, maintain_order=True)
    return {str(of): part for (of,), part in parts.items()}


@cache
def unit_of(form: str, table: str, column: str) -> str:
    """The unit of a column: by the catalogue of counters, else as its name ends; empty where neither tells it."""
    if form == "esxtop":
        found = lookup(table, column)
        return found.unit if found and found.unit not in {"unknown", "text"} else ""
    return next((unit for end, unit in raw()["unit"].items() if column.endswith(end)), "")


def fields(form: str, table: str, names: list[str]) -> tuple[list[str], list[str]]:
    """The counters of a table that come together, and those of them that it lacks; neither where it has few of them."""
    together = raw()["field"].get(form, {}).get(table, [])
    lacking = [one for one in together if one not in names]
    return (together, lacking) if 2 * len(lacking) < len(together) else ([], [])


def identities(form: str, frames: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, pl.DataFrame]]:
    """By table and id the values of an identity, with their keys; those whose counters are there."""
    context = pl.SQLContext({name: frame.lazy() for name, frame in frames.items() if frame.width})
    asked: dict[tuple[str, str], pl.LazyFrame] = {}
    for rule in rules("identity"):
        for table in rule.tables:
            of, _, name = table.partition(".")
            if of == form and name in frames and frames[name].height:
                made = _computed(rule, frames[name], context)
                if made is not None:
                    asked[name, rule.id] = made
    found: dict[str, dict[str, pl.DataFrame]] = {}
    # All in one query: a query for each would take longer than what it computes.
    for (name, key), values in zip(asked, pl.collect_all(asked.values()), strict=True):
        if values.height:
            found.setdefault(name, {})[key] = values
    return found


def _computed(rule: Rule, frame: pl.DataFrame, context: pl.SQLContext[Any]) -> pl.LazyFrame | None:
    """The values of an identity; None where a counter or a table is missing."""
    made: pl.LazyFrame
    try:
        if rule.sql:
            made = context.execute(rule.sql, eager=False)
        else:
            zeros = [pl.lit(0.0).alias(name) for name in rule.optional if name not in frame.columns]
            made = frame.lazy().with_columns(zeros)
            made = made.filter(pl.sql_expr(rule.where)) if rule.where else made
            keys = [name for name, kind in frame.schema.items() if name == "time" or kind == pl.String]
            made = made.select(*keys, pl.sql_expr(rule.value).alias("value"))
        made = made.with_columns(pl.col("value").cast(pl.Float64)).filter(pl.col("value").is_finite())
        made.collect_schema()
    except (pl.exceptions.ColumnNotFoundError, pl.exceptions.SQLInterfaceError):
        return None
    return made
