"""Numbers that expressions of cases compare series with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from esxparse.diagnosis import references

_TOKEN = re.compile(r"'[^']*'|[A-Za-z_]\w*|\d+(?:\.\d+)?|<=|>=|[<>=(),+*/-]")
_DIVIDE = "/"
_COMPARE = {"<", ">", "<=", ">=", "="}
_ENDS = {"AND", "OR", "WHEN", "THEN", "ELSE", "END", "CASE", ","}
_SERIES = re.compile(r"[a-z][a-z0-9_]*")
_FITTED = re.compile(r"spell_\w+|\w+_spreads")
"""Statistics of a spell: their numbers were fitted (docs/diagnosis.md)."""


def _side(tokens: list[str], place: int, step: int) -> list[str]:
    """The tokens on one side of a comparison."""
    found, depth = [], 0
    opens, closes = ("(", ")") if step > 0 else (")", "(")
    while 0 <= (place := place + step) < len(tokens):
        token = tokens[place]
        depth += (token == opens) - (token == closes)
        if depth < 0 or (depth == 0 and token in _ENDS):
            break
        found.append(token)
    return found


def _names(tokens: list[str]) -> set[str]:
    return {one for one in tokens if _SERIES.fullmatch(one) and one not in references.LIMITS}


def _is_number(tokens: list[str]) -> bool:
    numbers = [float(one) for one in tokens if one[0].isdigit()]
    return bool(numbers) and any(numbers) and not any(_SERIES.fullmatch(one) for one in tokens)


def numbers(expression: str) -> Iterator[tuple[frozenset[str], str]]:
    """The series of each comparison with a number other than 0, or division by one, and the number as it is written."""
    tokens = _TOKEN.findall(expression)
    for place, token in enumerate(tokens):
        if token in _COMPARE:
            left, right = _side(tokens, place, -1), _side(tokens, place, 1)
            for one, other in ((left, right), (right, left)):
                series = {name for name in _names(one) if not _FITTED.fullmatch(name)}
                if series and _is_number(other):
                    yield frozenset(series), " ".join(other)
        elif token == _DIVIDE and tokens[place + 1][0].isdigit():
            divided = _side(tokens, place, -1)
            if (series := _names(divided)) and not _COMPARE & set(divided):
                yield frozenset(series), tokens[place + 1]
