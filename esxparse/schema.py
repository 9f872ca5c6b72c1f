"""Columns of tables and their types, declared as docstrings list them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import polars as pl

Schema = dict[str, pl.DataType]

TIME: Final = pl.Datetime("us", "UTC")
"""The type of every time in a table."""
TYPES: Final[Mapping[str, pl.DataType]] = {
    "i64": pl.Int64(),
    "f64": pl.Float64(),
    "str": pl.String(),
    "bool": pl.Boolean(),
    "time": TIME,
    "local": pl.Datetime("us"),
    "list of i64": pl.List(pl.Int64()),
}
"""Types by their names in docstrings of readers; `local` is a time by a clock of unknown zone."""


def schema(text: str) -> Schema:
    """Return columns and their types, written as `names type, names type`.

    >>> schema("run i64, test unit str")
    {'run': Int64, 'test': String, 'unit': String}
    """
    groups = (group.split() for group in text.split(","))
    return {name: TYPES[kind] for *names, kind in groups for name in names}


def listed(package: str, file: str = "columns.csv") -> list[list[str]]:
    """Return the rows of a file of a package of ours, without its titles."""
    lines = (files(package) / file).read_text(encoding="utf-8").splitlines()
    return list(csv.reader(lines))[1:]
