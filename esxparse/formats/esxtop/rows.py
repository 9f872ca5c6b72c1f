"""Which lines of a capture are samples, and what is said of those that are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse.formats.esxtop import first_sample, line_notes, stamp_order, times
from esxparse.formats.esxtop.line_notes import Met
from esxparse.recording import Note

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from esxparse.formats.esxtop.body import Body
    from esxparse.formats.opening import DateOrder

    Integers = NDArray[np.int64]

_HOUR = 3600.0
_LONGEST_INTERVAL = 900.0
"""Seconds between samples up to which an hour stands out among the steps."""
_SLACK = 60.0
"""Seconds by which a step of an hour may be longer or shorter, where the interval is not shorter still."""
_LONG = 1.75
"""Intervals between two samples from which on one is missing."""
_FEWEST_STEPS = 4
"""Steps that tell an interval, and for each gap."""
_UNSURE = (
    "rows are kept in the order of the file and no time is shifted; as one bias is stated for the whole file, times "
    "from there on may be off by an hour"
)


@dataclass(frozen=True)
class Samples:
    """The rows that are samples."""

    keep: Integers
    """Places among the rows of the body."""
    times: pl.Series
    lines: Integers
    """Their lines in the file, from 1."""
    day_first: str | None = None
    """A time stamp that shows the day to stand before the month in this file."""
    unmeasured: frozenset[int] = frozenset()
    """Rows of the body whose disks esxtop had not measured yet."""


@dataclass(frozen=True, order=True)
class Other:
    """Where a header with other columns stands: another capture begins there."""

    row: int
    """The first row that is not this capture's."""
    line: int
    """Its line, the one after the first header being 0."""
    start: int
    """The byte of the file it begins with."""


@dataclass(frozen=True)
class Expected:
    """What the header lets expect of a row."""

    cells: int
    """Number of cells, the time stamp's included."""
    commas: int
    """Commas at the end of each row, after which empty cells follow that are not counted."""
    first_line: int
    """Line of the file that follows the header, from 1."""
    bias: int
    again: tuple[int, ...] = ()
    """Rows that repeat the header: esxtop was started again, and goes on with the same columns."""
    other: Other | None = None
    continued: bool = False
    """Whether the header says that its first sample was measured, as that of a slice may."""


def _met(lines: Integers) -> Met:
    return Met(len(lines), lines[: line_notes.SHOWN + 1].tolist())


def _whole(body: Body, expected: Expected) -> NDArray[np.bool_]:
    """Which rows have all their cells. In a capture with trailing commas, a row that lost a cell ends with them too."""
    beyond = body.cells - expected.cells
    empty = (beyond == body.commas) | ((beyond <= body.commas) & (expected.commas <= 1) & (beyond == 1))
    exact = (beyond == 0) & ((body.commas == 0) | (expected.commas == 0))
    return np.asarray(exact | ((beyond > 0) & (beyond <= max(1, expected.commas)) & empty))


def _is_cut(body: Body, rows: int) -> bool:
    """Whether the last line is one that the end of the file cut."""
    return body.last_byte != b"\n" and rows == len(body.cells)


def _line_notes(
    body: Body, whole: NDArray[np.bool_], torn: Integers, rows: int, last_line: int, expected: Expected
) -> list[Note]:
    """Notes on the lines before `last_line` (and rows before `rows`) that are no samples."""
    notes = []
    empty = np.array([line for line, cells in body.short if not cells and line < last_line], dtype=np.int64)
    if len(empty):
        notes.append(line_notes.blank(_met(empty + expected.first_line)))
    bad = np.setdiff1d(np.flatnonzero(~whole[:rows]), np.array([*expected.again, *torn], dtype=np.int64))
    # The empty cells after trailing commas are not counted in the header either.
    own = body.cells[bad] - np.minimum(body.commas[bad], expected.commas)
    wrong = list(zip(body.line[bad].tolist(), own.tolist(), strict=True))
    wrong = sorted([*wrong, *((line, cells) for line, cells in body.short if cells and line < last_line)])
    if _is_cut(body, rows) and wrong and wrong[-1][0] == body.lines - 1:
        line, found = wrong.pop()
        if body.nul_tail:
            notes.append(line_notes.nul_tail(line + expected.first_line, body.nul_tail))
        else:
            notes.append(line_notes.cut_row(line + expected.first_line, found, expected.cells))
    if wrong:
        lines = [line + expected.first_line for line, _ in wrong]
        met = Met(len(wrong), lines, [found for _, found in wrong])
        notes.append(line_notes.wrong_count(met, expected.cells))
    return notes


