"""What is compared: captures, several of them, a part of a lake, or a window of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.opening import Opening, moment
from esxparse.formats.registry import open_recording
from esxparse.lakes import Lake
from esxparse.recording import Recording, counted, printable

Given = str | os.PathLike[str] | Recording | Lake
"""One thing that can be compared: a path or URL, a recording, or a lake."""
Edge = str | datetime | None
Window = tuple[Edge, Edge]
"""From when to when, both included, in UTC: datetimes, text, or None."""
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    label: str
    """File names and window, for people."""
    recordings: tuple[Recording, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of its hosts, each once."""
        return tuple(dict.fromkeys(str(one.meta.get("host") or "") for one in self.recordings))


def side(given: Given | Sequence[Given], window: Window | None = None, opening: Opening | None = None) -> Side:
    """Open one side.

    Raises EsxparseError: A capture cannot be read, a window holds no sample, or there is nothing to compare.
    """
    start, end = (moment(edge, "window") for edge in window or (None, None))
    if start and end and end < start:
        raise EsxparseError(f"the window ends before it begins ({start:%F %T} to {end:%F %T}): exchange its times")
    things = [given] if isinstance(given, (str, os.PathLike, Recording, Lake)) else list(given)
    options = replace(opening or Opening(), start=start, end=end) if window else opening or Opening()
    recordings = [rec for thing in things for rec in _opened(thing, options, start, end)]
    if not recordings:
        raise EsxparseError("nothing to compare: a side has no capture of the time that is asked for")
    names = list(dict.fromkeys(printable(Path(one.source).name) for one in recordings))
    label = names[0] if len(names) == 1 else f"{names[0]} and {counted(len(names) - 1, 'other')}"
    span = f", {_span(start, end)}" if start or end else ""
    return Side(f"{label}{span}", tuple(recordings))


def _span(start: datetime | None, end: datetime | None) -> str:
    return f"{_edge(start, 'its start')} to {_edge(end, 'its end')}"


def _edge(time: datetime | None, otherwise: str) -> str:
    return f"{time:%F %T}" if time else otherwise


def _opened(thing: Given, opening: Opening, start: datetime | None, end: datetime | None) -> list[Recording]:
    if isinstance(thing, Recording):
        return [within(thing, start, end)]
    if isinstance(thing, Lake):
        first = max((one for one in (start, thing.since) if one), default=None)
        # A lake ends before its last time, a window with it.
        until = thing.until - _MOMENT if thing.until else None
        last = min((one for one in (end, until) if one), default=None)
        part = thing.of(since=first, until=last + _MOMENT if last else None)
        return [within(part.recorded(one), first, last) for one in part.captures]
    return [open_recording(thing, opening)]


def within(rec: Recording, start: datetime | None, end: datetime | None) -> Recording:
    """The samples of a recording from `start` to `end`, both included.

    Raises EsxparseError: There is no such sample.
    """
    if start is None and end is None:
        return rec
    inside = pl.col("time").is_between(start or pl.col("time"), end or pl.col("time"))
    tables = {
        name: table.filter(inside) if "time" in table.collect_schema() else table for name, table in rec.tables.items()
    }
    times = [
        table.select("time").unique().collect()["time"] for table in tables.values() if "time" in table.collect_schema()
    ]
    found = pl.concat(times).unique().sort() if times else pl.Series("time", [])
    if not len(found):
        raise EsxparseError(
            f"{rec.source} has no sample from {_span(start, end)} (UTC): give a window inside of the capture"
        )
    meta = {**rec.meta, "start": found[0], "end": found[-1], "samples": len(found)}
    return replace(rec, tables=tables, meta=meta)
