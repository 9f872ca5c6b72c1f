"""The objects of a document of sysstat, JSON or XML: hosts, reports, and the measurements in a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from esxparse.errors import EsxparseError
from esxparse.formats.kit import stamps
from esxparse.formats.kit.notes import Counted, Notes
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.objects import listed, mapping, mappings
from esxparse.formats.kit.orders import order_of_locale, swap_notes
from esxparse.formats.kit.tables import Row
from esxparse.formats.opening import DateOrder
from esxparse.formats.sysstat.tables import INSTANCE, Sheets, add, column_of, of_json, of_process, value

_ON_CLOCK = ("0", "false", "False")
"""Values of `utc` that mark a time of the machine's own clock."""
_NOTE_LENGTH = 120
_NO_VALUE = frozenset({"", "-", "N/A"})
_EVENTS = (("restarts", "boot", "cpu_count"), ("comments", "comment", "com"))


class Document:
    """A collector of hosts and their reports, which become tables."""

    def __init__(self, tool: str, order: DateOrder | None, day: date | None, zone: str | None, notes: Notes) -> None:
        self.tool, self.requested_order, self.day, self.zone, self.notes = tool, order, day, zone, notes
        self.order: DateOrder = order or "ymd"
        self.sheets: Sheets = {}
        self.meta: dict[str, Any] = {}
        self.facts: Mapping[str, str] = {}
        self.report = 0
        self.last: datetime | None = None
        self.local = False
        self.times: list[datetime | None] = []
        self.odd = Counted()

    def find_order(self, texts: Sequence[str]) -> None:
        """Derive the order of day, month and year from all times of the document: a single time may be ambiguous."""
        self.order, sure = order_of_locale(texts, self.requested_order, in_halves=any(map(stamps.in_halves, texts)))
        if not sure:
            self.notes.warn(stamps.of_order(next(filter(stamps.has_date, texts)), self.order))
        if self.day and any(map(stamps.has_date, texts)):
            self.notes.warn(f"date {self.day} is not used: the file has dates")

    def begin_host(self, facts: Mapping[str, str]) -> None:
        """Take the facts of a host before its reports."""
        self.facts, self.report, self.last = facts, 0, None
        self.meta = self.meta or {
            "host": facts.get("nodename"),
            "kernel": facts.get("release"),
            "cpus": whole(facts.get("number-of-cpus")),
        }

    def add_report(self, one: Mapping[str, Any], line: int) -> None:
        """Add a report: its time and its measurements."""
        for name, key, event_key in _EVENTS:
            if event := mapping(one.get(key)):
                column = "cpus" if name == "restarts" else "comment"
                sample: Row = {"host": self.facts.get("nodename"), "time": self._moment(event)[0]}
                add(self.sheets, name, sample, {column: value(column, event.get(event_key))})
                return
        moment, step = self._moment(one.get("timestamp"))
        self.times.append(moment)
        if moment is None and "timestamp" in one:
            self.notes.warn(f"a report without a readable time, left out: {one['timestamp']!r}"[:_NOTE_LENGTH], line)
            return
        sample = {"host": self.facts.get("nodename"), "time": moment, "interval_s": step}
        self.report += 1
        if self.tool == "iostat":
            sample |= {"report": self.report, "since_boot": self.report == 1}
        for name, content in _objects(one):
            for keys in listed(content) if isinstance(content, list) else [content]:
                found = mapping(keys)
                scalars = [one for one in found.values() if not isinstance(one, (dict, list))]
                blank = sum(one is None or one in _NO_VALUE for one in scalars)
                for table, row in _rows(name, found):
                    add(self.sheets, table, sample, row)
                    empty = [column for column, one in row.items() if one is None]
                    if len(empty) > blank:
                        self.odd.say(f"no number in column {empty[0]}, left empty", line)

    def end(self) -> None:
        """Add the notes on all reports."""
        if self.local:
            self.notes.say(stamps.of_zone(self.zone))
        self.notes += self.odd.notes("warning")
        self.notes += swap_notes(self.times) if self.requested_order is None else []
        if self.tool == "iostat" and self.sheets:
            self.notes.say(
                "the first report of each run is the mean since the machine was started (since_boot), unless iostat "
                "ran with -y"
            )

    def _moment(self, stamp: Any) -> tuple[datetime | None, float | None]:
        """Return time and interval of a report."""
        if isinstance(stamp, dict):
            # Before sysstat 10 a document had no `utc`; its times were in UTC.
            own = str(stamp.get("utc")) in _ON_CLOCK
            self.local |= own
            text, step = f"{stamp.get('date')} {stamp.get('time')}", number(stamp.get("interval"))
            return stamps.moment(text, "ymd", self.zone if own else None), step
        text = str(stamp).strip() if isinstance(stamp, (str, int)) and not isinstance(stamp, bool) else ""
        moment = self._of_text(text)
        while moment and self.last and not stamps.has_date(text) and moment < self.last - timedelta(hours=1):
            # The document has the day only once.
            moment += timedelta(days=1)
        step = (moment - self.last).total_seconds() if moment and self.last else None
        self.last = moment or self.last
        return moment, step

    def _of_text(self, text: str) -> datetime | None:
        """Return the time in a text; if the text has no date, the host's own date applies."""
        self.local |= not stamps.with_zone(text)
        if not stamps.is_clock(text):
            return stamps.moment(text, self.order, self.zone)
        date = self.facts.get("date", "")
        if stamps.has_date(date):
            return stamps.moment(f"{date} {text}", self.order, self.zone)
        if self.day is None:
            found = f" ({date!r} cannot be read)" if date else ""
            raise EsxparseError(
                f"times have no date{found}: give the day of the first with date= (2026-03-11), on the command line "
                "--date"
            )
        return stamps.moment(f"{self.day} {text}", "ymd", self.zone)


