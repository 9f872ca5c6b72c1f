"""Series of VMs: a view gives some of their columns, one row per sample and VM (`signals`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse import toml
from esxparse.diagnosis.hosts import beside, named, of
from esxparse.metrics import inventory, over_time, storage
from esxparse.metrics import memory as metrics_memory
from esxparse.metrics import network as metrics_network
from esxparse.metrics.frames import column, names, renamed, weighted_mean
from esxparse.metrics.scheduling import contention

if TYPE_CHECKING:
    from esxparse.diagnosis.hosts import Host

_NAMES: Final = toml.beside(__file__, "signals.toml")["vm"]
_WORLD: Final = _NAMES["world"]
_OF_GROUPS: Final = _NAMES["group_states"]


_SELDOM_LESS: Final = 0.2
"""The share of the time in which a VM runs less than its usual minimum."""


def scheduling(one: Host) -> pl.LazyFrame:
    """What the groups tell, per vCPU: use, and waits where the worlds of vCPUs are not in the capture."""
    rows = of(one, "group_cpu", {**_WORLD, **_OF_GROUPS}, pl.col("group_id"))
    rows = rows.join(one.entities.select("group_id", "vcpus"), on="group_id", maintain_order="left")
    rows = rows.with_columns(pl.col(*_WORLD, *_OF_GROUPS) / pl.col("vcpus"), pl.col("vcpus").cast(pl.Float64))
    # Without %MLMTD no limit is known of: all of ready counts as waiting for others.
    return named(one, rows.with_columns(contention_pct=pl.coalesce(contention(), "ready_pct")))


def group(one: Host) -> pl.LazyFrame:
    """Rates and settings of the groups."""
    rows = of(one, "group_cpu", _NAMES["group"], pl.col("group_id"))
    rows = rows.join(one.entities.select("group_id", "vcpus"), on="group_id", maintain_order="left")
    per = ("demand_pct", "vmwait_group_pct")
    rows = over_time.with_covered(rows)
    usual = over_time.quantile(pl.col("group_run_pct"), _SELDOM_LESS).over("group_id")
    rows = rows.with_columns(pl.col(per) / pl.col("vcpus"), run_more_pct=pl.col("group_run_pct") - usual)
    return named(one, rows.drop("vcpus", over_time.COVERED))


def worlds(one: Host) -> pl.LazyFrame:
    """Waits per vCPU by the worlds of vCPUs, and the worst of them; where there are no groups, use and latency too."""
    frame = one.tables["vcpu"]
    there = names(frame)
    known = frame.select("world_id", "group_id", "world").unique().with_columns(_n=inventory.vcpu_number())
    mine = known.collect().join(one.vms.select("group_id", "vcpus"), on="group_id")
    counted = {**_WORLD, **_OF_GROUPS}
    more = {"_vmwait": "pct_vmwait"}
    rows = frame.select("time", "group_id", "world_id", *renamed(there, {**counted, **more})).join(
        mine.select("world_id", "vcpus", _vcpu=pl.col("_n").is_not_null()).unique("world_id").lazy(),
        on="world_id",
        maintain_order="left",
    )
    alone = _OF_GROUPS if "group_cpu" not in one.tables else {}
    # The worlds of others are left out by null, which costs less than a filter in each aggregate.
    own = [pl.when("_vcpu").then(name).alias(name) for name in (*counted, *more)]
    helper = pl.when(~pl.col("_vcpu")).then("used_pct").alias("_helper")
    waits = pl.col("ready_pct") - pl.col("max_limited_pct").fill_null(0.0)

    def per_vcpu(value: pl.Expr) -> pl.Expr:
        # ESX 3.5 and 4 have two worlds of a vCPU, whose times add up.
        return pl.when(value.count() > 0).then(value.sum() / pl.col("vcpus").first())

    made = (
        rows.with_columns(*own, helper)
        .with_columns(_waits=pl.when("_vcpu").then(waits))
        .group_by("time", "group_id", maintain_order=True)
        .agg(
            *(per_vcpu(pl.col(name)).alias(name) for name in (*_WORLD, *alone)),
            vcpus=pl.col("vcpus").first().cast(pl.Float64),
            contention_pct=per_vcpu(pl.col("_waits")),
            worst_ready_pct=pl.col("_waits").max(),
            worst_costop_pct=pl.col("costop_pct").max(),
            vm_wait_pct=pl.col("_vmwait").mean(),
            vcpu_run_pct=pl.col("run_pct").mean(),
            vcpu_used_pct=pl.col("used_pct").mean(),
            worst_run_pct=pl.col("run_pct").max(),
            least_run_pct=pl.col("run_pct").min(),
            helper_used_pct=pl.col("_helper").max(),
        )
    )
    return named(one, made)


def memory(one: Host) -> pl.LazyFrame:
    """Memory, with what the VMkernel wants of it."""
    frame = one.tables["group_memory"]
    rows = named(one, metrics_memory.vms(frame, one.entities).drop("vm"))
    more = of(one, "group_memory", _NAMES["memory"], pl.col("group_id")).join(
        one.entities.select("group_id"), on="group_id", how="semi"
    )
    local, remote = pl.col("numa_local_mib"), pl.col("numa_remote_mib")
    share = 100 * local / pl.when(local + remote > 0).then(local + remote)
    return beside(rows, more.drop("group_id")).with_columns(numa_local_pct=pl.coalesce("numa_local_pct", share))


def disk(one: Host) -> pl.LazyFrame:
    """Virtual disks: the row of the VM, or the sum of its disks."""
    counters = _NAMES["disk"]
    rows = of(one, "virtual_disk", counters, pl.col("vm").alias("entity"), pl.col("disk"))
    whole, single = pl.col("disk").is_null(), pl.col("disk").is_not_null()
    read, write = pl.col("vdisk_read_ms"), pl.col("vdisk_write_ms")

    def total(name: str) -> pl.Expr:
        # A part of a capture may hold the disks without their VM's row.
        return pl.coalesce(pl.col(name).filter(whole).max(), pl.col(name).filter(single).sum()).alias(name)

    return rows.group_by("time", "entity", maintain_order=True).agg(
        *(total(name) for name in list(counters)[:5]),
        pl.coalesce(
            read.filter(whole).max(), weighted_mean(read.filter(single), pl.col("vdisk_read_iops").filter(single))
        ),
        pl.coalesce(
            write.filter(whole).max(), weighted_mean(write.filter(single), pl.col("vdisk_write_iops").filter(single))
        ),
        worst_disk_ms=pl.max_horizontal(read.filter(single).max(), write.filter(single).max()),
    )


def network(one: Host) -> pl.LazyFrame:
    """Traffic and drops of all its ports."""
    frame = one.tables["network_port"]
    cast = column(names(frame), "broadcast_packets_received_per_sec")
    rows = metrics_network.ports(frame)
    rows = beside(rows, frame.select("time", rx_broadcast=cast)).filter(kind="vm")
    tx, rx = pl.col("tx_packets"), pl.col("rx_packets")
    return rows.group_by("time", pl.col("client").alias("entity"), maintain_order=True).agg(
        pl.col("tx_mbits", "rx_mbits", "tx_packets", "rx_packets", "rx_broadcast").sum(),
        pl.col("tx_dropped_per_s", "rx_dropped_per_s").sum(),
        drop_tx_pct=weighted_mean(pl.col("drop_tx_pct"), tx + 1),
        drop_rx_pct=weighted_mean(pl.col("drop_rx_pct"), rx + 1),
    )


def queue(one: Host) -> pl.LazyFrame | None:
    """What it does and waits for in devices, by its worlds."""
    frame = one.tables["physical_disk_per_device_per_world"]
    rates = storage.latency(frame).select(
        "time",
        "iops",
        "good_iops",
        "read_mib_per_s",
        "write_mib_per_s",
        "kavg_ms",
        "qavg_ms",
        "davg_ms",
        "active",
        "queued",
    )
    more = of(one, "physical_disk_per_device_per_world", {"wq_depth": "world_q_depth"}, pl.col("world_id"))
    rows = beside(more, rates).join(one.worlds.lazy(), on="world_id", maintain_order="left")
    good = pl.col("good_iops")
    return rows.group_by("time", "entity", maintain_order=True).agg(
        pl.col("active").sum().alias("wq_active"),
        pl.col("queued").max().alias("wq_queued"),
        pl.col("wq_depth").max(),
        (pl.col("read_mib_per_s") + pl.col("write_mib_per_s")).sum().alias("world_mib_per_s"),
        pl.col("iops").sum().alias("world_iops"),
        weighted_mean(pl.col("kavg_ms"), good).alias("world_kavg_ms"),
        weighted_mean(pl.col("qavg_ms"), good).alias("world_qavg_ms"),
        weighted_mean(pl.col("davg_ms"), good).alias("world_davg_ms"),
    )
