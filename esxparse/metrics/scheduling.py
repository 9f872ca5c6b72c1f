"""The CPU scheduler's effect on each VM: ready, limited and co-stopped time, in percent and milliseconds.

A world's percentages are of one physical core. A group's are sums over its worlds, including helpers (vmx, mks, disk,
network). On an ESXi 6.5 host a VM with a single vCPU showed 1.07 % ready, 0.75 of it from the vmx. So the waits of
vCPUs come from their own worlds if a capture has them. `%MLMTD` (kept off the CPU by a configured limit) is inside
`%RDY`, so the cost of other VMs is `%RDY - %MLMTD`, here *contention*.

Source: "Interpreting esxtop Statistics" and the vSphere Monitoring and Performance guide, CPU panel: "For a world, the
percentages are a percentage of one physical CPU core", "%MLMTD time is included in %RDY".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, overload

import polars as pl

from esxparse import toml
from esxparse.errors import EsxparseError

from .frames import SAMPLE, column, finite, names, placed, renamed, total
from .inventory import vcpu_worlds

STATES: Final[dict[str, str]] = toml.beside(__file__, "counters.toml")["scheduling"]
_ORDER = (*list(STATES)[:2], "contention_pct", *list(STATES)[2:])

_WAITS: Final = ("ready_pct", "max_limited_pct", "costop_pct", "swap_wait_pct", "overlap_pct")
"""States taken from the worlds of vCPUs; a VM's use is the sum over all its worlds."""
FROM_WORLDS: Final = "vCPU worlds"
FROM_GROUP: Final = "group"


def contention(ready: str = "ready_pct", limited: str = "max_limited_pct") -> pl.Expr:
    """Return ready time without the part caused by a limit: `max(ready_pct - max_limited_pct, 0)`.

    The arguments are the names of the two columns. Both are rounded to two decimals in the capture, so the difference
    can be slightly below 0; the result is at least 0. Null if either is null: without `%MLMTD`, the part of ready time
    due to a limit is unknown.
    """
    return (pl.col(ready) - pl.col(limited)).clip(lower_bound=0.0).alias("contention_pct")


