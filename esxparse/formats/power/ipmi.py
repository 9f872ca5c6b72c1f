"""Power readings that IPMI tools print: ipmitool 1.8, FreeIPMI, ipmiutil; once, or in a loop with `date` between.

`ipmitool dcmi power reading`, `ipmi-dcmi --get-system-power-statistics`, `ipmiutil dcmi`, `dcmi power get_limit`;
`ipmitool sensor`, `ipmitool sdr` (list, elist, `-c`), `ipmi-sensors`.

A time applies to one reading and one listing: a repeated reading or listing below it has lost its own time.
Times without a zone are in the option `zone`, or else taken as UTC (ipmitool prints the BMC's clock, usually in
UTC), with a note.
Dates such as 04/05/26 have one order for the BMC's clock and one for lines of time: a number above 12 shows it, or
another time nearby. If nothing does, the month comes first, with a warning; option `date_order` sets the order.
FreeIPMI always prints the month first (04/05/2026 - 10:00:00).
Names of sensors show whether they belong to system, supply or part: an assumption.

Source: lib/ipmi_dcmi.c, lib/ipmi_sdr.c and lib/ipmi_sensor.c of ipmitool; ipmi-dcmi of FreeIPMI.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Counted, left_out
from esxparse.formats.kit.numbers import times
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.stamps import of_zone, unused_zone
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.opening import DateOrder
from esxparse.formats.power.log_dates import with_year_first
from esxparse.formats.power.readings import (
    Reading,
    Stamp,
    by_time,
    facts,
    in_zone,
    kind_of,
    number,
    stamp,
    tables,
    watts,
)
from esxparse.formats.power.units import unit_of_cell
from esxparse.formats.source import Source
from esxparse.recording import Recording

_Key = tuple[str, str]
"""The kind of a line, and its subject."""

FORMAT = "ipmi"

_SCHEMAS, _PATTERNS = schemas(__file__), kinds(__file__, "patterns")
_LABELS: dict[str, str] = data(__file__)["labels"]
_LABEL = re.compile(
    r"(?P<before>.*?)(?:" + "|".join(f"(?P<{name}>{text})" for name, text in _LABELS.items()) + r")\s*:\s*(?P<value>.*)"
)
_BMC_TIME = re.compile(rf"(?:{_LABELS['bmc_time']})\s*:")
_SEVERAL = re.compile(r"\s{2,}(?=(?:" + "|".join(_LABELS.values()) + r")\s*:)")
"""The place at which a line continues with another field."""
_PERIODS = {"mi": 60.0, "ho": 3600.0, "da": 86400.0, "se": 1.0, "s": 1.0, "ms": 0.001}
_NO_NUMBER = frozenset({"", "na", "n/a"})


@dataclass(frozen=True)
class _Line:
    """One line with content: a time, a field of a DCMI block, or a sensor."""

    line: int
    field: str
    value: str = ""
    label: str = ""
    unit: str = ""
    status: str = ""
    state: str = ""
    stamp: Stamp | None = None


def _sensor(cells: list[str], line: int) -> _Line | None:
    """Return a line of a sensor listing, by the tool's number of cells."""
    sdr_list, csv, sdr_elist, sensors, sensor = 3, 4, 5, 6, 10
    name, value, unit, status, state = cells[0], "", "", "", ""
    if len(cells) >= sensors and cells[0].isdigit():
        # FreeIPMI has one more cell with its column of states, and six more with thresholds.
        state, value, unit = cells[3:6] if len(cells) % sensors else ("", *cells[3:5])
        name, status = cells[1], cells[-1]
    elif len(cells) >= sensor or (len(cells) == csv and _PATTERNS["status"].fullmatch(cells[3])):
        value, unit, status = cells[1:4]
    elif len(cells) == sdr_elist and re.fullmatch(r"[0-9A-F]{2}h", cells[1]):
        status, value = cells[2], cells[4]
    elif len(cells) == sdr_list and _PATTERNS["status"].fullmatch(cells[2]):
        value, status = cells[1:]
    else:
        return None
    if not name:
        return None
    if match := _PATTERNS["reading"].fullmatch(value):
        value, unit, state = match["value"], match["unit"] or unit, match["state"] or state
    elif value.lower() not in _NO_NUMBER:
        value, state = "", value
    unit = "Watts" if unit.lower() in {"w", "watt", "watts"} else unit
    return _Line(line, "sensor", value, name, unit, status, state)


