"""The dataset of the study of RAID groups and storage pools: nothing differs, but for Iometer, a little."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

from esxparse.metrics import ratio, storage_laws

APPLICATIONS = ("mail_server", "olio", "dvd_store")
RESPONSES = tuple(f"vmmark_{name}_response_ms" for name in APPLICATIONS)


@cache
def study():
    return studied.study("raid-pool")


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


@cache
def normalised() -> pl.DataFrame:
    """Latencies of the applications, each by the lowest 1-tile result of its own."""
    table = study().runs.filter(test="vmmark applications")
    for column in RESPONSES:
        table = storage_laws.normalised_to_lowest(table, column)
    return table.collect()


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
    # Each of Iometer's two comparisons is clear by itself, and neither among the eight of this answer.
    assert pool["ratio_low"].min() > 1
    assert pool["p_value"].max() < 0.05
    assert set(pool["verdict"]) == {"no difference shown"}
    assert set(pool["comparisons"]) == {8}
    full = against("iops", "iometer", "allocated_pct", 50)
    assert set(full["verdict"]) == {"no difference shown"}
