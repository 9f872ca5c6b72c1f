"""JSON of sysstat: `sadf -j`, `iostat -o JSON`, `mpstat -o JSON`.

    {"sysstat": {"hosts": [{"nodename": "web-01", ..., "statistics": [{"timestamp": ..., "cpu-load": [...]}, ...],
      "restarts": [{"boot": {"date": ..., "time": ...}}]}]}}

Statistics are decoded one by one, so that of a file that is cut what is whole is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from esxparse.formats.kit import stamps
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.objects import GIVEN_UP, NOT_A_NUMBER, Effort, Places, listed, mapping, mappings
from esxparse.formats.kit.tables import Row
from esxparse.formats.kit.text import Text
from esxparse.formats.opening import DateOrder
from esxparse.formats.sysstat.tables import INSTANCE, Sheets, add, column_of, of_json, value

_BEGIN = re.compile(r'\s*\{\s*"sysstat"\s*:')
_STATISTICS = re.compile(r'"(?:statistics|restarts|comments)"\s*:\s*\[')
_FACT = re.compile(r'"(nodename|release|number-of-cpus|file-date|date|timezone)"\s*:\s*(?:"([^"]*)"|(\d+))')
_NEXT = re.compile(r"[\s,]*")
_SAR = '"file-date"'
_IOSTAT = re.compile(r'"(?:avg-cpu|disk_device)"')


def begins(head: Head) -> bool:
    """Whether a file begins as JSON of sysstat."""
    return _BEGIN.match(head.text[:200]) is not None


def tool_of(text: str) -> str:
    """Which tool wrote it."""
    if _SAR in text[:2000]:
        return "sar"
    return "iostat" if _IOSTAT.search(text) else "mpstat"


def read(
    text: Text, tool: str, order: DateOrder | None, zone: str | None, notes: Notes
) -> tuple[Sheets, dict[str, Any]]:
    """Tables, and what the document says of the host."""
    reader = _Reader(NOT_A_NUMBER.sub("null", text.text), tool, order, zone, notes)
    reader.read()
    return reader.sheets, reader.meta


class _Reader:
    """Goes through the hosts of a document."""

    def __init__(self, text: str, tool: str, order: DateOrder | None, zone: str | None, notes: Notes) -> None:
        self.zone = zone
        self.text, self.tool, self.order, self.notes = text, tool, order, notes
        self.effort, self.places = Effort(text), Places(text)
        self.sheets: Sheets = {}
        self.meta: dict[str, Any] = {}
        self.facts: dict[str, str] = {}
        self.report = 0
        self.last: datetime | None = None
        self.local = False

    def read(self) -> None:
        """Reads all hosts."""
        at = 0
        while (found := _STATISTICS.search(self.text, at)) is not None:
            # Each host says who it is before its statistics.
            facts = {one[1]: one[2] or one[3] for one in _FACT.finditer(self.text, at, found.start())}
            if "nodename" in facts:
                self.facts, self.report, self.last = facts, 0, None
            self.meta = self.meta or {
                "host": facts.get("nodename"),
                "kernel": facts.get("release"),
                "cpus": whole(facts.get("number-of-cpus")),
            }
            at = self._list(found.end())
        if self.text.count("{") > self.text.count("}"):
            self.notes.warn("the document is not whole: what is there is read", self.places.last)
        if self.local:
            self.notes.say(stamps.of_zone(self.zone))
        if self.tool == "iostat" and self.sheets:
            self.notes.say(
                "the first report of each run is the mean since the machine was started (since_boot), unless iostat "
                "ran with -y"
            )

    def _list(self, at: int) -> int:
        """Reads the members of a list; gives where it ends."""
        while True:
            found = _NEXT.match(self.text, at)
            begin = found.end() if found else at
            if self.text[begin : begin + 1] != "{":
                return begin
            try:
                one, at = self.effort.decode(begin)
            except (ValueError, RecursionError) as error:
                why = GIVEN_UP if self.effort.spent else "a report is damaged or cut: left out"
                self.notes.warn(why, *self.places.of(getattr(error, "pos", begin)))
                return len(self.text)
            self._sample(mapping(one), self.places.line(begin))

    def _sample(self, one: Mapping[str, Any], line: int) -> None:
        for name, key, said in (("restarts", "boot", "cpu_count"), ("comments", "comment", "com")):
            if event := mapping(one.get(key)):
                column = "cpus" if name == "restarts" else "comment"
                told: Row = {"host": self.facts.get("nodename"), "time": self._moment(event)[0]}
                add(self.sheets, name, told, {column: value(column, event.get(said))})
                return
        moment, step = self._moment(one.get("timestamp"))
        if moment is None and "timestamp" in one:
            self.notes.warn("a report without a readable time: left out", line)
            return
        told = {"host": self.facts.get("nodename"), "time": moment, "interval_s": step}
        self.report += 1
        if self.tool == "iostat":
            told |= {"report": self.report, "since_boot": self.report == 1}
        for name, content in _objects(one):
            for keys in listed(content) if isinstance(content, list) else [content]:
                for table, row in _rows(name, mapping(keys)):
                    add(self.sheets, table, told, row)

    def _moment(self, said: Any) -> tuple[datetime | None, float | None]:
        """Time and interval of a report."""
        if isinstance(said, dict):
            # Before sysstat 10 nothing said that it is UTC; what it was then is.
            self.local |= said.get("utc") == 0
            text, step = f"{said.get('date')} {said.get('time')}", number(said.get("interval"))
            return stamps.moment(text, "ymd", self.zone if said.get("utc") == 0 else None), step
        if not isinstance(said, str):
            return None, None
        self.local |= not stamps.with_zone(said)
        day = self.facts.get("date", "")
        order, _ = stamps.order_of([said if stamps.has_date(said) else day], self.order, halves=stamps.in_halves(said))
        moment = stamps.moment(said if stamps.has_date(said) else f"{day} {said}", order, self.zone)
        while moment is not None and self.last is not None and moment < self.last - timedelta(hours=1):
            # The day stands in the document once.
            moment += timedelta(days=1)
        step = (moment - self.last).total_seconds() if moment and self.last else None
        self.last = moment or self.last
        return moment, step


def _objects(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and contents of what was measured; what only groups others is opened."""
    for name, content in one.items():
        inner = list(mapping(content).values())
        if name == "timestamp" or not isinstance(content, (dict, list)):
            continue
        if name == "io":
            # All disks: reads, writes and discards stand in objects of their own.
            yield name, {key: number for part in (mapping(content), *mappings(inner)) for key, number in part.items()}
        elif any(isinstance(part, (dict, list)) for part in inner):
            yield from _objects(mapping(content))
        else:
            yield name, content


