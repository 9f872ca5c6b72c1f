"""The table that all benchmark readers return, and tools to make it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes, excerpt
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.tables import frames, known, schemas
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording
from esxparse.schema import Schema

if TYPE_CHECKING:
    import polars as pl


Fields = dict[str, Any]
"""Names and values found in one part of a file."""

SCHEMA = schemas(__file__)["benchmark_results"]

_MOST_LINES = 5


BETTER: Mapping[str, bool | None] = {"up": True, "down": False, "": None}
"""The better direction, as data files write it."""


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    metric: str
    value: float | None
    """None if the program printed no value: the result then has no row."""
    unit: str
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class Run:
    """One run of one test."""

    test: str
    configuration: str
    figures: tuple[Figure, ...]
    valid: bool | None = None


def higher(metric: str, value: float | None, unit: str) -> Figure:
    """Return a figure that is better if higher."""
    return Figure(metric, value, unit, higher_is_better=True)


def lower(metric: str, value: float | None, unit: str) -> Figure:
    """Return a figure that is better if lower."""
    return Figure(metric, value, unit, higher_is_better=False)


def listing(*parts: str | None) -> str:
    """Return the parts that are not empty, as one text."""
    return ", ".join(filter(None, parts))


def figures_of(values: Mapping[str, Any], kinds: Mapping[str, Sequence[str]]) -> list[Figure]:
    """Return figures of values by name; `kinds` has the metric, the unit and the better direction of each."""
    return [
        Figure(metric, number(values.get(name)), unit, BETTER[better]) for name, (metric, unit, better) in kinds.items()
    ]


def settings_of(facts: Mapping[str, Any], templates: Mapping[str, str]) -> str:
    """Return the settings that distinguish runs, as text, in the order of `templates`: `{"threads": "{} threads"}`."""
    return listing(*(text.format(facts[name]) for name, text in templates.items() if facts.get(name) is not None))


def dated(rows: list[Fields], columns: Schema, time: str = "time") -> tuple[list[Fields], Schema]:
    """Return rows and columns, without the column of times unless every row has one."""
    known_times = all(row.get(time) is not None for row in rows)
    return rows, {name: kind for name, kind in columns.items() if known_times or name != time}


def whose(runs: Iterable[Mapping[str, Any]]) -> Fields:
    """Return the release of runs, the first known one, and their host if it is the same for all."""
    kept = list(runs)
    hosts = {run["host"] for run in kept if run.get("host")}
    release = next((run["release"] for run in kept if run.get("release")), None)
    return {"release": release, "host": hosts.pop() if len(hosts) == 1 else None}


def repetitions(runs: Iterable[Run]) -> list[int]:
    """Return the repetition of each run, from 1, among runs with its test and configuration."""
    seen: Counter[tuple[str, str]] = Counter()
    numbers = []
    for run in runs:
        seen[run.test, run.configuration] += 1
        numbers.append(seen[run.test, run.configuration])
    return numbers


def tables(
    benchmark: str, runs: Sequence[Run], details: Mapping[str, tuple[Sequence[Fields], Schema]]
) -> dict[str, pl.LazyFrame]:
    """Return `benchmark_results` and the detail tables (name to rows and schema), without empty ones."""
    rows = []
    for run, repetition in zip(runs, repetitions(runs), strict=True):
        whole = {"benchmark": benchmark, "test": run.test, "configuration": run.configuration, "valid": run.valid}
        measured = [one for one in run.figures if one.value is not None and math.isfinite(one.value)]
        rows += [{**whole, "repetition": repetition, **vars(one)} for one in measured]
    return frames({"benchmark_results": (rows, SCHEMA), **details})


def recording(
    source: Source,
    reader: str,
    program: str,
    runs: Sequence[Run],
    details: Mapping[str, tuple[Sequence[Fields], Schema]],
    facts: Mapping[str, Any],
    notes: Sequence[Note],
    *,
    enough: object = True,
) -> Recording:
    """Return the recording of a program's file, by its reader; raise an error without a table, or if not `enough`."""
    found = tables(reader.replace("_", "-"), runs, details)
    if not (found and enough):
        raise nothing(notes, program)
    return Recording(reader, source.name, found, known(facts), tuple(notes))


def errors(lines: Sequence[tuple[int, str]], program: str) -> list[Note]:
    """Return a warning for each of the first few error messages of the program, and one that counts the rest."""
    notes = Notes(
        Note(f"{program} says: {excerpt(text)}", line=place, severity="warning") for place, text in lines[:_MOST_LINES]
    )
    if len(lines) > _MOST_LINES:
        place = lines[_MOST_LINES][0]
        notes.warn(f"{program} printed {len(lines) - _MOST_LINES:,} more messages", place)
    return notes


def nothing(notes: Sequence[Note], program: str) -> DamagedError:
    """Return the error for a file without a result of the program, with the program's own message if there is one."""
    said = next((note.message for note in notes if note.severity == "warning"), None)
    why = f" ({said})" if said else ""
    return DamagedError(f"this is {program} output without a result{why}: run it again, and let it finish")
