"""CSV exports of power meters and PDUs: a column of time and a column of watts.

Read are comma, semicolon, tab and bar separated files, with lines of title before the header; semicolon separated
ones may have decimal commas. Columns are chosen by the options `time_column` and `value_column` (a name, or a number
from 1); left out, they are the only ones that are named so (time, date, timestamp; watts, power, W). Only files whose
header leaves no doubt are recognised by themselves; others need `format="power_csv"`.

Tables
------
power       one row per reading
    time        datetime, UTC; times without a zone are of the option `zone`, or else taken as UTC, with a note. No such
                column if the file has elapsed seconds: those are in `elapsed_s`
    source      str  name of the column
    sensor      str  what was metered, where columns name it (host, outlet, index ..., or text that tells the readings
                     of one time apart); else the name of the column
    kind        str  `part` where the columns name a component (`power.draw` of nvidia-smi is of GPUs); else `system`,
                     an assumption: the file does not say what the meter measures
    watts       f64  W (kW and mW are converted, by the column's name)
    watts_average, watts_minimum, watts_maximum, watts_cap, interval_s  f64  always null

Days and months that could be either (03/04/2026) are told by what the other rows leave possible: an order of the file
in which time goes on. Where both do, `date_order` has to say.

Source: none; such exports differ from maker to maker.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from esxparse.errors import DamagedError, EsxparseError, did_you_mean
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.marks import COMMA, POINT, Marks, marks_of_cells
from esxparse.formats.kit.notes import Counted
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.stamps import unused_zone
from esxparse.formats.kit.text import cells_of
from esxparse.formats.opening import Decimal
from esxparse.formats.power.readings import WORDS, Reading, Stamp, facts, in_zone, kind_of, stamp, tables, words
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording, counted

FORMAT = "power_csv"

_TIME = re.compile(
    r"(?:.*[\s_(\[-])?(?:time|date|timestamp|datetime|date[ _/-]?time|zeit|datum|when|collected_at)\b.*", re.IGNORECASE
)
_WATTS = re.compile(r"(?:.*[\s_(\[-])?(?:watts?|power|leistung|[km]?w)(?:[\s_)\].-].*)?", re.IGNORECASE)
_NO_WATTS = re.compile(
    r"factor|kwh|wh\b|energy|state|status|apparent|reactive|\bva\b|var\b|supply|cap\b|limit", re.IGNORECASE
)
_SURE_WATTS = re.compile(r"watts?|[\[(]k?w[\])]|_k?w\b|power[ _]k?w", re.IGNORECASE)
_SURE_TIME = re.compile(r"time|date", re.IGNORECASE)
_DECIMAL = re.compile(r"-?\d*[.,]\d+")
_DRAW = "power.draw"
"""What nvidia-smi calls the power of a GPU."""
_KILO = re.compile(r"(?:^|[\s_(\[])kw\b|kilowatt", re.IGNORECASE)
_MILLI = re.compile(r"(?:^|[\s_(\[])(?-i:mW)\b|milliwatt", re.IGNORECASE)
_DELIMITERS = (",", ";", "\t", "|")
_UNIT = re.compile(r"[kKmM]?[wW](?:atts?)?$")
_MAYBE = re.compile(r"(?P<first>\d{1,2})[/.](?P<second>\d{1,2})[/.](?P<year>\d{2,4})(?P<rest>\D.*)?")
_PREAMBLE = 40
_LONGEST = 20_000
"""Characters in a line; a meter writes some hundred."""

_MOST_COLUMNS = 12
_ELAPSED = 1e8
_MONTHS, _DAYS = 12, 31
_SHOWN = 5


@dataclass(frozen=True)
class _Table:
    """The header of a file, its rows with their lines, and how it is written."""

    header: list[str]
    rows: list[tuple[int, list[str]]]
    delimiter: str


def _is_time(name: str) -> bool:
    return bool(_TIME.fullmatch(name))


def _is_watts(name: str) -> bool:
    return bool(_WATTS.fullmatch(name)) and not _NO_WATTS.search(name)


def _plainest(names: Sequence[str]) -> list[str]:
    """The names; one alone where the others begin with it: `power.draw [W]` of `power.draw.average [W]`."""
    plain = {name: name.partition(" ")[0] for name in names}
    return [one for one in names if all(other.startswith(plain[one]) for other in names)] or list(names)


def _split(lines: Sequence[str], wanted: Sequence[str]) -> _Table:
    """The header, the first line that names the columns, and the rows below it."""
    best: tuple[int, int, str] | None = None
    for at, line in enumerate(lines[:_PREAMBLE]):
        for delimiter in _DELIMITERS:
            cells = cells_of(line.lstrip("#"), delimiter)
            names = [cell.lower() for cell in cells]
            score = sum(name.lower() in names for name in wanted)
            score += any(map(_is_time, cells)) + any(map(_is_watts, cells))
            if len(cells) > 1 and score and (best is None or score > best[0]):
                best = (score, at, delimiter)
    if best is None:
        at = next((at for at, line in enumerate(lines) if line.strip()), 0)
        delimiter = max(_DELIMITERS, key=(lines[at] if lines else "").count)
    else:
        _, at, delimiter = best
    header = cells_of(lines[at].lstrip("#"), delimiter) if lines else []
    rows = [
        (line, cells_of(text, delimiter))
        for line, text in enumerate(lines[at + 1 :], at + 2)
        if text.strip() and not text.startswith("#")
    ]
    return _Table(header, rows, delimiter)


def recognise(head: Head) -> bool:
    """A header with one column of time and one that says watts, and a reading below it."""
    lines = head.text.split("\n", _PREAMBLE)[:_PREAMBLE]
    if not any(_SURE_WATTS.search(line) for line in lines):
        return False
    if "\\" in lines[0] or "PDH" in lines[0] or len(max(lines, key=len)) > _LONGEST:
        return False
    table = _split(lines, ())
    if not 1 < len(table.header) <= _MOST_COLUMNS or not table.rows:
        return False
    times = [name for name in table.header if _is_time(name) and _SURE_TIME.search(name)]
    sure = _plainest([name for name in table.header if _is_watts(name) and _SURE_WATTS.search(name)])
    if len(times) != 1 or len(sure) != 1 or len(table.rows[0][1]) != len(table.header):
        return False
    first = dict(zip(table.header, table.rows[0][1], strict=True))
    moment = stamp(first[times[0]]) or _MAYBE.fullmatch(first[times[0]])
    return bool(moment) and any(Marks(mark).number(_bare(first[sure[0]])) is not None for mark in (POINT, COMMA))


def _bare(text: str) -> str:
    """A cell without the unit after its number."""
    return _UNIT.sub("", text.strip()).rstrip()


def _listed(header: Sequence[str]) -> str:
    return ", ".join(f"{place} {name!r}" for place, name in enumerate(header, 1))


def _chosen(header: Sequence[str], wanted: str | None, what: str, option: str) -> int:
    """Which column is meant."""
    if wanted is not None:
        names = [name.lower() for name in header]
        if wanted.lower() in names:
            return names.index(wanted.lower())
        if wanted.isdecimal() and 0 < int(wanted[:9]) <= len(header):
            return int(wanted) - 1
        near = did_you_mean(wanted, header)
        raise EsxparseError(f"there is no column {wanted!r}; {near}the columns are: {_listed(header)}")
    fits = [at for at, name in enumerate(header) if (_is_time if what == "time" else _is_watts)(name)]
    if len(fits) > 1 and what == "watts":
        sure = _plainest([header[at] for at in fits if _SURE_WATTS.search(header[at])])
        fits = [header.index(sure[0])] if len(sure) == 1 else fits
    if len(fits) != 1:
        why = "no column is" if not fits else f"{len(fits)} columns may be"
        raise EsxparseError(f"{why} the one with the {what}: name it with {option}; there are: {_listed(header)}")
    return fits[0]


def _day_and_time(header: Sequence[str]) -> tuple[int, int] | None:
    """The columns of a date and of a time of day, where they are two."""
    names = [name.lower() for name in header]
    for day, clock in (("date", "time"), ("datum", "zeit"), ("datum", "uhrzeit")):
        if day in names and clock in names:
            return names.index(day), names.index(clock)
    return None


def _ordered(match: re.Match[str], order: str) -> Stamp | None:
    first, second = match["first"], match["second"]
    month, day = (first, second) if order == "mdy" else (second, first)
    year = match["year"] if len(match["year"]) > len("26") else f"20{match['year']}"
    return stamp(f"{year}-{month}-{day} {(match['rest'] or '').lstrip(' ,T-') or '00:00'}")


def _goes_on(texts: Sequence[str], order: str) -> bool:
    """Whether every text is a date in this order, and time goes on."""
    last: datetime | None = None
    for text in texts:
        match = _MAYBE.fullmatch(text)
        moment = _ordered(match, order) if match else None
        if moment is None or (last is not None and moment.time < last):
            return False
        last = moment.time
    return True


def _is_year_first(date: re.Match[str]) -> bool:
    """Whether the year of a date may be its first number: it has two digits, and the others are a month and a day."""
    return len(date["year"]) == len("26") and int(date["second"]) <= _MONTHS and int(date["year"]) <= _DAYS


def _date_order(texts: Sequence[str], given: str | None) -> str | None:
    """The order of day and month in texts such as 03/04/2026 08:00; None where none of them is such a one."""
    doubtful = [text for text in texts if _MAYBE.fullmatch(text)]
    if given or not doubtful:
        return given
    found = [match for text in doubtful if (match := _MAYBE.fullmatch(text))]
    if len({text[match.end("first")] for text, match in zip(doubtful, found, strict=True)}) > 1:
        raise EsxparseError(
            f"dates such as {doubtful[0]!r} are in two forms, as after a spreadsheet took days up to 12 for months: "
            "export the original file again with its dates as text"
        )
    if "." not in doubtful[0] and all(_is_year_first(match) for match in found):
        raise EsxparseError(
            f"the year in dates such as {doubtful[0]!r} may come first or last: set date_order= to dmy or mdy (on the "
            "command line --date-order) if it comes last, else export the file with years of four digits"
        )
    fits = [order for order in ("mdy", "dmy") if _goes_on(doubtful, order)]
    if len(fits) == 1:
        return fits[0]
    if "." in doubtful[0]:
        return "dmy"
    for place, order in (("first", "dmy"), ("second", "mdy")):
        if any(int(match[place]) > _MONTHS for match in found):
            return order
    raise EsxparseError(
        f"{doubtful[0]!r} may be day/month or month/day: set date_order= to dmy or mdy (on the command line "
        "--date-order)"
    )


def _moment(text: str, order: str | None) -> Stamp | float | None:
    """A time, or seconds that have elapsed."""
    if order and (match := _MAYBE.fullmatch(text)):
        return _ordered(match, order)
    if moment := stamp(text):
        return moment
    if re.fullmatch(r"\d{1,8}(?:\.\d{1,6})?", text):
        seconds = float(text)
        return seconds if seconds < _ELAPSED else None
    return None


def _is_whole(cells: Sequence[str], header: Sequence[str]) -> bool:
    """Whether a row has the cells of the header, but for empty ones at the end: else it is not known which is lost."""
    least = max((at for at, name in enumerate(header, 1) if name), default=0)
    return len(cells) >= least and not any(cells[len(header) :])


def _whose(table: _Table, columns: Sequence[int], value: int) -> list[int]:
    """The columns that name what was metered: by their titles, else by what tells the readings of one time apart."""
    rows = [cells for _, cells in table.rows if _is_whole(cells, table.header)]
    times = [tuple(cells[at] for at in columns) for cells in rows]
    together = len(set(times)) < len(times)
    named, told = [], []
    for at, title in enumerate(table.header):
        texts = {cells[at] for cells in rows if at < len(cells)} - {""}
        about = words(title)
        # A number that each row has for its own counts rows.
        counts = len(texts) == len(rows) > 1 and not together and all(map(str.isdecimal, texts))
        if at in {*columns, value} or counts or about & WORDS["quantities"] or any(map(_DECIMAL.fullmatch, texts)):
            continue
        if about & WORDS["naming"]:
            named.append(at)
        elif together and not any(number(text) is not None for text in texts) and 1 < len(texts) < len(rows):
            told.append(at)
    return named or told


def _readings(
    table: _Table,
    columns: Sequence[int],
    value: int,
    sensors: Sequence[int],
    order: str | None,
    marks: Marks,
    odd: Counted,
) -> Iterator[Reading]:
    name = table.header[value]
    factor = 1000.0 if _KILO.search(name) else 0.001 if _MILLI.search(name) else 1.0
    titles = " ".join(table.header[at] for at in (value, *sensors))
    kind = "part" if name.startswith(_DRAW) or kind_of(titles) == "part" else "system"
    for line, cells in table.rows:
        if not _is_whole(cells, table.header):
            odd.say("not as many cells as the header, left out", line)
            continue
        text = " ".join(cells[at] for at in columns)
        moment = _moment(text, order)
        reading = marks.number(_bare(cells[value]))
        if moment is None:
            odd.say(f"no readable time, left out; the first: {text[:40]!r}".strip(), line)
            continue
        if reading is None:
            odd.say("no number of watts, left out", line)
            continue
        whose = " ".join(cells[at] for at in sensors if at < len(cells) and cells[at]) or name
        row: Reading = {"source": name, "sensor": whose, "kind": kind, "watts": reading * factor}
        if isinstance(moment, Stamp):
            row |= {"time": moment.time.astimezone(UTC), "assumed": moment.assumed}
        else:
            row["elapsed_s"] = moment
        yield row


def _merged(odd: Counted) -> list[Note]:
    """One note for each kind of line that is left out: messages that quote a cell count as one kind."""
    kinds: dict[str, tuple[str, list[int]]] = {}
    for message, lines in odd.lines.items():
        kinds.setdefault(message.partition(";")[0], (message, []))[1].extend(lines)
    return [
        Note(f"{counted(len(lines), 'line')}: {first}", lines[0], severity="warning", unused=len(lines))
        for first, lines in kinds.values()
    ]


def _in_zone(rows: Sequence[Reading], zone: str | None) -> Iterator[Note]:
    """Puts times without a zone into `zone`, and gives the notes on zones."""
    for row in (row for row in rows if zone and row.get("assumed")):
        moment = in_zone(Stamp(row["time"], row["assumed"]), zone)
        row |= {"time": moment.time, "assumed": moment.assumed}
    assumed = sorted({one for row in rows if (one := row.pop("assumed", None))})
    yield from map(Note, assumed[:_SHOWN])
    if zone and not assumed:
        yield Note(unused_zone(zone), severity="warning")


def read(
    source: Source,
    time_column: str | None = None,
    value_column: str | None = None,
    date_order: str | None = None,
    decimal: Decimal | None = None,
    zone: str | None = None,
) -> Recording:
    """Reads an export.

    Args:
        source: The file.
        time_column: The column of the time, by name or number.
        value_column: The column of the watts, by name or number.
        date_order: Order of day, month and year, where the file does not tell.
        decimal: The decimal mark, if the file does not show it.
        zone: The zone of times without one.
    """
    text = source.text().without_cut_line()
    table = _split(text.lines(), [name for name in (time_column, value_column) if name])
    value = _chosen(table.header, value_column, "watts", "value_column")
    pair = _day_and_time(table.header) if time_column is None else None
    columns = pair or (_chosen(table.header, time_column, "time", "time_column"),)
    texts = [" ".join(cells[at] for at in columns) for _, cells in table.rows if _is_whole(cells, table.header)]
    order = _date_order(texts, date_order)
    odd = Counted()
    quantities = [at for at, title in enumerate(table.header) if at == value or words(title) & WORDS["quantities"]]
    marks = marks_of_cells(
        (
            (_bare(cells[at]), (line, at + 1))
            for at in quantities
            if at not in columns
            for line, cells in table.rows
            if at < len(cells)
        ),
        decimal,
    )
    rows = list(_readings(table, columns, value, _whose(table, columns, value), order, marks, odd))
    if not rows:
        why = next(iter(odd), "there is no line below the header")
        names = ", ".join(repr(table.header[at]) for at in (*columns, value))
        raise DamagedError(f"no readings in columns {names}: {why}")
    zones = list(_in_zone(rows, zone))
    power, notes = tables(rows)
    places = Counter((row.get("time", row.get("elapsed_s")), row["sensor"]) for row in rows)
    if doubtful := sum(many > 1 for many in places.values()):
        notes.warn(
            f"{doubtful:,} times have several readings, and no column tells whose they are: one series is made of them"
        )
    notes += zones
    if not _SURE_WATTS.search(table.header[value]):
        notes.say(f"column {table.header[value]!r} has no unit: its numbers are taken as watts")
    return Recording(FORMAT, source.name, power, facts(rows), (*text.notes, *marks.notes, *_merged(odd), *notes))
