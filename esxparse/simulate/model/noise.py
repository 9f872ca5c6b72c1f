"""Seeded noise that is the same on every machine.

Only `Generator.random` is drawn from: the stream of PCG64 and its scaling to [0, 1) are the same everywhere, while the
normal and exponential samplers go through the C library's logarithm. For the same reason the model around it uses only
+ - * / on Python floats and `math.fsum`: no exp, no sin, no array sums whose order depends on the processor.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Noise"]

_MEMORY = 0.55  # how much of the last value stays: neighbouring samples look alike, as in real captures


@dataclass(slots=True)
class Noise:
    """Independent noise per label: a new VM in a scenario leaves the noise of the others as it was."""

    seed: int
    _streams: dict[str, np.random.Generator] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)

    def uniform(self, label: str) -> float:
        """A number in [0, 1), evenly spread, without memory."""
        stream = self._streams.get(label)
        if stream is None:
            words = [self.seed, zlib.crc32(label.encode())]
            stream = self._streams[label] = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
        return float(stream.random())

    def wobble(self, label: str) -> float:
        """A number around 0, nearly always within -1..1, that drifts rather than jumps."""
        fresh = (self.uniform(label) + self.uniform(label) + self.uniform(label)) * 2.0 - 3.0
        value = _MEMORY * self._last.get(label, 0.0) + (1.0 - _MEMORY) * fresh
        self._last[label] = value
        return value

    def around(self, label: str, value: float, spread: float) -> float:
        """`value` with noise of relative size `spread` on it, never below zero."""
        return max(0.0, value * (1.0 + spread * self.wobble(label)))
