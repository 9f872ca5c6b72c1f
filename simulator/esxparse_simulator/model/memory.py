"""Memory of VMs: what is used, and what is taken back by balloon, compression and swap.

A VM may hold its limit (or its whole size). When its guest uses more, the balloon is asked for the difference and
inflates at the pace a guest gives pages up; what is still missing is compressed (a tenth, unless the host says
otherwise) and swapped out. Swapped pages come back when the guest touches them, and the vCPU that touches one stands
still meanwhile: swap wait. Balloon, compressed and swapped pages are state: they outlive the sample that made them.

When VMs together want more than the host has, `pressure` says what each may hold: balloons work below the host's
minimum of free memory, compression and swap only below a third of it, and what would leave no free memory at all is
swapped at once, while the guest waits. A VM that touches more than it may hold swaps in and out all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.places import BALLOON_MAX, fixed_of, placed
from esxparse_simulator.model.pressure import Held, emergency, held, state_of
from esxparse_simulator.model.sample import MemorySample

if TYPE_CHECKING:
    from esxparse_simulator.host import Host
    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.places import Fixed
    from esxparse_simulator.model.sample import Loads, Numbers

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
    may = held(host, fixed, unique, np.minimum(1.0, active / np.maximum(1.0, used)))
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
        remote=placed(layout, host, consumed)[0],
        granted=np.maximum(0.0, used - balloon - swapped - compressed),
        consumed=consumed,
        state=state_of(host, fixed, consumed),
    )


def _at_first(host: Host, fixed: Fixed, unique: Numbers, may: Held) -> tuple[Numbers, Numbers, Numbers]:
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
