"""When something lasted: runs of samples, joined over short gaps, and edges where the level leaves what is usual."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Values = NDArray[np.float64]

_OUTSIDE: Final = 5
_EDGE: Final = 0.12
"""An edge is where the level is this part of the way from outside to inside, or more where it is noisy:"""
_SPREADS: Final = 3.0
"""so many spreads outside."""
_NOISIEST: Final = 0.5
_MINOR: Final = 0.2
_LOST: Final = 0.4
_EXACT: Final = 1e-9


def runs(held: Mask) -> list[tuple[int, int]]:
    """First sample and the one after the last, of each run of samples that hold.

    >>> runs(np.array([False, True, True, False, True]))
    [(1, 3), (4, 5)]
    """
    steps = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(np.int8), [0]])))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


def joined(held: Mask, gap: int) -> Mask:
    """The same with gaps of at most so many samples filled.

    >>> joined(np.array([True, False, True, False, False, True]), 1).tolist()
    [True, True, True, False, False, True]
    """
    filled = held.copy()
    found = runs(held)
    for (_, stop), (start, _) in pairwise(found):
        if start - stop <= gap:
            filled[stop:start] = True
    return filled


def spell(held: Mask, persist: int, gap: int, level: Values | None = None, until: Values | None = None) -> Mask | None:
    """The samples of a trouble: what holds long enough, with its edges; None where nothing does.

    `held`: samples in which the trigger holds. `persist`: samples that a run has at least, gaps of up to `gap` samples
    filled. Runs much shorter than the longest are left out. `level`: the series whose rise or fall bounds it; `until`:
    the one that tells its end alone, where what a cause leaves behind lasts longer than it does.
    """
    core = joined(held, gap)
    found = [(start, stop) for start, stop in runs(core) if held[start:stop].sum() >= min(persist, held.size)]
    if not found:
        return None
    kept = np.zeros_like(core)
    for start, stop in _dense(found, held, level):
        kept[start:stop] = True
    kept = kept if level is None else _edges(kept, level, start=True)
    return kept if until is None else _edges(kept, until, start=False)


def _dense(found: list[tuple[int, int]], held: Mask, level: Values | None) -> list[tuple[int, int]]:
    """Where runs lie close together they are one; what is little beside the largest is left out.

    A sample counts as much as its level is of the usual one in the trouble, and as `_LOST` against where it does not
    hold: the parts of a sequence with the largest sums, after Ruzzo and Tompa 1999.
    """
    weight = held.astype(np.float64)
    if level is not None and np.isfinite(level[held]).any() and (then := np.nanmedian(np.abs(level[held]))) > 0:
        weight *= np.clip(np.nan_to_num(np.abs(level) / then, nan=1.0), 0.0, 2.0)
    parts: list[tuple[int, int, float]] = []
    for start, stop in found:
        parts.append((start, stop, float(weight[start:stop].sum())))
        while len(parts) > 1:
            (first, end, one), (begin, last, other) = parts[-2:]
            lost = _LOST * (begin - end)
            if lost > min(one, other):
                break
            parts[-2:] = [(first, last, one + other - lost)]
    most = max(score for _, _, score in parts)
    return [(start, stop) for start, stop, score in parts if score >= _MINOR * most]


def _edges(core: Mask, level: Values, *, start: bool) -> Mask:
    """Move the ends of each run, and with `start` its starts, to where the level leaves what it is outside."""
    near = joined(core, _OUTSIDE)
    inside, outside = level[core], level[~near]
    inside, outside = inside[~np.isnan(inside)], outside[~np.isnan(outside)]
    if not inside.size or outside.size < _OUTSIDE:
        return core
    usual, then = float(np.median(outside)), float(np.median(inside))
    if abs(then - usual) < _EXACT:
        return core
    spread = 1.4826 * float(np.median(np.abs(outside - usual)))
    edge = min(max(_EDGE, _SPREADS * spread / abs(then - usual)), _NOISIEST)
    beyond = np.nan_to_num((level - usual) / (then - usual), nan=0.0) >= edge
    made = core.copy()
    for begin, stop in runs(core):
        first, last = begin, stop
        while start and first > 0 and beyond[first - 1]:
            first -= 1
        while last < level.size and beyond[last]:
            last += 1
        if start and first == begin:
            while first < stop - 1 and not beyond[first] and not beyond[first : first + 2].all():
                first += 1
        if last == stop:
            while last > first + 1 and not beyond[last - 1] and not beyond[last - 2 : last].all():
                last -= 1
        made[begin:stop] = False
        made[first:last] = True
    return made
