"""Titles that say what a chart of runs shows: which numbers they choose, and when they say nothing."""

from __future__ import annotations

import polars as pl
import pytest

from esxparse.charts import finding_title, study


def points(places, values, labels=None, **more):
    labels = labels or ["all"] * len(values)
    return pl.DataFrame({"place": places, "label": labels, "value": values, **more}, strict=False)


@pytest.mark.parametrize(
    ("table", "title"),
    [
        # The ratio decides, not the distance: 9 times at 1, 1.5 times at 8.
        (
            points([1, 1, 8, 8], [9.0, 1.0, 900.0, 600.0], ["a", "b", "a", "b"]),
            "Rate at 1 VM: 9 MB/s (a) against 1 (b)",
        ),
        # Of ratios that are nearly the same, the one at the largest load is named.
        (
            points([1, 1, 8, 8], [2.0, 1.0, 19.0, 10.0], ["a", "b", "a", "b"]),
            "Rate at 8 VMs: 19 MB/s (a) against 10 (b)",
        ),
        (points([0, 0], [0.0, 5.0], ["a", "b"]), "Rate at 0 VMs: 5 MB/s (b) against 0 (a)"),
        (points(["x", None], [3.0, 1.0]), "Rate: 3 MB/s (x) against 1 (none)"),
        (
            points([None, None], [3.0, 1.0], ["a", "b"]).cast({"place": pl.String}),
            "Rate, none: 3 MB/s (a) against 1 (b)",
        ),
        (points([4], [3.0]), "Rate: 3 MB/s"),
        # Printed alike, they do not differ; places have thousands marked as values have.
        (points([14400, 14400], [333.4, 333.1], ["a", "b"]), "Rate at 14,400 VMs: 333 MB/s for both"),
        # Two series without a common place, and points without any: nothing to say.
        (points([1, 8], [1.0, 2.0], ["a", "b"]), ""),
        (points([None], [1.0]).cast({"place": pl.Int64}), ""),
    ],
)
def test_the_numbers_of_a_title(table, title):
    assert finding_title.of_values(table, "Rate", "MB/s", "VMs") == title


def test_a_unit_that_is_the_name_is_said_once():
    table = points(["x", "y"], [3000.0, 1.0])
    assert finding_title.of_values(table, "IOPS, 4 KiB", "IOPS", "test") == "IOPS, 4 KiB: 3,000 (x) against 1 (y)"
    assert finding_title.of_values(points(["x"], [1.0]), "Needs", "nodes", "VM") == "Needs: 1 node"


def test_a_change_is_named_if_its_interval_excludes_none():
    changes = points(["x", "y"], [40.0, -9.0], low=[-5.0, -12.0], high=[80.0, -6.0])
    assert finding_title.of_changes(changes, "IOPS", "%", 0.0, "test") == "IOPS, y: -9 %"
    assert finding_title.of_changes(changes.filter(place="x"), "IOPS", "%", 0.0, "test") == "IOPS: no difference shown"
    ratios = points([1, 2], [1.1, 2.5], low=[None, None], high=[None, None])
    assert finding_title.of_changes(ratios, "IOPS", "", 1.0, "hosts") == "IOPS at 2 hosts: 2.5"


def test_a_share_has_its_unit_and_a_ratio_none():
    """A name that ends in the unit, as of ratios to a baseline, has said it already."""
    shares = points([4, 8, 4, 8], [100.0, 98.8, 100.0, 99.9], ["a", "a", "b", "b"], low=[None] * 4, high=[None] * 4)
    efficiency = finding_title.of_changes(shares, "Efficiency", "% of a straight line", 100.0, "hosts")
    assert efficiency == "Efficiency at 8 hosts: 98.8 % of a straight line (a)"
    ratio = finding_title.of_changes(shares.filter(label="a"), "IOPS, ratio to fc", "ratio to fc", 1.0, "hosts")
    assert ratio == "IOPS, ratio to fc at 4 hosts: 100"


def test_the_title_of_a_chart_is_of_the_series_that_are_drawn():
    """Beyond eight series, the farthest apart may be the ones that are left out."""
    names = [f"s{number}" for number in range(10)]
    far = [
        {"place": place, "label": name, "value": 900.0 if name == "s9" else 10.0} for place in (1, 2) for name in names
    ]
    (chart,) = study.panels(pl.DataFrame(far), "Rate", "MB/s", "VMs")
    assert chart.title.text == "Rate at 2 VMs: 10 MB/s for all"
