"""CSV exports of power meters and PDUs: a column of time and a column of watts.

Files may be separated by comma, semicolon, tab or bar, with title lines before the header; semicolon separated
ones may have decimal commas. Columns are chosen by the options `time_column` and `value_column` (a name, or a number
from 1). Without these options, the only columns with suitable names are used (time, date, timestamp; watts, power, W).
Only files with a clear header are recognised automatically; others need `format="power_csv"`.

Dates such as 03/04/2026 have one order in the whole file: a number above 12 shows it, or time goes on in one order
only. If both orders fit, the reader asks for `date_order`. If a spreadsheet took days up to 12 for months, the reader
swaps these dates back, with a warning; it refuses the file if time still does not go on. If time only jumps ahead, the
reader warns and keeps the dates: the meter may have paused.

Source: none; such exports differ from maker to maker.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC

from esxparse.errors import DamagedError, EsxparseError, did_you_mean
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.limits import cut_notes
from esxparse.formats.kit.marks import COMMA, POINT, Marks, marks_of_cells
from esxparse.formats.kit.notes import Counted
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.stamps import unused_zone
from esxparse.formats.kit.tables import schemas
from esxparse.formats.kit.text import cells_of
from esxparse.formats.opening import Decimal
from esxparse.formats.power.dates import may_be_date, orders_of, read_date
from esxparse.formats.power.readings import WORDS, Reading, Stamp, facts, in_zone, kind_of, stamp, tables, words
from esxparse.formats.power.units import bare, is_small_mw, other_unit, unit_of_cell, unit_of_title
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording, counted

FORMAT = "power_csv"

_TIME = re.compile(
    r"(?:.*[\s_(\[-])?(?:time|date|timestamp|datetime|date[ _/-]?time|zeit|datum|when|collected_at)\b.*", re.IGNORECASE
)
_WATTS = re.compile(r"(?:.*[\s_(\[-])?(?:(?:kilo|milli)?watts?|power|leistung|[khm]?w)(?:[\s_)\].-].*)?", re.IGNORECASE)
_NO_WATTS = re.compile(
    r"factor|kwh|wh\b|energy|state|status|apparent|reactive|\bva\b|var\b|supply|cap\b|limit", re.IGNORECASE
)
_SURE_WATTS = re.compile(r"watts?|[\[(]k?w[\])]|_k?w\b|power[ _]k?w", re.IGNORECASE)
_SURE_TIME = re.compile(r"time|date", re.IGNORECASE)
_DECIMAL = re.compile(r"-?\d*[.,]\d+")
_DRAW = "power.draw"
"""nvidia-smi's name for the power of a GPU."""
_DELIMITERS = (",", ";", "\t", "|")
_PREAMBLE = 40
_LONGEST = 20_000
"""Most characters in a line; a meter writes some hundred."""

_MOST_COLUMNS = 12
_ELAPSED = 1e8
_MOST_NOTES = 5


@dataclass(frozen=True)
class _Table:
    """The header of a file, its rows with their lines, and their format."""

    header: list[str]
    rows: list[tuple[int, list[str]]]
    delimiter: str


def _is_time(name: str) -> bool:
    return bool(_TIME.fullmatch(name))


def _is_watts(name: str) -> bool:
    return bool(_WATTS.fullmatch(name)) and not _NO_WATTS.search(name) and other_unit(name) is None


def _plainest(names: Sequence[str]) -> list[str]:
    """Return the names, or only one if the others begin with it: `power.draw [W]` of `power.draw.average [W]`."""
    plain = {name: name.partition(" ")[0] for name in names}
    return [one for one in names if all(other.startswith(plain[one]) for other in names)] or list(names)


