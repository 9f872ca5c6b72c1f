"""Closed loops: the rates of clients that never have more than so many commands in flight, and the response they meet.

For every target at once, the response time that fits the rates it leads to is found by Chandrupatla's method: inverse
quadratic interpolation where that is safe, bisection where it is not (T. R. Chandrupatla, "A new hybrid quadratic/
bisection algorithm for finding the zero of a nonlinear function without using derivatives", 1997).

Evidence: none. Assumed: that a target is one queue, and what it makes its commands wait.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.sums import Index, Numbers, added
from esxparse_simulator.model.targets import Asks, Columns, Misses

_FULL = 0.985  # utilisation the array's queueing formula is kept below
_STEPS = 100  # more than halving from ten minutes to below a nanosecond takes; a dozen is usual
_LONGEST_MS = 600_000.0
_SOONEST_MS = 1e-9
_CLOSE = 1e-13  # of the response: far below what any tool prints
_NONE = 1e-12  # commands per second that are as good as none: one in thirty thousand years


@dataclass(frozen=True, slots=True)
class Clients:
    """The flows that want anything, and what does not change while their rates are sought.

    `weights` [4, clients] at the wanted rates: reads, writes and MB per second, busy milliseconds of the array; `into`
    says where in [4, targets] each goes. `extra` milliseconds come on top of the target's response. `world` is the
    place of the client's (target, group) among those that have I/O, `allowed` [worlds] what each may have there.
    """

    flow: Index
    target: Index
    wanted: Numbers
    outstanding: Numbers
    extra: Numbers
    weights: Numbers
    into: Index
    world: Index
    allowed: Numbers
    limited: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Along the clients the part (0..1) of the wanted rate that is reached, and what the world's limit left of it.

    `waiting`, along the targets, are the milliseconds behind other commands.
    """

    rates: Numbers
    left: Numbers
    waiting: Numbers


def clients_of(layout: Layout, asks: Asks, of: Columns, misses: Misses, beside: Numbers) -> Clients:
    """Who takes part; `beside` (along the targets) is spent on a command neither in the array nor in a queue."""
    flow = np.flatnonzero(asks.reads + asks.writes > _NONE)
    target, reads, writes = layout.flow_target[flow], asks.reads[flow], asks.writes[flow]
    read_mb, write_mb = asks.read_kb[flow] / 1024.0, asks.write_kb[flow] / 1024.0
    service, speed = of.service_ms[target], of.mb_per_s[target]
    read_cost = service + read_mb / speed * 1000.0
    write_cost = service + write_mb / speed * 1000.0 + misses.write_cost[flow]
    wanted, world = reads + writes, layout.flow_use[flow]
    allowed = _allowed(layout, of, world)
    return Clients(
        flow=flow,
        target=target,
        wanted=wanted,
        outstanding=asks.outstanding[flow],
        extra=(reads * misses.read_ms[flow] + writes * misses.write_ms[flow]) / wanted + beside[target],
        weights=np.stack([reads, writes, reads * read_mb + writes * write_mb, reads * read_cost + writes * write_cost]),
        into=(np.arange(4)[:, None] * len(layout.targets) + target).ravel(),
        world=world,
        allowed=allowed,
        limited=bool(np.isfinite(allowed).any()),
    )


def _allowed(layout: Layout, of: Columns, world: Index) -> Numbers:
    """Commands each world may have in the device: limited only while others use the device too."""
    if not (of.world_queue_depth > 0.0).any() or not layout.uses:
        return np.full(len(layout.uses), np.inf)
    target = np.array(layout.uses, dtype=np.intp)[:, 0]
    active = np.bincount(world, minlength=len(target)) > 0
    sharing = added(active, target, len(of.world_queue_depth))
    depth = of.world_queue_depth[target]
    allowed: Numbers = np.where((depth > 0.0) & (sharing[target] > 1.0), depth, np.inf)
    return allowed


def found(clients: Clients, of: Columns, wire: Numbers) -> Found:
    """The rates that fit the responses; `wire` is what the network carries to each target, MB per second."""
    response = _response(clients, of, wire)
    rates, left = _rates(clients, response)
    waiting, base, _ = _waiting(clients, of, rates)
    # a full wire makes commands wait longer than the array does
    return Found(rates, left, np.where(np.isfinite(wire), np.maximum(waiting, response - base), waiting))


