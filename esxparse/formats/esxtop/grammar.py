"""The grammar of a capture, for the reader, the slicer, and re-saved files: its beginning, rows and cells.

Cells have no escapes: a quote closes a cell only before a comma or at the end of the line. Login text may precede the
header, and a line end may be lost.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np

from esxparse.counters.catalogue import lookup, objects
from esxparse.counters.naming import column_name, table_name
from esxparse.errors import DamagedError
from esxparse.formats import memory
from esxparse.formats.esxtop.notes import Met
from esxparse.formats.esxtop.scan import Integers
from esxparse.formats.esxtop.scan_twin import bare_cell, quoted_cell
from esxparse.formats.source import read_up_to
from esxparse.recording import Note, counted

Kind = Literal["cut", "torn", "text"]

BOM = b"\xef\xbb\xbf"
MARKS = (BOM, b"\xff\xfe", b"\xfe\xff")
"""Byte order marks. A line with only a mark is an empty file that was appended."""
MARK = b"(PDH-CSV"  # in the first cell of every capture
STAMP = r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?"  # a time stamp as esxtop writes it
STAMP_BYTES = 48  # bytes that hold a time stamp with its quotes, or a header's mark
JOINT = re.compile(rb'"(?=\(PDH-CSV |' + STAMP.encode() + rb'",)')
"""The beginning of a header or a row. Inside a line it shows a lost line end."""
PREFIX = re.compile(
    rb'(?!\xef\xbb\xbf|\xff\xfe|\xfe\xff)(?:[^",\0\n]{0,79}[^"\0\n]|"\d{0,9}",)(?="(?:\(PDH-CSV |'
    + STAMP.encode()
    + rb'",))'
)
"""A prefix from `grep -n`, a data frame or a mail before a row or header: `12:`, `cap.csv:`, `0,`, `> `."""
ROW = re.compile(r'"?(?:\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T])?\d{1,2}:\d\d[^",;\t\n]{0,20}"?[,;\t]')
"""The beginning of a row, whatever program saved it."""
CONTINUED = ", continued"
"""The end of the zone in a slice's header if disks were measured but idle: `(UTC, continued)(0)`."""
HEADER_WITHIN = 1 << 20  # bytes in which the header must begin

_FIRST_CELL = re.compile(r"\(PDH-CSV [^)]{1,8}\)(?: ?\((?P<zone>[^\n]{0,80}?)\)\(-?\d{1,9}\))?")
_FIRST_ROW = re.compile(rb'(?:\xef\xbb\xbf)?"' + STAMP.encode() + rb'","[^"\n]*","')
_PATH = re.compile(r"\\\\[^\\\n]{1,255}\\([^\\(\n]{1,120}?)(?:\([^\\\n]{0,255}\))?\\([^\\\n\"]{1,120})")
LOOKED_AT = 1 << 16
_MEMORY = "Memory"
_WINDOWS = frozenset(
    {"Processor", "Processor Information", "LogicalDisk", "PhysicalDisk", "Network Interface", "System", "Process"}
)
_PATH_CELL = re.compile(rb'(?:^|[,;\t])"?\\\\[^\\\n,"]{1,255}\\')
_REST_OF_CELL = re.compile(rb'(?!\d\d?[/.:-])[^",\n]{0,255}"[,\r]?$')
_LONGEST_HEAD = 64 << 20
_EXCERPT_LENGTH = 80
_QUOTE, _COMMA = b'",'
# Only characters of numbers. Lists of nodes such as `0,1` are texts.
_OF_NUMBERS = re.compile(r"[\d.,+\-eE\s]*\d[\d.,+\-eE\s]*")
_LIST = re.compile(r"\d{1,4}(?:[, ]+\d{1,4})+")


@dataclass(frozen=True)
class Beginning:
    """The beginning of a capture in the first bytes of a file."""

    header: bytes  # without its line end
    line: int
    rows: int  # byte at which the first row begins
    same_line: bool  # whether the first row is on the header's line
    notes: list[Note]


def has_zone(head: str) -> bool:
    """Return whether the header has a zone: esxtop and Perfmon write one, typeperf does not."""
    found = _FIRST_CELL.search(head)
    return bool(found and found["zone"])


def of_windows(head: str) -> bool:
    r"""Return whether a file with this head has Windows performance counters, which use the same form.

    esxtop has known objects, and its times are in UTC. Windows writes its own zone or none, and objects in any
    language.

    >>> of_windows('"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)","\\\\W\\Prozessor(_Total)\\Prozessorzeit (%)"')
    True
    >>> of_windows('"(PDH-CSV 4.0) (UTC)(0)","\\\\esx\\Physical Cpu(0)\\% Util Time"')
    False
    """
    found = _FIRST_CELL.search(head)
    if found is None:
        return False
    header = head[found.start() : found.start() + LOOKED_AT].partition("\n")[0]
    names, of_memory = set(), []
    for path in _PATH.finditer(header):
        name, counter = path.groups()
        names.add(name)
        if name == _MEMORY:
            of_memory.append(counter)
        elif name in objects():
            # One known object is usually enough.
            return False
    # Windows also has an object Memory, with other counters.
    if any(lookup(table_name(_MEMORY), column_name(counter)) for counter in of_memory):
        return False
    return bool(names) and (not (found["zone"] or "").startswith("UTC") or bool(names & _WINDOWS))


