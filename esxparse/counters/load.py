"""The catalogue's files read into `Counter`s.

`data/objects.toml` lists esxtop's objects in order of precedence; every other file of `data/` is a family of counters.
In those, `[defaults]` gives the fields that an entry of `[[counter]]` leaves out.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from esxparse.counters.model import Counter

_DATA = Path(__file__).parent / "data"
_OBJECTS = "objects.toml"
_LISTS = ("objects", "releases", "aliases")


def _toml(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 (only who asks for a counter pays for the parser)

    with path.open("rb") as file:
        return tomllib.load(file)


@cache
def objects() -> dict[str, dict[str, str]]:
    """Esxtop's objects by name, in order of precedence: `name`, `view`, `row` and `total` of each."""
    return {entry["name"]: entry for entry in _toml(_DATA / _OBJECTS)["object"]}


def _entries() -> list[dict[str, Any]]:
    families = sorted(path for path in _DATA.glob("*.toml") if path.name != _OBJECTS)
    return [
        {"weight": None, **family["defaults"], **entry}
        for family in map(_toml, families)
        for entry in family["counter"]
    ]


def _under_each_object(entry: dict[str, Any]) -> list[Counter]:
    """One `Counter` per object of an entry: that object first, with its screen and its total rows."""
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
    """The catalogue, entry by entry, each as one `Counter` per object it appears under."""
    return tuple(tuple(_under_each_object(entry)) for entry in _entries())
