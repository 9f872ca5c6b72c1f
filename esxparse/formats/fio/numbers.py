"""Numbers as fio's outputs have them."""

from __future__ import annotations

import math
import re
from typing import Any


def number(value: Any) -> float | int | None:
    """The number a value is or spells; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, str):
        return None
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return None


def scaled(value: Any, factor: float) -> float | int | None:
    """A number times `factor`; infinite where no float is large enough.

    Divided where the factor is below 1: 6.5 us are 0.0065 ms, and not 0.006500000000000001.
    """
    known = number(value)
    if known is None:
        return None
    try:
        return known / round(1 / factor) if factor < 1 else known * factor
    except OverflowError:
        return math.inf


def release_number(release: str | None) -> tuple[int, ...]:
    """`fio-3.19-10-g3bd2` as (3, 19).

    >>> release_number("fio-3.19-10-g3bd2")
    (3, 19)
    """
    match = re.search(r"(\d+(?:\.\d+)*)", release or "")
    return tuple(int(part[:6]) for part in match[1].split(".")) if match else ()
