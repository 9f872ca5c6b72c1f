"""A host short of memory: what each VM may keep, and what has to go at once.

Each VM keeps its reservation; the rest is divided by shares per page, of which pages that are not touched pay a tax
(three quarters, the default of Mem.IdleTax): a VM keeps the less, the more of its memory lies idle. Shares are the
normal ones, so many for each MB of its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.places import min_free, room
from esxparse_simulator.model.schedule import share_out

if TYPE_CHECKING:
    from esxparse_simulator.host import Host
    from esxparse_simulator.model.places import Fixed
    from esxparse_simulator.model.sample import Numbers

# parts of the minimum of free memory
_CLEAR, _HARD, _LOW = 1.0, 0.32, 0.16
_BALLOONS_KEEP = 0.8  # free, so that a host whose balloons hold it there is in state clear or soft
_SWAPPING_KEEPS = 0.25  # which is state hard
_ALWAYS = 0.08  # which is state low
_IDLE_COST = 4.0  # a page not touched costs as much as four that are: 1 / (1 - tax)


@dataclass(frozen=True, slots=True)
class Held:
    """What each VM may hold, in MB: before its balloon is asked for the rest, and before pages of it are swapped."""

    balloon: Numbers
    swap: Numbers


def held(host: Host, fixed: Fixed, wanted: Numbers, touched: Numbers) -> Held:
    """What VMs may hold that want `wanted` MB of machine memory, of which they touch a part (0..1)."""
    asked = np.minimum(wanted, fixed.allowed)
    available, least = room(host, fixed), min_free(host)
    return Held(
        _divided(fixed, asked, touched, available - _BALLOONS_KEEP * least),
        _divided(fixed, asked, touched, available - _SWAPPING_KEEPS * least),
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


def _divided(fixed: Fixed, asked: Numbers, touched: Numbers, available: float) -> Numbers:
    if fsum(asked.tolist()) <= available:
        return fixed.allowed
    one = np.zeros(len(asked), dtype=np.intp)
    sure = np.minimum(asked, fixed.reserved)
    left = np.array([max(0.0, available - fsum(sure.tolist()))])
    weights = fixed.size / (touched + _IDLE_COST * (1.0 - touched))
    return sure + share_out(left, asked - sure, weights, one)
