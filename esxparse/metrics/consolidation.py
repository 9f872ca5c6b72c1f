"""Consolidation: how many VMs a host carries within a tolerance, and when dense mode would be on.

Source: "Dynamic Host-Wide Performance Tuning in VMware vSphere 6.0": 95th-percentile response time of 100 ms as the
"preferred latency tolerance", 90 % as the "desired maximum utilization", and the three thresholds of dense mode,
checked "every 60 seconds by default". The study read its numbers of VMs off curves between measured points; we assume
straight lines between these points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from esxparse.errors import EsxparseError

from . import host_cpu, over_time
from ._inputs import AT_LEAST_0, checked
from ._series import half_unit_of
from .frames import finite, first_true, names, need

TOLERANCES: Final = {"p95_ms": 100.0, "host_cpu_pct": 90.0}
"""The study's tolerances: 95th-percentile response time in ms, host CPU in percent."""
CHECK_S: Final = 60.0
BUSY_PCT: Final = 50.0
VCPUS_PER_PCPU: Final = 2
_RESULTS: Final = (
    "tolerance",
    "limit",
    "largest_load",
    "status",
    "last_within",
    "first_beyond",
    "within_again",
    "unknown_loads",
)


def largest_loads(
    curve: pl.LazyFrame, load: str, limits: Mapping[str, float] | None = None, by: Sequence[str] = ()
) -> pl.LazyFrame:
    """Find the largest load at each tolerance, by interpolation between measured points.

    At the first crossing of the limit, between the loads L0 (within) and L1 (beyond):

        largest load = L0 + (limit - v0) / (v1 - v0) x (L1 - L0)

    Needs `load` (VMs), the columns of `limits` (default: p95_ms at 100 and host_cpu_pct at 90) and the columns `by`.
    Rows with the same load are repetitions; their mean counts. Rows without a value are left out. A value within half
    a unit of its last printed decimal counts as on the limit.
    Returns one row per `by` and tolerance, in the order of the limits:

    *by
    tolerance, limit   str, f64   the column and its limit
    largest_load       f64        null if even the smallest load is beyond
    status             str        interpolated; measured (a point lies on the limit); not reached (the largest load
                                  measured is within: the true one is larger); beyond from the start; no values
    last_within, first_beyond     f64   the measured loads on either side, L0 and L1
    within_again       i64        higher loads that are within the limit again: if any, the curve is not monotonic
    unknown_loads      i64        loads without a value, which may be within or beyond

    Raises EsxparseError: A column is missing, there are no limits, or one is not a number; on collecting, a load is
    negative.

    >>> curve = pl.LazyFrame({"vms": [400, 450, 500], "p95_ms": [40.0, 80.0, 130.0]})
    >>> largest_loads(curve, "vms", {"p95_ms": 100.0}).select("largest_load", "status").collect().row(0)
    (470.0, 'interpolated')
    """
    curve = checked(curve, {load: AT_LEAST_0})
    chosen = TOLERANCES if limits is None else limits
    if not chosen:
        raise EsxparseError('a largest load needs a tolerance, such as {"p95_ms": 100}')
    there = names(curve)
    need(there, load, *chosen)
    need(there, *by, results=_RESULTS)
    return pl.concat(
        [_largest_load(curve, load, name, _limit(name, limit), list(by)) for name, limit in chosen.items()],
        how="vertical",
    )


def _limit(value: str, limit: object) -> float:
    if not isinstance(limit, int | float) or isinstance(limit, bool) or not math.isfinite(limit):
        raise EsxparseError(f"the limit of {value} must be a number, not {limit!r}")
    return float(limit)


