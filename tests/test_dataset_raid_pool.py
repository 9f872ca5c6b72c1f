"""The dataset of the study of RAID groups and storage pools: nothing differs, but for Iometer, a little."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

import esxparse as ex
from esxparse.metrics import ratio, storage_laws

APPLICATIONS = ("mail_server", "olio", "dvd_store")
RESPONSES = tuple(f"vmmark_{name}_response_ms" for name in APPLICATIONS)


@cache
def study():
    return ex.datasets.load("raid-pool")


@cache
def against(column: str, test: str, label: str, baseline: object) -> pl.DataFrame:
    """Each configuration of a test divided by the one that has another storage, or another allocation."""
    runs = study().runs.filter(test=test)
    return (
        ratio.ratios(runs, column, study().labels, {label: baseline})
        .filter(pl.col(label) != baseline)
        .sort("tiles")
        .collect()
    )


def mean_ratio(column: str, test: str, label: str, baseline: object) -> float:
    return ratio.geometric_mean(against(column, test, label, baseline)["ratio"].to_list())


@cache
def normalised() -> pl.DataFrame:
    """Latencies of the applications, each by the lowest 1-tile result of its own."""
    table = study().runs.filter(test="vmmark applications")
    for column in RESPONSES:
        table = storage_laws.normalised_to_lowest(table, column)
    return table.collect()


@cache
def computed() -> dict[str, float]:
    applications, storage = "vmmark applications", "vmmark storage"
    score = against("vmmark_score_points", applications, "storage", "raid-group")
    found = {
        f"score_{tiles}_tiles_pool_of_group": ratio.geometric_mean(score.filter(tiles=tiles)["ratio"].to_list())
        for tiles in (1, 7, 13)
    }
    found["score_full_of_half"] = mean_ratio("vmmark_score_points", applications, "allocated_pct", 50)
    for name, column in zip(APPLICATIONS, RESPONSES, strict=True):
        found[f"{name}_pool_of_group"] = mean_ratio(column, applications, "storage", "raid-group")
    found["latency_full_of_half"] = ratio.geometric_mean(
        [mean_ratio(column, applications, "allocated_pct", 50) for column in RESPONSES]
    )
    found["lowest_single_tile"] = max(normalised()[f"{column}_normalised"].min() for column in RESPONSES)
    for way in ("read", "write"):
        found[f"guest_{way}_ms_pool_of_group"] = mean_ratio(f"gavg_{way}_ms", storage, "storage", "raid-group")
        found[f"guest_{way}_ms_full_of_half"] = mean_ratio(f"gavg_{way}_ms", storage, "allocated_pct", 50)
    found["iometer_iops_pool_of_group"] = mean_ratio("iops", "iometer", "storage", "raid-group")
    found["iometer_latency_pool_of_group"] = mean_ratio("latency_mean_ms", "iometer", "storage", "raid-group")
    found["iometer_iops_full_of_half"] = mean_ratio("iops", "iometer", "allocated_pct", 50)
    iometer = study().runs.filter(test="iometer").collect()
    found["iometer_outstanding"] = iometer["outstanding_by_law"].mean()
    found["iometer_read_pct"] = 100 * (iometer["read_iops"] / iometer["iops"]).mean()
    return found


def test_all_runs_are_computed_and_only_a_single_tile_does_not_hold_still():
    runs = study().runs.collect()
    assert runs.group_by("test").len().sort("test").rows() == [
        ("iometer", 12),
        ("vmmark applications", 12),
        ("vmmark storage", 24),
    ]
    assert runs["gap"].null_count() == runs.height
    assert len(study().notes) == 5
    assert all("not shown to be steady" in str(note) and "tiles=1)" in str(note) for note in study().notes)


@pytest.mark.parametrize("column", ["gavg_read_ms", "gavg_write_ms", "iops"])
def test_two_runs_of_each_show_no_difference_in_what_esxtop_saw_of_vmmark(column):
    rows = study().compare(column).collect().filter(test="vmmark storage", storage="pool")
    assert rows["runs"].to_list() == [2] * 6
    assert set(rows["verdict"]) == {"no difference shown"}


def test_no_application_shows_a_difference_but_all_are_slower_with_more_tiles():
    rows = study().virtual_to_native().filter(storage="pool", unit="ms").collect()
    assert rows.height == 18
    assert set(rows["verdict"]) == {"no difference shown"}
    for column in RESPONSES:
        mean = normalised().group_by("tiles").agg(pl.col(f"{column}_normalised").mean()).sort("tiles")
        one, seven, thirteen = mean[f"{column}_normalised"]
        assert one < seven < thirteen


def test_io_latency_rises_with_tiles_whatever_the_storage():
    table = study().runs.filter(test="vmmark storage").group_by("storage", "tiles").agg(pl.col("gavg_read_ms").mean())
    for _, rows in table.sort("tiles").collect().group_by("storage"):
        one, seven, thirteen = rows["gavg_read_ms"]
        assert 1.0 < seven / one < thirteen / one < 1.25


def test_iometer_shows_the_pool_ahead_and_allocation_without_effect():
    pool = study().compare("iops").collect().filter(test="iometer", storage="pool")
    assert set(pool["verdict"]) == {"higher"}
    full = against("iops", "iometer", "allocated_pct", 50)
    assert set(full["verdict"]) == {"no difference shown"}
