"""Rows of results and of access specifications, from sections to lists of rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from esxparse.formats.iometer import columns as known
from esxparse.formats.iometer.columns import ACCESS_SPECS, RESULTS, TIME_COLUMNS, Column, Odd, number, value
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.text import cells_of as plain_cells_of
from esxparse.recording import Note

KINDS = (
    "test type", "version", "time stamp", "access specifications", "access specification name",
    "end access specifications", "size", "results", "target type", "end test",
)  # fmt: skip
"""Beginnings of sections, without apostrophe, in lower case."""

_SEPARATORS = (",", ";", "\t")
_PLAIN_HEADER = re.compile(r'"?(?:time ?stamp"?[,;\t]"?)?target type"?[,;\t]', re.IGNORECASE)
_TIME = re.compile(
    r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})[ T](\d{1,2}):(\d{2}):(\d{2})(?:[:.,](\d{1,3}))?(?!\d)",
)


@dataclass(frozen=True)
class Section:
    """A line that begins a section, and the lines below it."""

    kind: str
    line: int
    cells: tuple[str, ...]
    """The first line, in cells; the first cell without its apostrophe."""
    separator: str
    rows: list[tuple[int, str]] = field(default_factory=list)
    """Number and text of the lines below."""


def separator_of(line: str) -> str:
    """Return the separator of the cells of a line: the most frequent of comma, semicolon and tab."""
    return max(_SEPARATORS, key=line.count)


def all_cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of a line, without blanks around them."""
    return plain_cells_of(line, separator) or [cell.strip() for cell in line.split(separator)]


def cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of a line, without blanks around them and without empty ones at its end.

    >>> cells_of("4096,100,0, 100,,", ",")
    ['4096', '100', '0', '100']
    """
    cells = all_cells_of(line, separator)
    while cells and not cells[-1]:
        cells.pop()
    return cells


def sections(lines: Iterable[str]) -> Iterator[Section]:
    """Yield the sections in order; lines before the first one are a section of the kind ""."""
    current = Section("", 0, (), ",")
    for place, line in enumerate(lines, 1):
        text = line.strip()
        plain = _PLAIN_HEADER.match(text)
        if not text.lstrip('"').startswith("'") and not plain:
            if text.strip(',;\t" '):
                current.rows.append((place, line))
            continue
        if current.kind or current.rows:
            yield current
        text = text if plain else text.replace("'", "", 1)
        separator = separator_of(text)
        cells = cells_of(text, separator)
        first = cells[0].lower() if cells else ""
        header = "target type" in (cell.lower() for cell in cells)
        kind = "target type" if header else first if first in KINDS else f"unknown {first}"
        current = Section(kind, place, tuple(cells), separator)
    if current.kind or current.rows:
        yield current


def time_of(text: str) -> datetime | None:
    """Return the time in a text, taken as UTC because its zone is unknown.

    >>> time_of("2007-01-31 12:34:56:007").isoformat()
    '2007-01-31T12:34:56.007000+00:00'
    """
    if not (found := _TIME.search(text)):
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    milliseconds = int((found[7] or "0").ljust(3, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, 1000 * milliseconds, tzinfo=UTC)
    except ValueError:
        return None


def _refused(text: str, line: int, why: str, unused: int = 0) -> Note:
    """Return the note on an unknown line, unless it shows that the test was stopped."""
    if text.strip().lower().startswith("aborted test"):
        return Note("Iometer says that the test was aborted here", line, severity="warning")
    return Note(f"{why}: {text.strip()[:60]!r}", line, severity="warning", unused=unused)


def ignored(section: Section) -> Iterator[Note]:
    """Return notes on the unknown lines of a section."""
    return (_refused(line, place, "not understood, left out", 1) for place, line in section.rows)


Row = dict[str, Any]

_ROW_TYPE = re.compile(r"[A-Z][A-Z0-9 _-]*")
_IOS = Column("ios", "count")
_OF_A_BIN = ("row_type", "name", "manager", "worker", "access_spec", "time")
_EMPTY_OF_DISK = 4
_NAME = 1
"""Place of the target's name among the cells, in which an unquoted separator can be mended."""


