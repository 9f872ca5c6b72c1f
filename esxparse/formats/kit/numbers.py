"""Numbers as files write them."""

from __future__ import annotations

import math
import re
from typing import cast

LARGEST = (1 << 63) - 1
"""The largest whole number that a table holds."""

_DIGITS = len(str(LARGEST))
_GROUPS = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"),
}
_SIZE = re.compile(r"(\d{1,18}(?:[.,]\d{1,9})?)\s*([kmgt]?)(?:i?b(?:ytes?)?)?(?![\w.,])", re.IGNORECASE)
POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
"""Powers of a thousand, by the letter before a unit."""


def number(value: object, decimal: str = ".") -> float | None:
    """Return the finite number that a value is or spells, or None; `decimal` is the decimal mark.

    >>> number("12.5"), number("-nan"), number("1_000"), number(True), number("1.234,5", ",")
    (12.5, None, None, None, 1234.5)
    """
    if isinstance(value, str):
        if _GROUPS[decimal].fullmatch(value):
            value = value.replace("." if decimal == "," else ",", "")
        value = value.replace(",", ".") if decimal == "," else value
        # Python reads more than programs print.
        if "_" in value or not value.isascii():
            return None
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def whole(value: object, base: int = 10) -> int | None:
    """Return the whole number that a value is or spells, if it fits a table, or None; base 0 reads 0x1f.

    >>> whole("42"), whole(" 4.0 "), whole("4.5"), whole("0x1f", 0), whole("9" * 30), whole("many")
    (42, 4, None, 31, None, None)
    """
    found: float | None
    text = value.strip() if isinstance(value, str) else ""
    if text.lstrip("+-")[:1].isdecimal() and len(text) <= _DIGITS + 1 and "_" not in text:
        # Not through a float, which holds 53 bits.
        try:
            found = int(text, base)
        except ValueError:
            found = number(text)
    else:
        found = value if isinstance(value, int) and not isinstance(value, bool) else number(value)
    if found is None or found != math.floor(found):
        return None
    return int(found) if -LARGEST - 1 <= found <= LARGEST else None


def exact(value: object) -> float | int | None:
    """Return the number that a value is or spells, with all digits of whole numbers; None for other values.

    >>> exact("9007199254740993"), exact("0.5"), exact(True), exact("many")
    (9007199254740993, 0.5, None, None)
    """
    # This check takes half the time of `isinstance`, and fio's JSON has millions of numbers.
    if type(value) in {int, float}:
        return cast("float", value)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return None


def scaled(value: object, factor: float) -> float | int | None:
    """Return a number times `factor`; infinite if it is too large for a float.

    Factors below 1 become divisions: 6.5 us are 0.0065 ms, and not 0.006500000000000001.
    """
    if (known := exact(value)) is None:
        return None
    try:
        return known / round(1 / factor) if factor < 1 else known * factor
    except OverflowError:
        return math.inf


def times(value: float | None, factor: float) -> float | None:
    """Return a number times `factor`, or None."""
    return None if value is None else value * factor


def size_bytes(text: str | None) -> int | None:
    """Return the size in bytes at the beginning of a text, in powers of 1024.

    >>> size_bytes("32K"), size_bytes("1.5 MiB (4 instances)"), size_bytes("10GB"), size_bytes("?")
    (32768, 1572864, 10737418240, None)
    """
    found = _SIZE.match((text or "").strip())
    value = round(float(found[1].replace(",", ".")) * 1024 ** POWERS[found[2].lower()]) if found else None
    return value if value is not None and value <= LARGEST else None
