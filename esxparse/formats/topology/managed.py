"""What vim-cmd prints: objects of types in braces, lists in brackets, flattened to paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|,)
    | (?P<type>\([\w.:\[\]]+\))
    | (?P<name>[A-Za-z_]\w*)\s*=(?!=)
    | (?P<open>[{\[])
    | (?P<close>[}\]])
    | "(?P<string>(?:[^"\\]|\\.)*)"
    | (?P<other>'(?:[^'\\]|\\.)*'|[^\s,{}\[\]()"=]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_DEEPEST = 64
UNSET = "<unset>"


def flattened(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Path and value of each field; members of a list are numbered in the path.

    What is not whole is given as far as it goes: paths need no closing brace.

    >>> list(flattened('a = (T) { b = 1, c = (int) [ 7, 8 ], d = "x" }'))
    [(('a', 'b'), '1'), (('a', 'c', '0'), '7'), (('a', 'c', '1'), '8'), (('a', 'd'), 'x')]
    """
    path: list[str] = []
    counts: list[int | None] = []
    name: str | None = None
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "name":
            name = found["name"]
        elif kind == "open":
            path.append(_step(name, counts))
            counts.append(0 if found[0] == "[" else None)
            name = None
            if len(path) > _DEEPEST:
                return
        elif kind == "close":
            if path:
                path.pop()
                counts.pop()
            name = None
        elif kind in {"string", "other"}:
            value = found["string"] if kind == "string" else found["other"]
            step = _step(name, counts)
            if step:
                places = tuple(one for one in (*path, step) if one)
                yield places, _ESCAPED.sub(r"\1", value) if kind == "string" else value
            name = None


def _step(name: str | None, counts: list[int | None]) -> str:
    """What the value is called: its name, or its place in the list it is in."""
    if name is not None:
        return name
    place = counts[-1] if counts else None
    if place is None:
        return ""
    counts[-1] = place + 1
    return str(place)
