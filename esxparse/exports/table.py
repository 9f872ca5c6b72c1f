"""A table that is exported: chosen by name, with units, and split into series for databases of time series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl
from polars import selectors as cs

from esxparse.derived import of_recording
from esxparse.derived.tables import described
from esxparse.errors import EsxparseError, MissingTableError, choose_from
from esxparse.recording import Recording

_ROWS: Final = 65_536
"""Rows that are in memory at a time."""


@dataclass(frozen=True)
class Table:
    """A table of a recording; columns that hold lists are text, their items separated by spaces."""

    name: str
    frame: pl.LazyFrame
    host: str
    """Empty if the recording names no host."""
    is_esxtop: bool

    @cached_property
    def schema(self) -> pl.Schema:
        """The types of its columns."""
        return self.frame.collect_schema()

    @cached_property
    def height(self) -> int:
        """The number of its rows."""
        return int(self.frame.select(pl.len()).collect().item())

    def batches(self, frame: pl.LazyFrame | None = None) -> Iterator[pl.DataFrame]:
        """The rows of the table, or of a frame made of it, some at a time and in order."""
        chosen = self.frame if frame is None else frame
        return chosen.collect_batches(chunk_size=_ROWS, maintain_order=True)

    def unit(self, column: str) -> str:
        """The unit of a column; empty if only its name has the unit."""
        found = described(self.name, column) if self.is_esxtop else None
        return found.unit if found else ""

    def meaning(self, column: str) -> str:
        """What a column is, with its unit; its name if the catalogue does not have it."""
        found = described(self.name, column) if self.is_esxtop else None
        words = found.meaning if found else ""
        unit = self.unit(column)
        return f"{words or column}{f' ({unit})' if unit else ''}"

    @cached_property
    def labels(self) -> list[str]:
        """The columns that identify a series: text, and numbers of things where text does not identify the rows."""
        texts = cs.expand_selector(self.schema, cs.string() | cs.categorical() | cs.enum())
        numbers = cs.expand_selector(self.schema, cs.integer())
        if self.is_esxtop or not numbers:
            return [name for name in self.schema if name in texts or name in numbers]
        counts = self.frame.select(pl.len(), distinct=pl.struct("time", *texts).n_unique()).collect()
        same = counts["len"].item() == counts["distinct"].item()
        return [name for name in self.schema if name in texts or (name in numbers and not same)]

    @cached_property
    def values(self) -> list[str]:
        """The columns with numbers that are measured."""
        numbers = cs.expand_selector(self.schema, cs.numeric() | cs.boolean())
        return [name for name in self.schema if name in numbers and name not in self.labels]

    def need_time(self, kind: str) -> None:
        """Refuse a table without timestamps.

        Raises EsxparseError: The table has no column `time`.
        """
        if not isinstance(self.schema.get("time"), pl.Datetime):
            raise EsxparseError(
                f"table {self.name!r} has no column time, which {kind} needs: write csv, parquet or xlsx"
            )


def chosen_table(rec: Recording, name: str | None = None) -> Table:
    """A raw or derived table of a recording.

    `name`: may be left out if the recording has a single table.

    Raises MissingTableError: The recording has no such table, or several and `name` is None.
    """
    derived = [one for one in rec.derived if one not in rec.tables]
    there = [*rec.tables, *derived]
    if name is None and len(rec.tables) == 1 and not derived:
        (name,) = rec.tables
    if name is None:
        raise MissingTableError(f"{rec.source} has several tables: choose one with --table: {', '.join(there)}")
    if name not in there:
        raise MissingTableError(f"{rec.source} has no table {name!r}: {choose_from(name, there)}")
    frame = rec.tables[name] if name in rec.tables else of_recording.table(rec, name)
    lists = [column for column, kind in frame.collect_schema().items() if kind.is_nested()]
    frame = frame.with_columns(pl.col(column).cast(pl.List(pl.String)).list.join(" ") for column in lists)
    return Table(name, frame, str(rec.meta.get("host") or ""), rec.format == "esxtop")
