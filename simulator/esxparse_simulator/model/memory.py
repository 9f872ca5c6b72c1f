"""Memory of VMs: what is used, where it lies, and what is taken back by balloon, compression and swap.

A VM may hold its limit (or its whole size). When its guest uses more, the balloon is asked for the difference and
inflates at the pace a guest gives pages up; what is still missing is compressed (a tenth, unless the host says
otherwise) and swapped out. Swapped pages come back when the guest touches them, and the vCPU that touches one stands
still meanwhile: swap wait. Balloon, compressed and swapped pages are state: they outlive the sample that made them.

When VMs together want more than the host has, each keeps its reservation; the rest is divided by shares per page, of
which pages that are not touched pay a tax (three quarters, the default of Mem.IdleTax). Balloons work below the host's
minimum of free memory, compression and swap only below a third of it, and what would leave no free memory at all is
swapped at once, while the guest waits. A VM that touches more than it may hold swaps in and out all the time.

Memory lies on the VM's own nodes but for the part its scenario puts elsewhere (`Vm.remote_memory`), and but for what
does not fit: a full node's overflow goes to nodes with room, and is remote to the VM it belongs to.

Evidence: the defaults of Mem.MinFreePct, Mem.CtlMaxPercent and Mem.IdleTax (VMware's texts). Assumed: every pace.
"""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

import numpy as np

from esxparse_simulator.host import Host
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.sample import Loads, MemorySample
from esxparse_simulator.model.schedule import share_out
from esxparse_simulator.model.sums import Numbers, added

BALLOON_MAX = 0.65
"""Of a VM's size, the most its balloon takes: the default of Mem.CtlMaxPercent."""

_PROCESS_MB = 11.5  # a user world process, per world
_OVERHEAD_MB = 45.0  # a VM's overhead: a fixed part and one that grows with it
_OVERHEAD_PART = 0.0085
_UNMANAGED_MB = 64.0
# parts of the minimum of free memory
_CLEAR, _HARD, _LOW = 1.0, 0.32, 0.16
_BALLOONS_KEEP = 0.8  # free, so that a host whose balloons hold it there is in state clear or soft
_SWAPPING_KEEPS = 0.25  # which is state hard
_ALWAYS = 0.08  # which is state low
_IDLE_COST = 4.0  # a page not touched costs as much as four that are: 1 / (1 - tax)
COMPRESSION = 0.5
"""Of its size is what a compressed page still takes."""
_BALLOON_MB_PER_S = 12.0  # how fast a guest gives pages up
_SWAP_OUT_MB_PER_S = 60.0
_TOUCHED_PER_S = 0.004  # of the swapped pages a guest that is busy comes back for, each second
_THRASHED_PER_S = 0.02  # of the swapped pages that are in active use
_PAGE_MS = 0.4  # from touching a swapped page to running again
_WRITTEN_PAGE_MS = 0.1  # for a page that must be written before there is room for another
_PAGES_PER_MB = 256.0
_SHARED_PART = 0.06  # zero pages and others alike
_WARMUP = 0.06  # of the way the estimate of active memory goes each second
_MOST_WAIT = 0.6  # of a vCPU's time


def process_mb(worlds: int) -> float:
    """Machine memory of a user world process with so many worlds."""
    return _PROCESS_MB * worlds


class Fixed:
    """Along the VMs: size, limit or size, reservation, overhead (MB), vCPUs; whether there is a balloon driver (0, 1).

    `home` and `away` [VMs, nodes] say how its local and its remote memory are spread; `remote` is the part (0..1) that
    its scenario puts away.
    """

    def __init__(self, layout: Layout) -> None:
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
        self.size = size
        self.allowed = np.minimum(size, limit)
        self.reserved = np.array([vm.memory_reservation_mb for vm in vms], dtype=np.float64)
        self.overhead = _OVERHEAD_MB + size * _OVERHEAD_PART
        self.balloon = np.array([vm.balloon_driver for vm in vms], dtype=np.float64)
        self.vcpus = np.array([vm.vcpus for vm in vms], dtype=np.float64)
        self.remote = np.array([vm.remote_memory for vm in vms], dtype=np.float64) * away.any(axis=1)
        self.home = home
        self.away = away
        self.columns = np.tile(np.arange(nodes), len(vms))
        self.old_balloon = np.array([vm.old_balloon_mb for vm in vms], dtype=np.float64)
        self.old_swap = np.array([vm.old_swap_mb for vm in vms], dtype=np.float64)
        self.processes = fsum(
            process_mb(len(group.worlds)) for group in layout.groups if not group.own and not group.vm
        )


