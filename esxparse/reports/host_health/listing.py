"""Header, tiles, and lists of every VM, device and port, worst first; each takes a derived table, or sums of it."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.metrics import over_time
from esxparse.metrics.frames import completed
from esxparse.recording import Recording, counted
from esxparse.reports import page
from esxparse.reports.blocks import (
    ABSENT,
    NOTHING,
    Block,
    Header,
    moment,
    note,
    number,
    spoken_span,
    stack,
    table,
    tiles,
)
from esxparse.reports.columns import columns_of


def header(rec: Recording, title: str) -> Header:
    """The title with the host's name, and when the capture was taken."""
    start, end = rec.meta["start"], rec.meta["end"]
    said = f"{moment(start)} to {moment(end)} ({spoken_span((end - start).total_seconds())})"
    return page.header(title, [rec], said)


def recorded(rec: Recording, vms: pl.LazyFrame | None) -> Block:
    """Tiles on what was recorded: how long, how fine, on what, and how much was promised of it.

    `rec`: a recording of esxtop. `vms`: `inventory.vms`: `group_id, vm, vcpus`.
    """
    meta = rec.meta
    vcpus = None if vms is None else int(vms.select(pl.col("vcpus").sum()).collect().item())
    count = None if vms is None else int(vms.select(pl.len()).collect().item())
    pcpus = meta.get("pcpus")
    span = (meta["end"] - meta["start"]).total_seconds()
    interval = meta.get("interval")
    items = [
        ("Release", str(meta.get("release") or "unknown"), str(meta.get("release_evidence") or "")),
        ("Time covered", spoken_span(span), counted(meta["samples"], "sample")),
        ("Interval", ABSENT if interval is None else f"{interval:g} s", "median between samples"),
        ("VMs", number(count, None), "" if vcpus is None else counted(vcpus, "vCPU")),
        ("Physical CPUs", number(pcpus, None), "hardware threads, as esxtop counts them"),
    ]
    if vcpus and pcpus:
        items.append(("vCPUs per PCPU", number(vcpus / pcpus, 2), f"{vcpus} : {pcpus}"))
    items.append(("Counters", f"{meta.get('columns', 0):,}", f"columns, {len(rec.tables)} objects"))
    return tiles(items)


_OF_CPU: Final = ("used_pct", "run_pct", "contention_pct", "costop_pct", "max_limited_pct", "swap_wait_pct")
_WAITS_OF: Final = {1.0: "group", 0.0: "vCPU worlds"}


def vm_cpu(vms: pl.LazyFrame | None) -> Block:
    """Each VM's waits and use, per vCPU.

    `vms`: the table `vm`.
    """
    if vms is None:
        return NOTHING
    column = pl.col
    vms = completed(vms, "vcpus", *_OF_CPU, "group_waits")
    frame = (
        over_time.with_covered(vms.filter(column("vcpus").is_not_null()))
        .group_by(vm="instance", vcpus=column("vcpus").cast(pl.Int64))
        .agg(
            used=over_time.mean(column("used_pct")),
            run=over_time.mean(column("run_pct")),
            ready=over_time.quantile(column("contention_pct"), 0.95),
            ready_max=column("contention_pct").max(),
            costop=over_time.quantile(column("costop_pct"), 0.95),
            limited=over_time.quantile(column("max_limited_pct"), 0.95),
            swap_wait=over_time.quantile(column("swap_wait_pct"), 0.95),
            waits_of=column("group_waits").unique().sort().replace_strict(_WAITS_OF, default=None).str.join(" and "),
        )
        .sort(["ready", "vm"], descending=[True, False], nulls_last=True)
        .collect()
    )
    limited = frame["limited"].null_count() < frame.height
    columns = columns_of("host_health.vm_cpu", ready="Ready" if limited else "Ready and limited")
    return table(frame, columns, "VMs, per vCPU, most ready time first; used and run are the VM's total / vCPUs")


def quiet_waits(vms: pl.LazyFrame | None) -> Block:
    """One sentence on the waits that no VM had at any time: a chart of nothing would only ask for attention.

    `vms`: the table `vm`.
    """
    if vms is None:
        return NOTHING
    names = {"costop_pct": "co-stop", "max_limited_pct": "time held back by a limit", "swap_wait_pct": "swap wait"}
    highest = completed(vms, *names).select(pl.col(list(names)).max()).collect().row(0, named=True)
    quiet = [word for column, word in names.items() if highest[column] == 0]
    if not quiet:
        return NOTHING
    words = " or ".join([", ".join(quiet[:-1]), quiet[-1]]) if len(quiet) > 1 else quiet[0]
    return note(f"No VM had any {words} at any time.", "ok")


