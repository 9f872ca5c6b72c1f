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

    from esxparse.formats.esxtop.body import Block

_NAMED = 5


@dataclass(frozen=True)
class Samples:
    """The good lines of a block."""

    keep: NDArray[np.int64]
    """Rows of the block that are samples."""
    times: pl.Series
    """Their times."""
    lines: NDArray[np.int64]
    """Their lines in the file."""


@dataclass(frozen=True)
class Source:
    """What is known of the capture before its rows are judged."""

    cells: int
    """Cells that a row has, by the header, the time stamp's included."""
    first_line: int
    """Line of the file that the block begins with."""
    bias: int
    ends_with_newline: bool
    last_block: bool


def _where(lines: NDArray[np.int64]) -> str:
    shown = ", ".join(str(line) for line in lines[:_NAMED].tolist())
    return f"line{'s' if len(lines) > 1 else ''} {shown}{' ...' if len(lines) > _NAMED else ''}"


def _wrong_count_notes(wrong: NDArray[np.int64], block: Block, source: Source) -> list[Note]:
    """Notes on lines with too few or too many cells; a cut last line is told apart from damage."""
    notes = []
    last = block.rows - 1
    if source.last_block and len(wrong) and wrong[-1] == last and not source.ends_with_newline:
        found = int(block.cells[last])
        message = f"the last row is cut after {found:,} of {source.cells:,} cells: left out"
        notes.append(Note(message, line=last + source.first_line, column=found, severity="warning"))
        wrong = wrong[:-1]
    if len(wrong):
        counts = sorted(set(block.cells[wrong].tolist()))
        shown = ", ".join(f"{count:,}" for count in counts[:_NAMED])
        lines = wrong + source.first_line
        message = (
            f"{len(wrong)} rows have {shown} cells where the header has {source.cells:,}: left out ({_where(lines)})"
        )
        notes.append(Note(message, line=int(lines[0]), column=min(counts[0], source.cells) + 1, severity="warning"))
    return notes


def _header_again(block: Block) -> NDArray[np.int64]:
    return np.array([row for row, stamp in enumerate(block.stamps) if b"(PDH-CSV" in stamp], dtype=np.int64)


def _time_notes(clock: pl.Series, lines: NDArray[np.int64]) -> list[Note]:
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


def judge(block: Block, source: Source) -> tuple[Samples, list[Note]]:
    """Tells the samples of a block from lines that cannot be used, each kind with its note."""
    notes = []
    empty = block.cells == 0
    full = (block.cells == source.cells) | ((block.cells == source.cells + 1) & block.blank_end)
    if empty.any():
        rows = np.flatnonzero(empty)
        message = f"{len(rows)} blank lines: passed over ({_where(rows + source.first_line)})"
        notes.append(Note(message, line=int(rows[0]) + source.first_line))
    headers = _header_again(block)
    if len(headers):
        # What follows may stand in other columns: better none than wrong ones.
        line = int(headers[0]) + source.first_line
        rest = block.rows - int(headers[0])
        message = f"a second header: another capture begins here, its {rest} lines are left out; split the file here"
        notes.append(Note(message, line=line, column=1, severity="warning"))
        full[headers[0] :] = False
    judged = full | empty
    judged[headers[0] if len(headers) else block.rows :] = True
    notes += _wrong_count_notes(np.flatnonzero(~judged), block, source)

    keep = np.flatnonzero(full)
    clock = times.parse([times.stamp_text(block.stamps[row]) for row in keep.tolist()], source.bias)
    timeless = clock.is_null().to_numpy()
    if timeless.any():
        rows = keep[timeless]
        text = times.stamp_text(block.stamps[int(rows[0])])
        where = _where(rows + source.first_line)
        message = f"{len(rows)} rows with a time stamp that is none, such as {text!r}: left out ({where})"
        notes.append(Note(message, line=int(rows[0]) + source.first_line, column=1, severity="warning"))
        keep, clock = keep[~timeless], clock.filter(~clock.is_null())
    lines = keep + source.first_line
    return Samples(keep, clock, lines), notes + _time_notes(clock, lines)
