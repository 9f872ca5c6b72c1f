"""The dataset of the study of View Planner on Virtual SAN: VDImark by nodes, and response times at it."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import studied

from esxparse.metrics import scaling

study = partial(studied.study, "vdi")

P95 = "view_planner_all_operations_group_{}_p95_s"
RULES = {"group A": pl.col(P95.format("a")) <= 1.0, "group B": pl.col(P95.format("b")) <= 6.0}
"""View Planner's own: 95 % of all operations of a group, s."""


@cache
def marks():
    """The VDImark of each cluster."""
    return study().peak_load("desktops", RULES).collect()


@cache
def curve():
    return scaling.efficiency(marks().lazy(), "nodes", "peak_load").collect()


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