_SIZES: Final = ("granted_mib", "consumed_mib", "active_mib", "overhead_mib")
_RECLAIMED: Final = ("balloon_mib", "swapped_mib", "compressed_mib", "swap_in_mib_per_s", "swap_out_mib_per_s")


def vm_memory(vms: pl.LazyFrame | None) -> Block:
    """Each VM's memory: what it was given, what it touches, what was taken back.

    `vms`: the table `vm`.
    """
    if vms is None:
        return NOTHING
    column = pl.col
    frame = (
        over_time.with_covered(completed(vms, "size_mib", *_SIZES, *_RECLAIMED, "numa_local_pct"))
        .group_by(vm="instance")
        .agg(
            column("size_mib").max(),
            *(over_time.mean(column(name)).alias(name) for name in _SIZES),
            column(*_RECLAIMED).max(),
            column("numa_local_pct").min(),
        )
        .filter(pl.any_horizontal(column("size_mib", *_SIZES).is_not_null()))
        .sort(["consumed_mib", "vm"], descending=[True, False], nulls_last=True)
        .collect()
    )
    return table(frame, columns_of("host_health.vm_memory"), "VMs by consumed memory")


def reclaimed(host: pl.LazyFrame | None) -> Block:
    """One sentence where the host never had to take memory back; nothing where charts show that it did.

    `host`: the table `host`.
    """
    columns = ["balloon_mib", "swap_used_mib", "compressed_mib", "swap_in_mib_per_s", "swap_out_mib_per_s"]
    if host is None:
        return NOTHING
    highest = completed(host, *columns).select(pl.col(columns).max()).collect().row(0)
    if all(value is None for value in highest):
        return note("This capture has no counters for ballooned, swapped or compressed memory.")
    if any(highest):
        return NOTHING
    return note("No memory was ballooned, swapped or compressed at any time.", "ok")


def devices(summary: pl.LazyFrame | None) -> Block:
    """Each disk device and NFS volume with its load and latency.

    `summary`: `storage.summary`.
    """
    if summary is None:
        return NOTHING
    every = summary.sort(["gavg_ms", "instance"], descending=[True, False], nulls_last=True).collect()
    frame, apart = every.filter(pl.col("left_out").is_null()), every.filter(pl.col("left_out").is_not_null())
    columns = columns_of("host_health.devices")
    frame = frame.with_columns(pl.when(pl.col("failed_per_s") > 0).then("failed_per_s"))
    caption = "Devices and NFS volumes, slowest first, latencies weighted by successful reads and writes"
    if apart.is_empty():
        return table(frame, columns, caption)
    others = columns_of("host_health.left_out_devices")
    left = "Left out above, of latency charts and thresholds, and of host totals: no VM waits for these"
    return stack(table(frame, columns, caption), table(apart, others, left))


def ports(summary: pl.LazyFrame | None, speeds: pl.LazyFrame | None = None) -> Block:
    """Each port that carried or dropped packets.

    `summary`: `network.summary`. `speeds`: `network.link_speeds`.
    """
    if summary is None:
        return NOTHING
    if speeds is not None:
        summary = summary.join(speeds, on=["switch", "port_id", "client"], how="left", maintain_order="left")
    alive = pl.sum_horizontal("tx_packets", "rx_packets", "max_tx_mbits", "max_rx_mbits") > 0
    silenced = pl.sum_horizontal("all_dropped_tx_samples", "all_dropped_rx_samples")
    frame = summary.with_columns(silenced=silenced).filter(alive | (silenced > 0)).collect()
    idle = summary.select(pl.len()).collect().item() - frame.height
    frame = frame.with_columns(
        worst=pl.max_horizontal("drop_tx_pct", "drop_rx_pct"),
        load=pl.sum_horizontal("mean_tx_mbits", "mean_rx_mbits"),
        silenced=pl.when(pl.col("silenced") > 0).then("silenced"),
    ).sort(["worst", "load", "client"], descending=[True, True, False], nulls_last=True)
    unused = f"; {number(idle, None)} without traffic left out" if idle else ""
    return table(frame, columns_of("host_health.ports"), f"Ports, most dropped packets first{unused}")
