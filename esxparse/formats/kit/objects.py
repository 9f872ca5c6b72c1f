"""JSON that may be damaged, cut, or not as its writer promises."""

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
    """Pause the collector of cyclic garbage, which takes a third of the time when millions of objects are made."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


GIVEN_UP = "damaged in so many places that the rest is left out"

NOT_A_NUMBER = re.compile(r"(?<=[:\s,\[])[-+]?(?:nan|inf)(?=\s*[,}\]\n])", re.IGNORECASE)
"""Not-a-number as C prints it, which JSON does not allow."""

_DECODER = json.JSONDecoder()
_PER_CHARACTER = 8
_AT_LEAST = 1 << 20
_NEAR = 1 << 10
"""Characters in which lines are counted again each time."""
_TOO_DEEP = 20_000
"""The cost of a document nested too deeply: the decoder does not report how far it came."""


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list."""
    return [one for one in listed(value) if isinstance(one, dict)]


class _Uncounted(str):
    """A text without a line count: `JSONDecodeError` would count the lines before each error from the first one."""

    __slots__ = ()

    def count(self, *_: object) -> int:
        return 0

    def rfind(self, *_: object) -> int:
        return 0


class Effort:
    """A limit on characters decoded in vain, so that reading stays linear in the file, however damaged."""

    def __init__(self, text: str) -> None:
        self.plain = text
        """The text itself."""
        self._left = _PER_CHARACTER * len(text) + _AT_LEAST

    @cached_property
    def text(self) -> str:
        """The text for a decoder; its errors have a place (`pos`) but no line."""
        return _Uncounted(self.plain)

    def decode(self, begin: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int]:
        """Return the value that begins at a place, and its end.

        Raises:
            ValueError, RecursionError: The value could not be decoded. The failure is counted.
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
        """Whether the limit is reached: the rest of the file is left out, with a note."""
        return self._left < 0


class Places:
    """The beginnings of lines in a text, counted once, when first needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def starts(self) -> array[int]:
        """The place where each line begins."""
        return array("q", (0, *(match.end() for match in re.finditer("\n", self._text))))

    @cached_property
    def last(self) -> int:
        """The last line that is not blank."""
        return self.line(max(len(self._text.rstrip()) - 1, 0))

    def line(self, at: int) -> int:
        """Return the line of a place, from 1."""
        # Most callers only need the first document.
        return self._text.count("\n", 0, at) + 1 if at < _NEAR else bisect_right(self.starts, at)

    def of(self, at: int) -> tuple[int, int]:
        """Return line and column of a place, from 1."""
        line = self.line(at)
        return line, at - self.starts[line - 1] + 1


_NEXT = re.compile(r"(?<=\n)\{|(?<=\},)\{")


def each_object(text: str, notes: Notes) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the objects of a text, in a list or in lines, with their lines; note damaged ones.

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
