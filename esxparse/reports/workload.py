"""What the report on storage benchmarks gathers from its recordings, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import polars as pl

import esxparse
from esxparse.metrics import workload
from esxparse.reports import opening, page
from esxparse.reports.blocks import Block, Column, Header, facts, note, number, table, tiles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

    from esxparse.formats.opening import Options
    from esxparse.recording import Recording

FORMATS: Final = ("fio", "iometer", "diskspd", "vscsistats")

_MOST_ROWS: Final = 60


@dataclass(frozen=True)
class Gathered:
    """The recordings of a report on storage benchmarks, and their tables put together; None where none has such."""

    recordings: tuple[Recording, ...]
    results: pl.LazyFrame | None
    """`workload.results` and `recording` (name, where there are several); then `test` begins with it too."""
    percentiles: pl.LazyFrame | None
    """label, percentile, latency_ms"""
    bins: pl.LazyFrame | None
    """label, from_ms, to_ms, share_pct"""
    series: pl.LazyFrame | None
    """elapsed_s, job, direction, metric, value"""
    histograms: pl.LazyFrame | None
    """Of vscsiStats."""


def gather(paths: Sequence[str | Path], **options: Unpack[Options]) -> Gathered:
    """Open recordings of storage benchmarks and put their tables together.

    Raises:
        EsxparseError: One cannot be read, or is of another format.
    """
    recordings = opening.opened_all(paths, FORMATS, options)
    names = _names(recordings)
    return Gathered(
        recordings=recordings,
        results=_together([_results(rec, name) for rec, name in zip(recordings, names, strict=True)]),
        percentiles=_together([_percentiles(rec, name) for rec, name in zip(recordings, names, strict=True)]),
        bins=_together([_bins(rec, name) for rec, name in zip(recordings, names, strict=True)]),
        series=_together([_series(rec, name) for rec, name in zip(recordings, names, strict=True)]),
        histograms=_together([rec.tables.get("histograms") for rec in recordings if rec.format == "vscsistats"]),
    )


def _names(recordings: Sequence[Recording]) -> list[str]:
    """What tells the recordings apart, put before the names of their tests; nothing where there is one."""
    if len(recordings) == 1:
        return [""]
    return [f"{name}: " for name in opening.names(recordings)]


def _together(frames: Sequence[pl.LazyFrame | None]) -> pl.LazyFrame | None:
    there = [frame for frame in frames if frame is not None]
    return pl.concat(there, how="diagonal_relaxed") if there else None


def _prefixed(column: str, name: str) -> pl.Expr:
    return pl.concat_str([pl.lit(name), pl.col(column)]).alias(column)


def _results(rec: Recording, name: str) -> pl.LazyFrame | None:
    if not ({"jobs", "results"} & set(rec.tables)):
        return None
    recording = pl.lit(name.removesuffix(": ") or None, dtype=pl.String)
    return workload.results(rec.format, rec.tables).with_columns(_prefixed("test", name), recording=recording)


def _label(rec: Recording, frame: pl.LazyFrame, name: str) -> pl.Expr:
    """What a line of latencies is: job and direction, or the DiskSpd run and direction."""
    there = frame.collect_schema().names()
    if rec.format == "diskspd":
        job = pl.format("run {}.{}", "run", "timespan")
    else:
        # Workers of one job are told apart by their number.
        several = pl.col("job_number").n_unique().over("job", "direction") > 1
        job = pl.when(several).then(pl.concat_str("job", "job_number", separator=" ")).otherwise("job")
    parts = [pl.lit(name) + job, pl.col("direction").cast(pl.String)]
    parts += [pl.col("hostname")] if "hostname" in there else []
    return pl.concat_str(parts, separator=" ", ignore_nulls=True).alias("label")


def _percentiles(rec: Recording, name: str) -> pl.LazyFrame | None:
    frame = rec.tables.get("percentiles")
    if frame is None:
        return None
    there = frame.collect_schema().names()
    if "latency" in there:
        # fio prints percentiles of clat, or of lat where it was asked to; those of priorities are parts of them.
        whole = pl.col("priority").is_null() if "priority" in there else pl.lit(True)
        frame = frame.filter(pl.col("latency").is_in(["clat", "lat"]), whole)
    if "target" in there:
        frame = frame.filter(pl.col("target").is_null())
    return frame.select(_label(rec, frame, name), "percentile", "latency_ms")


def _bins(rec: Recording, name: str) -> pl.LazyFrame | None:
    frame = rec.tables.get("latency_bins")
    if frame is None:
        return None
    there = frame.collect_schema().names()
    if "row_type" in there:
        whole = frame.filter(pl.col("row_type") == "ALL")
        label = (pl.lit(name) + pl.col("access_spec")).alias("label")
    elif "source" in there:
        # Bins of JSON+ are the finer ones; the coarse shares stand for those jobs that have none.
        fine = (pl.col("source") == "bins") & pl.col("latency").is_in(["clat", "lat"])
        has_fine = fine.any().over("document", "job_number")
        whole = frame.filter(pl.col("priority").is_null(), fine | ~has_fine)
        label = _label(rec, frame, name)
    else:
        return None
    share = pl.col("ios") / pl.col("ios").sum().over("label") * 100
    given = pl.coalesce("share_pct", share) if "share_pct" in there else share
    return whole.with_columns(label).select("label", "from_ms", "to_ms", share_pct=given)


def _series(rec: Recording, name: str) -> pl.LazyFrame | None:
    frame = rec.tables.get("series")
    if frame is None or rec.format != "fio":
        return None
    there = frame.collect_schema().names()
    elapsed = (
        pl.col("elapsed_s")
        if "elapsed_s" in there
        else (pl.col("time") - pl.col("time").min()).dt.total_milliseconds() / 1000
    )
    return frame.select(
        elapsed.alias("elapsed_s"), _prefixed("job", name), pl.col("direction").cast(pl.String), "metric", "value"
    )


def header(gathered: Gathered, title: str) -> Header:
    """The title, and which programs reported."""
    releases = sorted({str(rec.meta.get("release") or rec.format) for rec in gathered.recordings})
    names = ", ".join(Path(rec.source).name for rec in gathered.recordings[:4])
    more = f" and {len(gathered.recordings) - 4} more" if len(gathered.recordings) > 4 else ""  # noqa: PLR2004
    return Header(title, f"{', '.join(releases)}: {names}{more}")


def summary(gathered: Gathered) -> Block:
    """Tiles: how much was tested, and the best of it."""
    if gathered.results is None:
        return note("These recordings hold no results of tests: logs or histograms only.", "info")
    results = gathered.results.collect()
    if results.is_empty():
        return note("No test of these recordings did any I/O.", "warning")
    most = results.group_by("test").agg(pl.col("iops").sum(), pl.col("bandwidth_bytes_per_s").sum())
    by_iops = most.sort("iops", descending=True).row(0, named=True)
    by_rate = most.sort("bandwidth_bytes_per_s", descending=True).row(0, named=True)
    errors = int(results["errors"].sum() or 0)
    items = [
        (
            "Tests",
            str(most.height),
            "in one recording" if len(gathered.recordings) == 1 else f"in {len(gathered.recordings)} recordings",
        ),
        ("Most IOPS", number(by_iops["iops"], 0), by_iops["test"]),
        ("Highest bandwidth", f"{number(by_rate['bandwidth_bytes_per_s'] / 1e6, 1)} MB/s", by_rate["test"]),
        ("I/O errors", number(errors, 0), "of all tests"),
    ]
    timed = results.filter(pl.col("latency_mean_ms").is_not_null()).sort("latency_mean_ms")
    if timed.height:
        best = timed.row(0, named=True)
        items.insert(3, ("Lowest mean latency", f"{number(best['latency_mean_ms'], 3)} ms", best["test"]))
    return tiles(items)


def tests(gathered: Gathered) -> Block:
    """Every test and direction with its numbers."""
    if gathered.results is None:
        return Block("", "")
    column = pl.col
    frame = gathered.results.with_columns(
        size=column("block_size_bytes") / 1024, rate=column("bandwidth_bytes_per_s") / 1e6
    ).collect()
    columns = [
        Column("test", "Test", fit="name"),
        Column("direction", "Direction", fit="short"),
        Column("pattern", "Pattern"),
        Column("size", "Block", "KiB", digits=1),
        Column("outstanding", "Outstanding I/Os", digits=None),
        Column("iops", "IOPS", digits=0),
        Column("rate", "Bandwidth", "MB/s", digits=1),
        Column("latency_mean_ms", "Mean", "ms", digits=3),
        Column("p50_ms", "p50", "ms", digits=3),
        Column("p95_ms", "p95", "ms", digits=3),
        Column("p99_ms", "p99", "ms", digits=3),
        Column("p99_9_ms", "p99.9", "ms", digits=3),
        Column("latency_max_ms", "Highest", "ms", digits=1),
        Column("errors", "Errors", digits=None),
    ]
    left_out = f" (the first {_MOST_ROWS} of {frame.height})" if frame.height > _MOST_ROWS else ""
    return table(frame.head(_MOST_ROWS), columns, f"Tests{left_out}; MB are 10\u2076 bytes, KiB 1024 bytes")


_HISTOGRAMS: Final = {
    "io_length": ("Sizes of commands", "bytes"),
    "outstanding": ("Commands outstanding when one arrives", "commands"),
    "latency": ("Latency of commands", "microseconds"),
    "seek_distance": ("Distance from the command before", "blocks of 512 bytes"),
    "interarrival": ("Time between commands", "microseconds"),
}
"""Histogram of vscsiStats -> title of its chart, unit."""


def series_charts(gathered: Gathered) -> list[alt.LayerChart | None]:
    """What fio logged over time; completion latency where the whole was not logged."""
    from esxparse.charts import workload as drawn  # noqa: PLC0415  altair takes more than a second

    if gathered.series is None:
        return []
    logged = (
        gathered.series.select(pl.col("metric").cast(pl.String).unique(maintain_order=True))
        .collect()["metric"]
        .to_list()
    )
    return [
        drawn.over_time(gathered.series, metric)
        for metric in drawn.LOGGED
        if metric in logged and not (metric == "clat" and "lat" in logged)
    ]


def histogram_charts(gathered: Gathered) -> list[alt.LayerChart | None]:
    """The histograms of vscsiStats, all disks together."""
    from esxparse.charts import latency  # noqa: PLC0415  altair takes more than a second

    if gathered.histograms is None:
        return []
    return [
        latency.histogram(gathered.histograms.filter(pl.col("histogram") == name), title, unit)
        for name, (title, unit) in _HISTOGRAMS.items()
    ]


def reader_notes(gathered: Gathered) -> Block:
    """Everything odd the readers met."""
    return page.readers_notes(gathered.recordings)


def provenance(gathered: Gathered, template: str, options: Mapping[str, Any]) -> Block:
    """Where the report comes from, and with which options of `esxparse.open`."""
    items = [(f"Source {number}", rec.source) for number, rec in enumerate(gathered.recordings, 1)]
    return facts(
        [*items, ("Program", f"esxparse {esxparse.__version__}"), ("Template", template), *page.parameters(options)]
    )
