"""Data of the report on counters of a vCenter: waits and use of VMs, hosts, latencies, the inventory, and history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Unpack

import polars as pl

from esxparse.diagnosis import rules
from esxparse.errors import EsxparseError
from esxparse.formats.opening import Options
from esxparse.formats.vcenter.collection import NOT_COLLECTED
from esxparse.recording import Recording, counted, first_few
from esxparse.reports import recordings as files
from esxparse.reports.blocks import NOTHING, Block, note, number

FORMATS: Final = ("vcenter_api",)
_PARTS: Final = 5
_VM, _HOST = "VirtualMachine-", "HostSystem-"
_WAITS: Final = {"contention_pct": "ready", "costop_pct": "costop", "swap_wait_pct": "swapwait"}
"""Columns of the derived table `vm`, and the counter of each. Ready of the API includes time held back by a limit."""
_MINUTES, _SECONDS = "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"
_LATENCIES: Final = {"read": "totalReadLatency.average", "write": "totalWriteLatency.average"}


@dataclass(frozen=True)
class Gathered:
    """A recording, and its tables for the report."""

    recording: Recording
    samples: pl.DataFrame
    """Table `samples` with `name`; of each object the shortest interval only."""
    waits: pl.DataFrame
    """One row per VM and time: `time`, `instance` (the VM), `vcpus`, and waits in % of the time of one vCPU."""


def gather(path: str | Path, **options: Unpack[Options]) -> Gathered:
    """Open what `esxparse collect vcenter` or govc wrote.

    Raises EsxparseError: It cannot be read, or has no counters.
    """
    (rec,) = files.opened_all([path], FORMATS, options)
    if "samples" not in rec:
        raise EsxparseError(f"{rec.source} has no counters: a report needs some")
    samples = _shortest(rec["samples"].collect())
    waits = _shortest(rec["cpu_waits"].collect()) if "cpu_waits" in rec else pl.DataFrame(schema=_waits_schema())
    return Gathered(rec, samples, _of_vms(waits))


def _shortest(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the shortest interval of each object, and `name`: the object's name or identifier.

    Objects that share a name have their identifier behind it.
    """
    shortest = pl.col("interval_s").min().over("entity", "entity_id")
    several = pl.col("entity_id").drop_nulls().n_unique().over("entity") > 1
    whole = pl.format("{} ({})", "entity", pl.col("entity_id").str.replace(r"^[A-Za-z]+-", ""))
    own = pl.when(several & pl.col("entity").is_not_null()).then(whole)
    measured = rows.filter(pl.col("interval_s").eq_missing(shortest))
    return measured.with_columns(name=pl.coalesce(own, "entity", "entity_id", pl.lit("an object without a name")))


def _waits_schema() -> dict[str, Any]:
    texts = dict.fromkeys(("name", "entity", "entity_id", "instance", "counter"), pl.String)
    return {"time": pl.Datetime("us", "UTC"), **texts, "vcpus": pl.Int64, "pct": pl.Float64, "pct_per_vcpu": pl.Float64}


def _of_vms(waits: pl.DataFrame) -> pl.DataFrame:
    """Return waits of VMs, one row per VM and time; with an unknown number of vCPUs, % of one CPU."""
    of_vm = pl.col("entity_id").fill_null(_VM).str.starts_with(_VM) & (pl.col("instance") == "")
    value = pl.coalesce("pct_per_vcpu", "pct")
    columns = {
        column: value.filter(pl.col("counter") == f"cpu.{name}.summation").first() for column, name in _WAITS.items()
    }
    return (
        waits.filter(of_vm)
        .group_by("time", pl.col("name").alias("instance"), maintain_order=True)
        .agg(pl.col("vcpus").first(), **columns)
        .with_columns(max_limited_pct=pl.lit(None, dtype=pl.Float64), group_waits=pl.lit(0.0))
        .sort("time", "instance")
    )


def _whole(found: Gathered, counter: str, prefix: str) -> pl.DataFrame:
    """Return the values of a counter for whole objects of a kind."""
    kind = pl.col("entity_id").fill_null(prefix).str.starts_with(prefix)
    return found.samples.filter(kind, pl.col("counter") == counter, pl.col("instance") == "")


def _means(found: Gathered, prefix: str, columns: dict[str, str]) -> pl.DataFrame:
    """Return one row per object with mean and highest value of counters: `NAME_mean`, `NAME_max`."""
    parts = [
        _whole(found, counter, prefix)
        .group_by("name")
        .agg(pl.col("value").mean().alias(f"{column}_mean"), pl.col("value").max().alias(f"{column}_max"))
        for column, counter in columns.items()
    ]
    names = pl.concat([part.select("name") for part in parts]).unique().sort("name")
    for part in parts:
        names = names.join(part, on="name", how="left", maintain_order="left")
    return names


def vms(found: Gathered) -> pl.DataFrame:
    """Return one row per VM: vCPUs, waits and CPU use; those with the highest ready first."""
    waits = found.waits.group_by(pl.col("instance").alias("name")).agg(
        pl.col("vcpus").max(),
        ready_mean=pl.col("contention_pct").mean(),
        ready_max=pl.col("contention_pct").max(),
        costop_max=pl.col("costop_pct").max(),
    )
    use = _means(found, _VM, {"use": "cpu.usage.average"})
    rows = waits.join(use, on="name", how="full", coalesce=True)
    return rows.sort(["ready_max", "name"], descending=[True, False], nulls_last=True)