def _split(lines: Sequence[str], wanted: Sequence[str]) -> _Table:
    """Return the header, which is the first line with column names, and the rows below it."""
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
    """Return whether a head has a header with one column of time and one of watts, and a reading below it."""
    lines = head.text.split("\n", _PREAMBLE)[:_PREAMBLE]
    if not any(_SURE_WATTS.search(line) for line in lines):
        return False
    if "\\" in lines[0] or "PDH" in lines[0] or len(max(lines, key=len)) > _LONGEST:
        return False
    table = _split(lines, ())
    if not 1 < len(table.header) <= _MOST_COLUMNS or not table.rows:
        return False
    times = [at for at, name in enumerate(table.header) if _is_time(name) and _SURE_TIME.search(name)]
    sure = _plainest([name for name in table.header if _is_watts(name) and _SURE_WATTS.search(name)])
    pair = _day_and_time(table.header)
    columns = pair or times
    first = table.rows[0][1]
    if (set(times) - set(pair) if pair else len(times) != 1) or len(sure) != 1 or len(first) != len(table.header):
        return False
    text = " ".join(first[at] for at in columns)
    number = bare(first[table.header.index(sure[0])])
    return bool(stamp(text) or may_be_date(text)) and any(
        Marks(mark).number(number) is not None for mark in (POINT, COMMA)
    )


def _listed(header: Sequence[str]) -> str:
    return ", ".join(f"{place} {name!r}" for place, name in enumerate(header, 1))


def _chosen(header: Sequence[str], wanted: str | None, what: str, option: str) -> int:
    """Return the place of the chosen column."""
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
    """Return the columns of a date and of a time of day, if they are separate."""
    names = [name.lower() for name in header]
    for day, clock in (("date", "time"), ("datum", "zeit"), ("datum", "uhrzeit")):
        if day in names and clock in names:
            return names.index(day), names.index(clock)
    return None


def _moment(text: str, order: str | None) -> Stamp | float | None:
    """Return a time, or elapsed seconds."""
    if order:
        return read_date(text, order)
    if moment := stamp(text):
        return moment
    if re.fullmatch(r"\d{1,8}(?:\.\d{1,6})?", text):
        seconds = float(text)
        return seconds if seconds < _ELAPSED else None
    return None


def _is_whole(cells: Sequence[str], header: Sequence[str]) -> bool:
    """Return whether a row has the header's cells, except empty ones at its end; else the lost one is unknown."""
    least = max((at for at, name in enumerate(header, 1) if name), default=0)
    return len(cells) >= least and not any(cells[len(header) :])


def _whose(table: _Table, columns: Sequence[int], value: int) -> list[int]:
    """Return the columns that identify the meter: by their titles, else those that separate readings of one time."""
    rows = [cells for _, cells in table.rows if _is_whole(cells, table.header)]
    times = [tuple(cells[at] for at in columns) for cells in rows]
    together = len(set(times)) < len(times)
    identifying, distinguishing = [], []
    for at, title in enumerate(table.header):
        texts = {cells[at] for cells in rows if at < len(cells)} - {""}
        about = words(title)
        # A different number in each row counts rows.
        counts = len(texts) == len(rows) > 1 and not together and all(map(str.isdecimal, texts))
        if at in {*columns, value} or counts or about & WORDS["quantities"] or any(map(_DECIMAL.fullmatch, texts)):
            continue
        if about & WORDS["naming"]:
            identifying.append(at)
        elif together and not any(number(text) is not None for text in texts) and 1 < len(texts) < len(rows):
            distinguishing.append(at)
    return identifying or distinguishing


def _readings(
    table: _Table,
    columns: Sequence[int],
    value: int,
    sensors: Sequence[int],
    orders: Mapping[str, str],
    marks: Marks,
    odd: Counted,
) -> Iterator[Reading]:
    name = table.header[value]
    of_title = unit_of_title(name) or 1.0
    titles = " ".join(table.header[at] for at in (value, *sensors))
    kind = "part" if name.startswith(_DRAW) or kind_of(titles) == "part" else "system"
    for line, cells in table.rows:
        if not _is_whole(cells, table.header):
            odd.say("not as many cells as the header, left out", line)
            continue
        text = " ".join(cells[at] for at in columns)
        moment = _moment(text, orders.get(text))
        cell = cells[value].strip()
        reading, of_cell = marks.number(bare(cell)), unit_of_cell(cell)
        if moment is None:
            odd.say(f"no readable time, left out; the first: {text[:40]!r}".strip(), line)
            continue
        if reading is None:
            odd.say("no number of watts, left out", line)
            continue
        whose = " ".join(cells[at] for at in sensors if at < len(cells) and cells[at]) or name
        row: Reading = {
            "source": name,
            "sensor": whose,
            "kind": kind,
            "watts": reading * (of_title if of_cell is None else of_cell),
        }
        if isinstance(moment, Stamp):
            row |= {"time": moment.time.astimezone(UTC), "assumed": moment.assumed}
        else:
            row["elapsed_s"] = moment
        yield row


