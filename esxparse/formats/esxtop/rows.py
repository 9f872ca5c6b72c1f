"""Which lines of a capture are samples, and what is said of those that are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse.formats.esxtop import times
from esxparse.recording import Note

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from esxparse.formats.esxtop.body import Body

    Integers = NDArray[np.int64]

_SHOWN = 5


@dataclass(frozen=True)
class Samples:
    """The rows that are samples."""

    keep: Integers
    """Places among the rows of the body."""
    times: pl.Series
    lines: Integers
    """Their lines in the file, from 1."""


@dataclass(frozen=True)
class Expected:
    """What the header lets expect of a row."""

    cells: int
    """Number of cells, the time stamp's included."""
    trailing_comma: bool
    """Whether rows end with a comma, and so with an empty cell that is not counted."""
    first_line: int
    """Line of the file that follows the header, from 1."""
    bias: int
    again: tuple[int, ...] = ()
    """Rows that repeat the header: esxtop was started again, and goes on with the same columns."""
    other: int | None = None
    """Row in which a header with other columns stands: another capture begins there."""


def _where(lines: Integers) -> str:
    shown = ", ".join(str(line) for line in lines[:_SHOWN].tolist())
    return f"line{'s' if len(lines) > 1 else ''} {shown}{' ...' if len(lines) > _SHOWN else ''}"


def _whole(body: Body, expected: Expected) -> NDArray[np.bool_]:
    """Which rows have all their cells. In a capture with trailing commas, a row that lost a cell ends with one too."""
    exact = body.cells == expected.cells
    if expected.trailing_comma:
        exact &= ~body.blank_end
    return np.asarray(exact | ((body.cells == expected.cells + 1) & body.blank_end))


def _is_cut(body: Body, rows: int) -> bool:
    """Whether the last line is one that the end of the file cut."""
    return body.last_byte != b"\n" and rows == len(body.cells)


def _wrong_count_notes(wrong: list[tuple[int, int]], body: Body, expected: Expected, *, cut: bool) -> list[Note]:
    """Notes on lines (line, cells) with too few or too many cells; a cut last line is told apart from damage."""
    notes = []
    if cut and wrong and wrong[-1][0] == body.lines - 1:
        line, found = wrong.pop()
        message = f"the last row is cut after {found:,} of {expected.cells:,} cells: left out"
        notes.append(Note(message, line=line + expected.first_line, column=found, severity="warning"))
    if wrong:
        counts = sorted({found for _, found in wrong})
        shown = ", ".join(f"{count:,}" for count in counts[:_SHOWN]) + (" ..." if len(counts) > _SHOWN else "")
        lines = np.array([line for line, _ in wrong]) + expected.first_line
        message = f"{len(wrong)} rows have {shown} cells where the header has {expected.cells:,}"
        column = min(wrong[0][1], expected.cells) + 1
        notes.append(
            Note(f"{message}: left out ({_where(lines)})", line=int(lines[0]), column=column, severity="warning")
        )
    return notes


def _line_notes(
    body: Body, whole: NDArray[np.bool_], torn: Integers, rows: int, last_line: int, expected: Expected
) -> list[Note]:
    """Notes on the lines before `last_line` (and rows before `rows`) that are no samples."""
    notes = []
    blank = np.array([line for line, cells in body.short if not cells and line < last_line], dtype=np.int64)
    if len(blank):
        lines = blank + expected.first_line
        message = f"{len(blank)} blank lines: passed over ({_where(lines)})"
        notes.append(Note(message, line=int(lines[0])))
    bad = np.setdiff1d(np.flatnonzero(~whole[:rows]), np.array([*expected.again, *torn], dtype=np.int64))
    wrong = list(zip(body.line[bad].tolist(), body.cells[bad].tolist(), strict=True))
    wrong += [(line, cells) for line, cells in body.short if cells and line < last_line]
    notes += _wrong_count_notes(sorted(wrong), body, expected, cut=_is_cut(body, rows))
    return notes


def _time_notes(clock: pl.Series, lines: Integers) -> list[Note]:
    steps = clock.diff().dt.total_microseconds().to_numpy()
    notes = []
    backward = np.flatnonzero(steps < 0)
    if len(backward):
        message = f"time goes backward {len(backward)} times: rows kept in the order of the file"
        notes.append(Note(message, line=int(lines[backward[0]]), column=1, severity="warning"))
    same = np.flatnonzero(steps == 0)
    if len(same):
        message = f"{len(same)} rows have the time of the row before them: kept"
        notes.append(Note(message, line=int(lines[same[0]]), column=1, severity="warning"))
    return notes


def judge(body: Body, expected: Expected) -> tuple[Samples, list[Note]]:
    """Tells the samples of a capture from lines that cannot be used, each kind with its note."""
    notes = []
    whole = _whole(body, expected)
    whole[list(expected.again)] = False
    torn = np.array(sorted({row for row, _, text in body.odd if b"\0" in text and whole[row]}), dtype=np.int64)
    whole[torn] = False
    if len(torn):
        lines = body.line[torn] + expected.first_line
        message = f"NUL bytes in {len(torn)} rows, perhaps over a line end: left out ({_where(lines)})"
        notes.append(Note(message, line=int(lines[0]), severity="warning"))
    rows, last_line = len(whole), body.lines
    if expected.again:
        lines = body.line[list(expected.again)] + expected.first_line
        message = f"the header stands again {len(lines)} times: esxtop was started again, its rows are joined"
        notes.append(Note(f"{message} ({_where(lines)})", line=int(lines[0]), column=1))
    if expected.other is not None:
        # What follows stands in other columns: under these names its numbers would be wrong.
        rows, last_line = expected.other, int(body.line[expected.other])
        line = last_line + expected.first_line
        message = f"another capture with other columns begins here, its {body.lines - last_line} lines are kept apart"
        notes.append(Note(f"{message}: open it with segment=", line=line, column=1, severity="warning"))
    notes += _line_notes(body, whole, torn, rows, last_line, expected)

    keep = np.flatnonzero(whole[:rows])
    clock = times.parse([times.stamp_text(body.stamps[row]) for row in keep.tolist()], expected.bias)
    timeless = clock.is_null().to_numpy()
    if timeless.any():
        wrong = keep[timeless]
        lines = body.line[wrong] + expected.first_line
        text = times.stamp_text(body.stamps[int(wrong[0])])
        message = f"{len(wrong)} rows with a time stamp that is none, such as {text!r}: left out ({_where(lines)})"
        notes.append(Note(message, line=int(lines[0]), column=1, severity="warning"))
        keep, clock = keep[~timeless], clock.filter(~clock.is_null())
    lines = body.line[keep] + expected.first_line
    return Samples(keep, clock, lines), notes + _time_notes(clock, lines)
