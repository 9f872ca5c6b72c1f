"""What the CPU scheduler did to each VM: ready, limited, co-stopped, and the same in milliseconds.

A group's percentages are sums over its worlds, each a percentage of one physical core: 20 % ready of a VM with four
vCPUs is 5 % of each. `%MLMTD` (kept off the CPU by a limit somebody set) is counted inside `%RDY`, so what other VMs
cost is `%RDY - %MLMTD`, here *contention*.

Source: "Interpreting esxtop Statistics" and the vSphere Monitoring and Performance guide, CPU panel: "For a world, the
percentages are a percentage of one physical CPU core", "%MLMTD time is included in %RDY".
"""

from __future__ import annotations

import math
from typing import overload

import polars as pl

from esxparse.errors import EsxparseError

from ._columns import names, renamed
from .inventory import vcpu_number

_STATES = {
    "ready_pct": "pct_ready",
    "max_limited_pct": "pct_max_limited",
    "costop_pct": "pct_costop",
    "swap_wait_pct": "pct_swap_wait",
    "used_pct": "pct_used",
    "run_pct": "pct_run",
    "system_pct": "pct_system",
    "overlap_pct": "pct_overlap",
}
_ORDER = (
    "ready_pct",
    "max_limited_pct",
    "contention_pct",
    "costop_pct",
    "swap_wait_pct",
    "used_pct",
    "run_pct",
    "system_pct",
    "overlap_pct",
)


def contention() -> pl.Expr:
    """Give ready time without what a limit caused: `max(ready_pct - max_limited_pct, 0)`.

    Both are rounded to two decimals in the capture, so the difference can fall below 0 by that much and is held at 0.
    Null if either is: without `%MLMTD` nobody can tell how much of the ready time a limit explains.
    """
    return (pl.col("ready_pct") - pl.col("max_limited_pct")).clip(lower_bound=0.0).alias("contention_pct")


def per_vcpu(group_cpu: pl.LazyFrame, vms: pl.LazyFrame) -> pl.LazyFrame:
    """Give what the scheduler did to each VM per vCPU: the group's value divided by the number of vCPUs.

    Needs `time`, `group_id` and any of `pct_ready`, `pct_max_limited`, `pct_costop`, `pct_swap_wait`, `pct_used`,
    `pct_run`, `pct_system`, `pct_overlap` in `group_cpu`; `group_id`, `vm`, `vcpus` in `vms` (`inventory.vms`).
    Groups that are no VM are left out. Returns, in the order of `group_cpu`; % of one core, null without the counter:

    time, group_id, vm, vcpus
    ready_pct        %RDY / vCPUs, with the limit inside, as on the screen
    max_limited_pct  %MLMTD / vCPUs: a limit kept it off the CPU
    contention_pct   max(ready - max_limited, 0): no physical CPU was free
    costop_pct       %CSTP / vCPUs: held back until the other vCPUs catch up
    swap_wait_pct    %SWPWT / vCPUs: waited for swapped pages
    used_pct         %USED / vCPUs: accounted CPU, moved by frequency and hyper-threading
    run_pct          %RUN / vCPUs: time on a CPU
    system_pct       %SYS / vCPUs: VMkernel work done for the VM
    overlap_pct      %OVRLP / vCPUs: time taken by system services of others while the VM ran

    The sum holds the VM's helper worlds too (vmx, mks, disk and network worlds), which can be most of it in a small
    idle VM: on an ESXi 6.5 host one with a single vCPU showed 1.07 % ready, 0.75 of it the vmx's. `each_vcpu` shows
    the vCPU worlds alone, and a vCPU that fares worse than its siblings.

    >>> group_cpu = pl.LazyFrame({
    ...     "time": [0, 0], "group_id": [1, 7], "pct_ready": [900.0, 24.0], "pct_max_limited": [0.0, 8.0],
    ... })
    >>> found = pl.LazyFrame({"group_id": [7], "vm": ["db"], "vcpus": [4]})
    >>> wanted = ["vm", "vcpus", "ready_pct", "max_limited_pct", "contention_pct", "costop_pct"]
    >>> per_vcpu(group_cpu, found).select(wanted).collect().rows()
    [('db', 4, 6.0, 2.0, 4.0, None)]
    """
    there = names(group_cpu)
    return (
        group_cpu.join(vms.select("group_id", "vm", "vcpus"), on="group_id", how="inner", maintain_order="left")
        .select("time", "group_id", "vm", "vcpus", *(state / pl.col("vcpus") for state in renamed(there, _STATES)))
        .with_columns(contention())
        .select("time", "group_id", "vm", "vcpus", *_ORDER)
    )


def each_vcpu(vcpu: pl.LazyFrame) -> pl.LazyFrame:
    """Give the same columns as `per_vcpu` for every vCPU world, without the VM's helper worlds.

    Needs `time`, `group_id`, `group`, `world_id`, `world` and any of the counters named there.
    Returns, in the order of `vcpu`; % of one core, null where the capture lacks the counter:

    time, group_id, vm, world_id, vcpu (its number, from 0), then the nine columns of `per_vcpu` and
    vm_wait_pct  %VMWAIT: blocked on an event such as I/O or swapping, without being idle

    ESX 3.5 and 4 show two worlds of one vCPU (`vmm0`, `vcpu-0`): they are two rows, told apart by `world_id`.

    >>> worlds = pl.LazyFrame({
    ...     "time": [0, 0], "group_id": [7, 7], "group": ["db", "db"], "world_id": [70, 71],
    ...     "world": ["vmx-mks:db", "vmx-vcpu-0:db"], "pct_ready": [1.0, 6.0], "pct_max_limited": [0.0, 2.5],
    ... })
    >>> wanted = ["vm", "vcpu", "ready_pct", "contention_pct"]
    >>> each_vcpu(worlds).select(wanted).collect().rows()
    [('db', 0, 6.0, 3.5)]
    """
    there = names(vcpu)
    return (
        vcpu.with_columns(vcpu_number().alias("vcpu"))
        .filter(pl.col("vcpu").is_not_null())
        .select(
            "time",
            "group_id",
            pl.col("group").alias("vm"),
            "world_id",
            "vcpu",
            *renamed(there, {**_STATES, "vm_wait_pct": "pct_vmwait"}),
        )
        .with_columns(contention())
        .select("time", "group_id", "vm", "world_id", "vcpu", *_ORDER, "vm_wait_pct")
    )


def _check(interval_s: float, vcpus: float | pl.Expr) -> None:
    """Refuse an interval that is not a positive number of seconds, and less than one vCPU."""
    if not (math.isfinite(interval_s) and interval_s > 0):
        msg = f"the interval must be a positive number of seconds, not {interval_s!r} (real-time charts: 20)"
        raise EsxparseError(msg)
    if not isinstance(vcpus, pl.Expr) and not vcpus >= 1:
        msg = f"the number of vCPUs must be 1 or more, not {vcpus!r}"
        raise EsxparseError(msg)


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

    Raises:
        EsxparseError: The interval is not a positive number, or `vcpus` is less than 1.

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

    `ms = pct / 100 x interval_s x 1000 x vcpus`, the inverse of `ms_to_pct`; see there.

    Raises:
        EsxparseError: The interval is not a positive number, or `vcpus` is less than 1.

    >>> pct_to_ms(2.0, 20)
    400.0
    >>> pct_to_ms(10.0, 300)
    30000.0
    """
    _check(interval_s, vcpus)
    return pct * (interval_s * 10) * vcpus
