"""Latencies as fio counts them: whole I/Os, whole units of time, and the bins of its histogram.

A direction that did N I/Os has the N latencies of `Sample`: the I/O of rank k takes what (k + 1/2) / N of the commands
do not pass, scaled so that the mean of the N is the mean asked for. All that fio prints is of the same I/Os.

Evidence: `plat_val_to_idx`, `plat_idx_to_val`, `calc_clat_percentiles`, `calc_lat`, `sum_stat` of fio's stat.c,
`io_u_mark_lat_*` of its io_u.c (2.1, 3.2x, 3.33).
Assumption: of one I/O, a long submission goes with a long completion (so that `lat` is their sum for each).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, sqrt

from esxparse_simulator.measured import SHAPES, Distribution

PERCENTILES = (1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)
"""fio's default `percentile_list`."""

_BITS = 6
_GROUP = 1 << _BITS


def bin_of(value: int, groups: int) -> int:
    """The bin a latency is counted in; the last for all that are longer.

    >>> [bin_of(value, 29) for value in (5, 127, 129, 130, 1 << 60)]
    [5, 127, 128, 129, 1855]
    """
    if value < 2 * _GROUP:
        return value
    shift = value.bit_length() - 1 - _BITS
    return min(((shift + 1) << _BITS) + (value >> shift) % _GROUP, groups * _GROUP - 1)


def bin_start(index: int) -> int:
    """The smallest latency of a bin."""
    if index < 2 * _GROUP:
        return index
    shift = (index >> _BITS) - 1
    return (_GROUP + index % _GROUP) << shift


def bin_middle(index: int) -> int:
    """What fio prints for a latency of a bin.

    >>> [bin_middle(index) for index in (5, 127, 128, 192)]
    [5, 127, 129, 258]
    """
    return (bin_start(index) + bin_start(index + 1)) // 2


@dataclass(frozen=True, slots=True)
class Moments:
    """What fio keeps of values: how many, extremes, mean, sum of squared deviations."""

    samples: int = 0
    minimum: int = 0
    maximum: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def stddev(self) -> float:
        """As fio estimates it."""
        return sqrt(self.squares / (self.samples - 1)) if self.samples > 1 else 0.0

    def merged(self, other: Moments) -> Moments:
        """Of the values of both."""
        if not self.samples or not other.samples:
            return self if self.samples else other
        samples = self.samples + other.samples
        apart = other.mean - self.mean
        return Moments(
            samples,
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
            (self.mean * self.samples + other.mean * other.samples) / samples,
            self.squares + other.squares + apart * apart * self.samples * other.samples / samples,
        )

    def added(self, other: Moments) -> Moments:
        """What fio 3 makes of rates of several jobs: a sum of everything, samples and deviations too."""
        if not self.samples or not other.samples:
            return self if self.samples else other
        return Moments(
            self.samples + other.samples,
            self.minimum + other.minimum,
            self.maximum + other.maximum,
            self.mean + other.mean,
            self.squares + other.squares,
        )

    @classmethod
    def of(cls, values: Sequence[int]) -> Moments:
        """Of these values."""
        if not values:
            return cls()
        mean = fsum(values) / len(values)
        return cls(
            len(values), min(values), max(values), mean, fsum((value - mean) * (value - mean) for value in values)
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """`number` latencies, by rank: straight lines between `knots` (part of the I/Os, latency)."""

    knots: tuple[tuple[float, float], ...]
    number: int

    @classmethod
    def of(cls, mean: float, shape: str, number: int) -> Sample:
        """`number` latencies of a shape whose mean is `mean`, in any unit that is to be whole."""
        spread = Distribution(1.0, shape)
        bare = cls(tuple((part, spread.quantile(part)) for part, _ in SHAPES[shape]), number)
        scale = mean / bare._mean()
        return cls(tuple((part, latency * scale) for part, latency in bare.knots), number)

    def plus(self, other: Sample) -> Sample:
        """The sums of both, rank by rank."""
        parts = sorted({part for part, _ in (*self.knots, *other.knots)})
        return Sample(tuple((part, self._at(part) + other._at(part)) for part in parts), self.number)

    def _at(self, part: float) -> float:
        for (low, first), (high, last) in pairwise(self.knots):
            if part <= high:
                return first + (last - first) * ((part - low) / (high - low))
        return self.knots[-1][1]

    def value(self, rank: int) -> int:
        """The latency of the I/O of a rank, from 0, in whole units."""
        return int(self._at((rank + 0.5) / self.number) + 0.5)

    def below(self, edge: int) -> int:
        """How many take less than `edge`."""
        wanted = edge - 0.5
        part = 0.0 if wanted < self.knots[0][1] else 1.0
        for (low, first), (high, last) in pairwise(self.knots):
            if first <= wanted < last:
                part = low + (high - low) * ((wanted - first) / (last - first))
        rank = int(part * self.number)
        while rank < self.number and self.value(rank) < edge:
            rank += 1
        while rank > 0 and self.value(rank - 1) >= edge:
            rank -= 1
        return rank

    def _runs(self) -> Iterable[tuple[int, float, float]]:
        """Ranks that are on one line: how many, and the first and last latency."""
        start = 0
        for (_, _), (high, _) in pairwise(self.knots):
            end = self.number if high >= 1.0 else min(self.number, int(high * self.number + 0.5))
            if end > start:
                yield end - start, self._at((start + 0.5) / self.number), self._at((end - 0.5) / self.number)
                start = end

    def _mean(self) -> float:
        return fsum(many * (first + last) / 2.0 for many, first, last in self._runs()) / self.number

    def moments(self, mean: float) -> Moments:
        """Of all of them; `mean` is theirs, as it was asked for."""
        squares = []
        for many, first, last in self._runs():
            step = (last - first) / (many - 1) if many > 1 else 0.0
            middle = (first + last) / 2.0 - mean
            squares.append(many * middle * middle + step * step * many * (many * many - 1.0) / 12.0)
        return Moments(self.number, self.value(0), self.value(self.number - 1), mean, fsum(squares))

    def bins(self, groups: int) -> dict[int, int]:
        """I/Os by bin, of those that have any."""
        last = bin_of(self.value(self.number - 1), groups)
        counted: dict[int, int] = {}
        so_far = 0
        for index in range(bin_of(self.value(0), groups), last + 1):
            up_to = self.number if index == last else self.below(bin_start(index + 1))
            if up_to > so_far:
                counted[index] = up_to - so_far
            so_far = up_to
        return counted


def percentiles(bins: Mapping[int, int]) -> list[int]:
    """The latency of each percentile: the middle of the first bin up to which there are that many I/Os."""
    total = sum(bins.values())
    found: list[int] = []
    so_far = 0
    for index in sorted(bins):
        so_far += bins[index]
        while len(found) < len(PERCENTILES) and so_far >= PERCENTILES[len(found)] / 100.0 * total:
            found.append(bin_middle(index))
    return found or [0] * len(PERCENTILES)
