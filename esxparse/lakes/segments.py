"""The captures of a file one after the other, if several with different columns were joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from esxparse.errors import EsxparseError
from esxparse.formats import esxtop
from esxparse.formats.opening import Opening
from esxparse.formats.registry import recognising
from esxparse.formats.source import Source


class _Made(Protocol):
    @property
    def next_segment(self) -> int | None:
        """The number of the capture that follows in the file, if one does."""


T = TypeVar("T", bound=_Made)


def wants_all(opening: Mapping[str, object]) -> bool:
    """Return whether options of `esxparse.open` do not choose one capture of a file."""
    return opening.get("segment") in {None, ""}


def each(source: Source, opening: Opening, work: Callable[[Opening], T], *, every: bool) -> tuple[list[T], list[str]]:
    """Work on the requested capture, or on every one of the file; return the results, and why some failed.

    Raises:
        EsxparseError: All of them failed: the first error.
    """
    made: list[T] = []
    failed: list[EsxparseError] = []
    number: int | None = opening.segment or 1
    while number:
        try:
            made.append(work(replace(opening, segment=number if number > 1 else None)))
            following = made[-1].next_segment
        except EsxparseError as error:
            failed.append(error)
            following = number + 1 if every and _has(source, opening, number + 1) else None
        number = following if every else None
    if not made:
        raise failed[0]
    return made, list(map(str, failed))


def _has(source: Source, opening: Opening, number: int) -> bool:
    """Return whether a file holds a capture of that number."""
    try:
        reader = recognising(source.head)
        takes = reader is not None and "segment" in reader.options and opening.format in {None, reader.name}
        return takes and esxtop.has_segment(source, number, opening)
    except EsxparseError:
        return False
