"""Results of storage workloads in one vocabulary: fio, Iometer and DiskSpd, comparable with esxtop.

One row per test and direction:

test                    str  job, access specification or target, by the program's name for it
run, part               i64  which run of the file: fio document and group, Iometer start and test, DiskSpd output and
                         time span. Different parts ran one after another unless `begin_s` and `end_s` overlap
begin_s, end_s          f64  seconds since the first test of the run began; null if the file does not show it
direction               str  read, write, trim; all if the program does not separate directions
pattern                 str  random, sequential, or the random share, as `70 % random`; null if unknown
block_size_bytes        i64  null if a test mixes sizes
outstanding             i64  most outstanding I/Os: queue depth x workers or targets (synchronous engines: one each)
workers                 i64
iops                    f64  I/Os per second
bandwidth_bytes_per_s   f64
latency_mean_ms, latency_max_ms   f64  milliseconds, as the program measured them: from submission to the end
p50_ms, p95_ms, p99_ms, p99_9_ms  f64  percentiles, if the program reports them for the whole test
errors                  i64

A mean over several workers is weighted by their I/Os. Percentiles of several workers cannot be combined, so they are
null; the maximum is the highest of the workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.schema import schema

from .frames import column, finite, names, weighted_mean

COLUMNS: Final = schema(
    "test direction pattern str, block_size_bytes outstanding workers i64, iops bandwidth_bytes_per_s f64, "
    "latency_mean_ms latency_max_ms p50_ms p95_ms p99_ms p99_9_ms f64, errors i64, run part i64, begin_s end_s f64"
)

_PERCENTILES: Final = ("p50_ms", "p95_ms", "p99_ms", "p99_9_ms")
_ONE_AT_A_TIME: Final = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap")
"""Engines of fio that wait for each I/O, whatever the iodepth (fio, HOWTO, "iodepth")."""

_SUMMED_JOB: Final = "All clients"


def results(format_name: str, tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Return the tests of a recording, whatever program ran them.

    `format_name`: `Recording.format`: fio, iometer or diskspd. `tables`: `Recording.tables`.

    Raises EsxparseError: The format is not a storage workload, or the recording has only logs.
    """
    needed = {"fio": "jobs", "iometer": "results", "diskspd": "jobs"}.get(format_name)
    if needed is None or needed not in tables:
        what = "logs only, without job results" if needed else "no storage workload"
        raise EsxparseError(f"a recording of {format_name} with the tables {', '.join(tables)} holds {what}")
    if format_name == "fio":
        return from_fio(tables["jobs"])
    if format_name == "iometer":
        return from_iometer(tables["results"], tables.get("access_specs"))
    return from_diskspd(tables["jobs"], tables.get("percentiles"))


def _ordered(frame: pl.LazyFrame) -> pl.LazyFrame:
    there = names(frame)
    return frame.select(
        (pl.col(name) if name in there else pl.lit(None)).cast(dtype).alias(name) for name, dtype in COLUMNS.items()
    )


def _pattern(random_pct: pl.Expr) -> pl.Expr:
    """Return a share of random I/Os in words.

    >>> pl.select(_pattern(pl.Series([0.0, 100.0, 70.0, None]))).to_series().to_list()
    ['sequential', 'random', '70 % random', None]
    """
    share = pl.format("{} % random", random_pct.round(0).cast(pl.Int64))
    return (
        pl.when(random_pct == 0)
        .then(pl.lit("sequential"))
        .when(random_pct == 100)  # noqa: PLR2004  all of them
        .then(pl.lit("random"))
        .otherwise(share)
    )