def answer(rows: pl.DataFrame) -> str:
    """Return how many VMs wait longer than the limit of the rule `cpu.ready`, and which waits longest.

    `rows`: those of `vms`. VMs whose vCPUs are not known are not judged.
    """
    limit = rules.load()["cpu.ready"].warn
    judged = rows.filter(pl.col("vcpus").is_not_null()).drop_nulls("ready_mean").sort("ready_mean", descending=True)
    left = rows.height - judged.height
    apart = f" {counted(left, 'VM')} not judged: no ready time, or vCPUs not known." if left else ""
    if judged.is_empty():
        return f"Whether VMs waited for a CPU is not known.{apart}"
    longest = judged.row(0, named=True)
    return (
        f"{(judged['ready_mean'] > limit).sum():,} of {counted(judged.height, 'VM')} waited more than {limit:g} % of a "
        f"vCPU's time on average; {longest['name']} waited longest, {number(longest['ready_mean'])} %.{apart}"
    )


def hosts(found: Gathered) -> pl.DataFrame:
    """Return one row per host: use of CPU and memory, power; the busiest first."""
    counters = {"use": "cpu.usage.average", "memory": "mem.usage.average", "watts": "power.power.average"}
    rows = _means(found, _HOST, counters)
    hosts_only = found.samples.filter(pl.col("entity_id").fill_null("").str.starts_with(_HOST))["name"].unique()
    rows = rows.filter(pl.col("name").is_in(hosts_only.implode()))
    return rows.sort(["use_mean", "name"], descending=[True, False], nulls_last=True)


def latencies(found: Gathered) -> pl.DataFrame:
    """Return one row per object and disk or datastore: latency of reads and writes in ms; the highest first."""
    group, counter = pl.col("counter").str.split(".").list.first(), pl.col("counter").str.splitn(".", 2).struct[1]
    rows = found.samples.filter(counter.is_in(list(_LATENCIES.values()))).with_columns(group=group, kind=counter)
    measures = {
        f"{name}_{how}": getattr(pl.col("value").filter(pl.col("kind") == kind), how)()
        for name, kind in _LATENCIES.items()
        for how in ("mean", "max")
    }
    each = rows.group_by("name", "group", "instance", maintain_order=True).agg(**measures)
    if "inventory_datastore" in found.recording:
        # Counters of hosts have the identifier of a datastore.
        names = found.recording["inventory_datastore"].select("instance", "datastore").drop_nulls().unique("instance")
        known = dict(names.collect().rows())
        each = each.with_columns(pl.col("instance").replace(known))
    highest = pl.max_horizontal("read_max", "write_max")
    return each.filter(highest > 0).sort([highest, "name", "instance"], descending=[True, False, False])


def limits(found: Gathered) -> pl.DataFrame:
    """Return the VMs with a snapshot or a limit, from the inventory; without one, no rows."""
    columns = ("vm", "snapshots", "oldest_snapshot", "cpu_limit_mhz", "memory_limit_mib", "memory_mib")
    if "inventory_vm" not in found.recording:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    marked = (
        (pl.col("snapshots") > 0) | pl.col("cpu_limit_mhz").is_not_null() | pl.col("memory_limit_mib").is_not_null()
    )
    oldest = pl.col("oldest_snapshot").dt.strftime(_MINUTES)
    rows = found.recording["inventory_vm"].filter(marked).with_columns(oldest).select(columns).collect()
    return rows.sort("snapshots", "vm", descending=[True, False], nulls_last=True)


def tasks(found: Gathered) -> pl.DataFrame:
    """Return the tasks with their duration in seconds, the latest first; no rows without tasks."""
    columns = ("time", "task", "entity", "user", "seconds", "state")
    if "tasks" not in found.recording:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    took = (pl.col("completed") - pl.col("started")).dt.total_microseconds() / 1e6
    rows = found.recording["tasks"].sort("time", descending=True).with_columns(pl.col("time").dt.strftime(_SECONDS))
    return rows.with_columns(seconds=took).select(columns).collect()


def events(found: Gathered) -> pl.DataFrame:
    """Return the events by type, the most frequent first; no rows without events."""
    if "events" not in found.recording:
        return pl.DataFrame(schema={"event": pl.String, "count": pl.Int64})
    kinds = (
        found.recording["events"].group_by(pl.col("event").fill_null("of no type")).agg(count=pl.len().cast(pl.Int64))
    )
    return kinds.collect().sort(["count", "event"], descending=[True, False])


def kinds(found: Gathered, names: Sequence[tuple[str, str]]) -> str:
    """Return how many objects of each kind have counters, in words; `names`: kind of the API and its noun."""
    ids = found.samples["entity_id"].drop_nulls().unique()
    parts = [(ids.str.starts_with(f"{kind}-").sum(), noun) for kind, noun in names]
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in parts if count)


def incomplete(found: Gathered) -> Block:
    """Return a warning about parts of a collection that are missing; nothing if it is complete."""
    parts = [one.message for one in found.recording.notes if one.message.startswith(NOT_COLLECTED)]
    missing = [one.removeprefix(NOT_COLLECTED) for one in parts]
    return note(f"Not collected: {first_few(missing, _PARTS, separator='; ')}.", "warning") if missing else NOTHING
