"""What VMs used in each sample of a capture: vCPUs at once, and memory."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.derived.of_recording import lacking, table, tables
from esxparse.derived.tables import capture_of
from esxparse.metrics.frames import SAMPLE, column, names, placed
from esxparse.metrics.inventory import vcpu_worlds
from esxparse.recording import Recording
from esxparse.schema import TIME, schema

CPU: Final = {"time": TIME, **schema("vm str, vcpus i64, running wanted costop_pct f64")}
"""Columns of `cpu`."""
MEMORY: Final = ("size_mib", "granted_mib", "active_mib", "swapped_mib", "balloon_mib")
"""Columns of `memory` beside `time` and `vm`: those of the derived table of VMs."""


def cpu(rec: Recording) -> pl.DataFrame:
    """Give the vCPUs that each VM used at once, by the worlds of its vCPUs; no row without such worlds.

    Returns one row per sample and VM:

    time, vm
    vcpus       i64  vCPUs it was given
    running     f64  vCPUs that ran at once, mean over the sample: sum of %RUN / 100
    wanted      f64  vCPUs it would have used on an idle host: sum of %RUN + %RDY + %CSTP, / 100
    costop_pct  f64  %CSTP per vCPU

    A number is null if any vCPU of the VM lacks a counter for it in the sample.
    Source: VMware Aria Operations: the CPU demand of a VM is its use without contention (ready time, co-stop).
    """
    if "vcpu" not in rec.tables:
        return pl.DataFrame(schema=CPU)
    capture = capture_of(rec)
    worlds = capture.tables["vcpu"]
    there = names(worlds)
    run, ready, costop = (column(there, name) for name in ("pct_run", "pct_ready", "pct_costop"))
    parts = {"running": run, "wanted": run + ready + costop, "costop_pct": costop}
    sums = (
        placed(vcpu_worlds(worlds, "vcpu"), "group_id", "world_id")
        .group_by(*SAMPLE, "group_id")
        # ESX 3.5 and 4 have two worlds of a vCPU, whose times add up.
        .agg(pl.col("vcpu").n_unique(), *(_sum(part).alias(name) for name, part in parts.items()))
        .join(capture.entities, on="group_id")
    )
    known = pl.when(pl.col("vcpu") == pl.col("vcpus"))
    return (
        sums.select(
            "time",
            "vcpus",
            vm="entity",
            running=known.then(pl.col("running") / 100),
            wanted=known.then(pl.col("wanted") / 100),
            costop_pct=known.then(pl.col("costop_pct") / pl.col("vcpus")),
        )
        .select(*CPU)
        .collect()
    )


def _sum(part: pl.Expr) -> pl.Expr:
    return pl.when(part.null_count() == 0).then(part.sum())


def memory(rec: Recording) -> pl.DataFrame:
    """Give the memory of each VM: `time`, `vm` and the columns of `MEMORY`, MiB, null without the counter."""
    there = "vm" in tables(rec)
    wanted = [name for name in MEMORY if there and name not in lacking(rec, "vm")]
    empty = pl.DataFrame(schema={"time": TIME, **schema(f"vm str, {' '.join(MEMORY)} f64")})
    if not wanted:
        return empty
    rows = table(rec, "vm", wanted).rename({"instance": "vm"}).select("time", "vm", *wanted).collect()
    return pl.concat([empty, rows], how="diagonal")
