"""A plugin of pytest: for each line of the package the tests that ran it, and the seconds that each test took."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
_seconds: dict[str, float] = {}


def running() -> coverage.Coverage:
    """The coverage that this process runs under."""
    found = coverage.Coverage.current()
    assert found, "run it under coverage"
    return found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Names the context after the test."""
    running().switch_context(item.nodeid)
    yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up what a test takes, with its fixtures."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Writes what was seen."""
    data = running().get_data()
    lines = {str(Path(file).relative_to(ROOT)): data.contexts_by_lineno(file) for file in data.measured_files()}
    Path(os.environ["REACHED"]).write_text(json.dumps({"lines": lines, "seconds": _seconds}), encoding="utf-8")
