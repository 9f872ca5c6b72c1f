"""Latencies as a distribution: one mean and one shape give every percentile, bin and draw that a tool prints.

A shape is a quantile function in multiples of the mean, straight between its knots. The shapes were chosen here for
plausible tails; no publication is behind them. Only + - * / and square roots are used, so that the same numbers come
out on every machine.

>>> latency = Distribution(2.0, "disk")
>>> round(latency.quantile(0.5), 3), round(latency.quantile(0.99), 3)
(1.448, 7.42)
>>> round(latency.share_below(latency.quantile(0.9)), 9)
0.9
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import fsum, sqrt

__all__ = ["SHAPES", "Distribution"]

Knots = tuple[tuple[float, float], ...]

SHAPES: dict[str, Knots] = {
    # A cache or memory: nearly all commands take the same time.
    "cached": ((0.0, 0.55), (0.5, 0.95), (0.9, 1.18), (0.99, 1.75), (0.999, 3.2), (0.9999, 6.0), (1.0, 14.0)),
    # A flash device under load.
    "flash": ((0.0, 0.3), (0.25, 0.7), (0.5, 0.9), (0.9, 1.6), (0.99, 2.9), (0.999, 6.5), (0.9999, 14.0), (1.0, 30.0)),
    # A spinning disk or an array of them, with its cache hits and its queue.
    "disk": ((0.0, 0.04), (0.25, 0.4), (0.5, 0.8), (0.9, 2.0), (0.99, 4.1), (0.999, 8.0), (0.9999, 13.0), (1.0, 20.0)),
}
"""Quantile functions by shape: (part of the commands, multiple of an unscaled mean), from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Latencies of mean `mean` (any unit of time; what comes out has the same) in one of the `SHAPES`."""

    mean: float
    shape: str = "disk"

    def quantile(self, part: float) -> float:
        """The latency that `part` (0..1) of the commands do not pass."""
        for (low, first), (high, last) in pairwise(_scaled(self.shape)):
            if part <= high:
                return self.mean * (first + (last - first) * (part - low) / (high - low))
        return self.maximum

    def share_below(self, latency: float) -> float:
        """The part (0..1) of the commands that take `latency` or less."""
        if self.mean <= 0.0:
            return 1.0
        wanted = latency / self.mean
        knots = _scaled(self.shape)
        if wanted < knots[0][1]:
            return 0.0
        for (low, first), (high, last) in pairwise(knots):
            if wanted <= last:
                return low + (high - low) * (wanted - first) / (last - first)
        return 1.0

    @property
    def minimum(self) -> float:
        """The shortest."""
        return self.quantile(0.0)

    @property
    def maximum(self) -> float:
        """The longest."""
        return self.mean * _scaled(self.shape)[-1][1]

    @property
    def stddev(self) -> float:
        """The standard deviation."""
        square = fsum(
            (high - low) * (first * first + first * last + last * last) / 3.0
            for (low, first), (high, last) in pairwise(_scaled(self.shape))
        )
        return self.mean * sqrt(max(0.0, square - 1.0))


@cache
def _scaled(shape: str) -> Knots:
    """The knots of a shape, scaled so that the mean of the whole is 1."""
    knots = SHAPES[shape]
    mean = fsum((high - low) * (first + last) / 2.0 for (low, first), (high, last) in pairwise(knots))
    return tuple((part, multiple / mean) for part, multiple in knots)
