"""What the workers of a load generator saw, taken together."""

from __future__ import annotations

import polars as pl

from esxparse.metrics.workers import median_read_latency


def results(*rows):
    names = ("run", "test", "row_type", "read_iops", "read_latency_mean_ms")
    return pl.LazyFrame(
        [dict(zip(names, row, strict=True)) for row in rows], schema_overrides={"read_iops": pl.Float64}
    )


def test_workers_that_only_write_are_left_out():
    frame = results((1, 1, "WORKER", 0.0, 0.0), (1, 1, "WORKER", 5.0, 7.0), (1, 2, "WORKER", 0.0, 0.0))
    assert median_read_latency(frame).collect().rows() == [(1, 1, 1, 7.0), (1, 2, 0, None)]


def test_a_release_without_a_column_gives_nulls():
    frame = results((1, 1, "WORKER", 1.0, 5.0)).drop("read_latency_mean_ms", "read_iops")
    assert median_read_latency(frame).collect().rows() == [(1, 1, 0, None)]
    assert isinstance(median_read_latency(frame), pl.LazyFrame)
