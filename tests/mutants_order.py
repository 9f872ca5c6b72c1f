"""For `make mutants`: quick tests first, so that a mutant which a quick test notices costs no slow one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

DURATIONS = Path("mutmut-stats.json")
"""Written by mutmut where it runs the tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if DURATIONS.exists():
        took = json.loads(DURATIONS.read_text(encoding="utf-8"))["duration_by_test"]
        items.sort(key=lambda item: took.get(item.nodeid, 0.0))
