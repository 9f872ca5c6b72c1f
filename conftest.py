from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import browser
import kernels
import needs
import pytest
from filelock import FileLock
from hypothesis import Phase, settings
from search import LARGE_STUDIES, examples, is_routine
from sheet import Sheet
from vcsim_server import Vcsim

import esxparse as ex
import esxparse_simulator as simulate
from esxparse import cli
from esxparse.charts.theme import LAB_MIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

FAULT_HOSTS = {"test_charts_findings", "test_diagnose_faults", "test_simulate_faults", "test_simulate_faults_library"}
"""Tests of the same simulated hosts: in one process each is simulated once."""

SHARED_STUDIES = {"claims", "test-absolute", "test-datasets", "test-golden-studies"}
"""Tests of every bundled study: those of one study stay together."""

# The same examples in every run, so that a commit passes or fails wherever it is tried. `--hypothesis-profile=default`
# and `make fuzz` look for new ones.
settings.register_profile("same", settings.get_profile("ci"), max_examples=examples(100))
settings.load_profile("same")
# `make mutants`: a mutant that is noticed is not looked into further.
_QUICK = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", settings.get_profile("ci"), max_examples=30, phases=_QUICK)


def pytest_configure() -> None:
    kernels.keep_apart()
    os.environ["PATH"] = needs.path_of(frozenset())
    # Users do not set it. It makes output that cannot be written fail at once, and hides what happens at the end.
    os.environ.pop("PYTHONUNBUFFERED", None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a file, and tests of a dataset, stay in one process: what they share is made once.

    Of a test with many parameters `make test` runs a few.
    """
    _compare_tables_alone(items)
    parameters: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec"):
            parameters.setdefault(item.nodeid.partition("[")[0], []).append(item)
        name = item.path.stem.removeprefix("test_dataset_").replace("_", "-")
        if name in SHARED_STUDIES and hasattr(item, "callspec"):
            name = item.callspec.params.get("name", name)
        if item.path.stem in FAULT_HOSTS:
            name = "fault-hosts"
        if "busy_host_report" in getattr(item, "fixturenames", ()):
            name = "busy-host-report"
        item.add_marker(pytest.mark.xdist_group(name))
        if name in LARGE_STUDIES:
            item.add_marker(pytest.mark.search)
    for same in parameters.values():
        for place, item in enumerate(same):
            if not is_routine(place, len(same)):
                item.add_marker(pytest.mark.search)


def _compare_tables_alone(items: list[pytest.Item]) -> None:
    """Leave charts out of what nbval compares: their rows may come in any order."""
    for item in items:
        if hasattr(item.parent, "skip_compare"):
            item.parent.skip_compare = tuple({*item.parent.skip_compare, LAB_MIME})


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture: what the test needs is on its PATH, or it is skipped."""
    said = [name for mark in item.iter_markers("needs") for name in mark.args]
    fixtures = getattr(item, "fixturenames", ())
    names = frozenset(said).union(*(needs.FIXTURES[name] for name in fixtures if name in needs.FIXTURES))
    os.environ["PATH"] = needs.path_of(names)
    needs.check(names)


@pytest.fixture(scope="session")
def busy_host_file() -> Path:
    return ex.datasets_dir() / "busy-host" / "busy-host.csv"


@pytest.fixture(scope="session")
def busy_host(busy_host_file: Path) -> ex.Recording:
    return ex.open(busy_host_file)


@pytest.fixture(scope="session")
def busy_host_report(tmp_path_factory: pytest.TempPathFactory, busy_host_file: Path) -> Path:
    """The page of `make report`."""
    return ex.report(busy_host_file, output=tmp_path_factory.mktemp("busy-host") / "report.html")


@pytest.fixture(scope="session")
def study_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The report of a bundled study: the process that asks first renders it for all, up to half a minute long."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder

    def rendered(name: str) -> Path:
        page = folder / f"study-{name}.html"
        with FileLock(page.with_suffix(".lock")):
            if not page.exists():
                manifest = ex.datasets_dir() / name / "study.toml"
                assert cli.main(["report", str(manifest), "-q", "-o", str(page)]) == 0
        return page

    return rendered


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


@pytest.fixture
def vcsim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Vcsim]]:
    """Starts servers of the vSphere API, with options of tests/vcsim/main.go."""
    with ExitStack() as running:

        def start(**options: Any) -> Vcsim:
            server = Vcsim(tmp_path_factory.mktemp("vcsim"), **options)
            running.callback(server.stop)
            return server

        yield start


@pytest.fixture(params=[pytest.param("isal", marks=pytest.mark.needs("isal")), "zlib"])
def deflate_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fast library for gzip, and without."""
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal", None)


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    yield
    left = [thread for thread in threading.enumerate() if thread.name == "esxparse-read-ahead"]
    assert not left
