"""Thresholds as data: warning and critical limits, and their sources.

A profile is a TOML file of `[[threshold]]` entries. Two come with the package: "standard", the numbers everybody
quotes, and "strict", for flash storage and for hosts that must not make their VMs wait. A profile may build on one of
them with `extends = "standard"`: entries with a known id then replace the keys they give, others are added.

Keys of an entry (all are needed but those marked)
    id          str    name of the threshold: view.metric
    screen      str    the name on the esxtop screen
    table       str    table of the recording that the counter is in
    column      str    column of that table
    metric      str    optional: `module.function:column` of `esxparse.metrics` that gives the value to judge, where the
                       counter alone would mislead (a sum over vCPUs, an average to be weighted); "" for the counter;
                       `views.VIEWS` holds every `module.function` that can be judged
    unit        str    unit of the value and of the limits
    per         str    what one value stands for: vcpu, vm, device, port, pcpu, host
    direction   str    "above": bad when large; "below": bad when small
    warn        float  from here on a warning
    critical    float  optional: from here on critical
    floor       float  optional: with less activity than this, the value is not judged
    floor_unit  str    with `floor`: unit of the floor
    source      str    where each number comes from
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NoReturn

from esxparse import toml
from esxparse.diagnosis.views import VIEWS
from esxparse.errors import EsxparseError

Verdict = Literal["ok", "warning", "critical"]

_TEXTS = ("id", "screen", "table", "column", "unit", "per", "direction", "source")
_NUMBERS = ("warn", "critical", "floor")
_DIRECTIONS = ("above", "below")


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold; the module docstring explains its keys."""

    id: str
    screen: str
    table: str
    column: str
    unit: str
    per: str
    direction: Literal["above", "below"]
    warn: float
    critical: float | None
    floor: float | None
    floor_unit: str | None
    source: str
    metric: str = ""

    @property
    def view(self) -> str:
        """What it judges: a name of `views.VIEWS`, or its table."""
        return self.metric.partition(":")[0] or self.table

    @property
    def value(self) -> str:
        """The column it judges, of the view or the table."""
        return self.metric.partition(":")[2] or self.column

    def judge(self, value: float | None, activity: float | None = None) -> Verdict:
        """Say whether a value is "ok", a "warning" or "critical".

        Above: at the limit or over it; a limit of 0 is passed by anything over 0. Below: under the limit.
        A missing value (None or NaN) is "ok".

        Args:
            value: The measured value, in `unit`.
            activity: What went on while it was measured, in `floor_unit`. With less than the floor the answer is "ok".
                Without it the floor is not looked at.

        >>> ready = load("standard")["cpu.ready"]
        >>> ready.judge(4.9), ready.judge(5.0), ready.judge(10.0)
        ('ok', 'warning', 'critical')
        >>> load("standard")["network.drop_rx"].judge(50.0, activity=2.0)  # 1 of 2 packets
        'ok'
        """
        if value is None or math.isnan(value) or (self.floor is not None and _under(activity, self.floor)):
            return "ok"
        if self.critical is not None and self._passes(value, self.critical):
            return "critical"
        return "warning" if self._passes(value, self.warn) else "ok"

    def _passes(self, value: float, limit: float) -> bool:
        if self.direction == "below":
            return value < limit
        return value > 0 if limit == 0 else value >= limit


def _under(activity: float | None, floor: float) -> bool:
    return activity is not None and activity < floor


def profiles() -> tuple[str, ...]:
    """Name the profiles that come with the package.

    >>> profiles()
    ('standard', 'strict')
    """
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if _is_toml(entry.name)))


def load(profile: str | Path) -> Mapping[str, Threshold]:
    """Read a profile: its thresholds by id, in the order of the file.

    `profile`: the name of one that comes with the package (see `profiles`), or the path of a .toml file.

    Raises EsxparseError: The profile does not exist, the file cannot be read, or an entry is invalid; the message names
    the file, the entry and the key.

    >>> standard = load("standard")
    >>> standard["disk.davg"].warn, standard["disk.davg"].critical, standard["disk.davg"].unit
    (20.0, 25.0, 'ms')
    """
    name = str(profile)
    source = Path(profile) if _is_toml(name) else _bundled(name)
    entries = _entries(_parse(source), str(source if isinstance(source, Path) else source.name))
    return MappingProxyType({key: _threshold(entry, name) for key, (entry, name) in entries.items()})


def _folder() -> Traversable:
    return resources.files(__package__) / "profiles"


def _is_toml(name: str) -> bool:
    return name.lower().endswith(".toml")


