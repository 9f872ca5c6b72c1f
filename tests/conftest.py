from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import browser
import packing
import pytest
from hypothesis import Phase, settings
from sheet import Sheet

import esxparse as ex
from esxparse import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

# The same examples in every run, so that a commit passes or fails wherever it is tried. `--hypothesis-profile=default`
# and `make fuzz` look for new ones.
settings.load_profile("ci")
# `make mutants`: a mutant that is noticed is not looked into further.
_QUICK = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", settings.get_profile("ci"), max_examples=30, phases=_QUICK)


@pytest.fixture(scope="session")
def busy_host_file() -> Path:
    return ex.datasets_dir() / "busy-host" / "busy-host.csv"


@pytest.fixture(scope="session")
def busy_host(busy_host_file: Path) -> ex.Recording:
    return ex.open(busy_host_file)


@pytest.fixture(scope="session")
def busy_host_sheet(busy_host_file: Path) -> Sheet:
    return Sheet(busy_host_file.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def busy_host_scenario() -> simulate.Scenario:
    return simulate.busy_host()


# One for each file of tests and not for the session: while it is up, the main thread has an event loop that runs.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as running:
        yield running


@pytest.fixture(params=["isal", "zlib"])
def deflate_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fast library for gzip, and without."""
    if request.param == "isal":
        packing.needs("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    yield
    left = [thread for thread in threading.enumerate() if thread.name == "esxparse-read-ahead"]
    assert not left
