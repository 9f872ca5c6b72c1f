"""The items of the audit, read from items.toml, which explains its keys at the top."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from esxparse import toml

Subject = Literal["host", "vm", "connection server"]


@dataclass(frozen=True)
class Item:
    """One prerequisite or best practice."""

    id: str
    area: str
    title: str
    subject: Subject
    source: str
    next: str
    setting: str = ""
    allowed: tuple[str, ...] = ()
    least: float | None = None
    default: str | None = None
    check: str = ""


@cache
def items() -> tuple[Item, ...]:
    """Return all items, in the order in which they are shown."""
    found: list[dict[str, Any]] = toml.beside(__file__)["item"]
    return tuple(Item(**one | {"allowed": tuple(one.get("allowed", ()))}) for one in found)
