"""The row of a run: the part that comes from its esxtop capture.

Each function takes the tables of a capture cut to the measured span and returns columns of `runs`; columns without
data in the capture are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import polars as pl

from esxparse.derived.capture import VIEWS, Capture
from esxparse.derived.tables import columns, views_of
from esxparse.metrics import host, memory, network, over_time, steady, workload
from esxparse.metrics.frames import SAMPLE, first_true, placed, share_pct, weighted_mean
from esxparse.metrics.scheduling import FROM_GROUP, FROM_WORLDS
from esxparse.studies.columns import MEANS

Tables = Mapping[str, pl.LazyFrame]

_MEANS: Final = {**MEANS, "host": {**MEANS["host"], "esxtop_watts": "watts"}}
_LATENCIES: Final = ("gavg_ms", "davg_ms", "kavg_ms", "qavg_ms")


@cache
def needed() -> frozenset[str]:
    """Return the tables whose numbers are needed.

    Computed on first use: a batch forks after its imports, and polars does not survive a fork once it has run.
    """
    reads = (
        view.reads for view in VIEWS if view.table in _MEANS and set(_MEANS[view.table].values()) & set(columns(view))
    )
    others = {"group_cpu", "group_memory", "network_port", "virtual_disk"}
    return frozenset({*others, *host.DISKS, host.VOLUMES}).union(*reads)


def metrics(tables: Tables, release: str | None) -> dict[str, Any]:
    """Return all columns that the tables of a capture allow, with all queries at once."""
    # Shared inputs of several queries are computed once: a study has hundreds of runs.
    disks, use = (None if found is None else found.collect().lazy() for found in (host.disks(tables), host.cpu(tables)))
    by_sample = None if disks is None else host.io(disks).collect().lazy()
    capture = Capture(tables, release)
    rows = [
        *([] if use is None else [host_use(use)]),
        *(_vms(capture) if "vcpu" in tables else []),
        *_storage(tables, disks, by_sample),
        *_network(tables),
        *_contexts(tables),
        *_means(capture),
    ]
    series = _series(by_sample, use)
    frames = pl.collect_all([*rows, *series.values()])
    found: dict[str, Any] = {}
    for frame in frames[: len(rows)]:
        found |= frame.row(0, named=True)
    return found | _steadiness(dict(zip(series, frames[len(rows) :], strict=True)))


def host_use(use: pl.LazyFrame) -> pl.LazyFrame:
    """Return used and util of the whole host, from `host.cpu`: means over time of the means over PCPUs.

    >>> table = pl.LazyFrame({"time": [0, 1], "pcpu": [None, None], "pct_processor_time": [40.0, 60.0]})
    >>> host_use(host.cpu({"physical_cpu": table})).collect()["host_used_pct"].item()
    50.0
    """
    util = pl.col("util_pct")
    return over_time.with_covered(use).select(
        pl.len().cast(pl.Int64).alias("samples"),
        over_time.mean(pl.col("used_pct")).alias("host_used_pct"),
        over_time.mean(util).alias("host_util_pct"),
        over_time.mean(pl.col("core_util_pct")).alias("host_core_util_pct"),
        over_time.quantile(util, 0.95).alias("host_util_p95_pct"),
        util.max().alias("host_util_max_pct"),
    )


def _means(capture: Capture) -> list[pl.LazyFrame]:
    """Return columns that are the mean over time of a column of a derived table, weighted by the vCPUs of VMs."""
    queries = []
    for table, wanted in _MEANS.items():
        if table == "vm" and "vcpu" not in capture.tables:
            # The number of vCPUs of a group would be a guess.
            continue
        for view in views_of(capture, table):
            mine = {name: of for name, of in wanted.items() if of in columns(view)}
            rows = view.make(capture) if mine else None
            if rows is None:
                continue
            timed = over_time.with_covered(rows)
            means = [over_time.mean(pl.col(of)).alias(name) for name, of in mine.items()]
            if table == "vm":
                of_waits = "group_waits" in columns(view)
                if not of_waits:
                    timed = timed.join(capture.entities.select("entity", "vcpus"), on="entity")
                waits = {"least": pl.col("group_waits").min(), "most": pl.col("group_waits").max()} if of_waits else {}
                each = timed.group_by("entity").agg(*means, pl.col("vcpus").max(), **waits)
                queries.append(_waits_of_vms(each, mine) if of_waits else each.select(_over_vms(mine)))
            else:
                queries.append(timed.select(means))
    return queries


def _over_vms(names: Iterable[str]) -> list[pl.Expr]:
    """Return means over VMs weighted by their vCPUs, so that a VM of eight counts eight times."""
    return [weighted_mean(pl.col(name), pl.col("vcpus")).alias(name) for name in names]


def _waits_of_vms(each: pl.LazyFrame, names: Iterable[str]) -> pl.LazyFrame:
    """Return means over VMs, the worst VM, and the source of the waits."""
    # Without %MLMTD the derived column counts all ready time, which a study may not call contention.
    known = pl.col("max_limited_pct").is_not_null()
    each = each.with_columns(pl.when(known).then("contention_pct"))
    worst = [pl.col(f"{name}_pct").max().alias(f"worst_vm_{name}_pct") for name in ("ready", "costop")]
    found = [
        first_true(((pl.col("least") == 0).any(), FROM_WORLDS)),
        first_true(((pl.col("most") == 1).any(), FROM_GROUP)),
    ]
    source = pl.concat_str(found, separator=" and ", ignore_nulls=True).replace("", None).alias("ready_from")
    return each.select(*_over_vms(names), *worst, source)


def _vms(capture: Capture) -> list[pl.LazyFrame]:
    """Return the number of VMs, and their share of local memory."""
    vms = capture.vms.lazy()
    queries = [
        vms.select(
            pl.len().cast(pl.Int64).alias("vms_running"),
            pl.col("vcpus").sum().cast(pl.Int64).alias("vcpus_running"),
        )
    ]
    if "group_memory" in capture.tables:
        seconds = over_time.seconds()
        local, remote = ((pl.col(f"numa_{where}_mib") * seconds).sum() for where in ("local", "remote"))
        share = share_pct(local, local + remote).alias("numa_local_pct")
        queries.append(memory.vms(capture.tables["group_memory"], vms).pipe(over_time.with_covered).select(share))
    return queries


def _storage(tables: Tables, rows: pl.LazyFrame | None, by_sample: pl.LazyFrame | None) -> list[pl.LazyFrame]:
    """Return totals of the devices that serve I/O, the devices left out, and latencies weighted by good I/Os."""
    if rows is None or by_sample is None:
        return []
    renamed = {
        "host_iops": "iops",
        "host_read_mb_per_s": "read_mb_per_s",
        "host_write_mb_per_s": "write_mb_per_s",
        "left_out_iops": "left_out_iops",
    }
    totals = over_time.with_covered(by_sample).select(
        over_time.mean(pl.col(old)).alias(new) for new, old in renamed.items()
    )
    serving = over_time.with_covered(rows.filter(pl.col("left_out").is_null()))
    done = pl.col("good_iops") * over_time.seconds()
    latencies = serving.select(weighted_mean(pl.col(name), done).alias(name) for name in _LATENCIES)
    listed = pl.concat_str("device", pl.lit(" ("), "left_out", pl.lit(")")).implode().list.join(", ").replace("", None)
    others = host.left_out(rows).select(listed.alias("left_out_devices"))
    sides = over_time.with_covered(pl.concat([workload.host_side(level) for level in host.disk_tables(tables)]))
    way = pl.col("direction")
    guest = sides.join(serving.select(name="device").unique(), on="name", how="semi").select(
        weighted_mean(pl.col("latency_mean_ms").filter(way == one), done.filter(way == one)).alias(f"gavg_{one}_ms")
        for one in ("read", "write")
    )
    return [totals, latencies, others, guest]


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
    dropped = pl.col("tx_dropped_per_s") + pl.col("rx_dropped_per_s")
    means = {**{new: pl.col(old) for new, old in renamed.items()}, "dropped_packets_per_s": dropped}
    return [over_time.with_covered(by_sample).select(over_time.mean(one).alias(name) for name, one in means.items())]


def _contexts(tables: Tables) -> list[pl.LazyFrame]:
    """Return the worlds of the host per VMDK that serves I/O; an I/O filter adds at least one context to each.

    Source: VMware VROOM! blog, "Scaling Performance for VAIO in vSphere 6.0 U1", best practices.
    """
    groups, disks = tables.get("group_cpu"), tables.get("virtual_disk")
    if groups is None or disks is None or "members" not in groups.collect_schema().names():
        return []
    worlds = placed(groups.filter(pl.col("group") != "idle"), "group_id").group_by(SAMPLE)
    each = worlds.agg(pl.col("members").sum()).select(pl.col("members").mean())
    rate = pl.col("iops").sum()
    busy = workload.host_side(disks).group_by("name").agg(rate).filter(pl.col("iops") > 0).select(vmdks=pl.len())
    per_disk = pl.when(pl.col("vmdks") > 0).then(pl.col("members") / pl.col("vmdks"))
    return [pl.concat([each, busy], how="horizontal").select(per_disk.alias("worlds_per_vmdk"))]


def _series(by_sample: pl.LazyFrame | None, use: pl.LazyFrame | None) -> dict[str, pl.LazyFrame]:
    """Return the metric to check for steadiness: the host's throughput or, without I/O, its CPU use."""
    series: dict[str, pl.LazyFrame] = {}
    if by_sample is not None:
        timed = over_time.with_covered(by_sample)
        series["host_iops"] = timed.select("time", over_time.COVERED, value="iops").drop_nulls("value")
    if use is not None:
        series["host_util_pct"] = over_time.with_covered(use).select("time", over_time.COVERED, value="util_pct")
    return series


def _steadiness(series: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return whether the first of these series that is above 0 was steady over the measured span."""
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
