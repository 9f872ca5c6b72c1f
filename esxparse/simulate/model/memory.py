"""Memory of VMs and of the host: what is used, and what is taken back by balloon, compression and swap.

A VM may hold its limit (or its whole size). When its guest uses more, the balloon is asked for the difference and
inflates at the pace a guest gives pages up; what is still missing is compressed (a tenth) and swapped out. Swapped
pages come back when the guest touches them, and the vCPU that touches one stands still meanwhile: swap wait.
Balloon, compressed and swapped pages are state: they outlive the sample that made them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from esxparse.simulate.host import Load, Vm

__all__ = ["VmMemory", "first_memory", "next_memory"]

_BALLOON_MB_PER_S = 12.0  # how fast a guest gives pages up
_BALLOON_MAX = 0.65  # of the VM's size, the default of Mem.CtlMaxPercent
_SWAP_OUT_MB_PER_S = 60.0
_COMPRESSED_PART = 0.1
_COMPRESSION = 0.5  # of its size is what a compressed page still takes
_TOUCHED_PER_S = 0.004  # of the swapped pages a guest that is busy comes back for, each second
_PAGE_MS = 0.4  # from touching a swapped page to running again
_PAGES_PER_MB = 256.0
_SHARED_PART = 0.06  # zero pages and others alike
_WARMUP = 0.06  # of the way the estimate of active memory goes each second


@dataclass(frozen=True, slots=True)
class VmMemory:
    """One VM's memory after a sample, in MB; rates in MB per second; `swap_wait` as a part (0..1) of a vCPU's time."""

    used: float
    active: float
    shared: float
    balloon: float
    balloon_target: float
    compressed: float
    swapped: float
    swap_target: float
    swap_in: float = 0.0
    swap_out: float = 0.0
    zip_rate: float = 0.0
    unzip_rate: float = 0.0
    swap_wait: float = 0.0

    @property
    def consumed(self) -> float:
        """Machine memory behind the VM: what is used less what was taken back or is shared."""
        resident = self.used - self.balloon - self.swapped - self.compressed
        return max(0.0, resident + self.compressed * _COMPRESSION - self.shared)

    @property
    def granted(self) -> float:
        """Guest memory that has machine memory behind it, shared pages counted in full."""
        return max(0.0, self.used - self.balloon - self.swapped - self.compressed)


def first_memory(load: Load) -> VmMemory:
    """The memory of a VM that has run for days: used and shared as its load says, nothing taken back."""
    return VmMemory(load.used_mb, load.active_mb, load.used_mb * _SHARED_PART, 0.0, 0.0, 0.0, 0.0, 0.0)


def next_memory(before: VmMemory, vm: Vm, load: Load, seconds: float) -> VmMemory:
    """The memory of `vm` after `seconds` more of `load`."""
    used = min(load.used_mb, float(vm.memory_mb))
    allowed = min(float(vm.memory_mb), float(vm.memory_limit_mb or vm.memory_mb))
    shared = used * _SHARED_PART
    active = before.active + (load.active_mb - before.active) * min(1.0, _WARMUP * seconds)
    missing = max(0.0, used - shared - allowed)
    if missing == 0.0 and before.balloon == 0.0 and before.swapped == 0.0:
        return replace(before, used=used, active=active, shared=shared)
    target = min(missing, vm.memory_mb * _BALLOON_MAX)
    step = _BALLOON_MB_PER_S * seconds
    balloon = before.balloon + max(-step, min(step, target - before.balloon))
    swapped, compressed = before.swapped, before.compressed
    back = swapped * min(1.0, _TOUCHED_PER_S * seconds * active / max(1.0, used) * 4.0)
    unzipped = compressed * min(1.0, _TOUCHED_PER_S * seconds)
    swapped, compressed = swapped - back, compressed - unzipped
    short = max(0.0, missing - balloon - swapped - compressed * (1.0 - _COMPRESSION))
    out = min(short, _SWAP_OUT_MB_PER_S * seconds)
    zipped = out * _COMPRESSED_PART
    swapped, compressed = swapped + out - zipped, compressed + zipped
    wait = back * _PAGES_PER_MB * _PAGE_MS / 1000.0 / seconds / vm.vcpus
    return VmMemory(
        used=used,
        active=active,
        shared=shared,
        balloon=balloon,
        balloon_target=target,
        compressed=compressed,
        swapped=swapped,
        swap_target=max(0.0, missing - target),
        swap_in=back / seconds,
        swap_out=(out - zipped) / seconds,
        zip_rate=zipped / seconds,
        unzip_rate=unzipped / seconds,
        swap_wait=min(0.6, wait),
    )
