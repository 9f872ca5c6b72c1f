"""The CPU scheduler: a fluid, proportional-share model of one sample, for all NUMA nodes at once.

Each vCPU wants to run `d` of the time on an idle host. Every unit of work carries its own think time (waiting for the
disk, the network, the next request) and meets delays `q` on the way, so its time divides in a closed loop:

    run = d / (1 + q d)      wait = (1 - d) / (1 + q d)      delay = q d / (1 + q d)

The three add up to one whatever `q` is. Delay has two sources: the VM's CPU limit (max-limited, which esxtop counts
inside ready) and other worlds (contention): a base that grows with the fourth power of the node's load, or, when the
node is full, whatever makes the shares fit. A part of contention is co-stop, growing with the square of the vCPUs:
none while there is too little of it for siblings to get out of step, the less the fewer they are (relaxed
co-scheduling stops a vCPU only when it is milliseconds ahead: VMware, "The CPU Scheduler in VMware vSphere 5.1"), all
of that part once there is plenty.
Reservations are met before anything is shared out.
Evidence: the bookkeeping, which is esxtop's. Assumed: the constants, chosen for plausible sizes.

    run + ready + co-stop + wait = 100 %      idle, swap wait and VM wait are parts of wait
    used = run x hyper-threading share x clock / nominal + system - overlap
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from esxparse_simulator.model.sample import Matrix
from esxparse_simulator.model.sums import Index, Numbers, added

_USABLE = 0.985  # of a full node: the rest goes to switches and interrupts
_LEFT_AT_LEAST = 0.05  # of a node, however much worlds that are not vCPUs take
_NOTHING = 1e-9  # run time too short to be told from none
_BASE_DELAY = 0.15  # delay per unit of run at full load, before anything has to be shared out
_GANG = 1.2  # how much more a VM as wide as eight vCPUs meets of it
_COSTOP_PART = 0.7  # of contention, for eight vCPUs
_IN_STEP, _OUT_OF_STEP = 0.2, 0.3  # contention x vCPUs up to which there is no co-stop, and from which all of it
_WIDE = 7.0  # vCPUs beside the first in that VM of eight


@dataclass(frozen=True, slots=True)
class Wants:
    """What vCPUs want: run time (0..1), a limit on it (infinite: none), a part of it that is sure, their shares.

    `siblings` is the vCPUs of the VM, `swap_wait` the time (0..1) lost to swap, `node` where each runs, `delay` what
    its delays are multiplied with, `wake` one that is always there.
    """

    run: Numbers
    limit: Numbers
    reserved: Numbers
    shares: Numbers
    siblings: Numbers
    swap_wait: Numbers
    node: Index
    delay: Numbers | float = 1.0
    wake: float = 0.0


class Turns(Matrix):
    """What vCPUs got, in percent of the sample; the first five add up to 100, max-limited is a part of ready."""

    names = ("run", "ready", "costop", "idle", "swap_wait", "max_limited")


def share_out(capacity: Numbers, wants: Numbers, shares: Numbers, node: Index) -> Numbers:
    """Divide each node's capacity by shares; nobody gets more than wanted, and what one leaves the others divide.

    >>> share_out(np.array([1.0]), np.array([0.2, 0.9, 0.9]), np.ones(3), np.zeros(3, dtype=int)).tolist()
    [0.2, 0.4, 0.4]
    """
    got = np.zeros_like(wants)
    nodes = len(capacity)
    left = capacity
    if (added(wants, node, nodes) <= left).all():
        return wants.copy()
    rest = np.flatnonzero(wants > 0.0)
    while rest.size:
        where, requested, weight = node[rest], wants[rest], shares[rest]
        portion = left[where] * weight / added(weight, where, nodes)[where]
        full = requested <= portion
        filled = added(full.astype(np.float64), where, nodes)
        # where nobody has enough everybody takes a portion, and the node is done
        done = filled[where] == 0.0
        got[rest[done]] = portion[done]
        got[rest[full]] = requested[full]
        left = np.maximum(0.0, left - added(np.where(full, requested, 0.0), where, nodes))
        rest = rest[~(done | full)]
    return got


def fit_helpers(run: Numbers, node: Index, pcpus: int, pinned: Numbers) -> Numbers:
    """Run time (percent) of worlds that are not vCPUs, cut to what a node of `pcpus` has beside what is `pinned`."""
    demand = added(run, node, len(pinned)) / 100.0
    room = np.maximum(0.0, pcpus * (_USABLE - _LEFT_AT_LEAST) - pinned)
    part = np.where(demand > room, room / np.maximum(_NOTHING, demand), 1.0)
    return run * part[node]


def run_nodes(wants: Wants, pcpus: int, taken: Numbers) -> Turns:
    """Schedule vCPUs on their nodes of `pcpus` each, of which other worlds have `taken` (in PCPUs) already."""
    nodes, node = len(taken), wants.node
    limited_delay = _limit_delay(wants)
    runs = _run(wants.run, limited_delay)
    capacity = np.maximum(_LEFT_AT_LEAST * pcpus, pcpus * _USABLE - taken)
    got = _with_reservations(capacity, runs, wants)
    load = np.minimum(1.0, (added(runs, node, nodes) + taken) / pcpus)[node]
    gang = 1.0 + _GANG * (wants.siblings - 1.0) / _WIDE
    some = runs > _NOTHING
    squeeze = np.maximum(0.0, 1.0 / np.maximum(_NOTHING, got) - 1.0 / np.where(some, runs, 1.0)) * some
    delay = np.maximum(squeeze, wants.wake + _BASE_DELAY * gang * load * load * load * load) * wants.delay
    return _turns(wants, limited_delay, delay)


def pcpu_shares(run: Numbers, weights: Numbers, pinned: Numbers, node: Index) -> Numbers:
    """Spread each node's `run` (in PCPUs) over its PCPUs in proportion to weights, none above 1.

    `pinned` is what each PCPU does already (interrupts bound to it); it is a part of `run` and of what is given back.
    """
    nodes = len(run)
    loose = np.maximum(0.0, run - added(pinned, node, nodes))
    weights = weights * (1.0 - pinned)
    room = 1.0 - pinned
    scale = loose / np.maximum(_NOTHING, added(weights, node, nodes))
    spread = np.minimum(room, weights * scale[node])
    left = np.maximum(0.0, loose - added(spread, node, nodes))
    return pinned + spread + share_out(left, room - spread, weights, node)


def _with_reservations(capacity: Numbers, runs: Numbers, wants: Wants) -> Numbers:
    sure = np.minimum(runs, wants.reserved)
    if not sure.any():
        return share_out(capacity, runs, wants.shares, wants.node)
    first = share_out(capacity, sure, wants.shares, wants.node)
    left = np.maximum(0.0, capacity - added(first, wants.node, len(capacity)))
    return first + share_out(left, runs - first, wants.shares, wants.node)


def _run(wanted: Numbers, delay: Numbers) -> Numbers:
    return wanted / (1.0 + delay * wanted)


def _limit_delay(wants: Wants) -> Numbers:
    over = wants.run > wants.limit
    return np.where(over, 1.0 / np.where(over, wants.limit, 1.0) - 1.0 / np.where(over, wants.run, 1.0), 0.0)


def _turns(wants: Wants, limit_delay: Numbers, contention_delay: Numbers) -> Turns:
    present = 100.0 * (1.0 - wants.swap_wait)
    run = _run(wants.run, limit_delay + contention_delay)
    contention = contention_delay * run
    width = (wants.siblings - 1.0) / _WIDE
    skewed = np.minimum(1.0, np.maximum(0.0, (contention * wants.siblings - _IN_STEP) / (_OUT_OF_STEP - _IN_STEP)))
    costop = contention * skewed * np.minimum(_COSTOP_PART, _COSTOP_PART * width * width)
    limited = limit_delay * run
    idle = np.maximum(0.0, 1.0 - run - contention - limited)
    ran, ready = present * run, present * (contention - costop + limited)
    return Turns(np.array([ran, ready, present * costop, present * idle, 100.0 * wants.swap_wait, present * limited]))
