"""A plugin of pytest: for each line of the package the tests that ran it, and the processor time of each test."""

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
_contexts: list[str] = []
"""The test, and the fixtures of several tests that are being made for it."""
_users: dict[str, set[str]] = {}
"""The tests that use each of these fixtures."""


def running() -> coverage.Coverage:
    """The coverage that this process runs under."""
    found = coverage.Coverage.current()
    assert found, "run it under coverage"
    return found


def processor_time() -> float:
    """Seconds of this process and of those that it waited for: the same whatever else the machine does."""
    return sum(os.times()[:4])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Names the context after the test."""
    _contexts[:] = [item.nodeid]
    running().switch_context(item.nodeid)
    for name, made in getattr(item, "_fixtureinfo").name2fixturedefs.items():  # noqa: B009  pytest has no other way
        _users.setdefault(f"fixture {made[-1].baseid} {name}", set()).add(item.nodeid)
    begun = processor_time()
    yield
    _seconds[item.nodeid] = processor_time() - begun


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
    """What a fixture runs that several tests share is of all of them, not of the first."""
    if fixturedef.scope == "function":
        yield
        return
    _contexts.append(f"fixture {fixturedef.baseid} {fixturedef.argname}")
    running().switch_context(_contexts[-1])
    yield
    _contexts.pop()
    running().switch_context(_contexts[-1])


def pytest_sessionfinish() -> None:
    """Writes what was seen."""
    data = running().get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            line: sorted({test for context in contexts for test in _users.get(context, {context})})
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    Path(os.environ["REACHED"]).write_text(json.dumps({"lines": lines, "seconds": _seconds}), encoding="utf-8")
