"""The derived table of VMs: each view gives some of its columns, one row per sample and VM."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.derived.capture import Capture, beside, derived, of, with_vm_names
from esxparse.derived.catalogue import copied
from esxparse.metrics import inventory, over_time, storage
from esxparse.metrics import memory as metrics_memory
from esxparse.metrics import network as metrics_network
from esxparse.metrics.frames import column, names, renamed, total, weighted_mean
from esxparse.metrics.scheduling import FROM_GROUP, per_vcpu, per_vcpu_by_worlds

_SELDOM_LESS: Final = 0.2
"""The share of the time in which a VM runs less than its usual minimum."""
_VCPU_COUNTERS: Final = {
    "ready": "pct_ready",
    "limited": "pct_max_limited",
    "costop": "pct_costop",
    "wait": "pct_vmwait",
    "run": "pct_run",
    "used": "pct_used",
}
_OF_PORTS: Final = (
    "tx_mbits",
    "rx_mbits",
    "tx_packets",
    "rx_packets",
    "rx_broadcast",
    "tx_dropped_per_s",
    "rx_dropped_per_s",
)


@derived("vm", "group_cpu", also=("vcpu",))
def scheduling(one: Capture) -> pl.LazyFrame:
    """Return the scheduler's effect on each VM, per vCPU."""
    rows = per_vcpu(one.tables["group_cpu"], one.entities, one.tables.get("vcpu"))
    return _waits(one, rows.with_columns(group_waits=(pl.col("ready_from") == FROM_GROUP).cast(pl.Float64)))


@derived("vm", "vcpu")
def scheduling_by_worlds(one: Capture) -> pl.LazyFrame | None:
    """Return the same by the worlds of vCPUs, if a capture has no groups."""
    return None if "group_cpu" in one.tables else _waits(one, per_vcpu_by_worlds(one.tables["vcpu"], one.entities))


def _waits(one: Capture, rows: pl.LazyFrame) -> pl.LazyFrame:
    # Without %MLMTD, limits are unknown: all ready time counts as waiting for others.
    waits = pl.coalesce("contention_pct", pl.when(pl.col("max_limited_pct").is_null()).then("ready_pct"))
    rows = rows.with_columns(pl.col("vcpus").cast(pl.Float64), contention_pct=waits)
    return with_vm_names(one, rows.drop("vm", "ready_from", strict=False))


@derived("vm", "vcpu")
def each_vcpu(one: Capture) -> pl.LazyFrame:
    """Return figures of single vCPUs, the worst and the busiest, and of helper worlds."""
    frame = one.tables["vcpu"]
    there = names(frame)
    known = frame.select("world_id", "group_id", "world").unique().with_columns(_n=inventory.vcpu_number())
    mine = known.collect().join(one.vms.select("group_id"), on="group_id")
    rows = frame.select("time", "group_id", "world_id", *renamed(there, _VCPU_COUNTERS)).join(
        mine.select("world_id", vcpu=pl.col("_n").is_not_null()).unique("world_id").lazy(),
        on="world_id",
        maintain_order="left",
    )
    helpers = [pl.when(~pl.col("vcpu")).then(name).alias(f"helper_{name}") for name in ("used", "run")]
    # Other worlds become null, which costs less than a filter in each aggregate.
    own = [pl.when("vcpu").then(name).alias(name) for name in _VCPU_COUNTERS]
    waits = pl.col("ready") - pl.col("limited").fill_null(0.0)
    made = (
        rows.with_columns(*own, *helpers)
        .group_by("time", "group_id", maintain_order=True)
        .agg(
            worst_ready_pct=waits.max(),
            worst_costop_pct=pl.col("costop").max(),
            vm_wait_pct=pl.col("wait").mean(),
            vcpu_run_pct=pl.col("run").mean(),
            vcpu_used_pct=pl.col("used").mean(),
            worst_run_pct=pl.col("run").max(),
            least_run_pct=pl.col("run").min(),
            helper_used_pct=pl.col("helper_used").max(),
            helper_run_pct=pl.col("helper_run").max(),
        )
    )
    return with_vm_names(one, made)


@derived("vm", "group_cpu")
def group(one: Capture) -> pl.LazyFrame:
    """Return rates and settings of each VM's group."""
    rows = of(one, "group_cpu", copied("vm", "group_cpu"), pl.col("group_id"))
    rows = over_time.with_covered(rows.join(one.entities.select("group_id"), on="group_id", how="semi"))
    usual = over_time.quantile(pl.col("group_run_pct"), _SELDOM_LESS).over("group_id")
    return with_vm_names(one, rows.with_columns(run_more_pct=pl.col("group_run_pct") - usual).drop(over_time.COVERED))


