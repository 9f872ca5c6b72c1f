"""Latencies of redis-benchmark as it counts them: old ones in whole milliseconds, new ones in an HDR histogram.

Evidence: hdr_histogram.c as Redis 6.2 to 7.0 has it (10 us to 3 s, three digits: bins of 8 us below 16.384 ms, which
double in width with every doubling after), its iterators by percentile and by latency, and the loop over sorted
latencies of redis-benchmark 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse_simulator.distribution import Distribution

__all__ = ["NEW_SHARES", "Counts", "counted", "old_counts"]

NEW_SHARES: Final = (50.0, 95.0, 99.0)
_UNIT_US: Final = 8
_HALF: Final = 1024
_LONGEST_US: Final = 3_000_000
_FINE_US: Final = 100
_COARSE_US: Final = 1000
_FINE_UNTIL_US: Final = 2000
_ALL: Final = 100.0


def _width(microseconds: int) -> int:
    """The width of the bin that a latency falls into."""
    width = _UNIT_US
    while microseconds >= 2 * _HALF * width:
        width *= 2
    return width


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests by latency: the bounds of the bins that hold some (us, from and to, both within), and how many."""

    bins: tuple[tuple[int, int, int], ...]
    """(from, to, requests up to there)."""

    @property
    def total(self) -> int:
        """All requests."""
        return self.bins[-1][2]

    @property
    def lowest_ms(self) -> float:
        """The shortest latency, ms: the lower bound of its bin."""
        return self.bins[0][0] / 1000.0

    @property
    def highest_ms(self) -> float:
        """The longest, ms: the upper bound of its bin."""
        return self.bins[-1][1] / 1000.0

    def at(self, share: float) -> float:
        """The latency that `share` percent do not pass, ms."""
        wanted = max(1, int(share / _ALL * self.total + 0.5))
        return next(to for _, to, so_far in self.bins if so_far >= wanted) / 1000.0

    def by_percentile(self) -> Iterator[tuple[float, float, int]]:
        """Percent, latency (ms) and count: 0, 50, 75, 87.5 % ... as far as there are requests between, then 100 %."""
        step, before = 0.0, -1
        for _, to, so_far in self.bins:
            while step <= _ALL * so_far / self.total:
                if so_far != before:
                    yield step, to / 1000.0, so_far
                before = so_far
                step = _next_step(step)
                if so_far == self.total:
                    break
        yield _ALL, self.highest_ms, self.total

    def by_latency(self) -> Iterator[tuple[float, float, int]]:
        """Percent, latency (ms) and count: every 0.1 ms up to 2 ms, then every millisecond; only where it changes."""
        bound, step = _FINE_US, _FINE_US
        place, before = 0, -1
        while True:
            while place < len(self.bins) and self.bins[place][0] <= bound:
                place += 1
            so_far = self.bins[place - 1][2] if place else 0
            highest = _highest_equivalent(bound)
            if so_far != before or so_far == self.total:
                yield _ALL * so_far / self.total, highest / 1000.0, so_far
            if so_far == self.total:
                return
            before = so_far
            bound += step
            if highest > _FINE_UNTIL_US:
                step = _COARSE_US


def _next_step(step: float) -> float:
    """The next percentage of hdr_iter_percentile with one tick per halving of what is left."""
    halvings = 1
    left = _ALL - step
    while left * (1 << halvings) <= _ALL:
        halvings += 1
    return step + _ALL / (1 << halvings)


def _highest_equivalent(microseconds: int) -> int:
    """The last latency that is counted as this one, us."""
    width = _width(microseconds)
    return microseconds // width * width + width - 1


def counted(latency: Distribution, requests: int) -> Counts:
    """So many requests of these latencies (ms), counted as Redis 6.2 to 7.0 does."""
    bins: list[tuple[int, int, int]] = []
    before, place = 0, 0
    while before < requests and place < _LONGEST_US:
        width = _width(place)
        so_far = min(requests, round(requests * latency.share_below((place + width) / 1000.0)))
        if so_far > before:
            bins.append((place, place + width - 1, so_far))
            before = so_far
        place += width
    if before < requests:
        # Above three seconds the program counts three.
        start = _LONGEST_US // _width(_LONGEST_US) * _width(_LONGEST_US)
        bins.append((start, _highest_equivalent(_LONGEST_US), requests))
    return Counts(tuple(bins))


def old_counts(latency: Distribution, requests: int) -> Iterator[tuple[float, int]]:
    """Percent and milliseconds of each line of redis-benchmark 2.8.

    It goes through the sorted latencies, and prints a line at the first of each new millisecond and at the last: the
    percentage counts that one.
    """
    longest = int(latency.maximum)
    shown, last = 0, 0
    below = 0
    for milliseconds in range(longest + 1):
        following = requests if milliseconds == longest else round(requests * latency.share_below(milliseconds + 1.0))
        if following > below:
            last = milliseconds
            if milliseconds:
                shown = below + 1
                yield _share(shown, requests), milliseconds
        below = following
    if shown < requests:
        yield _share(requests, requests), last


def _share(count: int, requests: int) -> float:
    return float(np.float32(count) * np.float32(100.0) / np.float32(requests))
