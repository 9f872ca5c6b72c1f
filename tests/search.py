"""How long tests look for counter-examples: a part of it in `make test`, all of it in `make search`.

`make search` runs what draws its examples (marked `hypothesis`) with all of them, and what is marked `search`: long
searches, whole sweeps, and tests that take more than a second. `make test` leaves those out, and of a test with many
parameters it takes a few.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any, Final

import pytest

LARGE_STUDIES = frozenset(
    (
        *("baseline", "case-alignment", "case-readahead", "dense", "docker", "iser", "linerate", "monster", "pmem"),
        *("power", "protocols", "raid-pool", "sapiq", "vaio", "vsan"),
    )
)
"""Datasets whose study takes seconds: `make search` computes them."""
SEARCHING = os.environ.get("ESXPARSE_SEARCH") == "1"


ROUTINE: Final = 6
"""Of a test with more parameters than this, `make test` runs so many, from the first to the last."""


def is_routine(place: int, count: int) -> bool:
    """Whether `make test` runs the parameters at this place among `count`."""
    chosen = {round(number * (count - 1) / (ROUTINE - 1)) for number in range(ROUTINE)}
    return count <= ROUTINE or place in chosen


def routine_of(values: Iterable[Any], routine: Collection[Any]) -> list[Any]:
    """Parameters of a test: `make test` runs the routine ones, `make search` the others."""
    return [value if value in routine else pytest.param(value, marks=pytest.mark.search) for value in values]


def examples(count: int) -> int:
    """How many examples to draw where a whole search draws `count`."""
    return count if SEARCHING else max(count // 5, 5)
