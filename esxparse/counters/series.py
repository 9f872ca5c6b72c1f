"""Names of the series in a table, which distinguish the rows of one time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

NUMBERED: Final = frozenset({"package", "core", "cpu", "pid", "lun", "job_number", "client_port", "server_port"})
"""Columns whose numbers are names: of a processor, a process, a job."""
_STATES: Final = frozenset({"status", "running_on_cpu"})
"""Columns of text with a passing state, rather than a name."""
_RENUMBERED: Final = frozenset({"group_id", "world_id", "port_id"})
"""Numbers that change with the next start of a host."""


def series_name(schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return the name of each row's series; null if the table has only one, or the row has no name.

    `schema`: of the table. `instance` is the whole name, except in tables with a column `counter` for the kind of
    value. In these, and without an `instance`, the name joins all columns of text (but states) and of `NUMBERED`.

    >>> table = pl.LazyFrame({"instance": ["", "0"], "counter": ["ready", "ready"], "cpu": [None, 3]})
    >>> table.select(name=series_name(table.collect_schema())).collect()["name"].to_list()
    ['ready', '0 ready cpu 3']
    """
    if "instance" in schema and "counter" not in schema:
        return pl.col("instance")
    parts = [
        pl.col(name).replace("", None) if kind == pl.String else pl.format(f"{name.replace('_', ' ')} {{}}", name)
        for name, kind in schema.items()
        if (kind == pl.String or name in NUMBERED) and name not in _STATES
    ]
    if not parts:
        return pl.lit(None, pl.String)
    return pl.concat_str(parts, separator=" ", ignore_nulls=True).replace("", None)


def lasting_name(schema: Mapping[str, pl.DataType]) -> pl.Expr | None:
    """Return the name of each row's series that outlives a restart of the host; None if `series_name` does.

    `schema`: of the table.
    """
    parts = [
        name
        for name, kind in schema.items()
        if kind in {pl.String, pl.Int64} and name != "instance" and name not in _RENUMBERED
    ]
    if not parts or not _RENUMBERED & set(schema):
        return None
    return pl.concat_str(parts, separator=":", ignore_nulls=True)
