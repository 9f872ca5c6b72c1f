"""Data of the report on storage benchmarks, from its recordings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Unpack

import polars as pl

from esxparse.charts.workload import size_words
from esxparse.formats.opening import Options
from esxparse.metrics import workload
from esxparse.recording import Recording
from esxparse.reports import recordings as files

_NUMBERED: Final = re.compile(r"(.+)[-_. ](\d+)(\.\w+)?", re.ASCII)
_PARTS: Final = re.compile(r"[-_. ]+")

_WHERE: Final = {"fio": ("document", "group"), "iometer": ("run", "test"), "diskspd": ("run", "timespan")}
"""Format -> the columns for `run` and `part` of `workload.results`."""
_NAMES: Final = {"fio": "job", "iometer": "access_spec"}

FORMATS: Final = ("fio", "iometer", "diskspd", "vscsistats")


@dataclass(frozen=True)
class Gathered:
    """The recordings of a report on storage benchmarks, and their combined tables; None for missing ones."""

    recordings: tuple[Recording, ...]
    results: pl.LazyFrame | None
    """`workload.results` and `recording` (its name, if there are several, which also begins `test`).

    The names of tests are unique: see `labelled`.
    """
    means: pl.LazyFrame | None
    """`results` with repetitions as their mean, and `setting`: the words by which recordings differ, if any."""
    percentiles: pl.LazyFrame | None
    """label, percentile, latency_ms"""
    bins: pl.LazyFrame | None
    """label, from_ms, to_ms, share_pct"""
    series: pl.LazyFrame | None
    """elapsed_s, job, direction, metric, value"""
    histograms: pl.LazyFrame | None
    """Histograms of vscsiStats."""


def gather(paths: Sequence[str | Path], **options: Unpack[Options]) -> Gathered:
    """Open recordings of storage benchmarks and combine their tables."""
    recordings = files.opened_all(paths, FORMATS, options)
    names = _names(recordings)
    tests = [_tests(rec) for rec in recordings]
    each = list(zip(recordings, names, tests, strict=True))
    results = _together([_results(found, name) for _, name, found in each])
    return Gathered(
        recordings=recordings,
        results=results,
        means=_means(results, [name.removesuffix(": ") for name in names]),
        percentiles=_together([_percentiles(rec, name, found) for rec, name, found in each]),
        bins=_together([_bins(rec, name, found) for rec, name, found in each]),
        series=_together([_series(rec, name) for rec, name, _ in each]),
        histograms=_together([rec.tables.get("histograms") for rec in recordings if rec.format == "vscsistats"]),
    )


def _names(recordings: Sequence[Recording]) -> list[str]:
    """Return a prefix for the test names of each recording; empty if there is only one."""
    if len(recordings) == 1:
        return [""]
    return [f"{name}: " for name in files.names(recordings)]


def repetitions(names: Sequence[str]) -> dict[str, str]:
    """Group repetitions: names that differ only in their last number, which counts from 1.

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
    """Return the words of each name that are not in all names, for example of a sweep with two settings.

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


def _tests(rec: Recording) -> pl.LazyFrame | None:
    """Return the tests of a recording under unique names, and `name`, as in the program's output."""
    if not ({"jobs", "results"} & set(rec.tables)):
        return None
    return labelled(workload.results(rec.format, rec.tables).with_columns(name="test")).collect().lazy()


def labelled(results: pl.LazyFrame) -> pl.LazyFrame:
    """Make the names of tests unique: by outstanding I/Os and block size, and by a number if these are equal too.

    >>> tests = {"test": ["4K"] * 3, "direction": ["read"] * 3, "run": [1] * 3, "part": [1, 2, 3],
    ...     "begin_s": [None] * 3, "outstanding": [1, 8, 8], "block_size_bytes": [4096] * 3}
    >>> labelled(pl.LazyFrame(tests)).collect()["test"].to_list()
    ['4K, 1 outstanding', '4K, 8 outstanding, run 1', '4K, 8 outstanding, run 2']
    """
    which = pl.struct("run", "part", "begin_s")
    several = which.n_unique().over("test") > 1
    size = pl.col("block_size_bytes").map_elements(size_words, return_dtype=pl.String)
    words = {"block_size_bytes": pl.format(", {}", size), "outstanding": pl.format(", {} outstanding", "outstanding")}
    settings = [
        pl.when(several & (pl.col(name).n_unique().over("test", "direction") > 1)).then(text).fill_null("")
        for name, text in words.items()
    ]
    number = pl.format("{}, run {}", "test", which.rank("dense").over("test"))
    return results.with_columns(test=pl.concat_str("test", *settings)).with_columns(
        test=pl.when(several).then(number).otherwise("test")
    )


