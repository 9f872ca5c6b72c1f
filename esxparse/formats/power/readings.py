"""Shared tools of the power readers: the columns of a reading, numbers as BMCs write them, and the tables."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.stamps import in_utc, of_zone
from esxparse.formats.kit.tables import Row, data, frame, frames
from esxparse.formats.power.units import unit_of_cell
from esxparse.recording import Note, counted
from esxparse.schema import Schema

if TYPE_CHECKING:
    import polars as pl

_DATA = data(__file__)
_MONTHS = {name: int(number) for number, names in _DATA["months"].items() for name in names.split()}
_ZONES = {name: float(hours) for hours, names in _DATA["zones"].items() for name in names.split()}
"""Hours east of UTC."""

_SHAPES = kinds(__file__, "times").values()
_EPOCH = re.compile(r"@?(?P<seconds>\d{10})(?P<rest>\d{3}|\d{6}|\d{9})?(?P<fraction>\.\d+)?")
_LONGEST = 60

FIRST_YEAR = 2000
"""First plausible year: a clock that was never set shows an earlier time."""


@dataclass(frozen=True)
class Stamp:
    """A time, and the assumption made to read it."""

    time: datetime
    assumed: str | None = None
    """The assumed zone, if the text has no known zone."""

    @property
    def set(self) -> bool:
        """Whether its clock had been set."""
        return self.time.year >= FIRST_YEAR


def _zone(name: str | None) -> tuple[timezone, str | None]:
    if not name:
        return UTC, "times without a zone are taken as UTC"
    if name[0] in "+-":
        digits = name[1:].replace(":", "")
        east = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return timezone(-east if name[0] == "-" else east), None
    if name.lower() in _ZONES:
        return timezone(timedelta(hours=_ZONES[name.lower()])), None
    return UTC, f"zone {name} is ambiguous: its times are taken as UTC"


def _from_parts(parts: dict[str, str | None]) -> Stamp | None:
    month = _MONTHS.get((parts.get("name") or "")[:3].lower()) or int(parts.get("month") or 0)
    hour = int(parts["hour"] or 0)
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half[0] in "Pp" else 0)
    zone, assumed = _zone(parts.get("zone"))
    micro = int(float("0." + (parts["fraction"] or "0")[1:].ljust(1, "0")) * 1_000_000)
    year, day, minute, second = (int(parts[name] or 0) for name in ("year", "day", "minute", "second"))
    # 60 is a leap second.
    time = datetime(year, month, day, hour, minute, min(second, 59), micro, zone)
    return Stamp(time.astimezone(UTC), assumed)


def stamp(text: object) -> Stamp | None:
    """Return the time in a text, if it is all of it and has one meaning; else None. See `power.dates` for 04/13/2026.

    >>> stamp("Tue May  9 14:24:36 CEST 2023").time.isoformat()
    '2023-05-09T12:24:36+00:00'
    >>> stamp("1714914404"), stamp("214 Watts")
    (Stamp(time=datetime.datetime(2024, 5, 5, 13, 6, 44, tzinfo=datetime.timezone.utc), assumed=None), None)
    """
    if not isinstance(text, str):
        return None
    text = text.strip().strip("\"'[]").strip()
    if not text or len(text) > _LONGEST or not text.isprintable():
        return None
    try:
        if match := _EPOCH.fullmatch(text):
            part = f"0.{match['rest'] or '0'}" if match["rest"] else f"0{match['fraction'] or ''}"
            return Stamp(datetime.fromtimestamp(int(match["seconds"]), UTC) + timedelta(seconds=float(part)))
        for shape in _SHAPES:
            if match := shape.fullmatch(text):
                return _from_parts(match.groupdict())
    except (ValueError, OverflowError):
        return None
    return None


def in_zone(moment: Stamp, zone: str | None) -> Stamp:
    """Return a time; if its zone was assumed and `zone` is given, by a clock of `zone`.

    >>> in_zone(stamp("2026-07-01 12:00"), "Europe/Berlin").time.isoformat()
    '2026-07-01T10:00:00+00:00'
    """
    return Stamp(in_utc(moment.time, zone), of_zone(zone)) if zone and moment.assumed else moment


Reading = dict[str, Any]
"""One row of table `power`, by column, without unknown values."""

_WATTS = ("watts", "watts_average", "watts_minimum", "watts_maximum", "watts_cap")
_ALWAYS = frozenset({"source", "sensor", "kind", *_WATTS, "interval_s"})
"""Columns that a table has even if they are empty."""
_MEASURED = (
    *(*_WATTS, "cpu_watts", "dimm_watts", "gpu_watts", "fan_watts", "inlet_celsius", "temperature_celsius"),
    *("cpu_util_pct", "cpu_mhz", "energy_joules"),
)
_SAME = ("source", "sensor", *_WATTS, "energy_joules")
"""Columns in which two readings of one time must agree to count as one."""
_NUMBER = re.compile(r"([-+]?(?:\d{1,3}(?:[,']\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z/%°]*)\.?")
_BTU = "btu/hr"
_BTU_PER_HOUR = 0.29307107
_BETWEEN = re.compile(r"[\W_\d]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
WORDS = {name: frozenset(words.split()) for name, words in _DATA["words"].items()}
"""Words that show the subject of a sensor, or of a column in a meter's CSV.

