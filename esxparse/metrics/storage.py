"""Disk latency: the guest's latency (GAVG), split into device (DAVG) and kernel (KAVG), weighted by I/Os.

    GAVG = DAVG + KAVG, and the queue's share QAVG is part of KAVG.

An average latency represents all commands of its interval, so it is weighted over time. A sample without commands
shows 0.00 ms, which is not a measurement and null here. Only reads and writes that succeed have someone waiting for
them. esxtop counts other commands with them (a polled empty optical drive fails every command, and shows 30 ms). So

- the weight of a sample is its *good* I/Os: reads and writes minus failed ones;
- if other commands are included, the latency is the mean of reads and writes, (R x GAVG/rd + W x GAVG/wr) / (R + W);
  if the capture does not have these, the latency of all commands is the only one available;
- a failed command's latency is inside esxtop's average and cannot be taken out: only its weight can.

Reads, writes and commands are rounded to 0.01 per second, so a difference of up to 0.015 other commands is rounding.

MBytes are 2**20 bytes (general knowledge; the capture does not specify).
Source: VMware KB 309140 (the latencies are averages over the interval: 19 commands of 1 ms and one of 500 ms give
25.95 ms); "Interpreting esxtop Statistics", section 4.2.2; a capture of ESXi 6.5 whose optical drive fails every
command.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import polars as pl

from esxparse import toml

from . import over_time
from .frames import column, completed, finite, first_true, names, renamed, weighted_mean

_RATES, _LATENCIES = (toml.beside(__file__, "counters.toml")["storage"][kind] for kind in ("rates", "latencies"))
_QUEUE = {"active": "active_commands", "queued": "queued_commands"}

_ROUNDING: Final = 0.015 + 1e-9
"""Largest contradiction that rounding to two decimals can cause among three rates."""
SERVING_SHARE: Final = 0.1
"""A device with a smaller share of good I/Os mostly fails or is polled (our choice)."""


def latency(device_frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return rates and latencies of devices, adapters, paths or NFS volumes under short names.

    Works on `physical_disk_scsi_device`, `physical_disk_adapter`, `physical_disk_path` and `physical_disk_nfs_volume`
    (which has GAVG only). Each level counts the same commands: use one at a time.
    Needs `time`, `instance` and any of the counters. Returns, in input order; null if the counter is missing:

    time
    device       str  the instance as written: naa..., vmhba0, vmhba0:C0:T0:L1, a datastore's name
    iops, read_iops, write_iops   commands, reads, writes per second (iops counts other and failed commands too)
    read_mib_per_s, write_mib_per_s   read and written
    gavg_ms      ms per read or write as the guest saw it
    davg_ms      ms per read or write in driver, fabric and array
    kavg_ms      ms per read or write in the VMkernel
    qavg_ms      ms per read or write in the VMkernel's queue, a part of kavg_ms
    active       commands in progress at the time of the sample
    queued       commands waiting for a place in the device queue
    good_iops    reads and writes per second that did not fail, the weight of the latencies; all commands that did not
                 fail if the capture does not separate reads and writes
    failed_per_s failed commands per second, as esxtop counts them: a command can count once per waiting world
    gavg_all_ms  ms per command of any kind, as on the screen

    Latencies of a sample with 0 commands and 0 ms are null, as are latencies of a sample without good I/Os. (A command
    in a long interval can round to 0.00 per second: a latency above 0 is kept.)

    >>> device = pl.LazyFrame({
    ...     "time": [0, 1], "instance": ["naa.6"] * 2, "commands_per_sec": [50.0, 0.0],
    ...     "average_guest_millisec_per_command": [4.5, 0.0], "average_driver_millisec_per_command": [4.0, 0.0],
    ... })
    >>> latency(device).select("device", "iops", "gavg_ms", "davg_ms", "kavg_ms").collect().rows()
    [('naa.6', 50.0, 4.5, 4.0, None), ('naa.6', 0.0, None, None, None)]
    """
    device_frame = finite(device_frame)
    there = names(device_frame)
    iops, gavg = column(there, _RATES["iops"]), column(there, _LATENCIES["gavg_ms"].format("command"))
    idle = iops.fill_null(0.0) == 0 if _RATES["iops"] in there else pl.lit(value=False)
    # Only if GAVG is 0 too: a part of 0.00 ms is a measurement if the whole took time.
    unmeasured = idle & (gavg.fill_null(0.0) == 0)
    good = _good(there)
    unserved = ((iops > 0) & (good == 0)).fill_null(value=False)
    return device_frame.select(
        "time",
        pl.col("instance").alias("device"),
        *renamed(there, _RATES),
        *(
            pl.when(~unmeasured & ~unserved).then(_of_reads_and_writes(there, counter)).alias(metric)
            for metric, counter in _LATENCIES.items()
        ),
        *renamed(there, _QUEUE),
        good.alias("good_iops"),
        column(there, "failed_commands_per_sec").alias("failed_per_s"),
        pl.when(~unmeasured).then(gavg).alias("gavg_all_ms"),
    )


