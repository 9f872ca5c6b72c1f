"""Seeded noise that is the same on every machine.

Only `Generator.random` is drawn from: the stream of PCG64 and its scaling to [0, 1) are the same everywhere, while the
normal and exponential samplers go through the C library's logarithm. For the same reason the model around it uses only
+ - * / and the square root on floats, `bincount` and `math.fsum`: no exp, no sin, no array sums whose order depends on
the processor.

A label is a stream of its own, asked for alone or in one list of labels. Lists are served from tables drawn ahead, one
row for each draw; what a label gives does not depend on its company in the list, nor on how far ahead was drawn.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse_simulator.model.sums import Numbers

_MEMORY = 0.55  # how much of the last value stays: neighbouring samples look alike, as in real captures
_DRAWS = 3  # uniform numbers that make one wobble
_FIRST_ROWS = 12
_MOST_ROWS = 192


@dataclass(slots=True)
class _Table:
    """Numbers drawn ahead for a list of labels: `rows` [draws, labels], of which `used` are gone."""

    streams: tuple[np.random.Generator, ...]
    rows: Numbers
    last: Numbers
    used: int = 0

    def next(self, count: int) -> Numbers:
        """The next `count` rows."""
        if len(self.rows) - self.used < count:
            more = max(_FIRST_ROWS, min(_MOST_ROWS, 2 * len(self.rows)))
            fresh = np.empty((len(self.streams), more))
            for row, stream in zip(fresh, self.streams, strict=True):
                stream.random(out=row)
            self.rows = np.concatenate([self.rows[self.used :], fresh.T])
            self.used = 0
        self.used += count
        return self.rows[self.used - count : self.used]


@dataclass(slots=True)
class Noise:
    """Independent noise per label: a new VM in a scenario leaves the noise of the others as it was."""

    seed: int
    _streams: dict[str, np.random.Generator] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)
    _tables: dict[tuple[str, ...], _Table] = field(default_factory=dict)

    def uniform(self, label: str) -> float:
        """A number in [0, 1), evenly spread, without memory."""
        return float(self._stream(label).random())

    def around(self, label: str, value: float, spread: float) -> float:
        """`value` with noise of relative size `spread` on it, never below zero; it drifts rather than jumps."""
        fresh = (self.uniform(label) + self.uniform(label) + self.uniform(label)) * 2.0 - 3.0
        last = self._last[label] = _MEMORY * self._last.get(label, 0.0) + (1.0 - _MEMORY) * fresh
        return max(0.0, value * (1.0 + spread * last))

    def uniform_each(self, labels: Sequence[str]) -> Numbers:
        """A number in [0, 1) for each of the labels."""
        drawn: Numbers = self._table(labels).next(1)[0].copy()
        return drawn

    def wobble_each(self, labels: Sequence[str]) -> Numbers:
        """For each label a number around 0, nearly always within -1..1, that drifts rather than jumps."""
        table = self._table(labels)
        first, second, third = table.next(_DRAWS)
        fresh = (first + second + third) * 2.0 - 3.0
        table.last = _MEMORY * table.last + (1.0 - _MEMORY) * fresh
        return table.last.copy()

    def around_each(self, labels: Sequence[str], values: Numbers | float, spread: Numbers | float) -> Numbers:
        """What `around` gives for each of the labels; `values` and `spread` are one for all or one for each."""
        noisy: Numbers = np.maximum(0.0, values * (1.0 + spread * self.wobble_each(labels)))
        return noisy

    def _stream(self, label: str) -> np.random.Generator:
        stream = self._streams.get(label)
        if stream is None:
            words = [self.seed, zlib.crc32(label.encode())]
            stream = self._streams[label] = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
        return stream

    def _table(self, labels: Sequence[str]) -> _Table:
        key = tuple(labels)
        if key not in self._tables:
            if len(set(key)) < len(key) or not self._streams.keys().isdisjoint(key):
                # What was drawn ahead for one list would be missing in the other.
                msg = f"a label of the noise is asked for in two ways: {key}"
                raise ValueError(msg)
            streams = tuple(self._stream(label) for label in key)
            self._tables[key] = _Table(streams, np.empty((0, len(key))), np.zeros(len(key)))
        return self._tables[key]
