"""The dataset of virtual performance counters: what was printed, and what each freeze mode counts."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import hardware_events, ratio

FOLDER = ex.datasets.folder("vpmc")
OF_THE_GUEST = ("instructions_per_s", "branches_per_s")
OF_BOTH = ("cycles_per_s", "branch_misses_per_s", "dtlb_loads_per_s", "dtlb_load_misses_per_s", "cache_misses_per_s")


@cache
def study():
    return studied.study("vpmc")


@cache
def runs() -> pl.DataFrame:
    return study().runs.collect()


def settings(name: str) -> dict[str, str]:
    return dict(ex.open(FOLDER / name)["settings"].select("key", "value").collect().iter_rows())


def mean(column: str, mode: str, freeze: str) -> float:
    return runs().filter(session="events", mode=mode, freeze=freeze)[column].mean()


def test_no_run_has_a_gap_and_nothing_is_to_be_said_of_them():
    assert runs().height == 20
    assert runs()["gap"].null_count() == 20
    assert list(study().notes) == []


def test_the_rate_that_perf_did_not_print():
    rates = dict(runs().filter(session="published").select("mode", "tlb_miss_load_per_s").iter_rows())
    assert rates == pytest.approx({"nested": 1_139_566, "shadow": 655_494}, abs=1)


@pytest.mark.parametrize("column", [*OF_THE_GUEST, *OF_BOTH])
def test_hybrid_counts_instructions_and_branches_as_guest_and_all_else_as_vcpu(column):
    guest, vcpu, hybrid = (mean(column, "shadow", freeze) for freeze in ("guest", "vcpu", "hybrid"))
    assert vcpu > 1.04 * guest
    assert hybrid == pytest.approx(guest if column in OF_THE_GUEST else vcpu, rel=0.01)


@pytest.mark.parametrize("column", ["page_faults_per_s", "task_clock_per_s"])
def test_what_the_guests_kernel_counts_no_freeze_mode_changes(column):
    rows = study().compare(column).collect().filter(session="events", is_baseline=False)
    assert set(rows["verdict"]) == {"no difference shown"}


def test_instructions_per_cycle_of_hybrid_compare_with_no_other_mode():
    rows = study().compare("instructions_per_cycle").collect().filter(session="events", mode="shadow", freeze="hybrid")
    assert rows["verdict"].item() == "lower"
    assert rows["ratio"].item() == pytest.approx(94.6 / 159.5 * 145.4 / 94.6, rel=0.01)


def test_the_freeze_mode_changes_how_much_worse_nested_paging_looks():
    rows = ratio.ratios(
        study().runs.filter(pl.col("session") == "events"),
        "tlb_misses_load",
        ["freeze", "mode"],
        {"mode": "shadow"},
        within=["freeze"],
    ).filter(mode="nested")
    found = {row["freeze"]: row for row in rows.collect().to_dicts()}
    assert found["guest"]["ratio"] == pytest.approx(1.90, abs=0.01)
    assert found["hybrid"]["ratio"] == pytest.approx(1.77, abs=0.01)
    assert found["hybrid"]["ratio_high"] < found["guest"]["ratio_low"]


def test_perf_names_what_it_counts_against():
    rec = ex.open(FOLDER / "shadow-hybrid-1.perf.txt")
    misses = hardware_events.tlb_misses(rec["events"]).collect().row(0, named=True)
    assert misses["event_class"] == "tlb_miss_load"
    assert misses["per_1k_instructions"] == pytest.approx(0.409, abs=0.01)
