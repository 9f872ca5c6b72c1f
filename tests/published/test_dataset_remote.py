"""The dataset of the studies of remote access: its published volumes and rates, by activity."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import pytest
import studied

from esxparse.metrics import remote

study = partial(studied.study, "remote")

if TYPE_CHECKING:
    import polars as pl


@cache
def by_activity(access: str) -> pl.DataFrame:
    """Volume and rate of each activity of one way of access."""
    unit = "kb_per_s" if access == "console" else "bytes"
    samples = study().results.filter(access=access).select("time", activity="test", **{unit: "value"})
    return remote.by_activity(samples).collect()


@pytest.mark.parametrize(("access", "minutes"), [("chrome", 4.0), ("firefox", 4.0), ("rdp", 3.5)])
def test_the_test_case_takes_less_than_the_time_that_was_published(access, minutes):
    took = by_activity(access)["duration_s"].sum()
    assert 0.75 * minutes * 60 < took < minutes * 60
    rate = remote.mean_kb_per_s(studied.here("remote")[f"{access}_mb"], took)
    assert rate > remote.mean_kb_per_s(studied.here("remote")[f"{access}_mb"], minutes * 60)


def test_rdp_moves_a_tenth_of_what_a_browser_does_in_every_step():
    steps = by_activity("chrome").join(by_activity("rdp"), on="activity", suffix="_rdp")
    assert steps.height == 9
    assert (steps["volume_mb_rdp"] < 0.25 * steps["volume_mb"]).all()
    assert studied.here("remote")["rdp_mb"] == pytest.approx(studied.here("remote")["chrome_mb"] / 10, rel=0.1)
