"""Look up a counter by any of its names.

A name is first looked up as one of the screen's (`%RDY`), then of the capture's (`% Ready`), then of a column
(`pct_ready`), then as another spelling from the documents; case and blanks do not matter. If several objects have the
name, the order of `data/objects.toml` decides: groups before worlds, VMs and host before disks, storage devices before
adapters, paths and virtual disks. So `%USED` is CPU of a group (the disks' is `%USD`), `MBREAD/s` belongs to a device,
`AMIN` is CPU, and `ZERO` is memory. `object=` chooses another.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from esxparse.counters.model import FAMILY_MARK, Counter
from esxparse.counters.naming import table_name
from esxparse.errors import EsxparseError

_DATA = Path(__file__).parent / "data"
_OBJECTS = "objects.toml"
_LISTS = ("objects", "releases", "aliases")


def _toml(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 (only who asks for a counter pays for the parser)

    with path.open("rb") as file:
        return tomllib.load(file)


@cache
def objects() -> dict[str, dict[str, str]]:
    """Return esxtop's objects by name, in order of precedence: `name`, `view`, `row` and `total` of each."""
    return {entry["name"]: entry for entry in _toml(_DATA / _OBJECTS)["object"]}


def _entries() -> list[dict[str, Any]]:
    families = sorted(path for path in _DATA.glob("*.toml") if path.name != _OBJECTS)
    return [
        {"weight": None, **family["defaults"], **entry}
        for family in map(_toml, families)
        for entry in family["counter"]
    ]


def _under_each_object(entry: dict[str, Any]) -> list[Counter]:
    """Return one `Counter` per object of an entry: that object first, with its screen and its total rows."""
    fields = entry | {name: tuple(entry.get(name, ())) for name in _LISTS}
    first = fields["objects"][0]
    counter = Counter(**{"view": objects()[first]["view"], **fields})
    return [
        replace(
            counter,
            objects=(name, *(other for other in counter.objects if other != name)),
            view=entry.get("view", objects()[name]["view"]),
            total_rows=objects()[name]["total"],
        )
        for name in counter.objects
    ]


@cache
def placed_counters() -> tuple[tuple[Counter, ...], ...]:
    """Return the catalogue, entry by entry, each as one `Counter` per object it appears under."""
    return tuple(tuple(_under_each_object(entry)) for entry in _entries())


_NEAREST = 3


class UnknownCounterError(EsxparseError):
    """No counter or object has that name; the message has the nearest ones."""


def catalogue() -> tuple[Counter, ...]:
    """Return every counter of the catalogue, one entry per batch name and set of objects that share it."""
    return tuple(placed[0] for placed in placed_counters())


def counter(name: str, object: str | None = None) -> Counter:  # noqa: A002 (esxtop's own word)
    """Return the counter of that name.

    `name`: name on the screen, in a capture or of a column; case and blanks do not matter. `object`: esxtop object or
    table to look in, if several have the name.

    Raises UnknownCounterError: no counter has the name, or none of the object has; the message has the nearest three.

    >>> counter("%RDY").column, counter("DAVG/cmd").unit
    ('pct_ready', 'ms')
    >>> counter("MBREAD/s").table, counter("MBREAD/s", object="virtual_disk").table
    ('physical_disk_scsi_device', 'virtual_disk')
    >>> counter("%C6").column
    'pct_c_state_c6'
    """
    table = None if object is None else _known_table(object)
    key = plain_name(name)
    found = _by_name().get(key) or tuple(_members(key))
    for candidate in found:
        if table in (None, candidate.table):
            return candidate
    raise UnknownCounterError(_not_found(name, table, found))


def lookup(table: str, column: str) -> Counter | None:
    """Return the counter that a table's column holds, None if the catalogue has none.

    A second column of one name (`free_mbytes_2`) without an entry of its own is the same counter.

    >>> lookup("vcpu", "pct_ready")
    Counter('%RDY', vcpu.pct_ready, '% of one core')
    >>> lookup("vcpu", "world") is None
    True
    """
    exact = _by_column().get((table, column))
    if exact is not None:
        return exact
    member = next(
        (found for found in _members(plain_name(column)) if (found.table, found.column) == (table, column)), None
    )
    if member is not None:
        return member
    repeated = re.fullmatch(r"(.+)_([2-9]|[1-9][0-9]+)", column)
    first = _by_column().get((table, repeated[1])) if repeated else None
    return None if first is None or repeated is None else replace(first, occurrence=int(repeated[2]))


