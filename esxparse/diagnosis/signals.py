"""What rules and cases read of a capture: for every kind of object, named series, one value per sample and object.

A view of `VIEWS` makes some columns of one kind. A column is a counter under a short name with its unit, or a metric of
`esxparse.metrics`. `columns` tells what there is, so that a rule that names anything else is refused when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import polars as pl

from esxparse import toml
from esxparse.diagnosis import vm_signals
from esxparse.diagnosis.hosts import Host, beside, of
from esxparse.metrics import host, host_cpu, memory, network, power, storage
from esxparse.metrics.frames import column, names, weighted_mean
from esxparse.schema import TIME, schema

_NAMES: Final = toml.beside(__file__)
_BUSY: Final = 98.0
"""% in C0 from which the rest tells nothing of how deeply a PCPU sleeps."""
_SPEEDS: Final = (1_000, 10_000, 25_000, 40_000, 100_000)
"""Mbit/s of usual links; one of 100 is none of a server's."""
View = Callable[[Host], "pl.LazyFrame | None"]


def _device_users(one: Host) -> pl.LazyFrame:
    """How a device's traffic is divided among VMs, the VMkernel's own worlds left out."""
    frame = one.tables["physical_disk_per_device_per_world"]
    rates = storage.latency(frame).select(
        "time", "iops", "read_mib_per_s", "write_mib_per_s", "kavg_ms", "queued", "active"
    )
    ids = frame.select(
        "time", pl.col("device").alias("entity"), "world_id", world_depth=column(names(frame), "world_q_depth")
    )
    rows = beside(ids, rates).join(one.worlds.lazy().select("world_id", vm="entity"), on="world_id")
    mib = pl.col("read_mib_per_s") + pl.col("write_mib_per_s")
    full = (pl.col("world_depth") > 0) & (pl.col("active") >= pl.col("world_depth") - 1) & (pl.col("queued") > 0)
    return rows.group_by("time", "entity", maintain_order=True).agg(
        users=(pl.col("iops") > 1).sum().cast(pl.Float64),
        users_mib_per_s=mib.sum(),
        top_mib_per_s=mib.max(),
        top_share_pct=100 * mib.max() / pl.when(mib.sum() > 0).then(mib.sum()),
        top_iops=pl.col("iops").max(),
        full_worlds=full.sum().cast(pl.Float64),
        queued_worlds=(pl.col("queued") > 0).sum().cast(pl.Float64),
    )


def _devices(one: Host, table: str) -> pl.LazyFrame:
    rows = storage.latency(one.tables[table]).rename({"device": "entity"})
    rows = beside(rows, of(one, table, _NAMES["io"]))
    read, write = pl.col("read_iops").fill_null(0.0), pl.col("write_iops").fill_null(0.0)
    total = pl.when(pl.any_horizontal(pl.col("read_iops", "write_iops").is_not_null())).then(read + write)
    both = pl.col("gavg_read_ms").fill_null(0.0) * read + pl.col("gavg_write_ms").fill_null(0.0) * write
    # A part of a capture may hold reads and writes alone.
    rows = rows.with_columns(
        iops=pl.coalesce("iops", total),
        good_iops=pl.coalesce("good_iops", total),
        gavg_ms=pl.coalesce("gavg_ms", pl.when(pl.col("iops").is_null() & (total > 0)).then(both / total)),
    )
    return rows.with_columns(
        fill_pct=100 * pl.col("active") / pl.when(pl.col("depth") > 0).then("depth"),
        mib_per_s=pl.coalesce(
            pl.col("read_mib_per_s") + pl.col("write_mib_per_s"), "read_mib_per_s", "write_mib_per_s"
        ),
    )


def _adapters_alone(one: Host) -> pl.LazyFrame | None:
    """Adapters, where a capture has no devices."""
    return None if "physical_disk_scsi_device" in one.tables else _devices(one, "physical_disk_adapter")


