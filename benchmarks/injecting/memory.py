"""Edits the memory of VMs; the host's own memory follows.

Machine = kernel + VMs + free. The host's balloon, swap and compression are the sums over VMs. A balloon and swapped
pages come out of what a VM consumes. State by free memory against the least it wants: 0 high, 1 clear, 2 soft, 3 hard,
4 low (vSphere Resource Management, "Memory reclamation").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .host import MEMORY, WORLD, Host, Vm

if TYPE_CHECKING:
    from .capture import Cells

_CELLS = {
    "balloon": "Memctl MBytes",
    "balloon_target": "Memctl Target MBytes",
    "balloon_max": "Memctl Max MBytes",
    "swapped": "Swapped MBytes",
    "swap_target": "Swap Target MBytes",
    "swap_in": "Swap Read MBytes/sec",
    "swap_out": "Swap Written MBytes/sec",
    "cache_in": "Llswap Read MBytes/sec",
    "compressed": "Compressed Memory MBytes",
    "compressed_used": "Used Compressed Memory MBytes",
    "zip": "Compression MBytes/sec",
    "unzip": "Decompression MBytes/sec",
    "consumed": "Memory Consumed Size MBytes",
    "granted": "Memory Granted Size MBytes",
    "touched": "Touched MBytes",
    "touched_write": "Touched Write MBytes",
    "limit": "Alloc Max",
    "reserved": "Alloc Min",
    "size_target": "Target Size MBytes",
    "shared": "Shared MBytes",
    "saved": "Shared Saved MBytes",
    "zero": "Zero MBytes",
    "overhead": "Overhead MBytes",
    "active_pct": "% Active Estimate",
    "local": "Numa Local Memory MBytes",
    "remote": "Numa Remote Memory MBytes",
    "local_pct": "Numa % Local",
    "moves": "Numa Rebalance Count Delta",
    "home": "Numa Home Nodes",
}
_RATES = ("swap_in", "swap_out", "cache_in", "zip", "unzip")
_STEADY = {"limit", "reserved", "home", "balloon_max"}
_SUMS = {
    "Memctl Current MBytes": "balloon",
    "Memctl Target MBytes": "balloon_target",
    "Swap Used MBytes": "swapped",
    "Swap Target MBytes": "swap_target",
    "Swap MBytes Read/sec": "swap_in",
    "Swap MBytes Write/sec": "swap_out",
    "Total Compressed MBytes": "compressed",
    "PShare Shared MBytes": "shared",
    "PShare Savings MBytes": "saved",
}
_GROW = 6
"""Samples that a size takes to get to its level."""
_STATES = (4.0, 1.0, 0.64, 0.32)
"""Free memory as multiples of the least below which the state is 1, 2, 3 and 4."""


def size(host: Host, vm: Vm) -> float:
    """Configured memory of a VM, in MB."""
    return float(host.get(MEMORY, vm.group, "Memory Size MBytes")[0])


def edit_memory(host: Host, vm: Vm, **levels: float) -> None:
    """Bring memory of a VM to these levels: MB/s for rates, percent for `_pct`, else a share of its configured memory.

    `moves` are NUMA migrations per sample, `home` the home nodes as printed. A limit holds throughout.
    """
    whole = size(host, vm)
    for name, level in levels.items():
        counter = _CELLS[name]
        if name in {"limit", "reserved"}:
            host.put(MEMORY, vm.group, counter, np.full(host.capture.samples, round(level * whole)))
        elif name in _STEADY:
            host.edit(MEMORY, vm.group, counter, level * (whole if name == "balloon_max" else 1), noise=0.0)
        elif name in _RATES or name.endswith("_pct") or name == "moves":
            host.edit(MEMORY, vm.group, counter, level, noise=0.02 if name.endswith("_pct") else 0.2)
        else:
            window, host.window = host.window, _growing(host.window)
            host.edit(MEMORY, vm.group, counter, level * whole, noise=0.005)
            host.window = window


def _growing(window: Cells) -> Cells:
    """A window that opens in some samples instead of at once, unless it is open from the beginning."""
    if not window.any() or window[0]:
        return window
    since = np.arange(len(window)) - int(np.argmax(window)) + 1
    return window * np.clip(since / _GROW, 0.0, 1.0)


def follow(host: Host, vm: Vm, counter: str, rate: str, sign: float = 1.0) -> None:
    """Let a size grow by its rate, in MB/s, sample after sample: swapped pages by what is swapped out and in."""
    step = (host.capture.times[1] - host.capture.times[0]).total_seconds()
    grown = host.get(MEMORY, vm.group, _CELLS[counter]) + sign * step * np.cumsum(
        host.get(MEMORY, vm.group, _CELLS[rate])
    )
    host.put(MEMORY, vm.group, _CELLS[counter], np.clip(grown, 0.0, size(host, vm)))


def wait_for_memory(host: Host, vm: Vm, percent: float) -> None:
    """Let the vCPUs of a VM wait this long for pages: %SWPWT, %VMWAIT and %LAT_M."""
    for world in vm.vcpus:
        for counter in ("% Swap Wait", "% VmWait", "% Memory Latency"):
            host.edit(WORLD, world, counter, percent)


def squeeze(host: Host, hog: Vm, free: float) -> None:
    """Let one VM consume until the host has this share of the least free memory that it wants."""
    least = float(host.get("Memory", "", "Kernel MinFree MBytes")[0])
    others = [one for one in host.vms if one is not hog]
    freed = _given_back(host, others)
    now = host.get("Memory", "", "Free MBytes")
    more = np.clip(now + freed - free * least, 0.0, None) * host.window
    for name in ("consumed", "granted", "touched"):
        cells = host.get(MEMORY, hog.group, _CELLS[name])
        host.put(MEMORY, hog.group, _CELLS[name], cells + more)
    most = float(host.get(MEMORY, hog.group, _CELLS["granted"]).max())
    if most > size(host, hog):
        host.put(MEMORY, hog.group, "Memory Size MBytes", np.full(host.capture.samples, np.ceil(most / 1024) * 1024))


def _given_back(host: Host, vms: list[Vm]) -> Cells:
    freed = np.zeros(host.capture.samples)
    for vm in vms:
        freed = freed + host.before(MEMORY, vm.group, _CELLS["consumed"]) - _consumed(host, vm)
    return freed


def _consumed(host: Host, vm: Vm) -> Cells:
    """What is edited to be consumed; else what balloon, swap and compression leave of it."""
    cells = host.get(MEMORY, vm.group, _CELLS["consumed"])
    before = host.before(MEMORY, vm.group, _CELLS["consumed"])
    if not np.array_equal(cells, before):
        return cells
    taken = np.zeros_like(cells)
    for name in ("balloon", "swapped", "compressed"):
        taken += host.get(MEMORY, vm.group, _CELLS[name]) - host.before(MEMORY, vm.group, _CELLS[name])
    return np.maximum(before - taken, np.minimum(before, 0.05 * size(host, vm)))


def settle_memory(host: Host, *, everything: bool = False) -> None:
    """Make the host's memory the sum of its VMs'.

    everything: Also where nothing is edited; a recording's own total may be off by what it rounded.
    """
    free = host.before("Memory", "", "Free MBytes")
    for vm in host.vms:
        consumed = _consumed(host, vm)
        free = free + host.before(MEMORY, vm.group, _CELLS["consumed"]) - consumed
        host.put(MEMORY, vm.group, _CELLS["consumed"], consumed)
        if host.before(MEMORY, vm.group, _CELLS["local"]).any():
            local = consumed * host.get(MEMORY, vm.group, _CELLS["local_pct"]) / 100
            host.put(MEMORY, vm.group, _CELLS["local"], local)
            host.put(MEMORY, vm.group, _CELLS["remote"], consumed - local)
    least = host.get("Memory", "", "Kernel MinFree MBytes")
    free = np.maximum(free, 0.1 * least)
    host.put("Memory", "", "Free MBytes", free)
    taken = host.get("Memory", "", "Machine MBytes") - host.get("Memory", "", "Kernel MBytes")
    host.put("Memory", "", "NonKernel MBytes", taken - free)
    state = np.sum([free < share * least for share in _STATES], axis=0).astype(float)
    host.put("Memory", "", "Kernel State", state)
    for counter, name in _SUMS.items():
        change = [
            host.get(MEMORY, one.group, _CELLS[name]) - host.before(MEMORY, one.group, _CELLS[name]) for one in host.vms
        ]
        total = np.sum([host.get(MEMORY, one.group, _CELLS[name]) for one in host.vms], axis=0)
        if everything and np.allclose(host.get("Memory", "", counter), total, rtol=0.02):
            host.put("Memory", "", counter, total)
        else:
            host.put("Memory", "", counter, host.before("Memory", "", counter) + np.sum(change, axis=0))
    _settle_nodes(host)
    sizes = sum(size(host, one) for one in host.vms)
    if sizes != sum(float(host.before(MEMORY, one.group, "Memory Size MBytes")[0]) for one in host.vms):
        over = max(0.0, sizes / float(host.get("Memory", "", "Kernel Managed MBytes")[0]) - 1)
        for minutes in (1, 5, 15):
            host.put("Memory", "", f"Memory Overcommit ({minutes} Minute Avg)", np.full(len(free), over))


def _settle_nodes(host: Host) -> None:
    """Share what is free among the NUMA nodes as before."""
    nodes = host.instances("Numa Node")
    before = host.before("Memory", "", "Free MBytes")
    for node in nodes:
        part = host.get("Numa Node", node, "Free MBytes") / np.maximum(before, 1.0)
        host.put("Numa Node", node, "Free MBytes", part * host.get("Memory", "", "Free MBytes"))
