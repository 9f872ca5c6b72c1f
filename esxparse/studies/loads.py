"""The columns of a run from its load generators: fio, Iometer, DiskSpd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.metrics import simultaneous, workers, workload
from esxparse.metrics.frames import weighted_mean
from esxparse.recording import Recording
from esxparse.studies.span import Span

_MB: Final = 1e6
_NAMED: Final = 5
_TABLES: Final = {"iometer": "results", "fio": "jobs", "diskspd": "jobs"}


def has_results(rec: Recording) -> bool:
    """Return whether a load generator's file has its results, and not only logs."""
    return _TABLES[rec.format] in rec


def chosen(rec: Recording, test: str | int | None) -> Recording:
    """Return one test of a result file: tests that ran one after another are not added up."""
    table = _TABLES[rec.format]
    if not has_results(rec):
        return rec
    keys = {"iometer": ["run", "test"], "fio": ["document", "group"], "diskspd": ["run", "timespan"]}[rec.format]
    names = {"iometer": "access_spec", "fio": "job"}.get(rec.format)
    rows = rec[table].filter(pl.col("row_type") == "ALL") if rec.format == "iometer" else rec[table]
    label = pl.col(names) if names else pl.format("run {}.{}", "run", "timespan")
    tests = rows.select(*keys, label.alias("_name")).unique(maintain_order=True).collect()
    steps = tests.unique(keys, maintain_order=True).with_row_index("_number", 1)
    if test is None:
        kept = tests
    elif isinstance(test, int):
        kept = tests.join(
            steps.filter(pl.col("_number") == test).select(keys), on=keys, nulls_equal=True, maintain_order="left"
        )
    else:
        kept = tests.filter(pl.col("_name") == test)
    if kept.unique(keys).height == 1:
        wanted = kept.select(keys).unique().lazy()
        frame = rec[table].join(wanted, on=keys, how="semi", nulls_equal=True, maintain_order="left")
        if isinstance(test, str) and rec.format == "fio":
            frame = frame.filter(pl.col("job") == test)
        return replace(rec, tables={**rec.tables, table: frame})
    known = [f"{number} {name!r}" for number, name in steps.select("_number", "_name").rows()]
    listed = ", ".join(known[:_NAMED]) + (" ..." if len(known) > _NAMED else "")
    what = "holds several tests" if kept.height else f"has no test {test!r}"
    name_clause = "" if test is None or not kept.height else f" of the name {test!r}"
    raise EsxparseError(f"{rec.source} {what}{name_clause}: choose one with test = its number or name; it has {listed}")


def own_span(rec: Recording, clock: timedelta) -> Span | None:
    """Return the measured time of a load generator, on the capture's clock; None if its file does not contain it.

    fio writes when a job began (since 3.35) and when it ended, or else its run time. Iometer writes the time of each
    result, and the run time of its workers.
    """
    times = {"iometer": _iometer_span, "fio": _fio_span, "diskspd": _diskspd_span}[rec.format](rec)
    return Span(times[0] + clock, times[1] + clock) if times else None


def _iometer_span(rec: Recording) -> tuple[datetime, datetime] | None:
    if "results" not in rec or not {"run_time_ticks", "ticks_per_s"} <= set(rec["results"].collect_schema().names()):
        return None
    rows = rec["results"]
    length = (pl.col("run_time_ticks") / rows.select(pl.col("ticks_per_s").max()).collect().item()).max()
    found = rows.select(pl.col("time").max().alias("end"), length.alias("length")).collect().row(0, named=True)
    return _backwards(found["end"], found["length"])


def _fio_span(rec: Recording) -> tuple[datetime, datetime] | None:
    if "jobs" in rec:
        found = (
            rec["jobs"]
            .select(
                pl.col("start").min(),
                # Jobs of one group may begin at different times; `end` is when all groups were done.
                (pl.col("start") + pl.duration(microseconds=pl.col("runtime_s") * 1e6)).max().alias("stop"),
                pl.col("end").max(),
                pl.col("runtime_s").max().alias("length"),
            )
            .collect()
            .row(0, named=True)
        )
        if found["start"] and found["stop"] and found["length"]:
            return found["start"], found["stop"]
        return _backwards(found["end"], found["length"])
    if "series" in rec and "time" in rec["series"].collect_schema():
        first, last = rec["series"].select(pl.col("time").min(), pl.col("time").max().alias("last")).collect().row(0)
        return (first, last) if first and last else None
    return None