def _joined(text: str, columns: int, separator: str, specs: Collection[str]) -> list[str] | None:
    """Return the cells of a row with too many separators, with names rejoined; None if names do not explain them.

    Releases before 2006.07.27 wrote names with their commas. The cell after a name is a known access specification.
    """
    cells = text.strip(" ").split(separator)
    extra = len(cells) - columns
    last = _NAME + extra
    for after in range(last + 1, _NAME, -1):
        name = separator.join(cells[_NAME:after]).strip()
        spec = separator.join(cells[after : last + 2]).strip()
        if spec in specs:
            return [cells[0].strip(), name, spec, *(cell.strip() for cell in cells[last + 2 :])]
    return None


def _of_disk(text: str, separator: str) -> list[str] | None:
    """Return the cells of a DISK row with separators in its name; None if the end of the name is unknown.

    A disk has no access specification and no count of managers, workers and disks: four empty cells follow its name.
    """
    cells = [cell.strip() for cell in text.strip(" ").split(separator)]
    for after in range(_NAME + 2, len(cells) - _EMPTY_OF_DISK):
        if not any(cells[after : after + _EMPTY_OF_DISK]):
            return [cells[0], f"{separator} ".join(cells[_NAME:after]), *cells[after:]]
    return None


def _header(section: Section) -> tuple[list[Column | None], dict[int, tuple[float, float | None]], list[str]]:
    """Return the column of each cell; the cells of latency bins; unknown titles."""
    bins = {place: limits for place, title in enumerate(section.cells) if (limits := known.latency_bin(title))}
    found = [RESULTS.get(title.lower()) for title in section.cells]
    unknown = [
        title
        for place, title in enumerate(section.cells)
        if found[place] is None and place not in bins and title and title.lower() not in TIME_COLUMNS
    ]
    names = {column.name for column in RESULTS.values()}
    columns = [
        column or (Column(own) if title in unknown and (own := known.own_name(title)) not in names else None)
        for column, title in zip(found, section.cells, strict=True)
    ]
    return columns, bins, unknown


def _whose(row_type: str, name: str | None, above: Row) -> Row:
    """Return manager and worker of a row, based on the row above it."""
    manager = {"ALL": None, "MANAGER": name}.get(row_type, above["manager"])
    worker = {"ALL": None, "MANAGER": None, "PROCESSOR": None, "WORKER": name}.get(row_type, above["worker"])
    return {"manager": manager, "worker": worker}


def _lengths(row_type: str, section: Section, bins: Collection[int]) -> set[int]:
    return {len(section.cells), min(bins)} if bins and row_type == "PROCESSOR" else {len(section.cells)}


def _name_beside_spec(cells: list[str], specs: Collection[str]) -> str | None:
    """Return the name in a row that lost cells, if the known access specification is beside it."""
    return cells[0] if cells[1:] and cells[1] in specs else None


def _fitting(cells: list[str], text: str, section: Section, specs: Collection[str]) -> list[str] | None:
    """Return the cells of a row if they are as many as in the header, or can be made so.

    The program writes a cell for each column in every row, empty if there is no value. A row with fewer cells has lost
    some, and it is unknown which. Only rows of processors end before the latency bins.
    """
    expected = len(section.cells)
    if cells[0].strip().upper() == "DISK" and len(cells) > _NAME + 1 and cells[_NAME + 1].strip() not in {"", *specs}:
        cells = _of_disk(text, section.separator) or cells
    if len(cells) <= expected:
        return cells
    has_target_type = section.cells[0].lower() == "target type"
    if has_target_type and (joined := _joined(text, expected, section.separator, specs)):
        return joined
    # Padding by a spreadsheet moves no cell; a name with commas in it does.
    filled = not any(cells[expected:]) and not (has_target_type and cells[_NAME + 1] not in {"", *specs})
    return cells[:expected] if filled else None


