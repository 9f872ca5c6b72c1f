"""What vscsiStats counts of a virtual disk, as values and how many commands had each: see `vscsistats`.

Limits, smallest, largest, mean and count of a histogram all come from the same whole values, so they agree with each
other whatever the shape. Only + - * / and square roots are used.
"""

from __future__ import annotations

from itertools import pairwise
from math import fsum, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from esxparse_simulator.distribution import Distribution

__all__ = ["Values", "closest", "distances", "drawn", "mixed", "runs", "spread"]

Values = tuple[tuple[int, int], ...]
"""(value, commands that had it), in any order."""

_STEPS: Final = 400
_ENDS: Final = (100, 10000)
"""Parts at both ends that are cut finer than the rest: that is where the smallest and the largest lie."""
_RUNS: Final = 64
_HALF: Final = 0.5
_BEFORE_MIDDLE: Final = 0.45
"""Jumps ahead and back are equally far on average, and not one for one."""


def mixed(shares: Sequence[tuple[int, float]], count: int) -> Values:
    """`count` commands with these values in these shares, whole ones whose sum is the count."""
    whole = sum(share for _, share in shares)
    below, passed = [0], 0.0
    for _, share in shares:
        passed += share
        below.append(round(count * passed / whole))
    return tuple(
        (value, high - low) for (value, _), (low, high) in zip(shares, pairwise(below), strict=True) if high > low
    )


def drawn(distribution: Distribution, count: int) -> Values:
    """`count` whole values of a distribution, with its mean."""
    parts = _strata(count)
    exact = [(distribution.quantile((low + high) / 2.0 / count), high - low) for low, high in parts]
    total = fsum(value * commands for value, commands in exact)
    # Values in the middle of their part of a bent curve miss its mean by little: all are moved alike.
    scale = distribution.mean * count / total if total else 0.0
    return _whole([(value * scale, commands) for value, commands in exact])


def spread(mean: float, either_side: float, count: int) -> Values:
    """`count` whole values evenly spread around a mean."""
    parts = _strata(count)
    return _whole([(mean + either_side * ((low + high) / count - 1.0), high - low) for low, high in parts])


def distances(count: int, span_blocks: int, following: Sequence[tuple[int, float]]) -> Values:
    """How far `count` commands begin from the end of the one before: `following` (distance, share), else anywhere."""
    return _with_jumps(count, following, lambda part: _jump(part) * span_blocks)


def closest(count: int, span_blocks: int, following: Sequence[tuple[int, float]], last: int) -> Values:
    """The same from the closest of the `last` commands (a power of 2), for those that do not follow on any of them."""
    return _with_jumps(count, following, lambda part: _near(part, last) * span_blocks)


def runs(blocks: int, share: float, sequential: float) -> list[tuple[int, float]]:
    """Distances between commands of one direction in a sequential stream of both, of which they are `share`.

    As many of the other as lie between two of them are skipped, `blocks` each.
    """
    found, between = [], share * sequential
    for skipped in range(_RUNS):
        if between <= 0.0:
            break
        found.append((1 + skipped * blocks, between))
        between *= (1.0 - share) * sequential
    return found


def _whole(values: Sequence[tuple[float, int]]) -> Values:
    """Whole values of the same sum: some of each part get the next lower, some the next higher."""
    found: list[tuple[int, int]] = []
    carried = 0.0
    for value, commands in values:
        wanted = value * commands + carried
        total = round(wanted)
        carried = wanted - total
        lower, higher = divmod(total, commands)
        found += [(lower, commands - higher), (lower + 1, higher)]
    return tuple((value, commands) for value, commands in found if commands)


def _with_jumps(count: int, following: Sequence[tuple[int, float]], jump: Callable[[float], float]) -> Values:
    rest = 1.0 - sum(share for _, share in following)
    near = mixed([*following, (0, max(0.0, rest))], count)
    jumps = count - sum(commands for value, commands in near if value)
    far = (
        [(round(jump((low + _BEFORE_MIDDLE * (high - low)) / jumps)), high - low) for low, high in _strata(jumps)]
        if jumps
        else []
    )
    return (*(pair for pair in near if pair[0]), *far)


def _jump(part: float) -> float:
    """The distance of two places anywhere, in parts of what they lie in, that `part` of all do not pass."""
    if part < _HALF:
        return sqrt(2.0 * part) - 1.0
    return 1.0 - sqrt(2.0 * (1.0 - part))


def _near(part: float, last: int) -> float:
    """The distance to the closest of so many places, in either direction, that `part` of all do not pass."""
    beyond = 1.0 - abs(2.0 * part - 1.0)
    while last > 1:
        beyond = sqrt(beyond)
        last //= 2
    return (1.0 - beyond) / 2.0 * (-1.0 if part < _HALF else 1.0)


def _strata(count: int) -> list[tuple[int, int]]:
    """Commands from..to, in the order of their values: few enough to be quick, single ones at both ends."""
    cuts = {0, 1, count - 1, count}
    for number in range(_STEPS + 1):
        cuts.add(count * number // _STEPS)
        for end in _ENDS:
            cuts |= {count * number // _STEPS // end, count - count * number // _STEPS // end}
    return [(low, high) for low, high in pairwise(sorted(cut for cut in cuts if cut >= 0)) if high > low]
