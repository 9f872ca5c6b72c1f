"""Objects of two sides that are the same: by name, by rules of renaming, without numbers that a restart changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from esxparse.errors import EsxparseError

_NUMBERED: Final = re.compile(r" \(\d+\)$")
"""The group's id, which follows a name that several VMs have."""


class Pairs(NamedTuple):
    """Objects of one kind: places of the ones on both sides, and names of the others."""

    before: list[int]
    after: list[int]
    names: list[str]
    """Their names after the change."""
    gone: list[str]
    came: list[str]


def pairs(before: Sequence[str], after: Sequence[str], renamed: Mapping[str, str]) -> Pairs:
    r"""Match names.

    `renamed`: from a pattern of a whole name before to the name after.

    >>> pairs(["db", "web-1 (12)"], ["db", "www-1"], {r"web-(.*)": r"www-\1"})
    Pairs(before=[0, 1], after=[0, 1], names=['db', 'www-1'], gone=[], came=[])
    """
    known = _places(after, {})
    mine = _places(before, renamed)
    both = [(place, known[name]) for name, place in mine.items() if name in known]
    matched_before, matched_after = ({pair[number] for pair in both} for number in (0, 1))
    return Pairs(
        [one for one, _ in both],
        [other for _, other in both],
        [after[other] for _, other in both],
        [name for place, name in enumerate(before) if place not in matched_before],
        [name for place, name in enumerate(after) if place not in matched_after],
    )


def _places(names: Sequence[str], renamed: Mapping[str, str]) -> dict[str, int]:
    """Return the place of each name that only one object has."""
    new = [new_name(name, renamed) for name in names]
    count = Counter(new)
    return {name: place for place, name in enumerate(new) if count[name] == 1}


def new_name(name: str, renamed: Mapping[str, str]) -> str:
    """Return the name of an object after the change, by rules of renaming.

    Raises EsxparseError: A rule is not a regular expression, or refers to a group that it does not have.
    """
    plain = _NUMBERED.sub("", name)
    for pattern, replacement in renamed.items():
        try:
            if found := re.fullmatch(pattern, plain):
                return found.expand(replacement)
        except (re.error, IndexError) as error:
            raise EsxparseError(f"the rule of renaming {pattern!r} to {replacement!r} is wrong: {error}") from None
    return plain