def _others(there: Collection[str]) -> pl.Expr:
    """Return commands per second other than reads and writes; 0 within rounding or if unknown."""
    iops, reads, writes = (column(there, _RATES[name]) for name in ("iops", "read_iops", "write_iops"))
    others = iops - reads - writes
    return pl.when(others > _ROUNDING).then(others).otherwise(0.0)


def _good(there: Collection[str]) -> pl.Expr:
    """Return reads and writes per second that did not fail.

    Failed commands not known to be reads or writes are first attributed to the other commands.
    """
    others = _others(there)
    failed = column(there, "failed_commands_per_sec").fill_null(0.0)
    failed_transfers = column(there, "failed_reads_per_sec").fill_null(0.0) + column(
        there, "failed_writes_per_sec"
    ).fill_null(0.0)
    return (column(there, _RATES["iops"]) - others - pl.max_horizontal(failed_transfers, failed - others, 0.0)).clip(
        0.0
    )


def _of_reads_and_writes(there: Collection[str], counter: str) -> pl.Expr:
    """Return a latency of reads and writes alone if the average includes other commands; else the average."""
    reads, writes = column(there, _RATES["read_iops"]), column(there, _RATES["write_iops"])
    apart = column(there, counter.format("read")) * reads + column(there, counter.format("write")) * writes
    mixed = (_others(there) > 0) & (reads + writes > 0)
    return pl.coalesce(pl.when(mixed).then(apart / (reads + writes)), column(there, counter.format("command")))


def left_out() -> pl.Expr:
    """Aggregate the rows of a device, from `latency`, to the reason why means leave it out; null if it serves.

    Leaves out devices with commands if less than a tenth are good I/Os (`SERVING_SHARE`).

    >>> rows = pl.LazyFrame({
    ...     "device": ["cd", "disk", "poll"], "iops": [0.4, 900.0, 0.2], "good_iops": [0.0, 880.0, 0.0],
    ...     "failed_per_s": [0.8, 20.0, None],
    ... })
    >>> rows.group_by("device").agg(left_out()).sort("device").collect().rows()
    [('cd', 'every command fails'), ('disk', None), ('poll', 'few or no reads and writes')]
    """
    iops, good, failed = pl.col("iops").sum(), pl.col("good_iops").sum(), pl.col("failed_per_s").sum()
    return first_true(
        (good >= SERVING_SHARE * iops, None),
        (failed >= iops, "every command fails"),
        (failed >= iops / 2, "most commands fail"),
        otherwise="few or no reads and writes",
    ).alias("left_out")


_SUMMED: Final = ("iops", "good_iops", "read_mib_per_s", "write_mib_per_s", "gavg_all_ms", "queued", "failed_per_s")


