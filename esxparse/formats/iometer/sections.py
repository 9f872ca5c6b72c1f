"""The sections of an Iometer result file: what each line that begins with an apostrophe announces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from esxparse.formats.kit.text import cells_of as plain_cells_of
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = (
    "test type", "version", "time stamp", "access specifications", "access specification name",
    "end access specifications", "size", "results", "target type", "end test",
)  # fmt: skip
"""What a section begins with; the apostrophe left away, in lower case."""

_SEPARATORS = (",", ";", "\t")
_PLAIN_HEADER = re.compile(r'"?(?:time ?stamp"?[,;\t]"?)?target type"?[,;\t]', re.IGNORECASE)
_TIME = re.compile(
    r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})[ T](\d{1,2}):(\d{2}):(\d{2})(?:[:.,](\d{1,3}))?(?!\d)",
)


@dataclass(frozen=True)
class Section:
    """A line that announces something, and the lines below it."""

    kind: str
    line: int
    cells: tuple[str, ...]
    """The announcing line, in cells; the first without its apostrophe."""
    separator: str
    rows: list[tuple[int, str]] = field(default_factory=list)
    """Number and text of the lines below."""


def separator_of(line: str) -> str:
    """What separates the cells of a line: of comma, semicolon and tab the one it has most of."""
    return max(_SEPARATORS, key=line.count)


def all_cells_of(line: str, separator: str) -> list[str]:
    """The cells of a line, without blanks around them."""
    return plain_cells_of(line, separator) or [cell.strip() for cell in line.split(separator)]


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of a line, without blanks around them and without empty ones at its end.

    >>> cells_of("4096,100,0, 100,,", ",")
    ['4096', '100', '0', '100']
    """
    cells = all_cells_of(line, separator)
    while cells and not cells[-1]:
        cells.pop()
    return cells


def sections(lines: Iterable[str]) -> Iterator[Section]:
    """The sections in their order; what stands before the first is a section of the kind "" ."""
    current = Section("", 0, (), ",")
    for number, line in enumerate(lines, 1):
        text = line.strip()
        plain = _PLAIN_HEADER.match(text)
        if not text.lstrip('"').startswith("'") and not plain:
            if text.strip(',;\t" '):
                current.rows.append((number, line))
            continue
        if current.kind or current.rows:
            yield current
        text = text if plain else text.replace("'", "", 1)
        separator = separator_of(text)
        cells = cells_of(text, separator)
        first = cells[0].lower() if cells else ""
        header = "target type" in (cell.lower() for cell in cells)
        kind = "target type" if header else first if first in KINDS else f"unknown {first}"
        current = Section(kind, number, tuple(cells), separator)
    if current.kind or current.rows:
        yield current


def time_of(text: str) -> datetime | None:
    """The time in a text, its zone unknown: taken as if it were UTC.

    >>> time_of("2007-01-31 12:34:56:007").isoformat()
    '2007-01-31T12:34:56.007000+00:00'
    """
    found = _TIME.search(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    milliseconds = int((found[7] or "0").ljust(3, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, 1000 * milliseconds, tzinfo=UTC)
    except ValueError:
        return None


def ignored(section: Section) -> Iterator[Note]:
    """Notes on the lines of a section that say nothing known."""
    for number, line in section.rows:
        text = line.strip()
        if text.lower().startswith("aborted test"):
            yield Note("the program says that the test was aborted here", number, severity="warning")
        else:
            yield Note(f"not understood, left out: {text[:60]!r}", number, severity="warning")
