"""Seeded noise that is the same on every machine.

Only `Generator.random` is drawn from: the stream of PCG64 and its scaling to [0, 1) are the same everywhere, while the
normal and exponential samplers go through the C library's logarithm. For the same reason the model around it uses only
+ - * / and the square root on floats, `bincount` and `math.fsum`: no exp, no sin, no array sums whose order depends on
the processor.

A label is a stream of its own. Lists of labels are served from tables drawn ahead, one row for each draw; what a label
gives does not depend on the company it is asked for in, nor on how far ahead was drawn.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_MEMORY = 0.55  # how much of the last value stays: neighbouring samples look alike, as in real captures
_DRAWS = 3  # uniform numbers that make one wobble
_FIRST_ROWS = 12
_MOST_ROWS = 192


@dataclass(slots=True)
class _Table:
    """Numbers drawn ahead for a list of labels: `rows` [draws, labels], of which `used` are gone."""

    labels: tuple[str, ...]
    rows: Numbers
    last: Numbers
    used: int = 0

    @property
    def left(self) -> int:
        return len(self.rows) - self.used


@dataclass(slots=True)
class Noise:
    """Independent noise per label: a new VM in a scenario leaves the noise of the others as it was."""

    seed: int
    _streams: dict[str, np.random.Generator] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)
    _drawn: dict[str, list[float]] = field(default_factory=dict)
    """Numbers already drawn, last first, for labels that lost their table."""
    _tables: dict[tuple[str, ...], _Table] = field(default_factory=dict)
    _owners: dict[str, _Table] = field(default_factory=dict)

    def uniform(self, label: str) -> float:
        """A number in [0, 1), evenly spread, without memory."""
        if label in self._owners:
            self._give_up(self._owners[label])
        drawn = self._drawn.get(label)
        return drawn.pop() if drawn else float(self._stream(label).random())

    def wobble(self, label: str) -> float:
        """A number around 0, nearly always within -1..1, that drifts rather than jumps."""
        fresh = (self.uniform(label) + self.uniform(label) + self.uniform(label)) * 2.0 - 3.0
        value = _MEMORY * self._last.get(label, 0.0) + (1.0 - _MEMORY) * fresh
        self._last[label] = value
        return value

    def around(self, label: str, value: float, spread: float) -> float:
        """`value` with noise of relative size `spread` on it, never below zero."""
        return max(0.0, value * (1.0 + spread * self.wobble(label)))

    def uniform_each(self, labels: Sequence[str]) -> Numbers:
        """What `uniform` gives for each of the labels, one after another."""
        table = self._table(labels)
        if table is None:
            return np.array([self.uniform(label) for label in labels], dtype=np.float64)
        drawn: Numbers = self._next(table, 1)[0].copy()
        return drawn

    def wobble_each(self, labels: Sequence[str]) -> Numbers:
        """What `wobble` gives for each of the labels."""
        table = self._table(labels)
        if table is None:
            return np.array([self.wobble(label) for label in labels], dtype=np.float64)
        first, second, third = self._next(table, _DRAWS)
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

    def _table(self, labels: Sequence[str]) -> _Table | None:
        """The table of a list of labels; None when one label is in it twice, so that order matters."""
        key = tuple(labels)
        table = self._tables.get(key)
        if table is not None:
            return table
        if len(set(key)) < len(key):
            return None
        for owner in {id(table): table for table in map(self._owners.get, key) if table is not None}.values():
            self._give_up(owner)
        last = np.array([self._last.get(label, 0.0) for label in key], dtype=np.float64)
        table = self._tables[key] = _Table(key, np.empty((0, len(key))), last)
        self._owners |= dict.fromkeys(key, table)
        return table

    def _give_up(self, table: _Table) -> None:
        """Let the labels of a table go again, each with what was drawn ahead for it."""
        ahead = table.rows[table.used :][::-1].T.tolist()
        for label, drawn, last in zip(table.labels, ahead, table.last.tolist(), strict=True):
            self._drawn[label] = [*self._drawn.get(label, ()), *drawn]
            self._last[label] = last
            del self._owners[label]
        del self._tables[table.labels]

    def _next(self, table: _Table, count: int) -> Numbers:
        """The next `count` rows of a table."""
        if table.left < count:
            more = max(_FIRST_ROWS, min(_MOST_ROWS, 2 * len(table.rows)))
            fresh = np.empty((len(table.labels), more))
            for row, label in zip(fresh, table.labels, strict=True):
                self._draw(row, label)
            table.rows = np.concatenate([table.rows[table.used :], fresh.T])
            table.used = 0
        table.used += count
        return table.rows[table.used - count : table.used]

    def _draw(self, row: Numbers, label: str) -> None:
        drawn = self._drawn.pop(label, None)
        if not drawn:
            self._stream(label).random(out=row)
            return
        for place in range(len(row)):
            row[place] = drawn.pop() if drawn else self._stream(label).random()
        if drawn:
            self._drawn[label] = drawn
