"""The verdict: which threshold is the worst, on whom, and whether it lasted."""

from __future__ import annotations

import polars as pl
import pytest

from esxparse.diagnosis import thresholds
from esxparse.metrics import inventory, scheduling
from esxparse.reports import verdict


def test_the_verdict_names_the_worst_and_tells_peaks_from_troubles():
    times = pl.datetime_range(
        pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 0, 1, 39), "1s", time_zone="UTC", eager=True
    )
    frame = pl.concat(
        pl.LazyFrame({"time": times, "group_id": number, "vm": vm, "contention_pct": ready, "costop_pct": costop})
        for number, (vm, ready, costop) in enumerate(
            [("calm", [1.0] * 100, [0.0] * 100), ("waiting", [12.0] * 50 + [1.0] * 50, [9.0] + [0.0] * 99)]
        )
    )
    found = verdict.judge(thresholds.load("standard"), {"scheduling.per_vcpu": frame})
    rows = {row["id"]: row for row in found.iter_rows(named=True)}
    assert set(rows) == {"cpu.ready", "cpu.costop"}
    assert (rows["cpu.ready"]["verdict"], rows["cpu.ready"]["object"]) == ("critical", "waiting")
    assert (rows["cpu.ready"]["objects"], rows["cpu.ready"]["of"], rows["cpu.ready"]["over_pct"]) == (1, 2, 50.0)
    assert (rows["cpu.costop"]["verdict"], rows["cpu.costop"]["extreme"]) == ("peaks", 9.0)


def test_samples_below_the_floor_do_not_count():
    quiet = pl.LazyFrame({"device": ["a", "a"], "good_iops": [1.0, 500.0], "gavg_ms": [400.0, 2.0]})
    found = verdict.judge(thresholds.load("standard"), {"storage.latency": quiet})
    assert found.filter(pl.col("id") == "disk.gavg").select("verdict", "extreme").row(0) == ("ok", 2.0)


def test_the_verdict_on_the_bundled_host_agrees_with_its_metrics(busy_host):
    waits = scheduling.per_vcpu(busy_host["group_cpu"], inventory.vms(busy_host["vcpu"]))
    found = verdict.judge(thresholds.load("standard"), {"scheduling.per_vcpu": waits})
    ready = found.filter(pl.col("id") == "cpu.ready").row(0, named=True)
    worst = waits.group_by("vm").agg(pl.col("contention_pct").quantile(0.95, "linear")).sort("contention_pct").collect()
    assert ready["object"] == worst["vm"][-1]
    assert ready["p95"] == pytest.approx(worst["contention_pct"][-1])
