"""Decimal marks and thousands separators: a file has one of each, derived from all its cells.

A cell such as `0,78` or `1.234,5` shows which mark precedes the decimals. `1,234` alone does not: it is refused unless
another cell shows the mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from esxparse.errors import EsxparseError
from esxparse.formats.kit.numbers import number
from esxparse.formats.opening import Decimal
from esxparse.recording import Note

Place = tuple[int, int]
"""Line and column of a cell, from 1."""

POINT, COMMA = ".", ","
_SIGNS = {"point": POINT, "comma": COMMA}
_PRINTED = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
"""Blanks, apostrophes and minus signs of locales, to their ASCII forms."""


def _shape(decimal: str, group: str) -> re.Pattern[str]:
    """Return the pattern of numbers with that decimal mark: plain, or grouped in one way."""
    indian = rf"[1-9]\d?(?:[{group}]\d\d)+[{group}]\d{{3}}"
    groups = rf"[1-9]\d{{0,2}}(?P<mark>[ '{group}])\d{{3}}(?:(?P=mark)\d{{3}})*|{indian}"
    some = "*" if decimal == POINT else "+"  # programs print `5.`, and nobody writes `5,`
    whole = rf"(?:(?P<groups>{groups})|\d+)(?:[{decimal}]\d{some})?"
    return re.compile(rf"[+-]?(?:{whole}|[{decimal}]\d+)(?P<power>[eE][+-]?\d+)?")


_SHAPES = {POINT: _shape(POINT, COMMA), COMMA: _shape(COMMA, POINT)}
_MARKED = re.compile(r"[.,' \u00a0\u202f\u2009\u2019\u2212]")


@lru_cache(1 << 16)
def _plain(text: str, decimal: str) -> str | None:
    """Return a number as Python writes it, or None if the text is not a number with that decimal mark."""
    printed = text.strip().translate(_PRINTED)
    found = _SHAPES[decimal].fullmatch(printed)
    if found is None or (found["groups"] and found["power"]):
        return None
    for group in {POINT, COMMA, " ", "'"} - {decimal}:
        printed = printed.replace(group, "")
    return printed.replace(decimal, POINT)


def settles(text: str) -> str | None:
    """Return the decimal mark that a cell proves: the only one with which it is a number.

    >>> settles("0,78"), settles("1,234.50"), settles("1.234.567"), settles("1 234,567"), settles("1,234")
    (',', '.', ',', ',', None)
    """
    readings = [decimal for decimal in _SHAPES if _plain(text, decimal) is not None]
    return readings[0] if len(readings) == 1 else None


def is_ambiguous(text: str) -> bool:
    """Return whether a cell is one number with a decimal point, and another with a decimal comma.

    >>> is_ambiguous("1,234"), is_ambiguous("0,785"), is_ambiguous("1234")
    (True, False, False)
    """
    point, comma = (_plain(text, decimal) for decimal in _SHAPES)
    return point is not None and comma is not None and point != comma


@dataclass(frozen=True)
class Marks:
    """The decimal mark of a file, and how its numbers are grouped."""

    decimal: str = POINT
    notes: tuple[Note, ...] = ()

    def plain(self, text: str) -> str:
        """Return a number as Python writes it; any other text as it is.

        >>> Marks(",").plain("1.234,5"), Marks(".").plain("1'234.50"), Marks(".").plain("0,1")
        ('1234.5', '1234.50', '0,1')
        """
        if not _MARKED.search(text):
            return text
        found = _plain(text, self.decimal)
        return text if found is None else found

    def number(self, text: str) -> float | None:
        """Return the finite number that a cell spells, or None.

        >>> Marks(",").number("1.234,5"), Marks(",").number("1,234.5"), Marks(".").number("n/a")
        (1234.5, None, None)
        """
        plain = self.plain(text)
        return None if COMMA in plain else number(plain)


def marks_of(
    texts: Iterable[str],
    where: Callable[[str], Place],
    decimal: Decimal | None = None,
    *,
    beside: Iterable[str] = (),
) -> Marks:
    """Return the decimal mark of a file.

    Args:
        texts: Its cells with numbers; once each is enough.
        where: The first place of a cell.
        decimal: The option of that name.
        beside: Cells that may not be numbers. They count if no number has a mark. A list such as `0,1` does not show
            how to read `1,234`.

    Raises:
        EsxparseError: A number is ambiguous and no other settles it, or two contradict each other.
    """
    marked = [text for text in dict.fromkeys(texts) if _MARKED.search(text)]
    beside = list(beside)
    if decimal:
        return _with_notes(_SIGNS[decimal], [*marked, *beside], where)
    proofs = _proofs(marked)
    if len(proofs) > 1:
        point, comma = (f"{proofs[sign]!r} ({_place_text(where(proofs[sign]))})" for sign in (POINT, COMMA))
        msg = (
            f"{point} has a decimal point and {comma} has a decimal comma: export the file again in one locale, or set "
            "decimal= to point or comma (on the command line --decimal); numbers with the other mark are then left out"
        )
        raise EsxparseError(msg)
    if not proofs and (doubtful := next(filter(is_ambiguous, marked), None)) is not None:
        small, large = sorted((str(_plain(doubtful, sign)) for sign in _SHAPES), key=len, reverse=True)
        place = _place_text(where(doubtful))
        msg = (
            f"nothing in the file shows whether {doubtful!r} ({place}) is {small} or {large}: set decimal= to "
            "point or comma (on the command line --decimal)"
        )
        raise EsxparseError(msg)
    if not proofs:
        proofs = _proofs(beside)
        proofs = proofs if len(proofs) == 1 else {}
    return _with_notes(next(iter(proofs), POINT), [*marked, *beside], where)


def marks_of_cells(cells: Iterable[tuple[str, Place]], decimal: Decimal | None = None) -> Marks:
    """Return the result of `marks_of` for cells with their places."""
    places: dict[str, Place] = {}
    for text, place in cells:
        places.setdefault(text, place)
    return marks_of(places, places.__getitem__, decimal)


def _proofs(texts: Iterable[str]) -> dict[str, str]:
    """Return the first cell that proves each decimal mark."""
    found: dict[str, str] = {}
    for text in texts:
        if (sign := settles(text)) is not None:
            found.setdefault(sign, text)
    return found


def _place_text(place: Place) -> str:
    return f"line {place[0]}, column {place[1]}"


def _with_notes(decimal: str, marked: Iterable[str], where: Callable[[str], Place]) -> Marks:
    """Return the marks, with a note on each mark that programs do not print."""
    notes = []
    read = {text: plain for text in marked if (plain := _plain(text, decimal)) is not None}
    if decimal == COMMA and (cell := next((text for text in read if COMMA in text), None)) is not None:
        notes.append(Note(f"numbers have a decimal comma, as in {cell!r}", *where(cell)))
    printed = {text: text.strip().translate(_PRINTED).replace(decimal, POINT) for text in read}
    if (grouped := next((text for text in read if printed[text] != read[text]), None)) is not None:
        notes.append(Note(f"numbers have thousands separators, as in {grouped!r}: removed", *where(grouped)))
    return Marks(decimal, tuple(notes))
