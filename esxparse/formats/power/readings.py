"""What the power readers share: the columns of a reading, numbers as BMCs write them, and the tables."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.tables import schema
from esxparse.formats.window import TIME
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


Reading = dict[str, Any]
"""One row of table `power`, by column; what is not known is left out."""

_ALWAYS = schema("source sensor kind str, watts watts_average watts_minimum watts_maximum watts_cap interval_s f64")
_WHERE_THERE = schema(
    "cpu_watts dimm_watts gpu_watts fan_watts inlet_celsius temperature_celsius cpu_util_pct cpu_mhz energy_joules "
    "elapsed_s round_trip_s f64, bmc_time time"
)
_MEASURED = frozenset((_ALWAYS | _WHERE_THERE).keys() - {"source", "sensor", "kind", "interval_s", "bmc_time"}) - {
    "round_trip_s",
    "elapsed_s",
}
_SAME = ("source", "sensor", "watts", "watts_average", "watts_minimum", "watts_maximum", "watts_cap", "energy_joules")
"""Readings of one time that agree in these are one."""
_NUMBER = re.compile(r"([-+]?\d[\d,']*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z/%°]*)\.?")
_UNITS = {"": 1.0, "w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1000.0, "mw": 0.001, "btu/hr": 0.29307107}
_PARTS = re.compile(
    r"sub-?system|\b(cpu|memory|mem|dimm|gpu|fan|pcie|storage|disk|accelerator|processor)s?\b", re.IGNORECASE
)
_SUPPLY = re.compile(r"\b(psu?|power supply|pwr supply)[\s_-]?\w{0,3}\b|^ps\w?\d|supply", re.IGNORECASE)


def number(value: object) -> float | None:
    """A finite number: of a JSON number, or of text such as `214`, `214 Watts`, `1,204 W`.

    >>> number("1,204 W"), number(True), number("N/A"), number("0.5 kW")
    (1204.0, None, None, 500.0)
    """
    if isinstance(value, bool):
        return None
    factor = 1.0
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if not match:
            return None
        factor = _UNITS.get(match[2].lower(), 1.0)
        value = match[1].replace(",", "").replace("'", "")
    try:
        found = float(str(value)) * factor
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def watts(value: object) -> float | None:
    """A power reading; BMCs write -1 for one they have not got."""
    found = number(value)
    return None if found is None or found < 0 else found


def cap(value: object) -> float | None:
    """A power cap; 0 is none."""
    return watts(value) or None


def kind_of(name: str) -> str:
    """What a sensor of this name measures: the whole `system`, one power `supply`, or a `part`.

    >>> kind_of("Pwr Consumption"), kind_of("PS1 Input Power"), kind_of("CPU Sub-system Power")
    ('system', 'supply', 'part')
    """
    if _SUPPLY.search(name):
        return "supply"
    return "part" if _PARTS.search(name) else "system"


def measured(reading: Reading) -> bool:
    """Whether a reading holds any number at all."""
    return any(reading.get(name) is not None for name in _MEASURED)


def frame(rows: Sequence[Reading], *, dated: bool) -> pl.LazyFrame:
    """The rows as a table: columns every power table has, and the others that hold anything."""
    there = {name for name in _WHERE_THERE if any(row.get(name) is not None for row in rows)}
    schema: dict[str, Any] = {"time": TIME} if dated else {}
    schema |= _ALWAYS
    schema |= {name: dtype for name, dtype in _WHERE_THERE.items() if name in there}
    return pl.LazyFrame({name: [row.get(name) for row in rows] for name in schema}, schema=schema)


def tables(rows: Iterable[Reading]) -> tuple[dict[str, pl.LazyFrame], Notes]:
    """Table `power`, with a time in every row or in none; where only some have one, the others in `power_undated`."""
    kept = [row for row in rows if measured(row)]
    dated: dict[tuple[Any, ...], Reading] = {}
    for row in kept:
        if row.get("time") is not None:
            dated[row["time"], *(row.get(name) for name in _SAME)] = row
    undated = [row for row in kept if row.get("time") is None]
    again = len(kept) - len(undated) - len(dated)
    notes = Notes([Note(f"{again:,} readings were there more than once, and are kept once")] if again else [])
    found: dict[str, pl.LazyFrame] = {}
    if dated:
        ordered = sorted(dated.values(), key=lambda row: (row["time"], str(row["source"]), str(row["sensor"])))
        found["power"] = frame(ordered, dated=True)
        if undated:
            found["power_undated"] = frame(undated, dated=False)
            notes.say(f"{len(undated):,} readings have no time: they are in table power_undated")
    elif undated:
        found["power"] = frame(undated, dated=False)
        if not any(row.get("elapsed_s") is not None for row in undated):
            notes.say("the file names no time for its readings: table power has no column time")
    return found, notes


def by_time(
    name: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]
) -> tuple[dict[str, pl.LazyFrame], list[Note]]:
    """Table `name` with a column of time, or without where no row has one; the others of some in `name_undated`."""
    dated = [row for row in rows if row["time"] is not None]
    undated = [row for row in rows if row["time"] is None]
    found = {}
    if dated:
        found[name] = pl.LazyFrame(dated, schema={"time": TIME, **columns})
    if undated:
        apart = f"{name}_undated" if dated else name
        found[apart] = pl.LazyFrame([{column: row[column] for column in columns} for row in undated], schema=columns)
    if dated and undated:
        return found, [Note(f"{len(undated):,} lines of {name} have no time: they are in table {name}_undated")]
    return found, []


def facts(rows: Iterable[Reading]) -> dict[str, Any]:
    """The facts of `meta` that the times of readings give: start, end, samples, interval (of the usual sensor)."""
    times = [(row["time"], row.get("source"), row.get("sensor")) for row in rows if row.get("time") is not None]
    if not times:
        return {}
    moments = sorted({time for time, _, _ in times})
    known: dict[str, Any] = {"start": moments[0], "end": moments[-1], "samples": len(moments)}
    (_, source, sensor), _ = Counter(((0, *where) for _, *where in times)).most_common(1)[0]
    own = sorted({time for time, *where in times if where == [source, sensor]})
    if steps := sorted((after - before).total_seconds() for before, after in pairwise(own)):
        known["interval"] = steps[len(steps) // 2]
    return known
