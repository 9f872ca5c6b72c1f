"""Disk latency: what the guest waited (GAVG), split into device (DAVG) and kernel (KAVG), weighted by commands.

    GAVG = DAVG + KAVG, and the queue's share QAVG is part of KAVG.

An average latency stands for as many commands as were done while it was measured. Over time it is therefore weighted by
commands; the plain mean of a busy second and a quiet one is no latency anybody saw. A sample without commands shows
0.00 ms, which is no measurement and appears as null here.

MBytes are 2**20 bytes (general knowledge; the capture does not say).
Source: VMware KB 309140 (the latencies are averages over the interval: 19 commands of 1 ms and one of 500 ms give
25.95 ms); "Interpreting esxtop Statistics", section 4.2.2.
"""

from __future__ import annotations

import polars as pl

from ._columns import column, names, renamed, weighted_mean

_RATES = {
    "iops": "commands_per_sec",
    "read_iops": "reads_per_sec",
    "write_iops": "writes_per_sec",
    "read_mbps": "mbytes_read_per_sec",
    "write_mbps": "mbytes_written_per_sec",
}
_LATENCIES = {
    "gavg_ms": "average_guest_millisec_per_command",
    "davg_ms": "average_driver_millisec_per_command",
    "kavg_ms": "average_kernel_millisec_per_command",
    "qavg_ms": "average_queue_millisec_per_command",
}
_QUEUE = {"active": "active_commands", "queued": "queued_commands"}


def latency(device_frame: pl.LazyFrame) -> pl.LazyFrame:
    """Give rates and latencies of devices, adapters, paths or NFS volumes under short names.

    Works on `physical_disk_scsi_device`, `physical_disk_adapter`, `physical_disk_path` and `physical_disk_nfs_volume`
    (which has GAVG only). The levels count the same commands again: use one of them at a time.
    Needs `time`, `instance` and any of the counters. Returns, in the order given; null where the counter is lacking:

    time
    device       str  the instance as written: naa..., vmhba0, vmhba0:C0:T0:L1, a datastore's name
    iops, read_iops, write_iops   commands, reads, writes per second (iops counts other commands too)
    read_mbps, write_mbps         MB/s of 2**20 bytes
    gavg_ms      ms per command as the guest saw it
    davg_ms      ms per command in driver, fabric and array
    kavg_ms      ms per command in the VMkernel
    qavg_ms      ms per command in the VMkernel's queue, a part of kavg_ms
    active       commands under way at the time of the sample
    queued       commands waiting for a place in the device queue

    Latencies of a sample with 0 commands and 0 ms are null. (A command in a long interval can round to 0.00 per second:
    a latency above 0 is kept.)

    >>> device = pl.LazyFrame({
    ...     "time": [0, 1], "instance": ["naa.6"] * 2, "commands_per_sec": [50.0, 0.0],
    ...     "average_guest_millisec_per_command": [4.5, 0.0], "average_driver_millisec_per_command": [4.0, 0.0],
    ... })
    >>> latency(device).select("device", "iops", "gavg_ms", "davg_ms", "kavg_ms").collect().rows()
    [('naa.6', 50.0, 4.5, 4.0, None), ('naa.6', 0.0, None, None, None)]
    """
    there = names(device_frame)
    idle = column(there, _RATES["iops"]) == 0
    # Only where GAVG is 0 too: 0.00 ms of one part is a measurement when the whole took time.
    unmeasured = (idle & (column(there, _LATENCIES["gavg_ms"]).fill_null(0.0) == 0)).fill_null(value=False)
    return device_frame.select(
        "time",
        pl.col("instance").alias("device"),
        *renamed(there, _RATES),
        *(pl.when(~unmeasured).then(column(there, counter)).alias(metric) for metric, counter in _LATENCIES.items()),
        *renamed(there, _QUEUE),
    )


def summary(latency: pl.LazyFrame, busy_above: float = 0.0) -> pl.LazyFrame:
    """Sum up each device over time, latencies weighted by commands.

    Needs the columns of `latency`, the function. Returns one row per device, sorted by its name:

    device
    samples        i64  number of samples
    busy_samples   i64  samples with more than `busy_above` commands per second and a latency
    mean_iops, max_iops  per second, idle samples counted as 0
    mean_mbps      read and written, MB/s of 2**20 bytes
    gavg_ms, davg_ms, kavg_ms, qavg_ms   sum(ms x iops) / sum(iops): the mean over commands, null without commands
    p95_gavg_ms    95th percentile of GAVG over the busy samples, each counted once, linear between neighbours
    max_gavg_ms    largest GAVG of a busy sample
    max_queued     largest number of queued commands

    The weight is the rate, so samples are taken to be equally long, as esxtop's are but for jitter. One slow command
    in a quiet second makes a high p95 and maximum: raise `busy_above` to leave such samples out of those two.

    >>> table = pl.LazyFrame({
    ...     "time": [0, 1], "device": ["naa.6"] * 2, "iops": [900.0, 100.0], "read_mbps": [7.0, 1.0],
    ...     "write_mbps": [0.0, 0.0], "gavg_ms": [1.0, 11.0], "davg_ms": [1.0, 5.0], "kavg_ms": [0.0, 6.0],
    ...     "qavg_ms": [0.0, 5.0], "queued": [0.0, 8.0],
    ... })
    >>> summary(table).select("mean_iops", "mean_mbps", "gavg_ms", "davg_ms", "kavg_ms").collect().rows()
    [(500.0, 4.0, 2.0, 1.4, 0.6)]
    """
    iops = pl.col("iops")
    gavg = pl.col("gavg_ms")
    busy = gavg.filter((iops > busy_above) & gavg.is_not_null())
    return (
        latency.group_by("device")
        .agg(
            pl.len().cast(pl.Int64).alias("samples"),
            busy.len().cast(pl.Int64).alias("busy_samples"),
            iops.mean().alias("mean_iops"),
            iops.max().alias("max_iops"),
            (pl.col("read_mbps") + pl.col("write_mbps")).mean().alias("mean_mbps"),
            *(weighted_mean(pl.col(name), iops).alias(name) for name in _LATENCIES),
            busy.quantile(0.95, interpolation="linear").alias("p95_gavg_ms"),
            busy.max().alias("max_gavg_ms"),
            pl.col("queued").max().alias("max_queued"),
        )
        .sort("device")
    )


def virtual_disks(virtual_disk: pl.LazyFrame) -> pl.LazyFrame:
    """Give the rows of the disks themselves.

    The table has a row for each VM too, which is the sum of its disks: adding all rows up counts every command twice.
    Needs `vm`, `disk`; returns the same columns without the rows whose `disk` is null.

    >>> table = pl.LazyFrame({"vm": ["db", "db"], "disk": [None, "scsi0:0"], "commands_per_sec": [80.0, 80.0]})
    >>> virtual_disks(table).collect().rows()
    [('db', 'scsi0:0', 80.0)]
    """
    return virtual_disk.filter(pl.col("disk").is_not_null())