def _diskspd_span(rec: Recording) -> tuple[datetime, datetime] | None:
    begin: datetime | None = rec.meta.get("start")
    if begin is None or "jobs" not in rec:
        return None
    length = rec["jobs"].select(pl.col("run_time_s").max()).collect().item()
    return (begin, begin + timedelta(seconds=length)) if length else None


def _backwards(end: datetime | None, length: float | None) -> tuple[datetime, datetime] | None:
    return (end - timedelta(seconds=length), end) if end and length else None


def load(recs: Sequence[Recording]) -> dict[str, Any]:
    """Return results of the load generators; results of several files ran at the same time and are added up."""
    for rec in recs:
        if not has_results(rec):
            msg = f"{rec.source} has no results (only {', '.join(rec.tables)}): give the file with the results"
            raise EsxparseError(msg)
    each = [workload.results(rec.format, rec.tables).collect() for rec in recs]
    _check_together(recs, each)
    tests = pl.concat([rows.with_columns(file=place) for place, rows in enumerate(each)])
    found: dict[str, Any] = {"iops": 0.0, "mb_per_s": 0.0}
    if not tests.height:
        return found
    sizes = tests["block_size_bytes"].unique()
    depths = tests.group_by("file", "test").agg(pl.col("outstanding").max())["outstanding"]
    found = _side(tests, "") | {
        "latency_max_ms": tests["latency_max_ms"].max(),
        "block_size_bytes": sizes.item() if len(sizes) == 1 else None,
        "outstanding": depths.sum() if not depths.null_count() else None,
        "io_errors": tests["errors"].sum() if tests["errors"].count() else None,
    }
    for way in ("read", "write"):
        rows = tests.filter(pl.col("direction") == way)
        if (tests["direction"] == "all").any():
            continue
        found |= _side(rows, f"{way}_")
        for percentile in ("p95", "p99"):
            found[f"{way}_{percentile}_ms"] = rows[f"{percentile}_ms"].item() if rows.height == 1 else None
    if found["latency_mean_ms"] is not None:
        found["outstanding_by_law"] = found["iops"] * found["latency_mean_ms"] / 1000
    return found | {"median_read_latency_ms": _median(recs)}


def _check_together(recs: Sequence[Recording], tests: Sequence[pl.DataFrame]) -> None:
    """Reject results that did not run at the same time: their sum was never reached."""
    for rec, rows in zip(recs, tests, strict=True):
        at_once = simultaneous.moments(rows.lazy()).select(pl.col("tests").list.len().max()).collect().item() or 0
        if at_once < rows.select(pl.struct("test", "begin_s").n_unique()).item():
            msg = f"{rec.source}: these jobs did not all run at the same time: choose one with test = its name"
            raise EsxparseError(msg)
    spans = [(rec, span) for rec in recs if (span := own_span(rec, timedelta(0)))]
    spans.sort(key=lambda one: one[1].start)
    for (first, earlier), (second, later) in pairwise(spans):
        if later.start > earlier.end:
            msg = f"{first.source} ended at {earlier.end:%F %T}, before {second.source} began at {later.start:%F %T}: "
            raise EsxparseError(f"{msg}results of one run are added up, so give each file its own run")


def _side(tests: pl.DataFrame, prefix: str) -> dict[str, Any]:
    row = tests.select(
        pl.col("iops").sum(),
        (pl.col("bandwidth_bytes_per_s").sum() / _MB).alias("mb_per_s"),
        weighted_mean(pl.col("latency_mean_ms"), pl.col("iops")).alias("latency_mean_ms"),
    ).row(0, named=True)
    return {f"{prefix}{name}": value for name, value in row.items()}


def _median(recs: Sequence[Recording]) -> float | None:
    if len(recs) == 1 and recs[0].format == "iometer":
        medians = workers.median_read_latency(recs[0]["results"]).collect()["median_read_latency_ms"]
        return medians.item() if len(medians) == 1 else None
    columns = ("row_type", "direction", "iops", "read_iops", "read_latency_mean_ms", "latency_mean_ms")
    means: list[float] = []
    for rec in recs:
        table = rec["results"] if rec.format == "iometer" else rec["jobs"]
        there = set(table.collect_schema().names())
        rows = table.select(name for name in columns if name in there).collect()
        if rec.format == "iometer":
            rows = rows.filter(pl.col("row_type") == "WORKER", pl.col("read_iops") > 0)
            means += rows["read_latency_mean_ms"].drop_nulls().to_list()
        elif rec.format == "fio":
            rows = rows.filter(pl.col("direction") == "read", pl.col("iops") > 0)
            means += rows["latency_mean_ms"].drop_nulls().to_list()
    return pl.Series(means, dtype=pl.Float64).median() if means else None  # type: ignore[return-value]
