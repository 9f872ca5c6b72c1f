"""The dataset of the study of Spark on premises and in a cloud: what "very similar" means of repeated runs."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import studied

from esxparse.metrics import ratio

study = partial(studied.study, "spark")


@cache
def cloud():
    """Each program in the cloud against on premises."""
    rows = study().virtual_to_native().filter(pl.col("place") == "cloud").collect().to_dicts()
    return {row["test"]: row for row in rows}


def test_two_runs_of_each_would_give_the_same_verdict_and_show_nothing():
    few = study().results.filter(pl.col("repetition") <= 2)
    found = ratio.virtual_to_native(few, "place", "on-premises").filter(pl.col("place") == "cloud").collect()
    assert set(found["verdict"]) == {"no difference shown"}
    assert (found["performance_high"] - found["performance_low"] > 0.12).all()
