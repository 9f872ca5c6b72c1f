"""Iometer result CSV (Iometer 2003, 2004, 2006.07.27, 1.1.0-rc, 1.1.0 and later builds).

Columns are found by their names in the file's own header line, so that unknown releases are read too.

A log of updates (`inst*.csv`, "Record Last Update Results") is read as separate tests. If its lines have a time
stamp in a column of that name, `time` is that stamp.

Source: `ManagerList.cpp`, `Manager.cpp`, `PageSetup.cpp`, `AccessSpecList.cpp`, `GalileoView.cpp` of the program
(column names, order of sections, response times in ms, -1 or -2 or their unsigned twins for "ambiguous"); `IOCommon.h`
(MEGABYTE is 1048576 in releases that have only `MBps`; later MEGABYTE_BIN and MEGABYTE_DEC). Assumed, since
neither a file nor the writing code was available: the layout of logs of updates. VMware I/O Analyzer runs this program
in its workers: no other layout of its exports was found, and none is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import Any

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.iometer.columns import SCHEMAS, Odd, notes_on
from esxparse.formats.iometer.results import Row, Section, ignored, read_access_spec, read_results, sections, time_of
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.orders import swap_notes
from esxparse.formats.kit.tables import frames
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "iometer"

_FIRST = ("run", "test", "time", "row_type", "name", "manager", "worker", "access_spec")
"""Columns of every table of results, before the file's own columns."""


def read(source: Source) -> Recording:
    """Read a result file."""
    text = source.text()
    lines = text.lines()
    unfinished = len(lines) if lines[-1].strip() else None
    odd: Odd = []
    parts = list(sections(lines))
    specs, names, notes = _specs(parts, unfinished, odd)
    results, bins, more, facts = _tests(parts, names, unfinished, odd)
    if not (tables := _tables(results, bins, specs)):
        raise DamagedError("has neither results nor access specifications: the test did not finish, or the copy failed")
    if not results:
        more.warn("no results: the test did not finish, or the copy failed")
    if facts.get("start"):
        more.say("times are local and the file does not name their zone: read as if they were UTC")
    meta = {key: fact for key, fact in facts.items() if fact}
    return Recording(FORMAT, source.name, tables, meta, (*text.notes, *notes, *more, *notes_on(odd)))


def _specs(parts: Sequence[Section], unfinished: int | None, odd: Odd) -> tuple[list[Row], set[str], list[Note]]:
    """Return rows of `access_specs`, each once per run; the names; notes."""
    run = 0
    rows: list[Row] = []
    names: set[str] = set()
    notes = Notes()
    for place, part in enumerate(parts):
        run += part.kind == "test type"
        if part.kind != "access specification name":
            continue
        below = parts[place + 1] if place + 1 < len(parts) and parts[place + 1].kind == "size" else None
        spec, more = read_access_spec(part, below, unfinished, odd)
        names |= {row["access_spec"] for row in spec}
        # The program repeats the block for every specification that it begins to test.
        rows += [{"run": max(run, 1)} | row for row in spec]
        notes += more
    return list({tuple(sorted(row.items(), key=itemgetter(0))): row for row in rows}.values()), names, notes


def _stamp(part: Section, unfinished: int | None) -> tuple[datetime | None, list[Note]]:
    if not part.rows:
        return None, []
    line, text = part.rows[0]
    cut = line == unfinished and text[-1:].isdigit()
    time = None if cut else time_of(text)
    why = "the file ends in this time, which may be cut: left out" if cut else f"not a time: {text.strip()[:40]!r}"
    odd = [] if time else [Note(why, line, severity="warning")]
    rest = replace(part, rows=part.rows[1:])
    return time, [*odd, *ignored(rest)]


def _tests(
    parts: Sequence[Section], specs: set[str], unfinished: int | None, odd: Odd
) -> tuple[list[Row], list[Row], Notes, dict[str, Any]]:
    """Return rows of `results` and `latency_bins`, notes, and facts about the whole."""
    run, test = 0, 0
    results: list[Row] = []
    bins: list[Row] = []
    notes = Notes()
    times: list[datetime] = []
    facts: dict[str, Any] = {}
    for place, part in enumerate(parts):
        run += part.kind == "test type"
        if part.kind == "time stamp":
            time, more = _stamp(part, unfinished)
            times += [time] if time else []
            notes += more
        elif part.kind == "version" and part.rows:
            facts.setdefault("release", part.rows[0][1].strip().rstrip(",;\t "))
        elif part.kind == "test type" and part.rows:
            facts.setdefault("description", part.rows[0][1].partition(part.separator)[2].strip().rstrip(",;\t "))
        elif part.kind == "target type":
            rows, binned, more = read_results(part, specs, unfinished, odd)
            test += bool(rows)
            below = parts[place + 1] if place + 1 < len(parts) else None
            end = _stamp(below, unfinished)[0] if below and below.kind == "time stamp" else None
            which = {"run": max(run, 1), "test": test}
            notes += more
            if rows and end is None and not any(row.get("time") for row in rows):
                notes.warn("no time stamp below these results: the file may be cut", part.line)
            results += [row | which | {"time": row.get("time") or end} for row in rows]
            bins += [row | which | {"time": row["time"] or end} for row in binned]
        elif part.kind not in {"access specification name", "size"}:
            notes += ignored(part)
            if part.kind.startswith("unknown"):
                notes.say(f"unknown section, left out: {', '.join(part.cells)[:60]!r}", part.line)
    notes += swap_notes([row["time"] for row in results], has_option=False)
    hosts = sorted({row["name"] for row in results if row["row_type"] == "MANAGER" and row.get("name")})
    facts |= {"host": ", ".join(hosts), "start": min(times, default=None), "end": max(times, default=None)}
    return results, bins, notes, facts | {"samples": test}


def _tables(results: list[Row], bins: list[Row], specs: list[Row]) -> dict[str, pl.LazyFrame]:
    there = dict.fromkeys([*_FIRST, *(name for row in results for name in row)])
    columns = {name: SCHEMAS["results"].get(name, pl.Float64()) for name in there}
    specs_and_bins = {"access_specs": (specs, SCHEMAS["access_specs"]), "latency_bins": (bins, SCHEMAS["latency_bins"])}
    return frames({"results": (results, columns), **specs_and_bins})