def _adapter_depth(one: Host) -> pl.LazyFrame | None:
    frame = one.tables["physical_disk"]
    if "path" not in names(frame):
        return None
    places = pl.col("adapter").alias("entity"), pl.col("path")
    rows = of(one, "physical_disk", {"adapter_depth": "adapter_q_depth"}, *places)
    return rows.filter(pl.col("path").is_null()).drop("path")


def _ports(one: Host) -> pl.LazyFrame:
    frame = one.tables["network_port"]
    there = names(frame)
    rows = network.ports(frame)
    more = frame.select(
        "time",
        link_up=column(there, "link_up"),
        speed_mbits=column(there, "link_speed_mb_per_s"),
        duplex=column(there, "full_duplex"),
    )
    rows = beside(rows, more).filter(pl.col("kind").is_in(["uplink", "vmkernel"]))
    uplink = pl.col("kind") == "uplink"
    team = pl.col("speed_mbits").filter(uplink).max().over("time", "switch")
    speed = pl.when(uplink & (pl.col("speed_mbits") > 0)).then("speed_mbits")
    traffic = pl.max_horizontal("tx_mbits", "rx_mbits")
    return rows.with_columns(
        entity=pl.col("client"),
        is_uplink=uplink.cast(pl.Float64),
        link_up=pl.when(uplink).then("link_up"),
        duplex=pl.when(uplink).then("duplex"),
        speed_mbits=pl.when(uplink).then("speed_mbits"),
        team_mbits=pl.when(uplink).then(team),
        traffic_mbits=traffic,
        line_pct=100 * traffic / speed,
        guessed_line_pct=pl.when(uplink).then(100 * traffic / _guessed(traffic.max().over("switch", "client"))),
        both_pct=100 * (pl.col("tx_mbits") + pl.col("rx_mbits")) / speed,
    ).drop("switch", "port_id", "client", "kind")


def _guessed(most: pl.Expr) -> pl.Expr:
    """The speed that a link has at least, by the most that it carried."""
    return pl.coalesce(pl.when(most <= speed).then(float(speed)) for speed in _SPEEDS)


def _pcpus(one: Host) -> pl.LazyFrame:
    rows = host_cpu.pcpu(one.tables["physical_cpu"]).filter(pl.col("pcpu").is_not_null())
    return rows.with_columns(entity=pl.col("pcpu").cast(pl.String)).drop("pcpu")


def _interrupts(one: Host) -> pl.LazyFrame:
    rows = of(one, "interrupt_cookie", {"n": "interrupts_per_second"}, pl.col("cookie"), pl.col("cpu")).filter(
        pl.col("cpu").is_not_null()
    )
    return (
        rows.group_by("time", "cpu", maintain_order=True)
        .agg(interrupts_per_s=pl.col("n").sum(), worst_vector_per_s=pl.col("n").max())
        .with_columns(entity=pl.col("cpu").cast(pl.String))
        .drop("cpu")
    )


def _pcpu_power(one: Host) -> pl.LazyFrame:
    frame = one.tables["pcpu_power_state"]
    there = names(frame)
    states = sorted((name for name in there if re.fullmatch(r"pct_[cpt]_state_[cpt]\d+", name)), key=_number)

    def last(letter: str) -> pl.Expr:
        mine = [name for name in states if name.startswith(f"pct_{letter}_state")]
        return column(there, mine[-1] if len(mine) > 1 else "")

    return frame.select(
        "time",
        entity=pl.col("pcpu").cast(pl.String),
        aperf_pct=column(there, "pct_of_aperf_per_mperf"),
        c0_pct=column(there, "pct_c_state_c0"),
        c1_pct=column(there, "pct_c_state_c1"),
        deepest_c_pct=last("c"),
        slowest_p_pct=last("p"),
        throttled_pct=100 - column(there, "pct_t_state_t0"),
    )


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name))


