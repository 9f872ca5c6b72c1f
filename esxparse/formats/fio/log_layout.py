"""Which columns a fio log has: told by its lines, where their number alone leaves a choice.

Source: `flush_samples` in fio's iolog.c. To 3.18 `time, value, direction, block size[, offset]`; from 3.19 a priority
follows, 0 or 1, or 0x and four digits with `log_prio`; from 3.37 the maximum may follow the value (`log_max_value=2`),
and the time of issue may come last (`log_issue_time`, which needs `log_offset`).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYOUTS: dict[int, tuple[tuple[str, ...], ...]] = {
    4: (("time", "value", "direction", "size"),),
    5: (
        ("time", "value", "direction", "size", "priority"),
        ("time", "value", "direction", "size", "offset"),
    ),
    6: (
        ("time", "value", "direction", "size", "offset", "priority"),
        ("time", "value", "maximum", "direction", "size", "priority"),
        ("time", "value", "direction", "size", "priority", "issued"),
    ),
    7: (
        ("time", "value", "direction", "size", "offset", "priority", "issued"),
        ("time", "value", "maximum", "direction", "size", "offset", "priority"),
    ),
    8: (("time", "value", "maximum", "direction", "size", "offset", "priority", "issued"),),
}
"""Number of columns to what they may be, the likelier first."""

_NUMBER = r"(?:\d{1,20}|0x[0-9a-fA-F]{4})"
ENTRY = re.compile(rf"\d{{1,20}}, -?\d{{1,20}}(?:, {_NUMBER}){{2,6}}")
_DIRECTIONS = 3
_FEWEST_BYTES = 4
"""A block size below it is a direction in the wrong place."""

Row = tuple[str, ...]


def numbered(columns: Sequence[str], row: Row) -> dict[str, int] | None:
    """The numbers of a line by name; none where another column than the priority is hexadecimal."""
    cells = dict(zip(columns, row, strict=True))
    if any(text.startswith("0x") for name, text in cells.items() if name != "priority"):
        return None
    return {name: int(text, 16 if text.startswith("0x") else 10) for name, text in cells.items()}


def _fitting(layout: Sequence[str], rows: Sequence[tuple[list[int], list[int]]]) -> int:
    """How many lines can be of that layout; `rows` are their numbers, and the places of those that are hexadecimal."""
    places = {name: place for place, name in enumerate(layout)}
    direction, size = places["direction"], places["size"]
    # What stands for a column that the layout has not got never speaks against it.
    priority, offset = places.get("priority", -1), places.get("offset", -1)
    highest, value = places.get("maximum", places["value"]), places["value"]
    return sum(
        numbers[direction] <= _DIRECTIONS
        and (hexadecimal == [priority] if hexadecimal else priority < 0 or numbers[priority] <= 1)
        # fio sets both to 0 for what is an average over a time.
        and (
            numbers[size] >= _FEWEST_BYTES
            or (numbers[size] == 0 and (offset < 0 or numbers[offset] == 0) and numbers[highest] >= numbers[value])
        )
        for numbers, hexadecimal in rows
    )


def sample(text: str) -> list[Row]:
    """The cells of the whole lines of a log's beginning that have the shape of an entry."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    whole = lines[:-1] if len(lines) > 1 else lines
    return [tuple(line.split(", ")) for line in whole if ENTRY.fullmatch(line)]


def layout(rows: Sequence[Row], *, before_3_19: bool = False) -> tuple[str, ...] | None:
    """The columns of the log these lines are of; none if they are of no log.

    Of several that fit all lines the likelier is taken; `before_3_19` tells that no line has a priority.
    """
    if not rows:
        return None
    number, _ = Counter(map(len, rows)).most_common(1)[0]
    rows = [row for row in rows if len(row) == number]
    choices = [one for one in LAYOUTS[number] if not (before_3_19 and "priority" in one)] or LAYOUTS[number]
    hexadecimal = [[place for place, text in enumerate(row) if text.startswith("0x")] for row in rows]
    numbers = [[int(text, 16 if text.startswith("0x") else 10) for text in row] for row in rows]
    read = list(zip(numbers, hexadecimal, strict=True))
    fitting = {one: _fitting(one, read) for one in choices}
    best = max(choices, key=lambda one: fitting[one])
    return best if fitting[best] * 10 >= len(rows) * 9 else None


def recognised(text: str) -> bool:
    """Whether a text begins as a log does: nine of ten lines are entries, of one layout, and the first or second is."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    # The last may be cut by where the beginning ends.
    whole = [line for line in (lines[:-1] if len(lines) > 1 else lines) if line]
    rows = [line for line in whole if ENTRY.fullmatch(line)]
    return bool(rows) and len(rows) * 10 >= len(whole) * 9 and layout(sample(text)) is not None
