"""Rules as data: limits with their sources, and what it means to pass them.

`rules/*.toml` holds every rule, `profiles/NAME.toml` what a profile changes in them. Two come with the package:
"standard", the numbers everybody quotes, and "strict", for flash storage and for hosts that must not make their VMs
wait. A file of one's own has `[[rule]]` entries; with `extends = "standard"` they replace the keys they give in rules
of a known id, and add others.

Keys of a rule (all are needed but those marked)
    id           str    area.what
    screen       str    what esxtop's screen calls it
    kind         str    what one value stands for: vm, device, nfs, adapter, path, port, pcpu, node, vsan, host
    value        str    expression over the series of that kind (`series`), in SQL
    unit         str    unit of the value and of the limits
    direction    str    "above": bad when large; "below": bad when small
    warn         float  from here on a warning
    critical     float  optional: from here on critical
    floor        float  optional: with less activity than this a sample is not judged,
    floor_of     str    with `floor`: the activity, an expression too
    floor_unit   str    with `floor`: its unit
    below_floor  int    optional: unless so many samples in a row pass, as of a device that hardly answers at all
    persist      int    optional: samples in a row that make a symptom; 3
    meaning, causes, next   str   optional: what it is, what it may come from, what to look at next
    source       str    where each number comes from
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NoReturn

from polars.exceptions import PolarsError

from esxparse import toml
from esxparse.derived.catalogue import TABLES
from esxparse.diagnosis import series
from esxparse.errors import EsxparseError, did_you_mean

Verdict = Literal["ok", "warning", "critical"]

_TEXTS: Final = ("id", "screen", "kind", "value", "unit", "direction", "source")
_MORE: Final = ("floor_of", "floor_unit", "meaning", "causes", "next")
_NUMBERS: Final = ("warn", "critical", "floor", "persist", "below_floor")
_DIRECTIONS: Final = ("above", "below")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; the module docstring explains its keys."""

    id: str
    screen: str
    kind: str
    value: str
    unit: str
    direction: Literal["above", "below"]
    warn: float
    source: str
    critical: float | None = None
    floor: float | None = None
    floor_of: str = ""
    floor_unit: str = ""
    below_floor: int | None = None
    persist: int = 3
    meaning: str = ""
    causes: str = ""
    next: str = ""

    @property
    def reads(self) -> frozenset[str]:
        """The series that its value is made of."""
        return series.roots(self.value)

    @property
    def activity(self) -> frozenset[str]:
        """The series that its floor is made of."""
        return series.roots(self.floor_of) if self.floor_of else frozenset()

    @property
    def tables(self) -> frozenset[str]:
        """The tables without which it cannot be judged."""
        found = [series.tables(self.kind, name) for name in self.reads]
        return frozenset(table for one in found if one for table in one)

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
        if self.critical is not None and self.passes(value, self.critical):
            return "critical"
        return "warning" if self.passes(value, self.warn) else "ok"

    def passes(self, value: Any, limit: float) -> Any:
        """Whether a value, or each of an array, is as bad as a limit or worse."""
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


def load(profile: str | Path = "standard") -> Mapping[str, Rule]:
    """Read a profile: its rules by id.

    `profile`: the name of one that comes with the package (see `profiles`), or the path of a .toml file.

    Raises EsxparseError: The profile does not exist, the file cannot be read, or a rule is invalid; the message names
    the file, the rule and the key.

    >>> standard = load("standard")
    >>> standard["disk.davg"].warn, standard["disk.davg"].critical, standard["disk.davg"].unit
    (20.0, 25.0, 'ms')
    """
    name = str(profile)
    if not _is_toml(name):
        return _shipped(name)
    entries = _entries(_parse(Path(profile)), name, {})
    return MappingProxyType({key: _rule(entry, file) for key, (entry, file) in entries.items()})


@cache
def _shipped(name: str) -> Mapping[str, Rule]:
    return MappingProxyType({key: _rule(entry, file) for key, (entry, file) in _bundled(name).items()})


Entries = dict[str, tuple[dict[str, Any], str]]


@cache
def _all() -> Entries:
    found: Entries = {}
    for entry in sorted(resources.files(__package__).iterdir(), key=lambda one: one.name):
        if _is_toml(entry.name):
            found |= _entries(_parse(entry), entry.name, {})
    return found


def _bundled(name: str) -> Entries:
    if name not in profiles():
        known = ", ".join(repr(profile) for profile in profiles())
        near = did_you_mean(name, profiles())
        msg = f"unknown thresholds profile {name!r}: {near}choose from {known}, or give a path ending in .toml"
        raise EsxparseError(msg)
    source = _folder() / f"{name}.toml"
    return _entries(_parse(source), source.name, _all())


