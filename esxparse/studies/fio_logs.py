"""The columns of a run from fio logs: bw, iops and latency logs, cut to the measured span.

A log has a line for each I/O, or lines that are means over a stated time (`log_avg_msec`). Lines for each I/O are
counted. A mean counts for the time that its line covers. fio writes no line for a time without I/O; its rate is 0.
Rates of several logs are added up. Latencies are means over lines, because a line does not show its number of I/Os.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from esxparse import clock
from esxparse.errors import EsxparseError
from esxparse.recording import Recording
from esxparse.studies import loads
from esxparse.studies.span import Span

_MB: Final = 1e6
_TABLES: Final = ("series", "series_elapsed")
_WAYS: Final = ("read", "write", "trim")
_COUNTED: Final = ("lat", "clat", "iops", "bandwidth", "slat")
"""Metrics whose logs have a line for each I/O, preferred ones first."""
_LATENCIES: Final = ("lat", "clat")
_RATES: Final = ("bandwidth", "iops")
_STREAM: Final = ("metric", "direction", "stream")
_LATE: Final = 1.5
"""A log was idle at an end of the span if it begins or ends more than this many of its intervals from there."""
_EMPTY = pl.Datetime("us", "UTC")


def has_logs(rec: Recording) -> bool:
    """Return whether a recording of fio has lines of its logs."""
    return rec.format == "fio" and any(name in rec for name in _TABLES)


def guessed_unit(recs: Sequence[Recording]) -> str | None:
    """Return the guessed units of latencies, in words; None if all are certain."""
    units = sorted({unit for rec in recs for unit in rec.meta.get("guessed_units", ())})
    return f"{' or '.join(units)}, a guess" if units else None


def begin(rec: Recording, outputs: Sequence[Recording], clock: timedelta) -> datetime | None:
    """Return when the jobs of a log started, from fio's output: the one in its directory, or else the only one."""
    beside = rec if loads.has_results(rec) else outputs[0] if len(outputs) == 1 else None
    own = loads.own_span(beside, clock) if beside else None
    return own.start if own else None


def lines(recs: Sequence[Recording], begins: Sequence[datetime | None], clock: timedelta) -> pl.LazyFrame:
    """Return the lines of all logs, on the capture's clock.

    `recs`: logs, and directories of runs. `begins`: when the jobs of each began, for logs that count from there.
    `clock`: shift of times of day.
    """
    parts = []
    for place, (rec, began) in enumerate(zip(recs, begins, strict=True)):
        for table in (rec[name] for name in _TABLES if name in rec):
            there = table.collect_schema().names()
            if "time" in there:
                time = pl.col("time") + clock
            elif began is not None:
                time = pl.lit(began) + pl.duration(microseconds=(pl.col("elapsed_s") * 1e6).cast(pl.Int64))
            else:
                raise EsxparseError(
                    f"{rec.source} counts from the start of its job, and the start time is unknown: "
                    "add fio's output, or log with log_unix_epoch=1"
                )
            stream = [pl.col(name) for name in ("job", "job_number", "hostname") if name in there]
            parts.append(
                table.select(
                    time.cast(_EMPTY).alias("time"),
                    pl.format("{} {}", pl.lit(place), pl.concat_str(stream, separator="/", ignore_nulls=True)).alias(
                        "stream"
                    ),
                    "metric",
                    pl.col("direction").cast(pl.String),
                    "value",
                    pl.col("block_size_bytes").fill_null(0).alias("size"),
                )
            )
    return _by_job(pl.concat(parts))


def _by_job(logged: pl.LazyFrame) -> pl.LazyFrame:
    """Separate jobs that share a log (`per_job_logs=0`): fio writes one after another, each from its start.

    Lines for each I/O are only counted, so their job and their order do not matter.
    """
    mean = pl.col("size") == 0
    again = (pl.col("time").diff().dt.total_microseconds() < 0).cum_sum().over(*_STREAM, mean)
    stream = pl.format("{} {}", "stream", pl.when(mean).then(again).fill_null(0))
    return logged.with_columns(stream=stream)


def length(recs: Sequence[Recording]) -> float:
    """Return seconds from the start of the jobs to the last line of logs that count from there; 0 without such logs."""
    tables = [rec[name] for rec in recs for name in _TABLES if name in rec]
    seconds = [
        table.select(pl.col("elapsed_s").max()).collect().item()
        for table in tables
        if "elapsed_s" in table.collect_schema()
    ]
    return max((value for value in seconds if value is not None), default=0.0)


