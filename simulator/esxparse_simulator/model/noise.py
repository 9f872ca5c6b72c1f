"""Seeded noise that is the same on every machine.

Only `Generator.random` is drawn from: the stream of PCG64 and its scaling to [0, 1) are the same everywhere, while the
normal and exponential samplers go through the C library's logarithm. For the same reason the model around it uses only
+ - * / and the square root on floats, `bincount` and `math.fsum`: no exp, no sin, no array sums whose order depends on
the processor.

A label is a stream of its own, asked for alone or in one list of labels. Lists are served from tables drawn ahead, one
row for each draw; what a label gives does not depend on its company in the list, nor on how far ahead was drawn.

Tidy noise (`untidy` 0) is the same for all: small, with one memory. Untidy noise has a memory of its own for each
label, from none to minutes, heavy tails on both sides of a ratio, and bursts.

Evidence: a capture of 514 samples of a host of two PCPUs (coefficient of variation 0.6, kurtosis 4.4, no memory from
one sample to the next, one load that comes back every 15 seconds) and three samples of another. Assumed: the spread of
the memories, how often bursts come and how long they last.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from esxparse_simulator.model.sums import Numbers

_MEMORY = 0.55  # how much of the last value stays: neighbouring samples look alike, as in real captures
_DRAWS = 3  # uniform numbers that make one wobble
_TAIL = 0.12  # the smaller, the heavier the tails
_UNIT = 0.64  # brings what has tails back to a spread of 1
_OFTEN = 0.03  # bursts per second of the most restless
_LONGEST = 300.0  # seconds of a burst
_FIRST_ROWS = 12
_MOST_ROWS = 192
_AHEAD = 16  # wobbles that are made at once


@dataclass(slots=True)
class _Table:
    """Numbers drawn ahead for a list of labels: `rows` [draws, labels], of which `used` are gone.

    `ahead` are the wobbles (or factors) that come next, the last of them first.
    """

    streams: tuple[np.random.Generator, ...]
    rows: Numbers
    last: Numbers
    used: int = 0
    memory: Numbers | float = _MEMORY
    fresh: Numbers | float = 1.0 - _MEMORY
    left: Numbers | float = 0.0
    ahead: list[Numbers] = field(default_factory=list)

    def next(self, count: int) -> Numbers:
        """The next `count` rows."""
        if len(self.rows) - self.used < count:
            more = max(count, _FIRST_ROWS, min(_MOST_ROWS, 2 * len(self.rows)))
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
    untidy: float = 0.0
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
        """For each label a number around 0 that drifts or jumps; tidy, nearly always within -1..1."""
        table = self._table(labels)
        table.ahead = table.ahead or list(self._wandering(table))
        return table.ahead.pop()

    def factors(self, wobbles: Numbers, spread: Numbers | float) -> Numbers:
        """Factors around 1 of wobbles: untidy, as often so many times more as so many times less."""
        if not self.untidy:
            return np.maximum(0.0, 1.0 + spread * wobbles)
        far = self.untidy * spread * wobbles
        factors: Numbers = (far + np.sqrt(1.0 + far * far)) / (1.0 + 0.4 * spread * spread)
        return factors

    def around_each(self, labels: Sequence[str], values: Numbers | float, spread: Numbers | float) -> Numbers:
        """What `around` gives for each of the labels; one value for all or one for each.

        `spread` too, and for a list of labels it is always the same.
        """
        table = self._table(labels)
        table.ahead = table.ahead or list(self.factors(self._wandering(table), spread))
        return values * table.ahead.pop()

    def bursts_each(self, labels: Sequence[str], seconds: float) -> Numbers:
        """For each label how much more it asks for (0: no burst) over the next `seconds`; bursts begin within them."""
        table = self._table(labels)
        begins, lasts, high, part = table.next(4)
        if np.isscalar(table.left):
            table.memory, table.left = _OFTEN * begins * begins, np.zeros(len(begins))
        new = (table.left <= 0.0) & (begins < table.memory * seconds)
        table.left = np.where(new, np.minimum(_LONGEST, 8.0 * lasts / (1.02 - lasts)), table.left)
        table.last = np.where(new, 0.3 + 0.5 * high / (1.1 - high), table.last)
        covered = np.minimum(table.left, np.where(new, part, 1.0) * seconds)
        table.left = np.maximum(0.0, table.left - covered)
        return table.last * covered / seconds

    def counted(self, labels: Sequence[str], rates: Numbers, seconds: float) -> Numbers:
        """Rates per second of what comes in whole numbers, `labels` along their rows, one after another."""
        if not self.untidy:
            return rates
        counted: Numbers = np.floor(rates * seconds + self.uniform_each(labels).reshape(rates.shape)) / seconds
        return counted

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
                raise ValueError(f"a label of the noise is asked for in two ways: {key}")
            streams = tuple(self._stream(label) for label in key)
            self._tables[key] = _Table(streams, np.empty((0, len(key))), np.zeros(len(key)))
        return self._tables[key]

    def _wandering(self, table: _Table) -> Numbers:
        """The next wobbles, the last of them first: many at once cost little more than one."""
        draws = _DRAWS + 1 if self.untidy else _DRAWS
        first, second, third, *tail = table.next(_AHEAD * draws).reshape(_AHEAD, draws, -1).swapaxes(0, 1)
        if self.untidy and np.isscalar(table.memory):
            table.memory = 1.2 * tail[0][0] * tail[0][0] * tail[0][0] - 0.3
            table.fresh = _UNIT * np.sqrt(1.0 - table.memory * table.memory)
        steps: Numbers = table.fresh * ((first + second + third) * 2.0 - 3.0)
        if self.untidy:
            steps = steps / np.sqrt(_TAIL + (1.0 - _TAIL) * tail[0])
        for number in range(_AHEAD):
            steps[number] += table.memory * table.last
            table.last = steps[number].copy()
        return steps[::-1]
