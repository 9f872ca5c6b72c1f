"""The catalogue of derived tables, and the times of a capture's samples."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from esxparse.counters.catalogue import lookup
from esxparse.derived import devices, hosts, ports, vms
from esxparse.derived.capture import Capture
from esxparse.derived.model import KEYS, VIEWS, Column, View
from esxparse.errors import EsxparseError
from esxparse.schema import TIME, schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from esxparse.recording import Recording

_MADE_BY: Final = (vms, devices, ports, hosts)
"""The modules that declare views."""
CLOCK: Final = ("step_s", "interval_s", "steps_back")
"""Columns of the host that come from the times of samples."""
_IO: Final = ("device", "nfs", "adapter", "path")
_KEYS: Final = schema(
    "group_id i64, group str, world_id i64, world instance vm disk switch str, port_id i64, client str, pcpu cpu i64, "
    "cookie str, p_state i64, adapter path device str, node i64"
)


@cache
def declared() -> Mapping[str, Mapping[str, Column]]:
    """The columns of each derived table by their names, as `columns.csv` has them."""
    found: dict[str, dict[str, Column]] = {}
    lines = (files(__package__) / "columns.csv").read_text(encoding="utf-8").splitlines()
    for table, column, unit, better, weight, needs, screen, name, meaning in list(csv.reader(lines))[1:]:
        counters = tuple(tuple(one.split("|")) for one in needs.split())
        for each in _IO if table == "io" else (table,):
            said = meaning or _meaning(each, counters)
            found.setdefault(each, {})[column] = Column(
                each, column, unit, better, weight, counters, screen, name, said
            )
    return found


def _meaning(table: str, counters: Sequence[Sequence[str]]) -> str:
    """What the catalogue says of the counter that a column is."""
    raws = dict.fromkeys(raw for view in VIEWS if view.table == table for raw in view.needs)
    return next((one.meaning for raw in raws for names in counters if (one := lookup(raw, names[0])) is not None), "")


TABLES: Final = tuple(declared())
"""The derived tables; each is a kind of object."""


@cache
def columns(view: View) -> tuple[str, ...]:
    """The columns of a view, as a capture without a single sample gives them."""
    empty = pl.LazyFrame(schema={"time": TIME, **_KEYS})
    made = view.make(Capture(dict.fromkeys({*view.needs, "vcpu"}, empty)))
    return tuple(name for name in made.collect_schema().names() if name not in KEYS) if made is not None else ()


def capture_of(rec: Recording) -> Capture:
    """The tables of a recording, each read once however many views ask for it."""
    return Capture({name: frame.cache() for name, frame in rec.tables.items()}, rec.meta.get("release"))


def views_of(one: Capture, table: str) -> list[View]:
    """The views of a derived table for which a capture has the tables."""
    return [view for view in VIEWS if view.table == table and set(view.needs) <= set(one.tables)]


def sample_times(rec: Recording) -> Sequence[datetime]:
    """The time of each sample, in the order of the file.

    Raises EsxparseError: There is no sample.
    """
    for frame in rec.tables.values():
        stamps = frame.select("time", "instance").collect()
        if stamps.height:
            one = pl.col("instance").eq_missing(pl.lit(stamps["instance"][0]))
            return list(stamps.filter(one)["time"].to_list())
    raise EsxparseError(f"{rec.source} has no samples")


def clock(times: Sequence[Any]) -> pl.DataFrame:
    """Columns of the host that come from the times of samples: seconds since the last, the usual, how often less."""
    step = np.diff(pl.Series(times).dt.epoch("us").to_numpy()) / 1e6
    interval = float(np.median(step)) if step.size else np.nan
    # Where a spreadsheet dropped the seconds, times tell nothing of the clock.
    steps = np.concatenate([[interval], step]) if (step != 0).all() else np.full(len(times), np.nan)
    back = np.full(steps.size, float((step < 0).sum()))
    return pl.DataFrame({"time": times, "step_s": steps, "interval_s": interval, "steps_back": back})
