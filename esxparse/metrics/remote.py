"""Remote access: how many bytes each activity moved, and how fast.

    volume = sum of bytes, or of rate x length of each interval        mean rate = volume / duration

An interval belongs to the sample at its end. The first sample has no previous one, and after a gap (more than 3 times
the usual distance) the duration of the rate is unknown: both count as one usual interval, the median.

KB are 10**3 and MB 10**6 bytes. vCenter's charts do not define their KBps; the difference is 2.4 % (`kib_per_s` for
2**10).

Source: v(e)Xpertise, "working remote via tethering. Bandwidth comparison RDP vs. local Browser" (volumes of test cases)
and "vCloud Director - VMRC Bandwidth Usage" (mean rates of typing, video and browsing).
"""

from __future__ import annotations

import math
from typing import Final

import polars as pl

from esxparse.errors import EsxparseError

from .energy import LONGEST_GAP
from .frames import finite, names
from .units import factor

_RATES: Final = ("kb_per_s", "kib_per_s", "mb_per_s", "mbit_per_s", "kbit_per_s")


def mean_kb_per_s(volume_mb: float, seconds: float) -> float:
    """Return the mean rate of a volume, KB/s: MB x 1000 / s.

    Raises EsxparseError: The duration is not above 0.

    >>> mean_kb_per_s(21, 240), round(mean_kb_per_s(2, 210), 1)  # Chrome in under 4 minutes, RDP in under 3.5
    (87.5, 9.5)
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise EsxparseError(f"a rate needs a time above 0 s, not {seconds!r}")
    return volume_mb * 1000 / seconds


def connections(link_mbit_per_s: float, kb_per_s: float) -> int:
    """Return how many connections of a mean rate fill a link: link x 125 / rate, rounded down.

    The mean is not the peak, and peaks of several connections rarely coincide: use this for planning only.

    Raises EsxparseError: The rate is not above 0, or the link is negative.

    >>> connections(100, 1400), connections(100, 3000)  # consoles with typing, with a video
    (8, 4)
    """
    if not (math.isfinite(kb_per_s) and kb_per_s > 0 and math.isfinite(link_mbit_per_s) and link_mbit_per_s >= 0):
        msg = f"no number of connections of {kb_per_s!r} KB/s fills {link_mbit_per_s!r} Mbit/s: give a rate above 0"
        raise EsxparseError(msg)
    return math.floor(link_mbit_per_s * 125 / kb_per_s)


def by_activity(samples: pl.LazyFrame) -> pl.LazyFrame:
    """Return volume and rate of each activity.

    Needs `time` or `elapsed_s`, `activity`, and either `bytes` (moved since the previous sample) or one mean rate
    since then: `kb_per_s`, `kib_per_s`, `mb_per_s`, `mbit_per_s` or `kbit_per_s`. Several stretches of an activity are
    added up. Samples without an activity form a row of their own, null. Samples without a number do not count.
    Returns, in order of first appearance:

    activity
    samples          i64
    duration_s       f64  s, sum of its intervals
    volume_mb        f64  10**6 bytes; null for a rate in a table of one sample, whose interval is unknown
    mean_kb_per_s    f64  volume / duration; null if the duration is 0
    peak_kb_per_s    f64  highest sample
    of_volume_pct    f64  share of the total volume

    Raises EsxparseError: The table has no time column, or not exactly one column of bytes or of a rate.

    >>> samples = pl.LazyFrame({
    ...     "elapsed_s": [20.0, 40.0, 60.0], "kb_per_s": [1300.0, 1500.0, 3000.0],
    ...     "activity": ["typing", "typing", "video"],
    ... })
    >>> by_activity(samples).select("activity", "duration_s", "volume_mb", "mean_kb_per_s").collect().rows()
    [('typing', 40.0, 56.0, 1400.0), ('video', 20.0, 60.0, 3000.0)]
    """
    samples = finite(samples)
    there = names(samples)
    measured = [name for name in ("bytes", *_RATES) if name in there]
    if len(measured) != 1:
        found = f"has {', '.join(measured)}" if measured else "has none"
        raise EsxparseError(f"the table must have one of bytes, {', '.join(_RATES)} and {found}: keep one of them")
    (name,) = measured
    value = pl.col(name).cast(pl.Float64)
    known = (
        samples.with_columns(_seconds(there).alias("_at"))
        .filter(value.is_not_null() & pl.col("_at").is_not_null())
        .sort("_at", maintain_order=True)
        .with_columns(pl.col("_at").diff().alias("_step"))
    )
    step = pl.col("_step")
    usual = step.filter(step > 0).median()
    unknown = step.is_null() if name == "bytes" else step.is_null() | (step > LONGEST_GAP * usual)
    seconds = pl.when(unknown).then(usual).otherwise(step)
    volume: pl.Expr = value
    rate: pl.Expr = pl.when(pl.col("_s") > 0).then(value / 1000 / pl.col("_s"))
    if name != "bytes":
        rate = value * factor(name, "kb_per_s")
        volume = rate * 1000 * pl.col("_s")
    return (
        known.with_columns(seconds.alias("_s"))
        .with_columns(volume.alias("_volume"), rate.alias("_rate"))
        .group_by("activity", maintain_order=True)
        .agg(
            samples=pl.len().cast(pl.Int64),
            duration_s=pl.col("_s").sum(),
            volume_mb=pl.when(pl.col("_volume").null_count() == 0).then(pl.col("_volume").sum() / 1e6),
            peak_kb_per_s=pl.col("_rate").max(),
        )
        .select(
            "activity",
            "samples",
            "duration_s",
            "volume_mb",
            pl.when(pl.col("duration_s") > 0)
            .then(pl.col("volume_mb") * 1000 / pl.col("duration_s"))
            .alias("mean_kb_per_s"),
            "peak_kb_per_s",
            pl.when(pl.col("volume_mb").sum() > 0)
            .then(pl.col("volume_mb") / pl.col("volume_mb").sum() * 100)
            .alias("of_volume_pct"),
        )
    )


def _seconds(there: frozenset[str]) -> pl.Expr:
    if "elapsed_s" in there:
        return pl.col("elapsed_s").cast(pl.Float64)
    if "time" in there:
        return (pl.col("time") - pl.col("time").min()).dt.total_microseconds() / 1e6
    raise EsxparseError("the table has neither time nor elapsed_s: without times there are no rates")
