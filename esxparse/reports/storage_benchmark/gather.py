"""What the report on storage benchmarks gathers from its recordings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

import polars as pl

from esxparse.metrics import workload
from esxparse.reports import recordings as files

if TYPE_CHECKING:
    from esxparse.formats.opening import Options
    from esxparse.recording import Recording

_NUMBERED: Final = re.compile(r"(.+)[-_. ](\d+)(\.\w+)?", re.ASCII)
_PARTS: Final = re.compile(r"[-_. ]+")

FORMATS: Final = ("fio", "iometer", "diskspd", "vscsistats")


@dataclass(frozen=True)
class Gathered:
    """The recordings of a report on storage benchmarks, and their tables put together; None where none has such."""

    recordings: tuple[Recording, ...]
    results: pl.LazyFrame | None
    """`workload.results` and `recording` (name, where there are several); then `test` begins with it too."""
    means: pl.LazyFrame | None
    """`results` with repetitions as their mean, and `setting`: the words by which recordings differ, if any."""
    percentiles: pl.LazyFrame | None
    """label, percentile, latency_ms"""
    bins: pl.LazyFrame | None
    """label, from_ms, to_ms, share_pct"""
    series: pl.LazyFrame | None
    """elapsed_s, job, direction, metric, value"""
    histograms: pl.LazyFrame | None
    """Of vscsiStats."""


def gather(paths: Sequence[str | Path], **options: Unpack[Options]) -> Gathered:
    """Open recordings of storage benchmarks and put their tables together."""
    recordings = files.opened_all(paths, FORMATS, options)
    names = _names(recordings)
    results = _together([_results(rec, name) for rec, name in zip(recordings, names, strict=True)])
    return Gathered(
        recordings=recordings,
        results=results,
        means=_means(results, [name.removesuffix(": ") for name in names]),
        percentiles=_together([_percentiles(rec, name) for rec, name in zip(recordings, names, strict=True)]),
        bins=_together([_bins(rec, name) for rec, name in zip(recordings, names, strict=True)]),
        series=_together([_series(rec, name) for rec, name in zip(recordings, names, strict=True)]),
        histograms=_together([rec.tables.get("histograms") for rec in recordings if rec.format == "vscsistats"]),
    )


def _names(recordings: Sequence[Recording]) -> list[str]:
    """What tells the recordings apart, put before the names of their tests; nothing where there is one."""
    if len(recordings) == 1:
        return [""]
    return [f"{name}: " for name in files.names(recordings)]


def repetitions(names: Sequence[str]) -> dict[str, str]:
    """What repetitions are one of: names that differ in their last number alone, which counts from 1.

    >>> repetitions(["tuned-4k-1.run", "tuned-4k-2.run", "plain-4k-1", "plain-4k-32"])
    {'tuned-4k-1.run': 'tuned-4k.run', 'tuned-4k-2.run': 'tuned-4k.run'}
    """
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        if found := _NUMBERED.fullmatch(name):
            stems.setdefault(found[1] + (found[3] or ""), {})[int(found[2])] = name
    whole = {stem: runs for stem, runs in stems.items() if len(runs) > 1 and sorted(runs) == [*range(1, len(runs) + 1)]}
    return {name: stem for stem, runs in whole.items() for name in runs.values()}


def settings(names: Sequence[str]) -> dict[str, str]:
    """The words of each name that some others lack, as of a sweep that was run with two settings.

    >>> settings(["default-4k-1", "filtered-4k-1"])
    {'default-4k-1': 'default', 'filtered-4k-1': 'filtered'}
    """
    words = {name: [word for word in _PARTS.split(name) if word.isalpha()] for name in names}
    common = set.intersection(*map(set, words.values())) if words else set()
    return {name: " ".join(word for word in mine if word not in common) for name, mine in words.items()}


def _means(results: pl.LazyFrame | None, names: Sequence[str]) -> pl.LazyFrame | None:
    if results is None or len(names) < 2:  # noqa: PLR2004  one is not repeated
        return results
    stems = repetitions(names)
    words = {stems.get(name, name): setting for name, setting in settings(names).items()}
    numbers = [name for name, kind in results.collect_schema().items() if kind == pl.Float64]
    own = pl.col("recording")
    return (
        results.with_columns(test=pl.col("test").str.strip_prefix(own), recording=own.replace(stems))
        .with_columns(test=own + pl.col("test"), setting=own.replace_strict(words).replace("", None))
        .group_by(pl.exclude([*numbers, "errors"]), maintain_order=True)
        .agg(pl.col(numbers).mean(), pl.col("errors").sum())
    )


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
    if rec.meta.get("guessed_units"):
        guess = (
            pl.when(pl.col("metric").is_in(["lat", "clat", "slat"]))
            .then(pl.lit(" (unit guessed)"))
            .otherwise(pl.lit(""))
        )
        frame = frame.with_columns(job=pl.col("job") + guess)
    return frame.select(
        elapsed.alias("elapsed_s"), _prefixed("job", name), pl.col("direction").cast(pl.String), "metric", "value"
    )