def _folder() -> Traversable:
    return resources.files("esxparse.diagnosis") / "profiles"


def _is_toml(name: str) -> bool:
    return name.lower().endswith(".toml")


def _parse(source: Path | Traversable) -> dict[str, Any]:
    """Read a file as TOML, every failure told in terms of the file."""
    try:
        return toml.parse(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise EsxparseError(f"{source}: cannot read the thresholds profile: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EsxparseError(f"{source}: not a TOML file: {error}") from error


def _entries(document: Mapping[str, Any], file: str, under: Entries) -> Entries:
    """Give the entries by id with the file that each is to blame on, those `under` it and of `extends` underneath."""
    unknown = sorted(set(document) - {"title", "extends", "rule"})
    if unknown:
        _refuse(file, None, unknown[0], "is unknown: a profile takes title, extends and [[rule]] entries")
    given = document.get("rule", [])
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        _refuse(file, None, "rule", "must be a list of tables: write [[rule]] above each")
    extends = document.get("extends")
    if extends is not None and extends not in profiles():
        _refuse(file, None, "extends", f"is {extends!r}, but it must be one of {', '.join(profiles())}")
    base = dict(under if extends is None else _bundled(extends))
    seen: set[str] = set()
    for number, entry in enumerate(given, start=1):
        key = entry.get("id")
        if not isinstance(key, str) or not key:
            _refuse(file, f"number {number}", "id", 'must be text, such as "cpu.ready"')
        if key in seen:
            _refuse(file, key, "id", "is given twice")
        if key in base and "source" not in entry:
            _refuse(file, key, "source", "is missing: a rule that replaces another needs its own source")
        seen.add(key)
        base[key] = ({**base.get(key, ({}, file))[0], **entry}, file)
    if not base:
        _refuse(file, None, "rule", "is missing: the profile has no entries")
    return base


def _rule(entry: Mapping[str, Any], file: str) -> Rule:
    key = str(entry["id"])
    known = {field.name for field in fields(Rule)}
    for name in entry:
        if name not in known:
            _refuse(file, key, name, f"is unknown: a rule takes {', '.join(sorted(known))}")
    for name in (*_TEXTS, *(name for name in _MORE if name in entry)):
        if not isinstance(entry.get(name), str) or not entry[name]:
            _refuse(file, key, name, _wrong(entry, name, "text"))
    for name in ("warn", *(name for name in _NUMBERS if name in entry)):
        number = entry.get(name)
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            _refuse(file, key, name, _wrong(entry, name, "a number"))
    if entry["direction"] not in _DIRECTIONS:
        _refuse(file, key, "direction", f'is {entry["direction"]!r}: write "above" or "below"')
    if len(given := {"floor", "floor_of", "floor_unit"} & set(entry)) not in {0, 3}:
        missing = min({"floor", "floor_of", "floor_unit"} - given)
        _refuse(file, key, missing, "is missing: a floor needs a number, what it is of, and a unit")
    texts = {name: " ".join(entry[name].split()) for name in (*_TEXTS, *_MORE) if name in entry}
    made = Rule(**{**entry, **texts})
    _check_series(made, file)
    sign = 1 if made.direction == "above" else -1
    if made.critical is not None and made.critical * sign < made.warn * sign:
        _refuse(file, key, "critical", f"is {made.critical:g}, which is reached before warn, {made.warn:g}")
    return made


def _check_series(made: Rule, file: str) -> None:
    """Refuse what no capture can have."""
    if made.kind not in TABLES:
        _refuse(file, made.id, "kind", f"is {made.kind!r}: choose from {', '.join(TABLES)}")
    for key in ("value", "floor_of"):
        try:
            asked = made.reads if key == "value" else made.activity
        except PolarsError as error:
            _refuse(file, made.id, key, f"is no expression: {error}")
        for name in sorted(asked):
            if series.tables(made.kind, name) is None:
                there = sorted(series.known(made.kind))
                what = f"reads {name!r}, which no {made.kind} has; {did_you_mean(name, there)}there are "
                _refuse(file, made.id, key, what + ", ".join(there))


def _wrong(entry: Mapping[str, Any], name: str, wanted: str) -> str:
    return f"must be {wanted}, not {entry[name]!r}" if name in entry else f"is missing: it must be {wanted}"


def _refuse(file: str, entry: str | None, key: str, what: str) -> NoReturn:
    where = f"{file}: " if entry is None else f"{file}: rule {entry}: "
    raise EsxparseError(f"{where}{key!r} {what}")