def _lines(lines: Sequence[str], strange: list[tuple[int, str]]) -> Iterator[_Line]:
    """Yield the lines with content; other lines go to `strange`."""
    each = ((line, text) for line, raw in enumerate(lines, 1) for text in _SEVERAL.split(raw.strip()))
    for line, text in each:
        if not text or _PATTERNS["titles"].match(text):
            continue
        if moment := stamp(text):
            yield _Line(line, "stamp", stamp=moment)
        elif match := _LABEL.fullmatch(text):
            before = match["before"].strip().strip("|,;-").strip()
            if moment := stamp(before):
                yield _Line(line, "stamp", stamp=moment)
                before = ""
            field = next(name for name in _LABELS if match[name])
            yield _Line(line, field, match["value"].strip(), before.rstrip(": "))
        elif sensor := _sensor([cell.strip() for cell in re.split(r"\||,(?! )", text)], line):
            yield sensor
        elif not _PATTERNS["known"].fullmatch(text) and "Record ID" not in text:
            strange.append((line, text))


def _follows(found: Sequence[_Line]) -> bool:
    """Return whether each time follows its readings: the file begins with a reading and ends with a time."""
    return bool(found) and found[0].field != "stamp" and found[-1].field == "stamp"


def _timed(found: Sequence[_Line], odd: Counted) -> list[tuple[_Line, Stamp | None]]:
    """Return each line with its time, in the order of the file."""
    backwards = _follows(found)
    polls: list[tuple[Stamp | None, list[_Line]]] = [(None, [])]
    for one in reversed(found) if backwards else found:
        if one.stamp:
            polls.append((one.stamp, []))
        else:
            polls[-1][1].append(one)
    usual = _usual([_keys(lines) for moment, lines in polls if moment and lines])
    timed: list[tuple[_Line, Stamp | None]] = []
    for moment, lines in polls:
        own = _once(_keys(lines), usual) if moment else 0
        timed += [(one, moment if place < own else None) for place, one in enumerate(lines)]
        if moment and own < len(lines):
            lost = min(one.line for one in lines[own:])
            odd.say("a reading has lost its time: the time beside it belongs to another reading", lost)
    return timed[::-1] if backwards else timed


def _keys(lines: Sequence[_Line]) -> tuple[_Key, ...]:
    return tuple((one.field, one.label) for one in lines)


def _usual(polls: Sequence[tuple[_Key, ...]]) -> Counter[_Key]:
    """Return the usual lines under one time, with their counts: some BMCs have several sensors of one name.

    >>> _usual([("a", "b"), ("a", "b", "a", "b")]) == _usual([("a", "b", "a", "b", "a")]) == {"a": 1, "b": 1}
    True
    """
    if not polls:
        return Counter()
    often = Counter(polls)
    usual = min(often, key=lambda keys: (-often[keys], len(keys)))
    if len(polls) == 1:
        # Without other polls to compare, lines that begin again are a second reading.
        usual = usual[: next(step for step in range(1, len(usual) + 1) if usual[step:] == usual[:-step])]
    return Counter(usual)


def _once(keys: Sequence[_Key], usual: Mapping[_Key, int]) -> int:
    """Return how many lines are of the first reading: up to one that occurs more often than usual."""
    seen: Counter[_Key] = Counter()
    for place, key in enumerate(keys):
        seen[key] += 1
        if seen[key] > usual.get(key, seen[key]):
            return place
    return len(keys)


def _seconds(text: str) -> float | None:
    if not (match := _PATTERNS["period"].match(text)):
        return None
    unit = match["unit"].lower()
    factor = 0.001 if unit.startswith(("ms", "milli")) else _PERIODS.get(unit[:2], 1.0)
    return int(match["length"][:15]) * factor


def _good(moment: Stamp | None, what: str, line: int, odd: Counted) -> Any:
    if moment is None:
        return None
    if not moment.set:
        odd.say(f"{what} says {moment.time:%Y-%m-%d}: that clock was not set", line)
        return None
    if moment.assumed:
        odd.say(moment.assumed, line)
    return moment.time


def _blocks(timed: Sequence[tuple[_Line, Stamp | None]], zone: str | None, odd: Counted) -> Iterator[Reading]:
    """Yield the DCMI readings: each begins with its current reading, or with a repeated field."""
    block: dict[str, _Line] = {}
    at: Stamp | None = None
    for one, moment in [*timed, (_Line(0, "end"), None)]:
        if one.field == "sensor":
            continue
        starts = one.field in {"end", "watts", "limit_state"} or one.field in block or moment is not at
        if block and starts:
            yield _block(block, at, zone, odd)
            block = {}
        at = at if block else moment
        block[one.field] = one