def read_results(
    section: Section, specs: Collection[str], unfinished: int | None, odd: Odd
) -> tuple[list[Row], list[Row], list[Note]]:
    """Return rows of `results` and of `latency_bins`, without test and time; `unfinished` is a line without an end."""
    columns, bins, unknown = _header(section)
    notes = Notes([Note(f"unknown columns, kept: {', '.join(unknown)[:200]}", section.line)] if unknown else [])
    stamp = next((place for place, title in enumerate(section.cells) if title.lower() in TIME_COLUMNS), None)
    first = next((place for place, title in enumerate(section.cells) if title.lower() == "target type"), 0)
    results: list[Row] = []
    binned: list[Row] = []
    above: Row = {"manager": None, "worker": None}
    for line, text in section.rows:
        written = all_cells_of(text, section.separator)
        if len(written) < first + 2 or not _ROW_TYPE.fullmatch(written[first]):
            notes.append(_refused(text, line, "not a result"))
            continue
        if (cells := _fitting(written, text, section, specs)) is None:
            why = "a name with commas in it, or decimal commas between cells that are separated by commas"
            notes.warn(f"more cells than columns ({why}): left out", line)
            continue
        if line == unfinished:
            notes.warn("the file ends in this row: its last cell is left out", line)
            cells = cells[:-1]
        elif len(cells) not in _lengths(cells[first], section, bins):
            what = f"{len(cells):,} cells below {len(section.cells):,} columns, some are missing: the row is left out"
            notes.warn(what, line)
            above = _whose(cells[first], _name_beside_spec(cells[first + 1 : first + 3], specs), above)
            continue
        row: Row = {}
        for place, (cell, column) in enumerate(zip(cells, columns, strict=False)):
            if column is not None and (cell or column.name not in row):
                row[column.name] = value(cell, column, (line, place + 1), odd)
        if stamp is not None and stamp < len(cells):
            row["time"] = time_of(cells[stamp])
        above = _whose(row["row_type"], row.get("name"), above)
        row |= above
        results.append(row)
        own = {key: row.get(key) for key in _OF_A_BIN}
        counts = [
            (limits, value(cells[place], _IOS, (line, place + 1), odd))
            for place, limits in bins.items()
            if place < len(cells)
        ]
        binned += [own | {"from_ms": low, "to_ms": high, "ios": ios} for (low, high), ios in counts if ios is not None]
    return results, binned, notes


def read_access_spec(
    name: Section, lines: Section | None, unfinished: int | None, odd: Odd
) -> tuple[list[Row], list[Note]]:
    """Return rows of `access_specs` for one specification: its name section, and the section of its lines.

    `unfinished` is a line without an end.
    """
    if not name.rows:
        return [], [Note("an access specification without a name", name.line, severity="warning")]
    title, assignment = _spec_name(name.rows[0][1], name.separator)
    notes = Notes()
    for line, text in name.rows[1:]:
        notes.warn(f"not understood: {text.strip()[:60]!r}", line)
    own: Row = {"access_spec": title, "default_assignment": assignment}
    rows: list[Row] = []
    separator, titles = (lines.separator, lines.cells) if lines else (",", ())
    for line, text in lines.rows if lines else ():
        cells = cells_of(text, separator)
        if not cells or number(cells[0]) is None:
            notes.warn(f"not a line of an access specification: {text.strip()[:60]!r}", line)
            continue
        row: Row = own | {"line": len(rows) + 1}
        if line == unfinished:
            notes.warn("the file ends in this line: its last cell is left out", line)
            cells = cells[:-1]
        elif len(cells) != len(titles):
            what = f"{len(cells):,} cells below {len(titles):,} columns: which is which is unknown, left out"
            notes.warn(what, line)
            cells = []
        for place, (title_of_cell, cell) in enumerate(zip(titles, cells, strict=False)):
            if (column := ACCESS_SPECS.get(title_of_cell.lower())) is not None:
                row[column.name] = value(cell, column, (line, place + 1), odd)
        rows.append(row)
    # The program's "Idle" has no lines.
    return rows or [own | {"line": None}], notes


def _spec_name(text: str, separator: str) -> tuple[str, str | None]:
    """Return the name and the default assignment: only the name may have separators in it.

    >>> _spec_name("4K, aligned; 100% read,0", ",")
    ('4K, aligned; 100% read', '0')
    """
    stripped = text.strip().rstrip(f"{separator} ")
    if stripped.startswith('"'):
        cells = cells_of(stripped, separator)
        return separator.join(cells[:1]), separator.join(cells[1:]) or None
    name, found, assignment = stripped.rpartition(separator)
    return (name.strip(), assignment.strip()) if found else (stripped, None)
