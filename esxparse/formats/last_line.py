"""A file that ends inside of a number: the digits that are there are a number too, and not the one that was written."""

from __future__ import annotations

import re

from esxparse.formats.text import Text
from esxparse.recording import Note

_NUMBER = re.compile(r"(?<!\w)(?:\d(?:[.,:'\u2019\u00a0\u202f]?\d)*[.,]?(?:[eE][+-]?\d*)?|0[xX][0-9a-fA-F]*)\Z")
_LONGEST = 100
"""Characters at the end that are looked at: a number is shorter."""


def may_be_cut(line: str) -> bool:
    """Whether a line without an end has a number at its end, of which digits may be missing.

    >>> may_be_cut("3.00 48112"), may_be_cut("Watts | 25."), may_be_cut("214 Watts"), may_be_cut("flags: sse2")
    (True, True, False, False)
    """
    return bool(_NUMBER.search(line[-_LONGEST:]))


def note(line: int) -> Note:
    """What is said of such a line."""
    return Note("the last line has no end and its last number may be cut: left out", line=line, severity="warning")


def without_cut_number(text: Text) -> Text:
    r"""The text without its last line, where that has no end and a number at its end.

    >>> without_cut_number(Text("MHz: 2394.375\nMHz: 23")).text
    'MHz: 2394.375\n'
    """
    before, newline, last = text.text.rpartition("\n")
    if not may_be_cut(last):
        return text
    return Text(before + newline, (*text.notes, note(text.text.count("\n") + 1)))