fixed_of = OncePerLayout(Fixed)
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


class MemoryLimits(NamedTuple):
    """What each VM may hold, in MB: before its balloon is asked for the rest, and before pages of it are swapped."""

    balloon: Numbers
    swap: Numbers


def memory_limits(host: Host, fixed: Fixed, wanted: Numbers, touched: Numbers) -> MemoryLimits:
    """What VMs may hold that want `wanted` MB of machine memory, of which they touch a part (0..1)."""
    requested = np.minimum(wanted, fixed.allowed)
    available, least = room(host, fixed), min_free(host)
    return MemoryLimits(
        _divided(fixed, requested, touched, available - _BALLOONS_KEEP * least),
        _divided(fixed, requested, touched, available - _SWAPPING_KEEPS * least),
    )


def emergency(host: Host, fixed: Fixed, consumed: Numbers, resident: Numbers) -> Numbers:
    """MB of each VM that must be swapped at once, so that the host does not run out of memory."""
    over = fsum(consumed.tolist()) - max(0.0, room(host, fixed) - _ALWAYS * min_free(host))
    if over <= 0.0:
        return np.zeros_like(consumed)
    # reservations first give nothing; when that is not enough, they do
    above = np.minimum(resident, np.maximum(0.0, consumed - fixed.reserved))
    first = _portions(above, over)
    return first + _portions(resident - first, over - fsum(first.tolist()))


def state_of(host: Host, fixed: Fixed, consumed: Numbers) -> float:
    """The host's memory state: 0 high, 1 clear or soft, 2 hard, 3 low."""
    free = (room(host, fixed) - fsum(consumed.tolist())) / min_free(host)
    return 0.0 if free >= _CLEAR else 1.0 if free >= _HARD else 2.0 if free >= _LOW else 3.0


def _portions(of: Numbers, much: float) -> Numbers:
    there = fsum(of.tolist())
    return of * min(1.0, max(0.0, much) / max(1e-9, there))


def _divided(fixed: Fixed, requested: Numbers, touched: Numbers, available: float) -> Numbers:
    if fsum(requested.tolist()) <= available:
        return fixed.allowed
    one = np.zeros(len(requested), dtype=np.intp)
    sure = np.minimum(requested, fixed.reserved)
    left = np.array([max(0.0, available - fsum(sure.tolist()))])
    weights = fixed.size / (touched + _IDLE_COST * (1.0 - touched))
    return sure + share_out(left, requested - sure, weights, one)


