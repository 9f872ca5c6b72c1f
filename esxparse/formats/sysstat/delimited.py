"""`sadf -d`: one line for each row, between semicolons, below a line of titles for each activity.

    # hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
    web-01;600;2026-11-22 20:50:01 UTC;-1;0.12;0.00;0.05;0.00;0.00;99.83

`sadf -p`: one line for each number, between tabs, with its title.

    web-01  600     2026-11-22 20:50:01 UTC all     %user   0.12
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from esxparse.errors import EsxparseError
from esxparse.formats.kit import stamps
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Counted, Notes, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.orders import FOREIGN_DATE, swap_notes
from esxparse.formats.kit.tables import Row
from esxparse.formats.sysstat.tables import Layout, Sheets, Table, add, column_of, layouts, of_sar, value

_TITLES = re.compile(r"# ?hostname;interval;timestamp(?:;(.*))?")
_BEGIN = re.compile(r"(?m)\A\s*# ?hostname;interval;timestamp(?:;|$)|\A[^;\n]{1,255};-1;[^;\n]+;LINUX-RESTART")
_PAIRS = re.compile(
    r"\A\s*[^\t\n]{1,255}\t-?\d+\t(?:\d{10}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: UTC)?)\t"
    r"(?:LINUX-RESTART|COM |[^\t\n]+\t[^\t\n]+\t)"
)
_RESTART = re.compile(r"LINUX-RESTART(?:\s+\((\d+) CPU\))?")
_HAS_YEAR = re.compile(r"\s*\d{4}")
_FIRST = 3
_NONE = "-"
_CPU = re.compile(r"all|cpu\d+")
_NUMBERED = re.compile(r"(?:cpu|ttyS|fan|temp|in|bus|i0{0,2})(?=\d+$)")
"""Prefixes that -p writes before numbers and -d does not."""
_NUMBERS = frozenset({"cpu", "tty", "fan", "bus", "interrupt"})


def begins(head: Head) -> bool:
    """Return whether a file begins like `sadf -d` or `sadf -p`."""
    begin = head.text[:2000]
    return _BEGIN.search(begin) is not None or _PAIRS.match(begin) is not None


def _read_titles(text: str) -> tuple[str, ...]:
    if "[...]" in text:
        msg = "written by sadf -h, where rows have all activities side by side: export it with sadf -d alone"
        raise EsxparseError(msg)
    return tuple(text.split(";"))


class _Reader:
    """A reader of lines; the titles above or beside a number show its meaning."""

    def __init__(self, separator: str, zone: str | None) -> None:
        self.separator, self.zone = separator, zone
        self.sheets: Sheets = {}
        self.odd, self.local = Counted(), False
        self.times: list[datetime | None] = []
        self.left: list[tuple[int, str]] = []
        self.titles: tuple[str, ...] = ()
        self.layouts: tuple[Layout, ...] = ()
        self.sample: Row = {}
        self.row: tuple[str, Table | None, int] = ("", None, 0)
        """For -p: object, table and place of the row with the last number."""
        self.filled: set[str] = set()
        """The columns of that row that have a value."""

    def line(self, at: int, line: str) -> None:
        """Process a line."""
        if (found := _TITLES.fullmatch(line)) is not None:
            self.titles = _read_titles(found[1] or "")
            self.layouts = layouts(self.titles)
            return
        cells = line.split(self.separator)
        # sadf prints four digits of the year in every locale.
        is_time = len(cells) > _FIRST and _HAS_YEAR.match(cells[2])
        moment = stamps.moment(cells[2], "ymd", self.zone) if is_time else None
        if moment is None and len(cells) > _FIRST and stamps.has_date(cells[2]):
            self.odd.say(FOREIGN_DATE, at)
            return
        if moment is None:
            self.left.append((at, line))
            return
        self.times.append(moment)
        self.local |= not stamps.with_zone(cells[2])
        sample: Row = {"host": cells[0], "time": moment, "interval_s": number(cells[1])}
        if restart := _RESTART.match(" ".join(cells[_FIRST:])):
            add(self.sheets, "restarts", sample, {"cpus": whole(restart[1])})
        elif cells[_FIRST].startswith("COM "):
            add(self.sheets, "comments", sample, {"comment": cells[_FIRST][4:]})
        elif self.separator == ";":
            self._cells(at, sample, cells[_FIRST:])
        else:
            self._pair(at, sample, cells[_FIRST:])

    def _cells(self, at: int, sample: Row, cells: Sequence[str]) -> None:
        wide = _wide(self.titles, self.layouts, len(cells))
        if not wide:
            self.odd.say(f"not as many cells as the titles above ({';'.join(self.titles)[:40]}), left out", at)
        for layout in wide:
            for row in layout.rows(cells):
                add(self.sheets, layout.table.name, sample, self._values(at, row))

    def _values(self, at: int, row: dict[str, tuple[int, str, float]]) -> Row:
        values = {name: value(name, text, factor) if text else None for name, (_, text, factor) in row.items()}
        for name, one in values.items():
            if one is None and row[name][1]:
                self.odd.say(f"no number in column {name}: {row[name][1][:20]!r}, left empty", at)
        return values

    def _pair(self, at: int, sample: Row, cells: Sequence[str]) -> None:
        """Add the title and the number of an object, to the row of the line above if it fits."""
        if len(cells) != _FIRST:
            self.odd.say("not an object, a title and a number, left out", at)
            return
        about, title, text = cells
        if sample != self.sample:
            self.sample, self.row = sample, ("", None, 0)
        if _CPU.fullmatch(title) or title == "intr/s":
            cpu, interrupt = (title, about) if title != "intr/s" else ("all", about)
            row = {"cpu": (0, _number(cpu), 1.0), "interrupt": (0, _number(interrupt), 1.0)}
            add(self.sheets, "interrupts", self.sample, self._values(at, row | {"interrupts_per_s": (0, text, 1.0)}))
            return
        last, current, place = self.row
        table = of_sar(title, current if last == about else None, self.filled, single=about == _NONE)
        column = table.titles.get(title) or column_of(title)
        found = self._values(at, {column.name: (0, text, column.factor)})
        if last == about and current is table and column.name not in self.filled:
            self.sheets[table.name].put(place, found)
            self.filled.add(column.name)
            return
        names = {} if about == _NONE else _names(table, about)
        self.row = (about, table, add(self.sheets, table.name, self.sample, names | found))
        self.filled = {column.name}


def _names(table: Table, text: str) -> Row:
    """Return the columns that identify a row, from the text in -d."""
    column = table.per[0] if table.per else "instance"
    if "mountpoint" in table.per and text.startswith("/") and not text.startswith("/dev/"):
        column = "mountpoint"
    return {column: value(column, _number(text) if column in _NUMBERS or "sensor" in table.per else text)}


def _number(text: str) -> str:
    return _NUMBERED.sub("", text, count=1)


def read(lines: Sequence[str], zone: str | None, notes: Notes) -> tuple[Sheets, dict[str, Any]]:
    """Return tables and facts.

    Raises:
        EsxparseError: It was written with `-h`.
    """
    first = next((line for line in lines if line.strip()), "")
    reader = _Reader("\t" if _PAIRS.match(first) else ";", zone)
    for at, line in enumerate(lines, 1):
        if line.strip():
            reader.line(at, line.strip())
    if reader.local:
        notes.say(stamps.of_zone(zone))
    notes += [*swap_notes(reader.times, has_option=False), *reader.odd.notes("warning"), *left_out(reader.left)]
    return reader.sheets, {
        "host": next((one["host"] for sheet in reader.sheets.values() for one in sheet.samples), None)
    }


def _wide(titles: tuple[str, ...], found: tuple[Layout, ...], count: int) -> tuple[Layout, ...]:
    """Return the tables of a row of `count` cells; empty if the titles do not match."""
    if titles[-1:] == ("CPU*",):
        # All processors, and each.
        return layouts((*titles[:-1], "all", *(f"CPU{cpu}" for cpu in range(count - len(titles)))))
    return found if count == len(titles) else ()
