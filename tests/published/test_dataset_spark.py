"""The dataset of the study of Spark on premises and in a cloud: what "very similar" means of repeated runs."""

from __future__ import annotations

from functools import cache

import polars as pl
import studied

from esxparse.metrics import ratio


@cache
def study():
    return studied.study("spark")


@cache
def cloud():
    """Each program in the cloud against on premises."""
    rows = study().virtual_to_native().filter(pl.col("place") == "cloud").collect().to_dicts()
    return {row["test"]: row for row in rows}


def test_all_runs_are_computed_and_there_is_nothing_to_say_of_them():
    assert study().notes == ()
    assert study().runs.collect()["gap"].null_count() == 2
    assert {(row["runs"], row["baseline_runs"], row["higher_is_better"]) for row in cloud().values()} == {(5, 5, False)}


def test_no_difference_is_shown_of_any_program_though_no_two_means_are_equal():
    assert {row["verdict"] for row in cloud().values()} == {"no difference shown"}
    assert all(abs(row["change_pct"]) > 0.4 for row in cloud().values())


def test_the_intervals_are_short_enough_to_say_similar():
    """A verdict of no difference is cheap: it takes an interval near 1 to say that there is none to speak of."""
    assert all(0.96 < row["performance_low"] < row["performance_high"] < 1.04 for row in cloud().values())


def test_two_runs_of_each_would_give_the_same_verdict_and_show_nothing():
    few = study().results.filter(pl.col("repetition") <= 2)
    found = ratio.virtual_to_native(few, "place", "on-premises").filter(pl.col("place") == "cloud").collect()
    assert set(found["verdict"]) == {"no difference shown"}
    assert (found["performance_high"] - found["performance_low"] > 0.12).all()
