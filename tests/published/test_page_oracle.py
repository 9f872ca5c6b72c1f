"""Every number of finished reports against arithmetic on raw files (tests/page_oracle), which imports no esxparse."""

from __future__ import annotations

import ast
import json
import shutil
import sys
import tomllib
from collections import Counter
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from checkout import ROOT, TESTS
from page_oracle import (
    before_after,
    capacity,
    cases,
    draw,
    events,
    fleet,
    host_page,
    page,
    power,
    storage,
    study,
    troubles,
    vcenter,
)
from page_oracle.compare import Expected, Result, compare, unlisted
from page_words import words, wrong_words

import esxparse as ex
from esxparse import cli

if TYPE_CHECKING:
    from collections.abc import Callable

ORACLE = TESTS / "page_oracle"
LISTED = tomllib.loads((ORACLE / "listed.toml").read_text(encoding="utf-8"))
DATA = ex.datasets_dir()
FORMATS = DATA / "formats"
TEMPLATES = ROOT / "templates"
MOST_LISTED = {
    "every": 7,
    "before_after": 8,
    "host_health": 9,
    "study": 12,
    "capacity": 3,
    "case_study": 4,
    "troubleshooting": 8,
}
"""Entries of listed.toml: there may be fewer, never more."""
SAMPLES = "60"
FEWEST = 2
"""Inputs of each template."""

BUSY = DATA / "busy-host" / "busy-host.csv"
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
DRAWN = (
    "power",
    "replication",
    "dense",
    "iser",
    "baseline",
    "mmu",
    "numa",
    "docker",
    "linerate",
    "remote",
    "protocols",
)
STUDIES += ("vdi", "protocols", "spark", "sapiq", "vcenter", "vsan", "zephyr")


@cache
def drawn(what: str, seed: str) -> Path:
    """The runs of a bundled study with other noise."""
    folder = Path(mkdtemp(prefix=f"{what}-"))
    scenario = str(DATA / what / "scenario.toml")
    assert cli.main(["simulate", scenario, "-q", "--force", "--seed", seed, "-o", str(folder)]) == 0
    for file in ("study.toml", "published.toml"):
        shutil.copy(DATA / what / file, folder)
    return folder


@cache
def drawn_host(seed: str, *more: str) -> Path:
    """The capture of a host drawn by a seed."""
    folder = Path(mkdtemp(prefix="random-"))
    options = ["--samples", SAMPLES, "--release", "6.7", *(more or ("--trouble", "none"))]
    assert cli.main(["simulate", "random", "-q", "--force", "--seed", seed, "-o", str(folder), *options]) == 0
    (capture,) = folder.glob("*.csv")
    return capture


def counted(write: Callable[[Path, str], Path], seed: str, *names: str) -> list[Path]:
    """Recordings that a writer draws by a seed."""
    folder = Path(mkdtemp(prefix="counted-"))
    return [write(folder / name, seed) for name in names]


def in_lake(*captures: Path) -> list[Path]:
    """Captures, and the lake that they are added to."""
    lake = Path(mkdtemp(prefix="site-"))
    assert cli.main(["lake", "add", *map(str, captures), "--lake", str(lake), "-q"]) == 0
    return [*captures, lake]


def drawn_study(name: str) -> list[Path]:
    return [drawn(name, "7")]


