"""The bundled studies against numbers that plain arithmetic makes of their raw cells (tests/absolute)."""

from __future__ import annotations

import shutil
from functools import cache

import pytest
import studied
from absolute import expected, tools
from absolute.manifest import runs
from test_datasets import STUDIES

import esxparse as ex

BUSY_HOST = """
title = "busy-host"
[window]
warmup = "1m"
[host]
mhz = 2600
[[run]]
esxtop = "busy-host.csv"
"""
# Means are summed in another order, and printed watts are weighted by the time between readings.
TOLERANCE = {"watts": 0.02}
CAPTURED = {
    "baseline",
    "case-alignment",
    "case-readahead",
    "dense",
    "iser",
    "linerate",
    "monster",
    "numa",
    "pmem",
    "power",
}
CAPTURED |= {"protocols", "raid-pool", "replication", "sapiq", "vaio", "vsan"}
PRINTED = {"docker", "mmu", "remote", "spark", "vcenter", "vdi", "vpmc", "zephyr"}
# Where a mistake can be made: not every capture has the counter, and not every window leaves a part out.
CAN_BE_MADE = {
    "used for util": CAPTURED - {"case-alignment", "case-readahead", "iser", "protocols"},
    "cost halved": CAPTURED - {"vsan"},
    "MiB for MB": CAPTURED - {"dense", "linerate", "numa", "power"},
    "unweighted latency": CAPTURED - {"case-alignment", "dense", "linerate", "numa", "power"},
    "ready not per vCPU": CAPTURED - {"case-alignment", "case-readahead", "protocols", "vaio"},
    "warm-up kept": CAPTURED - {"numa", "power"},
}


@pytest.fixture(scope="module")
def busy_host_study(tmp_path_factory, busy_host_file):
    folder = tmp_path_factory.mktemp("busy-host")
    shutil.copy(busy_host_file, folder)
    (folder / "study.toml").write_text(BUSY_HOST)
    return folder


@cache
def study_of(folder):
    """What esxparse computes; a study's own test has computed it already."""
    return studied.study(folder.name) if folder.name in STUDIES else ex.study(folder)


@cache
def rows(folder):
    return study_of(folder).runs.collect().to_dicts()


def row_of(folder, labels):
    (row,) = [row for row in rows(folder) if all(row[name] == value for name, value in labels.items())]
    return row


def differing(folder, wrong=""):
    """Names of the numbers that differ, and how many were compared."""
    compared, found = 0, {}
    for labels, numbers in expected.of(folder, wrong):
        row = row_of(folder, labels)
        for name, number in numbers.items():
            if name in row:
                compared += 1
                if row[name] != pytest.approx(number, rel=TOLERANCE.get(name, 1e-9), abs=1e-12):
                    found.setdefault(name, []).append((labels, row[name], number))
    return found, compared


@pytest.mark.parametrize("name", STUDIES)
def test_the_numbers_of_a_study_are_those_of_its_raw_cells(name):
    found, compared = differing(ex.datasets.folder(name))
    assert {what: cases[:2] for what, cases in found.items()} == {}
    assert (compared > 0) == (name in {*CAPTURED, *PRINTED})


@pytest.mark.parametrize("name", STUDIES)
def test_the_results_of_a_study_are_those_that_its_files_list(name):
    folder = ex.datasets.folder(name)
    listed = [
        (run["labels"], role, paths)
        for run in runs(folder)
        for role, (paths, _) in run["files"].items()
        if role == "results_csv" or role in tools.PRINTED
    ]
    if not listed:
        return
    results = study_of(folder).results.collect()
    for labels, role, paths in listed:
        number = row_of(folder, labels)["run"]
        if role == "results_csv":
            assert sorted(results.filter(run=number)["value"]) == tools.results(paths), labels
        else:
            rates = tools.printed(paths[0], role)
            assert rates, paths
            assert set(rates) <= set(results.filter(run=number)["value"]), labels


def test_the_numbers_of_the_busy_host_are_those_of_its_raw_cells(busy_host_study):
    found, compared = differing(busy_host_study)
    assert found == {}
    assert compared >= 10


@pytest.mark.parametrize("mistake", expected.MISTAKES)
@pytest.mark.parametrize("name", sorted(CAPTURED))
def test_a_mistake_would_be_noticed(name, mistake):
    """The mistake moves at least one number of the study by more than the comparison allows."""
    right, wrong = (expected.of(ex.datasets.folder(name), one) for one in ("", mistake))
    moved = {
        what
        for (_, numbers), (_, others) in zip(right, wrong, strict=True)
        for what, number in numbers.items()
        if others.get(what) != pytest.approx(number, rel=TOLERANCE.get(what, 1e-9), abs=1e-12)
    }
    assert bool(moved) == (name in CAN_BE_MADE[mistake]), moved
