"""`sadf -d`: one line for each row, between semicolons, below a line of titles for each activity; `-p` is not read.

# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
web-01;600;2026-11-22 20:50:01 UTC;-1;0.12;0.00;0.05;0.00;0.00;99.83
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from esxparse.errors import EsxparseError
from esxparse.formats.kit import stamps
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Counted, Notes, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.tables import Row
from esxparse.formats.sysstat.tables import Layout, Sheets, add, layouts, value

_TITLES = re.compile(r"# ?hostname;interval;timestamp(?:;(.*))?")
_BEGIN = re.compile(r"(?m)\A\s*# ?hostname;interval;timestamp(?:;|$)|\A[^;\n]{1,255};-1;[^;\n]+;LINUX-RESTART")
_RESTART = re.compile(r"LINUX-RESTART(?:\s+\((\d+) CPU\))?")
_FIRST = 3
_ALL = "-1"


def begins(head: Head) -> bool:
    """Whether a file begins as `sadf -d` does."""
    return _BEGIN.search(head.text[:2000]) is not None


def _moment(text: str, zone: str | None) -> datetime | None:
    if text.isdecimal() and len(text) == len("1795380141"):
        return datetime.fromtimestamp(int(text), UTC)
    return stamps.moment(text, "ymd", None if text.endswith("UTC") else zone)


def _titles(said: str) -> tuple[str, ...]:
    if "[...]" in said:
        msg = "written by sadf -h, where rows have all activities side by side: export it with sadf -d alone"
        raise EsxparseError(msg)
    return tuple(said.split(";"))


class _Reader:
    """Goes through the lines; the titles above a row say what it is."""

    def __init__(self, zone: str | None) -> None:
        self.zone = zone
        self.sheets: Sheets = {}
        self.odd, self.local = Counted(), False
        self.left: list[tuple[int, str]] = []
        self.titles: tuple[str, ...] = ()
        self.layouts: tuple[Layout, ...] = ()

    def line(self, at: int, line: str) -> None:
        """Takes in a line."""
        if (said := _TITLES.fullmatch(line)) is not None:
            self.titles = _titles(said[1] or "")
            self.layouts = layouts(self.titles)
            return
        cells = line.split(";")
        moment = _moment(cells[2], self.zone) if len(cells) > _FIRST else None
        if moment is None:
            self.left.append((at, line))
            return
        # A number of seconds is UTC too.
        self.local |= not cells[2].endswith("UTC") and not cells[2].isdecimal()
        told: Row = {"host": cells[0], "time": moment, "interval_s": number(cells[1])}
        if restart := _RESTART.match(cells[_FIRST]):
            add(self.sheets, "restarts", told, {"cpus": whole(restart[1])})
        elif cells[_FIRST].startswith("COM "):
            add(self.sheets, "comments", told, {"comment": cells[_FIRST][4:]})
        else:
            self._cells(at, told, cells[_FIRST:])

    def _cells(self, at: int, told: Row, cells: Sequence[str]) -> None:
        wide = _wide(self.titles, self.layouts, len(cells))
        if not wide:
            self.odd.say(f"not as many cells as the titles above ({';'.join(self.titles)[:40]}), left out", at)
        for layout in wide:
            for row in layout.rows(cells):
                values = {name: _value(name, text, factor) for name, (_, text, factor) in row.items()}
                add(self.sheets, layout.table.name, told, values)
                for name, one in values.items():
                    if one is None and row[name][1]:
                        self.odd.say(f"no number in column {name}: {row[name][1][:20]!r}, left empty", at)


def read(lines: Sequence[str], zone: str | None, notes: Notes) -> tuple[Sheets, dict[str, Any]]:
    """Tables, and facts.

    Raises:
        EsxparseError: It was written with `-h`.
    """
    reader = _Reader(zone)
    for at, line in enumerate(lines, 1):
        if line.strip():
            reader.line(at, line.strip())
    if reader.local:
        notes.say(stamps.of_zone(zone))
    notes += [*reader.odd.notes("warning"), *left_out(reader.left)]
    return reader.sheets, {
        "host": next((one["host"] for sheet in reader.sheets.values() for one in sheet.samples), None)
    }


def _wide(titles: tuple[str, ...], found: tuple[Layout, ...], count: int) -> tuple[Layout, ...]:
    """The tables of a row of so many cells; none where the titles are others."""
    if titles[-1:] == ("CPU*",):
        # All processors, and each.
        return layouts((*titles[:-1], "all", *(f"CPU{cpu}" for cpu in range(count - len(titles)))))
    return found if count == len(titles) else ()


def _value(name: str, text: str, factor: float) -> Any:
    return "all" if name in {"cpu", "node"} and text == _ALL else value(name, text, factor) if text else None
