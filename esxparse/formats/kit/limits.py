"""Files of exactly a spreadsheet's size: the rest may have been cut off."""

from __future__ import annotations

from collections.abc import Iterable

from esxparse.recording import Note

_COLUMNS = {16_384: "Excel, LibreOffice", 1_024: "LibreOffice before 7.4", 256: "Excel before 2007"}
_LINES = {1_048_576: "Excel, LibreOffice", 65_536: "Excel before 2007"}
_PHRASE = "the most that a spreadsheet keeps"


def cut_notes(columns: int, lines: int, *, saved: bool = True) -> list[Note]:
    """Return warnings about a file with exactly as many columns or lines as a spreadsheet keeps.

    `saved`: whether the form of the file proves that another program saved it.
    """
    found = [
        (columns, "columns", _COLUMNS.get(columns), 1),
        (lines, "lines", _LINES.get(lines), lines),
    ]
    certainty = "probably cut off" if saved else "cut off if one saved this file"
    return [
        Note(f"exactly {count:,} {what}, {_PHRASE} ({which}): more were {certainty}", line, severity="warning")
        for count, what, which, line in found
        if which
    ]


def is_cut(notes: Iterable[Note]) -> bool:
    """Return whether one of the notes warns that columns were cut off."""
    return any(f"columns, {_PHRASE}" in note.message for note in notes)
