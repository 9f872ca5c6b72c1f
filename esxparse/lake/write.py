"""Tables to Parquet files, with what each column is in its metadata."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import nanoarrow
import polars as pl
from polars.io.plugins import register_io_source

from esxparse.counters.catalogue import lookup
from esxparse.errors import EsxparseError
from esxparse.formats.esxtop import by_instance
from esxparse.whole import short_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from esxparse.formats.esxtop.lazy import Table

BUDGET = 144 << 20
"""Bytes of rows that are made at once."""

_DIGEST = 12
"""Digits that tell shortened names apart."""

_ROW_GROUP = 256 << 10
"""Rows of a row group: of one instance, or of a few."""


def file_name(table: str) -> str:
    """The file of a table; names that no file can have are shortened, with a digest of what is left out.

    >>> file_name("group_cpu"), len(file_name("x" * 300))
    ('group_cpu.parquet', 128)
    """
    short = short_name(table)
    digest = "" if short == table else f"~{hashlib.sha256(table.encode()).hexdigest()[:_DIGEST]}"
    return f"{short[: len(short) - len(digest)]}{digest}.parquet"


def _about(format_name: str, table: str, column: str) -> dict[str, str]:
    counter = lookup(table, column) if format_name == "esxtop" else None
    if counter is None:
        return {}
    facts = {"unit": counter.unit, "counter": counter.batch, "screen": counter.screen}
    return {name: fact for name, fact in facts.items() if fact}


def _schema(format_name: str, table: str, schema: Mapping[str, Any]) -> Any:
    plain = nanoarrow.c_schema(pl.Schema(schema))
    fields = [field.modify(metadata=_about(format_name, table, field.name)) for field in plain.children]
    return plain.modify(children=fields)


def _sink(frame: pl.LazyFrame, table: str, folder: Path, format_name: str) -> None:
    schema = _schema(format_name, table, frame.collect_schema())
    file = folder / file_name(table)
    try:
        frame.sink_parquet(
            file,
            compression="zstd",
            row_group_size=_ROW_GROUP,
            arrow_schema=schema,
            sync_on_close="data",
            engine="streaming",
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise EsxparseError(f"{file} cannot be written: {str(error).splitlines()[0]}") from error


def write_tables(
    tables: Mapping[str, pl.LazyFrame], folder: Path, format_name: str, step: Callable[[int, int, str], None]
) -> None:
    """Writes each table; rows of one instance together where the table has instances."""
    for done, (name, frame) in enumerate(tables.items()):
        step(done, len(tables), name)
        keys = [key for key in ("instance", "time") if key in frame.collect_schema()]
        ordered = frame.sort(keys, maintain_order=True) if "instance" in keys else frame
        _sink(ordered, name, folder, format_name)


def write_in_place(tables: Mapping[str, Table], folder: Path, step: Callable[[int, int, str], None]) -> None:
    """Writes the tables of an esxtop capture that stays in its file, in bounded memory."""
    written: set[str] = set()
    for group in by_instance.together(tables, BUDGET):
        for name, frame in group.items():
            step(len(written), len(tables), name)
            _sink(frame.lazy(), name, folder, "esxtop")
            written.add(name)
    for name, table in tables.items():
        if name not in written:
            step(len(written), len(tables), name)
            _sink(_source(table), name, folder, "esxtop")
            written.add(name)


def _source(table: Table) -> pl.LazyFrame:
    """The table as a frame that is made piece by piece, instance by instance, when it is written."""

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        # All of it is written: nothing is asked for less.
        if with_columns is not None or predicate is not None or n_rows is not None:
            raise EsxparseError("a part of a table was asked for where the whole is written")
        yield from by_instance.frames(table, BUDGET)

    return register_io_source(read, schema=table.schema(), validate_schema=True, is_pure=True)