def _largest_load(curve: pl.LazyFrame, load: str, value: str, limit: float, by: list[str]) -> pl.LazyFrame:
    level, v, half = pl.col("_load"), pl.col("_value"), pl.col("_half")
    points = (
        curve.select(*by, pl.col(load).cast(pl.Float64).alias("_load"), pl.col(value).cast(pl.Float64).alias("_value"))
        .with_columns(pl.lit(0).alias("_all"))
        .with_columns(half_unit_of(v).over(*by, "_all").alias("_half"))
        .group_by(*by, "_all", "_load")
        .agg(v.filter(v.is_finite()).mean(), half.first())
        .sort(*by, "_load")
    )
    measured = v.is_not_null() & level.is_not_null()
    beyond = level.filter(measured & (v > limit + half)).min()
    before = measured & ((level < beyond) | beyond.is_null())
    within = level.filter(before).max()
    value_within, value_beyond = v.filter(before).last(), v.filter(level == beyond).first()
    again = (measured & (level > beyond) & (v <= limit + half)).sum().cast(pl.Int64)
    unknown = (v.is_null() & level.is_not_null()).sum().cast(pl.Int64)
    found = points.group_by(*by, "_all", maintain_order=True).agg(
        within.alias("last_within"),
        beyond.alias("first_beyond"),
        value_within.alias("_within"),
        value_beyond.alias("_beyond"),
        again.alias("within_again"),
        unknown.alias("unknown_loads"),
        half.first(),
    )
    low, high = pl.col("last_within"), pl.col("first_beyond")
    share = ((limit - pl.col("_within")) / (pl.col("_beyond") - pl.col("_within"))).clip(lower_bound=0.0)
    on_limit = (pl.col("_within") - limit).abs() <= half
    status = first_true(
        (low.is_null() & high.is_null(), "no values"),
        (low.is_null(), "beyond from the start"),
        (on_limit, "measured"),
        (high.is_null(), "not reached"),
        otherwise="interpolated",
    )
    return found.select(
        *by,
        pl.lit(value).alias("tolerance"),
        pl.lit(limit).alias("limit"),
        pl.when(low.is_not_null())
        .then(pl.when(high.is_null() | on_limit).then(low).otherwise(low + share * (high - low)))
        .alias("largest_load"),
        status.alias("status"),
        *_RESULTS[4:],
    )


def largest_load(loads: pl.LazyFrame, by: Sequence[str] = ()) -> pl.LazyFrame:
    """Return the largest load within all tolerances at once: the smallest of the loads at each.

    Needs the columns of `largest_loads`. Returns one row per `by`, in their order:

    *by
    largest_load  f64  null if one tolerance has none
    binding       str  the tolerance that sets it
    status        str  that tolerance's status

    >>> curve = pl.LazyFrame({"vms": [400, 500], "p95_ms": [30.0, 130.0], "host_cpu_pct": [77.0, 97.0]})
    >>> largest_load(largest_loads(curve, "vms")).collect().row(0)
    (465.0, 'host_cpu_pct', 'interpolated')
    """
    loads = finite(loads)
    size = pl.col("largest_load")
    return (
        loads.with_columns(pl.lit(0).alias("_all"))
        .sort(size, nulls_last=False, maintain_order=True)
        .group_by(*by, "_all", maintain_order=True)
        .agg(size.first(), pl.col("tolerance").first().alias("binding"), pl.col("status").first())
        .sort(*by, "_all")
        .drop("_all")
    )


def host_load(group_cpu: pl.LazyFrame, vms: pl.LazyFrame, physical_cpu: pl.LazyFrame) -> pl.LazyFrame:
    """Count the VMs, vCPUs and PCPUs of each sample, and their utilisation: the inputs of dense mode.

    Needs `time`, `group_id` in `group_cpu`; `group_id`, `vcpus` in `vms` (`inventory.vms`); `time`, `pcpu`,
    `pct_util_time` in `physical_cpu`. Returns, in order of time:

    time
    vms, vcpus, pcpus  i64  running VMs, their vCPUs, PCPUs (hyper-threads if enabled); VMs and vCPUs are null in
                            a sample without groups, vCPUs also if a VM's are unknown
    pcpu_util_pct      f64  % of time, mean over the PCPUs: util, not used

    >>> group_cpu = pl.LazyFrame({"time": [0, 0, 0], "group_id": [1, 7, 9]})
    >>> found = pl.LazyFrame({"group_id": [7, 9], "vcpus": [2, 4]})
    >>> physical = pl.LazyFrame({"time": [0] * 3, "pcpu": [0, 1, None], "pct_util_time": [80.0, 40.0, 60.0]})
    >>> host_load(group_cpu, found, physical).collect().row(0)
    (0, 2, 6, 2, 60.0)
    """
    group_cpu, vms, physical_cpu = finite(group_cpu), finite(vms), finite(physical_cpu)
    is_vm, vcpus = pl.col("_vm").is_not_null(), pl.col("vcpus")
    known = vms.select("group_id", "vcpus", pl.lit(value=True).alias("_vm"))
    running = (
        group_cpu.select("time", "group_id")
        .join(known, on="group_id", how="left")
        .group_by("time")
        .agg(
            is_vm.sum().cast(pl.Int64).alias("vms"),
            pl.when(vcpus.filter(is_vm).is_not_null().all()).then(vcpus.sum().cast(pl.Int64)).alias("vcpus"),
        )
    )
    number, util = pl.col("pcpu"), pl.col("util_pct")
    return (
        host_cpu.pcpu(physical_cpu)
        .group_by("time")
        .agg(
            number.drop_nulls().n_unique().cast(pl.Int64).alias("pcpus"),
            util.filter(number.is_not_null()).mean().alias("pcpu_util_pct"),
        )
        .join(running, on="time", how="left")
        .select("time", "vms", "vcpus", "pcpus", "pcpu_util_pct")
        .sort("time")
    )


