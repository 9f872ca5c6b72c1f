"""What each reader needs and gives: from `recognise.toml` and the docstrings of the readers, which describe each table.

`esxparse formats` prints it, and `docs/formats.md` is made of it (`make written`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from textwrap import fill
from typing import Any

from esxparse.formats.registry import Reader, reader_of, readers

_TABLES = "Tables\n------\n"
_PACKAGE = "esxparse.formats"
_NAMES = re.compile(r"^([a-z_0-9]+(?:, [a-z_0-9]+)*)(?: \.\.\.)?(?:  +|$)", re.MULTILINE)
_MODULE = re.compile(r"`([a-z_0-9.]+)`")

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
    """What `Recording.format` is, and what the option `format` takes."""
    title: str
    options: tuple[str, ...]
    """Options of `esxparse.open` that are for this format alone."""
    needs: tuple[str, ...]
    """What else has to be installed."""
    tables: tuple[str, ...]
    """Names of the tables; empty where they are named as the file names its objects."""
    columns: Mapping[str, tuple[str, ...]]
    """Columns by table, where the reader has them as data; else `text` describes them."""
    text: str
    """Tables, columns, types and units, and the sources of what is known."""


def _described(root: str) -> Iterator[str]:
    """The docstring of a reader, and those of the modules that it names for more tables, its own or by full name."""
    wanted = [root]
    for module in wanted:
        text = cleandoc(import_module(module).__doc__ or "")
        yield text
        for name in _MODULE.findall(text):
            place = name if name.startswith(f"{_PACKAGE}.") else f"{root}.{name}"
            if place not in wanted and _is_module(place) and _TABLES in (import_module(place).__doc__ or ""):
                wanted.append(place)


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _of(reader: Reader) -> Format:
    texts = [reader.text.strip()] if reader.text else list(_described(f"{_PACKAGE}.{reader.module}"))
    found = (match for text in texts for match in _NAMES.findall(text.partition(_TABLES)[2]))
    names = dict.fromkeys(name for match in found for name in match.split(", "))
    options = tuple(sorted(reader.options - {"numbers", "window", "lazy"}))
    if columns := getattr(reader.reading, "COLUMNS", {}):
        listed = (f"{name}\n{fill(', '.join(columns[name]), **_WRAPPED)}" for name in names if name in columns)
        texts.append("\n".join(["Columns", "-------", *listed]))
    there = {name: columns[name] for name in names if name in columns}
    return Format(reader.name, reader.title, options, reader.needs, tuple(names), there, "\n\n".join(texts))


@cache
def catalogue() -> tuple[Format, ...]:
    """All formats that can be opened, in the order in which they are looked for.

    >>> [one.tables for one in catalogue() if one.name == "vscsistats"]
    [('histograms', 'summaries')]
    """
    return tuple(map(_of, readers()))


def described(name: str) -> Format:
    """The format of that name.

    Raises:
        EsxparseError: There is none.
    """
    return _of(reader_of(name))


def page() -> str:
    """The page of the documentation."""
    rows = ["| format | what | tables | options | needs |", "|---|---|---|---|---|"]
    parts = []
    for one in catalogue():
        tables = ", ".join(f"`{name}`" for name in one.tables) or "one per object"
        options = ", ".join(f"`{name}`" for name in one.options)
        rows.append(f"| [{one.name}](#{one.name}) | {one.title} | {tables} | {options} | {', '.join(one.needs)} |")
        parts.append(f"## {one.name}\n\n```text\n{one.text}\n```\n")
    return "\n".join([_HEAD, *rows, "", *parts])
