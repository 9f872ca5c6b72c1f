"""What esxtop prints for memory: the host's, each NUMA node's, each group's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import fsum
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from esxparse.simulate.model.engine import Capture, Snapshot
    from esxparse.simulate.esxtop.columns import Key
    from esxparse.simulate.host import Vm
    from esxparse.simulate.model.memory import VmMemory
    from esxparse.simulate.model.worlds import Group

__all__ = ["MEMORY_TABLES"]

Values = Mapping[str, float]
_PROCESS_MB = 11.5  # a user world process, per world
_OVERHEAD_MB = 45.0  # a VM's overhead: a fixed part and one that grows with it
_OVERHEAD_PART = 0.0085
_BALLOON_MAX = 0.65
_COMPRESSION = 0.5


def _overhead(vm: Vm) -> float:
    return _OVERHEAD_MB + vm.memory_mb * _OVERHEAD_PART


def _process(group: Group) -> float:
    return _PROCESS_MB * len(group.worlds)


def _consumed(now: Snapshot, of: Capture, node: int | None = None) -> float:
    """Machine memory behind VMs and processes, in MB; if `node` is given, that node's VMs and part of the processes."""
    vms = [
        now.memory[group.gid].consumed + _overhead(group.vm)
        for group in of.groups
        if group.vm and node in {None, group.vm.node}
    ]
    processes = fsum(_process(group) for group in of.groups if not group.own and not group.vm)
    return fsum(vms) + (processes if node is None else processes / of.scenario.host.sockets)


def _overcommit(_key: Key, _now: Snapshot, of: Capture) -> Values:
    host = of.scenario.host
    asked = fsum(group.vm.memory_mb + _overhead(group.vm) for group in of.groups if group.vm)
    ratio = max(0.0, asked / (host.memory_mb - host.kernel_mb) - 1.0)
    return {f"Memory Overcommit ({span} Minute Avg)": ratio for span in ("1", "5", "15")}


def _host(_key: Key, now: Snapshot, of: Capture) -> Values:
    host = of.scenario.host
    rows = list(now.memory.values())
    other = _consumed(now, of)
    managed = host.memory_mb - 64.0
    reserved = host.kernel_mb + fsum(_overhead(group.vm) for group in of.groups if group.vm)
    shared = fsum(row.shared for row in rows)
    compressed = fsum(row.compressed for row in rows)
    return {
        "Machine MBytes": float(host.memory_mb),
        "Kernel MBytes": float(host.kernel_mb),
        "NonKernel MBytes": other,
        "Free MBytes": host.memory_mb - host.kernel_mb - other,
        "Kernel Managed MBytes": managed,
        "Kernel MinFree MBytes": _min_free(managed),
        "Kernel Reserved MBytes": reserved,
        "Kernel Unreserved MBytes": managed - reserved,
        "PShare Shared MBytes": shared * 1.1,
        "PShare Common MBytes": shared * 0.1,
        "PShare Savings MBytes": shared,
        "Swap Used MBytes": fsum(row.swapped for row in rows),
        "Swap Target MBytes": fsum(row.swap_target for row in rows),
        "Swap MBytes Read/sec": fsum(row.swap_in for row in rows),
        "Swap MBytes Write/sec": fsum(row.swap_out for row in rows),
        "Total Compressed MBytes": compressed,
        "Total Saved By Compression MBytes": compressed * (1.0 - _COMPRESSION),
        "Memctl Current MBytes": fsum(row.balloon for row in rows),
        "Memctl Target MBytes": fsum(row.balloon_target for row in rows),
        "Memctl Max MBytes": fsum(group.vm.memory_mb * _BALLOON_MAX for group in of.groups if group.vm),
    }