def _host_clock(one: Host) -> pl.LazyFrame:
    # The clock matters while a PCPU works: an idle one may be as slow as it likes.
    busy = pl.col("c0_pct").fill_null(100.0)
    return (
        _pcpu_power(one)
        .group_by("time", maintain_order=True)
        .agg(
            clock_pct=weighted_mean(pl.col("aperf_pct"), busy),
            pl_c0=pl.col("c0_pct").mean(),
            deepest_c_pct=pl.col("deepest_c_pct").mean(),
            shallow_c_pct=pl.col("c1_pct").mean(),
            slowest_p_pct=pl.col("slowest_p_pct").mean(),
            throttled_pct=pl.col("throttled_pct").mean(),
        )
        .rename({"pl_c0": "c0_pct"})
        .with_columns(
            deep_share_pct=100 * pl.col("deepest_c_pct") / (100 - pl.when(pl.col("c0_pct") < _BUSY).then("c0_pct"))
        )
    )


def _host_fullest(one: Host) -> pl.LazyFrame:
    """Use of the busiest NUMA node; PCPUs are numbered node by node."""
    nodes = one.tables["numa_node"].select(_nodes=pl.col("instance").n_unique())
    rows = host_cpu.pcpu(one.tables["physical_cpu"]).filter(pl.col("pcpu").is_not_null()).join(nodes, how="cross")
    node = pl.col("pcpu") * pl.col("_nodes") // (pl.col("pcpu").max() + 1)
    by_node = rows.group_by("time", node.alias("_node"), maintain_order=True).agg(pl.col("util_pct").mean())
    return by_node.group_by("time", maintain_order=True).agg(fullest_node_pct=pl.col("util_pct").max())


def _host_memory(one: Host) -> pl.LazyFrame:
    frame = one.tables["memory"]
    rows = memory.host(frame, one.release).drop("state_name")
    return beside(rows, of(one, "memory", {"balloon_target_mib": "memctl_target_mbytes"}))


def _host_system(one: Host) -> pl.LazyFrame:
    frame = one.tables["group_cpu"]
    there = names(frame)
    mine = pl.col("group").is_in(["system", "helper", "drivers"])
    vms = pl.col("group_id").is_in(one.vms["group_id"].implode())
    helper = pl.col("group") == "helper"
    return frame.group_by("time", maintain_order=True).agg(
        kernel_used_pct=column(there, "pct_used").filter(mine).sum(),
        helper_used_pct=column(there, "pct_used").filter(helper).sum(),
        helper_migrates_per_s=column(there, "migrates_per_sec").filter(helper).sum(),
        vms_run_pct=column(there, "pct_run").filter(vms).sum(),
        vms_ready_pct=column(there, "pct_ready").filter(vms).sum(),
        vms_costop_pct=column(there, "pct_costop").filter(vms).sum(),
    )


def _host_load(one: Host) -> pl.LazyFrame:
    return of(one, "physical_cpu_load", {"load": "cpu_load_1_minute_avg"})


def _host_nodes(one: Host) -> pl.LazyFrame:
    return one.tables["numa_node"].group_by("time", maintain_order=True).agg(nodes=pl.len().cast(pl.Float64))


def _vsan(one: Host) -> pl.LazyFrame:
    rows = of(one, "vsan", _NAMES["vsan"], pl.col("instance").alias("entity")).filter(pl.col("entity") == "Client")
    # A host has one datastore of vSAN, whose name esxtop does not tell: this is the one that vSAN gives it.
    return rows.with_columns(entity=pl.lit("vsanDatastore"))


def _nodes(one: Host) -> pl.LazyFrame:
    counters = {"node_used_pct": "pct_processor_time", "node_free_mib": "free_mbytes"}
    return of(one, "numa_node", counters, pl.col("instance").alias("entity"))


