"""How long tests look for counter-examples: a part of it in `make test`, all of it in `make search`.

`make search` runs what draws its examples (marked `hypothesis`) with all of them, and what is marked `search`: long
searches, whole sweeps, and single tests of seconds for one case more. `make test` leaves those out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

LARGE_STUDIES = frozenset({"case-readahead", "protocols", "raid-pool", "vaio", "vsan"})
"""Datasets whose study takes as long as all the others together: `make search` computes them."""
SEARCHING = os.environ.get("ESXPARSE_SEARCH") == "1"


def routine_of(values: Iterable[Any], routine: Collection[Any]) -> list[Any]:
    """Parameters of a test: `make test` runs the routine ones, `make search` the others."""
    return [value if value in routine else pytest.param(value, marks=pytest.mark.search) for value in values]


def examples(count: int) -> int:
    """How many examples to draw where a whole search draws `count`."""
    return count if SEARCHING else max(count // 5, 5)