def _hours(steps: NDArray[np.float64], lines: Integers, again: Integers, bias: int) -> tuple[NDArray[np.bool_], ...]:
    """Which steps (seconds) go an hour back, and which an hour ahead, beside what lies between two samples anyway."""
    none = np.zeros(len(steps), dtype=np.bool_)
    ahead = steps[steps > 0]
    interval = float(np.median(ahead)) if len(ahead) else 0.0
    if not 0 < interval <= _LONGEST_INTERVAL:
        return none, none
    slack = min(interval, _SLACK)
    # Where esxtop was started again, or a file was appended, the clock need not have been set.
    starts = np.searchsorted(again, lines)
    through = np.diff(starts) == 0
    back = through & (steps < 0) & (np.abs(steps + _HOUR - interval) <= slack)
    # A host on UTC sets no clock ahead: what is missing there is samples.
    forth = through & (np.abs(steps - _HOUR - interval) <= slack) if bias else none
    return back, forth


def _time_notes(clock: pl.Series, lines: Integers, again: Integers, bias: int) -> list[Note]:
    steps = clock.diff().dt.total_microseconds().to_numpy()[1:] / 1e6
    after = lines[1:]
    back, forth = _hours(steps, lines, again, bias)
    found = [
        (back, "the clock was set back by an hour at {}, as at the end of daylight saving"),
        (forth, "the clock was set ahead by an hour at {}, as at the start of daylight saving, or samples are missing"),
    ]
    notes = [_time_note(after[steps_of], f"{message}: {_UNSURE}") for steps_of, message in found if steps_of.any()]
    backward = after[(steps < 0) & ~back]
    if len(backward):
        message = f"time goes backward {line_notes.times(len(backward))}: rows kept in the order of the file"
        notes.append(_time_note(backward, message))
    notes += _gap_notes(steps, after, forth)
    same = after[steps == 0]
    if len(same):
        have = "1 row has the time of the row before it" if len(same) == 1 else None
        notes.append(_time_note(same, f"{have or f'{len(same):,} rows have the time of the row before them'}: kept"))
    return notes


def _gap_notes(steps: NDArray[np.float64], after: Integers, forth: NDArray[np.bool_]) -> list[Note]:
    """The note on samples that are missing: where bytes were lost with them, two halves may look like one row."""
    ahead = steps[steps > 0]
    if len(ahead) < _FEWEST_STEPS:
        return []
    interval = float(np.median(ahead))
    gaps = (steps > _LONG * interval) & ~forth
    if not gaps.any() or gaps.sum() * _FEWEST_STEPS > len(ahead):
        return []
    message = (
        f"more than one interval of {interval:g} s passes before {{}}: samples are missing there, and if the file lost "
        "bytes with them, the row before may hold numbers of two times"
    )
    return [_time_note(after[gaps], message)]


def _time_note(lines: Integers, message: str) -> Note:
    met = _met(lines)
    return Note(message.format(met), line=met.lines[0], column=1, severity="warning")


def judge(body: Body, expected: Expected, order: DateOrder | None = None) -> tuple[Samples, list[Note]]:
    """Tells the samples of a capture from lines that cannot be used, each kind with its note.

    `order` is that of day, month and year in the time stamps, where it was told.
    """
    notes = []
    whole = _whole(body, expected)
    whole[list(expected.again)] = False
    with_nuls = np.array([b"\0" in text for text in body.odd.words], dtype=np.bool_)
    nuls = {n for n, s in enumerate(body.stamps) if b"\0" in s}
    if with_nuls.any():
        nuls |= set(body.odd.sample[with_nuls[body.odd.word]].tolist())
    torn = np.array(sorted(row for row in nuls if whole[row]), dtype=np.int64)
    whole[torn] = False
    if len(torn):
        notes.append(line_notes.torn(_met(body.line[torn] + expected.first_line)))
    rows, last_line = len(whole), body.lines
    again = body.line[list(expected.again)] + expected.first_line
    if len(again):
        notes.append(line_notes.started_again(_met(again)))
    if expected.other is not None:
        # What follows stands in other columns: under these names its numbers would be wrong.
        rows, last_line = expected.other.row, expected.other.line
        left = body.lines - last_line
        notes.append(line_notes.another_capture(last_line + expected.first_line, left, "open it"))
    notes += _line_notes(body, whole, torn, rows, last_line, expected)

    keep = np.flatnonzero(whole[:rows])
    texts = [stamp_order.month_first(times.stamp_text(body.stamps[row]), order) for row in keep.tolist()]
    clock = times.parse(texts, expected.bias)
    timeless = clock.is_null().to_numpy()
    day_first = times.day_first(texts) if timeless.any() else None
    if timeless.any():
        wrong = keep[timeless]
        met = _met(body.line[wrong] + expected.first_line)
        met.text = times.stamp_text(body.stamps[int(wrong[0])])
        notes.append(line_notes.timeless(met))
        keep, clock = keep[~timeless], clock.filter(~clock.is_null())
    lines = body.line[keep] + expected.first_line
    unmeasured = first_sample.unmeasured_rows(body, expected)
    return Samples(keep, clock, lines, day_first, unmeasured), notes + _time_notes(clock, lines, again, expected.bias)
