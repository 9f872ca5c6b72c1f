"""Captures of the fault library, read as an analyst would: the standard profile's thresholds, and single counters."""

from __future__ import annotations

import os
import tempfile
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.counters.naming import column_name, table_name
from esxparse.derived.tables import sample_times
from esxparse.diagnosis.diagnose import series_of
from esxparse.diagnosis.rules import load
from esxparse.diagnosis.symptoms import values
from esxparse.metrics import inventory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from esxparse_simulator.experiment import Experiment

SAMPLES, INTERVAL = 25, 25.0
QUOTED = """
    cpu.ready cpu.costop cpu.max_limited cpu.swap_wait memory.balloon memory.swapped memory.swap_in memory.swap_out
    memory.compressed memory.zip memory.unzip memory.numa_local disk.gavg disk.davg disk.kavg disk.queued disk.aborts
    disk.resets network.drop_tx network.drop_rx
"""
STANDARD = {key: load("standard")[key] for key in QUOTED.split()}
"""The limits that everybody quotes."""
HEALTHY = tuple(name for name in simulate.scenario_names() if name.startswith("healthy-"))
FAULTS = tuple(name for name in simulate.scenario_names() if name not in {"busy-host", *HEALTHY})


@dataclass(frozen=True)
class Seen:
    """One capture: what the reader made of it, and its host as the scenario has it."""

    recording: ex.Recording
    scenario: simulate.Scenario
    columns: int


@cache
def said(name: str) -> Mapping[str, Any]:
    """What the file of a scenario says itself, without its base."""
    for folder in ("faults", "scenarios"):
        file = files("esxparse_simulator") / folder / f"{name}.toml"
        if file.is_file():
            return tomllib.loads(file.read_text(encoding="utf-8"))
    raise LookupError(name)


def truths(name: str) -> list[Any]:
    """The truths of a fault."""
    return list(said(name)["truth"])


@cache
def experiment(name: str, severity: float = 1.0, *, whole: bool = False) -> Experiment:
    """A scenario as a short capture: all of its ten minutes, but a sample only every 25 seconds."""
    if whole:
        return simulate.load_experiment(name, severity=severity)
    return simulate.load_experiment(name, severity=severity, samples=SAMPLES, interval=INTERVAL)


def seen(name: str, severity: float = 1.0, release: str | None = None, *, whole: bool = False) -> Seen:
    """That capture written as its file says (or with all counters of another `release`), and read back."""
    return _seen(name, severity, release, whole)


@cache
def _seen(name: str, severity: float, release: str | None, whole: bool) -> Seen:
    (run,) = experiment(name, severity, whole=whole).runs
    (spec,) = said(name)["file"]
    options = {key: value for key, value in spec.items() if key not in {"tool", "name"}}
    if release:
        options = {"release": release}
    assert run.scenario
    # Mutants are tried one after another on the same hosts, whose captures are kept for the next.
    kept = os.environ.get("SIMULATED")
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (f"{name} {severity} {release} {whole} " if kept else "") / spec["name"]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            simulate.write_esxtop(path, simulate.capture(run.scenario), **options)
        with path.open("rb") as lines:
            columns = lines.readline().count(b'","') + 1
        read = ex.open(path)
        tables = {table: frame.collect().lazy() for table, frame in read.tables.items()}
    return Seen(replace(read, tables=tables), run.scenario, columns)


@cache
def begin(name: str) -> Any:
    """When the capture begins."""
    return experiment(name).runs[0].start.replace(tzinfo=None)


@cache
def judged(name: str, severity: float = 1.0, release: str | None = None, *, whole: bool = False) -> pl.DataFrame:
    """Every value that the standard profile judges: id, entity (`vm x`), second, value, bad (0 ok, 1 warn, 2 critical).

    Values of samples with less activity than a threshold's floor are left out, as are limits without a counter.
    """
    recording = seen(name, severity, release, whole=whole).recording
    series, times = series_of(recording), sample_times(recording)
    seconds = [(time.replace(tzinfo=None) - begin(name)).total_seconds() for time in times]
    rows = [
        (key, f"{STANDARD[key].kind} {entity}", second, value, _RANK[STANDARD[key].judge(value)])
        for key, matrix in values(STANDARD.values(), series).items()
        for entity, column in zip(series.panels[STANDARD[key].kind].names, matrix.T.tolist(), strict=True)
        for second, value in zip(seconds, column, strict=True)
        if not isnan(value)
    ]
    schema = {"id": pl.String, "entity": pl.String, "second": pl.Float64, "value": pl.Float64, "bad": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _second(name: str) -> pl.Expr:
    passed = pl.col("time").dt.replace_time_zone(None) - pl.lit(begin(name))
    return passed.dt.total_seconds().cast(pl.Float64).alias("second")


_RANK = {"ok": 0, "warning": 1, "critical": 2}


def shown(name: str, severity: float, where: str, counter: str, release: str | None = None) -> dict[float, float]:
    r"""A counter (`object\\counter`) of the thing `where` names (`vm x`, `device y`, `host`), by second.

    Of several rows (the worlds of a device, the PCPUs or the VMs of a host) it is the sum. Empty if the capture has
    no such thing.
    """
    of, _, column = counter.partition("\\")
    table, recording = table_name(of), seen(name, severity, release).recording
    rows = _rows(table, where, recording)
    if rows is None:
        return {}
    value = pl.col(column_name(column)).cast(pl.Float64).sum().alias("value")
    return dict(sorted(recording[table].filter(rows).group_by(_second(name)).agg(value).collect().rows()))


def _rows(table: str, where: str, recording: ex.Recording) -> pl.Expr | None:
    """Which rows of a table tell of a thing."""
    kind, _, name = where.partition(" ")
    vms = inventory.vms(recording["vcpu"]).select("group_id", "vm").collect()
    if kind == "host":
        of_vms = pl.col("group_id").is_in(vms["group_id"].to_list())
        return {
            "physical_cpu": pl.col("pcpu").is_null(),
            "power": pl.col("p_state").is_null(),
            "group_cpu": of_vms,
            "group_memory": of_vms,
        }.get(table, pl.lit(value=True))
    if kind == "vm":
        if name not in vms["vm"]:
            return None
        if table == "physical_disk_per_device_per_world":
            return pl.col("world_id") == _leader(name, recording)
        return {
            "virtual_disk": (pl.col("vm") == name) & pl.col("disk").is_null(),
            "network_port": (pl.col("client") == name) & pl.col("world_id").is_not_null(),
        }.get(table, pl.col("group") == name)
    return {
        "pcpu": pl.col("cpu" if table == "interrupt_cookie" else "pcpu") == (int(name) if kind == "pcpu" else -1),
        "vsan": pl.col("instance").str.contains("Client"),
        "port": pl.col("client") == name,
    }.get(kind, pl.col("instance") == name)


def _leader(vm: str, recording: ex.Recording) -> int:
    """The world under whose id disks list a VM: its PVSCSI world names it."""
    worlds = recording["vcpu"].filter(pl.col("group") == vm).select(pl.col("world").str.extract(r"^PVSCSI-(\d+):"))
    return int(worlds.drop_nulls().collect().item(0, 0))


def mean(values: Mapping[float, float], start: float, end: float) -> float:
    """The mean over a spell, `start` <= second < `end`."""
    inside = [value for second, value in values.items() if start <= second < end]
    return sum(inside) / len(inside)
