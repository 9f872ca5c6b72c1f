"""JSON that may be damaged, cut, or not what its writer promises."""

from __future__ import annotations

import gc
import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from esxparse.formats.kit.notes import Notes


@contextmanager
def uncollected() -> Iterator[None]:
    """Lets the collector of cyclic garbage rest: it takes a third of the time in which millions of objects are made."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


GIVEN_UP = "damaged in so many places that the rest is left out"

NOT_A_NUMBER = re.compile(r"(?<=[:\s,\[])[-+]?(?:nan|inf)(?=\s*[,}\]\n])", re.IGNORECASE)
"""Not-a-number as C prints it; JSON has no word for it."""

_DECODER = json.JSONDecoder()
_PER_CHARACTER = 8
_AT_LEAST = 1 << 20
_NEAR = 1 << 10
"""Characters in which lines are counted anew each time."""
_TOO_DEEP = 20_000
"""What a document nested too deeply is counted as: the decoder does not say how far it came."""


def mapping(value: Any) -> dict[str, Any]:
    """Return the value, where it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return the value, where it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list."""
    return [one for one in listed(value) if isinstance(one, dict)]


class _Uncounted(str):
    """A text whose lines nobody counts: `JSONDecodeError` counts those before each error, from the first one."""

    __slots__ = ()

    def count(self, *_: object) -> int:
        return 0

    def rfind(self, *_: object) -> int:
        return 0


class Effort:
    """Characters that may still be decoded in vain: reading stays linear in the file, however it is broken."""

    def __init__(self, text: str) -> None:
        self.plain = text
        """The text itself."""
        self._left = _PER_CHARACTER * len(text) + _AT_LEAST

    @cached_property
    def text(self) -> str:
        """The text for a decoder; its errors have a place (`pos`), and no line."""
        return _Uncounted(self.plain)

    def decode(self, begin: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int]:
        """Return the value that begins at a place, and where it ends.

        Raises:
            ValueError, RecursionError: It could not be decoded, which is counted.
        """
        try:
            return decoder.raw_decode(self.text, begin)
        except (ValueError, RecursionError) as error:
            self.failed(error, begin)
            raise

    def failed(self, error: Exception, begin: int) -> None:
        """Count a document that begins at `begin` and could not be decoded."""
        self._left -= error.pos - begin + 1 if isinstance(error, json.JSONDecodeError) else _TOO_DEEP

    @property
    def spent(self) -> bool:
        """Whether no more is tried; what is left of the file is left out, and a note says so."""
        return self._left < 0


class Places:
    """Where the lines of a text begin, counted once, and not before somebody asks."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def starts(self) -> array[int]:
        """The place where each line begins."""
        return array("q", (0, *(match.end() for match in re.finditer("\n", self._text))))

    @cached_property
    def last(self) -> int:
        """The last line with anything in it."""
        return self.line(max(len(self._text.rstrip()) - 1, 0))

    def line(self, at: int) -> int:
        """Return the line of a place, from 1."""
        # Most ask for the first document alone.
        return self._text.count("\n", 0, at) + 1 if at < _NEAR else bisect_right(self.starts, at)

    def of(self, at: int) -> tuple[int, int]:
        """Line and column of a place, from 1."""
        line = self.line(at)
        return line, at - self.starts[line - 1] + 1


_NEXT = re.compile(r"(?<=\n)\{|(?<=\},)\{")


def each_object(text: str, notes: Notes) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the objects of a text one after another, in a list or in lines, with their lines; damaged ones are noted.

    >>> from esxparse.formats.kit.notes import Notes
    >>> [found for _, found in each_object('{"a": 1}\n{"a":\n{"b": 2}', Notes())]
    [{'a': 1}, {'b': 2}]
    """
    effort, places, begin = Effort(text), Places(text), text.find("{")
    while begin >= 0:
        try:
            value, end = effort.decode(begin)
        except (ValueError, RecursionError):
            if effort.spent:
                notes.warn(GIVEN_UP, places.line(begin))
                return
            notes.warn("an object is cut or damaged: left out", places.line(begin))
            following = _NEXT.search(text, begin + 1)
            begin = following.start() if following else -1
            continue
        yield places.line(begin), mapping(value)
        begin = text.find("{", end)
