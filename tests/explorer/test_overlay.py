"""Two captures in the explorer: figures of each, and the worst objects of either."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

import esxparse as ex
from esxparse.explorer.panel import PanelRequest, Values, panel

START = datetime(2026, 3, 2, 8, tzinfo=UTC)


def capture(levels, name):
    """A capture with a device for each level of its queue."""
    times = [START + timedelta(seconds=5 * place) for place in range(30)]
    frames = [
        pl.DataFrame({"time": times, "instance": device, "queued_commands": float(level)}).with_columns(
            pl.col("time").dt.cast_time_unit("us")
        )
        for device, level in levels.items()
    ]
    table = pl.concat(frames).sort("time", maintain_order=True).lazy()
    return ex.Recording("esxtop", name, {"physical_disk_scsi_device": table})


@pytest.fixture
def values():
    first = capture({"naa.1": 10, "naa.2": 5, "naa.3": 1}, "a.csv")
    second = capture({"naa.1": 2, "naa.2": 3, "naa.4": 50}, "b.csv")
    return Values([first, second], "clock")


def asked(**more):
    return PanelRequest.of({"counter": "queued_commands", "table": "physical_disk_scsi_device", "n": 2, **more})


def test_each_capture_has_its_own_figure(values):
    shown = panel(values, asked())["series"]
    figures = {(one["full"], one["capture"]): one["ranked"] for one in shown}
    assert figures == {("naa.1", 1): 10, ("naa.1", 2): 2, ("naa.2", 1): 5, ("naa.2", 2): 3}


def test_the_worst_objects_of_the_second_capture_can_be_shown(values):
    shown = panel(values, asked(worst_of=2))["series"]
    figures = {(one["full"], one["capture"]): one["ranked"] for one in shown}
    assert figures == {("naa.4", 2): 50, ("naa.2", 1): 5, ("naa.2", 2): 3}


def test_of_a_single_capture_there_is_one_ranking(values):
    alone = Values(values.recordings[:1], "clock")
    assert [one["full"] for one in panel(alone, asked(worst_of=2))["series"]] == ["naa.1", "naa.2"]