def _bundled(name: str) -> Traversable:
    if name not in profiles():
        known = ", ".join(repr(profile) for profile in profiles())
        raise EsxparseError(f"unknown thresholds profile {name!r}: choose from {known}, or give a path ending in .toml")
    return _folder() / f"{name}.toml"


def _parse(source: Path | Traversable) -> dict[str, Any]:
    """Read a profile as TOML, every failure told in terms of the file."""
    try:
        return toml.parse(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise EsxparseError(f"{source}: cannot read the thresholds profile: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EsxparseError(f"{source}: not a TOML file: {error}") from error


def _entries(document: Mapping[str, Any], file: str) -> dict[str, tuple[dict[str, Any], str]]:
    """Give the entries by id with the file that each is to blame on, those of `extends` underneath."""
    unknown = sorted(set(document) - {"title", "extends", "threshold"})
    if unknown:
        _refuse(file, None, unknown[0], "is unknown: a profile takes title, extends and [[threshold]] entries")
    given = document.get("threshold", [])
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        _refuse(file, None, "threshold", "must be a list of tables: write [[threshold]] above each")
    base = _base(document.get("extends"), file)
    seen: set[str] = set()
    for number, entry in enumerate(given, start=1):
        key = entry.get("id")
        if not isinstance(key, str) or not key:
            _refuse(file, f"number {number}", "id", 'must be text, such as "cpu.ready"')
        if key in seen:
            _refuse(file, key, "id", "is given twice")
        if key in base and "source" not in entry:
            _refuse(file, key, "source", "is missing: a threshold that replaces another needs its own source")
        seen.add(key)
        base[key] = ({**base.get(key, ({}, file))[0], **entry}, file)
    if not base:
        _refuse(file, None, "threshold", "is missing: the profile has no entries")
    return base


def _base(extends: Any, file: str) -> dict[str, tuple[dict[str, Any], str]]:
    if extends is None:
        return {}
    if extends not in profiles():
        _refuse(file, None, "extends", f"is {extends!r}, but it must be one of {', '.join(profiles())}")
    source = _bundled(extends)
    return _entries(_parse(source), source.name)


def _threshold(entry: Mapping[str, Any], file: str) -> Threshold:
    key = str(entry["id"])
    known = {field.name for field in fields(Threshold)}
    for name in entry:
        if name not in known:
            _refuse(file, key, name, f"is unknown: an entry takes {', '.join(sorted(known))}")
    for name in (*_TEXTS, *(name for name in ("metric", "floor_unit") if name in entry)):
        if not isinstance(entry.get(name), str) or (not entry[name] and name != "metric"):
            _refuse(file, key, name, _wrong(entry, name, "text"))
    for name in ("warn", *(name for name in _NUMBERS if name in entry)):
        number = entry.get(name)
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            _refuse(file, key, name, _wrong(entry, name, "a number"))
    if entry["direction"] not in _DIRECTIONS:
        _refuse(file, key, "direction", f'is {entry["direction"]!r}: write "above" or "below"')
    if ("floor" in entry) != ("floor_unit" in entry):
        missing = "floor_unit" if "floor" in entry else "floor"
        _refuse(file, key, missing, "is missing: a floor needs a number and a unit")
    made = Threshold(
        **{name: entry[name] for name in _TEXTS},
        warn=float(entry["warn"]),
        critical=float(entry["critical"]) if "critical" in entry else None,
        floor=float(entry["floor"]) if "floor" in entry else None,
        floor_unit=entry.get("floor_unit"),
        metric=entry.get("metric", ""),
    )
    _check_view(made, file)
    sign = 1 if made.direction == "above" else -1
    if made.critical is not None and made.critical * sign < made.warn * sign:
        _refuse(file, key, "critical", f"is {made.critical:g}, which is reached before warn, {made.warn:g}")
    return made


def _check_view(made: Threshold, file: str) -> None:
    if made.metric and (made.view not in VIEWS or not made.metric.partition(":")[2]):
        known = ", ".join(sorted(VIEWS))
        _refuse(file, made.id, "metric", f"is {made.metric!r}: write view:column, where the view is one of {known}")


def _wrong(entry: Mapping[str, Any], name: str, wanted: str) -> str:
    return f"must be {wanted}, not {entry[name]!r}" if name in entry else f"is missing: it must be {wanted}"


def _refuse(file: str, entry: str | None, key: str, what: str) -> NoReturn:
    where = f"{file}: " if entry is None else f"{file}: threshold {entry}: "
    raise EsxparseError(f"{where}{key!r} {what}")
