"""Rules as data: limits with their sources, and how they judge values.

`rules/*.toml` holds every rule, `profiles/NAME.toml` the changes of a profile. Two come with the package:
"standard", the numbers everybody quotes, and "strict", for flash storage and for hosts that must not make their VMs
wait. Your own file has `[[rule]]` entries; with `extends = "standard"` they replace the keys they set in rules
of a known id, and add others. A rule that replaces keys needs a source of its own too.

Keys of a rule (required unless marked optional)
    id           str    area.what
    screen       str    its name on esxtop's screen
    kind         str    the object of one value: vm, device, nfs, adapter, path, port, pcpu, node, vsan, host
    value        str    expression over the series of that kind (`series`), in SQL
    unit         str    unit of the value and of the limits
    direction    str    "above": bad when large; "below": bad when small
    warn         float  from here on a warning
    critical     float  optional: from here on critical
    floor        float  optional: with less activity than this a sample is not judged,
    floor_of     str    with `floor`: the activity, an expression too
    floor_unit   str    with `floor`: its unit
    below_floor  int    optional: unless so many samples in a row are bad, as for a device that hardly answers
    persist      int    optional: samples in a row that make a symptom; 3
    meaning, causes, next   str   optional: its meaning, possible causes, and the next thing to look at
    source       str    the origin of each number
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, Literal

from esxparse.derived.catalogue import TABLES
from esxparse.diagnosis import series
from esxparse.errors import EsxparseError
from esxparse.recording import as_html
from esxparse.sortable import table
from esxparse.toml.checked import Prose, checked, choose, guess, read, written
from esxparse.toml.document import Document
from esxparse.toml.lines import Place

Verdict = Literal["ok", "warning", "critical"]

_OF_CASES: Final = frozenset(
    ["capture.gap", "cpu.costop", "cpu.helper_world", "cpu.overlap", "cpu.timers", "memory.balloon", "network.duplex"]
) | {"numa.migrations", "numa.wide_vm"}
"""Rules that share their id with a case: profiles of users replace them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; the module docstring explains its keys."""

    id: Prose
    screen: Prose
    kind: Prose
    value: Prose
    unit: Prose
    direction: Literal["above", "below"]
    warn: float
    source: Prose
    critical: float | None = None
    floor: float | None = None
    floor_of: Prose = ""
    floor_unit: Prose = ""
    below_floor: int | None = None
    persist: int = 3
    meaning: Prose = ""
    causes: Prose = ""
    next: Prose = ""

    def mistakes(self) -> Iterator[tuple[Place, str]]:
        """Yield keys that contradict each other, the id of a case, and series that no capture can have."""
        if self.id not in _OF_CASES and (resources.files("esxparse.diagnosis.cases") / f"{self.id}.toml").is_file():
            yield ("id",), f'the id "{self.id}" is taken by a case; choose another'
        if len({self.floor is None, not self.floor_of, not self.floor_unit}) > 1:
            yield ("floor",), "a floor has three keys; write floor, floor_of and floor_unit"
        sign = 1 if self.direction == "above" else -1
        if self.critical is not None and self.critical * sign < self.warn * sign:
            yield (
                ("critical",),
                f"critical is {self.critical:g}, which is reached before warn, {self.warn:g}; swap them",
            )
        if self.kind not in TABLES:
            yield ("kind",), f"kind is {written(self.kind)}; write {choose(self.kind, TABLES)}"
            return
        yield from ((("value",), f"value {mistake}") for mistake in series.mistakes(self.kind, self.value))
        if self.floor_of:
            yield from ((("floor_of",), f"floor_of {mistake}") for mistake in series.mistakes(self.kind, self.floor_of))

    @property
    def reads(self) -> frozenset[str]:
        """The series in its value."""
        return series.roots(self.value)

    @property
    def activity(self) -> frozenset[str]:
        """The series in its floor."""
        return series.roots(self.floor_of) if self.floor_of else frozenset()

    @property
    def tables(self) -> frozenset[str]:
        """The tables that it needs to be judged."""
        found = [series.tables(self.kind, name) for name in self.reads]
        return frozenset(table for one in found if one for table in one)

    def judge(self, value: float | None, activity: float | None = None) -> Verdict:
        """Return whether a value is "ok", a "warning" or "critical".

        Above: at the limit or over it; anything over 0 passes a limit of 0. Below: under the limit. A missing value
        (None or NaN) is "ok".

        Args:
            value: The measured value, in `unit`.
            activity: The activity during the measurement, in `floor_unit`. Below the floor the answer is "ok". Without
                it the floor is not looked at.

        >>> ready = load("standard")["cpu.ready"]
        >>> ready.judge(4.9), ready.judge(5.0), ready.judge(10.0)
        ('ok', 'warning', 'critical')
        >>> load("standard")["network.drop_rx"].judge(50.0, activity=2.0)  # 1 of 2 packets
        'ok'
        """
        idle = self.floor is not None and activity is not None and activity < self.floor
        if value is None or math.isnan(value) or idle:
            return "ok"
        if self.critical is not None and self.passes(value, self.critical):
            return "critical"
        return "warning" if self.passes(value, self.warn) else "ok"

    def passes(self, value: Any, limit: float) -> Any:
        """Return whether a value, or each of an array, is as bad as a limit or worse."""
        if self.direction == "below":
            return value < limit
        return value > 0 if limit == 0 else value >= limit


def profiles() -> tuple[str, ...]:
    """Return the names of the profiles that come with the package.

    >>> profiles()
    ('standard', 'strict')
    """
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if _is_toml(entry.name)))


def load(profile: str | Path = "standard") -> Mapping[str, Rule]:
    """Read a profile: its rules by id.

    `profile`: the name of one that comes with the package (see `profiles`), or the path of a .toml file.

    Raises EsxparseError: The profile does not exist, the file cannot be read, or a rule is invalid; the message has
    file and line.

    >>> standard = load("standard")
    >>> standard["disk.davg"].warn, standard["disk.davg"].critical, standard["disk.davg"].unit
    (20.0, 25.0, 'ms')
    """
    name = str(profile)
    return Rules(_read(Path(profile), {}) if _is_toml(name) else _shipped(name))


class Rules(Mapping[str, Rule]):
    """Rules by id, read-only; a notebook shows them as a table."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules

    def __getitem__(self, key: str) -> Rule:
        return self._rules[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __repr__(self) -> str:
        return f"{len(self)} rules: {', '.join(self)}"

    def _repr_html_(self) -> str:
        rows = [
            (
                one.id,
                as_html(f"{one.screen}, {one.unit}" if one.unit else one.screen),
                one.direction,
                f"{one.warn:g}",
                "" if one.critical is None else f"{one.critical:g}",
                as_html(one.source),
            )
            for one in self.values()
        ]
        return table(("rule", "counter", "bad if", "warning", "critical", "source"), rows)


@dataclass(frozen=True)
class _Profile:
    """The keys of a file; a rule may leave out keys that it takes from an underlying rule."""

    title: str = ""
    extends: str | None = None
    rule: tuple[Mapping[str, Any], ...] = ()


@cache
def _shipped(name: str) -> Mapping[str, Rule]:
    if name not in profiles():
        raise EsxparseError(f"unknown thresholds profile {name!r}; use {choose(name, profiles())}, or a .toml file")
    return _read(_folder() / f"{name}.toml", _all())


def _keys_set(rule: Rule) -> dict[str, Any]:
    """Return the keys of a rule that are set."""
    return {key: value for key, value in asdict(rule).items() if value not in {None, ""}}


@cache
def _all() -> Mapping[str, Rule]:
    found: dict[str, Rule] = {}
    for entry in sorted(resources.files(__package__).iterdir(), key=lambda one: one.name):
        if _is_toml(entry.name):
            found |= _read(entry, {})
    return found


def _folder() -> Traversable:
    return resources.files("esxparse.diagnosis") / "profiles"


def _is_toml(name: str) -> bool:
    return name.lower().endswith(".toml")


def _read(source: Path | Traversable, under: Mapping[str, Rule]) -> Mapping[str, Rule]:
    """Return the rules of a file, on top of the rules `under` it and of the profile that it extends."""
    document = Document.read(source)
    profile = read(document, _Profile)
    if profile.extends is not None and profile.extends not in profiles():
        what = f"extends is {written(profile.extends)}; write {choose(profile.extends, profiles())}"
        raise document.error(what, "extends")
    rules = dict(under if profile.extends is None else _shipped(profile.extends))
    below, seen = dict(rules), set[str]()
    for number, entry in enumerate(profile.rule):
        place = ("rule", number)
        replaced = below.get(str(entry.get("id")))
        if replaced and "source" not in entry:
            raise document.error(
                "source is missing; write one, for a rule that replaces another needs its own source", *place
            )
        if not replaced and "value" not in entry and (question := guess(entry.get("id"), below)):
            what = f"there is no rule {written(entry['id'])} to change{question}"
            raise document.error(f"{what}; correct the id, or write value = ... for a new rule", *place, "id")
        made = checked(document, Rule, {**(_keys_set(replaced) if replaced else {}), **entry}, *place)
        if made.id in seen:
            raise document.error(
                f"the id {written(made.id)} is given twice; rename or remove one of them", *place, "id"
            )
        seen.add(made.id)
        rules[made.id] = made
    if not rules:
        raise document.error("the profile has no rules; write [[rule]] entries")
    return rules