Source: names of sensors of HPE, Dell, Lenovo, Supermicro and Intel boards; general knowledge."""


def number(value: object) -> float | None:
    """Return a finite number from a JSON number, or from text such as `214`, `214 Watts`, `1,204 W`.

    >>> number("1,204 W"), number(True), number("214,5 W"), number("0.5 kW")
    (1204.0, None, None, 500.0)

    Raises:
        EsxparseError: Its unit may be megawatts or milliwatts.
    """
    if isinstance(value, bool):
        return None
    factor = 1.0
    if isinstance(value, str):
        if not (match := _NUMBER.fullmatch(value.strip())):
            return None
        factor = _BTU_PER_HOUR if match[2].lower() == _BTU else unit_of_cell(value.rstrip(" .")) or 1.0
        value = match[1].replace(",", "").replace("'", "")
    try:
        found = float(str(value)) * factor
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def is_of_power(unit: str) -> bool:
    """Return whether a unit is one of power, or missing."""
    return not unit or unit.lower() == _BTU or unit_of_cell(f"0 {unit}") is not None


def watts(value: object) -> float | None:
    """Return a power reading, unless it has another unit; BMCs write -1 for a missing one.

    >>> watts("214 Watts"), watts("1.2 kW"), watts("214"), watts("214 Amps"), watts("-1")
    (214.0, 1200.0, 214.0, None, None)
    """
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value.strip())) and not is_of_power(match[2]):
        return None
    found = number(value)
    return None if found is None or found < 0 else found


def cap(value: object) -> float | None:
    """Return a power cap; 0 means no cap."""
    return watts(value) or None


def words(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case."""
    return frozenset(word.lower() for word in _BETWEEN.split(name.replace("ub-system", "ubsystem")))


def kind_of(name: str) -> str:
    """Return the scope of a sensor with this name: the whole `system`, one power `supply`, or a `part`.

    >>> kind_of("Pwr Consumption"), kind_of("PS1 Input Power"), kind_of("CPU1 Power"), kind_of("TotalGPUsPower")
    ('system', 'supply', 'part', 'part')
    """
    found = words(name)
    if found & WORDS["supplies"]:
        return "supply"
    return "part" if found & WORDS["parts"] else "system"


def _placed(rows: Sequence[Reading]) -> list[Reading]:
    """Return the rows; a chassis becomes an `enclosure` if other rows are of the host in it."""
    hosts = {(row["kind"], row["sensor"]): words(str(row["sensor"])) & WORDS["enclosures"] for row in rows}
    inside = any(kind == "system" and not of for (kind, _), of in hosts.items())
    return [
        row | {"kind": "enclosure"} if inside and row["kind"] == "system" and hosts["system", row["sensor"]] else row
        for row in rows
    ]


def measured(reading: Reading) -> bool:
    """Return whether a reading holds any number at all."""
    return any(reading.get(name) is not None for name in _MEASURED)


def _table(rows: Sequence[Reading], columns: Schema) -> pl.LazyFrame:
    """Return the rows as a table: the columns of every power table, and the others with any value."""
    there = {name for row in rows for name, value in row.items() if value is not None}
    return frame(rows, {name: kind for name, kind in columns.items() if name in _ALWAYS | there}).lazy()


def tables(rows: Iterable[Reading], columns: Schema) -> tuple[dict[str, pl.LazyFrame], Notes]:
    """Return table `power`, with a time in every row or none; if only some have one, `power_undated` has the rest."""
    kept = _placed([row for row in rows if measured(row)])
    dated: dict[tuple[Any, ...], Reading] = {}
    for row in kept:
        if row.get("time") is not None:
            dated[row["time"], *(row.get(name) for name in _SAME)] = row
    undated = [row for row in kept if row.get("time") is None]
    again = len(kept) - len(undated) - len(dated)
    notes = Notes([Note(f"{again:,} readings appear more than once, and are kept once")] if again else [])
    found: dict[str, pl.LazyFrame] = {}
    if dated:
        ordered = sorted(dated.values(), key=lambda row: (row["time"], str(row["source"]), str(row["sensor"])))
        found["power"] = _table(ordered, columns)
        if undated:
            found["power_undated"] = _table(undated, columns)
            notes.say(f"{len(undated):,} readings have no time: they are in table power_undated")
    elif undated:
        found["power"] = _table(undated, columns)
        if not any(row.get("elapsed_s") is not None for row in undated):
            notes.say("the readings have no time: table power has no column time")
    return found, notes


def by_time(name: str, rows: Sequence[Row], columns: Schema) -> tuple[dict[str, pl.LazyFrame], list[Note]]:
    """Return table `name`, without its time column if no row has a time; rows without a time go to `name_undated`."""
    dated = [row for row in rows if row["time"] is not None]
    undated = [row for row in rows if row["time"] is None]
    without_time = {column: kind for column, kind in columns.items() if column != "time"}
    if not dated:
        return frames({name: (undated, without_time)}), []
    found = frames({name: (dated, columns), f"{name}_undated": (undated, without_time)})
    many = f"{counted(len(undated), 'line')} of {name} without a time: in table {name}_undated"
    return found, [Note(many)] if undated else []


def step(times: Iterable[datetime | None]) -> float | None:
    """Return the usual number of seconds between the times, in any order."""
    known = sorted({time for time in times if time is not None})
    steps = sorted((after - before).total_seconds() for before, after in pairwise(known))
    return steps[len(steps) // 2] if steps else None


def facts(rows: Iterable[Reading]) -> dict[str, Any]:
    """Return facts for `meta` from the times of readings: start, end, samples, interval (of the usual sensor)."""
    times = [(row["time"], row.get("source"), row.get("sensor")) for row in rows if row.get("time") is not None]
    if not times:
        return {}
    moments = sorted({time for time, _, _ in times})
    known: dict[str, Any] = {"start": moments[0], "end": moments[-1], "samples": len(moments)}
    (_, source, sensor), _ = Counter(((0, *where) for _, *where in times)).most_common(1)[0]
    interval = step(time for time, *where in times if where == [source, sensor])
    return known if interval is None else known | {"interval": interval}
