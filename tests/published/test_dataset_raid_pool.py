"""The dataset of the study of RAID groups and storage pools: nothing differs, but for Iometer, a little."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import studied

from esxparse.metrics import ratio, storage_laws

study = partial(studied.study, "raid-pool")

APPLICATIONS = ("mail_server", "olio", "dvd_store")
RESPONSES = tuple(f"vmmark_{name}_response_ms" for name in APPLICATIONS)


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


def test_no_application_shows_a_difference_but_all_are_slower_with_more_tiles():
    rows = study().virtual_to_native().filter(storage="pool", unit="ms").collect()
    assert rows.height == 18
    assert set(rows["verdict"]) == {"no difference shown"}
    for column in RESPONSES:
        mean = normalised().group_by("tiles").agg(pl.col(f"{column}_normalised").mean()).sort("tiles")
        one, seven, thirteen = mean[f"{column}_normalised"]
        assert one < seven < thirteen


def test_iometer_shows_the_pool_ahead_and_allocation_without_effect():
    pool = study().compare("iops").collect().filter(test="iometer", storage="pool")
    # Each of Iometer's two comparisons is clear by itself, and neither among the eight of this answer.
    assert pool["ratio_low"].min() > 1
    assert pool["p_value"].max() < 0.05
    assert set(pool["verdict"]) == {"no difference shown"}
    assert set(pool["comparisons"]) == {8}
    full = against("iops", "iometer", "allocated_pct", 50)
    assert set(full["verdict"]) == {"no difference shown"}
