"""What `govc metric.sample` prints: series as JSON objects, or as a line of text each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Counted, Notes, excerpt, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.objects import each_object, mapping, mappings
from esxparse.formats.vcenter.history import instant, lowered
from esxparse.formats.vcenter.labels import IDENTIFIER, plain_unit, unit_of
from esxparse.formats.vcenter.series import Series

_LINE: Final = re.compile(
    rf"(?P<entity>\S.*?)\s{{2,}}(?P<instance>\S.*?)\s{{2,}}{IDENTIFIER.pattern}\s+"
    r"(?:(?P<times>\d{4}-\d\d-\d\dT\S+)\s+)?(?P<values>[-\d.,]*)\s{2,}(?P<unit>[^\d\s].*)?"
)
_WHOLE: Final = {"-", "*"}
"""Instances of a line that stand for the whole object."""
_CUT: Final = "*"
_NUMBERS: Final = {int, float, type(None)}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def of_objects(text: str, notes: Notes) -> Iterator[Series]:
    """Yield the series in JSON: documents of `-json`, or their members alone, one after another."""
    odd = Counted()
    for line, document in each_object(text, notes):
        found = lowered(document)
        members = mappings(found["sample"]) if "sample" in found else [document]
        for member in members:
            yield from _of_member(lowered(member), line, odd)
    notes += odd.notes("warning")


def _of_member(member: Mapping[str, Any], line: int, odd: Counted) -> Iterator[Series]:
    entity = lowered(mapping(member.get("entity")))
    infos = [lowered(one) for one in mappings(member.get("sampleinfo"))]
    stamps = [_microseconds(one.get("timestamp")) for one in infos]
    intervals = np.array([number(one.get("interval")) for one in infos], dtype=np.float64)
    series = [lowered(one) for one in mappings(member.get("value"))]
    if None in stamps or not series:
        odd.skip("an object without times or series: left out", line)
        return
    times = np.array(stamps, dtype=np.int64)
    kind, value = entity.get("type"), entity.get("value")
    for one in series:
        counter, instance = one.get("name"), one.get("instance") or ""
        values = _values(one.get("value"))
        if not isinstance(counter, str) or not isinstance(instance, str) or values is None:
            odd.skip("a series without a name, or with something else than numbers: left out", line)
            continue
        unit = plain_unit(one["unit"]) if isinstance(one.get("unit"), str) else unit_of(counter)
        yield Series(
            entity=_text(entity.get("name")),
            entity_id=f"{kind}-{value}" if kind and value else None,
            counter=counter,
            instance="" if instance in _WHOLE else instance,
            unit=unit,
            times=times,
            intervals=intervals,
            values=values,
            in_hundredths=unit == "%",
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _microseconds(value: Any) -> int | None:
    """Return a time of ISO 8601 as microseconds since 1970."""
    time = instant(value)
    if time is None:
        return None
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _values(found: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Return the values of a series in JSON; None if there is something else than numbers."""
    if not isinstance(found, list):
        return np.array([], dtype=np.float64) if found is None else None
    if not set(map(type, found)) <= _NUMBERS:
        return None
    try:
        return _measured(found)
    except OverflowError:
        return None


def _measured(found: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return values with -1, which is how the API writes a missing value, as not-a-number."""
    values = np.array(found, dtype=np.float64)
    values[values < 0] = np.nan
    return values


def of_lines(lines: Sequence[str], notes: Notes) -> Iterator[Series]:
    """Yield the series in lines of text.

    Raises:
        DamagedError: They have no times.
    """
    rest: list[tuple[int, str]] = []
    odd = Counted()
    found, timeless = 0, 0
    for place, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            rest += [(place, line)] if line.strip() else []
            continue
        if match["times"] is None:
            timeless = timeless or place
            odd.skip("no times: left out", place)
            continue
        one = _of_line(match)
        if one is None:
            odd.skip(f"times or values are damaged, left out; the first: {excerpt(line)!r}", place)
            continue
        if match["entity"].endswith(_CUT):
            odd.say("names that end in * are cut: give govc the option -d 0", place)
        found += 1
        yield one
    if timeless and not found:
        raise DamagedError("these series have no times: run govc metric.sample again with -t, or with -json")
    notes += [*odd.notes("warning"), *left_out(rest, "warning")]


def _of_line(match: re.Match[str]) -> Series | None:
    parts = match["times"].split(",")
    stamps = [_microseconds(text) for text in parts[::2]]
    steps = [number(text) for text in parts[1::2]]
    cells = match["values"].split(",") if match["values"] else []
    values = [number(cell) for cell in cells]
    if None in stamps or len(stamps) != len(steps) or None in steps or None in values:
        return None
    return Series(
        entity=match["entity"],
        entity_id=None,
        counter=match["id"],
        instance="" if match["instance"] in _WHOLE else match["instance"],
        unit=plain_unit(match["unit"]) or unit_of(match["id"]),
        times=np.array(stamps, dtype=np.int64),
        intervals=np.array(steps, dtype=np.float64),
        values=_measured(values),
    )
