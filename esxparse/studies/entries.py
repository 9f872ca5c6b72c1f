"""Entries of a manifest: files, windows, host facts and figures given by hand, each checked as it is read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from esxparse.errors import EsxparseError
from esxparse.formats.opening import AS_FOUND, NAMES, Opening, moment, period
from esxparse.metrics import units
from esxparse.studies.columns import FIRST, LAST, SPAN
from esxparse.studies.lines import Complaints
from esxparse.studies.patterns import INT64
from esxparse.studies.roles import ONE_FILE, WORKLOADS, nearest

_ENTRY: Final = ("file", "test", "sensor", "pcpus", "clock", *NAMES)
_WINDOW: Final = ("warmup", "measure", "start", "end", "span")
_FACTS: Final = ("name", "release", "cpus", "cores", "sockets", "numa_nodes", "mhz", "memory_mib", "load_hosts")
_WHOLE: Final = ("cpus", "cores", "sockets", "numa_nodes", "load_hosts")
_TEXTS: Final = {"name": "host_name", "release": "esxi_release"}
_NEGATIVE = "-"
_LONGEST_S: Final = 10 * 366 * 86400.0
"""Ten years: no recording is longer, and what is added to its times is still a time."""


@dataclass(frozen=True)
class FileSpec:
    """The file or files of a run for one purpose, as patterns relative to the manifest."""

    patterns: tuple[str, ...]
    several: bool = False
    """Whether all files that a wildcard finds belong to one run, rather than each to a run of its own."""
    opening: Opening = AS_FOUND
    """Options of `esxparse.open`."""
    test: str | int | None = None
    """Which test of a result file, by name or number; may have placeholders."""
    sensor: str | None = None
    pcpus: tuple[int, ...] = ()
    """Which PCPUs count, of a file that tells of each; none: all."""
    clock: timedelta = timedelta(0)
    """What is added to times in the file to have the capture's."""
    line: int | None = None


@dataclass(frozen=True)
class WindowSpec:
    """Which part of a run is measured."""

    warmup_s: float = 0.0
    measure_s: float | None = None
    start: datetime | None = None
    end: datetime | None = None
    span: str | None = None
    """The load generator whose own begin and end are taken: fio, iometer, diskspd."""


def offset(text: Any) -> timedelta:
    """A shift of a clock: `-2h`, `90s`, seconds."""
    if _is_number(text) and abs(text) <= _LONGEST_S:
        return timedelta(seconds=text)
    if not isinstance(text, str):
        raise EsxparseError(f"clock {text!r} is not a length of time: write it as -2h, 90s or +30m")
    sign = -1 if text.startswith(_NEGATIVE) else 1
    return sign * timedelta(seconds=_length(text.lstrip("+-"), "clock"))


def _seconds(value: Any, name: str) -> float:
    """A length of time in seconds: a number, or `30s`, `2m`, `1h`."""
    if _is_number(value) and 0 <= value <= _LONGEST_S:
        return float(value)
    if not isinstance(value, str):
        raise EsxparseError(f"{name} {value!r} is not a length of time: write it as 30s, 5m or 1h")
    if value.strip() in {"0", "0s", "0m", "0h"}:
        return 0.0
    return _length(value, name)


def _length(text: str, name: str) -> float:
    length = period(text or "?", name) or timedelta(0)
    if length.total_seconds() > _LONGEST_S:
        raise EsxparseError(f"{name} {text!r} is longer than any recording: write a duration such as 30s, 5m or 1h")
    return length.total_seconds()


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value in INT64 if isinstance(value, int) else math.isfinite(value)


def _time(value: Any, name: str) -> datetime | None:
    return moment(value or "?", name)


def window_of(entry: Mapping[str, Any], above: WindowSpec, wrong: Complaints, *path: str | int) -> WindowSpec:
    """A window, completed from the one above; its own start or span replaces those above."""
    found = above
    if {"start", "end", "span"} & set(entry):
        found = replace(found, start=None, end=None, span=None)
    readers: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
        "warmup": ("warmup_s", _seconds),
        "measure": ("measure_s", _seconds),
        "start": ("start", _time),
        "end": ("end", _time),
    }
    for key, value in entry.items():
        if key not in _WINDOW:
            wrong.add(f"unknown key {key!r}{nearest(key, _WINDOW)}", *path, key)
        elif key == "span":
            if not isinstance(value, str) or value not in WORKLOADS:
                wrong.add(
                    f"span {value!r} is not a load generator: choose from {', '.join(sorted(WORKLOADS))}", *path, key
                )
            else:
                found = replace(found, span=value)
        else:
            name, read = readers[key]
            try:
                found = replace(found, **{name: read(value, key)})
            except EsxparseError as error:
                wrong.add(str(error), *path, key)
    if found.measure_s == 0:
        wrong.add("measure is 0: leave it out to measure everything after the warm-up", *path, "measure")
    if found.start and found.end and found.end <= found.start:
        wrong.add("the window ends before it starts: change start or end", *path, "end")
    if found.span and (found.start or found.end):
        wrong.add("a window takes either span or start and end: remove one", *path, "span")
    return found


