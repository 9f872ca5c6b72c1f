"""Releases of esxtop: what each prints differently, read from `releases/*.toml`.

Release 6.5 is told whole, the others by how they differ from another (`like`). Keys of a file:

counters      tables whose counters are others: the whole list
after         counters that follow one of the table's: `[after."Group Cpu"]` `"Migrates/sec" = "f - ..."`
without       counters of a table that are not there, or `true` for a table that is not
objects       what a table's object is called
worlds        names of the worlds of a VM, by kind: `{vm}`, `{index}`, `{leader}` stand for what they say
groups        ids of the VMkernel's groups
console       id of the group of a service console, which holds what are processes of the VMkernel later (0: none)
folded        kinds of worlds of a VM that are part of its vmx world
twins         name of a world that stands beside each vCPU's and only waits
and what 6.5.toml says of itself: first_world, first_port, aperf, end_comma, idle_group.

A line of counters is `kind default name`. Kind: `i` whole numbers, `f` two decimals, `t` a text. Default: `*` for
counters that a capture with default fields has too, `-` for the others. What may follow the name: `= OTHER` shows
what the model calls OTHER, `= OTHER - 300` that much less, `= 300` (or, for a text, `= N`) always the same. `@part`
stands for the lines of that part.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal

from esxparse.errors import EsxparseError

Kind = Literal["whole", "decimal", "text", "broken"]
_KINDS: dict[str, Kind] = {"i": "whole", "f": "decimal", "t": "text"}
_LINE = re.compile(r"(?P<kind>[ift]) (?P<default>[*-]) (?P<name>.*?)(?: = (?P<value>.*))?")
_LESS = re.compile(r"(?P<source>.+) - (?P<number>\d+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter: its name as printed and how its cells look.

    The number is that of the model's counter `source` (None: no such, zero) plus `plus`; a text is always `text`.
    """

    name: str
    kind: Kind
    default: bool
    source: str | None
    plus: float = 0.0
    text: str = ""


def counters_of(text: str, parts: Mapping[str, str]) -> tuple[Counter, ...]:
    """The counters of some lines.

    >>> [(row.name, row.source, row.plus) for row in counters_of("i * Free MBytes = Free MBytes - 300", {})]
    [('Free MBytes', 'Free MBytes', -300.0)]
    """
    return tuple(_counter(line) for line in _lines(text, parts))


def _lines(text: str, parts: Mapping[str, str]) -> Iterator[str]:
    """Lines with their parts written out."""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("@"):
            yield from _lines(parts[line[1:]], parts)
        else:
            yield line


def _counter(line: str) -> Counter:
    match = _LINE.fullmatch(line)
    if match is None:
        message = f"not a line of counters: {line!r}. Write `kind default name`, as the file of release 6.5 has them."
        raise EsxparseError(message)
    name, kind, default, value = match["name"], _KINDS[match["kind"]], match["default"] == "*", match["value"]
    if value is None:
        return Counter(name, kind, default, name)
    if kind == "text":
        return Counter(name, kind, default, None, text=value)
    if _NUMBER.fullmatch(value):
        return Counter(name, kind, default, None, plus=float(value))
    less = _LESS.fullmatch(value)
    return (
        Counter(name, kind, default, less["source"], -float(less["number"]))
        if less
        else Counter(name, kind, default, value)
    )


@dataclass(frozen=True, slots=True)
class Release:
    """How one release prints a capture; see the module for the fields."""

    name: str
    title: str
    first_world: int
    first_port: int
    aperf: Literal["column", "broken", "none"]
    end_comma: Literal["always", "never", "default"]
    counters: Mapping[str, tuple[Counter, ...]]
    objects: Mapping[str, str] = field(default_factory=dict)
    worlds: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    idle_group: bool = False
    console: int = 0
    folded: tuple[str, ...] = ()
    twins: str = ""

    def object(self, table: str) -> str:
        """What the object of a table is called; a table is named for its object, a part of one after a `/`."""
        name = table.partition("/")[0]
        return self.objects.get(name, name)


def release_names() -> tuple[str, ...]:
    """The releases there are, oldest first."""
    names = [entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml")]
    return tuple(sorted(names, key=lambda name: [int(part) for part in name.split(".")]))


@lru_cache
def release_of(name: str) -> Release:
    """The release of that name.

    Raises:
        EsxparseError: there is no such release.

    >>> release_of("6.7").first_world
    2097152
    """
    if name not in release_names():
        raise EsxparseError(f"no esxtop grammar for release {name!r}. There are: {', '.join(release_names())}.")
    grammar = _read_grammar(name)
    known = {key: grammar[key] for key in Release.__dataclass_fields__ if key in grammar}
    parts = grammar.get("parts", {})
    counters = {table: counters_of(text, parts) for table, text in grammar["counters"].items()}
    return Release(**{**known, "name": name, "counters": counters, "folded": tuple(grammar.get("folded", ()))})


def _folder() -> Any:
    return files("esxparse_simulator.esxtop") / "releases"


def _read_grammar(name: str) -> dict[str, Any]:
    """What the file says, laid over what the files before it in the chain say."""
    own = tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    if "like" not in own:
        return own
    base = _read_grammar(own.pop("like"))
    counters: dict[str, str] = {**base["counters"], **own.pop("counters", {})}
    parts = {**base.get("parts", {}), **own.pop("parts", {})}
    for table, gone in own.pop("without", {}).items():
        lines = _lines(counters.pop(table), parts)
        if gone is not True:
            counters[table] = "\n".join(line for line in lines if _name(line) not in gone)
    for table, rows in own.pop("after", {}).items():
        grown = ([line, *filter(None, [rows.get(_name(line))])] for line in _lines(counters[table], parts))
        counters[table] = "\n".join(chain.from_iterable(grown))
    merged = {key: {**base.get(key, {}), **own.pop(key, {})} for key in ("objects", "worlds", "groups")}
    return {**base, **own, **merged, "counters": counters, "parts": parts}


def _name(line: str) -> str:
    return line.split(" ", 2)[2].partition(" = ")[0]
