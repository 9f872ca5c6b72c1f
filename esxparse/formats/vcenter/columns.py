"""Columns of an export: time, object and counters; and rows to values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from esxparse.formats.esxtop import times as esxtop_times
from esxparse.formats.esxtop.times import as_esxtop_writes, parse
from esxparse.formats.kit.marks import Marks, marks_of_cells
from esxparse.formats.kit.notes import Counted, Notes, excerpt
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.orders import order_of_locale, swap_notes
from esxparse.formats.kit.stamps import has_clock, has_date, in_utc, moment, of_order, unused_zone
from esxparse.formats.kit.tables import schemas
from esxparse.formats.kit.text import cells_of
from esxparse.formats.opening import DateOrder, Decimal
from esxparse.formats.power.readings import in_zone, stamp
from esxparse.formats.vcenter.labels import IDENTIFIER, ROLES, labelled, plain_unit, unit_of
from esxparse.recording import Note, counted

if TYPE_CHECKING:
    import polars as pl

SCHEMAS = schemas(__file__)
PREAMBLE = 40
"""Lines of title before the titles of columns."""
_LONGEST = 100_000
_FOR = re.compile(r"(?P<label>\S.{0,80}?) for (?P<object>\S.*)")
_ARIA = re.compile(
    r"(?:(?P<object>[^|{}=;]{1,120}?)(?: - |: |/))?(?P<counter>[A-Za-z][\w :.-]{0,60}(?:\|[^|(){}=;]{1,80})+?)"
    r"(?:\s*\((?P<unit>[^()]{1,20})\))?"
)
_INSTANCE = re.compile(r"\d+|(?:scsi|sata|nvme|ide)\d+:\d+|vmnic\d+|vmhba\d+\S*|(?:naa|eui|t10|mpx)\.\S+")
_KNOWN_GROUPS = frozenset(
    ["cpu", "mem", "disk", "net", "datastore", "virtualdisk", "sys", "power", "rescpu", "storageadapter", "storagepath"]
)
Row = dict[str, Any]


def tables(found: Mapping[str, pl.DataFrame]) -> dict[str, pl.LazyFrame]:
    """Return tables with their declared columns, without empty ones."""
    return {name: rows.select(SCHEMAS[name].keys()).lazy() for name, rows in found.items() if rows.height}


@dataclass(frozen=True)
class Column:
    """A column of values."""

    at: int
    counter: str
    entity: str | None = None
    instance: str = ""
    unit: str | None = None


@dataclass(frozen=True)
class Titles:
    """The titles of columns: places from 0."""

    line: int
    delimiter: str
    cells: list[str]
    time: int
    roles: dict[str, int]
    """Columns with facts about the whole row."""
    values: list[Column]
    """Columns of counters; empty if each row has its own counter name."""


def _column(at: int, title: str) -> Column | None:
    """Return the counter in a title."""
    if match := IDENTIFIER.search(title):
        rest = (title[: match.start()] + title[match.end() :]).strip(" .:/-()\\")
        known = match["group"].lower() in _KNOWN_GROUPS
        return Column(at, match["id"], _entity(rest), _instance(rest), unit_of(match["id"])) if known else None
    if match := _FOR.fullmatch(title):
        found = labelled(match["label"])
        return Column(at, match["label"], _entity(match["object"]), _instance(match["object"])) if found else None
    if "|" in title and (match := _ARIA.fullmatch(title)):
        return Column(at, match["counter"].strip(), match["object"], "", plain_unit(match["unit"]))
    return None


def _entity(text: str) -> str | None:
    return None if not text or _INSTANCE.fullmatch(text) else text


def _instance(text: str) -> str:
    return text if _INSTANCE.fullmatch(text) else ""


def titles(lines: Sequence[str]) -> Titles | None:
    """Return the first line with titles of a time and of counters."""
    for place, line in enumerate(lines[:PREAMBLE], 1):
        low = line[:_LONGEST].lower()
        if len(line) > _LONGEST or not any(word in low for word in ("time", "date", "zeit", "breakdown")):
            continue
        delimiter = max(",;\t", key=line.count)
        cells = cells_of(line, delimiter)
        names = [cell.lower() for cell in cells]
        time = next((at for at, name in enumerate(names) if ROLES.get(name.partition(" (")[0]) == "time"), None)
        if time is None:
            continue
        told = [(at, role) for at, name in enumerate(names) if (role := ROLES.get(name)) and role != "time"]
        roles = {role: at for at, role in reversed(told)}
        others = [(at, cell) for at, cell in enumerate(cells) if at != time and at not in roles.values()]
        values = [found for at, cell in others if (found := _column(at, cell))]
        # A program's line may have a cell that looks like a counter.
        values = values if 2 * len(values) >= len(others) else []
        if values or (
            named_by_rows := {"counter", "value"} <= roles.keys() and _names_counters(lines[place:], delimiter, roles)
        ):
            return Titles(
                place, delimiter, cells, time, roles, [] if not values and named_by_rows else _resolved(values)
            )
    return None


def _names_counters(lines: Sequence[str], delimiter: str, roles: dict[str, int]) -> bool:
    """Return whether the first row has the name of a counter of vCenter or Aria."""
    first = cells_of(next((line for line in lines if line.strip()), ""), delimiter)
    named = first[roles["counter"]] if roles["counter"] < len(first) else ""
    match = IDENTIFIER.fullmatch(named)
    return bool(match and match["group"].lower() in _KNOWN_GROUPS) or bool(_ARIA.fullmatch(named) and "|" in named)


def _resolved(values: Sequence[Column]) -> list[Column]:
    """Return columns with the identifier of their counter: a chart shows one group, found by its unique labels."""
    sure = {found[0].group for one in values if len(found := labelled(one.counter)) == 1}
    only = {one.entity for one in values if one.entity is not None}
    entity = only.pop() if len(only) == 1 else None
    return [replace(_identified(one, sure), entity=one.entity or entity) for one in values]


def _identified(one: Column, groups: Collection[str]) -> Column:
    found = labelled(one.counter, groups)
    identifiers = {each.id for each in found}
    return replace(one, counter=found[0].id, unit=found[0].unit) if len(identifiers) == 1 else one


@dataclass(frozen=True)
class Dates:
    """What the dates of a file may not show: their order, and the zone of the clock that wrote them."""

    order: DateOrder | None = None
    zone: str | None = None


def _moments(texts: Sequence[str], dates: Dates) -> tuple[list[datetime | None], list[Note]]:
    """Return the times in UTC, whatever their form."""
    plain = [_plain(text) for text in texts]
    found = [stamp(text) if text[:4].isdigit() or not text[:1].isdigit() else None for text in plain]
    moments = [one.time for one in found if one]
    if len(moments) == len(found) and not swap_notes(moments):
        zoned = [in_zone(one, dates.zone) for one in found if one]
        assumed = {one.assumed: None for one in zoned if one.assumed}
        notes = [Note(text, severity="info") for text in assumed]
        if dates.zone and not assumed:
            notes.append(Note(unused_zone(dates.zone), severity="warning"))
        return [one.time for one in zoned], notes
    # A spreadsheet may have swapped day and month in dates that look like ISO 8601.
    written, notes = as_esxtop_writes(plain, esxtop_times.Dates(dates.order))
    dated = parse(written, 0).to_list()
    if not any(dated):
        return _of_locale(plain, dates)
    notes.append(Note(f"times without a zone are taken as {dates.zone or 'UTC'}"))
    clocks = [in_utc(other.replace(tzinfo=None), dates.zone) if other else None for other in dated]
    return [other or (one.time if one else None) for one, other in zip(found, clocks, strict=True)], notes


def _of_locale(texts: Sequence[str], dates: Dates) -> tuple[list[datetime | None], list[Note]]:
    """Return the times of cultures that separate a clock with points, or write other words beside it."""
    clocked = [text for text in texts if has_date(text) and has_clock(text)]
    order, is_sure = order_of_locale(clocked, dates.order)
    notes = [Note(f"times without a zone are taken as {dates.zone or 'UTC'}")]
    if clocked and not is_sure:
        notes.append(Note(of_order(clocked[0], order), severity="warning"))
    return [moment(text, order, dates.zone) if text in clocked else None for text in texts], notes


def _plain(text: str) -> str:
    """Return a time without parts for people: commas, narrow blanks, the name of a zone in parentheses."""
    text = re.sub(r"[\u00a0\u202f]", " ", text).replace(", ", " ").strip()
    return re.sub(r" ?(?:GMT|UTC)([+-]\d{4})(?: \([^)]*\))?$", r" \1", text)


def read_rows(lines: Sequence[str], table: Titles, dates: Dates, decimal: Decimal | None) -> tuple[list[Row], Notes]:
    """Return the values of an export, and notes on cells without a value."""
    notes = Notes(_about(table))
    odd = Counted()
    whole_rows = []
    for place, line in enumerate(lines[table.line :], table.line + 1):
        if not line.strip():
            continue
        cells = cells_of(line, table.delimiter)
        if len(cells) != len(table.cells):
            odd.say(f"{len(cells)} cells where the titles are {len(table.cells)}: left out", place)
        elif cells == table.cells:
            odd.say("the titles again: passed over", place)
        else:
            whole_rows.append((place, cells))
    times, said = _moments([cells[table.time] for _, cells in whole_rows], dates)
    marks = marks_of_cells(
        ((cells[at], (place, at + 1)) for place, cells in whole_rows for at in _number_columns(table)), decimal
    )
    said += marks.notes
    rows: list[Row] = []
    for (place, cells), time in zip(whole_rows, times, strict=True):
        if time is None:
            odd.say(f"no time, left out; the first: {excerpt(cells[table.time])!r}", place)
            continue
        rows += _values(place, cells, table, time, marks, odd)
    return rows, Notes([*notes, *said, *odd.notes("warning")])


def _about(table: Titles) -> Iterator[Note]:
    """Yield notes on columns that no table has, and on counters of an unknown group."""
    used = {table.time, *table.roles.values(), *(one.at for one in table.values)}
    left = [name for at, name in enumerate(table.cells) if at not in used and name]
    if left:
        yield Note(
            f"{counted(len(left), 'column')} without a counter, left out: {excerpt(', '.join(left))}", table.line
        )
    for one in table.values:
        if len({each.id for each in labelled(one.counter)}) > 1:
            message = f"{table.cells[one.at]!r} may be of several groups (cpu, mem ...): its unit is not known"
            yield Note(message, table.line, one.at + 1)


def _number_columns(table: Titles) -> list[int]:
    """Return the columns that hold numbers."""
    numbers = (table.roles.get(role) for role in ("value", "interval_s", "vcpus"))
    return [*(at for at in numbers if at is not None), *(one.at for one in table.values)]


def _values(place: int, cells: list[str], table: Titles, time: datetime, marks: Marks, odd: Counted) -> Iterator[Row]:
    """Yield the values of a row."""
    told = {role: cells[at] for role, at in table.roles.items()}
    shared: Row = {"time": time, "entity": told.get("entity") or None, "entity_id": told.get("entity_id") or None}
    shared |= {"interval_s": marks.number(told.get("interval_s", "")), "vcpus": whole(told.get("vcpus"))}
    instance = told.get("instance", "")
    if table.values:
        for one in table.values:
            row = {"instance": one.instance or instance, "counter": one.counter, "unit": one.unit, "said": one.unit}
            yield from _valued(
                place, cells[one.at], {**shared, **row, "entity": one.entity or shared["entity"]}, marks, odd
            )
        return
    counter = told["counter"]
    unit = plain_unit(told.get("unit")) or unit_of(counter)
    row = {**shared, "instance": instance, "counter": counter, "unit": unit, "said": told.get("unit")}
    yield from _valued(place, told["value"], row, marks, odd)


def _valued(place: int, cell: str, row: Row, marks: Marks, odd: Counted) -> Iterator[Row]:
    if (value := marks.number(cell)) is not None:
        yield {**row, "value": value}
    elif cell:
        odd.say(f"{excerpt(cell)!r} is no number: left out", place)