def facts_of(entry: Mapping[str, Any], wrong: Complaints, *path: str | int) -> dict[str, Any]:
    """Facts of the host, under the names of their columns."""
    facts: dict[str, Any] = {}
    for key, value in entry.items():
        if key not in _FACTS:
            hint = (
                f": give it as {key.removesuffix('_mb')}_mib, 2**20 bytes"
                if key == "memory_mb"
                else nearest(key, _FACTS)
            )
            wrong.add(f"unknown key {key!r}{hint}", *path, key)
        elif key == "release" and not (isinstance(value, str) and re.search(r"\d", value)):
            wrong.add(f'release is {value!r}: write it as "5.0" or "6.7"', *path, key)
        elif key == "load_hosts" and isinstance(value, str) and "{" in value:
            facts[key] = value  # a label tells it: see `expand`
        elif key in _TEXTS and isinstance(value, str):
            facts[_TEXTS[key]] = value
        elif key not in _TEXTS and _positive(value) and (key not in _WHOLE or value == int(value)):
            facts[key] = int(value) if key in _WHOLE else float(value)
        else:
            what = "text" if key == "name" else "a whole number" if key in _WHOLE else "a number above 0"
            what += ', or a label in braces: "{hosts}"' if key == "load_hosts" else ""
            wrong.add(f"{key} is {value!r}: give {what}", *path, key)
    return facts


def _positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def figures_of(entry: Mapping[str, Any], wrong: Complaints, path: Sequence[str | int]) -> dict[str, float]:
    """Figures given by hand; a name with an ambiguous unit is an error."""
    figures = {}
    for key, value in entry.items():
        if unclear := _unclear_unit(key):
            wrong.add(unclear, *path, key)
        elif key in {**FIRST, **SPAN, **LAST}:
            wrong.add(f"{key!r} is a column of the results that is not a measurement: rename the figure", *path, key)
        elif not key[:1].isalpha():
            wrong.add(f"{key!r} is not a valid name for a figure: start it with a letter", *path, key)
        elif not _is_number(value):
            wrong.add(f"{key} is {value!r}: figures are numbers", *path, key)
        else:
            figures[key] = float(value)
    return figures


def _unclear_unit(name: str) -> str:
    """Why the unit that a name ends in is unclear; empty if it is not, or if the name ends in none."""
    try:
        units.unit_of(name)
    except units.UnclearUnitError as error:
        return str(error)
    except EsxparseError:
        pass
    return ""


def file_of(role: str, entry: Any, shared: Any, wrong: Complaints, path: Sequence[str | int]) -> FileSpec | None:
    """The files of a role: a name or pattern, a list of them, or a table with `file` and options."""
    table = entry if isinstance(entry, dict) else {"file": entry}
    options = {**(shared if isinstance(shared, dict) else {}), **table}
    before = len(wrong)
    for key in options:
        if key not in _ENTRY:
            wrong.add(f"unknown key {key!r}{nearest(key, _ENTRY)}", *path, key)
    named = options.get("file")
    several = isinstance(named, list)
    patterns: list[Any] = named if isinstance(named, list) else [named]
    if not patterns or not all(isinstance(one, str) and one for one in patterns):
        wrong.add(f'{role} must name a file, not {named!r}: write {role} = "name", or a list of names', *path)
    elif several and len(patterns) > 1 and role in ONE_FILE:
        wrong.add(f"{role} takes one file per run, not {len(patterns)}: keep one", *path)
    test, sensor = options.get("test"), options.get("sensor")
    if not (test is None or isinstance(test, str) or type(test) is int):
        wrong.add(f"test is {test!r}: give its name or its number", *path, "test")
    if not (sensor is None or isinstance(sensor, str)):
        wrong.add(f"sensor is {sensor!r}: give its name", *path, "sensor")
    pcpus = options.get("pcpus", [])
    pcpus = pcpus if isinstance(pcpus, list) else [pcpus]
    if not all(type(one) is int and one in INT64 and one >= 0 for one in pcpus):
        wrong.add(f"pcpus is {pcpus!r}: give a PCPU number or a list of them", *path, "pcpus")
    opening = _opening(options, wrong, path)
    clock = timedelta(0)
    try:
        clock = offset(options.get("clock", 0))
    except EsxparseError as error:
        wrong.add(str(error), *path, "clock")
    if len(wrong) > before:
        return None
    return FileSpec(tuple(patterns), several, opening, test, sensor, tuple(pcpus), clock, wrong.line(*path))


def _opening(options: Mapping[str, Any], wrong: Complaints, path: Sequence[str | int]) -> Opening:
    """The options of `esxparse.open`; reports invalid ones."""
    said = {}
    for key in NAMES:
        value = options.get(key)
        if value == "":
            wrong.add(f"{key} is empty: give a value or leave it out", *path, key)
            continue
        try:
            Opening.of({key: value})
        except EsxparseError as error:
            wrong.add(str(error), *path, key)
        else:
            said[key] = value
    try:
        return Opening.of(said)
    except EsxparseError as error:
        wrong.add(str(error), *path, "end")
        return AS_FOUND
