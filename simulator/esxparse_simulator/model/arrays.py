"""Arrays behind a target: what a command waits for beyond the cache, and what that costs the array.

A read that is not in the cache takes `media_ms` more. Sequential reads up to `read_ahead_kb` are there before they are
asked for; a larger one has a part that is not, and is as slow as its slowest part, unless it goes round in a working
set that the cache holds whole. Random reads hit as far as the cache covers the working sets of all who use the target.

A misaligned write does not fill the array's blocks: the old ones (one, or two when it is larger than a block) are read
first, from the media unless they are in the cache. Reading ahead hides that from sequential writes. Such an array does
not write in place, so old and new blocks both lie in the cache: it covers less of the working set the smaller the
writes are.

Assumed, as no array documents it: one coverage for all users of a target; disks behind the cache answer side by side,
so that a miss costs time but not throughput.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.sums import added, divided

if TYPE_CHECKING:
    from esxparse_simulator.model.asks import Asks, Columns
    from esxparse_simulator.model.layout import Index
    from esxparse_simulator.model.sample import Numbers


@dataclass(frozen=True, slots=True)
class Misses:
    """Along the flows: milliseconds that a read and a write wait for the media, and busy milliseconds per write."""

    read_ms: Numbers
    write_ms: Numbers
    write_cost: Numbers


def behind_the_cache(asks: Asks, of: Columns, target: Index) -> Misses:
    """What the cache of its target leaves each flow to wait for."""
    media, block = of.media_ms[target], of.block_kb[target]
    misaligned = np.where(block > 0.0, asks.misaligned, 0.0)
    blocks = np.where(asks.write_kb > block, 2.0, 1.0)
    covered = _coverage(asks, of, target, misaligned * blocks * block)
    random = 1.0 - asks.sequential
    cached = (asks.working_set_mb > 0.0) & (covered >= 1.0)
    too_large = np.where((asks.read_kb > of.read_ahead_kb[target]) & ~cached, asks.sequential, 0.0)
    old_blocks = misaligned * random * (1.0 - covered)
    return Misses(
        read_ms=media * (too_large + random * (1.0 - covered)),
        write_ms=media * old_blocks,
        write_cost=old_blocks * blocks * (of.service_ms[target] + block / 1024.0 / of.mb_per_s[target] * 1000.0),
    )


def _coverage(asks: Asks, of: Columns, target: Index, old_kb: Numbers) -> Numbers:
    """The part (0..1) of what a flow touches that its target's cache holds; `old_kb` are kept beside each write."""
    wanted = asks.reads + asks.writes
    writing = divided(asks.writes, wanted)
    larger = 1.0 + divided(writing * old_kb, asks.write_kb)
    touched = added(asks.working_set_mb * larger, target, len(of.cache_mb))
    part = np.divide(of.cache_mb, touched, out=np.ones_like(touched), where=touched > of.cache_mb)
    covered: Numbers = part[target]
    return covered
