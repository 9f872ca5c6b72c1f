"""The dataset of the study of View Planner on Virtual SAN: VDImark by nodes, and response times at it."""

from __future__ import annotations

from functools import cache

import polars as pl
import studied

from esxparse.metrics import ratio, scaling

P95 = "view_planner_all_operations_group_{}_p95_s"
RULES = {"group A": pl.col(P95.format("a")) <= 1.0, "group B": pl.col(P95.format("b")) <= 6.0}
"""View Planner's own: 95 % of all operations of a group, s."""


@cache
def study():
    return studied.study("vdi")


@cache
def marks():
    """The VDImark of each cluster."""
    return study().peak_load("desktops", RULES).collect()


@cache
def curve():
    return scaling.efficiency(marks().lazy(), "nodes", "peak_load").collect()


@cache
def at_the_mark():
    """Mean response times of the single operations, with three nodes as the baseline."""
    there = study().results.join(
        marks().lazy().select("nodes", pl.col("peak_load").alias("desktops")), on=["nodes", "desktops"], how="semi"
    )
    single = there.filter(pl.col("test") != "all operations", pl.col("metric") == "mean")
    return ratio.virtual_to_native(single, "nodes", 3).collect()


def test_all_runs_are_computed_and_there_is_nothing_to_say_of_them():
    assert study().notes == ()
    assert study().runs.collect()["gap"].null_count() == 15
    assert set(at_the_mark()["runs"]) == {3}


def test_it_is_group_b_that_ends_each_sweep_and_no_smaller_load_fails():
    assert set(marks()["failed_rules"]) == {"group B"}
    assert set(marks()["failed_below_peak"]) == {0}
    assert (marks()["fails_at"] > marks()["peak_load"]).all()
    slowest = study().runs.select(pl.col(P95.format("a")).max()).collect().item()
    assert 0.9 < slowest < 1.0


def test_it_is_linear_as_far_as_it_goes():
    line = scaling.leaves_linear(marks().lazy(), "nodes", "peak_load").collect().row(0, named=True)
    assert (line["points"], line["linear_up_to"], line["leaves_at"]) == (3, 8, None)
    assert [round(one, 1) for one in curve()["per_unit"]] == [95.3, 94.6, 95.9]


def test_what_lies_above_the_line_is_less_than_the_step_between_loads():
    above = curve().filter(nodes=8).select(pl.col("peak_load") - pl.col("linear")).item()
    step = marks().filter(nodes=8).select(pl.col("fails_at") - pl.col("peak_load")).item()
    assert 0 < above < step


def test_interactive_operations_take_less_than_a_second():
    assert at_the_mark().filter(configuration="group=A")["mean"].max() < 1.0
    assert at_the_mark().filter(configuration="group=B")["mean"].min() > 1.0
