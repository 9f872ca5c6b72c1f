"""Shared code of the readers of sysstat's tools: one Recording of tables, whatever the form of the file.

All tables have `host` (str), and if the file shows it `time` (UTC) and `interval_s` (f64, seconds that a row averages).
Tables of iostat, mpstat and pidstat have `since_boot` (bool): a first report that covers the time since the machine
was started instead of an interval; leave it out of means. Tables of iostat have `report` (i64, from 1 in each run).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from datetime import date as Day  # noqa: N812  the option has the name
from functools import lru_cache, partial
from typing import Any

import polars as pl

from esxparse.errors import DamagedError, EsxparseError, UnknownFormatError, UnreadableError
from esxparse.formats.kit import stamps
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.orders import order_of_locale, swap_notes
from esxparse.formats.kit.tables import Row, known
from esxparse.formats.kit.text import Text
from esxparse.formats.opening import DateOrder
from esxparse.formats.source import Source
from esxparse.formats.sysstat import delimited, documents, markup
from esxparse.formats.sysstat.objects import Document
from esxparse.formats.sysstat.recognition import tool_of
from esxparse.formats.sysstat.tables import ROWS, Sheets, add, tables
from esxparse.formats.sysstat.text import Parsed, Section, parse
from esxparse.recording import Note, Recording, counted
from esxparse.schema import schema

_RESTARTS = schema("host str, time time, cpus i64")
_COMMENTS = schema("host str, time time, comment str")
_OWN = re.compile(rb"\x96\xd5.\x21|\xd5\x96\x21", re.DOTALL)
"""The beginning of sadc's files, in either byte order: its mark, and the number of its form."""
_LOOKED_AT = 1 << 14
_DAY_S = 86400.0
_BOOT = {
    "iostat": "the first report of each run is the mean since the machine was started (since_boot), unless iostat ran "
    "with -y",
    "mpstat": "a report with the time of its titles is the mean since the machine was started (since_boot)",
}
_BOOT["pidstat"] = _BOOT["mpstat"]


@dataclass(frozen=True)
class Tool:
    """A tool of sysstat, with the interface of a format."""

    FORMAT: str

    def recognise(self, head: Head) -> bool:
        """Return whether a file with this head is of the tool; sar also takes, and refuses, unsupported tools."""
        if documents.begins(head):
            return _reader(documents.tool_of(head.text)) == self.FORMAT
        if self.FORMAT == "sar" and (delimited.begins(head) or markup.begins(head) or _OWN.match(head.content)):
            return True
        return _reader(_printed_by(head.text[:_LOOKED_AT])) == self.FORMAT

    def read(
        self, source: Source, date: Day | None = None, date_order: DateOrder | None = None, zone: str | None = None
    ) -> Recording:
        """Read the tool's output."""
        return _recording(self.FORMAT, source, date, date_order, zone)

    @property
    def COLUMNS(self) -> Mapping[str, tuple[str, ...]]:  # noqa: N802  as modules have it
        """The possible columns of each table."""
        return COLUMNS


_OTHERS = ("iostat", "mpstat", "pidstat")
TOOLS = {name: Tool(name) for name in (*_OTHERS, "sar")}


@lru_cache(maxsize=8)
def _printed_by(begin: str) -> str | None:
    """Return the tool that printed a text with this beginning, cached because each tool asks."""
    return tool_of(begin.split("\n"))


def _reader(tool: str | None) -> str | None:
    """Return the format of a tool's output."""
    return tool if tool in TOOLS or tool is None else "sar"


def _refuse_others(head: Head) -> None:
    """Refuse the output of unsupported tools of sysstat.

    Raises:
        UnreadableError: It is from an unsupported tool.
    """
    tool = documents.tool_of(head.text) if documents.begins(head) else _printed_by(head.text[:_LOOKED_AT])
    if tool is not None and tool not in TOOLS and (not documents.begins(head) or documents.has_report(head.text)):
        msg = f"output of {tool} (sysstat), which esxparse does not read: of sysstat it reads sar, {', '.join(_OTHERS)}"
        raise UnreadableError(msg)


