"""What a tool measured before it is printed: latencies as distributions, repeated runs, results of load generators.

Rates are per second over the measured time, sizes in bytes, latencies in milliseconds. Only + - * / and square roots
are used, so that the same numbers come out on every machine.

>>> latency = Distribution(2.0, "disk")
>>> round(latency.quantile(0.5), 3), round(latency.quantile(0.99), 3)
(1.448, 7.42)
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from math import fsum

import numpy as np

from esxparse_simulator.limits import need, positive
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sums import Numbers

Knots = tuple[tuple[float, float], ...]

SHAPES: dict[str, Knots] = {
    # A cache or memory: nearly all commands take the same time.
    "cached": ((0.0, 0.55), (0.5, 0.95), (0.9, 1.18), (0.99, 1.75), (0.999, 3.2), (0.9999, 6.0), (1.0, 14.0)),
    # A flash device under load.
    "flash": ((0.0, 0.3), (0.25, 0.7), (0.5, 0.9), (0.9, 1.6), (0.99, 2.9), (0.999, 6.5), (0.9999, 14.0), (1.0, 30.0)),
    # A spinning disk or an array of them, with its cache hits and its queue.
    "disk": ((0.0, 0.04), (0.25, 0.4), (0.5, 0.8), (0.9, 2.0), (0.99, 4.1), (0.999, 8.0), (0.9999, 13.0), (1.0, 20.0)),
}
"""Quantile functions (part of the commands, multiple of an unscaled mean), chosen here for plausible tails."""


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
        wanted = latency / self.mean if self.mean > 0.0 else np.inf
        knots = _scaled(self.shape)
        if wanted < knots[0][1]:
            return 0.0
        for (low, first), (high, last) in pairwise(knots):
            if wanted <= last:
                return low + (high - low) * (wanted - first) / (last - first)
        return 1.0

    @property
    def maximum(self) -> float:
        """The longest."""
        return self.mean * _scaled(self.shape)[-1][1]


@cache
def _scaled(shape: str) -> Knots:
    """The knots of a shape, scaled so that the mean of the whole is 1."""
    knots = SHAPES[shape]
    mean = fsum((high - low) * (first + last) / 2.0 for (low, first), (high, last) in pairwise(knots))
    return tuple((part, multiple / mean) for part, multiple in knots)


@dataclass(frozen=True, slots=True)
class Access:
    """What was asked for: an access specification of Iometer, a job's options of fio."""

    name: str
    block_bytes: int
    read_pct: float = 100.0
    random_pct: float = 0.0
    outstanding: int = 1


@dataclass(frozen=True, slots=True)
class Side:
    """Reads or writes of one worker: I/Os per second of `block_bytes` each, and their latency in ms."""

    iops: float
    block_bytes: int
    latency: Distribution


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker (fio: job): its machine (`manager`), its disk, what each side got, percent of the machine's CPUs."""

    name: str
    manager: str
    disk: str
    read: Side | None
    write: Side | None
    cpu_pct: float = 10.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement: what was asked, when it began, how long it ramped up and was measured (s), and its workers."""

    access: Access
    start: datetime
    ramp_s: float
    seconds: float
    workers: tuple[Worker, ...]


def repeated(noise: Noise, label: str, mean: float, spread: float, repetitions: int) -> tuple[float, ...]:
    """`repetitions` values within about `spread` (relative, 0 to 0.5) of `mean`, which is exactly the mean of them all.

    >>> from esxparse_simulator.model.noise import Noise
    >>> [round(value, 2) for value in repeated(Noise(1), "redis", 100.0, 0.0, 3)]
    [100.0, 100.0, 100.0]
    """
    positive(f"the mean of {label}", mean)
    need(0.0 <= spread <= 0.5, f"the spread of {label} is relative, 0 to 0.5, not {spread!r}: 0.01 is 1 %")
    need(repetitions >= 1, f"{label} has {repetitions} repetitions: 1 or more are needed")
    drawn = [noise.uniform(label) * 2.0 - 1.0 for _ in range(repetitions)]
    middle = fsum(drawn) / repetitions
    return tuple(mean * (1.0 + spread * (value - middle)) for value in drawn)


def draws(seed: int, label: str, number: int, *block: int) -> Numbers:
    """`number` draws from [0, 1), the same on every machine; each label and block has its own."""
    words = [seed, zlib.crc32(label.encode()), *block]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))).random(number)
