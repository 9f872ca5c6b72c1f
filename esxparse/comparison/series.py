"""The series of one side: matrices of samples x objects for each table, one capture after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.comparison.sides import Side
from esxparse.counters.series import lasting_name, series_name
from esxparse.derived.panels import Panel, panel
from esxparse.derived.tables import sample_times
from esxparse.diagnosis.diagnose import series_of
from esxparse.diagnosis.series import Series
from esxparse.errors import MissingTableError, did_you_mean
from esxparse.recording import Recording

Matrix = NDArray[np.float64]
_SHARED: Final = frozenset({"vm"})
"""Kinds of objects that have the same name on every host."""


@dataclass(frozen=True)
class Gathered:
    """The series of one side."""

    side: Side
    panels: Mapping[str, Panel]
    """By table; samples of all captures, one capture after another."""
    times: Mapping[str, pl.Series]
    """The times of the samples, by table."""
    judged: tuple[Series | None, ...]
    """The diagnosis series of each capture; None if it is not a capture of esxtop."""

    @cached_property
    def samples(self) -> int:
        """Samples of the table that has most."""
        return max((len(times) for times in self.times.values()), default=0)

    def frame(self, table: str, column: str, instance: str) -> pl.DataFrame:
        """Return one series over time: `time`, `value`."""
        found = self.panels[table]
        values = found.values[column][:, found.names.index(instance)]
        return pl.DataFrame({"time": self.times[table], "value": values}).with_columns(pl.col("value").fill_nan(None))


def gather(side: Side, tables: Sequence[str] | None) -> Gathered:
    """Make the series of a side.

    `tables`: names of tables, derived or not; by default all derived ones, and for other formats all with times.

    Raises MissingTableError: No capture has such a table.
    """
    several = len(side.hosts) > 1
    each = [_panels(rec, tables, several=several) for rec in side.recordings]
    kinds = list(dict.fromkeys(kind for panels, _, _ in each for kind in panels))
    for table in tables or ():
        if table not in kinds:
            there = sorted({name for rec in side.recordings for name in (*rec.tables, *rec.derived)})
            nearest = did_you_mean(table, there)
            raise MissingTableError(f"{side.label} has no table {table!r}; {nearest}it has: {', '.join(there)}")
    panels, times = {}, {}
    for kind in kinds:
        parts = [(found[kind], stamps[kind]) for found, stamps, _ in each if kind in found]
        panels[kind] = parts[0][0] if len(parts) == 1 else _joined(kind, parts)
        times[kind] = pl.concat([stamps for _, stamps in parts])
    return Gathered(side, panels, times, tuple(series for _, _, series in each))


def _panels(
    rec: Recording, tables: Sequence[str] | None, *, several: bool
) -> tuple[dict[str, Panel], dict[str, pl.Series], Series | None]:
    panels: dict[str, Panel] = {}
    times: dict[str, pl.Series] = {}
    series = None
    if rec.format == "esxtop" and (tables is None or set(tables) & set(rec.derived)):
        stamps = sample_times(rec)
        series = series_of(rec, stamps)
        panels = {kind: found for kind, found in series.panels.items() if kind in rec.derived}
        times = dict.fromkeys(panels, pl.Series("time", stamps))
    if tables is not None:
        panels = {kind: found for kind, found in panels.items() if kind in tables}
    raw_tables = (
        ([] if panels else list(rec.tables)) if tables is None else [one for one in tables if one not in panels]
    )
    for table in raw_tables:
        if table in rec.tables and "time" in rec.tables[table].collect_schema():
            panels[table], times[table] = _raw(table, rec.tables[table])
    if several:
        host = str(rec.meta.get("host") or rec.source)
        panels = {kind: found if kind in _SHARED else _on_host(host, found) for kind, found in panels.items()}
    return panels, times, series


def _on_host(host: str, found: Panel) -> Panel:
    names = tuple(host if name == "host" else f"{host}: {name}" for name in found.names)
    return Panel(found.kind, names, found.values)


def _raw(table: str, frame: pl.LazyFrame) -> tuple[Panel, pl.Series]:
    """Return a table of the capture, with names of objects that outlive a restart of the host."""
    schema = frame.collect_schema()
    numbers = [column for column, kind in schema.items() if kind == pl.Float64]
    name = lasting_name(schema)
    by_entity = frame.select("time", *numbers, entity=(series_name(schema) if name is None else name).fill_null(""))
    # Worlds with the same name cannot be distinguished: their mean counts.
    rows = by_entity.group_by("time", "entity", maintain_order=True).mean().collect()
    times = rows["time"].unique().sort()
    return panel(table, [rows], times.to_list()), times


def _joined(kind: str, parts: Sequence[tuple[Panel, pl.Series]]) -> Panel:
    names = tuple(dict.fromkeys(name for found, _ in parts for name in found.names))
    place = {name: number for number, name in enumerate(names)}
    columns = dict.fromkeys(column for found, _ in parts for column in found.values)
    ends = np.cumsum([len(stamps) for _, stamps in parts])
    values: dict[str, Matrix] = {}
    for column in columns:
        whole = np.full((int(ends[-1]), len(names)), np.nan)
        for (found, stamps), end in zip(parts, ends, strict=True):
            if column in found.values:
                rows = slice(int(end) - len(stamps), int(end))
                whole[rows, [place[name] for name in found.names]] = found.values[column]
        values[column] = whole
    return Panel(kind, names, values)