def dense_mode(load: pl.LazyFrame, check_every_s: float = CHECK_S) -> pl.LazyFrame:
    """Find at each of the host's checks whether its load qualifies for dense mode.

    Needs `time`, `vms`, `vcpus`, `pcpus`, `pcpu_util_pct` (see `host_load`). All three conditions must hold. If one
    does not, the host reverts the optimisations at that check:

        VMs >= PCPUs        vCPUs >= 2 x PCPUs        PCPU utilisation >= 50 %

    Returns one row per check. Checks are `check_every_s` apart from the first sample on; a check without new samples
    has no row:

    time               of the check
    samples            i64  since the previous check
    vms, vcpus, pcpus  i64  as of the last sample
    pcpu_util_pct      f64  mean over the samples' time (assumed: the study does not give the host's averaging time)
    enough_vms, enough_vcpus, busy_enough  bool  the three thresholds
    eligible           bool all three; null if a number is missing and the others do not decide
    switched           str  on or off, if this check changes the mode; off before the first check, and unchanged at a
                            check with unknown eligibility

    Raises EsxparseError: The time between checks is not positive; on collecting, a number is negative.

    >>> from datetime import datetime, timedelta
    >>> times = [datetime(2015, 11, 2) + timedelta(seconds=second) for second in (0, 60, 120)]
    >>> load = pl.LazyFrame({
    ...     "time": times, "vms": [90] * 3, "vcpus": [160] * 3, "pcpus": [80] * 3, "pcpu_util_pct": [50.0, 52.0, 49.0],
    ... })
    >>> dense_mode(load).select("pcpu_util_pct", "eligible", "switched").collect().rows()
    [(51.0, True, 'on'), (49.0, False, 'off')]
    """
    load = checked(load, dict.fromkeys(("vms", "vcpus", "pcpus", "pcpu_util_pct"), AT_LEAST_0))
    if not (math.isfinite(check_every_s) and check_every_s > 0):
        msg = f"the time between checks must be a positive number of seconds, not {check_every_s!r} (60 is the default)"
        raise EsxparseError(msg)
    time, eligible = pl.col("time"), pl.col("eligible")
    step = round(check_every_s * 1e6)
    number = ((time - time.min()).dt.total_microseconds() / step).ceil().cast(pl.Int64).clip(lower_bound=1)
    check = time.min() + pl.duration(microseconds=number * step)
    before = eligible.forward_fill().shift(1).fill_null(value=False)
    return (
        over_time.with_covered(load.filter(time.is_not_null()))
        .sort("time")
        .with_columns(check.alias("_check"), time.max().alias("_last"))
        .filter(pl.col("_check") <= pl.col("_last"))
        .group_by("_check", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("samples"),
            pl.col("vms", "vcpus", "pcpus").last(),
            over_time.mean(pl.col("pcpu_util_pct").cast(pl.Float64).fill_nan(None)).alias("pcpu_util_pct"),
        )
        .rename({"_check": "time"})
        .with_columns(
            (pl.col("vms") >= pl.col("pcpus")).alias("enough_vms"),
            (pl.col("vcpus") >= VCPUS_PER_PCPU * pl.col("pcpus")).alias("enough_vcpus"),
            (pl.col("pcpu_util_pct") >= BUSY_PCT).alias("busy_enough"),
        )
        .with_columns(pl.all_horizontal("enough_vms", "enough_vcpus", "busy_enough").alias("eligible"))
        .with_columns(switched=first_true((eligible & ~before, "on"), (~eligible & before, "off")))
    )


def dense_mode_summary(checks: pl.LazyFrame) -> pl.LazyFrame:
    """Sum up the checks of `dense_mode`.

    Returns one row: checks, unknown_checks (eligibility unknown), eligible_checks, switches (i64; how often the mode
    went on or off) and eligible_pct. The last is the share of time (`over_time`) in which dense mode would be on, %,
    over the checks with known eligibility; null if there are none.

    >>> checks = pl.LazyFrame({"eligible": [True, False, True, True], "switched": ["on", "off", "on", None]})
    >>> dense_mode_summary(checks).collect().row(0)
    (4, 0, 3, 3, 75.0)
    """
    eligible = pl.col("eligible")
    return over_time.with_covered(checks).select(
        pl.len().cast(pl.Int64).alias("checks"),
        eligible.is_null().sum().cast(pl.Int64).alias("unknown_checks"),
        eligible.sum().cast(pl.Int64).alias("eligible_checks"),
        pl.col("switched").count().cast(pl.Int64).alias("switches"),
        (over_time.share(eligible) * 100).alias("eligible_pct"),
    )
