"""The row of a run, as far as its esxtop capture tells it.

Each function takes the tables of a capture cut to the measured span and gives columns of `runs`; those that the capture
cannot tell are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.metrics import host_cpu, inventory, memory, network, power, scheduling, steady, storage, workload
from esxparse.metrics._columns import names, weighted_mean
from esxparse.metrics._samples import SAMPLE, placed
from esxparse.metrics.units import mib_to_mb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Tables = Mapping[str, pl.LazyFrame]

_DEVICES: Final = ("physical_disk_scsi_device", "physical_disk_adapter", "physical_disk_path", "physical_disk")
_VOLUMES: Final = "physical_disk_nfs_volume"
TABLES: Final = frozenset(
    {"physical_cpu", "group_cpu", "group_memory", "memory", "network_port", "power", *_DEVICES, _VOLUMES}
)
"""The tables whose numbers are needed; of `vcpu`, whose numbers are most of a capture, its worlds are."""
_LATENCIES: Final = ("gavg_ms", "davg_ms", "kavg_ms", "qavg_ms")
_PER_VCPU: Final = ("ready_pct", "contention_pct", "max_limited_pct", "costop_pct", "swap_wait_pct", "overlap_pct")


def metrics(tables: Tables, release: str | None) -> dict[str, Any]:
    """All columns that the tables of a capture allow, all queries at once."""
    rows = [
        *_cpu(tables),
        *_vms(tables),
        *_storage(tables),
        *_network(tables),
        *_memory(tables, release),
        *_power(tables),
    ]
    series = _series(tables)
    frames = pl.collect_all([*rows, *series.values()])
    found: dict[str, Any] = {}
    for frame in frames[: len(rows)]:
        found |= frame.row(0, named=True)
    return found | _steadiness(dict(zip(series, frames[len(rows) :], strict=True)))


def host_use(tables: Tables) -> pl.LazyFrame | None:
    """Used and util of the whole host: means over samples of the means over PCPUs.

    >>> table = pl.LazyFrame({"time": [0, 1], "pcpu": [None, None], "pct_processor_time": [40.0, 60.0]})
    >>> host_use({"physical_cpu": table}).collect()["host_used_pct"].item()
    50.0
    """
    if "physical_cpu" not in tables:
        return None
    util = pl.col("util_pct")
    return _total(tables).select(
        pl.len().cast(pl.Int64).alias("samples"),
        pl.col("used_pct").mean().alias("host_used_pct"),
        util.mean().alias("host_util_pct"),
        pl.col("core_util_pct").mean().alias("host_core_util_pct"),
        util.quantile(0.95, interpolation="linear").alias("host_util_p95_pct"),
        util.max().alias("host_util_max_pct"),
    )


def _total(tables: Tables) -> pl.LazyFrame:
    """The host's row of each sample; the mean of its PCPUs, which that row is, where a slice of a capture lacks it."""
    rows = host_cpu.pcpu(tables["physical_cpu"])
    total = pl.col("pcpu").is_null()
    if rows.select(total.any()).collect().item():
        return rows.filter(total)
    each = placed(rows, "pcpu").group_by(SAMPLE, maintain_order=True)
    return each.agg(pl.col("used_pct", "util_pct", "core_util_pct").mean())


def _cpu(tables: Tables) -> list[pl.LazyFrame]:
    use = host_use(tables)
    if use is None:
        return []
    even = host_cpu.imbalance(host_cpu.pcpu(tables["physical_cpu"]))
    return [use, even.select(pl.col("spread_pct").mean().alias("pcpu_util_spread_pct"))]


def _vms(tables: Tables) -> list[pl.LazyFrame]:
    """Scheduling of the VMs per vCPU: sums over VMs by sums of vCPUs, so that a VM of eight counts eight times."""
    if "vcpu" not in tables:
        return []
    # A capture names all its worlds in its header: one sample has them all. As a literal its time reaches the reader.
    first = tables["vcpu"].select(pl.col("time").min()).collect().item()
    worlds = tables["vcpu"].filter(pl.col("time") == first)
    vms = inventory.vms(worlds).collect().lazy()
    queries = [
        vms.select(
            pl.len().cast(pl.Int64).alias("vms_running"),
            pl.col("vcpus").sum().cast(pl.Int64).alias("vcpus_running"),
        )
    ]
    if "group_cpu" in tables:
        each = (
            scheduling.per_vcpu(tables["group_cpu"], vms)
            .group_by("group_id")
            .agg(pl.col("vcpus").first(), pl.col(_PER_VCPU).mean())
        )
        over_all = [weighted_mean(pl.col(name), pl.col("vcpus")).alias(name) for name in _PER_VCPU]
        worst = [pl.col(f"{name}_pct").max().alias(f"worst_vm_{name}_pct") for name in ("ready", "costop")]
        queries.append(each.select(*over_all, *worst))
    if "group_memory" in tables:
        local, remote = pl.col("numa_local_mb").sum(), pl.col("numa_remote_mb").sum()
        share = pl.when(local + remote > 0).then(100 * local / (local + remote)).alias("numa_local_pct")
        queries.append(memory.vms(tables["group_memory"], vms).select(share))
    return queries


