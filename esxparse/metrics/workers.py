"""Combined results of the workers of a load generator that reports each worker."""

from __future__ import annotations

import polars as pl

from .frames import column, finite, names


def median_read_latency(results: pl.LazyFrame) -> pl.LazyFrame:
    """Return the median of the workers' average read latencies, for each test.

    median over the WORKER rows of a test of `read_latency_mean_ms`. Each worker counts once, however many reads it
    did, unlike in the ALL row, whose mean is weighted by reads. Workers without reads have no latency (the program
    prints 0 for them) and are left out.

    Works on the table `results` of an Iometer recording; needs `test`, `row_type`, `read_latency_mean_ms`, and
    `read_iops` to identify workers with reads. Returns, sorted by test:

    run, test                 as in `results` (run only if present)
    workers                   WORKER rows with reads
    median_read_latency_ms    f64   milliseconds; null without such rows

    Source: VMware, "VMware vSphere APIs for I/O Filtering (VAIO)" performance study: "The latency is the median of the
    average read latencies reported by all Iometer workers."

    >>> results = pl.LazyFrame({
    ...     "test": [1] * 5, "row_type": ["ALL", "WORKER", "WORKER", "WORKER", "WORKER"],
    ...     "read_iops": [70.0, 10.0, 20.0, 40.0, 0.0], "read_latency_mean_ms": [3.0, 1.0, 2.0, 6.0, 0.0],
    ... })
    >>> median_read_latency(results).collect().rows()
    [(1, 3, 2.0)]
    """
    results = finite(results)
    there = names(results)
    by = [name for name in ("run", "test") if name in there]
    did_read = (column(there, "read_iops").fill_null(1.0) > 0) & column(there, "read_latency_mean_ms").is_not_null()
    read = (pl.col("row_type") == "WORKER") & did_read
    return (
        results.group_by(by)
        .agg(
            read.sum().cast(pl.Int64).alias("workers"),
            column(there, "read_latency_mean_ms").filter(read).median().alias("median_read_latency_ms"),
        )
        .sort(by)
    )
