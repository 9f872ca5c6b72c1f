"""vmstat (procps 3.2 to 4.0), in any language: its samples, also with -a, -w and -t; disks (-d); counters (-s).

A file does not show the unit of memory that -S set. KiB is assumed, with a note, or with a warning if the memory would
be less than any machine has. Nor does a file show whether -y left out the first report: the first in it is marked.
Titles are repeated after a screen of samples; if they come sooner, another run begins.

Source: vmstat.c of procps 3.2.8, 3.3 and 4.0; outputs of 4.0.2 in all its languages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Counted, Notes, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.orders import FOREIGN_DATE, swap_notes
from esxparse.formats.kit.stamps import has_date, in_utc, of_zone, unused_zone
from esxparse.formats.kit.tables import Row, data, frames, known, schemas
from esxparse.formats.power.readings import stamp
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "vmstat"

_TITLES: dict[str, dict[str, frozenset[str]]] = {
    part: {column: frozenset(titles.split()) for column, titles in columns.items()}
    for part, columns in data(__file__)["titles"].items()
}
_LAYOUTS = tuple(_TITLES["before"] | _TITLES[memory] | _TITLES["after"] for memory in ("memory", "memory_active"))
"""The columns of samples in order, without and with -a."""
_SPLIT = tuple(_TITLES["memory"] | _TITLES["memory_active"])
_SCHEMAS = schemas(__file__)
_DISK = tuple(_SCHEMAS["disk"])[2:]
"""The columns that -d prints."""
_GROUPS = re.compile(r"(?!-+$)[^\d|+:=]*[^\W\d][^\d|+:=]*?-{2}[^\d|+:=]*-{2}[^\d|+:=]*")
_FEWEST, _SURE = 16, 8
"""Fewest titles of a sample; fewest of them that must be known."""
_SMALLEST_KIB = 1 << 16
"""Least memory of any machine with vmstat."""
_STAMP = re.compile(r"\s(\d{4}-\d{2}-\d{2}\s+\d{2}:\d{2}:\d{2})(?:\s+([A-Za-z]{1,5}|[+-]\d{2,4}))?\s*$")
_ZONE = re.compile(r"[A-Z]{2,5}|[+-]\d\d(?:\d\d)?")
_COUNTER = re.compile(r"\s*(?P<value>\d+)\s+(?:(?P<unit>[kKmM])\s+)?(?P<name>[^\W\d][^:|]*)")
_LABELLED = re.compile(r"(?P<name>[^\W\d][^:|]*):\s+(?P<value>\d+)(?:\s+(?P<unit>[kKmM]))?\s*")
_MANY = 8
_LOOKED_AT = 1 << 13
_SCREEN = 20
"""Fewest samples on a screen; into a file vmstat prints 21 below each line of titles."""


def recognise(head: Head) -> bool:
    """Return whether a file with this head is of vmstat: it has its titles near the beginning, or only its counters."""
    lines = [line for line in head.text[:_LOOKED_AT].split("\n") if line.strip()]
    if any(_GROUPS.fullmatch(above) and _kind(below.split()) for above, below in pairwise(lines[:6])):
        return True
    return len(lines) > _MANY and all(found and found["unit"] for found in map(_counter, lines[:_MANY]))


def _counter(line: str) -> re.Match[str] | None:
    """Return a counter of -s, with the label before or after its number."""
    return _COUNTER.fullmatch(line) or _LABELLED.fullmatch(line)


def _kind(titles: Sequence[str]) -> str:
    """Return the kind of rows below a line of titles: samples, disks, or none."""
    if any(map(str.isdecimal, titles)):
        return ""
    if len(titles) >= len(_DISK) - 1 and titles[:4] == titles[4:8]:
        return "disk"
    return "vmstat" if len(titles) >= _FEWEST and max(_known(titles, layout) for layout in _LAYOUTS) >= _SURE else ""


def _known(titles: Sequence[str], layout: Mapping[str, frozenset[str]]) -> int:
    """Return how many titles match the columns in their places."""
    return sum(title in known for title, known in zip(_without_waiting(titles), layout.values(), strict=False))


def _without_waiting(titles: Sequence[str]) -> list[str]:
    """Return the titles without the `w` of old kernels: processes that are swapped out."""
    return [title for at, title in enumerate(titles) if (at, title) != (2, "w")]


def _columns(titles: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of samples below titles; without known titles, the parts of memory keep generic names."""
    layout = max(_LAYOUTS, key=lambda one: _known(titles, one))
    bare = _without_waiting(titles)
    open_split = not any(title in layout[name] for title, name in zip(bare, layout, strict=False) if name in _SPLIT)
    names = [f"memory_{at}" if open_split and name in _SPLIT else name for at, name in enumerate(layout)]
    found = [*names, *bare[len(names) :]][: len(bare)]
    return tuple(found if len(bare) == len(titles) else (*found[:2], "w", *found[2:]))