def _imbalance(one: Host) -> pl.LazyFrame:
    rows = host_cpu.imbalance(host_cpu.pcpu(one.tables["physical_cpu"]))
    return rows.drop("busiest_pcpu").rename(
        {"mean_pct": "pcpu_mean_pct", "max_pct": "pcpu_max_pct", "min_pct": "pcpu_min_pct"}
    )


VIEWS: Final[Mapping[str, tuple[str, tuple[str, ...], View]]] = {
    "vm.worlds": ("vm", ("vcpu",), vm_signals.worlds),
    "vm.scheduling": ("vm", ("group_cpu",), vm_signals.scheduling),
    "vm.group": ("vm", ("group_cpu",), vm_signals.group),
    "vm.memory": ("vm", ("group_memory",), vm_signals.memory),
    "vm.disk": ("vm", ("virtual_disk",), vm_signals.disk),
    "vm.network": ("vm", ("network_port",), vm_signals.network),
    "vm.queue": ("vm", ("physical_disk_per_device_per_world", "vcpu"), vm_signals.queue),
    "device.io": ("device", ("physical_disk_scsi_device",), lambda one: _devices(one, "physical_disk_scsi_device")),
    "device.adapters": ("device", ("physical_disk_adapter",), _adapters_alone),
    "device.users": ("device", ("physical_disk_per_device_per_world", "vcpu"), _device_users),
    "nfs.io": ("nfs", ("physical_disk_nfs_volume",), lambda one: _devices(one, "physical_disk_nfs_volume")),
    "adapter.io": ("adapter", ("physical_disk_adapter",), lambda one: _devices(one, "physical_disk_adapter")),
    "adapter.depth": ("adapter", ("physical_disk",), _adapter_depth),
    "path.io": ("path", ("physical_disk_path",), lambda one: _devices(one, "physical_disk_path")),
    "port.traffic": ("port", ("network_port",), _ports),
    "pcpu.use": ("pcpu", ("physical_cpu",), _pcpus),
    "pcpu.interrupts": ("pcpu", ("interrupt_cookie",), _interrupts),
    "pcpu.power": ("pcpu", ("pcpu_power_state",), _pcpu_power),
    "node.use": ("node", ("numa_node",), _nodes),
    "vsan.io": ("vsan", ("vsan",), _vsan),
    "host.cpu": ("host", ("physical_cpu",), lambda one: host.cpu(one.tables)),
    "host.imbalance": ("host", ("physical_cpu",), _imbalance),
    "host.memory": ("host", ("memory",), _host_memory),
    "host.power": ("host", ("power",), lambda one: power.host(one.tables["power"])),
    "host.clock": ("host", ("pcpu_power_state",), _host_clock),
    "host.system": ("host", ("group_cpu",), _host_system),
    "host.nodes": ("host", ("numa_node",), _host_nodes),
    "host.fullest": ("host", ("physical_cpu", "numa_node"), _host_fullest),
    "host.load": ("host", ("physical_cpu_load",), _host_load),
}
"""Name of a view to the kind of its objects, the tables that it needs, and what makes it."""
KINDS: Final = tuple(dict.fromkeys(kind for kind, _, _ in VIEWS.values()))
_KEYS: Final = schema(
    "group_id i64, group str, world_id i64, world instance vm disk switch str, port_id i64, client str, pcpu cpu i64, "
    "cookie str, p_state i64, adapter path device str, node i64"
)
CLOCK: Final = ("step_s", "interval_s", "steps_back")
"""Columns of the host that come from the times of samples: seconds since the last, the usual, how often it was less."""
_OTHER: Final = frozenset({"time", "entity"})


@cache
def columns(view: str) -> tuple[str, ...]:
    """The columns of a view, as a capture without a single sample gives them."""
    empty = pl.LazyFrame(schema={"time": TIME, **_KEYS})
    _, needs, make = VIEWS[view]
    made = make(Host(dict.fromkeys({*needs, "vcpu"}, empty)))
    return tuple(name for name in made.collect_schema().names() if name not in _OTHER) if made is not None else ()
