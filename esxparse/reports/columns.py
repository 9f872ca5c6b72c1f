"""The columns of tables in reports, as `columns.csv` lists them.

table    the table, prefixed with the module or folder that shows it: `fleet.hosts`
column   column of the frame
head     its title; the code that shows the table fills in a {word}
unit     its unit, written after the head, or a {word}
digits   decimals of numbers: 1 if empty; `whole` writes whole numbers as they are
face     `badge` for a level, `code` for an identifier
fit      layout of text, as in `blocks.Column`: `name` or `short`
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from esxparse.reports.blocks import Column
from esxparse.schema import listed

_SAME: Final[Mapping[str, int]] = MappingProxyType({})


@cache
def _tables() -> Mapping[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    for table, name, head, unit, digits, face, fit in listed(__package__):
        laid: Any = fit or "text"
        decimals = None if digits == "whole" else int(digits or 1)
        column = Column(name, head, unit, decimals, level=face == "badge", mono=face == "code", fit=laid)
        found.setdefault(table, []).append(column)
    return found


def columns_of(
    table: str, *, but: Collection[str] = (), digits: Mapping[str, int] = _SAME, **words: str
) -> list[Column]:
    """Return the columns of a table, without the columns in `but`.

    `digits`: decimals of columns that need others in this report. `words`: replacements of {words} in heads and units.
    """
    return [
        replace(
            one,
            head=one.head.format(**words),
            unit=one.unit.format(**words),
            digits=digits.get(one.name, one.digits),
        )
        for one in _tables()[table]
        if one.name not in but
    ]
