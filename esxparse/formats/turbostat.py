"""turbostat of Linux (4.x to 2025): frequencies, C-states, temperatures and power by RAPL, one sample or many.

Columns that turbostat prints and no table lists keep their title in lower case. Watts are means over a sample.
Source: turbostat.8 and turbostat.c (print_header, format_counters: a CPU that is not the first of its core or package
has no cells for core or package columns), published output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Counted, Notes, excerpt, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import Row, data, frames, known, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording
from esxparse.schema import Schema

FORMAT = "turbostat"

_PLACES = {"package": "package", "die": "die", "node": "node", "core": "core", "cpu": "cpu"}
_TAKEN = frozenset({*_PLACES, "sample", "time", "seconds"})
_OTHERS = frozenset({"usec", "time_of_day_seconds", "apic", "x2apic", "l3", "skt"})
_LATEST = 4e9
_PER_ROW = {"package": ("package",), "core": ("package", "core")}
_SCHEMAS, _LINES = schemas(__file__), kinds(__file__)


@cache
def _titles() -> tuple[tuple[re.Pattern[str], str, str], ...]:
    return tuple((re.compile(one["pattern"]), one["name"], one.get("of", "cpu")) for one in data(__file__)["title"])


def column(title: str) -> tuple[str, str]:
    """Return the name of a column, and its level: `package`, `core` or `cpu`.

    >>> column("PkgWatt"), column("CPU%c6"), column("C1E%"), column("C1E")
    (('package_watts', 'package'), ('cpu_c6_pct', 'core'), ('c1e_time_pct', 'cpu'), ('c1e_entries', 'cpu'))
    """
    for pattern, name, of in _titles():
        if match := pattern.fullmatch(title):
            return name.format(*(match.groups() or (match[0],))).lower(), of
    plain = re.sub(r"\W+", "_", title.replace("%", "_pct_")).strip("_").lower()
    return f"{plain}_figure" if plain in _TAKEN else plain, "cpu"


def _cells(line: str) -> list[str]:
    """Return the cells of a line: newer releases separate them by tabs, older ones by blanks."""
    return [cell.strip() for cell in line.rstrip("\n").split("\t")] if "\t" in line else line.split()


def read_samples(lines: Sequence[str]) -> tuple[list[Row], list[str], Row, Notes]:
    """Return the rows of all samples; the titles of columns; facts; notes."""
    rows: list[Row] = []
    titles: list[str] = []
    every: dict[str, None] = {}
    odd = Counted()
    before: list[tuple[int, str]] = []
    facts: Row = {}
    seconds: float | None = None
    sample = 0
    seen: set[tuple[str, ...]] = set()
    for place, line in enumerate(lines, 1):
        cells = _cells(line)
        if _LINES["titles"].fullmatch(line):
            titles, seen = cells, set()
            every |= dict.fromkeys(titles)
        elif found := _LINES["seconds"].fullmatch(line):
            seconds = number(found["seconds"])
        elif release := _LINES["release"].search(line):
            facts["release"] = release["release"]
        elif titles and any(cells):
            if not cells[0] or len(cells) > len(titles) or (number(cells[0]) is None and cells[0] != "-"):
                odd.skip("a line that is cut or no row, left out", place)
                continue
            row = dict(zip(titles, cells, strict=False))
            whose = tuple(row.get(title, "") for title in titles if title.lower() in _PLACES)
            if not seen or not whose or whose in seen:
                sample, seen = sample + 1, set()
            seen.add(whose)
            rows.append({"sample": sample, "line": place, "whose": whose, "cells": row, "seconds": seconds})
        elif any(cells) and not _LINES["own"].match(line):
            before.append((place, line))
    return rows, list(every), facts, Notes([*odd.notes("warning"), *left_out(before)])


def _read_row(row: Row, odd: Counted) -> Row:
    """Return a row with its figures by column name."""
    found: Row = {"sample": row["sample"], "seconds": row["seconds"]}
    for title, cell in row["cells"].items():
        low = title.lower()
        if low == "time_of_day_seconds" and (moment := number(cell)) and 0 < moment < _LATEST:
            found["time"] = datetime.fromtimestamp(moment, UTC)
        if low in _OTHERS or low in _PLACES:
            found |= {_PLACES[low]: whole(cell)} if low in _PLACES else {}
            continue
        name, _ = column(title)
        if name in found:
            odd.say(f"two titles are column {name}: that of {title} is left out", row["line"])
            continue
        found[name] = number(cell)
        if found[name] is None and cell not in {"", "-"}:
            odd.say(f"{excerpt(cell)!r} is no number of {title}: left out", row["line"])
    return found


def _levels(titles: Sequence[str], each: Sequence[Row]) -> dict[str, str]:
    """Return the level of each column: watts of cores belong to packages if only one core of each has them."""
    found = {}
    for title in titles:
        if title.lower() in _OTHERS or title.lower() in _PLACES:
            continue
        name, of = column(title)
        having = [row for row in each if row.get(name) is not None]
        several = len({(row["sample"], row.get("package")) for row in having})
        cores = len({(row["sample"], row.get("package"), row.get("core")) for row in each})
        found[name] = "package" if of == "core" and len(having) == several < cores else of
    return found


def _of(level: str, each: Sequence[Row], levels: dict[str, str]) -> tuple[list[Row], Schema]:
    """Return rows of packages or cores: the first row of each that has their figures."""
    names = [name for name, of in levels.items() if of == level]
    places = _PER_ROW[level]
    rows: dict[tuple[Any, ...], Row] = {}
    for row in each:
        if any(row.get(name) is not None for name in names):
            rows.setdefault((row["sample"], *(row.get(name) for name in places)), row)
    dated = ["time"] if rows and all(row.get("time") for row in rows.values()) else []
    return list(rows.values()), _columns(f"{level}s", ["sample", *dated, *places, *names])


def _columns(table: str, names: Sequence[str]) -> Schema:
    """Return the columns of a table; undeclared ones are figures."""
    return {name: _SCHEMAS[table].get(name, pl.Float64()) for name in names}


def read(source: Source) -> Recording:
    """Read the output of one or many runs."""
    text = source.text().without_cut_line()
    raw, titles, facts, notes = read_samples(text.lines())
    notes[:0] = text.notes
    odd = Counted()
    read_rows = [(row["whose"], _read_row(row, odd)) for row in raw]
    notes += odd.notes("warning")
    if not read_rows:
        raise DamagedError("turbostat's titles without a row below them: run it again, as root")
    summaries = [row for whose, row in read_rows if all(cell == "-" for cell in whose)]
    each = [row for whose, row in read_rows if not all(cell == "-" for cell in whose)]
    levels = _levels(titles, each)
    dated = ["time"] if all(row.get("time") for _, row in read_rows) else []
    there = [title.lower() for title in titles if title.lower() in _PLACES]
    of_cpus = [name for name, of in levels.items() if of == "cpu"]
    more = ["seconds"] if any(row["seconds"] for row in summaries) else []
    found = frames(
        {
            "system": (summaries, _columns("system", ["sample", *dated, *more, *levels])),
            "packages": _of("package", each, levels),
            "cores": _of("core", each, levels),
            "cpus": (each, _columns("cpus", ["sample", *dated, *there, *of_cpus])),
        }
    )
    times = sorted({row["time"] for _, row in read_rows if row.get("time")})
    meta = {**facts, "start": times[0] if times else None, "end": times[-1] if times else None}
    return Recording(FORMAT, source.name, found, known({**meta, "samples": raw[-1]["sample"]}), tuple(notes))
