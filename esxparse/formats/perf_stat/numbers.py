"""Numbers as perf prints them: grouped or not, with a point or a comma before decimals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Read = Callable[[str | None], float | None]
"""Reads the text of a number."""

_GROUPERS = re.compile(r"['\u2019\u00a0\u202f\u2009 ]")
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_GROUPED = {
    # Groups of two are Indian: 1,23,45,678.
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}(?:\.\d*)?"),
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{2,3})*\.\d{3}(?:,\d*)?"),
}
_OTHER = {".": ",", ",": "."}
_NOT_A_NUMBER = re.compile(r"[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
_GROUP = 3


class Token(NamedTuple):
    """A number of a document, before its format is known."""

    text: str
    line: int
    grouped: bool
    """Whether perf may group its digits: counts yes; percentages, metrics and seconds never."""


class Style(NamedTuple):
    """How the numbers of a document are written."""

    decimal: str | None
    """`.` or `,`; None if no number shows it."""
    example: Token | None
    against: Token | None
    """A number that shows the other sign."""


def decimal_sign(text: str, *, grouped: bool) -> str | None:
    """Return the sign before decimals, if one number shows it.

    >>> decimal_sign("31,268.42", grouped=True), decimal_sign("11.117.524", grouped=True)
    ('.', ',')
    >>> decimal_sign("1.234", grouped=True), decimal_sign("1.234", grouped=False)
    (None, '.')
    """
    signs = [character for character in text if character in _OTHER]
    if not signs:
        return None
    last = signs[-1]
    if len(set(signs)) > 1:
        return last
    if len(signs) > 1:
        return _OTHER[last]
    whole, _, decimals = text.lstrip("+-").partition(last)
    if not grouped or len(decimals) != _GROUP or whole in {"", "0"} or len(whole) > _GROUP:
        return last
    return None


def style(tokens: Iterable[Token]) -> Style:
    """Return how the numbers of a document are written, by the majority of numbers that show it."""
    votes: dict[str, list[Token]] = {".": [], ",": []}
    for token in tokens:
        if sign := decimal_sign(token.text, grouped=token.grouped):
            votes[sign].append(token)
    if not votes["."] and not votes[","]:
        return Style(None, None, None)
    decimal = "." if len(votes["."]) >= len(votes[","]) else ","
    other = votes[_OTHER[decimal]]
    return Style(decimal, votes[decimal][0], other[0] if other else None)


def ambiguous(tokens: Iterable[Token]) -> Sequence[Token]:
    """Return the numbers whose value depends on the decimal sign, such as 1.234."""
    return [
        token
        for token in tokens
        if set(token.text) & set(_OTHER) and not decimal_sign(token.text, grouped=token.grouped)
    ]


def number(text: str, decimal: str | None) -> float | None:
    """Return the value of a number; None if it is not a number in that style.

    Without a known decimal sign, a single sign before three digits groups them: perf prints no count with three
    decimals.

    >>> number("11.117.524.161", ","), number("31,268.42", "."), number("1.234", None), number("0,37", ".")
    (11117524161.0, 31268.42, 1234.0, None)
    """
    plain = _GROUPERS.sub("", text.strip())
    if decimal is None:
        decimal = decimal_sign(plain, grouped=True) or ("," if "." in plain else ".")
    group = _OTHER[decimal]
    if group in plain:
        if not _GROUPED[group].fullmatch(plain):
            return None
        plain = plain.replace(group, "")
    plain = plain.replace(decimal, ".")
    value = float(plain) if _PLAIN.fullmatch(plain) else math.inf
    return value if math.isfinite(value) else None


def sure_number(text: str, decimal: str | None) -> float | None:
    """Return the value of a number that is the same with each decimal sign, or shows that it has this one.

    >>> sure_number("1,234", "."), sure_number("1,234.5", "."), sure_number("12", "."), sure_number("0,37", ".")
    (None, 1234.5, 12.0, None)
    """
    plain = _GROUPERS.sub("", text.strip())
    is_sure = not set(plain) & set(_OTHER) or decimal_sign(plain, grouped=True) == decimal
    return number(text, decimal) if is_sure else None


def reader(decimal: str | None, *, mixed: bool = False) -> Read:
    """Return a function that reads the numbers of a document with that decimal sign; it returns None for no text.

    `mixed`: other numbers of the document have another decimal sign, so ambiguous ones are left out.
    """
    of_text = sure_number if mixed else number
    return lambda text: of_text(text, decimal) if text else None


def is_nan(text: str) -> bool:
    """Return whether the number is the result of perf's division by zero."""
    return bool(_NOT_A_NUMBER.fullmatch(text.strip()))
