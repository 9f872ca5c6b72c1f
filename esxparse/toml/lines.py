"""Line numbers of tables and keys in TOML text, which the standard library's parser drops."""

from __future__ import annotations

import re
from collections.abc import Mapping

Place = tuple[str | int, ...]
"""A place in a file: `("run", 0, "vms")` is the key `vms` of the first `[[run]]`."""

_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_ARRAY = re.compile(rf"\s*\[\[\s*({_KEY})\s*\]\]")
_TABLE = re.compile(rf"\s*\[\s*({_KEY})\s*\]")
_PAIR = re.compile(rf"\s*({_KEY})\s*=")
_QUOTES = ('"""', "'''", '"', "'")


def _parts(key: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in re.findall(_PART, key)]


def _after(text: str, quote: str, depth: int) -> tuple[str, int]:
    """Return the quote of a multi-line string still open at the end of a line, and the number of open brackets."""
    place = 0
    while place < len(text):
        if quote:
            if text[place] == "\\" and quote[0] == '"':
                place += 2
            elif text.startswith(quote, place):
                place += len(quote)
                quote = ""
            else:
                place += 1
            continue
        character = text[place]
        if character == "#":
            break
        quote = next((one for one in _QUOTES if text.startswith(one, place)), "")
        place += len(quote) or 1
        depth += (character in "[{") - (character in "]}")
    return (quote if len(quote) > 1 else ""), depth


def index(text: str) -> dict[Place, int]:
    r"""Return the line of each table and key, from 1; keys within inline tables and arrays are left out.

    >>> index('axis = "a"\n[window]\nwarmup = "2m"\n[[run]]\nvms = [\n1]\n[run.host]\nmhz = 2400')["run", 0, "vms"]
    5
    >>> index('[[run]]\n[[run]]\n[run.host]\nmhz = 2400\n')["run", 1, "host", "mhz"]
    4
    """
    found: dict[Place, int] = {}
    arrays: dict[Place, int] = {}
    table: Place = ()
    quote, depth = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not quote and not depth:
            if match := _ARRAY.match(line) or _TABLE.match(line):
                table = ()
                parts = _parts(match[1])
                for place, part in enumerate(parts):
                    table = (*table, part)
                    if place == len(parts) - 1 and match.re is _ARRAY:
                        arrays[table] = arrays.get(table, -1) + 1
                    if table in arrays:
                        table = (*table, arrays[table])
                found.setdefault(table, number)
                continue
            if match := _PAIR.match(line):
                found.setdefault((*table, *_parts(match[1])), number)
                line = line[match.end() :]  # noqa: PLW2901  only the value may continue
        quote, depth = _after(line, quote, depth)
    return found


def line_of(lines: Mapping[Place, int], *path: str | int) -> int | None:
    """Return the line of a key, or else of the nearest table around it.

    >>> line_of({("run", 0): 4}, "run", 0, "vms"), line_of({}, "axis")
    (4, None)
    """
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None
