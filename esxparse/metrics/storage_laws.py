"""Storage results against the laws they must obey, and the upper bounds that form a baseline.

    GAVG = DAVG + KAVG                      latency of the guest = device + VMkernel
    outstanding = IOPS x latency            Little's law; with latency in ms / 1000
    MB per second = IOPS x block size / 10**6

A measurement that violates a law has an error: a different span, unit, or level of the stack.

Sources: "Interpreting esxtop Statistics", section 4.2.2 (GAVG); J. D. C. Little, "A Proof for the Queuing Formula:
L = lambda W" (1961); "NFS & iSCSI: Performance Characterization and Best Practices in ESX 3.5", slides "Pre-Deployment
Best Practices" 3 and 4 of 4 (upper bounds for small I/Os and MBps, average and worst response time, "know the peak
resource usage, not just the average"); "Virtualized Storage Performance: RAID Groups versus Storage pools" ("normalized
to the lowest 1-tile results").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import polars as pl

from esxparse.errors import EsxparseError

from . import over_time
from .frames import column, finite, names, need, weighted_mean

SMALL_BYTES: Final = 4096
"""Largest block that counts as a small I/O."""
ROUNDING_MS: Final = 0.02
"""Three values of two decimals can contradict each other by 0.015 ms through rounding alone."""


def mb_per_s(iops: float, block_size_bytes: float) -> float:
    """Return throughput, MB/s of 10**6 bytes: IOPS x block size / 10**6.

    Raises EsxparseError: A number is negative.

    >>> mb_per_s(70_000, 4096), mb_per_s(1000, 262_144)
    (286.72, 262.144)
    """
    if not (iops >= 0 and block_size_bytes >= 0):
        raise EsxparseError(f"{iops!r} I/Os per second of {block_size_bytes!r} bytes: both must be 0 or more")
    return iops * block_size_bytes / 1e6


def outstanding(iops: float, latency_ms: float) -> float:
    """Return the average number of outstanding I/Os, by Little's law: IOPS x latency / 1000.

    >>> outstanding(64_000, 2.0)
    128.0
    """
    return iops * latency_ms / 1000


def latency_ms(outstanding: float, iops: float) -> float:
    """Return the mean latency for a number of outstanding I/Os, by Little's law: outstanding / IOPS x 1000, ms.

    Raises EsxparseError: IOPS are not above 0.

    >>> latency_ms(16, 800)
    20.0
    """
    if not (math.isfinite(iops) and iops > 0):
        raise EsxparseError(f"{iops!r} I/Os per second have no latency: there was no I/O")
    return outstanding / iops * 1000


def iops_limit(outstanding: float, latency_ms: float) -> float:
    """Return the most I/Os per second at a latency, by Little's law: outstanding / latency x 1000.

    With one outstanding I/O, throughput depends on response time alone ("Run tests with single outstanding I/O").

    Raises EsxparseError: The latency is not above 0.

    >>> iops_limit(1, 20.0)
    50.0
    """
    if not (math.isfinite(latency_ms) and latency_ms > 0):
        raise EsxparseError(f"a latency of {latency_ms!r} ms is no limit: give one above 0")
    return outstanding / latency_ms * 1000


def check_gavg(latency: pl.LazyFrame, tolerance_ms: float = ROUNDING_MS) -> pl.LazyFrame:
    """Check GAVG = DAVG + KAVG row by row.

    Needs `gavg_ms`, `davg_ms`, `kavg_ms` (`storage.latency` or `storage.summary`). Keeps all columns and adds, null if
    one of the three is missing:

    gavg_residual_ms   f64   GAVG - (DAVG + KAVG), ms
    gavg_agrees        bool  within `tolerance_ms`, which allows for the rounding of the capture

    >>> rows = pl.LazyFrame({"gavg_ms": [4.5, 9.0], "davg_ms": [4.0, 4.0], "kavg_ms": [0.5, 0.5]})
    >>> check_gavg(rows).select("gavg_residual_ms", "gavg_agrees").collect().rows()
    [(0.0, True), (4.5, False)]
    """
    latency = finite(latency)
    there = names(latency)
    residual = column(there, "gavg_ms") - (column(there, "davg_ms") + column(there, "kavg_ms"))
    return latency.with_columns(
        residual.alias("gavg_residual_ms"), (residual.abs() <= tolerance_ms).alias("gavg_agrees")
    )


def check_outstanding(results: pl.LazyFrame, tolerance_pct: float = 10.0) -> pl.LazyFrame:
    """Check Little's law: the outstanding I/Os implied by rate and latency, against measured or configured ones.

    Needs `iops`; a latency of the same I/Os, `latency_mean_ms` (`workload.results`) or `gavg_all_ms`, else `gavg_ms`
    (`storage.latency`); and `outstanding`, or `active` and `queued` together. Keeps all columns and adds, null if a
    number is missing:

    outstanding_by_law    f64   IOPS x latency / 1000
    outstanding_pct       f64   by law / measured x 100. Below 100: the load generator did not keep its queue full, or
                                latency is measured below the queue. Above 100: it is measured above the queue. Null at
                                0 measured
    outstanding_agrees    bool  within `tolerance_pct` percent; `active` and `queued` are snapshots once per sample, so
                                judge them by their mean over many

    Raises EsxparseError: The table has no latency, or no measured outstanding I/Os.

    >>> results = pl.LazyFrame({"iops": [32_000.0, 32_000.0], "latency_mean_ms": [2.0, 1.0], "outstanding": [64, 64]})
    >>> wanted = ["outstanding_by_law", "outstanding_pct", "outstanding_agrees"]
    >>> check_outstanding(results).select(wanted).collect().rows()
    [(64.0, 100.0, True), (32.0, 50.0, False)]
    """
    results = finite(results)
    there = names(results)
    latency = next((name for name in ("latency_mean_ms", "gavg_all_ms", "gavg_ms") if name in there), None)
    if "outstanding" in there:
        measured = pl.col("outstanding").cast(pl.Float64)
    elif {"active", "queued"} <= there:
        measured = pl.col("active") + pl.col("queued")
    else:
        measured = None
    if latency is None or measured is None or "iops" not in there:
        raise EsxparseError(
            "Little's law needs iops, a latency (latency_mean_ms or gavg_ms) and outstanding (or active and queued); "
            f"the table has: {', '.join(sorted(there))}"
        )
    law = pl.col("iops") * pl.col(latency) / 1000
    share = pl.when(measured > 0).then(law / measured * 100)
    return results.with_columns(
        law.alias("outstanding_by_law"),
        share.alias("outstanding_pct"),
        ((share - 100).abs() <= tolerance_pct).alias("outstanding_agrees"),
    )


def upper_bounds(results: pl.LazyFrame, by: Sequence[str] = (), small_bytes: int = SMALL_BYTES) -> pl.LazyFrame:
    """Return the bounds of a baseline from a sweep: most small I/Os, most MB, average and worst response time.

    Needs `iops`, `block_size_bytes`, `bandwidth_bytes_per_s` and any of `latency_mean_ms`, `latency_max_ms`, from
    `workload.results`. Returns one row for each group of `by` (direction, pattern, run ...), in their order:

    by...
    tests                    i64
    small_iops               f64  highest IOPS of tests with blocks up to `small_bytes`; null without such tests
    small_block_size_bytes   i64  its block size, the smallest if several reach it
    mb_per_s                 f64  highest throughput of any test, 10**6 bytes
    mb_block_size_bytes      i64  its block size, the smallest if several reach it
    latency_mean_ms          f64  mean over the tests, weighted by IOPS
    latency_max_ms           f64  worst response time of any test

    >>> results = pl.LazyFrame({
    ...     "block_size_bytes": [4096, 262_144], "iops": [30_000.0, 1000.0], "latency_mean_ms": [1.0, 16.5],
    ...     "bandwidth_bytes_per_s": [122_880_000.0, 262_144_000.0], "latency_max_ms": [9.0, 80.0],
    ... })
    >>> upper_bounds(results).select("small_iops", "mb_per_s", "latency_mean_ms", "latency_max_ms").collect().row(0)
    (30000.0, 262.144, 1.5, 80.0)
    """
    results = finite(results)
    there = names(results)
    block, iops, bandwidth = (pl.col(name) for name in ("block_size_bytes", "iops", "bandwidth_bytes_per_s"))
    small = (block <= small_bytes).fill_null(value=False)
    most_small = iops.filter(small).max()
    keys: list[str | pl.Expr] = [*by] or [pl.lit(0).alias("_all")]
    return (
        results.group_by(keys, maintain_order=True)
        .agg(
            tests=pl.len().cast(pl.Int64),
            small_iops=most_small,
            small_block_size_bytes=block.filter(small & (iops == most_small)).min(),
            mb_per_s=bandwidth.max() / 1e6,
            mb_block_size_bytes=block.filter(bandwidth == bandwidth.max()).min(),
            latency_mean_ms=weighted_mean(column(there, "latency_mean_ms"), iops),
            latency_max_ms=column(there, "latency_max_ms").max(),
        )
        .drop("_all", strict=False)
    )


def mean_and_peak(samples: pl.LazyFrame, columns: Sequence[str], by: Sequence[str] = ()) -> pl.LazyFrame:
    """Return mean and peak of resources over time: a mean of 40 % can hide minutes at 100 %.

    Needs `columns`, numbers. Returns one row for each column and group of `by`, column after column:

    by..., resource   str  name of the column
    samples           i64  with a number
    mean, p95, peak   f64  in the unit of the column, over time if there is a column `time` (`over_time`)
    peak_to_mean      f64  null if the mean is 0

    Raises EsxparseError: A column is missing, or `columns` is empty.

    >>> samples = pl.LazyFrame({"used_pct": [10.0, 10.0, 100.0]})
    >>> mean_and_peak(samples, ["used_pct"]).select("resource", "mean", "peak", "peak_to_mean").collect().rows()
    [('used_pct', 40.0, 100.0, 2.5)]
    """
    samples = finite(samples)
    need(names(samples), *columns, *by)
    if not columns:
        raise EsxparseError("no columns given to find the peaks of")
    keys: list[str | pl.Expr] = [*by] or [pl.lit(0).alias("_all")]
    timed = over_time.with_covered(samples)

    def of(name: str) -> pl.LazyFrame:
        value = pl.col(name).cast(pl.Float64)
        return (
            timed.group_by(keys, maintain_order=True)
            .agg(
                resource=pl.lit(name),
                samples=value.count().cast(pl.Int64),
                mean=over_time.mean(value),
                p95=over_time.quantile(value, 0.95),
                peak=value.max(),
            )
            .drop("_all", strict=False)
        )

    return pl.concat([of(name) for name in columns]).with_columns(
        peak_to_mean=pl.when(pl.col("mean") != 0).then(pl.col("peak") / pl.col("mean"))
    )


def normalised_to_lowest(
    results: pl.LazyFrame, value: str, *, load: str = "tiles", base: int = 1, by: Sequence[str] = ()
) -> pl.LazyFrame:
    """Divide a column by its lowest value at the base load, like VMmark latencies by the lowest 1-tile result.

    value / min(value where load = base), for each group of `by` (the workload: mail, web, database). Average the
    repetitions of a configuration first. Keeps all columns and adds, null if a group has no result at that load, or
    its lowest is 0:

    <value>_normalised   f64  1 is the lowest at the base load

    Raises EsxparseError: A column is missing.

    >>> results = pl.LazyFrame({
    ...     "storage": ["group", "pool"] * 2, "tiles": [1, 1, 7, 7], "response_ms": [80.0, 84.0, 100.0, 98.0],
    ... })
    >>> normalised_to_lowest(results, "response_ms").collect()["response_ms_normalised"].to_list()
    [1.0, 1.05, 1.25, 1.225]
    """
    results = finite(results)
    there = names(results)
    need(there, value, load, *by)
    number = pl.col(value).cast(pl.Float64)
    lowest = number.filter(pl.col(load) == base).min()
    reference = lowest.over(list(by)) if by else lowest
    return results.with_columns(pl.when(reference != 0).then(number / reference).alias(f"{value}_normalised"))
