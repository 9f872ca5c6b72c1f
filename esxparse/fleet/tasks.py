"""One item of many, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from esxparse.errors import EsxparseError


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an item."""

    place: int
    """Which item, from 0."""
    result: Any = None
    why: str = ""
    """Why there is no result, in one line; empty if there is one."""
    own: bool = False
    """Whether that is an error of the item's own, which names it."""

    def why_of(self, name: str) -> str:
        """Why there is no result of the item of this name."""
        return self.why if self.own else f"{name}: {self.why}"


def own(work: Callable[[Any], Any], place: int, item: Any) -> Done:
    """Does the work; an error of the item's own is an answer, any other is raised."""
    try:
        return Done(place, work(item))
    except EsxparseError as error:
        return Done(place, why=str(error), own=True)


def said(error: BaseException) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())[:400]