def per_vcpu(group_cpu: pl.LazyFrame, vms: pl.LazyFrame, vcpu: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """Return the scheduler's effect on each VM per vCPU.

    Waits are means over the worlds of its vCPUs, if `vcpu` has a number for every vCPU of the VM in the sample.
    Otherwise they are the group's value divided by the number of vCPUs, which includes the waits of helper worlds.
    `ready_from` shows the source. A VM's use is always its group's, including helper worlds, divided by its vCPUs.

    Needs `time`, `group_id` and any of `pct_ready`, `pct_max_limited`, `pct_costop`, `pct_swap_wait`, `pct_used`,
    `pct_run`, `pct_system`, `pct_overlap`, `pct_cpu_latency`, `pct_memory_latency` in `group_cpu`; `group_id`, `vm`,
    `vcpus` in `vms` (`inventory.vms`); `time`, `group_id`, `world_id`, `world` and any of the counters of waits in
    `vcpu`.
    Groups that are not VMs are left out. Returns, in the order of `group_cpu`; % of one core, null without the
    counter:

    time, group_id, vm, vcpus
    ready_pct        %RDY, including the limit, as on the screen
    max_limited_pct  %MLMTD: a limit kept it off the CPU
    contention_pct   max(ready - max_limited, 0): no physical CPU was free
    costop_pct       %CSTP: held back until the other vCPUs catch up
    swap_wait_pct    %SWPWT: waited for swapped pages
    used_pct         %USED of the VM / vCPUs: accounted CPU, adjusted for frequency and hyper-threading
    run_pct          %RUN of the VM / vCPUs: time on a CPU
    system_pct       %SYS of the VM / vCPUs: VMkernel work done for the VM
    overlap_pct      %OVRLP: time taken by system services of others while the VM ran
    lat_c_pct        %LAT_C of the VM / vCPUs: could not run for want of CPU
    lat_m_pct        %LAT_M of the VM / vCPUs: could not run for want of memory
    ready_from       str  "vCPU worlds", or "group" if the waits include helper worlds; null if there is `vcpu` but no
                     wait, as for a VM that has left the host

    `each_vcpu` shows a vCPU that waits longer than its siblings.

    >>> group_cpu = pl.LazyFrame({
    ...     "time": [0, 0], "group_id": [1, 7], "pct_ready": [900.0, 9.0], "pct_max_limited": [0.0, 2.0],
    ... })
    >>> worlds = pl.LazyFrame({
    ...     "time": [0, 0, 0], "group_id": [7, 7, 7], "world_id": [70, 71, 72],
    ...     "world": ["vmx:db", "vmx-vcpu-0:db", "vmx-vcpu-1:db"],
    ...     "pct_ready": [3.0, 2.0, 4.0], "pct_max_limited": [0.0, 0.0, 2.0],
    ... })
    >>> found = pl.LazyFrame({"group_id": [7], "vm": ["db"], "vcpus": [2]})
    >>> wanted = ["vm", "ready_pct", "contention_pct", "ready_from"]
    >>> per_vcpu(group_cpu, found, worlds).select(wanted).collect().rows()
    [('db', 3.0, 2.0, 'vCPU worlds')]
    >>> per_vcpu(group_cpu, found).select(wanted).collect().rows()
    [('db', 4.5, 3.5, 'group')]
    """
    group_cpu, vms = finite(group_cpu), finite(vms)
    vcpu = None if vcpu is None else finite(vcpu)
    there = names(group_cpu)
    rows = (
        placed(group_cpu, "group_id")
        .join(vms.select("group_id", "vm", "vcpus"), on="group_id", how="inner", maintain_order="left")
        .select(*_KEYS, "vm", "vcpus", *(state / pl.col("vcpus") for state in renamed(there, STATES)))
    )
    rows = rows.with_columns(ready_from=pl.lit(FROM_GROUP)) if vcpu is None else _with_worlds(rows, vcpu)
    return rows.with_columns(contention()).select("time", "group_id", "vm", "vcpus", *_ORDER, "ready_from")


_KEYS: Final = (*SAMPLE, "group_id")


def per_vcpu_by_worlds(vcpu: pl.LazyFrame, vms: pl.LazyFrame) -> pl.LazyFrame:
    """Return the columns of `per_vcpu` from the worlds of vCPUs alone, for a capture without groups.

    Needs `time`, `group_id`, `world_id`, `world` and any of the counters of `per_vcpu` in `vcpu`; `vms` as there.
    Returns `time`, `group_id`, `vm`, `vcpus` and the percentages of `per_vcpu`, sorted by time: means over the vCPUs
    of a VM, without its helper worlds; null if a vCPU has no number.

    >>> worlds = pl.LazyFrame({
    ...     "time": [0, 0], "group_id": [7, 7], "world_id": [71, 72], "world": ["vmx-vcpu-0:db", "vmx-vcpu-1:db"],
    ...     "pct_ready": [2.0, 4.0], "pct_max_limited": [0.0, 2.0],
    ... })
    >>> found = pl.LazyFrame({"group_id": [7], "vm": ["db"], "vcpus": [2]})
    >>> per_vcpu_by_worlds(worlds, found).select("vm", "ready_pct", "contention_pct").collect().rows()
    [('db', 3.0, 2.0)]
    """
    means = [pl.when(_known(name)).then(pl.col(f"_{name}") / pl.col("vcpus")).alias(name) for name in STATES]
    rows = _sums(finite(vcpu), tuple(STATES)).join(
        finite(vms).select("group_id", "vm", "vcpus"), on="group_id", how="inner", maintain_order="left"
    )
    made = rows.sort(SAMPLE, maintain_order=True).with_columns(*means).with_columns(contention())
    return made.select("time", "group_id", "vm", "vcpus", *_ORDER)


def _sums(vcpu: pl.LazyFrame, states: Sequence[str]) -> pl.LazyFrame:
    """Return the sums of states over the vCPUs of a VM, and how many vCPUs have no number."""
    there = names(vcpu)
    counted = {name: column(there, STATES[name]) for name in states}
    return (
        placed(vcpu_worlds(vcpu, "_vcpu"), "group_id", "world_id")
        .group_by(_KEYS, maintain_order=True)
        .agg(
            pl.col("_vcpu").n_unique(),  # ESX 3.5 and 4 have two worlds of a vCPU, whose times add up
            *(total(state).alias(f"_{name}") for name, state in counted.items()),
            *(state.null_count().alias(f"_lacks_{name}") for name, state in counted.items()),
        )
    )


def _known(name: str) -> pl.Expr:
    """Return whether every vCPU of a VM has a number for that state."""
    return ((pl.col("_vcpu") == pl.col("vcpus")) & (pl.col(f"_lacks_{name}") == 0)).fill_null(value=False)


def _with_worlds(rows: pl.LazyFrame, vcpu: pl.LazyFrame) -> pl.LazyFrame:
    """Replace the group's waits with the means over the worlds of vCPUs, if every vCPU has a number."""
    worlds = _sums(vcpu, _WAITS)
    # Take ready time and the limit inside it from the same source, worlds or group.
    ready = _known("ready_pct") & (_known("max_limited_pct") | pl.col("max_limited_pct").is_null())
    means = [
        pl.when(ready if name in {"ready_pct", "max_limited_pct"} else _known(name))
        .then(pl.when(_known(name)).then(pl.col(f"_{name}") / pl.col("vcpus")))
        .otherwise(name)
        .alias(name)
        for name in _WAITS
    ]
    # A VM that has left the host has no waits.
    waits_of_group = pl.any_horizontal(pl.col(*_WAITS).is_not_null())
    source = pl.when(ready).then(pl.lit(FROM_WORLDS)).when(waits_of_group).then(pl.lit(FROM_GROUP)).alias("ready_from")
    return rows.join(worlds, on=_KEYS, how="left", maintain_order="left").with_columns(*means, source)


def each_vcpu(vcpu: pl.LazyFrame) -> pl.LazyFrame:
    """Return the columns of `per_vcpu` for every vCPU world, without the VM's helper worlds.

    Needs `time`, `group_id`, `group`, `world_id`, `world` and any of the counters of `per_vcpu`.
    Returns, in the order of `vcpu`; % of one core, null if the capture does not have the counter:

    time, group_id, vm, world_id, vcpu (its number, from 0), then the percentages of `per_vcpu` and
    vm_wait_pct  %VMWAIT: blocked on an event such as I/O or swapping, without being idle

    ESX 3.5 and 4 show two worlds of one vCPU (`vmm0`, `vcpu-0`): they form two rows with different `world_id`.

    >>> worlds = pl.LazyFrame({
    ...     "time": [0, 0], "group_id": [7, 7], "group": ["db", "db"], "world_id": [70, 71],
    ...     "world": ["vmx-mks:db", "vmx-vcpu-0:db"], "pct_ready": [1.0, 6.0], "pct_max_limited": [0.0, 2.5],
    ... })
    >>> wanted = ["vm", "vcpu", "ready_pct", "contention_pct"]
    >>> each_vcpu(worlds).select(wanted).collect().rows()
    [('db', 0, 6.0, 3.5)]
    """
    vcpu = finite(vcpu)
    there = names(vcpu)
    return (
        vcpu_worlds(vcpu, "vcpu")
        .select(
            "time",
            "group_id",
            pl.col("group").alias("vm"),
            "world_id",
            "vcpu",
            *renamed(there, {**STATES, "vm_wait_pct": "pct_vmwait"}),
        )
        .with_columns(contention())
        .select("time", "group_id", "vm", "world_id", "vcpu", *_ORDER, "vm_wait_pct")
    )


def _check(interval_s: float, vcpus: float | pl.Expr) -> None:
    """Reject an interval that is not a positive number of seconds, and less than one vCPU."""
    if not (math.isfinite(interval_s) and interval_s > 0):
        msg = f"the interval must be a positive number of seconds, not {interval_s!r} (real-time charts: 20)"
        raise EsxparseError(msg)
    if not isinstance(vcpus, pl.Expr) and not vcpus >= 1:
        raise EsxparseError(f"the number of vCPUs must be 1 or more, not {vcpus!r}")


@overload
def ms_to_pct(ms: float, interval_s: float, vcpus: float = 1) -> float: ...
@overload
def ms_to_pct(ms: pl.Expr, interval_s: float, vcpus: float | pl.Expr = 1) -> pl.Expr: ...
@overload
def ms_to_pct(ms: float, interval_s: float, vcpus: pl.Expr) -> pl.Expr: ...
def ms_to_pct(ms: float | pl.Expr, interval_s: float, vcpus: float | pl.Expr = 1) -> float | pl.Expr:
    """Turn milliseconds summed up over an interval and all vCPUs of a VM into percent per vCPU.

    `pct = ms / (interval_s x 1000) x 100 / vcpus`: from vCenter's "Ready" summation to the %RDY of a vCPU in esxtop.
    Intervals of vCenter's charts: real-time 20 s, day 300 s, week 1800 s, month 7200 s, year 86400 s.
    `ms` and `vcpus` are numbers or polars expressions.
    Source: VMware KB 2002181, (summation / (interval in seconds x 1000)) x 100, which is per VM; divided by its vCPUs.

    Raises EsxparseError: The interval is not a positive number, or `vcpus` is less than 1.

    >>> ms_to_pct(400, 20)
    2.0
    >>> ms_to_pct(5000, 20, vcpus=4)
    6.25
    """
    _check(interval_s, vcpus)
    return ms / (interval_s * 10) / vcpus


@overload
def pct_to_ms(pct: float, interval_s: float, vcpus: float = 1) -> float: ...
@overload
def pct_to_ms(pct: pl.Expr, interval_s: float, vcpus: float | pl.Expr = 1) -> pl.Expr: ...
@overload
def pct_to_ms(pct: float, interval_s: float, vcpus: pl.Expr) -> pl.Expr: ...
def pct_to_ms(pct: float | pl.Expr, interval_s: float, vcpus: float | pl.Expr = 1) -> float | pl.Expr:
    """Turn percent per vCPU into the milliseconds that vCenter sums up over an interval and all vCPUs of a VM.

    `ms = pct / 100 x interval_s x 1000 x vcpus`, the inverse of `ms_to_pct`.

    Raises EsxparseError: The interval is not a positive number, or `vcpus` is less than 1.

    >>> pct_to_ms(2.0, 20)
    400.0
    >>> pct_to_ms(10.0, 300)
    30000.0
    """
    _check(interval_s, vcpus)
    return pct * (interval_s * 10) * vcpus
