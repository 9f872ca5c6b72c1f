"""Samples told apart where several have one time: a spreadsheet dropped the seconds, or a file was appended to itself.

A sample has each instance once. So the first row of each instance at a time is of one sample, the second of the next,
and sums over the instances of a sample must not go by its time alone: they would add up samples.
"""

from __future__ import annotations

from typing import Final

import polars as pl

SAMPLE: Final = ("time", "_place")
"""What tells samples apart: their time, and which one of that time it is."""


def placed(rows: pl.LazyFrame, *instance: str) -> pl.LazyFrame:
    """Add to each row which sample of its time it is of, from 0, by the columns that name an instance; sorts by time.

    >>> rows = pl.LazyFrame({"time": [0, 0, 0, 0], "device": ["a", "b", "a", "b"], "iops": [1.0, 2.0, 3.0, 4.0]})
    >>> placed(rows, "device").group_by(SAMPLE).agg(pl.col("iops").sum()).sort(SAMPLE).collect()["iops"].to_list()
    [3.0, 7.0]
    """
    # By instance alone, in order of time: groups by time and instance would be as many as there are rows.
    number, time = pl.int_range(pl.len()), pl.col("time")
    first = pl.when(time.ne_missing(time.shift(1))).then(number).forward_fill()
    place = (number - first).over(instance) if instance else number - first
    return rows.sort("time", maintain_order=True).with_columns(place.alias("_place"))
