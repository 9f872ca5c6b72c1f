"""Derived tables as panels: for each kind of object, matrices of samples x objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.derived.capture import Capture
from esxparse.derived.catalogue import TABLES
from esxparse.derived.tables import clock, views_of
from esxparse.formats.names import natural
from esxparse.schema import TIME

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """The objects of one kind."""

    kind: str
    names: tuple[str, ...]
    values: Mapping[str, Matrix]
    """Samples x objects of each series with any value; NaN for missing values."""


def panels(one: Capture, times: Sequence[Any]) -> Mapping[str, Panel]:
    """Return the panels of a capture by kind, all views at once; kinds without an object are left out."""
    wanted = [
        (view, frame) for table in TABLES for view in views_of(one, table) if (frame := view.make(one)) is not None
    ]
    # Table by table: the data of one table are released before the next is read.
    collected: dict[int, pl.DataFrame] = {}
    for table in dict.fromkeys(view.needs[0] for view, _ in wanted):
        mine = [place for place, (view, _) in enumerate(wanted) if view.needs[0] == table]
        frames = pl.collect_all([wanted[place][1] for place in mine])
        collected |= dict(zip(mine, frames, strict=True))
    made: dict[str, Panel] = {}
    for kind in TABLES:
        # Kind by kind: its frames are released before the next is made.
        frames = [collected.pop(place) for place, (view, _) in enumerate(wanted) if view.table == kind]
        made[kind] = panel(kind, [*frames, clock(times)] if kind == "host" else frames, times)
    return {kind: panel for kind, panel in made.items() if panel.names}


def panel(kind: str, frames: Sequence[pl.DataFrame], times: Sequence[Any]) -> Panel:
    """Make a panel of frames with `time`, `entity` (host if missing) and columns of numbers.

    Rows may have any order. Rows whose time is not in `times` are left out.
    """
    frames = [one if "entity" in one.columns else one.with_columns(entity=pl.lit("host")) for one in frames]
    frames = [one.filter(pl.col("entity").is_not_null()) for one in frames]
    names = sorted({name for one in frames for name in one["entity"].unique()}, key=natural)
    shape = (len(times), len(names))
    made: dict[str, Matrix] = {}
    for one in frames:
        if one.is_empty():
            continue
        row, col, kept = _places(one, times, names)
        numbers = one.drop("time", "entity").cast(pl.Float64)
        for name in numbers.columns:
            whole = np.full(shape, np.nan)
            whole[row, col] = numbers[name].to_numpy()[kept]
            # A second view fills gaps of the first.
            made[name] = np.where(np.isnan(made[name]), whole, made[name]) if name in made else whole
    return Panel(kind, tuple(names), {name: values for name, values in made.items() if not np.isnan(values).all()})


def rows(made: Panel, times: Sequence[Any], wanted: Sequence[str]) -> pl.DataFrame:
    """Return `time`, `instance` and columns: one row per sample and object, sample after sample; null if unknown."""
    size, width = len(times), len(made.names)
    absent = np.full((size, width), np.nan)
    keys = {
        "time": pl.Series(times, dtype=TIME).gather(np.repeat(np.arange(size), width)),
        "instance": pl.Series(list(made.names) * size, dtype=pl.String),
    }
    values = [pl.Series(name, made.values.get(name, absent).reshape(-1)).fill_nan(None) for name in wanted]
    return pl.DataFrame(keys).with_columns(values)


def _places(one: pl.DataFrame, times: Sequence[Any], names: Sequence[str]) -> tuple[Any, Any, Any]:
    """Return sample and object of each row in a sample: an object's n-th row at a time is of its n-th sample."""
    stamps = pl.DataFrame({"time": pl.Series(times, dtype=TIME)}).with_row_index("_row")
    stamps = stamps.with_columns(_nth=pl.int_range(pl.len()).over("time"))
    objects = pl.DataFrame({"entity": names}, schema={"entity": pl.String}).with_row_index("_col")
    found = one.select(pl.col("time").cast(TIME), "entity").with_columns(
        _nth=pl.int_range(pl.len()).over("time", "entity")
    )
    found = found.join(stamps, on=["time", "_nth"], how="left", maintain_order="left", nulls_equal=True)
    found = found.join(objects, on="entity", how="left", maintain_order="left")
    kept = found["_row"].is_not_null()
    return found.filter(kept)["_row"].to_numpy(), found.filter(kept)["_col"].to_numpy(), kept.to_numpy()