def summary(latency: pl.LazyFrame, busy_above: float = 0.0, by: str = "device") -> pl.LazyFrame:
    """Sum up each device over time, latencies weighted by good I/Os.

    Needs the columns of `latency`, the function, or of the derived tables `device` and `nfs`, which take
    `by="instance"`. Returns one row per device, sorted by its name:

    device         the column `by`
    samples        i64  number of samples
    busy_samples   i64  samples with more than `busy_above` good I/Os per second and a latency
    mean_iops, max_iops  commands per second over time; idle samples count as 0, samples without a rate not at all
    mean_mib_per_s read and written
    gavg_ms, davg_ms, kavg_ms, qavg_ms   sum(ms x good I/Os) / sum(good I/Os): the mean over I/Os, null without any
    p95_gavg_ms    95th percentile of GAVG over the time of the busy samples (`over_time.quantile`)
    max_gavg_ms    largest GAVG of a busy sample
    max_queued     largest number of queued commands
    failed_per_s   failed commands per second, null if the capture does not show them
    gavg_all_ms    sum(ms x commands) / sum(commands) of commands of any kind, including failed ones
    left_out       str  reason why means over devices leave it out (`left_out`, the function); null if they include it

    A sample counts for the time it covers (`over_time`). One slow command in a quiet second makes a high p95 and
    maximum: raise `busy_above` to exclude such samples from those two.

    >>> table = latency(pl.LazyFrame({
    ...     "time": [0, 1], "instance": ["naa.6"] * 2, "commands_per_sec": [900.0, 100.0],
    ...     "mbytes_read_per_sec": [7.0, 1.0], "mbytes_written_per_sec": [0.0, 0.0],
    ...     "average_guest_millisec_per_command": [1.0, 11.0], "average_driver_millisec_per_command": [1.0, 5.0],
    ...     "average_kernel_millisec_per_command": [0.0, 6.0],
    ... }))
    >>> summary(table).select("mean_iops", "mean_mib_per_s", "gavg_ms", "davg_ms", "kavg_ms").collect().rows()
    [(500.0, 4.0, 2.0, 1.4, 0.6)]
    """
    latency = completed(finite(latency), *_LATENCIES, *_SUMMED)
    iops, good = pl.col("iops"), pl.col("good_iops")
    gavg, failed = pl.col("gavg_ms"), pl.col("failed_per_s")
    busy = pl.when(good > busy_above).then(gavg)
    done = good * over_time.seconds()
    return (
        over_time.with_covered(latency)
        .group_by(by)
        .agg(
            pl.len().cast(pl.Int64).alias("samples"),
            busy.count().cast(pl.Int64).alias("busy_samples"),
            over_time.mean(iops).alias("mean_iops"),
            iops.max().alias("max_iops"),
            over_time.mean(pl.col("read_mib_per_s") + pl.col("write_mib_per_s")).alias("mean_mib_per_s"),
            *(weighted_mean(pl.col(name), done).alias(name) for name in _LATENCIES),
            over_time.quantile(busy, 0.95).alias("p95_gavg_ms"),
            busy.max().alias("max_gavg_ms"),
            pl.col("queued").max().alias("max_queued"),
            over_time.mean(failed).alias("failed_per_s"),
            weighted_mean(pl.col("gavg_all_ms"), iops * over_time.seconds()).alias("gavg_all_ms"),
            left_out(),
        )
        .sort(by)
    )


def virtual_disks(virtual_disk: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of the disks themselves.

    The table also has a row for each VM, the sum of its disks: adding up all rows counts every command twice. Needs
    `vm`, `disk`; returns the same columns without the rows whose `disk` is null.

    >>> table = pl.LazyFrame({"vm": ["db", "db"], "disk": [None, "scsi0:0"], "commands_per_sec": [80.0, 80.0]})
    >>> virtual_disks(table).collect().rows()
    [('db', 'scsi0:0', 80.0)]
    """
    return virtual_disk.filter(pl.col("disk").is_not_null())