def _response(clients: Clients, of: Columns, wire: Numbers) -> Numbers:
    """Milliseconds, along the targets: what they answer in at the rates that this answer leads to."""

    def too_soon(guess: Numbers) -> Numbers:
        """Above zero where the rates at this guess lead to a longer response, or to more than the wire carries."""
        waiting, base, moved = _waiting(clients, of, _rates(clients, guess)[0])
        over = (moved / wire - 1.0) * guess
        return np.maximum(base + waiting - guess, np.where(wired, over, -np.inf))

    wired = np.isfinite(wire)
    # the longer the response, the lower the rates: what the soonest response leads to is the longest there can be
    near = np.maximum(_SOONEST_MS, np.minimum(of.read_ms, of.write_ms))
    first = too_soon(near)
    far = np.where(wired, _LONGEST_MS, np.minimum(_LONGEST_MS, near + np.maximum(0.0, first)))
    other, at_other = near, first
    guess, at_guess = far, too_soon(far)
    # beyond `far` nothing is looked for: what is still too soon there stays there
    settled = (at_guess >= 0.0) | (at_other <= 0.0)
    answer = np.where(at_other <= 0.0, near, far)
    part = np.full(len(wire), 0.5)
    for _ in range(_STEPS):
        tried = guess + part * (other - guess)
        value = too_soon(tried)
        same = (value > 0.0) == (at_guess > 0.0)
        third, at_third = np.where(same, guess, other), np.where(same, at_guess, at_other)
        other, at_other = np.where(same, other, guess), np.where(same, at_other, at_guess)
        guess, at_guess = tried, value
        # of the two ends, the one where rates are not too high
        answer = np.where(settled, answer, np.where(at_guess > 0.0, other, guess))
        width = np.abs(other - guess)
        settled = settled | (width <= 2.0 * _CLOSE * answer) | (at_guess == 0.0)
        if settled.all():
            break
        part = _next(guess, at_guess, other, at_other, third, at_third)
        least = np.minimum(0.5, _CLOSE * answer / np.where(width > 0.0, width, 1.0))
        part = np.minimum(1.0 - least, np.maximum(least, part))
    return answer


def _next(
    guess: Numbers, at_guess: Numbers, other: Numbers, at_other: Numbers, third: Numbers, at_third: Numbers
) -> Numbers:
    """How far (0..1) from `guess` to `other` to go: by the parabola through three points, or half of the way."""
    place = _ratio(guess - other, third - other)
    height = _ratio(at_guess - at_other, at_third - at_other)
    curved = (height * height < place) & ((1.0 - height) * (1.0 - height) < 1.0 - place)
    first = _ratio(at_guess, at_other - at_guess) * _ratio(at_third, at_other - at_third)
    second = _ratio(third - guess, other - guess) * _ratio(at_guess, at_third - at_guess)
    part: Numbers = np.where(curved, first + second * _ratio(at_other, at_third - at_other), 0.5)
    return part


def _ratio(value: Numbers, by: Numbers) -> Numbers:
    """Of any sign; zero where there is nothing to divide by."""
    return np.divide(value, by, out=np.zeros_like(value), where=by != 0.0)


def _rates(clients: Clients, response: Numbers) -> tuple[Numbers, Numbers]:
    meets = response[clients.target] + clients.extra
    rates = np.minimum(1.0, clients.outstanding * 1000.0 / meets / clients.wanted)
    left = np.ones_like(rates)
    if clients.limited:
        left = room_left(clients, clients.wanted * rates * meets / 1000.0)
        rates = rates * left
    return rates, left


def room_left(clients: Clients, in_flight: Numbers) -> Numbers:
    """The part (0..1) of what clients would have in the device that their worlds may have there."""
    inside = added(in_flight, clients.world, len(clients.allowed))
    part = np.divide(clients.allowed, inside, out=np.ones_like(inside), where=inside > clients.allowed)
    left: Numbers = part[clients.world]
    return left


def _waiting(clients: Clients, of: Columns, rates: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Milliseconds behind other commands at these rates, without them, and MB per second, along the targets.

    Behind others: service x rho / (1 - rho), ever steeper beyond `_FULL`.
    """
    count = len(of.read_ms)
    totals = added((clients.weights * rates).ravel(), clients.into, 4 * count)
    reads, writes, moved, busy = totals.reshape(4, count)
    commands = reads + writes
    some = np.where(commands > 0.0, commands, 1.0)
    rho = busy / 1000.0
    below = np.minimum(rho, _FULL)
    waiting = busy / some * below / (1.0 - below) * (1.0 + 400.0 * (rho - below))
    return waiting, (reads * of.read_ms + writes * of.write_ms) / some, moved
