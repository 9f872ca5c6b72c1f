"""Numbers that a program rewrote in its locale: `196.605,5`, `"1,234.50"`.

A file has one decimal mark. esxtop writes a point and no thousands separators. It also writes lists (`0,1` is two
nodes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from esxparse.counters.catalogue import lookup
from esxparse.counters.naming import column_name, table_name
from esxparse.errors import EsxparseError
from esxparse.formats.esxtop.body import Body, Texts
from esxparse.formats.esxtop.grammar import of_windows, text_of
from esxparse.formats.esxtop.header import Header
from esxparse.formats.esxtop.layout import split_owner
from esxparse.formats.kit.marks import COMMA, POINT, Marks, Place, is_ambiguous, marks_of, settles
from esxparse.formats.opening import Decimal
from esxparse.recording import Note

Capture = list[list[str]]
"""The cells of a header, and of the rows below it."""

_LISTS = frozenset({"Numa Home Nodes"})
"""Counters whose cells may be lists."""
_LIKE_A_LIST = re.compile(r"\d{1,4}(?:,\d{1,4})+")
_NO_NUMBERS = frozenset({"text", "id", "unknown", "flag", "state"})
_GROUP = 3
_POINTS = [1, 2, *range(4, 11)]
"""Numbers of decimals that prove a point: three digits may be a group."""
_BARE = 16


class LocalNumbersError(EsxparseError):
    """Raised if a capture in esxtop's own form has numbers of a locale: another program saved it."""


@cache
def _is_number(owner: str, counter: str) -> bool:
    """Return whether the catalogue has the counter, with numbers."""
    found = lookup(table_name(split_owner(owner)[0]), column_name(counter))
    return found is not None and found.unit not in _NO_NUMBERS


def _columns(capture: Capture) -> Iterator[tuple[str, str, set[str]]]:
    """Yield owner, counter and distinct cells of each column, except lists, from rows with all their cells."""
    header, *rows = capture
    whole = [row for row in rows if len(row) == len(header)]
    for name, cells in zip(header[1:], list(zip(*whole, strict=True))[1:], strict=False):
        owner, _, counter = name.rpartition("\\")
        if counter not in _LISTS:
            yield owner.rpartition("\\")[2], counter, set(cells)


def with_points(captures: Sequence[Capture], line: int, decimal: Decimal | None) -> tuple[list[Capture], list[Note]]:
    """Return the captures with numbers as esxtop writes them; the first header is on `line`.

    Raises:
        EsxparseError: A number is ambiguous, and nothing in the file settles it.
    """
    sure: set[str] = set()
    beside: set[str] = set()
    for capture in captures:
        has_lists = not of_windows(",".join(f'"{cell}"' for cell in capture[0]))
        for owner, counter, cells in _columns(capture):
            may_be = has_lists and not _is_number(owner, counter)
            lists = set(filter(_LIKE_A_LIST.fullmatch, cells)) if may_be else set()
            lists = {text for text in lists if settles(text) == COMMA}
            sure |= cells - lists
            beside |= lists
    rows = [(capture[0], row) for capture in captures for row in capture]

    def where(text: str) -> Place:
        for at, (header, row) in enumerate(rows):
            if text in row[1:] and len(row) == len(header):
                return line + at, row.index(text, 1) + 1
        return line, 1

    marks = marks_of(sorted(sure), where, decimal, beside=sorted(beside))
    plain = {text: written for text in sure | beside if (written := marks.plain(text)) != text}
    return [_rewritten(capture, plain) for capture in captures] if plain else list(captures), list(marks.notes)


def _rewritten(capture: Capture, plain: dict[str, str]) -> Capture:
    header, *rows = capture
    lists = [0, *(place for place, name in enumerate(header) if name.rpartition("\\")[2] in _LISTS)]
    found = [header]
    for row in rows:
        cells = [plain.get(cell, cell) for cell in row]
        for place in lists:
            cells[place : place + 1] = row[place : place + 1]
        found.append(cells)
    return found


def refuse(odd: Texts, body: Body, header: Header) -> None:
    """Refuse numbers of a locale in a capture that seems to be esxtop's own.

    Lists in counters outside the catalogue do not count, nor do cells in which a comma replaced a point.

    Raises:
        LocalNumbersError: A number is of a locale.
    """
    texts = [text_of(word) for word in odd.words]
    shapes = np.concatenate([np.concatenate([one.first, one.changes[:, 2]]) % _BARE for one in body.shapes])
    settled = bool(np.isin(shapes, _POINTS).any())
    if not settled and (shapes == _GROUP).any():
        raise LocalNumbersError("a point precedes three digits in every number that has one")
    local = np.array([_is_local(text, settled=settled) for text in texts], dtype=np.bool_)
    if not local.any():
        return
    for _, cell, word in odd.where(local[odd.word]).items():
        text, counter = text_of(word), header.counters[cell]
        listed = _LIKE_A_LIST.fullmatch(text) and settles(text) == COMMA
        if counter not in _LISTS and not (listed and not _is_number(header.owners[cell], counter)):
            raise LocalNumbersError(f"{text!r} in {header.path(cell)} is not as esxtop writes numbers")


def _is_local(text: str, *, settled: bool) -> bool:
    if settled:
        return Marks(POINT).plain(text) != text
    return settles(text) is not None or is_ambiguous(text) or Marks(POINT).plain(text) != text
