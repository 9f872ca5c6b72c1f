"""Notes on skipped lines, shared by reader and slicer: a capture and its slice have the same notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from esxparse.errors import DamagedError
from esxparse.formats.esxtop.scan import Integers
from esxparse.recording import Note, Severity, counted

MOST_LISTED = 5  # lines and numbers in a message


@dataclass
class Met:
    """Lines of one kind: their count and the first of them."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)  # number of cells in those lines
    text: str = ""  # from the first of them

    @classmethod
    def of(cls, lines: Integers) -> Met:
        """Return the lines as one group."""
        return cls(len(lines), lines[: MOST_LISTED + 1].tolist())

    def add(self, line: int, *, cells: int = 0, text: str = "") -> None:
        """Count a line; lines beyond those in messages are not kept, as there may be millions."""
        self.count += 1
        self.text = self.text or text
        if len(self.lines) <= MOST_LISTED:
            self.lines.append(line)
            self.cells.append(cells)

    def __str__(self) -> str:
        """Return the lines as text for a message.

        >>> str(Met(1, [7])), str(Met(2, [7, 9])), str(Met(900, [1, 2, 3, 4, 5, 6]))
        ('line 7', 'lines 7, 9', 'lines 1, 2, 3, 4, 5 ...')
        """
        return f"line{'s' if self.count > 1 else ''} {_list(self.lines)}"

    def note(
        self, message: str, column: int | None = 1, severity: Severity = "warning", *, left_out: bool = False
    ) -> list[Note]:
        """Return the note on these lines, if there are any; `left_out`: whether they are missing from the tables."""
        if not self.count:
            return []
        rows = self.count if left_out else 0
        return [Note(message, line=self.lines[0], column=column, severity=severity, rows=rows)]

    def started_again(self) -> list[Note]:
        """Return the note on headers that repeat the first."""
        message = f"the header is repeated {times(self.count)}: esxtop was restarted, its rows are joined ({self})"
        return self.note(message, severity="info")

    def damaged_headers(self) -> list[Note]:
        """Return the note on headers with a damaged beginning: they are not rows."""
        headers = counted(self.count, "header")
        return self.note(f"{headers} with a damaged beginning: left out, rows below are read as those above ({self})")

    def without_rows(self) -> list[Note]:
        """Return the note on headers directly followed by another header."""
        return self.note(f"{counted(self.count, 'header')} without rows, above another header: ignored ({self})")

    def blank(self) -> list[Note]:
        """Return the note on blank lines."""
        return self.note(f"{counted(self.count, 'blank line')}: ignored ({self})", None, "info")

    def prefixed(self) -> list[Note]:
        """Return the note on rows and headers with text before them."""
        lines = counted(self.count, "line")
        message = f"{lines} with text such as {self.text!r} before the row or header: that text is ignored ({self})"
        return self.note(message, severity="info")

    def wrong_count(self, expected: int) -> list[Note]:
        """Return the note on rows with too few or too many cells."""
        counts = _list(sorted(set(self.cells)), ",")
        have = "1 row has" if self.count == 1 else f"{self.count:,} rows have"
        cells = "cell" if set(self.cells) == {1} else "cells"
        message = f"{have} {counts} {cells} where the header has {expected:,}: left out ({self})"
        return self.note(message, min(self.cells[0], expected) + 1 if self.count else None, left_out=True)

    def torn(self) -> list[Note]:
        """Return the note on rows with NUL bytes."""
        rows = counted(self.count, "row")
        return self.note(f"NUL bytes in {rows}, perhaps over a line end: left out ({self})", None, left_out=True)

    def timeless(self) -> list[Note]:
        """Return the note on rows without a readable time stamp."""
        rows = counted(self.count, "row")
        message = f"{rows} without a readable time stamp, such as {self.text!r}: left out ({self})"
        return self.note(message, left_out=True)


def _list(numbers: Sequence[int], form: str = "d") -> str:
    return ", ".join(format(number, form) for number in numbers[:MOST_LISTED]) + (
        " ..." if len(numbers) > MOST_LISTED else ""
    )


def times(count: int) -> str:
    """Return a count of events in words.

    >>> times(1), times(2)
    ('once', '2 times')
    """
    return "once" if count == 1 else f"{count:,} times"


def another_capture(line: int, difference: str, rows: int, command: str) -> Note:
    """Return the note on another header before `rows` more rows; `command` reads the next capture."""
    if not rows:
        return Note(
            f"another capture {difference} begins here and has no rows", line=line, column=1, severity="warning"
        )
    kept = f"{counted(rows, 'row')} from here on {'is' if rows == 1 else 'are'} kept apart"
    message = f"another capture {difference} begins here, {kept}: {command}"
    return Note(message, line=line, column=1, severity="warning", rows=rows)


def end_of_file(line: int, cells: int, expected: int, nuls: int) -> Note:
    """Return the note on a last line that was cut, or consists of NUL bytes (as after a host crash)."""
    if nuls:
        message = f"{counted(nuls, 'NUL byte')} at the end of the file, after the last row: ignored"
        return Note(message, line=line, column=1, severity="warning")
    message = f"the last row is cut after {cells:,} of {expected:,} cells: left out"
    return Note(message, line=line, column=cells, severity="warning", rows=1)


def no_rows(columns: int, notes: Sequence[Note]) -> DamagedError:
    """Return the error for a capture without samples, with the first warning on lost rows as the reason."""
    header = f"a header with {counted(columns, 'column')}"
    warnings = [note for note in notes if note.severity == "warning"]
    why = next((note for note in warnings if note.rows), warnings[0] if warnings else None)
    if why is None:
        return DamagedError(f"{header} and no rows: the capture was stopped before its first sample")
    return DamagedError(f"{header} and no usable row ({why})")