def _objects(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and contents of measurements; objects that only group others are opened."""
    for name, content in one.items():
        inner = list(mapping(content).values())
        if name == "timestamp" or not isinstance(content, (dict, list)):
            continue
        if name == "io" and isinstance(content, dict):
            # All disks: reads, writes and discards have objects of their own.
            yield name, {key: number for part in (content, *mappings(inner)) for key, number in part.items()}
        elif any(isinstance(part, (dict, list)) for part in inner):
            yield from _objects(mapping(content))
        else:
            yield name, content


def _rows(name: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """Yield the rows in an object, with their tables."""
    if name in {"interrupts", "sum-interrupts", "individual-interrupts", "soft-interrupts"}:
        table = "soft_interrupts" if name.startswith("soft") else "interrupts"
        for row in _interrupts(keys):
            yield table, row
        return
    if (process := of_process(keys)) is not None:
        for table_name, columns in process.items():
            yield table_name, {column.name: value(column.name, keys[key]) for key, column in columns.items()}
        return
    found = of_json(name, list(keys))
    rows: dict[str, Row] = {}
    for key, content in keys.items():
        of = next((one for one in found if key in one.keys), found[0])
        column = of.keys.get(key) or (INSTANCE if isinstance(content, str) and not of.keys else column_of(key))
        # Sizes are in KiB and repeated in sectors, also rounded.
        again = column.factor != 1 and column.name in rows.get(of.name, {})
        if not isinstance(content, (dict, list)) and not again:
            rows.setdefault(of.name, {})[column.name] = value(column.name, content, column.factor)
    if name == "avg-cpu" and "cpu" in rows:
        rows["cpu"]["cpu"] = "all"
    yield from rows.items()


def _interrupts(keys: Mapping[str, Any]) -> Iterator[Row]:
    """Yield interrupts by processor: an object for each interrupt (sadf -j), processor (mpstat) or number (sadf -x)."""
    found = keys.get("intr")
    if isinstance(found, list):
        for one in mappings(found):
            yield _interrupt(keys.get("cpu"), one.get("name"), one.get("value"))
    elif {"cpu", "value"} <= keys.keys():
        yield _interrupt(keys["cpu"], found, keys["value"])
    elif "cpu" in keys:
        yield _interrupt(keys["cpu"], "sum", found)
    else:
        for name, content in keys.items():
            if name != "intr":
                yield _interrupt("all" if name in {"all", "value"} else name.removeprefix("CPU"), found, content)


def _interrupt(cpu: Any, interrupt: Any, rate: Any) -> Row:
    return {"cpu": value("cpu", cpu), "interrupt": str(interrupt), "interrupts_per_s": value("interrupts_per_s", rate)}
