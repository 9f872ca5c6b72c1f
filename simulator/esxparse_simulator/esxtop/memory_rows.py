"""What esxtop prints for memory: the host's and each group's.

-1 is "no limit" or "not applicable", -3 "normal" shares, as in real captures. The first node of a wide VM stands for
all its home nodes (assumption: a cell holds one number).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.memory import COMPRESSION
from esxparse_simulator.model.once import OncePerLayout
from esxparse_simulator.model.places import BALLOON_MAX, fixed_of, managed, min_free, process_mb

if TYPE_CHECKING:
    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.sample import Numbers, Snapshot

Rows = dict[str, "Numbers | float"]


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What does not change: rows of the host and of the groups."""

    overcommit: float
    host: Rows
    groups: Rows


def rows(now: Snapshot, layout: Layout) -> dict[str, Rows]:
    """The rows of every table of memory."""
    overcommit = _fixed(layout).overcommit
    return {
        "Memory/overcommit": {f"Memory Overcommit ({span} Minute Avg)": overcommit for span in ("1", "5", "15")},
        "Memory": _host(now, layout),
        "Group Memory": _groups(now, layout),
    }


def _make(layout: Layout) -> _Fixed:
    host, groups, vms, fixed = layout.scenario.host, layout.groups, layout.vms, fixed_of(layout)
    overhead = fsum(fixed.overhead.tolist())
    process = np.array([0.0 if group.vm else process_mb(len(group.worlds)) for group in groups])
    asked = fsum((fixed.size + fixed.overhead).tolist())
    reserved = host.kernel_mb + overhead
    # -1 for the others
    limits = np.array([vm.memory_limit_mb or -1 for vm in vms], dtype=np.float64)
    groups_rows: Rows = {
        "Members": np.array([len(group.worlds) for group in groups], dtype=np.float64),
        "Alloc Max": -1.0,
        "Alloc Shares": -3.0,
        "Alloc Min Limited": -1.0,
        "Commit Pages Per Share": -1.0,
        "Memory Size MBytes": process * 2.4,
        "Memory Granted Size MBytes": process,
        "Memory Consumed Size MBytes": process,
        "Target Size MBytes": process * 1.1,
        "Touched MBytes": process * 0.3,
        "Commit Target MBytes": process,
    }
    vms_rows: Rows = {
        "Alloc Min": fixed.reserved,
        "Alloc Max": limits,
        "Numa Home Nodes": np.array([(*vm.nodes, vm.node)[0] for vm in vms], dtype=np.float64),
        "Memory Size MBytes": fixed.size,
        "Target Size MBytes": fixed.allowed + fixed.overhead,
        "Memctl?": fixed.balloon,
        "Memctl Max MBytes": fixed.size * BALLOON_MAX * fixed.balloon,
        "Overhead MBytes": fixed.overhead * 0.8,
        "Overhead Max MBytes": fixed.overhead,
        "Commit Pages Per Share": 256.0,
    }
    return _Fixed(
        overcommit=max(0.0, asked / (host.memory_mb - host.kernel_mb) - 1.0),
        host={
            "Machine MBytes": float(host.memory_mb),
            "Kernel MBytes": float(host.kernel_mb),
            "Kernel Managed MBytes": managed(host),
            "Kernel MinFree MBytes": min_free(host),
            "Kernel Reserved MBytes": reserved,
            "Kernel Unreserved MBytes": managed(host) - reserved,
            "Memctl Max MBytes": fsum((fixed.size * BALLOON_MAX * fixed.balloon).tolist()),
        },
        groups=_of_groups(layout, vms_rows, groups_rows),
    )


_fixed = OncePerLayout(_make)


def _host(now: Snapshot, layout: Layout) -> Rows:
    host, memory, fixed = now.host, now.memory, fixed_of(layout)
    # machine memory behind VMs and processes
    other = fsum((memory.consumed + fixed.overhead).tolist()) + fixed.processes
    shared = fsum(memory.shared.tolist())
    compressed = fsum(memory.compressed.tolist())
    return {
        **_fixed(layout).host,
        "NonKernel MBytes": other,
        "Free MBytes": host.memory_mb - host.kernel_mb - other,
        "Kernel State": memory.state,
        "PShare Shared MBytes": shared * 1.1,
        "PShare Common MBytes": shared * 0.1,
        "PShare Savings MBytes": shared,
        "Swap Used MBytes": fsum(memory.swapped.tolist()),
        "Swap Target MBytes": fsum(memory.swap_target.tolist()),
        "Swap MBytes Read/sec": fsum(memory.swap_in.tolist()),
        "Swap MBytes Write/sec": fsum(memory.swap_out.tolist()),
        "Total Compressed MBytes": compressed,
        "Total Saved By Compression MBytes": compressed * (1.0 - COMPRESSION),
        "Memctl Current MBytes": fsum(memory.balloon.tolist()),
        "Memctl Target MBytes": fsum(memory.balloon_target.tolist()),
    }


def _groups(now: Snapshot, layout: Layout) -> Rows:
    return _of_groups(layout, _vms(now, layout), _fixed(layout).groups)


def _of_groups(layout: Layout, vms: Rows, others: Rows) -> Rows:
    """Rows along the VMs laid along the groups; those that are no VM have what `others` says, or 0."""
    columns = np.zeros((len(vms), len(layout.groups)))
    for column, (counter, values) in zip(columns, vms.items(), strict=True):
        column[:] = others.get(counter, 0.0)
        column[layout.vm_group] = values
    return others | dict(zip(vms, columns, strict=True))


def _vms(now: Snapshot, layout: Layout) -> Rows:
    """What changes from sample to sample, along the VMs."""
    memory, fixed = now.memory, fixed_of(layout)
    active = 100.0 * memory.active / fixed.size
    return {
        "Numa Remote Memory MBytes": memory.remote,
        "Numa Local Memory MBytes": memory.consumed - memory.remote,
        "Numa % Local": 100.0 * (1.0 - memory.remote / np.maximum(1e-9, memory.consumed)),
        "Memory Granted Size MBytes": memory.granted,
        "Memory Consumed Size MBytes": memory.consumed,
        "Touched MBytes": memory.active,
        "Touched Write MBytes": memory.active * 0.4,
        "% Active Estimate": active,
        "% Active Slow Estimate": active,
        "% Active Fast Estimate": active * 1.05,
        "% Active Next Estimate": active * 0.98,
        "Memctl MBytes": memory.balloon,
        "Memctl Target MBytes": memory.balloon_target,
        "Swapped MBytes": memory.swapped,
        "Swap Target MBytes": memory.swap_target,
        "Swap Read MBytes/sec": memory.swap_in,
        "Swap Written MBytes/sec": memory.swap_out,
        "Zero MBytes": memory.shared * 0.5,
        "Shared MBytes": memory.shared * 1.1,
        "Shared Saved MBytes": memory.shared,
        "Copy On Write Hint MBytes": memory.shared * 0.2,
        "Commit Target MBytes": memory.consumed,
        "Compressed Memory MBytes": memory.compressed,
        "Used Compressed Memory MBytes": memory.compressed * COMPRESSION,
        "Compression MBytes/sec": memory.zip_rate,
        "Decompression MBytes/sec": memory.unzip_rate,
    }