def _recording(tool: str, source: Source, day: date | None, order: DateOrder | None, zone: str | None) -> Recording:
    """Return the recording of a file of the tool.

    Raises:
        DamagedError: The file has no row.
        EsxparseError: Its times have no date, and none is given.
    """
    if _OWN.match(source.head.content):
        msg = "a file of sar's own, whose form differs by release and machine: export it with sadf -j FILE -- -A"
        raise UnreadableError(msg)
    if tool == "sar":
        _refuse_others(source.head)
    text = source.text()
    notes = Notes(text.notes)
    if documents.begins(source.head) or markup.begins(source.head):
        document = Document(tool, order, day, zone, notes)
        (documents if documents.begins(source.head) else markup).read(text, document)
        made, meta = _frames([(document.sheets, None)]), document.meta
    elif tool == "sar" and delimited.begins(source.head):
        sheets, meta = delimited.read(_uncut(text, notes), zone, notes)
        made = _frames([(sheets, None)])
    else:
        made, meta = _printed(parse(_uncut(text, notes), tool), tool, day, order, zone, notes)
    if zone and stamps.of_zone(zone) not in {note.message for note in notes}:
        notes.warn(stamps.unused_zone(zone))
    numbers = {name: found for name, found in made.items() if name not in _EVENTS}
    if not numbers:
        why = next((f" ({note.message})" for note in notes if note.severity == "warning"), "")
        raise DamagedError(f"{tool} output without a row of numbers{why}: run it again, and let it finish")
    tables = {name: found.lazy() for name, found in (numbers | made).items()}
    return Recording(tool, source.name, tables, known({**meta, **_span(numbers.values())}), tuple(notes))


def _frames(every: Sequence[tuple[Sheets, Callable[[Sequence[Row]], list[Row]] | None]]) -> dict[str, pl.DataFrame]:
    """Return the tables of several parts of a file, with the identifying columns of their samples."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for sheets, tell in every:
        for name, sheet in sheets.items():
            samples = sheet.samples if tell is None else tell(sheet.samples)
            parts.setdefault(name, []).append(sheet.frame(name, samples))
    made = {
        name: found[0] if len(found) == 1 else pl.concat(found, how="diagonal", rechunk=True)
        for name, found in parts.items()
    }
    return {name: found.select(_ordered(name, found.columns)) for name, found in made.items()}


def _ordered(name: str, columns: Sequence[str]) -> list[str]:
    """Return the columns in order: a part of a file may have columns that earlier parts do not have."""
    order = COLUMNS.get(name, ())
    return sorted(columns, key=lambda one: order.index(one) if one in order else len(order))


COLUMNS = {
    **{
        name: (*ROWS, *dict.fromkeys((*one.per, *(of.name for of in one.titles.values()))))
        for name, one in tables().items()
    },
    "restarts": tuple(_RESTARTS),
    "comments": tuple(_COMMENTS),
}
"""The possible columns of each table."""

_EVENTS = {"restarts", "comments"}


def _span(frames: Any) -> dict[str, Any]:
    """Return begin, end, number of samples and their interval, of the table with the most samples."""
    times = [found["time"].drop_nulls().unique().sort() for found in frames if "time" in found.columns]
    times = [one for one in times if one.len()]
    if not times:
        reports = [found.select("host", "report").unique().height for found in frames if "report" in found.columns]
        return {"samples": max(reports, default=None)}
    most = max(times, key=len)
    step = most.diff().median()
    interval = step.total_seconds() if isinstance(step, timedelta) else None
    begin, end = min(one[0] for one in times), max(one[-1] for one in times)
    return {"start": begin, "end": end, "interval": interval, "samples": most.len()}


def _uncut(text: Text, notes: Notes) -> list[str]:
    """Return the lines, without a last line without an end: its number or name may be cut."""
    lines = text.lines()
    if text.unfinished is None:
        return lines
    notes.warn("the last line has no line end, so it may be cut: left out", text.unfinished)
    return lines[: text.unfinished - 1]


def _printed(
    parsed: Parsed, tool: str, day: date | None, date_order: DateOrder | None, zone: str | None, notes: Notes
) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Return the tables, and facts from the banners."""
    used = sum(len(sheet.of) for one in parsed.sections for sheet in one.sheets.values())
    if len(parsed.left) > used:
        msg = f"{len(parsed.left):,} lines are no {tool} output and {used:,} are: it only quotes the tool"
        raise UnknownFormatError(msg)
    samples = [sample for one in parsed.sections for sheet in one.sheets.values() for sample in sheet.samples]
    dated = [sample["stamp"] for sample in samples if sample.get("stamp")]
    is_dated = bool(dated) and all(sample["clock"] is None for sample in samples)
    # The date in a banner is not used if each report has its own.
    texts = dated if is_dated else [*(section.date for section in parsed.sections), *dated]
    order, sure = order_of_locale(texts, date_order, in_halves=parsed.halves)
    made = _frames(
        [
            (_with_events(one), partial(_report_rows, section=one, order=order, day=day, zone=zone))
            for one in parsed.sections
        ]
    )
    if any(sample["clock"] is not None for sample in samples) or not all(map(stamps.with_zone, dated)):
        notes.say(stamps.of_zone(zone), parsed.sections[0].line)
        notes += _doubtful_times(parsed, texts, None if sure else order, day, zone)
    if date_order is None:
        days = [stamps.day_of(section.date, order) for section in parsed.sections]
        notes += swap_notes([datetime.combine(one, time()) for one in days if one])
        notes += swap_notes([stamps.moment(text, order, zone) for text in dated])
    if tool in _BOOT and any(sample.get("since_boot") for sample in samples):
        notes.say(_BOOT[tool])
    if parsed.averages:
        lines = parsed.averages.lines["averages"]
        notes.say(f"{counted(len(lines), 'line')} of averages left out: the rows have what they are means of", lines[0])
    if parsed.human is not None:
        notes.say("numbers with units such as 1.2M are rounded", parsed.human)
    if parsed.wrapped:
        message = "commands of several lines: their lines are joined with blanks"
        notes.append(Note(message, parsed.wrapped[0], free_text=frozenset(parsed.wrapped)))
    notes += parsed.decimals.notes()
    notes += [*_lost_times(parsed.left, tool), *parsed.odd.notes("warning"), *left_out(parsed.left)]
    heads = parsed.sections
    return made, {
        "host": next((one.host for one in heads if one.host), None),
        "kernel": next((one.kernel for one in heads if one.kernel), None),
        "cpus": next((one.cpus for one in heads if one.cpus), None),
    }


