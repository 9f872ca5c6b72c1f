"""Metrics: pure functions from the tables of a recording to the numbers people ask for.

Every function takes polars LazyFrames and gives a LazyFrame; nothing is read or computed until the caller collects.
A counter that a capture lacks is an absent column there and a column of nulls here.

inventory        which VMs there are, how many vCPUs each has, what kind of world a world is
scheduling       ready, co-stop and the rest of a VM per vCPU; milliseconds of vCenter charts against percent
host             the whole host: IOPS, throughput, CPU use, nominal clock
host_cpu         physical CPUs: used against util, and how evenly they are loaded
ranking          the top n of anything by mean, 95th percentile or maximum
storage          device latency split into its parts, weighted by good I/Os; devices that only fail
network          switch ports: traffic and drops, weighted by packets
memory           the host's memory and that of each VM
power            what the host draws, as esxtop says
energy           joules and kWh of power readings
power_join       esxtop and power readings on one time line
power_intervals  power and load averaged over the same intervals, for lines to be fitted
workload         what fio, Iometer and DiskSpd reported, in one vocabulary; esxtop's view of the same I/O
workers          the median of Iometer's workers
io_profile       sizes, reads, sequential share and alignment of a virtual disk, from vscsiStats
alignment        where NFS and iSCSI requests begin, and how long they take, from packet traces
hardware_events  rates of perf and vmkperf events, per instruction, one recording against another

Of studies, over the rows of many runs:

cpu_cost         MHz per MBps and per I/O, cycles, percent of a core per 1,000 IOPS; used and util apart
ratio            ratios to a baseline with their interval and verdict; virtual to native; geometric means
interval         confidence intervals of ratios: Fieller, bootstrap
scaling          efficiency, where a sweep leaves linear, peak load under rules, generation ratio
scalability_law  Gunther's law fitted to a sweep
consolidation    the largest load at a tolerance; dense mode over time
steady           warm-up, drift of the measured span, outliers
storage_laws     GAVG = DAVG + KAVG, Little's law, bounds and peaks, normalisation
line_rate        throughput against what a port can carry; host CPU by number of NICs
power_cost       energy and cost per year, policies beside their ready time
replication      initial sync, change per window, fit with the RPO
remote           volume and rate of named activities
mmu              page walks, TLB misses per mode, advice with its doubt
numa             fit of a VM to a node, vNUMA
units            conversions by name: MB and MiB, Mbit and MB are never mixed

The submodules load when first touched: `import esxparse.metrics` alone costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from . import (
        alignment,
        consolidation,
        cpu_cost,
        energy,
        hardware_events,
        host,
        host_cpu,
        interval,
        inventory,
        io_profile,
        line_rate,
        memory,
        mmu,
        network,
        numa,
        power,
        power_cost,
        power_intervals,
        power_join,
        ranking,
        ratio,
        remote,
        replication,
        scalability_law,
        scaling,
        scheduling,
        steady,
        storage,
        storage_laws,
        units,
        workers,
        workload,
    )

__all__ = [
    "alignment",
    "consolidation",
    "cpu_cost",
    "energy",
    "hardware_events",
    "host",
    "host_cpu",
    "interval",
    "inventory",
    "io_profile",
    "line_rate",
    "memory",
    "mmu",
    "network",
    "numa",
    "power",
    "power_cost",
    "power_intervals",
    "power_join",
    "ranking",
    "ratio",
    "remote",
    "replication",
    "scalability_law",
    "scaling",
    "scheduling",
    "steady",
    "storage",
    "storage_laws",
    "units",
    "workers",
    "workload",
]


def __getattr__(name: str) -> ModuleType:
    """Import a submodule the first time it is asked for."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """Name the submodules, loaded or not."""
    return sorted({*globals(), *__all__})