def load(logged: pl.LazyFrame, span: Span, source: str) -> dict[str, Any]:
    """Return rates and latencies over the span, under the column names of load generators' results.

    Percentiles and the maximum need a line for each I/O. Null means not logged.
    """
    one = (pl.col("size") > 0).any()
    value = pl.col("value")
    streams = (
        logged.filter(span.inside(), pl.col("direction").is_in(_WAYS))
        .group_by(_STREAM)
        .agg(
            pl.len().alias("lines"),
            one.alias("each"),
            value.sum().alias("sum"),
            pl.col("size").sum().alias("bytes"),
            pl.when(one).then(value.max()).alias("max"),
        )
        .join(_rates(logged, span), on=_STREAM, how="left")
        .collect()
    )
    if not streams.height:
        raise EsxparseError(
            f"{source} has no line in the measured span ({clock.spell(span.start, span.end)} UTC): "
            "if its clock differs, set clock = ... for that file"
        )
    found: dict[str, Any] = {}
    for way in _WAYS:
        mine = streams.filter(pl.col("direction") == way)
        if mine.height:
            found |= {f"{way}_{name}": number for name, number in _side(mine, span.seconds).items()}
    found |= _percentiles(logged.filter(span.inside()), streams)
    there = [way for way in _WAYS if any(name.startswith(way) for name in found)]
    for name in ("iops", "mb_per_s"):
        rates = [found[f"{way}_{name}"] for way in there]
        found[name] = sum(rates) if None not in rates else None
    means = [(found[f"{way}_latency_mean_ms"], found[f"{way}_iops"]) for way in there]
    if len(means) == 1:
        found["latency_mean_ms"] = means[0][0]
    elif all(None not in pair for pair in means) and found["iops"]:
        found["latency_mean_ms"] = sum(mean * rate for mean, rate in means) / found["iops"]
    latencies = streams.filter(pl.col("metric") == _first(streams, _LATENCIES))
    found["latency_max_ms"] = latencies["max"].max()
    if found["iops"] is not None and found.get("latency_mean_ms") is not None:
        found["outstanding_by_law"] = found["iops"] * found["latency_mean_ms"] / 1000
    # A trim has no columns of its own.
    return {name: number for name, number in found.items() if number is not None and not name.startswith("trim_")}


def _rates(logged: pl.LazyFrame, span: Span) -> pl.LazyFrame:
    """Return the mean over the span of each log whose lines are means: `metric, direction, stream, rate`.

    A line covers the time since the previous line, but no more than the usual interval of its log. A single line
    covers everything before it.
    """
    lines = logged.filter(pl.col("metric").is_in(_RATES), pl.col("size") == 0).sort("time", maintain_order=True)
    at = (pl.col("time") - span.start).dt.total_microseconds() / 1e6
    step = pl.col("_to").diff()
    usual, begin, end = pl.col("_usual"), pl.col("_from"), pl.col("_to").clip(upper_bound=span.seconds)
    low, high = begin.min(), end.max()
    idle = [pl.when(gap > _LATE * usual.first()).then(gap).otherwise(0.0) for gap in (low, span.seconds - high)]
    return (
        lines.with_columns(at.alias("_to"))
        .with_columns(step.over(_STREAM).alias("_step"))
        .with_columns(
            pl.col("_step").filter(pl.col("_step") > 0).median().over(_STREAM).fill_null(float("inf")).alias("_usual")
        )
        .with_columns((pl.col("_to") - pl.min_horizontal("_step", "_usual")).clip(lower_bound=0.0).alias("_from"))
        .filter(end > begin)
        .group_by(_STREAM)
        .agg(((pl.col("value") * (end - begin)).sum() / (high - low + idle[0] + idle[1])).alias("rate"))
    )


def _first(streams: pl.DataFrame, metrics: Sequence[str]) -> str:
    """Return the first of these metrics that was logged; "" if none was."""
    there = set(streams["metric"])
    return next((metric for metric in metrics if metric in there), "")


def _side(streams: pl.DataFrame, seconds: float) -> dict[str, float | None]:
    means = streams.filter(~pl.col("each"))
    counted = streams.filter(pl.col("each"))
    lines_of = counted.filter(pl.col("metric") == _first(counted, _COUNTED))

    def rate(metric: str, by_count: str) -> float | None:
        of = means.filter(pl.col("metric") == metric)
        if of.height:
            return float(of["rate"].sum())
        return float(lines_of[by_count].sum()) / seconds if lines_of.height and seconds else None

    bandwidth = rate("bandwidth", "bytes")
    latency = streams.filter(pl.col("metric") == _first(streams, _LATENCIES))
    return {
        "iops": rate("iops", "lines"),
        "mb_per_s": None if bandwidth is None else bandwidth / _MB,
        "latency_mean_ms": float(latency["sum"].sum()) / float(latency["lines"].sum()) if latency.height else None,
    }


def _percentiles(logged: pl.LazyFrame, streams: pl.DataFrame) -> dict[str, float | None]:
    """Return percentiles of reads and writes, from logs with a line for each I/O."""
    metric = _first(streams.filter(pl.col("each")), _LATENCIES)
    if not metric or not streams.filter(pl.col("metric") == metric)["each"].all():
        return {}
    value = pl.col("value")
    found = (
        logged.filter(pl.col("metric") == metric, pl.col("direction").is_in(("read", "write")))
        .group_by("direction")
        .agg(value.quantile(share / 100, interpolation="linear").alias(f"p{share}_ms") for share in (95, 99))
        .collect()
    )
    return {
        f"{row['direction']}_{name}": row[name] for row in found.iter_rows(named=True) for name in ("p95_ms", "p99_ms")
    }
