"""The dataset of the study of dense mode: its published figures, and what its runs show."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import consolidation, inventory, ratio

study = partial(studied.study, "dense")

P95, CPU = "web_p95_ms", "host_util_pct"
TOLERANCES = {P95: 100.0, CPU: 90.0}
RATES = {25: "medium", 50: "high"}


@cache
def largest():
    """The largest number of VMs by rate, mode and tolerance."""
    return study().consolidation("vms", TOLERANCES).collect()


@cache
def checks(name: str):
    """What the host would have found each minute of one capture."""
    capture = ex.open(ex.datasets.folder("dense") / f"{name}.csv.bz2")
    load = consolidation.host_load(capture["group_cpu"], inventory.vms(capture["vcpu"]), capture["physical_cpu"])
    return consolidation.dense_mode(load).collect()


def gain(rows: pl.DataFrame) -> float:
    """The load of dense mode over that of default."""
    found = ratio.ratios(rows.lazy(), "largest_load", ["mode"], {"mode": "default"}).collect()
    return found.filter(mode="dense")["ratio"].item()


@cache
def within_both():
    return consolidation.largest_load(largest().lazy(), ["rate", "mode"]).collect()


def test_every_largest_load_lies_between_two_measured_ones_on_a_clean_curve():
    assert largest().height == 8
    assert set(largest()["status"]) == {"interpolated"}
    assert set(largest()["within_again"]) == {0}


def test_within_both_tolerances_the_cpu_decides():
    assert set(within_both()["binding"]) == {CPU}
    assert [round(100 * (gain(within_both().filter(rate=rate)) - 1), 1) for rate in RATES] == [
        pytest.approx(6.5, abs=0.7),
        pytest.approx(8.3, abs=0.9),
    ]


@pytest.mark.search
def test_none_of_the_published_percentages_over_their_own_counts_reaches_ten():
    published = dict(ex.datasets.published("dense").select("figure", pl.coalesce("value", "least")).iter_rows())
    for name in ("medium_p95", "medium_cpu", "high_p95", "high_cpu"):
        change = ratio.percent_change(published[f"{name}_dense"], published[f"{name}_default"])
        assert change < 9
        assert published[f"{name}_ratio"] == pytest.approx(1 + change / 100, abs=5e-5)
    assert published["medium_p95_dense"] < studied.here("dense")["medium_p95_dense"]


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("threshold-60vm", (False, False, False)),
        ("threshold-140vm", (True, False, True)),
        ("threshold-160vm", (True, True, True)),
    ],
)
def test_dense_mode_needs_all_three_thresholds(name, last):
    found = checks(name).row(-1, named=True)
    assert found["pcpus"] == 80
    assert (found["enough_vms"], found["enough_vcpus"], found["busy_enough"]) == last
    assert found["eligible"] is all(last)


def test_dense_mode_comes_and_goes_with_the_load():
    found = checks("ramp-200vm")
    assert found["switched"].drop_nulls().to_list() == ["on", "off"]
    on, off = (found["switched"].to_list().index(word) for word in ("on", "off"))
    busy = found["pcpu_util_pct"]
    assert busy[on - 1] < 50 <= busy[on]
    assert busy[off] < 50 <= busy[off - 1]
    assert consolidation.dense_mode_summary(found.lazy()).collect().row(0) == (
        30,
        0,
        off - on,
        2,
        100 * (off - on) / 30,
    )