def next_memory(layout: Layout, host: Host, loads: Loads, before: MemorySample | None, seconds: float) -> MemorySample:
    """The memory of all VMs after `seconds` more of their loads.

    Before the first sample VMs have run for days: they use what their loads say, and what a host short of memory
    takes back has been taken. A VM under its own limit begins with nothing taken back.
    """
    fixed = fixed_of(layout)
    used = np.minimum(loads.used_mb, fixed.size)
    shared = used * _SHARED_PART
    touched = np.minimum(loads.active_mb, used)
    was = touched if before is None else before.active
    active = np.minimum(used, was + (touched - was) * min(1.0, _WARMUP * seconds))
    unique = used - shared
    may = memory_limits(host, fixed, unique, np.minimum(1.0, active / np.maximum(1.0, used)))
    taken = (
        _at_first(host, fixed, unique, may) if before is None else (before.balloon, before.swapped, before.compressed)
    )
    balloon, swapped, compressed = _shrunk(unique, *taken)

    missing = np.maximum(0.0, unique - may.balloon)
    target = np.minimum(missing, fixed.size * BALLOON_MAX) * fixed.balloon
    step = _BALLOON_MB_PER_S * seconds
    balloon = balloon + np.maximum(-step, np.minimum(step, target - balloon))
    balloon = np.minimum(balloon, unique - swapped - compressed)

    back = _touched(used, active, balloon, swapped, compressed, seconds)
    unzipped = compressed * min(1.0, _TOUCHED_PER_S * seconds)
    swapped, compressed = swapped - back, compressed - unzipped
    missing = np.maximum(0.0, unique - may.swap)
    short = np.maximum(0.0, missing - balloon - swapped - compressed * (1.0 - COMPRESSION))
    out = np.minimum(short, _SWAP_OUT_MB_PER_S * seconds)
    zipped = out * (host.compressed_part if host.compression else 0.0)
    swapped, compressed = swapped + out - zipped, compressed + zipped

    resident = np.maximum(0.0, unique - balloon - swapped - compressed)
    at_once = emergency(host, fixed, resident + compressed * COMPRESSION, resident)
    swapped, resident = swapped + at_once, resident - at_once
    consumed = resident + compressed * COMPRESSION
    remote, taken_of_nodes = placed(layout, host, consumed)
    wait = (back * _PAGE_MS + at_once * _WRITTEN_PAGE_MS) * _PAGES_PER_MB / 1000.0 / seconds / fixed.vcpus
    return MemorySample(
        used=used,
        active=active,
        shared=shared,
        balloon=balloon,
        balloon_target=target,
        compressed=compressed,
        swapped=swapped,
        swap_target=np.maximum(0.0, missing - target),
        swap_in=back / seconds,
        swap_out=(out - zipped + at_once) / seconds,
        zip_rate=zipped / seconds,
        unzip_rate=unzipped / seconds,
        swap_wait=np.minimum(_MOST_WAIT, wait),
        remote=remote,
        granted=np.maximum(0.0, used - balloon - swapped - compressed),
        consumed=consumed,
        taken=taken_of_nodes,
        state=state_of(host, fixed, consumed),
    )


def _at_first(host: Host, fixed: Fixed, unique: Numbers, may: MemoryLimits) -> tuple[Numbers, Numbers, Numbers]:
    """Balloon, swapped and compressed MB of VMs on a host that has been short of memory for long."""
    squeezed = may.balloon < np.minimum(unique, fixed.allowed)
    wanted = np.where(squeezed, np.minimum(unique - may.balloon, fixed.size * BALLOON_MAX), 0.0)
    balloon = wanted * fixed.balloon
    rest = np.where(may.swap < np.minimum(unique, fixed.allowed), np.maximum(0.0, unique - may.swap - balloon), 0.0)
    part = host.compressed_part if host.compression else 0.0
    out = rest / (1.0 - part * COMPRESSION)
    return balloon, out * (1.0 - part), out * part


def _shrunk(
    unique: Numbers, balloon: Numbers, swapped: Numbers, compressed: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """The same when the guest has come to use less than was taken back: swapped pages are forgotten first."""
    over = np.maximum(0.0, balloon + swapped + compressed - unique)
    forgotten = np.minimum(over, swapped)
    unzipped = np.minimum(over - forgotten, compressed)
    return balloon - (over - forgotten - unzipped), swapped - forgotten, compressed - unzipped


def _touched(
    used: Numbers, active: Numbers, balloon: Numbers, swapped: Numbers, compressed: Numbers, seconds: float
) -> Numbers:
    """Swapped MB that guests come back for: now and then one, and the more when pages in active use are swapped."""
    back: Numbers = swapped * np.minimum(1.0, _TOUCHED_PER_S * seconds * active / np.maximum(1.0, used) * 4.0)
    idle = np.maximum(0.0, used - balloon - active)
    missed = np.maximum(0.0, swapped + compressed - idle)
    return back + np.minimum(swapped - back, missed * min(1.0, _THRASHED_PER_S * seconds))
