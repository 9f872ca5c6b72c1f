"""Derived tables of devices, NFS volumes, adapters, paths and vSAN."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.derived.capture import Capture, beside, derived, of
from esxparse.derived.catalogue import copied
from esxparse.metrics import storage
from esxparse.metrics.frames import column, names, share_pct, total

_BY_WORLD: Final = "physical_disk_per_device_per_world"


def _io(one: Capture, kind: str, table: str) -> pl.LazyFrame:
    """Return rates, latencies and queues of the objects of one table."""
    frame = one.tables[table]
    rows = storage.latency(frame).rename({"device": "entity"})
    rows = beside(rows, of(one, table, copied(kind, "io")))
    read, write = pl.col("read_iops").fill_null(0.0), pl.col("write_iops").fill_null(0.0)
    commands = pl.when(pl.any_horizontal(pl.col("read_iops", "write_iops").is_not_null())).then(read + write)
    # Part of a capture may have only reads and writes.
    rows = rows.with_columns(iops=pl.coalesce("iops", commands), good_iops=pl.coalesce("good_iops", commands))
    if "average_guest_millisec_per_command" not in names(frame):
        ways = pl.col("gavg_read_ms", "gavg_write_ms")
        both = pl.col("gavg_read_ms").fill_null(0.0) * read + pl.col("gavg_write_ms").fill_null(0.0) * write
        known = pl.any_horizontal(ways.is_not_null()) & (commands > 0)
        rows = rows.with_columns(gavg_ms=pl.when(known).then(both / commands))
    return rows.with_columns(
        fill_pct=share_pct(pl.col("active"), pl.col("depth")),
        mib_per_s=pl.coalesce(
            pl.col("read_mib_per_s") + pl.col("write_mib_per_s"), "read_mib_per_s", "write_mib_per_s"
        ),
    )


@derived("device", "physical_disk_scsi_device")
def devices(one: Capture) -> pl.LazyFrame:
    """Return devices, as the VMkernel serves all VMs."""
    return _io(one, "device", "physical_disk_scsi_device")


@derived("device", "physical_disk_adapter")
def adapters_alone(one: Capture) -> pl.LazyFrame | None:
    """Return adapters, if a capture has no devices."""
    return None if "physical_disk_scsi_device" in one.tables else _io(one, "device", "physical_disk_adapter")


@derived("device", _BY_WORLD, "vcpu")
def users(one: Capture) -> pl.LazyFrame:
    """Return the distribution of a device's traffic among VMs, without the VMkernel's own worlds."""
    frame = one.tables[_BY_WORLD]
    rates = storage.latency(frame).select(
        "time", "iops", "read_mib_per_s", "write_mib_per_s", "kavg_ms", "queued", "active"
    )
    ids = frame.select(
        "time", pl.col("device").alias("entity"), "world_id", world_depth=column(names(frame), "world_q_depth")
    )
    worlds = one.worlds.lazy().select("world_id", vm="entity")
    rows = beside(ids, rates).join(worlds, on="world_id", maintain_order="left")
    mib = pl.col("read_mib_per_s") + pl.col("write_mib_per_s")
    full = (pl.col("world_depth") > 0) & (pl.col("active") >= pl.col("world_depth") - 1) & (pl.col("queued") > 0)
    return rows.group_by("time", "entity", maintain_order=True).agg(
        users=total((pl.col("iops") > 1).cast(pl.Float64)),
        users_mib_per_s=total(mib),
        top_mib_per_s=mib.max(),
        # By commands, if a capture has no bytes.
        top_share_pct=pl.coalesce(
            share_pct(mib.max(), mib.sum()), share_pct(pl.col("iops").max(), pl.col("iops").sum())
        ),
        top_iops=pl.col("iops").max(),
        full_worlds=total(full.cast(pl.Float64)),
        queued_worlds=total((pl.col("queued") > 0).cast(pl.Float64)),
    )


@derived("nfs", "physical_disk_nfs_volume")
def volumes(one: Capture) -> pl.LazyFrame:
    """Return NFS volumes."""
    return _io(one, "nfs", "physical_disk_nfs_volume")


@derived("adapter", "physical_disk_adapter")
def adapters(one: Capture) -> pl.LazyFrame:
    """Return adapters."""
    return _io(one, "adapter", "physical_disk_adapter")


@derived("adapter", "physical_disk")
def adapter_depth(one: Capture) -> pl.LazyFrame | None:
    """Return the queues of adapters."""
    if "path" not in names(one.tables["physical_disk"]):
        return None
    places = pl.col("adapter").alias("entity"), pl.col("path")
    rows = of(one, "physical_disk", copied("adapter", "physical_disk"), *places)
    return rows.filter(pl.col("path").is_null()).drop("path")


@derived("path", "physical_disk_path")
def paths(one: Capture) -> pl.LazyFrame:
    """Return paths."""
    return _io(one, "path", "physical_disk_path")


@derived("vsan", "vsan")
def vsan(one: Capture) -> pl.LazyFrame:
    """Return the host as a client of its vSAN datastore."""
    rows = of(one, "vsan", copied("vsan", "vsan"), pl.col("instance").alias("entity")).filter(
        pl.col("entity") == "Client"
    )
    # A host has one vSAN datastore, whose name esxtop does not print; this is vSAN's default.
    return rows.with_columns(entity=pl.lit("vsanDatastore"))