PAGES = {
    "host_health-busy": ("host_health", [BUSY], host_page.expected),
    **{
        f"host_health-drawn-{seed}": ("host_health", lambda seed=seed: [drawn_host(seed)], host_page.expected)
        for seed in ("3", "8")
    },
    "capacity-busy": ("capacity", [BUSY], capacity.expected),
    "capacity-drawn": ("capacity", lambda: [drawn_host("3")], capacity.expected),
    "power_profile-busy": ("power_profile", [BUSY], power.expected),
    "power_profile-outlets": ("power_profile", [FORMATS / "power-pdu-export.csv"], power.expected),
    "power_profile-redfish": ("power_profile", [FORMATS / "redfish-collected.jsonl"], power.expected),
    "storage_benchmark-fio": ("storage_benchmark", [FORMATS / "fio-json-plus.json"], storage.expected),
    "storage_benchmark-iometer": ("storage_benchmark", [FORMATS / "iometer-1.1.0.csv"], storage.expected),
    "storage_benchmark-several": (
        "storage_benchmark",
        [DATA / "baseline" / f"{name}.json" for name in ("randread-4k-1", "randread-4k-32", "write-64k-32")],
        storage.expected,
    ),
    "storage_benchmark-repeated": (
        "storage_benchmark",
        [DATA / "case-readahead" / f"native-lun-{number}.iometer.csv" for number in (1, 2, 3)],
        storage.expected,
    ),
    "storage_benchmark-drawn": (
        "storage_benchmark",
        lambda: [drawn("case-readahead", "7") / "native-lun-1.iometer.csv"],
        storage.expected,
    ),
    **{
        f"hardware_events-{name.partition('.')[0]}": ("hardware_events", [FORMATS / name], events.expected)
        for name in ("perf-plain.txt", "perf-per-cpu.csv", "perf-interval.jsonl", "vmkperf-poll.txt")
    },
    "vcenter_counters-govc": ("vcenter_counters", [FORMATS / "vcenter_api-govc.json"], vcenter.expected),
    "vcenter_counters-drawn": ("vcenter_counters", partial(counted, draw.collection, "7", "vc"), vcenter.expected),
    "troubleshooting-busy": ("troubleshooting", [BUSY], troubles.expected),
    **{
        f"troubleshooting-drawn-{seed}": (
            "troubleshooting",
            lambda seed=seed: [drawn_host(seed, "--background", "2")],
            troubles.expected,
        )
        for seed in ("5", "11")
    },
    "fleet-hosts": (
        "fleet",
        lambda: in_lake(BUSY, drawn_host("3"), drawn_host("11", "--background", "2")),
        fleet.expected,
    ),
    "fleet-drawn": ("fleet", lambda: in_lake(*draw.waits(Path(mkdtemp(prefix="waits-")), "7")), fleet.expected),
    **{
        f"before_after-{run}": (
            "before_after",
            [DATA / "power" / f"{policy}-{run}.csv.bz2" for policy in ("static-high", "dynamic")],
            before_after.expected,
        )
        for run in (1, 2)
    },
    "hardware_events-drawn": (
        "hardware_events",
        partial(counted, draw.perf_intervals, "7", "nested.jsonl", "shadow.jsonl"),
        events.expected,
    ),
    "hardware_events-drawn-one": (
        "hardware_events",
        partial(counted, draw.perf_intervals, "4", "host.jsonl"),
        events.expected,
    ),
    "hardware_events-drawn-text": (
        "hardware_events",
        partial(counted, draw.perf_text, "7", "nested.txt", "shadow.txt"),
        events.expected,
    ),
    **{
        f"case_study-{name}": ("case_study", [DATA / f"case-{name}"], cases.expected)
        for name in ("readahead", "alignment")
    },
    "case_study-drawn": ("case_study", partial(drawn_study, "case-readahead"), cases.expected),
    **{f"study-{name}": ("study", [DATA / name], study.expected) for name in STUDIES},
    **{f"study-{name}-drawn": ("study", partial(drawn_study, name), study.expected) for name in DRAWN},
}
"""Page: template, its files or what draws them, and the oracle."""
ROUTINE = {
    "capacity-busy",
    "host_health-busy",
    "power_profile-busy",
    "storage_benchmark-fio",
    "storage_benchmark-several",
}
ROUTINE |= {
    "capacity-busy",
    "fleet-drawn",
    "troubleshooting-busy",
    "hardware_events-perf-plain",
    "vcenter_counters-drawn",
    "hardware_events-drawn",
    "before_after-1",
}
ROUTINE |= {"study-replication", "study-mmu", "study-remote"}
"""What `make test` renders; `make search` renders all."""


def _pages() -> list[object]:
    """The pages; those that are not in the routine part take seconds each."""
    return [pytest.param(name, marks=_marks(name)) for name in PAGES]


def _marks(name: str) -> list[pytest.MarkDecorator]:
    needs = [pytest.mark.needs("obstore")] if PAGES[name][0] == "fleet" else []
    return needs + ([] if name in ROUTINE else [pytest.mark.search])


@cache
def files(name: str) -> list[Path]:
    """The files of a page."""
    paths = PAGES[name][1]
    return paths() if callable(paths) else paths


def rendered(name: str, study_page: Callable[[str], Path]) -> tuple[Result, list[str]]:
    """A page rendered by the command, compared with what its raw files give, and its texts."""
    template, _, expected = PAGES[name]
    paths = files(name)
    if paths[0].parent == DATA and paths[0].is_dir():
        return compared(study_page(paths[0].name), template, expected(*paths))
    output = Path(mkdtemp(prefix="page-")) / "page.html"
    if template == "fleet":
        assert cli.main(["lake", "report", "--lake", str(paths[-1]), "-q", "-o", str(output)]) == 0
        return compared(output, template, expected(*paths))
    given = [str(manifest if (manifest := path / "study.toml").is_file() else path) for path in paths]
    given += [] if template == "study" else ["-t", template]
    assert cli.main(["report", *given, "-o", str(output)]) == 0
    return compared(output, template, expected(*paths))


def compared(output: Path, template: str, wanted: Expected) -> tuple[Result, list[str]]:
    wanted.quoted += prose(template)
    made = page.read(output.read_text(encoding="utf-8"))
    return compare(made, wanted), words(made)


def prose(template: str) -> str:
    """What the template itself says, for any input."""
    cells = json.loads((TEMPLATES / f"{template}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("name", _pages())
def test_numbers_of_a_page_are_those_of_its_raw_files_and_its_words_are_right(name, study_page):
    found, sentences = rendered(name, study_page)
    assert found.wrong == []
    assert found.checked > 0
    listed = {**LISTED["every"], **LISTED[PAGES[name][0]]}
    left, covered = unlisted(found, listed)
    assert left == {}
    assert {place: count for place, count in covered.items() if count > listed[place]["most"]} == {}
    assert len(sentences) > 10
    assert wrong_words(sentences) == []


def template_of(name: str) -> set[str]:
    """The template of a page, and the shape of its study."""
    template = PAGES[name][0]
    if template != "study":
        return {template}
    manifest = (DATA / name.removeprefix("study-").removesuffix("-drawn") / "study.toml").read_text(encoding="utf-8")
    return {template, tomllib.loads(manifest)["report"]["shape"]}


def test_every_template_has_pages_of_two_inputs():
    inputs = Counter(one for name in PAGES for one in template_of(name))
    templates = {path.stem for path in TEMPLATES.glob("*.ipynb")}
    assert {name: inputs[name] for name in templates if inputs[name] < FEWEST} == {}


def test_the_list_only_shrinks():
    assert {of: len(entries) for of, entries in LISTED.items() if len(entries) > MOST_LISTED.get(of, 0)} == {}
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
