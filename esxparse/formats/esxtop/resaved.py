"""Captures that another program saved: back to the grammar that esxtop writes, before anything reads them.

Spreadsheets drop the quotes, may separate cells by tabs or semicolons (with decimal commas), and write their own dates.
PowerShell's `>` writes UTF-16. Such files fit in memory, as a spreadsheet takes at most 16,384 columns.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from esxparse.errors import DamagedError
from esxparse.formats import memory
from esxparse.formats.esxtop import header, header_last
from esxparse.formats.esxtop.encodings import is_wide, text_of_parts
from esxparse.formats.esxtop.grammar import HEADER_WITHIN, MARK, STAMP, text_before
from esxparse.formats.esxtop.local_numbers import with_points
from esxparse.formats.esxtop.times import Dates, as_esxtop_writes, judge, with_month_first
from esxparse.formats.opening import DateOrder, Decimal
from esxparse.recording import Note

_SEPARATOR = re.compile(r'\(PDH-CSV[^\n]*?\) ?\([^\n]*?\)\(-?\d{1,9}\)"?(?P<separator>[,;\t])')
_LOST_QUOTE = re.compile(rb'\(PDH-CSV[^\n",]*","')  # first cell of a quoted header without its first quote
_BETWEEN = re.compile(rb'\(PDH-CSV[^\n"]*"[;\t]"')  # first cell with quotes, not followed by a comma
_SEPARATED = {
    ";": "semicolons between cells: another program saved it",
    "\t": "tabs between cells: another program saved it as text",
}
_LINE_END = re.compile(r"\r*\n|\r")
_LINE_CLOCK = re.compile(r'^"?\d{1,2}:\d{2}[:.,;" \t]', re.MULTILINE)
_LINE_STAMP = re.compile(r'^"?\d{1,4}[/.-][^",;\t\r\n]*"?', re.MULTILINE)
_WRITTEN_STAMP = re.compile(rf'"{STAMP}"?|{STAMP}"')
"""A time stamp as esxtop and Perfmon write it, whole or with one of its quotes lost."""
_BEGINS = rb"(?:\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T]\d|\d{1,2}:\d\d)"
"""The beginning of a time stamp, with or without a date."""
_QUOTED_STAMP = re.compile(rb'\n"' + _BEGINS + rb'[^",;\t\r\n]*"(?:[,;\t\r\n]|\Z)')
_BARE_STAMP = re.compile(rb"\n" + _BEGINS + rb'[^",;\t\r\n]*(?:[,;\t\r\n]|\Z)')
"""A first time stamp without quotes. If it has only the second quote, the first was lost to damage."""
_LOCAL = re.compile(
    r'"\s*[+-]?(?:\d[\d.]*[,\' \u00a0\u202f\u2019][\d.,\' \u00a0\u202f\u2019]*|[1-9]\d{0,2}(?:\.\d{3})+)"'
)
"""A quoted cell that may be a number of a locale."""
_MONTHS = 12
_CLOSED = ("\n", "\r", '"', "\0")


@dataclass(frozen=True)
class Canonical:
    """A capture in esxtop's own grammar."""

    content: bytes
    dates: Dates  # facts about its dates, which were judged and have the month first
    notes: tuple[Note, ...]


def is_resaved(head: bytes) -> bool:
    """Return whether another program saved the capture that begins with this header and these rows."""
    if is_wide(head) or header_last.may_be(head):
        return True
    start = head.find(MARK)
    if start < 0 or (head[start - 1 : start] != b'"' and not _LOST_QUOTE.match(head, start)):
        return start >= 0
    # Cells have another separator, or the line ends as on old Macs.
    if _BETWEEN.match(head, start) or head.find(b"\n", start) < 0 <= head.find(b"\r", start, -1):
        return True
    # Programs that quote only texts keep the header as it was. esxtop quotes time stamps, and writes them in one way.
    row = head.find(b"\n", start)
    if _BARE_STAMP.match(head, row):
        return True
    following = head.find(b"\n", row + 1)
    # One stamp alone may be damaged.
    return _otherwise(head, row) and (following in (-1, len(head) - 1) or _otherwise(head, following))


