"""Names that fit a chart: shortened in the middle, or broken into lines."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import east_asian_width

LABEL_WIDTH: Final = 18
"""Columns of a typewriter that a label may take; most VM names fit."""


def shorten(name: str, width: int = LABEL_WIDTH) -> str:
    """Leave out the middle of a `name` longer than `width` columns: names of devices differ at their ends.

    Characters of East Asian scripts take two columns.

    >>> shorten("naa.60000970000120070001533030334101")
    'naa.600…3030334101'
    """
    if _columns(name) <= width:
        return name
    tail_room = (width - 1) * 3 // 5
    head = _fitting(name, width - 1 - tail_room)
    tail = _fitting(name[::-1], tail_room)[::-1]
    return f"{head}…{tail}"


def wrapped(name: str, width: int = LABEL_WIDTH, lines: int = 3) -> str:
    r"""Break `name` into lines of at most `width` columns, behind spaces and marks; the middle may go.

    >>> wrapped("fio-2.1.4: random_read_test_parallel")
    'fio-2.1.4: random_\nread_test_parallel'
    """
    made: list[str] = [""]
    for piece in re.findall(r"[^ _:,/-]*[ _:,/-]?", shorten(name, width * lines)):
        rest = piece
        while _columns(rest) > width:
            head = _fitting(rest, width)
            made.append(head)
            rest = rest[len(head) :]
        if _columns(made[-1] + rest) > width:
            made.append(rest)
        else:
            made[-1] += rest
    return "\n".join(line for line in made if line)


def with_value(word: str, unit: str, value: str, *, single: bool) -> str:
    """Return the words of a label with one of its values.

    >>> with_value("size", "KiB", "4", single=False), with_value("VMs", "", "1", single=True)
    ('size 4 KiB', '1 VM')
    """
    if unit or not word.endswith("s"):
        return f"{word} {value} {unit}".rstrip()
    return f"{value} {word.removesuffix('s') if single else word}"


def _columns(text: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _fitting(text: str, width: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:place]
    return text
