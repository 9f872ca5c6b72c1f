"""The CPU scheduler: a fluid, proportional-share model of one sample.

Each vCPU wants to run `d` of the time on an idle host. Every unit of work carries its own think time (waiting for the
disk, the network, the next request) and meets delays `q` on the way, so its time divides in a closed loop:

    run = d / (1 + q d)      wait = (1 - d) / (1 + q d)      delay = q d / (1 + q d)

The three add up to one whatever `q` is. Delay has two sources: the VM's CPU limit (max-limited, which esxtop counts
inside ready) and other worlds (contention): a base that grows with the fourth power of the node's load, or, when the
node is full, whatever makes the shares fit. A part of contention is co-stop, growing with the square of the vCPUs.
The constants are this model's, chosen for plausible sizes; the bookkeeping is esxtop's:

    run + ready + co-stop + wait = 100 %      idle, swap wait and VM wait are parts of wait
    used = run x hyper-threading share x clock / nominal + system - overlap
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HT_LOSS", "Turn", "Want", "pcpu_shares", "run_node", "share_out"]

HT_LOSS = 0.375
"""What a thread loses while its sibling runs: two busy threads do 1.25 of one core's work (VMware KB 421543)."""

_USABLE = 0.985  # of a full node: the rest goes to switches and interrupts
_LEFT_AT_LEAST = 0.05  # of a node, however much worlds that are no vCPUs take
_NOTHING = 1e-9  # run time too short to be told from none
_BASE_DELAY = 0.15  # delay per unit of run at full load, before anything has to be shared out
_GANG = 1.2  # how much more a VM as wide as eight vCPUs meets of it
_COSTOP_PART = 0.7  # of contention, for eight vCPUs
_WIDE = 7.0  # vCPUs beside the first in that VM of eight


@dataclass(frozen=True, slots=True)
class Want:
    """What one vCPU wants: run time (0..1), the limit on it, its shares, the VM's vCPUs, time lost to swap (0..1)."""

    run: float
    limit: float | None
    shares: float
    siblings: int
    swap_wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What one vCPU got, in percent of the sample; the first five add up to 100."""

    run: float
    ready: float
    costop: float
    idle: float
    swap_wait: float
    max_limited: float


def share_out(capacity: float, wants: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Divide `capacity` by shares; nobody gets more than wanted, and what one leaves the others divide.

    >>> share_out(1.0, [0.2, 0.9, 0.9], [1.0, 1.0, 1.0])
    [0.2, 0.4, 0.4]
    """
    got = [0.0] * len(wants)
    open_ = [n for n, want in enumerate(wants) if want > 0.0]
    left = capacity
    while open_:
        total = fsum(shares[n] for n in open_)
        full = [n for n in open_ if wants[n] <= left * shares[n] / total]
        if not full:
            for n in open_:
                got[n] = left * shares[n] / total
            return got
        for n in full:
            got[n] = wants[n]
        left = max(0.0, left - fsum(wants[n] for n in full))
        open_ = [n for n in open_ if n not in full]
    return got


def run_node(wants: Sequence[Want], pcpus: int, taken: float) -> list[Turn]:
    """Schedule the vCPUs of one NUMA node on its `pcpus`, of which other worlds have `taken` (in PCPUs) already."""
    limited = [_limit_delay(want) for want in wants]
    runs = [_run(want.run, delay) for want, delay in zip(wants, limited, strict=True)]
    capacity = max(_LEFT_AT_LEAST * pcpus, pcpus * _USABLE - taken)
    got = share_out(capacity, runs, [want.shares for want in wants])
    load = min(1.0, (fsum(runs) + taken) / pcpus)
    turns = []
    for want, limit_delay, run, share in zip(wants, limited, runs, got, strict=True):
        gang = 1.0 + _GANG * (want.siblings - 1) / _WIDE
        squeeze = max(0.0, 1.0 / share - 1.0 / run) if share > _NOTHING else 0.0
        turns.append(_turn(want, limit_delay, max(squeeze, _BASE_DELAY * gang * load * load * load * load)))
    return turns


def pcpu_shares(total: float, weights: Sequence[float]) -> list[float]:
    """Spread `total` run time (in PCPUs) over PCPUs in proportion to `weights`, none above 1."""
    scale = total / fsum(weights)
    spread = [min(1.0, weight * scale) for weight in weights]
    rest = share_out(max(0.0, total - fsum(spread)), [1.0 - busy for busy in spread], list(weights))
    return [busy + more for busy, more in zip(spread, rest, strict=True)]


def _run(wanted: float, delay: float) -> float:
    return wanted / (1.0 + delay * wanted)


def _limit_delay(want: Want) -> float:
    if want.limit is None or want.run <= want.limit:
        return 0.0
    return 1.0 / want.limit - 1.0 / want.run


def _turn(want: Want, limit_delay: float, contention_delay: float) -> Turn:
    present = 1.0 - want.swap_wait
    run = _run(want.run, limit_delay + contention_delay)
    contention = contention_delay * run
    width = (want.siblings - 1) / _WIDE
    costop = contention * min(_COSTOP_PART, _COSTOP_PART * width * width)
    limited = limit_delay * run
    idle = max(0.0, 1.0 - run - contention - limited)
    return Turn(
        run=100.0 * present * run,
        ready=100.0 * present * (contention - costop + limited),
        costop=100.0 * present * costop,
        idle=100.0 * present * idle,
        swap_wait=100.0 * want.swap_wait,
        max_limited=100.0 * present * limited,
    )
