"""Directories of `esxparse collect vcenter`: the names of their files, and what is in the log and the inventory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse.formats.collected import NAME as COLLECTED
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.objects import mapping, mappings
from esxparse.formats.kit.tables import Row, frames
from esxparse.formats.source import resolve
from esxparse.formats.vcenter.history import EVENTS, TASKS, instant
from esxparse.recording import first_few, printable
from esxparse.schema import TIME, Schema

__all__ = [
    "COLLECTED",
    "COLLECTOR",
    "COUNTERS",
    "EVENTS",
    "INVENTORY",
    "NOT_COLLECTED",
    "TASKS",
    "facts",
    "inventory",
    "is_collection",
    "not_collected",
]

COLLECTOR: Final = "esxparse collect vcenter"
COUNTERS: Final = "counters.jsonl.gz"
INVENTORY: Final = "inventory.json"
NOT_COLLECTED: Final = "not collected: "
"""How the note on a missing part begins."""
_PREFIX: Final = "inventory_"
_LARGEST: Final = 1 << 20
_FAILED: Final = 5
"""Failures of one reason that a note lists."""


def is_collection(folder: Path) -> bool:
    """Return whether a directory is of `esxparse collect vcenter`."""
    with suppress(OSError), (folder / COLLECTED).open(encoding="utf-8", errors="replace") as file:
        return mapping(_parsed(file.readline(_LARGEST))).get("collector") == COLLECTOR
    return False


def _parsed(line: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(line)
    return None


def facts(folder: Path, notes: Notes) -> dict[str, Any]:
    """Return server, release and span of a collection; add a warning for everything that could not be read."""
    lines = (folder / COLLECTED).read_text(encoding="utf-8", errors="replace").splitlines()
    first, *others = [mapping(_parsed(line)) for line in lines]
    failures = [failed for one in others if (failed := mapping(one.get("failed")))]
    for sentence in not_collected((str(one.get("what")), str(one.get("why"))) for one in failures):
        notes.warn(sentence)
    return {name: printable(text) for name in ("server", "release") if isinstance(text := first.get(name), str)}


def not_collected(failures: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each reason, with the first parts that could not be read; `failures`: part and reason."""
    reasons: dict[str, list[str]] = {}
    for what, why in failures:
        reasons.setdefault(why, []).append(what)
    for why, parts in reasons.items():
        yield printable(f"{NOT_COLLECTED}{first_few(parts, _FAILED)} ({why})")


def inventory(folder: Path, notes: Notes) -> dict[str, list[Row]]:
    """Return the rows of the tables `inventory_*`; empty, with a warning, if their file is missing or damaged."""
    file = folder / INVENTORY
    if not file.is_file():
        notes.warn(f"{INVENTORY} is missing: numbers of vCPUs are not known")
        return {}
    try:
        found = json.loads(resolve(file).text().text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        notes.warn(f"{INVENTORY} is damaged: left out")
        return {}
    return {name: mappings(rows) for name, rows in found.items() if name.startswith(_PREFIX)}


def typed(rows: Mapping[str, list[Row]], columns: Mapping[str, Schema]) -> dict[str, pl.LazyFrame]:
    """Return declared tables of rows of JSON, without values of another type."""
    return frames(
        {
            name: (
                [{column: _value(row.get(column), kind) for column, kind in columns[name].items()} for row in found],
                columns[name],
            )
            for name, found in rows.items()
            if name in columns
        }
    )


def _value(value: Any, kind: pl.DataType) -> Any:
    if kind == TIME:
        return value if isinstance(value, datetime) else instant(value)
    if kind == pl.Int64():
        return whole(value) if not isinstance(value, str) else None
    if kind == pl.Float64():
        return number(value) if not isinstance(value, str) else None
    return value if isinstance(value, bool if kind == pl.Boolean() else str) else None
