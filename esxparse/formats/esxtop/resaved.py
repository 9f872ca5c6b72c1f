"""Captures that another program opened and saved: back to the grammar esxtop writes, before anything reads them.

A spreadsheet drops the quotes, may separate by semicolons (with commas in its decimals) or tabs, writes dates its own
way, and PowerShell's `>` writes UTF-16. Such files are small enough to hold (a spreadsheet takes 16,384 columns).

A date is a guess nobody should make in silence: which of day and month comes first is told by the whole file, by a
number above 12, or has to be said.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats.esxtop import clock_only, stamp_order
from esxparse.formats.source import read_up_to
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.formats.opening import DateOrder

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_LIST_COUNTERS = ("Numa Home Nodes",)
"""Counters whose cells may be lists: `0,1` is two nodes, whatever stands between the cells."""
_SEPARATOR = re.compile(r'\(PDH-CSV[^\n]*?\) ?\([^\n]*?\)\(-?\d{1,9}\)"?(?P<separator>[,;\t])')
_LOST_QUOTE = re.compile(rb'\(PDH-CSV[^\n",]*","')
"""A first cell of a header in quotes that lost the first of them."""
_BETWEEN = re.compile(rb'\(PDH-CSV[^\n"]*"[;\t]"')
"""A first cell with quotes, and no comma after it."""
_SEPARATED = {
    ";": "semicolons between cells, commas in numbers read as decimal points: another program saved it",
    "\t": "tabs between cells: another program saved it as text",
}
_STAMP = re.compile(
    r"(?P<first>\d{1,4})(?P<mark>[/.-])(?P<second>\d{1,2})(?P=mark)(?P<third>\d{1,4})[ T]+"
    r"(?P<clock>\d{1,2}:\d{2}(?::\d{2})?)(?:[.,](?P<fraction>\d{1,6})\d*)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_LINE_END = re.compile(r"\r*\n|\r")
_LINE_CLOCK = re.compile(r'^"?\d{1,2}:\d{2}[:.,;" \t]', re.MULTILINE)
_LINE_STAMP = re.compile(r'^"?\d{1,4}[/.-][^",;\t\r\n]*"?', re.MULTILINE)
_STAMP_TEXT = r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?"
_WRITTEN_STAMP = re.compile(rf'"{_STAMP_TEXT}"?|{_STAMP_TEXT}"')
"""A time stamp as esxtop and Perfmon write it, whole or with one of its quotes lost."""
_BEGINS = rb"(?:\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T]\d|\d{1,2}:\d\d)"
"""How a time stamp begins, with a date or without."""
_QUOTED_STAMP = re.compile(rb'\n"' + _BEGINS + rb'[^",;\t\r\n]*"(?:[,;\t\r\n]|\Z)')
_BARE_STAMP = re.compile(rb"\n" + _BEGINS + rb'[^",;\t\r\n]*(?:[,;\t\r\n]|\Z)')
"""A first time stamp without quotes; one that has its second quote lost its first to damage."""
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_UTF_16 = ("utf-16-le", "utf-16-be")
_MONTHS = 12
_YEAR_DIGITS = 4
_CENTURY = 2000
_HEAD = 1 << 20
_LONGEST_HEAD = 64 << 20


@dataclass(frozen=True)
class Dates:
    """What is known of the dates beyond what the file says."""

    order: DateOrder | None = None
    """Order of day, month and year."""
    day: date | None = None
    """The day, for time stamps without one."""


AS_WRITTEN = Dates()


@dataclass(frozen=True)
class Canonical:
    """A capture in esxtop's own grammar."""

    content: bytes
    notes: tuple[Note, ...]


def head_with_rows(stream: BinaryIO) -> bytes:
    """The beginning of a file, as far as its second row where there is a header: a mebibyte at least, 64 at most."""
    head = read_up_to(stream, _HEAD)
    while True:
        start = head.find(b"(PDH-CSV")
        size = len(head)
        if start < 0 or head.count(b"\n", start) > 2 or size >= _LONGEST_HEAD:  # noqa: PLR2004  header and two rows
            return head
        if b"\n" not in head[start:] and head.find(b"\r", start, -1) >= 0:
            return head
        head = read_up_to(stream, 2 * size, head)
        if len(head) == size:
            return head


