"""The whole host: its I/O, CPU use and nominal clock, defined once for studies, reports and joins.

`disks`, `cpu` and `nominal_mhz` take the tables of an esxtop capture by name. Rows are samples. If several samples
share a timestamp (a spreadsheet dropped the seconds), `_place` numbers them, and nothing is added up over them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from . import host_cpu, over_time, storage
from .frames import SAMPLE, finite, names, placed
from .units import mib_to_mb

Tables = Mapping[str, pl.LazyFrame]

DISKS: Final = ("physical_disk_scsi_device", "physical_disk_adapter", "physical_disk_path", "physical_disk")
"""Tables that each hold all the host's disk commands: the first one in a capture is used."""
VOLUMES: Final = "physical_disk_nfs_volume"


def disk_tables(tables: Tables) -> list[pl.LazyFrame]:
    """Return the tables that hold each of the host's commands once: one level of its disks, and NFS volumes."""
    found = [tables[name] for name in DISKS if name in tables][:1]
    if found and "path" in names(found[0]):
        found = [found[0].filter(pl.col("path").is_null())]
    return [*found, *(tables[name] for name in (VOLUMES,) if name in tables)]


def disks(tables: Tables) -> pl.LazyFrame | None:
    """Return rates and latencies of all disks and NFS volumes that serve I/O; None if the capture has neither.

    Returns the columns of `storage.latency`, `_place` (number among samples of the same time), and

    left_out  str  reason why the device is left out of means and totals, over all of `tables`; null if it counts
    """
    levels = disk_tables(tables)
    if not levels:
        return None
    rows = pl.concat([placed(storage.latency(level), "device") for level in levels])
    reasons = rows.group_by("device").agg(storage.left_out())
    return rows.join(reasons, on="device", how="left", maintain_order="left")


def left_out(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the devices that `io` and means over devices leave out, from the rows of `disks`.

    Returns, sorted by device: device, left_out (why), iops (mean commands per second), failed_per_s.
    """
    apart = over_time.with_covered(rows.filter(pl.col("left_out").is_not_null()))
    means = [over_time.mean(pl.col(name)).alias(name) for name in ("iops", "failed_per_s")]
    return apart.group_by("device", "left_out").agg(means).sort("device")


def io(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the I/O of the whole host from the rows of `disks`, one row per sample.

    Excludes devices whose commands mostly fail or are polls (`storage.left_out`). Returns, sorted by time; null in a
    sample without measurements, such as the first of a capture:

    time, _place
    iops                          commands per second
    read_mb_per_s, write_mb_per_s MB/s of 10**6 bytes
    left_out_iops                 commands per second of the excluded devices

    >>> disk = pl.LazyFrame({
    ...     "time": [0, 0], "instance": ["naa.1", "naa.2"], "commands_per_sec": [60.0, 40.0],
    ...     "mbytes_read_per_sec": [1.0, 0.0], "mbytes_written_per_sec": [0.0, 1.0],
    ... })
    >>> io(disks({"physical_disk_scsi_device": disk})).collect().rows()
    [(0, 0, 100.0, 1.048576, 1.048576, 0.0)]
    """
    rows = finite(rows)
    serves = pl.col("left_out").is_null()

    def total(name: str, of: pl.Expr) -> pl.Expr:
        # Without any number the sum is null, not 0: nothing was measured.
        return pl.when(pl.col(name).count() > 0).then(pl.col(name).filter(of).sum())

    return (
        rows.group_by(SAMPLE)
        .agg(
            total("iops", serves).alias("iops"),
            mib_to_mb(total("read_mib_per_s", serves)).alias("read_mb_per_s"),
            mib_to_mb(total("write_mib_per_s", serves)).alias("write_mb_per_s"),
            total("iops", ~serves).alias("left_out_iops"),
        )
        .sort(SAMPLE)
    )


def cpu(tables: Tables) -> pl.LazyFrame | None:
    """Return the CPU use of the whole host, one row per sample; None if the capture has no physical CPUs.

    Uses the row `_Total`, or its equivalent, the mean of the PCPUs, if part of a capture has no such row. Returns,
    sorted by time: time, _place, used_pct, util_pct, core_util_pct (see `host_cpu.pcpu`).

    >>> table = pl.LazyFrame({"time": [0, 0], "pcpu": [0, 1], "pct_processor_time": [40.0, 60.0]})
    >>> cpu({"physical_cpu": table}).collect()["used_pct"].item()
    50.0
    """
    if "physical_cpu" not in tables:
        return None
    rows = host_cpu.pcpu(tables["physical_cpu"])
    total = pl.col("pcpu").is_null()
    if rows.select(total.any()).collect().item():
        rows = rows.filter(total)
    each = placed(rows, "pcpu").group_by(SAMPLE)
    return each.agg(pl.col("used_pct", "util_pct", "core_util_pct").mean()).sort(SAMPLE)


def nominal_mhz(tables: Tables) -> float | None:
    """Return the nominal frequency of the CPUs, by the P-states of a capture; None if it has none.

    This is the highest P-state, or the second if the first represents turbo, 1 MHz higher (general knowledge of how
    ACPI lists them).

    >>> states = pl.LazyFrame({"p_state": [None, 0, 1, 2], "p_state_mhz": [None, 2601.0, 2600.0, 1200.0]})
    >>> nominal_mhz({"power": states})
    2600.0
    """
    if "power" not in tables or not {"p_state", "p_state_mhz"} <= names(tables["power"]):
        return None
    mhz = pl.col("p_state_mhz")
    states = tables["power"].filter(mhz > 0).group_by("p_state").agg(mhz.max()).collect()
    listed: list[float] = states["p_state_mhz"].sort(descending=True).to_list()
    if not listed:
        return None
    return float(listed[1] if len(listed) > 1 and listed[0] - listed[1] == 1 else listed[0])