def plain_name(name: str) -> str:
    """Return a counter's name as a key: case and blanks do not matter."""
    return "".join(name.split()).casefold()


def _placed() -> list[Counter]:
    return [counter_ for placed in placed_counters() for counter_ in placed]


@cache
def _by_column() -> dict[tuple[str, str], Counter]:
    return {(found.table, found.column): found for found in _placed()}


@cache
def _by_name() -> dict[str, tuple[Counter, ...]]:
    """Return counters by every name, in the module's order of precedence."""
    precedence = {name: rank for rank, name in enumerate(objects())}
    ranked: defaultdict[str, list[tuple[int, int, int, Counter]]] = defaultdict(list)
    for found in _placed():
        kinds = ([found.screen], [found.batch], [found.column], found.aliases)
        for kind, names in enumerate(kinds):
            for name in filter(None, names):
                ranked[plain_name(name)].append((kind, precedence[found.objects[0]], found.occurrence, found))
    return {
        name: tuple(dict.fromkeys(entry[-1] for entry in sorted(entries, key=lambda entry: entry[:-1])))
        for name, entries in ranked.items()
    }


@cache
def _family_patterns() -> tuple[tuple[re.Pattern[str], Counter], ...]:
    return tuple(
        (re.compile(re.escape(plain_name(name).removesuffix(FAMILY_MARK)) + "(0|[1-9][0-9]?)"), found)
        for found in _placed()
        if found.is_family
        for name in (found.screen, found.batch, found.column)
    )


def _members(key: str) -> list[Counter]:
    matches = ((pattern.fullmatch(key), family) for pattern, family in _family_patterns())
    return [
        replace(
            family,
            batch=family.batch.replace(FAMILY_MARK, match[1]),
            screen=family.screen.replace(FAMILY_MARK, match[1]),
            aliases=(),
        )
        for match, family in matches
        if match
    ]


def _known_table(name: str) -> str:
    tables = {table_name(known): known for known in objects()}
    table = table_name(name)
    if table in tables:
        return table
    nearest = ", ".join(_nearest(table, tables))
    raise UnknownCounterError(f'the catalogue has no esxtop object "{name}"; the nearest are {nearest}')


def _not_found(name: str, table: str | None, elsewhere: tuple[Counter, ...]) -> str:
    if elsewhere:
        tables = ", ".join(dict.fromkeys(found.table for found in elsewhere))
        return f'"{name}" is not a counter of {table}; ask for one of {tables}, or leave the object out'
    spellings = {
        spelling.replace(FAMILY_MARK, "0"): found.column
        for found in _placed()
        if table in (None, found.table)
        for spelling in (found.screen, found.batch, *found.aliases)
        if spelling
    }
    where = "" if table is None else f" of {table}"
    nearest = ", ".join(f'"{near}"' for near in _nearest(name, spellings))
    return (
        f'no counter{where} is called "{name}"; the nearest are {nearest}. '
        "Names of the screen, of a capture and of columns all work; esxparse.counters.catalogue() lists them all"
    )


def _nearest(name: str, spellings: Mapping[str, str]) -> list[str]:
    """Return the three most similar spellings, one for each value of the mapping."""
    from difflib import SequenceMatcher  # noqa: PLC0415 (only for mistakes)

    likeness = SequenceMatcher(b=name.strip().casefold(), autojunk=False)

    def unlike(spelling: str) -> float:
        likeness.set_seq1(spelling.casefold())
        return -likeness.ratio()

    best: dict[str, str] = {}
    for spelling in sorted(spellings, key=unlike):
        best.setdefault(spellings[spelling], spelling)
    return list(best.values())[:_NEAREST]