def _utf_16(head: bytes) -> str | None:
    """The encoding of a capture in UTF-16 that does not begin with its mark."""
    marks = {encoding: head.find("(PDH-CSV".encode(encoding)) for encoding in _UTF_16}
    # At an odd place what is found are halves of letters.
    return next((encoding for encoding, mark in marks.items() if mark >= 0 and mark % 2 == 0), None)


def is_resaved(head: bytes) -> bool:
    """Whether a capture that begins so, with its header and the rows after it, was saved by another program."""
    if head[:2] in _BOMS or _utf_16(head):
        return True
    start = head.find(b"(PDH-CSV")
    if start < 0 or (head[start - 1 : start] != b'"' and not _LOST_QUOTE.match(head, start)):
        return start >= 0
    # Cells apart by something else, or a line that ends as lines did on old Macs.
    if _BETWEEN.match(head, start) or head.find(b"\n", start) < 0 <= head.find(b"\r", start, -1):
        return True
    # Programs that quote texts only leave the header as it was; esxtop quotes its time stamps, and has one way of them.
    row = head.find(b"\n", start)
    if _BARE_STAMP.match(head, row):
        return True
    following = head.find(b"\n", row + 1)
    # One stamp alone may be damaged.
    return _otherwise(head, row) and (following in (-1, len(head) - 1) or _otherwise(head, following))


def _otherwise(head: bytes, row: int) -> bool:
    """Whether the row after this line end has a quoted time stamp that is not written as esxtop does."""
    stamp = _QUOTED_STAMP.match(head, row)
    return stamp is not None and not _WRITTEN_STAMP.fullmatch(stamp[0].strip(b"\n\r,;\t").decode("latin-1"))


def _decoded(content: bytes) -> tuple[str, list[Note]]:
    for bom, encoding in _BOMS.items():
        if content.startswith(bom):
            note = [Note("the file is UTF-16: read as such", line=1)] if encoding == "utf-16" else []
            return content.decode(encoding, errors="replace"), note
    unmarked = _utf_16(content[:_HEAD])
    if unmarked:
        note = [Note("the file is UTF-16 without its mark: read as such", line=1)]
        return content.decode(unmarked, errors="replace"), note
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), [Note("not UTF-8: read as Windows-1252", line=1)]


def _order_of(stamps: Sequence[re.Match[str]], asked: DateOrder | None) -> DateOrder:
    """Order of day, month and year, by the whole file.

    Raises:
        EsxparseError: Nothing tells day from month and nobody said.
    """
    if asked:
        return asked
    if any(len(stamp["first"]) == _YEAR_DIGITS for stamp in stamps):
        return "ymd"
    if any(stamp["mark"] == "." for stamp in stamps):
        return "dmy"  # nobody writes month.day.year
    day_first = next((stamp[0] for stamp in stamps if int(stamp["first"]) > _MONTHS), None)
    month_first = next((stamp[0] for stamp in stamps if int(stamp["second"]) > _MONTHS), None)
    if day_first and month_first:
        why = f"dates such as {day_first!r} and {month_first!r} are not of one order, and others may be of either"
    elif day_first:
        return "dmy"
    elif month_first or all(int(stamp["first"]) == int(stamp["second"]) for stamp in stamps):
        return "mdy"
    else:
        why = f"nothing in the file tells day from month in dates such as {stamps[0][0]!r}"
    msg = f"{why}: say which with date_order= (mdy or dmy), on the command line --date-order"
    raise EsxparseError(msg)


def _time(stamp: re.Match[str], order: DateOrder) -> str | None:
    numbers = dict(zip(order, (int(stamp[part]) for part in ("first", "second", "third")), strict=True))
    if numbers["y"] < 100:  # noqa: PLR2004  two digits
        numbers["y"] += _CENTURY
    hour, *rest = (int(part) for part in stamp["clock"].split(":"))
    if stamp["half"]:
        hour = hour % _MONTHS + (_MONTHS if stamp["half"] in "Pp" else 0)
    try:
        minute, second = rest if len(rest) > 1 else (rest[0], 0)
        # No zone: the header's bias tells it.
        time = datetime(numbers["y"], numbers["m"], numbers["d"], hour, minute, second)  # noqa: DTZ001
    except ValueError:
        return None
    return f"{time:%m/%d/%Y %H:%M:%S}" + (f".{stamp['fraction']}" if stamp["fraction"] else "")


