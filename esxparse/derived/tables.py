"""The catalogue of derived tables, and the times of a capture's samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, Final

import numpy as np
import polars as pl

from esxparse.counters.catalogue import lookup
from esxparse.counters.model import Counter
from esxparse.derived import devices, hosts, ports, vms
from esxparse.derived.capture import KEYS, VIEWS, Capture, View
from esxparse.derived.catalogue import COLUMNS, TABLES, Column
from esxparse.errors import EsxparseError
from esxparse.recording import Recording
from esxparse.schema import TIME, schema

_MADE_BY: Final = (vms, devices, ports, hosts)
"""The modules that declare views."""
CLOCK: Final = ("step_s", "interval_s", "steps_back")
"""Columns of the host that come from the times of samples."""
_KEYS: Final = schema(
    "group_id i64, group str, world_id i64, world instance vm disk switch str, port_id i64, client str, pcpu cpu i64, "
    "cookie str, p_state i64, adapter path device str, node i64"
)


@cache
def declared() -> Mapping[str, Mapping[str, Column]]:
    """Return the columns of each derived table by name, each with its meaning."""
    found: dict[str, dict[str, Column]] = {table: {} for table in TABLES}
    for one in COLUMNS:
        found[one.table][one.column] = replace(one, meaning=one.meaning or _meaning(one))
    return found


def described(table: str, column: str) -> Column | Counter | None:
    """Return the catalogue's entry for a column of any table: derived column or counter."""
    return declared().get(table, {}).get(column) or lookup(table, column)


def _meaning(column: Column) -> str:
    """Return the meaning of the counter behind a column."""
    raws = dict.fromkeys(raw for view in VIEWS if view.table == column.table for raw in view.needs)
    found = (lookup(raw, names[0]) for raw in raws for names in column.counters)
    return next((one.meaning for one in found if one is not None), "")


@cache
def columns(view: View) -> tuple[str, ...]:
    """Return the columns of a view, by making it for a capture without samples."""
    empty = pl.LazyFrame(schema={"time": TIME, **_KEYS})
    made = view.make(Capture(dict.fromkeys({*view.needs, "vcpu"}, empty)))
    return tuple(name for name in made.collect_schema().names() if name not in KEYS) if made is not None else ()


def capture_of(rec: Recording) -> Capture:
    """Return the tables of a recording, each read once however many views use it."""
    return Capture({name: frame.cache() for name, frame in rec.tables.items()}, rec.meta.get("release"))


def views_of(one: Capture, table: str) -> list[View]:
    """Return the views of a derived table whose tables a capture has."""
    return [view for view in VIEWS if view.table == table and set(view.needs) <= set(one.tables)]


def sample_times(rec: Recording) -> Sequence[datetime]:
    """Return the time of each sample, in the order of the file.

    Raises EsxparseError: The recording has no samples.
    """
    for frame in rec.tables.values():
        stamps = frame.select("time", "instance").collect()
        if stamps.height:
            one = pl.col("instance").eq_missing(pl.lit(stamps["instance"][0]))
            return list(stamps.filter(one)["time"].to_list())
    raise EsxparseError(f"{rec.source} has no samples")


def clock(times: Sequence[Any]) -> pl.DataFrame:
    """Return host columns from sample times: seconds since the last, usual step, and number of steps back."""
    step = np.diff(pl.Series(times).dt.epoch("us").to_numpy()) / 1e6
    interval = float(np.median(step)) if step.size else np.nan
    # If a spreadsheet dropped the seconds, times do not show the clock.
    steps = np.concatenate([[interval], step]) if (step != 0).all() else np.full(len(times), np.nan)
    back = np.full(steps.size, float((step < 0).sum()))
    return pl.DataFrame({"time": times, "step_s": steps, "interval_s": interval, "steps_back": back})
