"""The series of a capture as panels: for each kind of object, matrices of samples x objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from esxparse.diagnosis.signals import VIEWS
from esxparse.schema import TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from esxparse.diagnosis.hosts import Host

    Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """The objects of one kind."""

    kind: str
    names: tuple[str, ...]
    values: Mapping[str, Matrix]
    """Samples x objects of each series that has a value anywhere; NaN where there is none."""


def panels(one: Host, times: Sequence[Any]) -> Mapping[str, Panel]:
    """Make the panels of a capture by kind, all its views in one go; kinds of which it tells nothing are left out."""
    wanted = {
        name: (kind, frame)
        for name, (kind, needs, make) in VIEWS.items()
        if set(needs) <= set(one.tables) and (frame := make(one)) is not None
    }
    # Table by table: what is held of one is gone before the next is read.
    tables = dict.fromkeys(VIEWS[name][1][0] for name in wanted)
    together = [[name for name in wanted if VIEWS[name][1][0] == table] for table in tables]
    collected = {
        name: frame
        for mine in together
        for name, frame in zip(mine, pl.collect_all([wanted[name][1] for name in mine]), strict=True)
    }
    made: dict[str, Panel] = {}
    for kind in dict.fromkeys([*(kind for kind, _ in wanted.values()), "host"]):
        # Kind by kind: its frames are gone before the next is made.
        frames = [collected.pop(name) for name, (of, _) in wanted.items() if of == kind]
        made[kind] = panel(kind, [*frames, _clock(times)] if kind == "host" else frames, times)
    return {kind: panel for kind, panel in made.items() if panel.names}


def _clock(times: Sequence[Any]) -> pl.DataFrame:
    step = np.diff(pl.Series(times).dt.epoch("us").to_numpy()) / 1e6
    interval = float(np.median(step)) if step.size else np.nan
    # Where a spreadsheet dropped the seconds, times tell nothing of the clock.
    steps = np.concatenate([[interval], step]) if (step != 0).all() else np.full(len(times), np.nan)
    back = np.full(steps.size, float((step < 0).sum()))
    return pl.DataFrame({"time": times, "step_s": steps, "interval_s": interval, "steps_back": back})


def panel(kind: str, frames: Sequence[pl.DataFrame], times: Sequence[Any]) -> Panel:
    """Make a panel of frames with `time`, `entity` (without one: the host) and columns of numbers."""
    frames = [one if "entity" in one.columns else one.with_columns(entity=pl.lit("host")) for one in frames]
    frames = [one.filter(pl.col("entity").is_not_null()) for one in frames]
    names = list(dict.fromkeys(name for one in frames for name in one["entity"].unique(maintain_order=True)))
    place = {name: number for number, name in enumerate(names)}
    shape = (len(times), len(names))
    stamps = pl.Series(times, dtype=TIME)
    made: dict[str, Matrix] = {}
    for one in frames:
        if one.is_empty():
            continue
        mine = one["entity"].unique(maintain_order=True).to_list()
        at = np.array([place[name] for name in mine])
        regular = one.height == len(times) * len(mine) and one["entity"][: len(mine)].to_list() == mine
        regular = regular and one["time"].gather_every(len(mine)).eq_missing(stamps).all()
        row, col = (slice(None), at) if regular else _places(one, times, place)
        numbers = one.drop("time", "entity").cast(pl.Float64)
        for name in numbers.columns:
            values = numbers[name].to_numpy()
            if regular and mine == names:
                whole = values.reshape(shape)
            else:
                whole = np.full(shape, np.nan)
                whole[row, col] = values.reshape(len(times), len(mine)) if regular else values
            # A second view tells what the first does not.
            made[name] = np.where(np.isnan(made[name]), whole, made[name]) if name in made else whole
    return Panel(kind, tuple(names), {name: values for name, values in made.items() if not np.isnan(values).all()})


def _places(one: pl.DataFrame, times: Sequence[Any], place: Mapping[str, int]) -> tuple[Any, Any]:
    """Row and column of each value where objects or samples are missing: the n-th row of an object at a time."""
    stamps = pl.DataFrame({"time": pl.Series(times, dtype=one.schema["time"])}).with_row_index("_row")
    stamps = stamps.with_columns(_nth=pl.int_range(pl.len()).over("time"))
    found = one.select("time", "entity").with_columns(_nth=pl.int_range(pl.len()).over("time", "entity"))
    found = found.join(stamps, on=["time", "_nth"], how="left", maintain_order="left")
    columns = np.array([place[name] for name in one["entity"]])
    return found["_row"].fill_null(len(times) - 1).to_numpy(), columns
