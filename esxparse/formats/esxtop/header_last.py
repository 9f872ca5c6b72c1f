"""Captures whose lines another program sorted or reversed: the header comes after its rows.

`tac`, `sort -r` and spreadsheets that sort by time write such files. So does `sort` in locales that sort digits before
letters. Rows certainly belong to the header below them if no row of its own follows it and the cell counts match. Other
rows before a header may be of another capture and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from esxparse.errors import DamagedError
from esxparse.formats.esxtop import grammar, header
from esxparse.formats.esxtop.grammar import MARK, ROW
from esxparse.recording import Note, counted

_MARK = MARK.decode()
_HEADER = re.compile(r'"?\(PDH-CSV ')
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?(?:[.,]\d+)? ?([AaPp]?)")
_HALF_DAY = 12
_FEW = 0.1
"""Share of rows that may be damaged."""


def may_be(head: bytes) -> bool:
    """Return whether the head of a file has rows before a header that no row of its own follows."""
    mark = head.find(MARK)
    if mark < 0 or not ROW.match(head[: grammar.STAMP_BYTES].removeprefix(grammar.BOM).decode("latin-1")):
        return False
    end = head.find(b"\n", mark)
    following = head[end + 1 :].lstrip()[: grammar.STAMP_BYTES].decode("latin-1") if end >= 0 else ""
    if not following or _HEADER.match(following):
        return True
    # In a reversed file of a restarted esxtop, the next header's rows follow.
    before = head[:mark].decode("latin-1").split("\n")[:-1]
    after = [line for line in head[end + 1 :].decode("latin-1").split("\n")[:2] if line.strip()]
    return _descends(before) and _descends([before[-1], *after])


def _seconds(line: str) -> int | None:
    """Return the time of day, in seconds, in the time stamp at the beginning of a line."""
    found = _CLOCK.search(line[: grammar.STAMP_BYTES])
    if found is None:
        return None
    hour, minute, second = (int(found[part] or 0) for part in (1, 2, 3))
    if found[4]:
        hour = hour % _HALF_DAY + _HALF_DAY * (found[4] in "Pp")
    return 3600 * hour + 60 * minute + second


def _descends(rows: Sequence[str]) -> bool:
    """Return whether time goes back in most steps between rows; at midnight it jumps ahead."""
    times = [time for time in map(_seconds, rows) if time is not None]
    steps = [after - before for before, after in pairwise(times)]
    return sum(step < 0 for step in steps) > sum(step > 0 for step in steps)


def _fits(rows: Sequence[str], line: str) -> bool:
    """Return whether there are rows, and nearly all have as many cells as the header."""
    if len(separator := line[line.find(")(") :].lstrip(')(-"0123456789')[:1]) and separator in ";\t":
        whole = [row.count(separator) == line.count(separator) for row in rows]
    else:
        try:
            parsed = header.parse(line.encode(), 1)
        except DamagedError:
            return False
        cells = len(parsed.owners) + 1
        whole = [
            bool(grammar.is_whole(len(grammar.bounds(row)[0]), len(row) - len(row.rstrip(b",")), cells, parsed.commas))
            for row in (text.encode() for text in rows)
        ]
    return bool(rows) and sum(whole) >= (1 - _FEW) * len(rows)


def header_first(text: str) -> tuple[str, list[Note]]:
    """Return the text of a capture with each header above its rows, if the rows above it are certainly its own."""
    before = text.partition(_MARK)[0]
    if not ROW.match(before.lstrip()):
        return text, []
    lines = re.split(r"\r*\n|\r", text)
    headers = [place for place, line in enumerate(lines) if _HEADER.match(line)]
    filled = [place for place, line in enumerate(lines) if line.strip()]
    if not headers or not filled:
        return text, []
    if headers[-1] == filled[-1]:
        last = headers[-1]
    elif len(headers) > 1 and not any(headers[0] < place < headers[1] for place in filled):
        last = headers[0]
    else:
        return text, []
    mine = [place for place in headers if place <= last]
    blocks = [
        [line for line in lines[begin:end] if line.strip()]
        for begin, end in pairwise([0, *(place + 1 for place in mine)])
    ]
    rows = [row for *rows, _ in blocks for row in rows]
    if _descends(rows):
        if not all(_fits(rows, names) for *rows, names in blocks if rows):
            return text, []
        turned = lines[last::-1]
        how = f"rows before their header, in reverse order: {counted(last + 1, 'line')} read from the last to the first"
    else:
        names = lines[last]
        if any(lines[place] != names for place in mine) or not _fits(rows, names):
            return text, []
        turned = [names, *(line for place, line in enumerate(lines[:last]) if place not in mine)]
        how = "the header is below its rows, as after sorting: read before them"
    message = f"{how}; other notes count lines in that order"
    return "\n".join([*turned, *lines[last + 1 :]]), [Note(message, line=1, column=1)]