def _min_free(managed: float) -> float:
    """The sliding scale of `Mem.MinFreePct`: 6 % of the first 4 GB, 4 % to 12 GB, 2 % to 28 GB, 1 % of the rest."""
    steps = ((4096.0, 0.06), (8192.0, 0.04), (16384.0, 0.02), (managed, 0.01))
    left, total = managed, 0.0
    for size, part in steps:
        total += min(left, size) * part
        left = max(0.0, left - size)
    return total


def _node(key: Key, now: Snapshot, of: Capture) -> Values:
    node = cast("int", key[1])
    host = of.scenario.host
    capacity = (host.memory_mb - host.kernel_mb) / host.sockets
    return {"% Processor Time": now.nodes[node].used, "Free MBytes": capacity - _consumed(now, of, node)}


def _group_memory(key: Key, now: Snapshot, of: Capture) -> Values:
    group = next(group for group in of.groups if group.gid == key[1])
    common = {
        "Members": float(len(group.worlds)),
        "Alloc Max": -1.0,
        "Alloc Shares": -3.0,
        "Alloc Min Limited": -1.0,
        "Commit Pages Per Share": -1.0,
    }
    if group.vm is None:
        size = _process(group)
        return {
            **common,
            "Memory Size MBytes": size * 2.4,
            "Memory Granted Size MBytes": size,
            "Memory Consumed Size MBytes": size,
            "Target Size MBytes": size * 1.1,
            "Touched MBytes": size * 0.3,
            "Commit Target MBytes": size,
        }
    return {**common, **_vm_memory(group.vm, now.memory[group.gid])}


def _vm_memory(vm: Vm, row: VmMemory) -> dict[str, float]:
    overhead = _overhead(vm)
    active_pct = 100.0 * row.active / vm.memory_mb
    return {
        "Alloc Max": float(vm.memory_limit_mb) if vm.memory_limit_mb else -1.0,
        "Numa Home Nodes": float(vm.node),
        "Numa Local Memory MBytes": row.consumed,
        "Numa % Local": 100.0,
        "Memory Size MBytes": float(vm.memory_mb),
        "Memory Granted Size MBytes": row.granted,
        "Memory Consumed Size MBytes": row.consumed,
        "Target Size MBytes": min(float(vm.memory_mb), float(vm.memory_limit_mb or vm.memory_mb)) + overhead,
        "Touched MBytes": row.active,
        "Touched Write MBytes": row.active * 0.4,
        "% Active Estimate": active_pct,
        "% Active Slow Estimate": active_pct,
        "% Active Fast Estimate": active_pct * 1.05,
        "% Active Next Estimate": active_pct * 0.98,
        "Memctl?": 1.0,
        "Memctl MBytes": row.balloon,
        "Memctl Target MBytes": row.balloon_target,
        "Memctl Max MBytes": vm.memory_mb * _BALLOON_MAX,
        "Swapped MBytes": row.swapped,
        "Swap Target MBytes": row.swap_target,
        "Swap Read MBytes/sec": row.swap_in,
        "Swap Written MBytes/sec": row.swap_out,
        "Zero MBytes": row.shared * 0.5,
        "Shared MBytes": row.shared * 1.1,
        "Shared Saved MBytes": row.shared,
        "Copy On Write Hint MBytes": row.shared * 0.2,
        "Overhead MBytes": overhead * 0.8,
        "Overhead Max MBytes": overhead,
        "Commit Target MBytes": row.consumed,
        "Commit Pages Per Share": 256.0,
        "Compressed Memory MBytes": row.compressed,
        "Used Compressed Memory MBytes": row.compressed * _COMPRESSION,
        "Compression MBytes/sec": row.zip_rate,
        "Decompression MBytes/sec": row.unzip_rate,
    }


MEMORY_TABLES: dict[str, Callable[[Key, Snapshot, Capture], Values]] = {
    "Memory/overcommit": _overcommit,
    "Memory": _host,
    "Numa Node": _node,
    "Group Memory": _group_memory,
}
"""Functions by table of counters (a key of `counters.COUNTERS`)."""
