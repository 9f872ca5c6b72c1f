"""Where memory lies: what VMs and processes take of the host and of its NUMA nodes, besides what guests use.

A VM's memory lies on its own nodes but for the part its scenario puts elsewhere (`Vm.remote_memory`), and but for what
does not fit: a full node's overflow goes to nodes with room, and is remote to the VM it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.once import OncePerLayout
from esxparse_simulator.model.sums import added

if TYPE_CHECKING:
    from esxparse_simulator.host import Host
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers

BALLOON_MAX = 0.65
"""Of a VM's size, the most its balloon takes: the default of Mem.CtlMaxPercent."""

_PROCESS_MB = 11.5  # a user world process, per world
_OVERHEAD_MB = 45.0  # a VM's overhead: a fixed part and one that grows with it
_OVERHEAD_PART = 0.0085
_UNMANAGED_MB = 64.0


@dataclass(frozen=True, slots=True)
class Fixed:
    """Along the VMs: size, limit or size, reservation, overhead (MB), vCPUs; whether there is a balloon driver (0, 1).

    `home` and `away` [VMs, nodes] say how its local and its remote memory are spread; `remote` is the part (0..1) that
    its scenario puts away.
    """

    size: Numbers
    allowed: Numbers
    reserved: Numbers
    overhead: Numbers
    balloon: Numbers
    vcpus: Numbers
    remote: Numbers
    home: Numbers
    away: Numbers
    columns: Index
    processes: float


def process_mb(worlds: int) -> float:
    """Machine memory of a user world process with so many worlds."""
    return _PROCESS_MB * worlds


def _make(layout: Layout) -> Fixed:
    vms, nodes = layout.vms, layout.scenario.host.sockets
    home = np.zeros((len(vms), nodes))
    away = np.zeros((len(vms), nodes))
    for place, vm in enumerate(vms):
        mine = vm.nodes or (vm.node,)
        others = [node for node in range(nodes) if node not in mine]
        for node in mine:
            home[place, node] += 1.0 / len(mine)
        away[place, others] = 1.0 / max(1, len(others))
    size = np.array([vm.memory_mb for vm in vms], dtype=np.float64)
    limit = np.array([vm.memory_limit_mb or vm.memory_mb for vm in vms], dtype=np.float64)
    return Fixed(
        size=size,
        allowed=np.minimum(size, limit),
        reserved=np.array([vm.memory_reservation_mb for vm in vms], dtype=np.float64),
        overhead=_OVERHEAD_MB + size * _OVERHEAD_PART,
        balloon=np.array([vm.balloon_driver for vm in vms], dtype=np.float64),
        vcpus=np.array([vm.vcpus for vm in vms], dtype=np.float64),
        remote=np.array([vm.remote_memory for vm in vms], dtype=np.float64) * away.any(axis=1),
        home=home,
        away=away,
        columns=np.tile(np.arange(nodes), len(vms)),
        processes=fsum(process_mb(len(group.worlds)) for group in layout.groups if not group.own and not group.vm),
    )


fixed_of = OncePerLayout(_make)
"""What does not change about the memory of a layout's VMs."""


def managed(host: Host) -> float:
    """Machine memory that the VMkernel manages, MB."""
    return host.memory_mb - _UNMANAGED_MB


def min_free(host: Host) -> float:
    """The sliding scale of `Mem.MinFreePct`: 6 % of the first 4 GB, 4 % to 12 GB, 2 % to 28 GB, 1 % of the rest."""
    left = managed(host)
    steps = ((4096.0, 0.06), (8192.0, 0.04), (16384.0, 0.02), (left, 0.01))
    least = 0.0
    for size, part in steps:
        least += min(left, size) * part
        left = max(0.0, left - size)
    return least


def room(host: Host, fixed: Fixed) -> float:
    """Machine memory (MB) that there is for what guests use: all but the VMkernel, processes and overheads."""
    return max(0.0, host.memory_mb - host.kernel_mb - fixed.processes - fsum(fixed.overhead.tolist()))


def placed(layout: Layout, host: Host, consumed: Numbers) -> tuple[Numbers, Numbers]:
    """Remote memory of each VM, and memory taken of each node (overheads and processes too), in MB."""
    fixed = fixed_of(layout)
    nodes = host.sockets
    far = consumed * fixed.remote
    local = (consumed - far)[:, None] * fixed.home
    here = _by_node(local, fixed)
    elsewhere = _by_node(far[:, None] * fixed.away + fixed.overhead[:, None] * fixed.home, fixed)
    taken = here + elsewhere + fixed.processes / nodes
    capacity = (host.memory_mb - host.kernel_mb) / nodes
    over = np.maximum(0.0, taken - capacity)
    free = np.maximum(0.0, capacity - taken)
    if not over.any() or not free.any():
        return far, taken
    moved = min(fsum(over.tolist()), fsum(free.tolist()))
    over = over * (moved / fsum(over.tolist()))
    taken = taken - over + free * (moved / fsum(free.tolist()))
    # what is remote already stays remote wherever it goes; only memory of the node's own VMs becomes so
    going = local * (np.minimum(here, over) / np.maximum(1e-9, here))
    gone = added(going.ravel(), np.repeat(np.arange(len(consumed)), nodes), len(consumed))
    return far + gone, taken


def _by_node(rows: Numbers, fixed: Fixed) -> Numbers:
    return added(rows.ravel(), fixed.columns, rows.shape[1])
