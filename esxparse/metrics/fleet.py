"""CPU waits of VMs over many hosts and days, from the tables of a lake.

VMs are identified by host and name, because a group gets a new number each time its VM starts. A VM that moved to
another host counts as two. "%MLMTD time is included in %RDY": `limited=False` subtracts the time withheld by a limit
if the capture has it, like the thresholds for ready time.

Source: general knowledge; ready time as in `metrics.scheduling`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import polars as pl

from . import over_time
from .frames import finite, names, need
from .inventory import WORLD_OF_VCPU
from .scheduling import contention

VM: Final = ("host", "vm")
_WEEK: Final = timedelta(days=7)


def _vcpus(vcpu: pl.LazyFrame, *, limited: bool) -> pl.LazyFrame:
    present = names(vcpu)
    need(present, "host", "date", "group_id", "group", "world", "pct_ready")
    wait = pl.col("pct_ready")
    if not limited and "pct_max_limited" in present:
        wait = pl.coalesce(contention("pct_ready", "pct_max_limited"), wait).alias("pct_ready")
    world = pl.col("world").str
    # ESX 3.5 and 4 have two worlds per vCPU.
    own = world.contains(WORLD_OF_VCPU)
    rows = over_time.with_covered(vcpu, "host", "date").filter(own, pl.col("pct_ready").is_not_null())
    return rows.select("host", "date", "group_id", over_time.COVERED, wait, vm="group")


def ready(vcpu: pl.LazyFrame, *, limited: bool = True) -> pl.LazyFrame:
    """Return how long the vCPUs of each VM were ready but not running, % of one core, over all samples and vCPUs.

    With a column `time` each sample counts for the time that it covers in its host's day (`over_time`).

    `p95_pct` (95th percentile), `median_pct`, `max_pct`, and `values`: the number of values. Nothing is averaged over
    the vCPUs of a VM, so a single waiting vCPU shows. Helper worlds are left out. `limited`: whether time withheld by
    a CPU limit counts.

    Needs `host`, `date`, `group_id`, `group`, `world`, `pct_ready`, and without `limited` takes `pct_max_limited`.
    Returns, unordered: `host`, `group_id` (the highest, if the VM had several), `vm`, and the columns above.

    >>> from datetime import date
    >>> worlds = pl.LazyFrame({
    ...     "host": ["esx-01"] * 4, "date": [date(2026, 3, 2)] * 4, "group_id": [7] * 4, "group": ["db"] * 4,
    ...     "world": ["vmx-vcpu-0:db", "vmx-vcpu-1:db", "vmx-vcpu-0:db", "vmx-mks:db"],
    ...     "pct_ready": [1.0, 3.0, 8.0, 99.0],
    ... })
    >>> ready(worlds).select("host", "vm", "median_pct", "max_pct", "values").collect().rows()
    [('esx-01', 'db', 3.0, 8.0, 3)]
    """
    vcpu = finite(vcpu)
    wait = pl.col("pct_ready")
    return (
        _vcpus(vcpu, limited=limited)
        .group_by(VM)
        .agg(
            group_id=pl.col("group_id").max(),
            p95_pct=over_time.quantile(wait, 0.95),
            median_pct=over_time.quantile(wait, 0.5),
            max_pct=wait.max(),
            values=pl.len().cast(int),
        )
        .select("host", "group_id", pl.exclude("host", "group_id"))
    )


def ready_by_day(vcpu: pl.LazyFrame, *, limited: bool = True) -> pl.LazyFrame:
    """Return the spread of the 95th percentiles of the fleet's VMs, day by day (UTC).

    Each VM counts once a day, by the 95th percentile of its vCPUs' samples. `limited` and the input columns: see
    `ready`. Returns, by date, % of one core: `date`, `vms`, `median_pct`, `p90_pct`, `p99_pct`, `max_pct`.
    """
    value = pl.col("p95_pct")
    return (
        _vcpus(vcpu, limited=limited)
        .group_by("date", *VM)
        .agg(p95_pct=over_time.quantile(pl.col("pct_ready"), 0.95))
        .group_by("date")
        .agg(
            vms=pl.len().cast(int),
            median_pct=value.median(),
            p90_pct=value.quantile(0.9, "linear"),
            p99_pct=value.quantile(0.99, "linear"),
            max_pct=value.max(),
        )
        .sort("date")
    )


def ready_by_host(vcpu: pl.LazyFrame, *, limited: bool = True) -> pl.LazyFrame:
    """Return the ready time of each host's worst VM, day by day (UTC).

    A VM counts by the 95th percentile of its vCPUs' samples of the day. `limited` and the input columns: see `ready`.
    Returns, by host and date: `host`, `date`, `worst_pct` (% of one core).

    >>> from datetime import date
    >>> worlds = pl.LazyFrame({
    ...     "host": ["esx-01"] * 2, "date": [date(2026, 3, 2)] * 2, "group_id": [7, 8], "group": ["db", "web"],
    ...     "world": ["vmx-vcpu-0:db", "vmx-vcpu-0:web"], "pct_ready": [1.0, 3.0],
    ... })
    >>> ready_by_host(worlds).select("host", "worst_pct").collect().rows()
    [('esx-01', 3.0)]
    """
    return (
        _vcpus(finite(vcpu), limited=limited)
        .group_by("date", *VM)
        .agg(p95_pct=over_time.quantile(pl.col("pct_ready"), 0.95))
        .group_by("host", "date")
        .agg(worst_pct=pl.col("p95_pct").max())
        .sort("host", "date")
    )


def week_over_week(vcpu: pl.LazyFrame, *, limited: bool = True) -> pl.LazyFrame:
    """Compare each VM's last seven days in the lake with the seven before: 95th percentile of ready, % of one core.

    The weeks end with the last date of the whole fleet. `limited` and the input columns: see `ready`.
    Returns the VMs with values in both weeks, the largest change first: `host`, `vm`, `before_pct`, `after_pct`,
    `change_pct` (points), and `before_days`, `after_days`: the number of days with samples.
    """
    rows = _vcpus(vcpu, limited=limited)
    last = rows.select(last=pl.col("date").max())
    value, age = pl.col("pct_ready"), pl.col("last") - pl.col("date")
    new = age < _WEEK
    old = (age >= _WEEK) & (age < 2 * _WEEK)
    return (
        rows.join(last, how="cross")
        .group_by(VM)
        .agg(
            before_pct=over_time.quantile(pl.when(old).then(value), 0.95),
            after_pct=over_time.quantile(pl.when(new).then(value), 0.95),
            before_days=pl.col("date").filter(old).n_unique().cast(int),
            after_days=pl.col("date").filter(new).n_unique().cast(int),
        )
        .drop_nulls()
        .with_columns(change_pct=pl.col("after_pct") - pl.col("before_pct"))
        .select("host", "vm", "before_pct", "after_pct", "change_pct", "before_days", "after_days")
        .sort(pl.col("change_pct").abs(), "host", "vm", descending=[True, False, False])
    )
