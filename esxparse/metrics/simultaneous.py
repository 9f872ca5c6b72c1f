"""Storage tests that ran at the same time, from the table of `workload.results`.

Only tests that ran at the same time may be added up: tests of one `run` and `part`, and tests of one `run` with
overlapping times (`begin_s` to `end_s`). A column `recording` separates several recordings in one table.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from .frames import finite, names

_EARLY: Final = 0.01
"""A test is sampled this share of its length after its start: clocks of jobs are cut to milliseconds."""


def moments(results: pl.LazyFrame) -> pl.LazyFrame:
    """Return the total of the running tests at each moment when a test began.

    Returns one row per moment, in the order of the tests:

    recording              str  if `results` has it
    run, part              i64  of the test that began
    iops, bandwidth_bytes_per_s  f64  sum over the tests under way
    tests                  list[str]  their names

    >>> tests = {"test": ["a", "b", "c"], "run": [1] * 3, "part": [0] * 3, "iops": [100.0, 50.0, 70.0],
    ...     "bandwidth_bytes_per_s": [1.0] * 3, "begin_s": [0.0, 0.0, 30.0], "end_s": [60.0, 20.0, 60.0]}
    >>> moments(pl.LazyFrame(tests)).select("iops", "tests").collect().rows()
    [(150.0, ['a', 'b']), (170.0, ['a', 'c'])]
    """
    keys = [name for name in ("recording", "run") if name in names(results)]
    timed = pl.col("begin_s").is_not_null() & pl.col("end_s").is_not_null()
    # Without times, only tests of one part are known to run together: each part becomes a separate moment.
    rows = (
        finite(results)
        .with_columns(
            _part=pl.when(~timed).then("part"),
            _begin=pl.when(timed).then("begin_s").otherwise(0.0),
            _end=pl.when(timed).then("end_s").otherwise(1.0),
        )
        .with_columns(_at=pl.col("_begin") + _EARLY * (pl.col("_end") - pl.col("_begin")))
    )
    starts = rows.select(*keys, "part", "_part", "_begin", "_at").unique(
        [*keys, "_part", "_begin"], keep="first", maintain_order=True
    )
    under_way = (pl.col("_begin") <= pl.col("_at")) & (pl.col("_at") <= pl.col("_end"))
    return (
        starts.with_row_index("_moment")
        .join(
            rows.select(*keys, "_part", "_begin", "_end", "test", "iops", "bandwidth_bytes_per_s"),
            on=[*keys, "_part"],
            nulls_equal=True,
            suffix="_of",
            maintain_order="left_right",
        )
        .with_columns(_begin="_begin_of")
        .filter(under_way)
        .group_by("_moment", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in (*keys, "part")),
            pl.col("iops", "bandwidth_bytes_per_s").sum(),
            tests=pl.col("test").unique(maintain_order=True),
        )
        .drop("_moment")
    )
