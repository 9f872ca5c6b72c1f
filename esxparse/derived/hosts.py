"""Derived tables of the host, its PCPUs and its NUMA nodes."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from esxparse.derived.capture import Capture, beside, derived, of
from esxparse.derived.catalogue import copied
from esxparse.metrics import host, host_cpu, memory, power
from esxparse.metrics.frames import column, names, share_pct, total, weighted_mean

_KERNEL: Final = ("system", "helper", "drivers")
"""Groups of the VMkernel; on ESXi 6.5 and later `system` also has the idle worlds."""
_BUSY: Final = 98.0
"""% in C0 from which the rest does not show how deeply a PCPU sleeps."""


@derived("pcpu", "physical_cpu")
def pcpus(one: Capture) -> pl.LazyFrame:
    """Return the use of each PCPU."""
    rows = host_cpu.pcpu(one.tables["physical_cpu"]).filter(pl.col("pcpu").is_not_null())
    return rows.with_columns(entity=pl.col("pcpu").cast(pl.String)).drop("pcpu")


@derived("pcpu", "interrupt_cookie")
def interrupts(one: Capture) -> pl.LazyFrame:
    """Return the interrupts of each PCPU."""
    rows = of(one, "interrupt_cookie", {"n": "interrupts_per_second"}, pl.col("cookie"), pl.col("cpu")).filter(
        pl.col("cpu").is_not_null()
    )
    return (
        rows.group_by("time", "cpu", maintain_order=True)
        .agg(interrupts_per_s=pl.col("n").sum(), worst_vector_per_s=pl.col("n").max())
        .with_columns(entity=pl.col("cpu").cast(pl.String))
        .drop("cpu")
    )


@derived("pcpu", "pcpu_power_state")
def power_states(one: Capture) -> pl.LazyFrame:
    """Return clock and power states of each PCPU."""
    frame = one.tables["pcpu_power_state"]
    there = names(frame)
    found = (re.fullmatch(r"pct_[cpt]_state_[cpt](\d+)", name) for name in there)
    states = [one[0] for one in sorted(filter(None, found), key=lambda one: int(one[1]))]

    slower = [name for name in states if name.startswith("pct_p_state")][1:]
    # A host may have a C3 that it never enters: sum up all states deeper than C1.
    deep = [name for name in states if re.fullmatch(r"pct_c_state_c([2-9]|\d\d)", name)]

    return frame.select(
        "time",
        entity=pl.col("pcpu").cast(pl.String),
        aperf_pct=column(there, "pct_of_aperf_per_mperf"),
        c0_pct=column(there, "pct_c_state_c0"),
        c1_pct=column(there, "pct_c_state_c1"),
        deepest_c_pct=pl.sum_horizontal(deep, ignore_nulls=False) if deep else column(there, ""),
        slowest_p_pct=column(there, slower[-1] if slower else ""),
        throttled_pct=100 - column(there, "pct_t_state_t0"),
    )


@derived("node", "numa_node")
def numa_nodes(one: Capture) -> pl.LazyFrame:
    """Return NUMA nodes."""
    return of(one, "numa_node", copied("node", "numa_node"), pl.col("instance").alias("entity"))


@derived("host", "physical_cpu")
def host_cpus(one: Capture) -> pl.LazyFrame | None:
    """Return the use of the host's CPUs."""
    rows = host.cpu(one.tables)
    return None if rows is None else rows.drop("_place")


@derived("host", "physical_cpu")
def imbalance(one: Capture) -> pl.LazyFrame:
    """Return how evenly the host's PCPUs are loaded."""
    rows = host_cpu.imbalance(host_cpu.pcpu(one.tables["physical_cpu"]))
    return rows.drop("busiest_pcpu").rename(
        {"mean_pct": "pcpu_mean_pct", "max_pct": "pcpu_max_pct", "min_pct": "pcpu_min_pct"}
    )


@derived("host", "physical_cpu")
def threads(one: Capture) -> pl.LazyFrame:
    """Return the number of cores, and their work while in use: two hyper-threads do the work of one core."""
    rows = host_cpu.pcpu(one.tables["physical_cpu"]).filter(pl.col("pcpu").is_not_null())
    core = pl.col("core_util_pct").mean() / 2
    return (
        rows.group_by("time", maintain_order=True)
        .agg(
            cores=pl.col("core_util_pct").count() / 2,
            used=pl.col("used_pct").mean(),
            busy=pl.coalesce(core, pl.col("util_pct").mean()),
        )
        .select(
            "time",
            cores=pl.when(pl.col("cores") > 0).then("cores"),
            speed_pct=share_pct(pl.col("used"), pl.col("busy")),
        )
    )