def _otherwise(head: bytes, row: int) -> bool:
    """Return whether the row after this line end has a quoted time stamp that esxtop would not write."""
    stamp = _QUOTED_STAMP.match(head, row)
    return stamp is not None and not _WRITTEN_STAMP.fullmatch(stamp[0].strip(b"\n\r,;\t").decode("latin-1"))


def whole(stream: BinaryIO, head: bytes, memory_limit: int) -> bytes:
    """Return `head` and the rest of the stream, which is refused if it exceeds the memory limit."""
    rest = iter(lambda: stream.read(HEADER_WITHIN), b"")
    return b"".join(memory.bounded(chain([head], rest), memory_limit))


def canonical(content: bytes, dates: Dates, decimal: Decimal | None = None) -> Canonical:
    """Return the capture as esxtop would have written it.

    Raises:
        EsxparseError: A date or a number is ambiguous.
    """
    text, notes = text_of_parts(content)
    text, order_notes = header_last.header_first(text)
    notes += order_notes
    before, mark, rest = text.partition(MARK.decode())
    if not mark:
        raise DamagedError(f"no header: {MARK.decode()} is not in it; save the capture as UTF-8")
    quoted = before.endswith('"')
    before = before.removesuffix('"')
    body = ('"' if quoted else "") + mark + rest
    # Old Macs ended lines with a carriage return alone.
    body = body if "\n" in body else body.replace("\r", "\n")
    separator = _SEPARATOR.match(body, 1 if quoted else 0)
    between = separator["separator"] if separator else ","
    judged = Dates("mdy")
    if quoted and between == "," and not _LINE_CLOCK.search(body) and all(map(_is_written, _LINE_STAMP.findall(body))):
        # Names are not escaped: only the reader of captures finds their ends.
        mark_notes: list[Note] = []
        if decimal or _LOCAL.search(body):
            body, mark_notes = _with_points_in_quotes(body, before.count("\n") + 1, decimal)
        body, stamp_notes = _with_dates(body, dates, before.count("\n") + 1, is_local=bool(mark_notes))
        notes += mark_notes
        return Canonical((before + body).encode(), judged, (*notes, *stamp_notes))
    lines_before = before.count("\n")
    notes += text_before(before)
    captures = _captures(_rows(body, between))
    if any(capture[0][-1] == "" for capture in captures):
        notes.append(Note("trailing separator: the empty last column is left out", line=lines_before + 1))
        captures = [_without_last(capture) for capture in captures]
    if between != ",":
        notes.append(Note(_SEPARATED[between], line=lines_before + 1))
    elif not quoted:
        message = "the header has no quotes around its cells: another program saved this file"
        notes.append(Note(message, line=lines_before + 1))
    captures, mark_notes = with_points(captures, lines_before + 1, decimal)
    notes += mark_notes
    # Programs save quoted dates as texts: most dates are unchanged if the numbers are.
    usual: DateOrder | None = "mdy" if quoted and not mark_notes and _month_first(body) else None
    texts = [row[0] if row else "" for _, *rows in captures for row in rows]
    found, stamp_notes = as_esxtop_writes(texts, dates, usual)
    stamps = iter(found)
    out = io.StringIO()
    # Lines keep their numbers, so that notes refer to lines of the file.
    out.write("\n" * lines_before)
    for names, *rows in captures:
        out.write(_line(names))
        for row in rows:
            stamp = next(stamps)
            out.write(_line([cell.strip() for cell in [stamp, *row[1:]]]) if row else "\n")
    lines = out.getvalue()
    if captures[-1][1:] and not body.endswith(_CLOSED):
        # A last line without an end may be cut within its last cell. Notes then treat it like esxtop's own cut cells.
        lines = lines.removesuffix('"\n')
    return Canonical(lines.encode(), judged, (*notes, *stamp_notes))


