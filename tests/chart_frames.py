"""Tables for charts to draw, and thresholds to draw on them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import polars as pl

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
READY = SimpleNamespace(warn=5.0, critical=10.0)


def times(samples, step_s=5):
    return [START + timedelta(seconds=step_s * number) for number in range(samples)]


def table(samples, instances, step_s=5, **columns):
    """Every column a function of (sample, instance); `name` columns are made by the caller."""
    rows = [(moment, sample, one) for sample, moment in enumerate(times(samples, step_s)) for one in instances]
    data = {"time": [row[0] for row in rows]}
    data |= {name: [make(row[1], row[2]) for row in rows] for name, make in columns.items()}
    return pl.LazyFrame(data).with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))


def waits(vms=3, samples=20, **change):
    base = {
        "instance": lambda _, vm: f"vm-{vm:03}",
        "vcpus": lambda _, __: 2,
        "ready_pct": lambda _, vm: 1.0 + vm,
        "max_limited_pct": lambda _, __: 0.0,
        "contention_pct": lambda _, vm: 1.0 + vm,
        "costop_pct": lambda _, __: 0.0,
        "swap_wait_pct": lambda _, __: 0.0,
        "used_pct": lambda _, __: 40.0,
        "group_waits": lambda _, __: 0.0,
    }
    return table(samples, range(vms), **(base | change))


def latency(devices=2, samples=20, **change):
    base = {
        "instance": lambda _, device: f"naa.6000097000012007000153303033{device:04}",
        "iops": lambda _, __: 100.0,
        "good_iops": lambda _, __: 100.0,
        "mib_per_s": lambda _, __: 3.0,
        "gavg_ms": lambda _, device: 3.0 + device,
        "davg_ms": lambda _, device: 2.5 + device,
        "kavg_ms": lambda _, __: 0.5,
        "queued": lambda _, __: 0.0,
    }
    return table(samples, range(devices), **(base | change))


def summary(rows):
    keys = ("instance", "mean_iops", "gavg_ms", "davg_ms", "kavg_ms", "max_gavg_ms")
    return pl.LazyFrame(rows, schema=dict.fromkeys(keys, pl.Float64) | {"instance": pl.String}, orient="row")


def pcpus(count=4, samples=20):
    return table(
        samples, range(count), instance=lambda _, one: str(one), util_pct=lambda sample, one: 40.0 + one + sample
    )


def host_cpu():
    use = {"used_pct": 50.0, "core_util_pct": 60.0}
    made = {name: lambda _, __, share=share: share for name, share in use.items()}
    return table(20, [0], util_pct=lambda sample, _: 40.0 + sample, watts=lambda sample, _: 200.0 + sample, **made)


def host_memory(**change):
    base = {
        "other_mib": lambda _, __: 60_000.0,
        "vmkernel_mib": lambda _, __: 2_000.0,
        "free_mib": lambda _, __: 3_000.0,
        "minfree_mib": lambda _, __: 1_024.0,
        "balloon_mib": lambda sample, _: float(sample),
        "swap_used_mib": lambda _, __: 0.0,
        "compressed_mib": lambda _, __: 0.0,
        "swap_in_mib_per_s": lambda _, __: 0.5,
        "swap_out_mib_per_s": lambda _, __: 0.0,
    }
    return table(20, [0], **(base | change))


def ports():
    return table(
        20,
        range(2),
        switch=lambda _, __: "vSwitch0",
        port_id=lambda _, one: one,
        client=lambda _, one: f"vmnic{one}",
        kind=lambda _, __: "uplink",
        tx_mbits=lambda _, __: 900.0,
        rx_mbits=lambda _, __: 30.0,
    )


def drops():
    return pl.LazyFrame(
        {"client": ["a", "b"], "port_id": [1, 2], "drop_rx_pct": [2.0, 0.0], "max_drop_rx_pct": [7.0, 0.0]}
    )


def watts():
    return table(20, [0], watts=lambda sample, _: 200.0 + sample)


def states():
    return table(
        20,
        range(2),
        pcpu=lambda _, one: one,
        pct_c_state_c0=lambda _, __: 60.0,
        pct_c_state_c1=lambda _, __: 40.0,
        pct_c_state_c2=lambda _, __: 0.0,
        pct_of_aperf_per_mperf=lambda _, one: 100.0 + 10 * one,
    )