class _Reader:
    """A reader of lines; the titles above numbers show their meaning."""

    def __init__(self, zone: str | None) -> None:
        self.zone_option = zone
        self.rows: dict[str, list[Row]] = {name: [] for name in _SCHEMAS}
        self.odd, self.assumed = Counted(), Counted()
        self.left: list[tuple[int, str]] = []
        self.kind, self.columns, self.zone = "", tuple[str, ...](), ""
        self.zone_is_title = False  # with -t the last title is the zone
        self.report = self.since_titles = 0
        self.longest = 0

    def line(self, at: int, line: str) -> None:
        """Process a line."""
        titles = line.split()
        kind = _kind(titles)
        if kind == "vmstat":
            self._samples_begin(titles, at)
        elif kind == "disk":
            self.kind, self.columns, self.zone_is_title = "disk", _DISK, False
            self.zone = titles[-1] if len(titles) >= len(_DISK) else ""
            self.report += 1
        elif _GROUPS.fullmatch(line):
            return
        elif self.kind:
            self._row(at, line)
        elif (found := _counter(line)) is not None:
            counter = {"counter": found["name"].strip(), "value": number(found["value"]), "unit": found["unit"] or ""}
            self.rows["counters"].append(counter)
        else:
            self.left.append((at, line))

    def _samples_begin(self, titles: Sequence[str], at: int) -> None:
        self.zone, self.columns = titles[-1], _columns(titles)
        self.zone_is_title = _ZONE.fullmatch(self.zone) is not None
        if any(name.startswith("memory_") for name in self.columns):
            self.odd.say(f"{titles[4]} and {titles[5]} are titles of another language: kept as memory_4, memory_5", at)
        # Titles that are repeated before a screen is full belong to another run.
        if self.kind != "vmstat" or self.since_titles < max(_SCREEN, self.longest):
            self.report = 0
        self.longest = max(self.longest, self.since_titles)
        self.kind, self.since_titles = "vmstat", 0

    def _row(self, at: int, line: str) -> None:
        found = _STAMP.search(line)
        cells = (line[: found.start()] if found else line).split()
        columns = self.columns[:-1] if found and self.zone_is_title else self.columns
        values: Row = dict(zip(columns, map(number, cells), strict=False))
        if self.kind == "disk":
            values["device"] = cells[0] if cells else None
        if len(cells) != len(columns) or None in values.values():
            is_foreign = not found and has_date(line)
            self.odd.say(FOREIGN_DATE if is_foreign else "not the numbers that the titles above it name, left out", at)
            return
        time = self._time(found, at) if found else None
        if self.kind == "vmstat":
            self.report, self.since_titles = self.report + 1, self.since_titles + 1
            last = self.rows["vmstat"][-1]["time"] if self.report > 1 and self.rows["vmstat"] else None
            values["since_boot"] = self.report == 1
            values["interval_s"] = (time - last).total_seconds() if time and last else None
        self.rows[self.kind].append(values | {"report": self.report, "time": time})

    def _time(self, found: re.Match[str], at: int) -> datetime | None:
        moment = stamp(f"{found[1]} {found[2] or self.zone}")
        if moment is None or not moment.assumed:
            return moment.time if moment else None
        self.assumed.say(of_zone(self.zone_option) if self.zone_option else moment.assumed, at)
        return in_utc(moment.time, self.zone_option)


def read(source: Source, zone: str | None = None) -> Recording:
    """Read the output of one or several runs of vmstat."""
    text = source.text().without_cut_line()
    reader = _Reader(zone)
    for at, line in enumerate(text.lines(), 1):
        if line.strip():
            reader.line(at, line)
    rows = reader.rows
    if not any(rows.values()):
        raise DamagedError("vmstat output without a row of numbers: run it again, and let it finish")
    notes = Notes([*text.notes, *reader.assumed.notes(), *reader.odd.notes("warning"), *left_out(reader.left)])
    if zone and of_zone(zone) not in reader.assumed:
        notes.warn(unused_zone(zone))
    samples = rows["vmstat"]
    if samples:
        what = "the first report of each run is the mean since the machine was started (since_boot)"
        notes.say(f"{what}, unless it ran with -y")
        small = max(sum(row.get(name) or 0.0 for name in ("free_kib", *_SPLIT)) for row in samples) < _SMALLEST_KIB
        unit = "memory is taken to be in KiB, as without -S: the file does not have its unit"
        if small:
            notes.warn(f"{unit}, and so little memory points to -S m or -S M (10**6 or 1024**2 bytes)")
        else:
            notes.say(unit)
    times = [row["time"] for row in samples if row["time"]]
    notes += swap_notes(times, has_option=False)
    steps = sorted(row["interval_s"] for row in samples if row["interval_s"])
    meta: dict[str, Any] = {
        "start": min(times, default=None),
        "end": max(times, default=None),
        "samples": len(samples) or None,
        "interval": steps[len(steps) // 2] if steps else None,
    }
    made = frames({name: (rows[name], _there(name, rows[name])) for name in _SCHEMAS})
    return Recording(FORMAT, source.name, made, known(meta), tuple(notes))


def _there(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the columns that any row has."""
    there = {column for row in rows for column, value in row.items() if value is not None}
    # A title of a future release is a number too.
    return {column: kind for column, kind in _SCHEMAS[name].items() if column in there} | dict.fromkeys(
        sorted(there - _SCHEMAS[name].keys()), pl.Float64()
    )