def _with_dates(body: str, dates: Dates, line: int, *, is_local: bool) -> tuple[str, list[Note]]:
    """Return a capture that differs from esxtop's form only in its dates; its first line is `line`.

    `is_local`: whether its numbers are of a locale. Its dates may be, too.
    """
    if dates.order == "mdy":
        return body, dates.day_unused()
    stamps = [stamp.strip('"') for stamp in _LINE_STAMP.findall(body)]
    if dates.order or is_local:
        found, notes = as_esxtop_writes(stamps, dates)
    else:
        lines = [number for number, text in enumerate(body.split("\n"), line) if _LINE_STAMP.match(text)]
        is_swapped, notes = judge(stamps, lines)
        notes = [*dates.day_unused(), *notes]
        found = [with_month_first(stamp) if swap else stamp for stamp, swap in zip(stamps, is_swapped, strict=True)]
    written = iter(found)
    return _LINE_STAMP.sub(lambda stamp: stamp[0].replace(stamp[0].strip('"'), next(written)), body), notes


def _is_written(stamp: str) -> bool:
    """Return whether a time stamp is as esxtop writes it, or was until it lost a byte."""
    return "\0" in stamp or _WRITTEN_STAMP.fullmatch(stamp) is not None


def _month_first(body: str) -> bool:
    """Return whether all time stamps are quoted, as esxtop writes them, and can have the month first."""
    return all(
        _is_written(stamp) and "\0" not in stamp and int(stamp.strip('"')[:2]) <= _MONTHS
        for stamp in _LINE_STAMP.findall(body)
    )


def _rows(body: str, separator: str) -> list[list[str]]:
    """Return the cells of each line. Cells never cross a line end: an open quote spoils only its own line."""
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
    lines = _LINE_END.split(body)
    if not lines[-1]:
        del lines[-1]
    return [_cells(line, separator) for line in lines]


def _cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line. A cell with an open or inner quote keeps it, and so is not a number."""
    is_header = MARK.decode() in line[: len(MARK) + 1]
    try:
        return next(csv.reader([line], delimiter=separator, quotechar='"', strict=not is_header), [])
    except (csv.Error, ValueError) as error:
        if is_header:
            msg = f"its lines are not separated values ({error})"
            raise DamagedError(msg) from None
    cells = [""]
    for piece in re.findall(rf'(?:"[^"]*(?:"|\Z)|[^{separator}"])+|{separator}', line):
        if piece == separator:
            cells.append("")
        else:
            cells[-1] = re.sub(r'^"([^"]*)"$', r"\1", piece)
    return cells


def _captures(rows: list[list[str]]) -> list[list[list[str]]]:
    """Return the rows from each header to the next, of captures that were glued or of a restarted esxtop."""
    starts = [place for place, row in enumerate(rows) if row and row[0].startswith(MARK.decode())]
    return [rows[start:stop] for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True)]


def _without_last(capture: list[list[str]]) -> list[list[str]]:
    """Return the rows without the empty cell after a trailing separator, if the header has one.

    Each line loses one empty cell. A row without such a cell lost another cell, and is then too short.
    """
    if capture[0][-1] != "":
        return capture
    return [row[:-1] if row and row[-1] == "" else row for row in capture]


def _with_points_in_quotes(body: str, line: int, decimal: Decimal | None) -> tuple[str, list[Note]]:
    """Return a capture in esxtop's own quotes, with its numbers as esxtop writes them; its first line is `line`."""
    lines = _LINE_END.split(body)
    rows: list[list[str]] = []
    for text in lines:
        if MARK.decode() in text[: len(MARK) + 1]:
            # Names are not escaped.
            parsed = header.parse(text.encode(), line)
            rows.append([MARK.decode(), *map(parsed.path, range(len(parsed.owners)))])
        else:
            rows += _rows(text, ",") or [[]]
    captures, notes = with_points(_captures(rows), line, decimal)
    mended = [row for capture in captures for row in capture]
    texts = (
        text if before == after else _line(after).removesuffix("\n")
        for text, before, after in zip(lines, rows, mended, strict=True)
    )
    return "\n".join(texts), notes


def _line(cells: Sequence[str]) -> str:
    return ",".join(f'"{cell}"' for cell in cells) + "\n"