@derived("host", "memory")
def host_memory(one: Capture) -> pl.LazyFrame:
    """Its memory."""
    frame = one.tables["memory"]
    rows = memory.host(frame, one.release).drop("state_name")
    return beside(rows, of(one, "memory", copied("host", "memory")))


@derived("host", "power")
def host_power(one: Capture) -> pl.LazyFrame | None:
    """Return the host's power, by its own meter."""
    frame = one.tables["power"]
    return power.host(frame) if "p_state" in names(frame) else None


@derived("host", "pcpu_power_state")
def clock(one: Capture) -> pl.LazyFrame:
    """Return clock and power states over all PCPUs."""
    # The clock matters while a PCPU works: an idle PCPU may be slow.
    busy = pl.col("c0_pct").fill_null(100.0)
    return (
        power_states(one)
        .group_by("time", maintain_order=True)
        .agg(
            clock_pct=weighted_mean(pl.col("aperf_pct"), busy),
            c0_pct=pl.col("c0_pct").mean(),
            deepest_c_pct=pl.col("deepest_c_pct").mean(),
            shallow_c_pct=pl.col("c1_pct").mean(),
            slowest_p_pct=pl.col("slowest_p_pct").mean(),
            throttled_pct=pl.col("throttled_pct").mean(),
        )
        .with_columns(
            deep_share_pct=100 * pl.col("deepest_c_pct") / (100 - pl.when(pl.col("c0_pct") < _BUSY).then("c0_pct"))
        )
    )


@derived("host", "group_cpu")
def groups(one: Capture) -> pl.LazyFrame:
    """Return the CPU use of groups of the VMkernel and of all VMs."""
    frame = one.tables["group_cpu"]
    there = names(frame)
    mine = pl.col("group").is_in(_KERNEL)
    vms = pl.col("group_id").is_in(one.vms["group_id"].implode())
    helper = pl.col("group") == "helper"
    agents = ~pl.col("group").is_in([*_KERNEL, "idle"]) & ~vms
    return frame.group_by("time", maintain_order=True).agg(
        kernel_used_pct=total(column(there, "pct_used").filter(mine)),
        helper_used_pct=total(column(there, "pct_used").filter(helper)),
        helper_migrates_per_s=total(column(there, "migrates_per_sec").filter(helper)),
        agents_run_pct=column(there, "pct_run").filter(agents).max(),
        vms_run_pct=total(column(there, "pct_run").filter(vms)),
        vms_used_pct=total(column(there, "pct_used").filter(vms)),
        vms_ready_pct=total(column(there, "pct_ready").filter(vms)),
        vms_costop_pct=total(column(there, "pct_costop").filter(vms)),
    )


@derived("host", "numa_node")
def node_count(one: Capture) -> pl.LazyFrame:
    """Return the number of NUMA nodes."""
    return one.tables["numa_node"].group_by("time", maintain_order=True).agg(nodes=pl.len().cast(pl.Float64))


@derived("host", "physical_cpu", "numa_node")
def fullest_node(one: Capture) -> pl.LazyFrame:
    """Return the use of the busiest NUMA node; PCPUs are numbered node by node."""
    nodes = one.tables["numa_node"].select(_nodes=pl.col("instance").n_unique())
    rows = host_cpu.pcpu(one.tables["physical_cpu"]).filter(pl.col("pcpu").is_not_null()).join(nodes, how="cross")
    node = pl.col("pcpu") * pl.col("_nodes") // (pl.col("pcpu").max() + 1)
    by_node = rows.group_by("time", node.alias("_node"), maintain_order=True).agg(pl.col("util_pct").mean())
    return by_node.group_by("time", maintain_order=True).agg(fullest_node_pct=pl.col("util_pct").max())


@derived("host", "physical_cpu_load")
def load(one: Capture) -> pl.LazyFrame:
    """Return the host's load average."""
    return of(one, "physical_cpu_load", copied("host", "physical_cpu_load"))
