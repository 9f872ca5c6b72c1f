"""The dataset of the study of iSCSI against iSER: its published figures, and what its runs show."""

from __future__ import annotations

from functools import cache

import pytest
import studied

import esxparse as ex
from esxparse.metrics import ratio

TESTS = {
    "read_iops": ("max-read-iops", "read_iops"),
    "write_iops": ("max-write-iops", "write_iops"),
    "read_mbps": ("max-read-throughput", "read_mb_per_s"),
    "write_mbps": ("max-write-throughput", "write_mb_per_s"),
}
"""What the study calls a result: the test, and its column among the runs."""


@cache
def study():
    return studied.study("iser")


@cache
def compared(test: str, column: str):
    """The rows of one test by protocol."""
    rows = study().compare(column).collect().filter(test=test).to_dicts()
    return {row["protocol"]: row for row in rows}


def test_all_runs_are_computed_and_only_the_disks_do_not_hold_still():
    runs = study().runs.collect()
    assert runs.height == 24
    assert runs["gap"].null_count() == 24
    assert set(runs["samples"]) == {24}
    unsteady = runs.filter(steady="steady").height
    assert unsteady == 18
    assert len(study().notes) == 6
    assert all("max-write-throughput" in str(note) and "not shown to be steady" in str(note) for note in study().notes)


@pytest.mark.parametrize("what", ["read_iops", "write_iops", "read_mbps"])
def test_a_percentage_of_is_a_hundred_more_than_a_percentage_over(what):
    test, column = TESTS[what]
    rows = compared(test, column)
    assert rows["iser"]["verdict"] == "higher"
    assert rows["iser"]["change_pct"] == pytest.approx(studied.here("iser")[f"{what}_of_iscsi"] - 100)
    of = ex.datasets.published("iser").filter(figure=f"{what}_of_iscsi")["value"].item()
    published = ex.datasets.published("iser").filter(figure=f"iser_{what}")["value"].item()
    base = ex.datasets.published("iser").filter(figure=f"iscsi_{what}")["value"].item()
    assert round(100 + ratio.percent_change(published, base), 2) == of


def test_three_repetitions_do_not_show_that_iser_writes_less():
    row = compared(*TESTS["write_mbps"])["iser"]
    assert row["runs"] == 3
    assert row["change_pct"] < 0
    assert row["verdict"] == "no difference shown"


def test_an_io_costs_less_cpu_over_rdma():
    rows = study().compare("used_cycles_per_io").collect().filter(protocol="iser")
    assert (rows["ratio_high"] < 1).all()
    assert rows.filter(test="max-read-iops")["ratio"].item() == pytest.approx(0.63, abs=0.03)


def test_iometer_and_esxtop_saw_the_same_latency_and_littles_law_holds():
    runs = study().runs.filter(test="max-read-iops").collect()
    assert runs["gavg_ms"].to_list() == pytest.approx(runs["latency_mean_ms"].to_list(), rel=0.01)
    assert runs["outstanding_by_law"].to_list() == pytest.approx(runs["outstanding"].to_list(), rel=0.03)