def _doubtful_times(
    parsed: Parsed, texts: Sequence[str], guess: DateOrder | None, day: date | None, zone: str | None
) -> Notes:
    """Return warnings about unused zones, a guessed order of dates, and an unused day."""
    notes = Notes()
    if parsed.zones - {"UTC", "GMT"} and not zone:
        notes.warn(f"the zone {min(parsed.zones)} of the times is not used: give it with zone= (Asia/Kolkata)")
    if guess:
        notes.warn(stamps.of_order(next(filter(stamps.has_date, texts)), guess))
    if day and any(map(stamps.has_date, texts)):
        notes.warn(f"date {day} is not used: the file has dates")
    return notes


def _lost_times(left: Sequence[tuple[int, str]], tool: str) -> Iterator[Note]:
    """Yield a warning about times of reports among the skipped lines."""
    if lost := [at for at, line in left if stamps.has_clock(line)] if tool == "iostat" else []:
        what = f"{counted(len(lost), 'line')} with a time in words that cannot be read: those reports have no time"
        yield Note(f"{what}, record with LC_TIME=C", lost[0], severity="warning")


def _with_events(section: Section) -> Sheets:
    """Return the tables of a section, including restarts and comments."""
    sheets = dict(section.sheets)
    for name, events in (("restarts", section.restarts), ("comments", section.comments)):
        for event in events:
            add(sheets, name, event, {key: event[key] for key in ("cpus", "comment") if key in event})
    return sheets


def _report_rows(
    samples: Sequence[Row], section: Section, order: DateOrder, day: date | None, zone: str | None
) -> list[Row]:
    """Return host, time and interval of samples, and their report."""
    clocks = [one["clock"] for one in samples if one.get("clock") is not None]
    first = stamps.day_of(section.date, order) or day
    if clocks and first is None:
        raise EsxparseError(
            f"line {samples[0]['line']}: times have no date: give the day of the first with date= (2026-03-11), on the "
            "command line --date"
        )
    days = iter(stamps.days(first, clocks)) if first and clocks else iter(())
    times: list[datetime | None] = []
    for one in samples:
        if one.get("clock") is not None:
            clock = datetime.combine(next(days), time(), UTC) + timedelta(seconds=one["clock"])
            times.append(stamps.in_utc(clock, zone))
        elif one.get("epoch") is not None:
            times.append(datetime.fromtimestamp(one["epoch"], UTC))
        else:
            times.append(stamps.moment(one["stamp"], order, zone) if one.get("stamp") else None)
    return [
        {
            "host": section.host,
            "time": moment,
            "interval_s": step,
            "report": one.get("report"),
            "since_boot": one.get("since_boot"),
        }
        for one, moment, step in zip(samples, times, _intervals(samples, times), strict=True)
    ]


def _intervals(rows: Sequence[Row], times: Sequence[datetime | None]) -> Iterator[float | None]:
    """Yield the seconds that each row covers: since the sample before, or since the time in the titles above it."""
    step: float | None = None
    last: datetime | None = None
    for row, moment in zip(rows, times, strict=True):
        if moment is not None and moment != last:
            before, clock = row.get("before"), row.get("epoch" if row.get("clock") is None else "clock")
            if before is not None and clock is not None and before != clock:
                # Titles have the time of the sample before; after a restart, of the new beginning.
                passed = clock - before
                step = passed + _DAY_S if passed < -stamps.SET_BACK_S else passed
                if last is not None and last + timedelta(seconds=step) > moment:
                    step = (moment - last).total_seconds()
            else:
                step = (moment - last).total_seconds() if last is not None else None
            last = moment
        yield None if row.get("since_boot") or step is None or step <= 0 else step