def _stamps(texts: Sequence[str], order: DateOrder | None, day: date | None = None) -> tuple[list[str], list[Note]]:
    """Time stamps as esxtop writes them; one that is none stays as it is."""
    matches = [_STAMP.fullmatch(text.strip()) for text in texts]
    dated = [match for match in matches if match]
    if not dated:
        return _without_dates(texts, day)
    settled = _order_of(dated, order)
    notes = [] if day is None else [stamp_order.day_unused(day)]
    # A date that is none in this order is one in another: what reads on would take it for esxtop's own, and be wrong.
    found = [
        (_time(match, settled) or f"{text.strip()} (not {settled})") if match else text
        for match, text in zip(matches, texts, strict=True)
    ]
    if all(match["clock"].count(":") == 1 for match in dated):
        notes.append(Note("time stamps to the minute only: samples of a minute have one time", line=2, column=1))
    if settled != "mdy":
        notes.append(Note(f"dates read as {settled} (d day, m month, y year)", line=2, column=1))
    return found, notes


def _without_dates(texts: Sequence[str], day: date | None) -> tuple[list[str], list[Note]]:
    """Times of day as time stamps from that day on; past midnight the next day begins."""
    clocks = [clock_only.seconds(text) for text in texts]
    first = next((text for text, clock in zip(texts, clocks, strict=True) if clock is not None), None)
    if first is None:
        return list(texts), []
    if day is None:
        msg = (
            f"time stamps such as {first!r} hold no date: say the day of the first with date= (2026-03-11), "
            "on the command line --date"
        )
        raise EsxparseError(msg)
    days = clock_only.days_after(clocks)
    try:
        dated = [
            text if clock is None else f"{day + timedelta(days=after):%Y-%m-%d} {text.strip()}"
            for text, clock, after in zip(texts, clocks, days, strict=True)
        ]
    except OverflowError:
        msg = f"date {day} is too late for a capture of {max(days)} days more: say the day of the first sample"
        raise EsxparseError(msg) from None
    found, notes = _stamps(dated, "ymd")
    past = f", and {max(days)} midnight{'s' if max(days) > 1 else ''} passed" if max(days) else ""
    # How the date was written is ours, and no news.
    notes = [note for note in notes if not note.message.startswith("dates read as")]
    return found, [Note(f"time stamps hold no date: {day:%Y-%m-%d} as told{past}", line=2, column=1), *notes]


_CLOSED = ("\n", "\r", '"', "\0")


def canonical(content: bytes, dates: Dates = AS_WRITTEN) -> Canonical:
    """The capture as esxtop would have written it.

    Args:
        content: The file.
        dates: What is known of its dates.

    Raises:
        EsxparseError: A date cannot be read without guessing.
        DamagedError: The lines are no separated values.
    """
    text, notes = _decoded(content)
    before, mark, rest = text.partition("(PDH-CSV")
    quoted = before.endswith('"')
    body = ('"' if quoted else "") + mark + rest
    # Old Macs ended lines with what is a part of a line end elsewhere.
    body = body if "\n" in body else body.replace("\r", "\n")
    dated = not _LINE_CLOCK.search(body)
    separator = _SEPARATOR.match(body, 1 if quoted else 0)
    between = separator["separator"] if separator else ","
    written = dated and all(_WRITTEN_STAMP.fullmatch(stamp[0]) for stamp in _LINE_STAMP.finditer(body))
    if quoted and between == "," and written:
        # Names are not escaped: nothing but the reader of captures tells where they end.
        return _with_dates(before.removesuffix('"'), body, dates, notes)
    junk = before.removesuffix('"') if quoted else before
    lines_before = junk.count("\n")
    if junk.strip():
        notes.append(Note(f"text before the header: passed over ({' '.join(junk.split())[:80]!r})", line=1, column=1))
    captures = _captures(_rows(body, between))
    if any(capture[0][-1] == "" for capture in captures):
        notes.append(Note("trailing separator: the empty last column is left out", line=lines_before + 1))
        captures = [_without_last(capture) for capture in captures]
    if between != ",":
        notes.append(Note(_SEPARATED[between], line=lines_before + 1))
        captures = [_with_points(capture) for capture in captures]
    elif not quoted:
        message = "the header has no quotes around its cells: another program saved this file"
        notes.append(Note(message, line=lines_before + 1))
    rows = [row for _, *rows in captures for row in rows]
    order = dates.order
    if quoted and order is None and _as_esxtop_writes(body):
        # Dates in quotes are texts to the program that saved them: they are as they were.
        order = "mdy"
    found, stamp_notes = _stamps([row[0] if row else "" for row in rows], order, dates.day)
    stamps = iter(found)
    out = io.StringIO()
    # Lines keep their numbers, so that notes tell those of the file.
    out.write("\n" * lines_before)
    for header, *rows in captures:
        out.write(_line(header))
        for row in rows:
            stamp = next(stamps)
            out.write(_line([cell.strip() for cell in [stamp, *row[1:]]]) if row else "\n")
    lines = out.getvalue()
    if captures[-1][1:] and not body.endswith(_CLOSED):
        # A last line without an end may be cut within its last cell, which is then told as esxtop's own cut cells are.
        lines = lines.removesuffix('"\n')
    return Canonical(lines.encode(), (*notes, *stamp_notes))