def from_fio(jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the tests of fio: workers of one job (`numjobs`) form one test; jobs of servers stay separate.

    The sum over servers is left out. Jobs with the same name form one test only within a document and group, and if
    their times overlap. The clocks of servers differ, so the times of each server count from its own first job.

    `jobs`: table `jobs` of a fio recording.

    Source: fio HOWTO (iodepth, numjobs, group_reporting).

    >>> jobs = pl.LazyFrame({
    ...     "document": [1, 1], "job": ["oltp"] * 2, "hostname": [None, None], "direction": ["read"] * 2,
    ...     "rw": ["randread"] * 2, "ioengine": ["libaio"] * 2, "block_size_bytes": [4096] * 2, "queue_depth": [16] * 2,
    ...     "workers": [2] * 2, "ios": [100, 300], "iops": [10.0, 30.0], "bandwidth_bytes_per_s": [40960.0, 122880.0],
    ...     "latency_mean_ms": [1.0, 2.0], "latency_max_ms": [5.0, 9.0], "p99_ms": [3.0, 4.0],
    ... })
    >>> from_fio(jobs).select("pattern", "outstanding", "iops", "latency_mean_ms", "p99_ms").collect().row(0)
    ('random', 32, 40.0, 1.75, None)
    """
    jobs = finite(jobs)
    there = names(jobs)
    keys = ["document", "group", "hostname", "job", "_spell", "direction"]
    weight = pl.coalesce(column(there, "ios"), column(there, "iops"))
    done = pl.coalesce(column(there, "ios"), column(there, "iops"), pl.lit(0.0)) > 0
    depth = pl.when(pl.col("ioengine").is_in(_ONE_AT_A_TIME)).then(1).otherwise(pl.col("queue_depth"))
    alone = pl.len() == 1
    tests = (
        _timed(jobs.filter(done, pl.col("job") != _SUMMED_JOB, pl.col("direction") != "sync"))
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("begin_s").min(),
            pl.col("end_s").max(),
            rows=pl.len(),
            rw=pl.col("rw").first(),
            block_size_bytes=pl.when(pl.col("block_size_bytes").n_unique() == 1).then(
                pl.col("block_size_bytes").first()
            ),
            depth=depth.first(),
            workers=pl.col("workers").first(),
            iops=pl.col("iops").sum(),
            bandwidth_bytes_per_s=pl.col("bandwidth_bytes_per_s").sum(),
            latency_mean_ms=weighted_mean(pl.col("latency_mean_ms"), weight),
            latency_max_ms=pl.col("latency_max_ms").max(),
            errors=column(there, "errors").sum(),
            **{name: pl.when(alone).then(column(there, name).first()) for name in _PERCENTILES},
        )
        .with_columns(
            pl.col("begin_s").min().over(keys[:-1]),
            pl.col("end_s").max().over(keys[:-1]),
            workers=pl.max_horizontal("workers", "rows"),
        )
    )
    host = pl.concat_str("job", "hostname", separator=" on ")
    kind = pl.when(pl.col("rw").str.starts_with("rand")).then(pl.lit("random")).otherwise(pl.lit("sequential"))
    return _ordered(
        tests.with_columns(
            test=pl.when(pl.col("hostname").is_null()).then("job").otherwise(host),
            pattern=pl.when(pl.col("rw").is_not_null()).then(kind),
            outstanding=pl.col("depth") * pl.col("workers"),
            run=pl.col("document"),
            part=pl.col("group"),
        )
    )


def _timed(jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Add when each job of fio began and ended, and its place among jobs of its name that ran one after another."""
    there = names(jobs)
    if "start" in there:
        # The jobs of a document are compared only if all of them have a time.
        known = pl.col("start").is_not_null().all().over("document")
        since = (pl.col("start") - pl.col("start").min().over("document", "hostname")).dt.total_microseconds() / 1e6
        begin: pl.Expr = pl.when(known).then(since).otherwise(None)
    else:
        begin = pl.lit(None, dtype=pl.Float64)
    alike = ["document", "group", "hostname", "job"]
    # Workers start within milliseconds of each other; a job that begins after all others ended is a separate run.
    ended = pl.col("end_s").cum_max().shift(1).over(alike, order_by="begin_s")
    later = (pl.col("begin_s") > ended).fill_null(value=False)
    return (
        jobs.with_columns(begin_s=begin, group=column(there, "group"))
        .with_columns(end_s=pl.col("begin_s") + column(there, "runtime_s"))
        .with_columns(_later=later)
        .with_columns(_spell=pl.col("_later").cum_sum().over(alike, order_by="begin_s"))
    )


def from_iometer(results: pl.LazyFrame, access_specs: pl.LazyFrame | None) -> pl.LazyFrame:
    """Return the tests of Iometer: its ALL rows, one row for each direction with I/Os.

    Outstanding I/Os are per target, so they are multiplied by the targets (`# Disks`).

    `results`: table `results` of an Iometer recording. `access_specs`: its table `access_specs`; without it block size
    and pattern are null.
    """
    whole = results.filter(pl.col("row_type") == "ALL")
    if access_specs is not None:
        share = pl.col("share_pct")
        specs = access_specs.group_by("run", "access_spec").agg(
            block_size_bytes=pl.when(pl.col("size_bytes").n_unique() == 1).then(pl.col("size_bytes").first()),
            pattern=_pattern(weighted_mean(pl.col("random_pct"), share)),
        )
        whole = whole.join(specs, on=["run", "access_spec"], how="left", maintain_order="left")
    there = names(whole)
    tests = [
        whole.with_columns(
            direction=pl.lit(direction),
            iops=column(there, f"{direction}_iops"),
            bandwidth_bytes_per_s=column(there, f"{direction}_bandwidth_bytes_per_s"),
            latency_mean_ms=column(there, f"{direction}_latency_mean_ms"),
            latency_max_ms=column(there, f"{direction}_latency_max_ms"),
            errors=column(there, f"{direction}_errors"),
        ).filter(pl.col("iops") > 0)
        for direction in ("read", "write")
    ]
    labelled = pl.concat(tests).with_columns(
        test=pl.col("access_spec"),
        run=column(there, "run"),
        part=column(there, "test"),
        # A file cut off in its first row does not have the columns after the cut.
        outstanding=column(there, "queue_depth") * pl.max_horizontal(column(there, "disks"), pl.lit(1)),
    )
    return _ordered(labelled.sort("run", "part", "direction", maintain_order=True))


def from_diskspd(jobs: pl.LazyFrame, percentiles: pl.LazyFrame | None) -> pl.LazyFrame:
    """Return the tests of DiskSpd: totals of each time span and direction; `run 1.2` is time span 2 of run 1.

    `jobs`: table `jobs` of a DiskSpd recording. `percentiles`: its table `percentiles`, which exists if latency was
    measured (`-L`).
    """
    totals = jobs.filter(pl.col("level") == "total", pl.col("direction") != "all", pl.col("ios") > 0)
    keys = ["run", "timespan", "direction"]
    if percentiles is not None:
        wanted = dict(zip(_PERCENTILES, (50.0, 95.0, 99.0, 99.9), strict=True))
        whole = percentiles.filter(pl.col("target").is_null())
        at = whole.group_by(keys).agg(
            pl.col("latency_ms").filter(pl.col("percentile") == percentile).first().alias(name)
            for name, percentile in wanted.items()
        )
        totals = totals.join(at, on=keys, how="left", maintain_order="left")
    return _ordered(
        totals.with_columns(
            test=pl.format("run {}.{}", "run", "timespan"),
            part=pl.col("timespan"),
            pattern=_pattern(pl.col("random_pct")),
            outstanding=pl.col("queue_depth") * pl.col("workers"),
        )
    )


_ESXTOP_LATENCY: Final = ("average_guest_millisec_per_{}", "average_millisec_per_{}")


def host_side(table: pl.LazyFrame) -> pl.LazyFrame:
    """Return esxtop's view of the same I/O, with the same column names.

    `table`: `virtual_disk`, `physical_disk_scsi_device`, `physical_disk_adapter`, `physical_disk_path` or
    `physical_disk_nfs_volume` of an esxtop recording.

    Returns:
        time, name (the instance), direction, iops, bandwidth_bytes_per_s (MBytes of 2**20 bytes), latency_mean_ms (as
        the guest saw it; null if the sample has no such I/O), good_iops (I/Os that did not fail, the weight of the
        latency). The roll-up rows of VMs are left out.
    """
    there = names(table)
    disks = table.filter(pl.col("disk").is_not_null()) if "disk" in there else table
    sides = []
    for direction, rate, volume in (
        ("read", "reads_per_sec", "mbytes_read_per_sec"),
        ("write", "writes_per_sec", "mbytes_written_per_sec"),
    ):
        latency = pl.coalesce([column(there, name.format(direction)) for name in _ESXTOP_LATENCY])
        iops = column(there, rate)
        sides.append(
            disks.select(
                "time",
                name=pl.col("instance"),
                direction=pl.lit(direction),
                iops=iops,
                bandwidth_bytes_per_s=column(there, volume) * 2**20,
                latency_mean_ms=pl.when((iops > 0) | (latency > 0)).then(latency),
                good_iops=(iops - column(there, f"failed_{rate}").fill_null(0.0)).clip(0.0),
            )
        )
    return pl.concat(sides).sort("time", "name", "direction", maintain_order=True)


def beside_host(series: pl.LazyFrame, host: pl.LazyFrame) -> pl.LazyFrame:
    """Add a guest's series to the samples of the host: the guest's values in the interval of each sample.

    A sample of esxtop covers the time since the previous one; the first has no start and is left out. If the guest
    logged several times in the interval, rates are their mean, and latencies the plain mean of the logged ones.

    `series`: `time, direction, metric, value` of a fio recording with absolute timestamps (`log_unix_epoch=1`);
    metrics iops, bandwidth, lat. `host`: rows of `host_side` with one name.

    Returns:
        The rows of `host` with guest_iops, guest_bandwidth_bytes_per_s, guest_latency_ms; null if the guest logged
        nothing in the interval.
    """
    samples = host.select("time").unique().sort("time").with_columns(begin=pl.col("time").shift(1)).drop_nulls()
    guest = (
        series.select("time", "metric", "value", direction=pl.col("direction").cast(pl.String))
        .sort("time")
        .join_asof(samples.with_columns(sample="time"), on="time", strategy="forward")
        .filter(pl.col("time") > pl.col("begin"))
        .group_by("sample", "direction")
        .agg(
            guest_iops=pl.col("value").filter(pl.col("metric") == "iops").mean(),
            guest_bandwidth_bytes_per_s=pl.col("value").filter(pl.col("metric") == "bandwidth").mean(),
            guest_latency_ms=pl.col("value").filter(pl.col("metric") == "lat").mean(),
        )
    )
    return host.join(samples.select("time"), on="time", how="semi", maintain_order="left").join(
        guest, left_on=["time", "direction"], right_on=["sample", "direction"], how="left", maintain_order="left"
    )
