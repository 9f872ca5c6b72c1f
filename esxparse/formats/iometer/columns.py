"""Titles of the columns of an Iometer result file, and their columns in the table.

Titles are the program's, in lower case. Releases before 1.1.0 have fewer, and may have others: these are kept under
a name made from their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.kit.marks import POINT, Marks, is_ambiguous, settles
from esxparse.formats.kit.numbers import LARGEST
from esxparse.formats.kit.tables import data, schemas
from esxparse.recording import Note

_DIGITS = 20
_UNSIGNED_NEGATIVE = (1 << 64) - (1 << 16)
"""Smallest unsigned 64-bit number that was printed for a small negative one."""


Odd = list[tuple[str, int, int, str]]
"""Cells without a number, or with one that is too large: the problem, line, place in the line, text."""


def notes_on(odd: Odd) -> Iterator[Note]:
    """Yield one note for each kind of oddity, with its first place."""
    for kind in dict.fromkeys(what for what, *_ in odd):
        places = [place for place in odd if place[0] == kind]
        _, line, column, text = places[0]
        more = f" ({len(places):,} of them)" if len(places) > 1 else ""
        yield Note(f"{text[:40]!r} {kind}: left empty{more}", line, column, severity="warning")


def number(text: str) -> float | None:
    """Return the number in a cell, in any locale; Iometer writes six decimals, or none.

    >>> number("1,5"), number("1.5"), number("1.234,567890"), number("1.#INF")
    (1.5, 1.5, 1234.56789, None)

    Raises:
        EsxparseError: Another program saved the file, and the number has a mark before three digits.
    """
    if is_ambiguous(text):
        msg = f"nothing shows whether {text!r} has decimals or thousands: save it again without thousands separators"
        raise EsxparseError(msg)
    return Marks(settles(text) or POINT).number(text)


def _whole(text: str) -> int | None:
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) <= _DIGITS else LARGEST + 1
    found = number(text)
    return None if found is None or not found.is_integer() else int(found)


def _wrong(whole: int | None) -> str | None:
    if whole is None:
        return "is not a whole number"
    return None if -LARGEST <= whole <= LARGEST else "is too large for a count"


def _count(text: str, column: Column, place: tuple[int, int], odd: Odd) -> int | None:
    whole = _whole(text)
    if column.kind == "setting" and whole is not None and (whole < 0 or whole >= _UNSIGNED_NEGATIVE):
        return None
    if wrong := _wrong(whole):
        odd.append((wrong, *place, text))
        return None
    return whole


def value(text: str, column: Column, place: tuple[int, int], odd: Odd) -> str | float | int | None:
    """Return the value of a cell in its column; `place` is its line and its place in it, problems go to `odd`."""
    if not text or column.kind == "text":
        return text or None
    if column.kind != "number":
        return _count(text, column, place, odd)
    if (found := number(text)) is None:
        odd.append(("is not a number", *place, text))
        return None
    return found * column.factor


Kind = Literal["text", "number", "count", "setting"]


@dataclass(frozen=True)
class Column:
    """A column of the table `results`."""

    name: str
    kind: Kind = "number"
    factor: float = 1.0


SCHEMAS = schemas(__file__)
_KINDS: Mapping[pl.DataType, Kind] = {pl.String(): "text", pl.Float64(): "number", pl.Int64(): "count"}


def _by_title(table: str) -> dict[str, Column]:
    """Return the columns of a table by their titles."""
    definitions = data(__file__)
    kinds: dict[str, Kind] = {name: _KINDS[kind] for name, kind in SCHEMAS[table].items() if kind in _KINDS}
    kinds |= dict.fromkeys(definitions["settings"], "setting")
    factors = definitions["factors"]
    return {
        title: Column(name, kinds[name], factors.get(title, 1.0))
        for title, name in definitions["titles"][table].items()
    }


RESULTS, ACCESS_SPECS = _by_title("results"), _by_title("access_specs")

TIME_COLUMNS = frozenset({"timestamp", "time stamp", "time"})
"""Possible names of a column of times before the others, in a log of updates."""

_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_BIN = re.compile(rf"(?:(?P<over>>=?)\s*)?(?P<low>{_NUMBER})(?:\s*to\s*(?P<high>{_NUMBER}))?\s*(?P<unit>[um]?s)")
_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def latency_bin(title: str) -> tuple[float, float | None] | None:
    """Return the limits of a latency bin in milliseconds, from the title of its column; None for any other column.

    >>> latency_bin("0.5 to 1 mS"), latency_bin(" >= 10 s"), latency_bin("IOps")
    ((0.5, 1.0), (10000.0, None), None)
    """
    found = _BIN.fullmatch(title.strip().lower().replace(",", "."))
    if not found or bool(found["over"]) == bool(found["high"]):
        return None
    factor = _MILLISECONDS[found["unit"]]
    low = round(float(found["low"]) * factor, 6)
    return low, None if found["high"] is None else round(float(found["high"]) * factor, 6)


def own_name(title: str) -> str:
    """Return a column name for an unknown title.

    >>> own_name("% Nice Time"), own_name("Blocks/Second")
    ('pct_nice_time', 'blocks_per_second')
    """
    text = title.lower().replace("%", " pct ").replace("/", " per ").replace("#", " ")
    return re.sub(r"[^a-z0-9]+", "_", text).strip("_") or "unnamed"