def _results(tests: pl.LazyFrame | None, name: str) -> pl.LazyFrame | None:
    if tests is None:
        return None
    recording = pl.lit(name.removesuffix(": ") or None, dtype=pl.String)
    return tests.drop("name").with_columns(_prefixed("test", name), recording=recording)


def _label(rec: Recording, frame: pl.LazyFrame, name: str, tests: pl.LazyFrame | None) -> pl.LazyFrame:
    """Add `label`: the test and direction of latencies, and the worker if a job has several."""
    there = frame.collect_schema().names()
    keys = [key for key in _WHERE[rec.format] if key in there]
    own = pl.col(_NAMES[rec.format]) if rec.format in _NAMES else pl.format("run {}.{}", "run", "timespan")
    if "hostname" in there:
        own = pl.when(pl.col("hostname").is_null()).then(own).otherwise(pl.format("{} on {}", own, "hostname"))
    frame = frame.with_columns(_name=own)
    if tests is not None and len(keys) == len(_WHERE[rec.format]):
        test_names = tests.select(_test="test", _name="name", **dict(zip(keys, ("run", "part"), strict=True)))
        test_names = test_names.unique([*keys, "_name"], keep="first", maintain_order=True)
        frame = frame.join(test_names, on=[*keys, "_name"], how="left", maintain_order="left")
        frame = frame.with_columns(_name=pl.coalesce("_test", "_name"))
    parts = [pl.lit(name) + pl.col("_name")]
    if "job_number" in there:
        parts += [pl.when(pl.col("job_number").n_unique().over(*keys, "_name", "direction") > 1).then("job_number")]
    parts += [pl.col("direction").cast(pl.String)] if "direction" in there else []
    return frame.with_columns(label=pl.concat_str(parts, separator=" ", ignore_nulls=True))


def _percentiles(rec: Recording, name: str, tests: pl.LazyFrame | None) -> pl.LazyFrame | None:
    frame = rec.tables.get("percentiles")
    if frame is None:
        return None
    there = frame.collect_schema().names()
    if "latency" in there:
        # fio prints percentiles of clat, or of lat on request; percentiles by priority are subsets of these.
        whole = pl.col("priority").is_null() if "priority" in there else pl.lit(True)
        frame = frame.filter(pl.col("latency").is_in(["clat", "lat"]), whole)
    if "target" in there:
        frame = frame.filter(pl.col("target").is_null())
    return _label(rec, frame, name, tests).select("label", "percentile", "latency_ms")


def _bins(rec: Recording, name: str, tests: pl.LazyFrame | None) -> pl.LazyFrame | None:
    frame = rec.tables.get("latency_bins")
    if frame is None:
        return None
    there = frame.collect_schema().names()
    if "row_type" in there:
        whole = frame.filter(pl.col("row_type") == "ALL").rename({"name": "row_name"})
    elif "source" in there:
        # Bins of JSON+ are finer; use the coarse shares only for jobs without bins.
        fine = (pl.col("source") == "bins") & pl.col("latency").is_in(["clat", "lat"])
        has_fine = fine.any().over("document", "job_number")
        whole = frame.filter(pl.col("priority").is_null(), fine | ~has_fine)
    else:
        return None
    share = pl.col("ios") / pl.col("ios").sum().over("label") * 100
    share_pct = pl.coalesce("share_pct", share) if "share_pct" in there else share
    return _label(rec, whole, name, tests).select("label", "from_ms", "to_ms", share_pct=share_pct)


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
