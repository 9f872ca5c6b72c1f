"""What is said of lines that are no samples: by the reader, which has all of them, and by a slice, which meets each.

Both say it in the same words, so that a note on a capture and one on its slice are the same note.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from esxparse.errors import DamagedError
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = 5
"""Lines and numbers in a message."""

GLUED = "the header lost its line end: the first row is read from the rest of its line"


@dataclass
class Met:
    """Lines of one kind: how many they are, and which the first of them."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    """Cells of those lines."""
    text: str = ""
    """What the first of them holds in place of what should stand there."""

    def add(self, line: int, *, cells: int = 0, text: str = "") -> None:
        """Counts a line; those beyond what messages show are not kept, as there may be millions."""
        self.count += 1
        self.text = self.text or text
        if len(self.lines) <= SHOWN:
            self.lines.append(line)
            self.cells.append(cells)

    def __str__(self) -> str:
        """The lines as a message names them.

        >>> str(Met(1, [7])), str(Met(2, [7, 9])), str(Met(900, [1, 2, 3, 4, 5, 6]))
        ('line 7', 'lines 7, 9', 'lines 1, 2, 3, 4, 5 ...')
        """
        return f"line{'s' if self.count > 1 else ''} {_list(self.lines)}"


def _list(numbers: Sequence[int], form: str = "d") -> str:
    return ", ".join(format(number, form) for number in numbers[:SHOWN]) + (" ..." if len(numbers) > SHOWN else "")


def counted(count: int, thing: str) -> str:
    """A number of things in words.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def times(count: int) -> str:
    """How often something happened, in words.

    >>> times(1), times(2)
    ('once', '2 times')
    """
    return "once" if count == 1 else f"{count:,} times"


def started_again(met: Met) -> Note:
    """The note on headers that repeat the first."""
    message = f"the header stands again {times(met.count)}: esxtop was started again, its rows are joined ({met})"
    return Note(message, line=met.lines[0], column=1)


def another_capture(line: int, left: int, how: str) -> Note:
    """The note on a header with other columns, with which `left` lines begin, and on `how` to get at them."""
    kept = "its 1 line is kept apart" if left == 1 else f"its {left:,} lines are kept apart"
    message = f"another capture with other columns begins here, {kept}: {how} with segment="
    return Note(message, line=line, column=1, severity="warning")


def blank(met: Met) -> Note:
    """The note on lines with nothing in them."""
    return Note(f"{counted(met.count, 'blank line')}: passed over ({met})", line=met.lines[0])


def cut_row(line: int, cells: int, expected: int) -> Note:
    """The note on a last row that ends too early."""
    message = f"the last row is cut after {cells:,} of {expected:,} cells: left out"
    return Note(message, line=line, column=cells, severity="warning")


def nul_tail(line: int, count: int) -> Note:
    """The note on a file that ends with NUL bytes, as one does that was being written when its host stopped."""
    message = f"{counted(count, 'NUL byte')} at the end of the file, after the last row: passed over"
    return Note(message, line=line, column=1, severity="warning")


def wrong_count(met: Met, expected: int) -> Note:
    """The note on rows with too few or too many cells."""
    shown = _list(sorted(set(met.cells)), ",")
    have = "1 row has" if met.count == 1 else f"{met.count:,} rows have"
    cells = "cell" if set(met.cells) == {1} else "cells"
    message = f"{have} {shown} {cells} where the header has {expected:,}: left out ({met})"
    return Note(message, line=met.lines[0], column=min(met.cells[0], expected) + 1, severity="warning")


def torn(met: Met) -> Note:
    """The note on rows with NUL bytes."""
    message = f"NUL bytes in {counted(met.count, 'row')}, perhaps over a line end: left out ({met})"
    return Note(message, line=met.lines[0], severity="warning")


def seams(met: Met) -> Note:
    """The note on rows of which a slice keeps the beginning alone."""
    rows = counted(met.count, "row")
    message = (
        f"{rows} with a cell that no tool prints, as where bytes were lost between two samples: empty from there to "
        f"the end of the row ({met})"
    )
    return Note(message, line=met.lines[0], column=met.cells[0] + 1, severity="warning")


def timeless(met: Met) -> Note:
    """The note on rows whose time stamp is not one."""
    message = (
        f"{counted(met.count, 'row')} without a time stamp that can be read, such as {met.text!r}: left out ({met})"
    )
    return Note(message, line=met.lines[0], column=1, severity="warning")


def no_rows(columns: int, notes: Sequence[Note]) -> DamagedError:
    """The error where no line is a sample, with the first of the notes that tells why."""
    header = f"a header with {counted(columns, 'column')}"
    why = next((note for note in notes if note.severity == "warning"), None)
    if why is None:
        return DamagedError(f"{header} and no rows: the capture was stopped before its first sample")
    return DamagedError(f"{header} and no row that can be used ({why})")
