"""The inputs and outputs of each reader: from `recognise.toml`, the tables that readers declare, and their docstrings.

`esxparse formats` prints the catalogue, and `make written` writes it to `docs/formats.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from textwrap import fill
from typing import Any

from esxparse.formats.kit.tables import Table, tables_in
from esxparse.formats.registry import Reader, reader_of, readers

_TABLES = "Tables\n------\n"
_PACKAGE = "esxparse.formats"
_SHARED = Path(__file__).parent / "benchmarks" / "table.py"
"""Tables of many readers: a table declared with only its name and the meaning of a row has their columns."""
_NAMES = re.compile(r"^([a-z_0-9]+(?:, [a-z_0-9]+)*)(?: \.\.\.)?(?:  +|$)", re.MULTILINE)

_WRAPPED: dict[str, Any] = {"width": 120, "initial_indent": "    ", "subsequent_indent": "    "}

_HEAD = """# Formats

What `esxparse.open` reads, each told by its content. Made from the readers by `make written`; `esxparse formats` prints
the list, `esxparse formats NAME` the description of one.

Files may be compressed, in a bundle, or at a URL. A directory or a bundle of several files of one format is one
recording, whose tables have a column `file`. Column names end in their unit; times are UTC. Types: str, i64 (whole
numbers), f64, bool, time (datetime in UTC).
"""


@dataclass(frozen=True)
class Format:
    """A format that can be opened."""

    name: str
    """The value of the option `format`, and of `Recording.format` unless the text names another."""
    title: str
    options: tuple[str, ...]
    """Options of `esxparse.open` for this format alone."""
    needs: tuple[str, ...]
    """Other software that must be installed."""
    tables: tuple[str, ...]
    """Names of the tables; empty if they are named after the objects in the file."""
    columns: Mapping[str, tuple[str, ...]]
    """Columns by table, if the reader declares them; otherwise `text` describes them."""
    text: str
    """Tables, columns, types and units, and the sources of these facts."""


def _declared(module: str) -> list[Table]:
    """Return the tables of a reader: in the TOML file beside its module, or in those of its package."""
    place = Path(import_module(module).__file__ or "")
    files = sorted(place.parent.glob("*.toml")) if place.name == "__init__.py" else [place.with_suffix(".toml")]
    shared = {table.name: table for table in tables_in(_SHARED)}
    found = [table for file in files if file.exists() for table in tables_in(file)]
    return [table if table.columns else replace(table, columns=shared[table.name].columns) for table in found]


def _listed(tables: Iterable[Table]) -> str:
    """Return the tables as text: the meaning of a row, and name, type and meaning of each column."""
    parts = [_TABLES.rstrip()]
    for table in tables:
        parts.append(fill(f"{table.name}: {table.about}", 120, subsequent_indent="    "))
        width = max(map(len, table.columns))
        for name, (kind, meaning) in table.columns.items():
            line = f"    {name:<{width}}  {kind:<4}  {meaning}".rstrip()
            parts.append(fill(line, 120, subsequent_indent=" " * (width + 12), break_on_hyphens=False))
    return "\n".join(parts)


def _of(reader: Reader) -> Format:
    module = f"{_PACKAGE}.{reader.module}"
    options = tuple(sorted(reader.options - {"numbers", "window", "lazy"}))
    text = reader.text.strip() or cleandoc(import_module(module).__doc__ or "")
    if tables := [] if reader.text else _declared(module):
        title, _, rest = text.partition("\n\n")
        text = "\n\n".join(filter(None, (title, _listed(tables), rest)))
        columns = {table.name: tuple(table.columns) for table in tables}
        return Format(reader.name, reader.title, options, reader.needs, tuple(columns), columns, text)
    found = _NAMES.findall(text.partition(_TABLES)[2])
    names = dict.fromkeys(name for match in found for name in match.split(", "))
    if columns := getattr(reader.reading, "COLUMNS", {}):
        listed = (f"{name}\n{fill(', '.join(columns[name]), **_WRAPPED)}" for name in names if name in columns)
        text = "\n\n".join([text, "\n".join(["Columns", "-------", *listed])])
    there = {name: columns[name] for name in names if name in columns}
    return Format(reader.name, reader.title, options, reader.needs, tuple(names), there, text)


@cache
def catalogue() -> tuple[Format, ...]:
    """Return all formats that can be opened, in the order in which files are checked for them.

    >>> [one.tables for one in catalogue() if one.name == "vscsistats"]
    [('histograms', 'summaries')]
    """
    return tuple(map(_of, readers()))


def described(name: str) -> Format:
    """Return the format of that name.

    Raises:
        EsxparseError: The format is unknown.
    """
    return _of(reader_of(name))


def page() -> str:
    """Return the page of the documentation."""
    rows = ["| format | what | tables | options | needs |", "|---|---|---|---|---|"]
    parts = []
    for one in catalogue():
        tables = ", ".join(f"`{name}`" for name in one.tables) or "one per object"
        options = ", ".join(f"`{name}`" for name in one.options)
        rows.append(f"| [{one.name}](#{one.name}) | {one.title} | {tables} | {options} | {', '.join(one.needs)} |")
        parts.append(f"## {one.name}\n\n```text\n{one.text}\n```\n")
    return "\n".join([_HEAD, *rows, "", *parts])
