"""The sides of a comparison: captures, several of them, a part of a lake, or a window of one."""

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
from esxparse.formats.window import filtered
from esxparse.lakes import Lake
from esxparse.recording import Recording, counted, printable

Given = str | os.PathLike[str] | Recording | Lake
"""One thing that can be compared: a path or URL, a recording, or a lake."""
Edge = str | datetime | None
Window = tuple[Edge, Edge]
"""Start and end of a side, both included, in UTC: datetimes, text, or None."""
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


def side(inputs: Given | Sequence[Given], window: Window | None = None, opening: Opening | None = None) -> Side:
    """Open one side.

    Raises EsxparseError: A capture cannot be read, a window holds no sample, or there is nothing to compare.
    """
    start, end = edges(window)
    things = [inputs] if isinstance(inputs, (str, os.PathLike, Recording, Lake)) else list(inputs)
    options = replace(opening or Opening(), start=start, end=end) if window else opening or Opening()
    recordings = [rec for thing in things for rec in _opened(thing, options, start, end)]
    if not recordings:
        raise EsxparseError("nothing to compare: a side has no capture")
    if all(isinstance(thing, Lake) for thing in things):
        return Side(_label_of_lake(recordings), tuple(recordings))
    names = list(dict.fromkeys(printable(Path(one.source).name) for one in recordings))
    label = names[0] if len(names) == 1 else f"{names[0]} and {counted(len(names) - 1, 'other')}"
    span = f", {words(start, end)}" if start or end else ""
    return Side(f"{label}{span}", tuple(recordings))


def _label_of_lake(recordings: Sequence[Recording]) -> str:
    """Return hosts, captures, and the times of the first and the last sample."""
    hosts = list(dict.fromkeys(str(one.meta["host"]) for one in recordings))
    whose = hosts[0] if len(hosts) == 1 else counted(len(hosts), "host")
    firsts, lasts = ([time for one in recordings if (time := one.meta.get(edge))] for edge in ("start", "end"))
    span = f", {words(min(firsts), max(lasts))}" if firsts and lasts else ""
    return f"{whose}, {counted(len(recordings), 'capture')}{span}"


def edges(window: Window | None) -> tuple[datetime | None, datetime | None]:
    """Return the times of a window in UTC; None is the beginning or the end of the capture.

    Raises EsxparseError: A time cannot be read, or the window ends before it begins.
    """
    start, end = (moment(edge, "window") for edge in window or (None, None))
    if start and end and end < start:
        raise EsxparseError(f"the window ends before it begins ({start:%F %T} to {end:%F %T}): exchange its times")
    return start, end


def words(start: datetime | None, end: datetime | None) -> str:
    """Return a window for people."""
    return f"{_edge(start, 'its start')} to {_edge(end, 'its end')}"


def _edge(time: datetime | None, otherwise: str) -> str:
    return f"{time:%F %T}" if time else otherwise


def _opened(thing: Given, opening: Opening, start: datetime | None, end: datetime | None) -> list[Recording]:
    if isinstance(thing, Recording):
        return [within(thing, start, end)]
    if isinstance(thing, Lake):
        first = max((one for one in (start, thing.since) if one), default=None)
        # A lake ends before its last time; a window includes it.
        until = thing.until - _MOMENT if thing.until else None
        last = min((one for one in (end, until) if one), default=None)
        part = thing.of(since=first, until=last + _MOMENT if last else None)
        cut = [_cut(part.recorded(one), first, last) for one in part.captures]
        found = [one for one in cut if one is not None]
        if not found:
            raise _nothing_in(thing, first, last)
        return found
    return [open_recording(thing, opening)]


def _nothing_in(lake: Lake, start: datetime | None, end: datetime | None) -> EsxparseError:
    """Return the error of a lake without a sample in a window, with the times that it has."""
    of = f" of {', '.join(lake.hosts)}" if lake.hosts else ""
    has = lake.whole.of(*lake.hosts).captures
    firsts, lasts = ([time for one in has if (time := one.span[place])] for place in (0, 1))
    there = f"; it has samples from {words(min(firsts), max(lasts))}" if firsts and lasts else ""
    return EsxparseError(f"lake {lake.store.uri} has no sample{of} from {words(start, end)} (UTC){there}")


def within(rec: Recording, start: datetime | None, end: datetime | None) -> Recording:
    """Return the samples of a recording from `start` to `end`, both included.

    Raises EsxparseError: There is no such sample.
    """
    found = _cut(rec, start, end)
    if found is None:
        raise EsxparseError(
            f"{rec.source} has no sample from {words(start, end)} (UTC): give a window inside of the capture"
        )
    return found


def _cut(rec: Recording, start: datetime | None, end: datetime | None) -> Recording | None:
    """Return the samples from `start` to `end`; None without any."""
    if start is None and end is None:
        return rec
    inside = pl.col("time").is_between(start or pl.col("time"), end or pl.col("time"))
    tables = filtered(rec.tables, inside)
    times = [
        table.select("time").unique().collect()["time"] for table in tables.values() if "time" in table.collect_schema()
    ]
    found = pl.concat(times).unique().sort() if times else pl.Series("time", [])
    if not len(found):
        return None
    meta = {**rec.meta, "start": found[0], "end": found[-1], "samples": len(found)}
    return replace(rec, tables=tables, meta=meta)