def _block(found: Mapping[str, _Line], at: Stamp | None, zone: str | None, odd: Counted) -> Reading:
    """Return the reading in the fields of a block; the first line has the host's name, if any line has."""
    block = {name: one.value for name, one in found.items()}
    lines = {name: one.line for name, one in found.items()}
    line, host = min(lines.values()), next(iter(found.values())).label
    own = stamp(block.get("bmc_time"))
    own = _good(in_zone(own, zone) if own else None, "the BMC's time stamp", lines.get("bmc_time", line), odd)
    time = _good(at, "a line of time", line, odd)
    row: Reading = {
        "time": time or own,
        "source": "dcmi",
        "sensor": f"{host} DCMI power reading".strip(),
        "kind": "system",
        "interval_s": _seconds(block.get("interval_s", "")),
        "bmc_time": own if time else None,
    }
    for name in ("watts", "watts_average", "watts_minimum", "watts_maximum"):
        if name in block:
            row[name] = watts(block[name])
            if row[name] is None:
                odd.say(f"not a power reading: {block[name][:40]!r}", lines[name])
    if _PATTERNS["inactive"].search(block.get("state", "")):
        odd.say("power measurement is not active: the reading is left out", lines["state"])
        row["watts"] = None
    limit = block.get("watts_cap", "")
    if limit and not _PATTERNS["no_limit"].search(block.get("limit_state", "") + limit):
        row["watts_cap"] = watts(limit.partition("(")[0].rstrip()) or None
    return row


def _listing(timed: Sequence[tuple[_Line, Stamp | None]], odd: Counted) -> list[dict[str, Any]]:
    rows = []
    for one, moment in timed:
        if one.field == "sensor":
            words = {"unit": one.unit or None, "status": one.status or None, "state": one.state or None}
            time, value = _good(moment, "a line of time", one.line, odd), number(one.value)
            if value is None:
                odd.say("sensors without a number: their words are in column state", one.line)
            rows.append({"time": time, "sensor": one.label, "value": value, **words})
    return rows


def _of_listing(rows: Sequence[dict[str, Any]]) -> Iterator[Reading]:
    """Yield the readings in watts of sensor listings, each with the inlet temperature of the same time."""
    listed = [row for row in rows if row["unit"] == "degrees C" and _PATTERNS["inlet"].search(row["sensor"])]
    inlets = {row["time"]: row["value"] for row in listed}
    if sum(row["time"] is None for row in listed) > 1:
        # It belongs to several listings without a time.
        del inlets[None]
    for row in rows:
        if per_unit := unit_of_cell(f"0 {row['unit']}") if row["unit"] else None:
            kind = kind_of(row["sensor"])
            which = {"time": row["time"], "source": "sensor", "sensor": row["sensor"], "kind": kind}
            inlet = inlets.get(row["time"]) if kind == "system" else None
            yield {**which, "watts": times(watts(row["value"]), per_unit), "inlet_celsius": inlet}


def _clock_of(before: str) -> str:
    return "BMC" if _BMC_TIME.search(before) else "log"


def read(source: Source, zone: str | None = None, date_order: DateOrder | None = None) -> Recording:
    """Read readings printed once or in a loop; `zone` and `date_order` apply to times that do not show them."""
    text = source.text().without_cut_line()
    unknown: list[tuple[int, str]] = []
    lines, order_notes = with_year_first(text.lines(), _clock_of, date_order)
    found = [replace(line, stamp=in_zone(line.stamp, zone)) if line.stamp else line for line in _lines(lines, unknown)]
    strange, odd = Counted(), Counted()
    timed = _timed(found, strange)
    listing = _listing(timed, odd)
    readings = [*_blocks(timed, zone, odd), *_of_listing(listing)]
    power, notes = tables(readings, _SCHEMAS["power"])
    if not power:
        why = next(iter([*odd, *strange]), "no line of it is a reading")
        raise DamagedError(f"it has no power reading: {why}")
    if _follows(found):
        notes.say("each time is used for the readings before it")
    if zone and of_zone(zone) not in odd:
        notes.warn(unused_zone(zone))
    sensors, more_notes = by_time("sensors", listing, _SCHEMAS["sensors"])
    power |= sensors
    notes += more_notes
    skipped = [*left_out(unknown, "warning"), *strange.notes("warning")]
    every = (*text.notes, *order_notes, *skipped, *odd.notes(), *notes)
    return Recording(FORMAT, source.name, power, facts(readings), every)