@derived("vm", "group_memory")
def memory(one: Capture) -> pl.LazyFrame:
    """Return the memory of each VM, and the VMkernel's targets for it."""
    frame = one.tables["group_memory"]
    rows = with_vm_names(one, metrics_memory.vms(frame, one.entities).drop("vm"))
    more = of(one, "group_memory", copied("vm", "group_memory"), pl.col("group_id")).join(
        one.entities.select("group_id"), on="group_id", how="semi"
    )
    local, remote = pl.col("numa_local_mib"), pl.col("numa_remote_mib")
    share = 100 * local / pl.when(local + remote > 0).then(local + remote)
    moves = column(names(frame), "numa_rebalance_count_delta")
    if "numa_home_nodes" in names(frame):
        home = pl.col("numa_home_nodes")
        moved = home.ne(home.shift(1).over("group_id")).cast(pl.Float64).alias("_moved")
        moves = pl.coalesce(moves, moved)
    seen = frame.select("time", "group_id", numa_moves=moves).join(
        one.entities.select("group_id"), on="group_id", how="semi", maintain_order="left"
    )
    made = beside(beside(rows, more.drop("group_id")), seen.drop("group_id"))
    return made.with_columns(numa_local_pct=pl.coalesce("numa_local_pct", share))


@derived("vm", "virtual_disk")
def disk(one: Capture) -> pl.LazyFrame:
    """Return virtual disks: the row of the VM, or the sum of its disks."""
    counters = copied("vm", "virtual_disk")
    rows = of(one, "virtual_disk", counters, pl.col("vm").alias("entity"), pl.col("disk"))
    whole, single = pl.col("disk").is_null(), pl.col("disk").is_not_null()
    read, write = pl.col("vdisk_read_ms"), pl.col("vdisk_write_ms")

    def of_all(name: str) -> pl.Expr:
        # Part of a capture may have the disks without their VM's row.
        return pl.coalesce(pl.col(name).filter(whole).max(), total(pl.col(name).filter(single))).alias(name)

    return rows.group_by("time", "entity", maintain_order=True).agg(
        *(of_all(name) for name in list(counters)[:5]),
        pl.coalesce(
            read.filter(whole).max(), weighted_mean(read.filter(single), pl.col("vdisk_read_iops").filter(single))
        ),
        pl.coalesce(
            write.filter(whole).max(), weighted_mean(write.filter(single), pl.col("vdisk_write_iops").filter(single))
        ),
        worst_disk_ms=pl.max_horizontal(read.filter(single).max(), write.filter(single).max()),
    )


@derived("vm", "network_port")
def network(one: Capture) -> pl.LazyFrame:
    """Return traffic and drops of all ports of each VM."""
    frame = one.tables["network_port"]
    cast = column(names(frame), "broadcast_packets_received_per_sec")
    rows = metrics_network.ports(frame)
    rows = beside(rows, frame.select("time", rx_broadcast=cast)).filter(kind="vm")
    tx, rx = pl.col("tx_packets"), pl.col("rx_packets")
    return rows.group_by("time", pl.col("client").alias("entity"), maintain_order=True).agg(
        *(total(pl.col(name)).alias(name) for name in _OF_PORTS),
        drop_tx_pct=weighted_mean(pl.col("drop_tx_pct"), tx + 1),
        drop_rx_pct=weighted_mean(pl.col("drop_rx_pct"), rx + 1),
    )


@derived("vm", "physical_disk_per_device_per_world", "vcpu")
def queue(one: Capture) -> pl.LazyFrame | None:
    """Return each VM's activity and queues in devices, by its worlds."""
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
        wq_active=total(pl.col("active")),
        wq_queued=pl.col("queued").max(),
        wq_depth=pl.col("wq_depth").max(),
        world_mib_per_s=total(pl.col("read_mib_per_s") + pl.col("write_mib_per_s")),
        world_iops=total(pl.col("iops")),
        world_kavg_ms=weighted_mean(pl.col("kavg_ms"), good),
        world_qavg_ms=weighted_mean(pl.col("qavg_ms"), good),
        world_davg_ms=weighted_mean(pl.col("davg_ms"), good),
    )
