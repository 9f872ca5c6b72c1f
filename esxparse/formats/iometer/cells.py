"""Numbers in the cells of an Iometer result file, and the notes on those that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esxparse.formats.kit.numbers import LARGEST
from esxparse.formats.kit.numbers import number as plain_number
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse.formats.iometer.columns import Column

_DIGITS = 20
_UNSIGNED_NEGATIVE = (1 << 64) - (1 << 16)
"""From here on, 64 bits without sign are what a small negative number was printed as."""


Odd = list[tuple[str, int, int, str]]
"""Cells that hold no number, and such as are too large: what is wrong, line, place in the line, text."""


def notes_on(odd: Odd) -> Iterator[Note]:
    """One note for each kind of oddity, with its first place."""
    for kind in dict.fromkeys(what for what, *_ in odd):
        places = [place for place in odd if place[0] == kind]
        _, line, column, text = places[0]
        more = f" ({len(places):,} of them)" if len(places) > 1 else ""
        yield Note(f"{text[:40]!r} {kind}: taken for unknown{more}", line, column, severity="warning")


def number(text: str, separator: str) -> float | None:
    """The number in a cell; where cells are not separated by commas, a comma is a decimal one.

    >>> number("1,5", ";"), number("1.5", ";"), number("1.5", ","), number("1,5", ","), number("1.#INF", ",")
    (1.5, 1.5, 1.5, None, None)
    """
    return plain_number(text, "," if separator != "," and "," in text else ".")


def _whole(text: str, separator: str) -> int | None:
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) <= _DIGITS else LARGEST + 1
    found = number(text, separator)
    return None if found is None or not found.is_integer() else int(found)


def _wrong(whole: int | None) -> str | None:
    if whole is None:
        return "is no whole number"
    return None if -LARGEST <= whole <= LARGEST else "is too large for a count"


def _count(text: str, column: Column, separator: str, place: tuple[int, int], odd: Odd) -> int | None:
    whole = _whole(text, separator)
    if column.kind == "setting" and whole is not None and (whole < 0 or whole >= _UNSIGNED_NEGATIVE):
        return None
    wrong = _wrong(whole)
    if wrong:
        odd.append((wrong, *place, text))
        return None
    return whole


def value(text: str, column: Column, separator: str, place: tuple[int, int], odd: Odd) -> str | float | int | None:
    """What a cell means in its column; `place` is its line and its place in it, `odd` is added to."""
    if not text or column.kind == "text":
        return text or None
    if column.kind != "number":
        return _count(text, column, separator, place, odd)
    found = number(text, separator)
    if found is None:
        odd.append(("is no number", *place, text))
        return None
    return found * column.factor