def _merged(odd: Counted) -> list[Note]:
    """Return one note for each kind of skipped line: messages that quote a cell count as one kind."""
    kinds: dict[str, tuple[str, list[int]]] = {}
    for message, lines in odd.lines.items():
        kinds.setdefault(message.partition(";")[0], (message, []))[1].extend(lines)
    return [
        Note(f"{counted(len(lines), 'line')}: {first}", lines[0], severity="warning", unused=len(lines))
        for first, lines in kinds.values()
    ]


def _in_zone(rows: Sequence[Reading], zone: str | None) -> Iterator[Note]:
    """Put times without a zone into `zone`, and yield the notes on zones."""
    for row in (row for row in rows if zone and row.get("assumed")):
        moment = in_zone(Stamp(row["time"], row["assumed"]), zone)
        row |= {"time": moment.time, "assumed": moment.assumed}
    assumed = sorted({one for row in rows if (one := row.pop("assumed", None))})
    yield from map(Note, assumed[:_MOST_NOTES])
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
    """Read an export.

    Args:
        source: The file.
        time_column: The column of the time, by name or number.
        value_column: The column of the watts, by name or number.
        date_order: Order of day, month and year, if the file does not show it.
        decimal: The decimal mark, if the file does not show it.
        zone: The zone of times without one.
    """
    text = source.text().without_cut_line()
    table = _split(text.lines(), [name for name in (time_column, value_column) if name])
    value = _chosen(table.header, value_column, "watts", "value_column")
    pair = _day_and_time(table.header) if time_column is None else None
    columns = pair or (_chosen(table.header, time_column, "time", "time_column"),)
    texts = [" ".join(cells[at] for at in columns) for _, cells in table.rows if _is_whole(cells, table.header)]
    orders, order_notes = orders_of(texts, date_order)
    odd = Counted()
    quantities = [at for at, title in enumerate(table.header) if at == value or words(title) & WORDS["quantities"]]
    marks = marks_of_cells(
        (
            (bare(cells[at]), (line, at + 1))
            for at in quantities
            if at not in columns
            for line, cells in table.rows
            if at < len(cells)
        ),
        decimal,
    )
    if (unit := other_unit(table.header[value])) is not None:
        raise EsxparseError(
            f"column {table.header[value]!r} is in {unit}, not in watts: name another with value_column"
        )
    rows = list(_readings(table, columns, value, _whose(table, columns, value), orders, marks, odd))
    if not rows:
        why = next(iter(odd), "there is no line below the header")
        names = ", ".join(repr(table.header[at]) for at in (*columns, value))
        raise DamagedError(f"no readings in columns {names}: {why}")
    zones = list(_in_zone(rows, zone))
    power, notes = tables(rows, schemas(__file__)["power"])
    places = Counter((row.get("time", row.get("elapsed_s")), row["sensor"]) for row in rows)
    if doubtful := sum(many > 1 for many in places.values()):
        notes.warn(
            f"{doubtful:,} times have several readings, and no column identifies the meter: "
            "all readings are treated as one series"
        )
    notes += [*order_notes, *zones]
    if unit_of_title(table.header[value]) is None:
        notes.say(f"column {table.header[value]!r} has no unit: its numbers are taken as watts")
    elif is_small_mw(table.header[value]):
        notes.say(f"column {table.header[value]!r} is taken as milliwatts")
    cut = cut_notes(len(table.header), table.rows[-1][0], saved=False)
    return Recording(FORMAT, source.name, power, facts(rows), (*text.notes, *cut, *marks.notes, *_merged(odd), *notes))
