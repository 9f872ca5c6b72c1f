"""`ex.right_size`: captures, or weeks of a lake, to a suggestion for each VM."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Unpack

import polars as pl

from esxparse.comparison.sides import Given, side
from esxparse.comparison.windows import last_window
from esxparse.errors import EsxparseError
from esxparse.formats.opening import Opening, Options, period
from esxparse.metrics.over_time import mean, quantile, with_covered
from esxparse.recording import Recording
from esxparse.sizing.result import COLUMNS, RightSizing
from esxparse.sizing.samples import cpu, memory
from esxparse.sizing.suggestions import UNKNOWN, judge_cpu, judge_memory, risks

_VM: Final = ("host", "vm")
_DAY: Final = (*_VM, "date")
_P95, _P99 = 0.95, 0.99


def right_size(
    given: Given | Sequence[Given], *, last: str | timedelta | None = None, **opening: Unpack[Options]
) -> RightSizing:
    """Suggest sizes for VMs by what they used: vCPUs at once against vCPUs given, memory touched against memory given.

    Over several days the largest p99 of any day decides. A suggestion needs every number that it rests on; otherwise
    the verdict is "unknown". docs/right-sizing.md has the arithmetic and the source of each threshold.

    Args:
        given: A capture of esxtop (path, recording), several, or a lake (`ex.lake(...).of(host)`).
        last: Of a lake, how much of its end: "4w", "7d", "12h".
        opening: Options of `ex.open`, for captures that are given as paths.

    Returns:
        A `RightSizing`. Its `frame` has one row per host and VM, those with a suggestion first: `host`, `vm`;
        `vcpus` given, `vcpus_suggested` (null without a suggestion), `cpu` (fewer vCPUs, keep, all vCPUs busy,
        unknown) with `cpu_evidence`; `running_mean`, `running_p95`, `running_p99`, vCPUs that ran at once (%RUN);
        `wanted_p95`, `wanted_p99`, with %RDY and %CSTP; `busiest_day`; `costop_pct`, `costop_p99_pct`, % of one core
        per vCPU; `size_mib`, `size_suggested_mib`, `memory` (less memory, ask the guest, memory reclaimed, keep,
        unknown) with `memory_evidence`; `granted_mib`, `swapped_mib`, `balloon_mib`, the largest of any sample;
        `active_p99_mib`; `risk`; `days`, `hours`, `interval_s`, `samples`, `memory_samples`. Percentiles are the
        largest of any day (UTC).

    Raises:
        EsxparseError: A capture cannot be read, is not of esxtop or has no VM, or the lake has no sample in that time.

    >>> import esxparse as ex
    >>> found = ex.right_size(ex.datasets_dir() / "busy-host" / "busy-host.csv")
    >>> found.frame.filter(vm="ledger-db").select("vcpus", pl.col("wanted_p99").round(2), "cpu", "memory").rows()
    [(4, 2.03, 'keep', 'ask the guest')]
    """
    length = period(last, "last")
    opened = side(given, last_window(given, length) if length else None, Opening.of(opening))
    for rec in opened.recordings:
        if rec.format != "esxtop":
            raise EsxparseError(f"{rec.source} is of the format {rec.format}: right-sizing needs captures of esxtop")
    hosts: dict[str, list[Recording]] = {}
    for rec in opened.recordings:
        hosts.setdefault(str(rec.meta.get("host") or ""), []).append(rec)
    measured = pl.concat([_measured(host, recs) for host, recs in hosts.items()])
    if measured.is_empty():
        raise EsxparseError(f"{opened.label} has no VM: right-sizing needs the counters of VMs")
    return RightSizing(_judged(measured), opened.label, opened.recordings)


def _measured(host: str, recs: Sequence[Recording]) -> pl.DataFrame:
    """What each VM of a host used: one row per VM."""
    cpus = _days([cpu(rec) for rec in recs], host)
    memories = _days([memory(rec) for rec in recs], host)
    step = pl.col("time").unique().sort().diff().dt.total_microseconds().median() / 1e6
    interval = pl.concat([cpus.select("time"), memories.select("time")]).select(step).item()
    of_cpu = cpus.group_by(*_VM).agg(
        pl.col("vcpus").last(),
        mean(pl.col("running")).alias("running_mean"),
        mean(pl.col("costop_pct")).alias("costop_pct"),
        pl.col("wanted").count().cast(pl.Int64).alias("samples"),
    )
    of_memory = memories.group_by(*_VM).agg(
        pl.col("size_mib").last(),
        pl.col("granted_mib", "swapped_mib", "balloon_mib").max(),
        pl.col("active_mib").count().cast(pl.Int64).alias("memory_samples"),
    )
    seen = (
        pl.concat([rows.select(*_DAY, "time") for rows in (cpus, memories)])
        .unique()
        .group_by(*_VM)
        .agg(
            pl.col("date").n_unique().cast(pl.Int64).alias("days"), (pl.len() * (interval or 0.0) / 3600).alias("hours")
        )
    )
    found = seen
    for part in (of_cpu, of_memory, _busiest_cpu(cpus), _largest_active(memories)):
        found = found.join(part, on=_VM, how="left")
    return found.with_columns(interval_s=pl.lit(interval, pl.Float64))


def _days(captures: Sequence[pl.DataFrame], host: str) -> pl.DataFrame:
    """The samples of all captures of a host in order of time, with `host` and `date`."""
    rows = pl.concat(captures).sort("time", maintain_order=True)
    rows = rows.with_columns(host=pl.lit(host), date=pl.col("time").dt.date())
    return with_covered(rows.lazy(), "host").collect()


def _busiest_cpu(rows: pl.DataFrame) -> pl.DataFrame:
    """The largest percentiles of any day, and the day of the largest p99 of wanted vCPUs."""
    days = rows.group_by(*_DAY).agg(
        quantile(pl.col("running"), _P95).alias("running_p95"),
        quantile(pl.col("running"), _P99).alias("running_p99"),
        quantile(pl.col("wanted"), _P95).alias("wanted_p95"),
        quantile(pl.col("wanted"), _P99).alias("wanted_p99"),
        quantile(pl.col("costop_pct"), _P99).alias("costop_p99_pct"),
    )
    largest = pl.col("running_p95", "running_p99", "wanted_p95", "wanted_p99", "costop_p99_pct").max()
    busiest = pl.col("date").sort_by("wanted_p99", "date", descending=[True, False], nulls_last=True).first()
    return days.group_by(*_VM).agg(largest, busiest.alias("busiest_day"))


def _largest_active(rows: pl.DataFrame) -> pl.DataFrame:
    days = rows.group_by(*_DAY).agg(quantile(pl.col("active_mib"), _P99).alias("active_p99_mib"))
    return days.group_by(*_VM).agg(pl.col("active_p99_mib").max())


def _judged(measured: pl.DataFrame) -> pl.DataFrame:
    """The rows with verdicts: those with a suggestion first, those that free most before others."""
    rows = []
    for row in measured.iter_rows(named=True):
        processors, size = judge_cpu(row), judge_memory(row)
        rows.append(
            {
                **row,
                "cpu": processors.verdict,
                "cpu_evidence": processors.evidence,
                "vcpus_suggested": processors.suggested,
                "memory": size.verdict,
                "memory_evidence": size.evidence,
                "size_suggested_mib": size.suggested,
                "risk": risks(row, processors, size),
            }
        )
    found = pl.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], schema=COLUMNS)
    freed = (pl.col("vcpus") - pl.col("vcpus_suggested")).fill_null(0)
    freed_mib = (pl.col("size_mib") - pl.col("size_suggested_mib")).fill_null(0.0)
    unknown = (pl.col("cpu") == UNKNOWN) & (pl.col("memory") == UNKNOWN)
    return found.sort(freed, freed_mib, ~unknown, "host", "vm", descending=[True, True, True, False, False])
