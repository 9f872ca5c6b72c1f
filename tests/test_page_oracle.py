"""Every number of finished reports against arithmetic on raw files (tests/page_oracle), which imports no esxparse."""

from __future__ import annotations

import ast
import shutil
import sys
import tomllib
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from page_oracle import host_page, page, power, storage, study
from page_oracle.compare import compare, unlisted

import esxparse as ex
from esxparse import cli

ORACLE = Path(__file__).parent / "page_oracle"
LISTED = tomllib.loads((ORACLE / "listed.toml").read_text(encoding="utf-8"))
DATA = ex.datasets_dir()
FORMATS = DATA / "formats"
MOST_LISTED = 29
"""Entries of listed.toml: there may be fewer, never more."""
SAMPLES = "60"

HOSTS = {"busy": DATA / "busy-host" / "busy-host.csv", "drawn-3": None, "drawn-8": None}
STUDIES = (
    "baseline",
    "power",
    "replication",
    "mmu",
    "numa",
    "docker",
    "linerate",
    "remote",
    "dense",
    "iser",
    "monster",
)
STUDIES += ("vdi", "protocols", "spark", "sapiq", "vcenter", "vsan", "zephyr")
PAGES = {
    **{f"host_health-{name}": ("host_health", [path], host_page.expected) for name, path in HOSTS.items()},
    "power_profile-busy": ("power_profile", [HOSTS["busy"]], power.expected),
    "power_profile-outlets": ("power_profile", [FORMATS / "power-pdu-export.csv"], power.expected),
    "power_profile-redfish": ("power_profile", [FORMATS / "redfish-collected.jsonl"], power.expected),
    "storage_benchmark-fio": ("storage_benchmark", [FORMATS / "fio-json-plus.json"], storage.expected),
    "storage_benchmark-iometer": ("storage_benchmark", [FORMATS / "iometer-1.1.0.csv"], storage.expected),
    "storage_benchmark-several": (
        "storage_benchmark",
        [DATA / "baseline" / f"{name}.json" for name in ("randread-4k-1", "randread-4k-32", "write-64k-32")],
        storage.expected,
    ),
    **{f"study-{name}": ("study", [DATA / name], study.expected) for name in STUDIES},
    **{f"study-{name}-drawn": ("study", [None], study.expected) for name in ("power", "replication", "dense", "iser")},
}
"""Page: template, its files (None: drawn by the simulator), and the oracle."""
ROUTINE = {"host_health-busy", "power_profile-busy", "storage_benchmark-fio", "storage_benchmark-several"}
ROUTINE |= {"study-power", "study-replication", "study-mmu", "study-remote"}
"""What `make test` renders; `make search` renders all."""
PENDING = {
    ("storage_benchmark-iometer", "tile: "): "item 1: separate runs are added up",
    (
        "storage_benchmark-iometer",
        "chart: # of each test|chart: IOPS of|chart: Bandwidth of|chart: Mean",
    ): "item 1: bars of separate runs are drawn upon each other",
    ("storage_benchmark-iometer", "chart: Latency distribution"): "item 1: shares are of all runs of a test together",
    ("study-power", "text: ('"): "item 8: a target printed as 0 % is taken to the last digit",
    ("study-power-drawn", "text: ('"): "item 8: a target printed as 0 % is taken to the last digit",
}
"""Errors of a page that are being mended: page, where its differences begin, and why."""


BEHIND = {
    "numbers": {"storage_benchmark-iometer"},
    "listed": {
        "storage_benchmark-iometer", "study-dense", "study-dense-drawn", "study-docker", "study-power-drawn",
        "study-protocols", "study-vsan",
    },
}  # fmt: skip
"""Pages with new tables and columns that the oracle does not derive yet, by the test that they fail."""


def _pages(test: str) -> list[object]:
    """The pages of a test; those that are not in the routine part take seconds each."""
    late = pytest.mark.xfail(reason="the page has numbers that the oracle does not derive yet")
    return [
        pytest.param(
            name, marks=[*([] if name in ROUTINE else [pytest.mark.search]), *([late] if name in BEHIND[test] else [])]
        )
        for name in PAGES
    ]


def files(name: str) -> list[Path]:
    """The files of a page, drawn where it asks for that."""
    template, paths, _ = PAGES[name]
    if paths != [None]:
        return paths
    if template == "host_health":
        return [drawn("random", name.rpartition("-")[2]) / f"{_stem(name)}.csv"]
    return [drawn(name.split("-")[1], "7")]


def _stem(name: str) -> str:
    (found,) = drawn("random", name.rpartition("-")[2]).glob("*.csv")
    return found.stem


@cache
def drawn(what: str, seed: str) -> Path:
    """A host drawn by a seed, or the runs of a bundled study with other noise."""
    folder = Path(mkdtemp(prefix=f"{what}-"))
    more = ["--samples", SAMPLES, "--release", "6.7", "--trouble", "none"] if what == "random" else []
    scenario = what if what == "random" else str(DATA / what / "scenario.toml")
    assert cli.main(["simulate", scenario, "-q", "--force", "--seed", seed, "-o", str(folder), *more]) == 0
    if what != "random":
        for file in ("study.toml", "published.toml"):
            shutil.copy(DATA / what / file, folder)
    return folder


@cache
def result(name: str):
    """A page rendered by the command, compared with what its raw files give."""
    template, _, expected = PAGES[name]
    paths = files(name)
    output = Path(mkdtemp(prefix="page-")) / "page.html"
    given = [str(paths[0] / "study.toml")] if template == "study" else [*map(str, paths), "-t", template]
    assert cli.main(["report", *given, "-o", str(output)]) == 0
    return compare(page.read(output.read_text(encoding="utf-8")), expected(*paths))


def of_page(name: str) -> list[tuple[str, str]]:
    return [(places, reason) for (of, places), reason in PENDING.items() if of == name]


def begins(text: str, places: str) -> bool:
    return text.startswith(tuple(places.split("|")))


@pytest.mark.parametrize("name", _pages("numbers"))
def test_every_number_of_a_page_is_that_of_its_raw_files(name):
    found = result(name)
    wrong = [text for text in found.wrong if not any(begins(text, places) for places, _ in of_page(name))]
    assert wrong == []
    assert found.checked > 0


@pytest.mark.parametrize("name", _pages("listed"))
def test_numbers_that_cannot_be_derived_are_listed(name):
    listed = {**LISTED["every"], **LISTED[PAGES[name][0]]}
    left, covered = unlisted(result(name), listed)
    assert left == {}
    assert {place: count for place, count in covered.items() if count > listed[place]["most"]} == {}


@pytest.mark.parametrize(
    ("name", "places"),
    [
        pytest.param(
            *key,
            marks=[
                pytest.mark.xfail(strict=True, reason=reason),
                *([] if key[0] in ROUTINE else [pytest.mark.search]),
            ],
        )
        for key, reason in PENDING.items()
    ],
)
def test_errors_that_are_being_mended(name, places):
    assert not [text for text in result(name).wrong if begins(text, places)]


def test_the_list_only_shrinks():
    assert sum(map(len, LISTED.values())) <= MOST_LISTED
    assert all(entry["reason"] for of in LISTED.values() for entry in of.values())


@pytest.mark.parametrize("path", sorted([*ORACLE.glob("*.py"), *ORACLE.with_name("absolute").glob("*.py")]), ids=str)
def test_the_oracle_imports_nothing_but_the_standard_library(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    roots = {name.partition(".")[0] for name in names}
    assert roots <= {*sys.stdlib_module_names, "absolute", "page_oracle"}
