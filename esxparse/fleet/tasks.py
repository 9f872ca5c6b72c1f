"""One item of many, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from esxparse.errors import EsxparseError


@dataclass(frozen=True, slots=True)
class Done:
    """The result for an item."""

    place: int
    """The item's place, from 0."""
    result: Any = None
    why: str = ""
    """Why there is no result, in one line; empty if there is one."""
    own: bool = False
    """Whether that is the item's own error, which already includes its name."""

    def why_of(self, name: str) -> str:
        """Return why there is no result for the item of this name."""
        return self.why if self.own else f"{name}: {self.why}"


def own(work: Callable[[Any], Any], place: int, item: Any) -> Done:
    """Do the work; return an error of the item's own as an answer, raise any other."""
    try:
        return Done(place, work(item))
    except EsxparseError as error:
        return Done(place, why=str(error), own=True)


def error_text(error: BaseException) -> str:
    """Return an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())[:400]
