"""Spells: runs of samples, joined over short gaps, with edges at which the level leaves its usual value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Values = NDArray[np.float64]

_OUTSIDE: Final = 5
"""Gaps up to this many samples belong to a trouble; as many samples outside define the usual level."""
_AFTER: Final = 30
"""Samples after a trouble that show its end: its aftermath may take long to go."""
_EDGE: Final = 0.03
"""At an edge the level has come this part of the way from outside to inside, or further if it is noisy:"""
_SPREADS: Final = 3.0
"""this many spreads outside."""
_NOISIEST: Final = 0.5
_MINOR: Final = 0.25
_LOST: Final = 0.4
_FAINT: Final = 0.4
"""An end of a run is dropped if it has less than this part of the weight of samples inside and outside together."""
_EXACT: Final = 1e-9


def runs(mask: Mask) -> list[tuple[int, int]]:
    """Return the first sample and the one after the last, of each run of samples that hold.

    >>> runs(np.array([False, True, True, False, True]))
    [(1, 3), (4, 5)]
    """
    steps = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


def joined(mask: Mask, gap: int) -> Mask:
    """Fill gaps of at most so many samples.

    >>> joined(np.array([True, False, True, False, False, True]), 1).tolist()
    [True, True, True, False, False, True]
    """
    filled = mask.copy()
    found = runs(mask)
    for (_, stop), (start, _) in pairwise(found):
        if start - stop <= gap:
            filled[stop:start] = True
    return filled


def episodes(mask: Mask, gap: int, persist: float, weight: Values | None = None) -> list[tuple[int, int, int]]:
    """Return column, first sample and the one after the last of all runs that are long enough, joined over gaps.

    `weight`: for how many samples each counts; 1 by default.

    >>> episodes(np.array([[True, False], [False, False], [True, True]]), 1, 2)
    [(0, 0, 3)]
    """
    # One column after the other, further apart than the gaps that are joined.
    wide = mask.shape[0] + gap + 1
    line = np.zeros((mask.shape[1], wide), dtype=np.int8)
    line[:, : mask.shape[0]] = mask.T
    steps = np.flatnonzero(np.diff(line.reshape(-1), prepend=0))
    starts, stops = steps[::2], steps[1::2]
    apart = starts[1:] - stops[:-1] > gap
    first, last = np.append(True, apart), np.append(apart, True)
    total = np.arange(wide) if weight is None else np.concatenate([[0.0], np.cumsum(weight)])
    lasted = total[stops - starts // wide * wide] - total[starts % wide]
    counts = np.add.reduceat(lasted, np.flatnonzero(first)) if starts.size else starts
    place, start = np.divmod(starts[first[: starts.size]], wide)
    stop = stops[last[: stops.size]] - place * wide
    long = counts >= persist
    return list(zip(place[long].tolist(), start[long].tolist(), stop[long].tolist(), strict=True))


def spell(
    triggered: Mask,
    persist: int,
    gap: int,
    level: Values | None = None,
    since: Values | None = None,
    until: Values | None = None,
) -> Mask | None:
    """Return the samples of a trouble, with its edges; None if the trigger never holds long enough.

    `triggered`: samples in which the trigger holds. `persist`: samples that a run has at least, gaps of up to `gap`
    samples filled; shorter ones count beside it. Runs much lighter than the heaviest are left out. `level`: the series
    whose rise or fall bounds it; `since`: the series that shows it first; `until`: the series that alone shows its end,
    if the aftermath lasts longer than the cause, or less long.
    """
    core = joined(triggered, gap)
    found = runs(core)
    if max((triggered[start:stop].sum() for start, stop in found), default=0) < max(1, min(persist, triggered.size)):
        return None
    weight = triggered.astype(np.float64) if level is None else triggered * _rise(level, triggered)
    kept = _of(_dense(found, weight), triggered.size)
    if level is not None:
        # Twice each: samples that the first step removes or adds count for the other side in the second.
        kept = _trimmed(_trimmed(kept, weight), weight)
        kept = _begun(_begun(_ended(kept, level), level), level)
    kept = kept if since is None else _begun(_begun(kept, since), since)
    return kept if until is None else _ended(kept, until)


def _of(found: Iterable[tuple[int, int]], size: int) -> Mask:
    made = np.zeros(size, dtype=np.bool_)
    for start, stop in found:
        made[start:stop] = True
    return made


def _rise(level: Values, triggered: Mask) -> Values:
    """Return how far a level has come, from its value outside (0) to the usual one while triggered (1); 2 at most."""
    then, outside = _known(level[triggered]), _known(level[~joined(triggered, _OUTSIDE)])
    usual = _median(outside) if outside.size >= _OUTSIDE else 0.0
    way = _median(then) - usual if then.size else 0.0
    if abs(way) < _EXACT:
        return np.ones(level.size)
    return np.clip(np.nan_to_num((level - usual) / way, nan=1.0), 0.0, 2.0)


def _known(level: Values) -> Values:
    return level[~np.isnan(level)]


def _median(known: Values) -> float:
    """Return the same as `np.median`, for numbers without gaps: twice as fast for a few hundred."""
    half = known.size // 2
    places = [half] if known.size % 2 else [half - 1, half]
    return float(np.partition(known, places)[places].sum()) / len(places)


def _dense(found: list[tuple[int, int]], weight: Values) -> list[tuple[int, int]]:
    """Join runs that lie close together, and leave out the ones that are small beside the largest.

    A sample counts with its weight, and as `_LOST` against if there is no run: the parts of a sequence with the largest
    sums, after Ruzzo and Tompa 1999.
    """
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


def _trimmed(core: Mask, weight: Values) -> Mask:
    """Remove ends of runs that hardly differ from outside: within a trouble its trigger holds more often."""
    if core.all():
        return core
    faint = _FAINT * (weight[core].mean() + weight[~core].mean())
    made = []
    for start, stop in runs(core):
        total = np.concatenate([[0.0], np.cumsum(weight[start:stop] - faint)])
        last = int((total - np.minimum.accumulate(total)).argmax())
        made.append((start + int(total[: last + 1].argmin()), start + last))
    return _of(made, core.size)


def _begun(core: Mask, level: Values) -> Mask:
    """Move the start of each run to the sample at which the level leaves its earlier value."""
    outside, made = ~joined(core, _OUTSIDE), []
    for start, stop in runs(core):
        before = level[:start][outside[:start]]
        beyond = _beyond(level, core, (before, level[outside]), _spread)
        made.append((start if beyond is None else _first(beyond, start, stop), stop))
    return _of(made, core.size)


def _ended(core: Mask, level: Values) -> Mask:
    """Move the end of each run to the sample at which the level is back at its later value."""
    outside, made = ~joined(core, _OUTSIDE), []
    for start, stop in runs(core):
        after = _known(level[stop:][outside[stop:]])[:_AFTER]
        beyond = _beyond(level, core, (after, level[outside]), _steps)
        # Backwards an end is a start.
        first = level.size - stop
        first = first if beyond is None else _first(beyond[::-1], first, level.size - start)
        made.append((start, level.size - first))
    return _of(made, core.size)


def _beyond(level: Values, core: Mask, outside: Iterable[Values], spread: Callable[[Values], float]) -> Mask | None:
    """Return samples in which the level has left its value outside for its value inside; None if they hardly differ.

    `outside`: the samples to compare with; the second is used if the first does not decide.
    """
    inside = _known(level[core])
    for usual in map(_known, outside):
        if inside.size and usual.size >= _OUTSIDE:
            middle = _median(usual)
            way = _median(inside) - middle
            noise = _SPREADS * spread(usual)
            if abs(way) >= max(_EXACT, noise):
                edge = min(max(_EDGE, noise / abs(way)), _NOISIEST)
                return np.nan_to_num((level - middle) / way, nan=0.0) >= edge
    return None


def _spread(level: Values) -> float:
    """Return the median deviation from the median, scaled to a normal distribution."""
    return 1.4826 * _median(np.abs(level - _median(level)))


def _steps(level: Values) -> float:
    """Return the smaller of the spread and the spread of steps, so that a slow drift back does not hide an edge."""
    return min(_spread(level), _spread(np.diff(level)) / 2**0.5)


def _first(beyond: Mask, start: int, stop: int) -> int:
    """Move a start back to the beginning of the samples beyond, or forward to the next of them."""
    first = start
    while first > 0 and beyond[first - 1]:
        first -= 1
    if first == start:
        while first < stop - 1 and not beyond[first]:
            first += 1
    return first
