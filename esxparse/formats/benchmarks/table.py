"""The one table that all benchmark readers give, and what they need to make it.

Tables
------
benchmark_results      one row per measured figure
    benchmark          str   the program: `netperf`, `iperf3`, `stream` ...
    test               str   what it ran: `TCP_STREAM`, `triad`, `SET` ...
    configuration      str   the settings that tell runs apart, as text: `4 threads`; empty where none is printed
    repetition         i64   from 1: runs of one test and configuration, in the order of the file
    metric             str   what was measured: `throughput`, `latency_p99` ...
    value              f64
    unit               str   of `value`; Mbit is 10**6 bits, MB 10**6 bytes, MiB 2**20, GFlop 10**9
    higher_is_better   bool  null where it is neither (amounts of work, lengths of time that were asked for)
    valid              bool  whether the program's own check of the run passed; null where it makes none
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.errors import DamagedError
from esxparse.recording import Note, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from esxparse.formats.text import Text
    from esxparse.recording import Severity

Fields = dict[str, Any]
"""What a reader found in one part of a file: names and values."""

SCHEMA: Mapping[str, Any] = {
    "benchmark": pl.String,
    "test": pl.String,
    "configuration": pl.String,
    "repetition": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
    "higher_is_better": pl.Boolean,
    "valid": pl.Boolean,
}

_I64 = 1 << 63
_DIGITS = len(str(_I64))
_LAST_NUMBER = re.compile(r"(?<![A-Za-z\d.])[-+]?(?:\d[\d.]*|\.\d*)(?:[eE][-+]?\d*)?$")
_SHOWN = 80
_LINES_SHOWN = 5


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    metric: str
    value: float | None
    """None where the program printed none: such a figure gets no row."""
    unit: str
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class Run:
    """One run of one test."""

    test: str
    configuration: str
    figures: tuple[Figure, ...]
    valid: bool | None = None


def number(text: str | float | None) -> float | None:
    """The finite number that a text says, or none.

    >>> number("12.5"), number("-nan"), number("---")
    (12.5, None, None)
    """
    if text is None or isinstance(text, bool) or (isinstance(text, str) and "_" in text):
        return None
    try:
        value = float(text)
    except (ValueError, OverflowError, TypeError):
        return None
    return value if math.isfinite(value) else None


def cells_of(line: str) -> list[str]:
    """The cells of a CSV line; none where one is longer than the csv module takes."""
    try:
        return [cell.strip() for cell in next(csv.reader([line]), [])]
    except csv.Error:
        return []


def integer(text: str | float | None) -> int | None:
    """The whole number that a text says, where it fits 64 bits, or none.

    >>> integer("42"), integer("4.5"), integer("9" * 30)
    (42, None, None)
    """
    value = number(text)
    if value is None or value != math.floor(value):
        return None
    exact = int(value)
    if isinstance(text, str) and (digits := text.strip().lstrip("+-")).isdecimal():
        # Not by way of the float, which holds 53 bits; Python takes no text of thousands of digits for an integer.
        digits = digits.lstrip("0") or "0"
        if len(digits) > _DIGITS:
            return None
        exact = -int(digits) if value < 0 else int(digits)
    return exact if -_I64 <= exact < _I64 else None


def ends_in_number(text: Text) -> bool:
    r"""Whether a number touches the end of a file whose last line has no end: the rest of it may be missing.

    >>> from esxparse.formats.text import Text
    >>> [ends_in_number(Text(text)) for text in ("time: 12", "time: 12.", "time: 12\n", "time: 12 s")]
    [True, True, False, False]
    """
    return bool(_LAST_NUMBER.search(text.lines()[-1]))


def cut_note(text: Text, left_out: str = "that number is left out") -> Note:
    """The warning for a file that ends in a number."""
    message = f"the last line has no end, and its last number may be cut: {left_out}"
    return Note(message, line=len(text.lines()), severity="warning")


def whole_lines(text: Text, instead: str = "") -> tuple[list[str], list[Note]]:
    """The lines of a file with `instead` for a number that may be cut, and the notes on the text."""
    lines = text.lines()
    if not ends_in_number(text):
        return lines, list(text.notes)
    return [*lines[:-1], _LAST_NUMBER.sub(instead, lines[-1])], [*text.notes, cut_note(text)]


def repetitions(runs: Iterable[Run]) -> list[int]:
    """For each run which one it is of those with its test and configuration, from 1."""
    seen: Counter[tuple[str, str]] = Counter()
    numbers = []
    for run in runs:
        seen[run.test, run.configuration] += 1
        numbers.append(seen[run.test, run.configuration])
    return numbers


def frame(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> pl.LazyFrame:
    """A table of these rows; what they do not have is null."""
    columns = {name: [row.get(name) for row in rows] for name in schema}
    return pl.DataFrame(columns, schema=dict(schema)).lazy()


def tables(
    benchmark: str, runs: Sequence[Run], details: Mapping[str, tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]]
) -> dict[str, pl.LazyFrame]:
    """`benchmark_results` and the detail tables (name to rows and schema); those without a row are left out."""
    rows = [
        {
            "benchmark": benchmark,
            "test": run.test,
            "configuration": run.configuration,
            "repetition": repetition,
            "metric": figure.metric,
            "value": figure.value,
            "unit": figure.unit,
            "higher_is_better": figure.higher_is_better,
            "valid": run.valid,
        }
        for run, repetition in zip(runs, repetitions(runs), strict=True)
        for figure in run.figures
        if figure.value is not None and math.isfinite(figure.value)
    ]
    every = {"benchmark_results": (rows, SCHEMA), **details}
    return {name: frame(content, schema) for name, (content, schema) in every.items() if content}


def excerpt(line: str) -> str:
    """A line of a file as a message shows it."""
    text = " ".join(line.split())
    return printable(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def left_over(lines: Sequence[tuple[int, str]], severity: Severity = "info") -> list[Note]:
    """One note for the lines nobody read: how many there are, and the first."""
    if not lines:
        return []
    place, text = lines[0]
    many = f"{len(lines):,} lines" if len(lines) > 1 else "1 line"
    return [Note(f"{many} not part of a result, left out: {excerpt(text)!r}", line=place, severity=severity)]


def errors(lines: Sequence[tuple[int, str]], program: str) -> list[Note]:
    """A warning for each of the program's own error messages, up to a few, and one that counts the rest."""
    notes = [
        Note(f"{program} says: {excerpt(text)}", line=place, severity="warning") for place, text in lines[:_LINES_SHOWN]
    ]
    if len(lines) > _LINES_SHOWN:
        place = lines[_LINES_SHOWN][0]
        notes.append(Note(f"{program} says {len(lines) - _LINES_SHOWN:,} things more", line=place, severity="warning"))
    return notes


def nothing(notes: Sequence[Note], program: str) -> DamagedError:
    """The error for a file that holds no result of the program: it names what the program said, if it did."""
    said = next((note.message for note in notes if note.severity == "warning"), None)
    why = f" ({said})" if said else ""
    return DamagedError(f"this is {program} output without a result{why}: run it again, and let it finish")