def _rows(name: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """The rows that an object is, with their tables."""
    if name in {"interrupts", "sum-interrupts", "individual-interrupts", "soft-interrupts"}:
        table = "soft_interrupts" if name.startswith("soft") else "interrupts"
        for row in _interrupts(keys):
            yield table, row
        return
    found = of_json(name, list(keys))
    rows: dict[str, Row] = {}
    for key, content in keys.items():
        of = next((one for one in found if key in one.keys), found[0])
        column = of.keys.get(key) or (INSTANCE if isinstance(content, str) and not of.keys else column_of(key))
        # Sizes stand there in KiB and, rounded too, in sectors.
        again = column.factor != 1 and column.name in rows.get(of.name, {})
        if not isinstance(content, (dict, list)) and not again:
            rows.setdefault(of.name, {})[column.name] = value(column.name, content, column.factor)
    if name == "avg-cpu" and "cpu" in rows:
        rows["cpu"]["cpu"] = "all"
    yield from rows.items()


def _interrupts(keys: Mapping[str, Any]) -> Iterator[Row]:
    """Interrupts by processor: sadf has an object for each interrupt, mpstat for each processor."""
    said = keys.get("intr")
    if isinstance(said, list):
        for one in mappings(said):
            yield {
                "cpu": str(keys.get("cpu")),
                "interrupt": str(one.get("name")),
                "interrupts_per_s": number(one.get("value")),
            }
    elif "cpu" in keys:
        yield {"cpu": str(keys["cpu"]), "interrupt": "sum", "interrupts_per_s": number(said)}
    else:
        for name, content in keys.items():
            if name != "intr":
                cpu = "all" if name in {"all", "value"} else name.removeprefix("CPU")
                yield {"cpu": cpu, "interrupt": str(said), "interrupts_per_s": number(content)}