def _with_dates(before: str, body: str, dates: Dates, notes: list[Note]) -> Canonical:
    """A capture that esxtop might have written but for the order in its dates."""
    if dates.order in {None, "mdy"}:
        unused = () if dates.day is None else (stamp_order.day_unused(dates.day),)
        return Canonical((before + body).encode(), (*notes, *unused))
    found, said = _stamps([stamp[0].strip('"') for stamp in _LINE_STAMP.finditer(body)], dates.order, dates.day)
    stamps = iter(found)
    dated = _LINE_STAMP.sub(lambda stamp: stamp[0].replace(stamp[0].strip('"'), next(stamps)), body)
    return Canonical((before + dated).encode(), (*notes, *said))


def _as_esxtop_writes(body: str) -> bool:
    """Whether all time stamps are in quotes and as esxtop writes them, none with a day in the month's place."""
    stamps = [stamp[0] for stamp in _LINE_STAMP.finditer(body)]
    return all(_WRITTEN_STAMP.fullmatch(stamp) and int(stamp.strip('"')[:2]) <= _MONTHS for stamp in stamps)


def _rows(body: str, separator: str) -> list[list[str]]:
    """The cells of each line. No cell goes over a line end: a quote that is not closed spoils its own line alone."""
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
    lines = _LINE_END.split(body)
    if not lines[-1]:
        del lines[-1]
    try:
        return [next(csv.reader([line], delimiter=separator, quotechar='"'), []) for line in lines]
    except (csv.Error, ValueError) as error:
        msg = f"its lines are no separated values ({error})"
        raise DamagedError(msg) from None


def _captures(rows: list[list[str]]) -> list[list[list[str]]]:
    """The rows from each header to the next: captures that were glued together, or of an esxtop started again."""
    starts = [place for place, row in enumerate(rows) if row and row[0].startswith("(PDH-CSV")]
    return [rows[start:stop] for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True)]


def _without_last(capture: list[list[str]]) -> list[list[str]]:
    """The rows without the empty cell after a trailing separator, where the header has one.

    One empty cell goes from every line: a row that has none to give lost another, and is too short then.
    """
    if capture[0][-1] != "":
        return capture
    return [row[:-1] if row and row[-1] == "" else row for row in capture]


def _with_points(capture: list[list[str]]) -> list[list[str]]:
    """The rows with points in decimals: a comma inside a cell is nothing else, but in lists."""
    header, *rows = capture
    lists = {place for place, name in enumerate(header) if name.endswith(_LIST_COUNTERS)}
    return [header, *([c if place in lists else _with_point(c) for place, c in enumerate(row)] for row in rows)]


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell.strip()) else cell


def _line(cells: Sequence[str]) -> str:
    return ",".join(f'"{cell}"' for cell in cells) + "\n"