def read_head(stream: BinaryIO, memory_limit: int) -> bytes:
    """Return the first mebibyte of a stream; more, to the end of the header and two rows, if 64 MiB hold them.

    If a file begins with a row, the head extends to the header.

    Raises:
            TooLargeError: The header, or the text before it, exceeds the memory limit.
    """
    head = read_up_to(stream, HEADER_WITHIN)
    while begins_with_row(head) and MARK not in head:
        size = len(head)
        head = read_up_to(stream, 2 * size, head)
        if len(head) < 2 * size and MARK not in head:
            break
        if len(head) > memory_limit // memory.PER_BYTE:
            what = f"its header is not in its first {memory.size_text(len(head))}"
            raise memory.refusal(what, memory_limit)
    while (mark := head.find(MARK)) >= 0 and not _has_rows(head, mark):
        size, one_line = len(head), head.find(b"\n", mark) < 0
        # Old Macs ended lines with a carriage return.
        if (one_line and head.find(b"\r", mark, -1) >= 0) or (not one_line and size - mark >= _LONGEST_HEAD):
            break
        if one_line:
            refuse_long_line(size - mark, memory_limit)
            head = read_up_to(stream, min(2 * size, mark + memory_limit // memory.PER_BYTE + 1), head)
        else:
            head = read_up_to(stream, 2 * size, head)
        if len(head) == size:
            break
    return head


def _has_rows(head: bytes, mark: int) -> bool:
    """Return whether the header at `mark` and two rows end in the first bytes of a file."""
    at = mark
    # Counting all line ends would take ten times as long.
    for _ in range(3):
        at = head.find(b"\n", at) + 1
        if not at:
            return False
    return True


def with_quote(text: bytes | bytearray, mark: int) -> int:
    """Return the place where the header with a mark at `mark` begins."""
    return mark - (text[mark - 1 : mark] == b'"')


def begin(head: bytes, first_line: int = 1) -> Beginning | None:
    """Return the header in the first bytes of a file, which begin on `first_line`; None without a header."""
    mark = head.find(MARK)
    if mark < 0:
        return None
    first = with_quote(head, mark)
    start, without_rows = _above_rows(head, first)
    stop = head.find(b"\n", start)
    stop = len(head) if stop < 0 else stop
    line = head.count(b"\n", 0, start) + first_line
    before = head[:first].replace(BOM, b"").decode("utf-8", errors="replace")
    notes = [*text_before(before), *Met(len(without_rows), [at + first_line for at in without_rows]).without_rows()]
    header = head[start:stop].rstrip(b"\r")
    refuse_broken_header(header, head[stop + 1 : stop + 1 + LOOKED_AT].partition(b"\n")[0], line)
    glued = glued_row(header)
    if glued is None:
        return Beginning(header, line, stop + 1, False, notes)
    return Beginning(header[:glued], line, start + glued, True, [*notes, lost_line_end(line)])


def _above_rows(head: bytes, first: int) -> tuple[int, list[int]]:
    """Return the place of the first header with rows, and the lines (from 0) of earlier headers."""
    start, own, at, without_rows = first, b"", first, list[int]()
    while at < len(head):
        end = head.find(b"\n", at)
        end = len(head) if end < 0 else end
        text = head[at:end].rstrip(b"\r")
        if text.strip() and text not in MARKS:
            mark = text.find(MARK, 0, STAMP_BYTES + len(MARK))
            if mark < 0:
                return start, without_rows
            header = text[with_quote(text, mark) :]
            if own and header != own:
                without_rows.append(head.count(b"\n", 0, start))
                start = at + len(text) - len(header)
            own = header
            if glued_row(header) is not None:
                return start, without_rows
        at = end + 1
    # The file has no rows: use the first header.
    return first, []


def refuse_broken_header(header: bytes, following: bytes, line: int) -> None:
    """Refuse a header that continues on the next line: its names would belong to other columns.

    Raises:
        DamagedError: The header continues.
    """
    if MARK in following:
        return
    if _PATH_CELL.search(following) or (header.count(b'"') % 2 and _REST_OF_CELL.match(following)):
        raise DamagedError(
            f"line {line} is a header that goes on in the next line: put all of it on one line, as esxtop writes it"
        )


def refuse_long_line(length: int, memory_limit: int) -> None:
    """Refuse a line that is longer than the limit allows."""
    if length > memory_limit // memory.PER_BYTE:
        what = f"a line of it is longer than {memory.size_text(length)}"
        raise memory.refusal(what, memory_limit)


def lost_line_end(line: int) -> Note:
    """Return the note on a header with the first row on its line."""
    message = "the header lost its line end: the first row is read from the rest of its line"
    return Note(message, line=line, column=1, severity="warning")


def begins_with_row(head: bytes) -> bool:
    """Return whether a file begins with a row as esxtop writes it."""
    return _FIRST_ROW.match(head) is not None


def text_before(text: str) -> list[Note]:
    """Return the notes on text before the header, with rows counted apart: they may be of another capture."""
    rows, others = Met(), []
    for number, line in enumerate(text.split("\n"), 1):
        if ROW.match(line) or line.count('","') > 1:
            # A line without its line end has several rows.
            for _ in range(max(1, sum(1 for _ in JOINT.finditer(line.encode())))):
                rows.add(number)
        else:
            others.append(line)
    found = " ".join(" ".join(others).split())
    excerpt = found if len(found) <= _EXCERPT_LENGTH else found[: _EXCERPT_LENGTH - 3] + "..."
    notes = [Note(f"text before the header: ignored ({excerpt!r})", line=1, column=1)] if found else []
    message = (
        f"{counted(rows.count, 'row')} before the header, perhaps of a capture with other columns: left out ({rows}); "
        "to read them, save them below the header of their own capture"
    )
    return rows.note(message, left_out=True) + notes


def stands_in(line: bytes, cells: int) -> bool:
    """Return whether a line has a header: at its beginning, or anywhere if the line is long enough for a row."""
    return MARK in line[:STAMP_BYTES] or (MARK in line and len(line) >= cells)


def glued_row(line: bytes) -> int | None:
    """Return where the first row begins in a header line without its line end; None if it has its line end."""
    joint = JOINT.search(line, 1)
    return joint.start() if joint and b"\\" not in line[joint.start() :].partition(b"\n")[0] else None


def decoded(text: bytes) -> tuple[str, int | None]:
    """Return UTF-8 text and None, else Windows-1252 text and the place of the first byte that is not UTF-8."""
    try:
        return text.decode(), None
    except UnicodeDecodeError as error:
        return text.decode("cp1252", errors="replace"), error.start


def text_of(cell: bytes) -> str:
    """Return the text of a cell for people."""
    return cell.decode("utf-8", errors="replace").strip()


def is_whole(cells: Any, commas: Any, expected: int, trailing: int) -> Any:
    """Return whether rows with these numbers of cells and final commas are complete; for numbers and arrays.

    `trailing` is the number of commas at the end of the header. A row with a lost cell ends with them too.
    """
    beyond = cells - expected
    empty = (beyond == commas) | ((beyond <= commas) & (trailing <= 1) & (beyond == 1))
    exact = (beyond == 0) & ((commas == 0) | (trailing == 0))
    return exact | ((beyond > 0) & (beyond <= max(1, trailing)) & empty)


def kind_of(raw: bytes) -> Kind:
    """Return the kind of a cell that is neither a number nor a word for one.

    >>> [kind_of(cell) for cell in (b'"73', b"22.2.25", b'1.00"2', b"007", b"vmnic4", b"0,1", b"1e999")]
    ['cut', 'torn', 'torn', 'torn', 'text', 'text', 'torn']
    """
    text = text_of(raw)
    if text.startswith('"'):
        return "cut"
    if '"' in text or (_OF_NUMBERS.fullmatch(text) and not _LIST.fullmatch(text)):
        return "torn"
    return "text"


def bounds(line: bytes) -> tuple[Integers, Integers]:
    """Return starts and ends of the texts of all cells of a line, by the rules of the scanner.

    >>> starts, ends = bounds(b'"1.00",    73.1"8.93",')
    >>> list(zip(starts.tolist(), ends.tolist()))
    [(1, 5), (7, 15), (16, 20), (22, 22)]
    """
    data = np.frombuffer(line, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if not len(quotes):
        commas = np.flatnonzero(data == _COMMA)
        return np.concatenate([[0], commas + 1]), np.concatenate([commas, [len(line)]])
    # Places of `","`. From a cell's beginning, every second one is the end of a cell and the beginning of the next.
    joint = np.zeros(len(quotes), dtype=np.bool_)
    joint[:-1] = (np.diff(quotes) == 2) & (data[quotes[:-1] + 1] == _COMMA)  # noqa: PLR2004  a comma between
    breaks: dict[int, list[int]] = {}
    starts: list[Integers | list[int]] = []
    ends: list[Integers | list[int]] = []
    at, opening, last = 0, 0, False
    while not last:
        if line[at : at + 1] == b'"':
            if opening >= len(quotes) or quotes[opening] != at:
                opening = int(np.searchsorted(quotes, at))
            parity = (opening + 1) % 2
            if parity not in breaks:
                breaks[parity] = (np.flatnonzero(~joint[parity::2]) * 2 + parity).tolist()
            candidates = breaks[parity]
            place = bisect_left(candidates, opening + 1)
            stop = candidates[place] if place < len(candidates) else len(quotes)
            starts.append(quotes[opening : stop - 1 : 2] + 1)
            ends.append(quotes[opening + 1 : stop - 1 : 2])
            start, end, at, last = quoted_cell(line, int(quotes[stop - 1]))
            # The next cell is quoted, or a bare number is glued to a quoted cell.
            opening = stop + 1
        else:
            start, end, at, last = bare_cell(line, at)
        starts.append([start])
        ends.append([end])
    return np.concatenate(starts), np.concatenate(ends)
