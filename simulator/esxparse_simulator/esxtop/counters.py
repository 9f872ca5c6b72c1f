"""A counter as a release prints it, and the lines that say so in the data of the releases.

A line is `kind default name`. Kind: `i` whole numbers, `f` two decimals, `t` a text. Default: `*` for counters that a
capture with default fields has too, `-` for those it has not. What may follow the name: `= OTHER` shows what the model
calls OTHER, `= OTHER - 300` that much less, `= 300` (or, for a text, `= N`) always the same. `@part` stands for the
lines of that part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind = Literal["whole", "decimal", "text", "broken"]
_KINDS: dict[str, Kind] = {"i": "whole", "f": "decimal", "t": "text"}
_LINE = re.compile(r"(?P<kind>[ift]) (?P<default>[*-]) (?P<name>.*?)(?: = (?P<value>.*))?")
_LESS = re.compile(r"(?P<source>.+) - (?P<number>\d+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter: its name as printed and how its cells look.

    The number is that of the model's counter `source` (None: no such, zero) plus `plus`; a text is always `text`.
    """

    name: str
    kind: Kind
    default: bool
    source: str | None
    plus: float = 0.0
    text: str = ""


def counters_of(text: str, parts: Mapping[str, str]) -> tuple[Counter, ...]:
    """The counters of some lines.

    >>> [(row.name, row.source, row.plus) for row in counters_of("i * Free MBytes = Free MBytes - 300", {})]
    [('Free MBytes', 'Free MBytes', -300.0)]
    """
    return tuple(_counter(line) for line in _lines(text, parts))


def _lines(text: str, parts: Mapping[str, str]) -> Iterator[str]:
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("@"):
            yield from _lines(parts[line[1:]], parts)
        else:
            yield line


def _counter(line: str) -> Counter:
    match = _LINE.fullmatch(line)
    if match is None:
        message = f"not a line of counters: {line!r}. Write `kind default name`, as the file of release 6.5 has them."
        raise EsxparseError(message)
    name, kind, default, value = match["name"], _KINDS[match["kind"]], match["default"] == "*", match["value"]
    if value is None:
        return Counter(name, kind, default, name)
    if kind == "text":
        return Counter(name, kind, default, None, text=value)
    if _NUMBER.fullmatch(value):
        return Counter(name, kind, default, None, plus=float(value))
    less = _LESS.fullmatch(value)
    return (
        Counter(name, kind, default, less["source"], -float(less["number"]))
        if less
        else Counter(name, kind, default, value)
    )