def _memory(tables: Tables, release: str | None) -> list[pl.LazyFrame]:
    if "memory" not in tables:
        return []
    renamed = {
        "memory_free_mib": "free_mb",
        "balloon_mib": "balloon_mb",
        "swap_in_mib_per_s": "swap_in_mb_per_s",
        "swap_out_mib_per_s": "swap_out_mb_per_s",
    }
    host = memory.host(tables["memory"], release)
    return [host.select(pl.col(old).mean().alias(new) for new, old in renamed.items())]


def devices(tables: Tables) -> list[pl.LazyFrame]:
    """The tables that together hold each of the host's commands once: one level of its devices, and NFS volumes."""
    found = [tables[name] for name in _DEVICES if name in tables][:1]
    if found and "path" in names(found[0]):
        found = [found[0].filter(pl.col("path").is_null())]
    return [*found, *(tables[name] for name in (_VOLUMES,) if name in tables)]


def _rates(levels: Iterable[pl.LazyFrame]) -> pl.LazyFrame:
    """Rates and latencies of all devices, each row with the sample of its time that it is of."""
    return pl.concat([placed(storage.latency(level), "device") for level in levels])


def _total_of(name: str) -> pl.Expr:
    """The sum over the devices; null, and not 0, in a sample in which none was measured."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)


def _storage(tables: Tables) -> list[pl.LazyFrame]:
    levels = devices(tables)
    if not levels:
        return []
    rows = _rates(levels)
    by_sample = rows.group_by(SAMPLE).agg(_total_of("iops"), _total_of("read_mbps"), _total_of("write_mbps"))
    iops = pl.col("iops")
    totals = by_sample.select(
        iops.mean().alias("host_iops"),
        mib_to_mb(pl.col("read_mbps").mean()).alias("host_read_mb_per_s"),
        mib_to_mb(pl.col("write_mbps").mean()).alias("host_write_mb_per_s"),
    )
    latencies = rows.select(weighted_mean(pl.col(name), iops).alias(name) for name in _LATENCIES)
    sides = pl.concat([workload.host_side(level) for level in levels])
    guest = sides.select(
        weighted_mean(
            pl.col("latency_mean_ms").filter(pl.col("direction") == way), iops.filter(pl.col("direction") == way)
        ).alias(f"gavg_{way}_ms")
        for way in ("read", "write")
    )
    return [totals, latencies, guest]


def _network(tables: Tables) -> list[pl.LazyFrame]:
    if "network_port" not in tables:
        return []
    ports = network.ports(tables["network_port"])
    kind = pl.col("kind")
    by_sample = (
        placed(ports, "switch", "port_id", "client")
        .group_by(SAMPLE)
        .agg(
            *(
                pl.col(name).filter(kind == "uplink").sum()
                for name in ("tx_mbits", "rx_mbits", "tx_packets", "rx_packets")
            ),
            pl.col("tx_dropped_per_s", "rx_dropped_per_s").filter(kind == "vm").sum(),
        )
    )
    renamed = {
        "tx_mbit_per_s": "tx_mbits",
        "rx_mbit_per_s": "rx_mbits",
        "tx_packets_per_s": "tx_packets",
        "rx_packets_per_s": "rx_packets",
    }
    dropped = (pl.col("tx_dropped_per_s") + pl.col("rx_dropped_per_s")).mean().alias("dropped_packets_per_s")
    return [by_sample.select(*(pl.col(old).mean().alias(new) for new, old in renamed.items()), dropped)]


def _power(tables: Tables) -> list[pl.LazyFrame]:
    """Power by the host's own sensor."""
    if "power" not in tables or "p_state" not in names(tables["power"]):
        return []
    return [power.host(tables["power"]).select(pl.col("watts").mean().alias("esxtop_watts"))]


def _series(tables: Tables) -> dict[str, pl.LazyFrame]:
    """What steadiness is looked at of: the host's throughput, or else, where there is no I/O, its CPU use."""
    series: dict[str, pl.LazyFrame] = {}
    if levels := devices(tables):
        by_sample = _rates(levels).group_by(SAMPLE).agg(_total_of("iops").alias("value"))
        series["host_iops"] = by_sample.sort(SAMPLE).select("time", "value").drop_nulls()
    if "physical_cpu" in tables:
        series["host_util_pct"] = _total(tables).select("time", pl.col("util_pct").alias("value")).sort("time")
    return series


def _steadiness(series: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Whether the first of these that is above 0 stood still over the measured span."""
    for name, values in series.items():
        if not (values["value"] > 0).any():
            continue
        found = steady.steadiness(values.lazy(), "value").collect().row(0, named=True)
        return {
            "steady_of": name,
            "steady": found["verdict"],
            "drift_pct": found["drift_pct"],
            "outlier_samples": found["outliers"],
        }
    return {}
