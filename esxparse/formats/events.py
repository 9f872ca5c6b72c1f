"""Read events with times: tables of tasks or steps, tasks and events of vCenter, logs of ESXi, recognised by content.

A log line begins with an ISO 8601 timestamp in UTC. Sources: "ESXi log files" (vSphere 8.0, Installation and Setup: the
form of lines; vobd lines of 7.0 and 8.0 as in Broadcom KB 421608). hostd writes `Task Created : haTask-ID` and
`Task Completed : haTask-ID Status success`. vobd writes an event as `[vob.name]` or `[esx.name]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final

from esxparse import toml
from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats.kit.notes import Notes, excerpt, left_out
from esxparse.formats.kit.orders import order_of_locale
from esxparse.formats.kit.stamps import has_clock, in_utc, moment, of_order, of_zone, with_zone
from esxparse.formats.kit.text import cells_of
from esxparse.formats.opening import DateOrder
from esxparse.formats.source import resolve
from esxparse.formats.vcenter.history import history, history_files, is_history
from esxparse.recording import Note, counted

_TITLES: Final[Mapping[str, Sequence[str]]] = toml.beside(__file__)["columns"]
_LOG_LINE: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z):?\s+(.*)")
_TASK: Final = re.compile(r"Task (Created|Completed) : (haTask-(\S+?)-(vim\.[\w.]+)-\d+)(?: Status (\w+))?")
_VOB: Final = re.compile(r"\[((?:vob|esx)\.[\w.]+)\]\s*(.*)")
_DELIMITERS: Final = (",", ";", "\t")
MOST_MARKS: Final = 50
"""Most events that are drawn as marks."""
_ABOVE: Final = 20
"""Lines within which a table's titles, or a log's first line, must appear."""


@dataclass(frozen=True)
class Event:
    """A task, a step or a line of a log; `end` is None if only one time is known."""

    step: str
    start: datetime
    end: datetime | None = None
    target: str = ""
    status: str = ""
    run: str = ""
    source: str = ""

    @property
    def words(self) -> str:
        """The step, with its target if there is one."""
        return f"{self.step}: {self.target}" if self.target else self.step


@dataclass(frozen=True)
class Events:
    """The events of a file, in its order, and notes on lines that are left out."""

    source: str
    events: tuple[Event, ...]
    notes: tuple[Note, ...]


def read_events(
    path: str,
    *,
    match: re.Pattern[str] | None = None,
    zone: str | None = None,
    date_order: DateOrder | None = None,
    timeout: float | None = None,
) -> Events:
    """Read a table of tasks or steps, tasks or events of vCenter (govc), or a log of ESXi (hostd, vobd, vmkernel ...).

    A directory of `esxparse collect vcenter` has tasks and events. `match` chooses events by their step, target or
    message, and lines of logs by their text. Without it, a log gives only tasks of hostd and events of vobd.

    Raises EsxparseError: The file cannot be read, or has none of these forms.
    """
    if collected := history_files(Path(path)):
        parts = [read_events(str(file), match=match, zone=zone, timeout=timeout) for file in collected]
        return Events(
            path, tuple(one for part in parts for one in part.events), tuple(chain(*(part.notes for part in parts)))
        )
    source = resolve(path, timeout=timeout)
    text = source.text()
    lines = text.lines()
    if is_history(text.text, lines):
        found, notes = _of_history(text.text, lines, zone, match)
    elif any(_LOG_LINE.match(line) for line in islice(lines, _ABOVE)):
        found, notes = _of_log(lines, match)
    elif (table := _titles(lines)) is not None:
        found, notes = _of_table(lines, table, zone, date_order)
        found = [one for one in found if match is None or match.search(one.step) or match.search(one.target)]
    else:
        raise DamagedError(
            f"{source.name} is neither a log of ESXi nor a table with titles such as step, start, end, nor output of "
            f"govc: its first line is {excerpt(lines[0])!r}"
        )
    return Events(source.name, tuple(replace(one, source=source.name) for one in found), (*text.notes, *notes))


def _of_history(
    text: str, lines: Sequence[str], zone: str | None, match: re.Pattern[str] | None
) -> tuple[list[Event], list[Note]]:
    tasks, events, notes = history(text, lines, zone)
    found = [
        (Event(row["task"], row["time"], row["completed"], row["entity"] or "", row["state"] or ""), row["error"])
        for row in tasks
    ]
    for row in events:
        # Only a message says which object it is about, if no column does.
        step = row["event"] if row["event"] and row.get("entity") else row["message"] or row["event"] or "event"
        found.append((Event(excerpt(step), row["time"], target=row.get("entity") or ""), row["message"]))
    chosen = [
        one
        for one, message in found
        if match is None or any(match.search(part) for part in (one.step, one.target, message or ""))
    ]
    return sorted(chosen, key=lambda one: one.start), notes


def _of_log(lines: Sequence[str], match: re.Pattern[str] | None) -> tuple[list[Event], list[Note]]:
    found: list[Event] = []
    tasks: dict[str, int] = {}
    strange: list[tuple[int, str]] = []
    passed = 0
    for number, line in enumerate(lines, 1):
        stamped = _LOG_LINE.match(line)
        if stamped is None:
            if line.strip():
                strange.append((number, line))
            continue
        time, text = datetime.fromisoformat(stamped[1]).astimezone(UTC), stamped[2]
        task, vob = _TASK.search(text), _VOB.search(text)
        if match is not None and not match.search(text):
            passed += 1
        elif task and task[1] == "Created":
            tasks[task[2]] = len(found)
            found.append(Event(task[4], time, target=task[3]))
        elif task and task[2] in tasks:
            place = tasks.pop(task[2])
            found[place] = replace(found[place], end=time, status=task[5] or "")
        elif vob:
            found.append(Event(vob[1], time, target=excerpt(vob[2])))
        elif match is not None:
            found.append(Event(excerpt(text), time))
        else:
            passed += 1
    notes = Notes(left_out(strange))
    if passed:
        notes.say(f"{counted(passed, 'line')} of the log not chosen{'' if match else ': choose lines with match'}")
    return found, notes


def _titles(lines: Sequence[str]) -> tuple[int, str, dict[str, int]] | None:
    """Return the place of the titles, the delimiter, and the column of each field; None without such titles."""
    for place, line in enumerate(islice(lines, _ABOVE)):
        for delimiter in _DELIMITERS:
            cells = ["".join(re.findall(r"\w", cell.lower())).replace("_", "") for cell in cells_of(line, delimiter)]
            there = {
                field: cells.index(title)
                for field, titles in _TITLES.items()
                if (title := next((one for one in titles if one in cells), None)) is not None
            }
            if {"step", "start"} <= there.keys():
                return place, delimiter, there
    return None


def _of_table(
    lines: Sequence[str], table: tuple[int, str, dict[str, int]], zone: str | None, date_order: DateOrder | None
) -> tuple[list[Event], list[Note]]:
    place, delimiter, columns = table
    rows = [
        (number, cells)
        for number, line in enumerate(lines[place + 1 :], place + 2)
        if (cells := cells_of(line, delimiter))
    ]

    def cell(cells: Sequence[str], field: str) -> str:
        column = columns.get(field)
        return cells[column] if column is not None and column < len(cells) else ""

    stamps = [text for _, cells in rows for field in ("start", "end") if has_clock(text := cell(cells, field))]
    notes = Notes()
    local = [text for text in stamps if _iso(text) is None]
    order, is_sure = order_of_locale(local, date_order) if local else ("ymd", True)
    if not is_sure:
        notes.append(Note(of_order(local[0], order), severity="warning"))
    if any(not with_zone(text) and not _has_offset(text) for text in stamps):
        notes.say(of_zone(zone))

    def time(text: str) -> datetime | None:
        read = _iso(text)
        if read is None:
            return moment(text, order, zone)
        return in_utc(read, zone) if read.tzinfo is None else read.astimezone(UTC)

    found: list[Event] = []
    strange: list[tuple[int, str]] = []
    for number, cells in rows:
        start, end = time(cell(cells, "start")), time(cell(cells, "end"))
        if start is None or (end is not None and end < start):
            strange.append((number, lines[number - 1]))
            continue
        texts = {field: cell(cells, field) for field in ("step", "target", "status", "run")}
        found.append(Event(start=start, end=end, **texts))
    return found, [*notes, *left_out(strange, "warning")]


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _has_offset(text: str) -> bool:
    read = _iso(text)
    return read is not None and read.tzinfo is not None


def in_order(files: Sequence[Events]) -> Iterator[Event]:
    """Return the events of all files by time.

    Raises EsxparseError: No event was found.
    """
    found = sorted((one for file in files for one in file.events), key=lambda one: one.start)
    if not found:
        names = ", ".join(file.source for file in files)
        raise EsxparseError(f"{names}: no event found; choose lines of a log by their text with --match")
    return iter(found)


def marks_of(paths: Sequence[str], start: datetime, end: datetime) -> tuple[list[Event], tuple[tuple[str, Note], ...]]:
    """Return events of tables and logs to be drawn as marks, and the readers' notes, each with its file.

    The events begin from `start` to `end`, in order of time.

    Raises EsxparseError: A file cannot be read, no event begins in that time, or more than a chart can show.
    """
    files = [read_events(path) for path in paths]
    found = list(in_order(files)) if files else []
    inside = [one for one in found if start <= one.start <= end]
    span = f"{start:%F %T} to {end:%F %T} UTC"
    if found and not inside:
        raise EsxparseError(
            f"no event begins from {span}; they begin from {found[0].start:%F %T} to {found[-1].start:%F %T} UTC: "
            "is a time zone missing in the table?"
        )
    if len(inside) > MOST_MARKS:
        raise EsxparseError(
            f"{len(inside):,} events begin from {span}, and charts show at most {MOST_MARKS}: choose some with "
            "`esxparse timeline FILE --match TEXT --format csv`, whose output is such a table"
        )
    return inside, tuple((one.source, note) for one in files for note in one.notes)
