"""The decimal mark of sysstat's output: that of its locale, the same in all rows. Thousands have no separator.

A cell with another mark comes from a program that saved the file: `1,234` may be 1234.
"""

from __future__ import annotations

import re
from collections import Counter

from esxparse.formats.kit.foreign import note
from esxparse.recording import Note

_MARK = re.compile(r"[+-]?\d+([.,])\d+(?:[eE][+-]?\d+)?[sBkMGTP%]?")
_MAY_BE_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[.,'\u00a0\u202f\u2009\u2019]\d{3})+(?:[.,]\d+)?[sBkMGTP%]?")
"""sysstat prints two decimals, or fewer."""


class Decimals:
    """The decimal marks of the cells of a text, without names and commands."""

    def __init__(self, refused: str = "") -> None:
        self.refused = refused
        """The mark that most cells do not have."""
        self._met: Counter[str] = Counter()
        self._foreign: list[tuple[int, str]] = []

    def takes(self, text: str, line: int) -> bool:
        """Return whether a cell is a number in the tool's own form, or not a number."""
        if text.isdecimal():
            return True
        found = _MARK.fullmatch(text)
        if _MAY_BE_GROUPS.fullmatch(text) or (found and found[1] == self.refused):
            self._foreign.append((line, text))
            return False
        if found:
            self._met[found[1]] += 1
        return True

    @property
    def rarer(self) -> str | None:
        """The mark of fewer cells; None if all have the same."""
        return min(",.", key=lambda mark: self._met[mark]) if len(self._met) > 1 else None

    def notes(self) -> list[Note]:
        """Return a warning about the cells that are left empty."""
        if not self._foreign:
            return []
        line, text = self._foreign[0]
        return [note(len(self._foreign), text, line)]
