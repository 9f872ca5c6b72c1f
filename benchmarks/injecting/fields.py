"""Leaves counters out of a capture, as people do who choose fields: whole screens, or counters of a screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .stretch import generator

if TYPE_CHECKING:
    from .capture import Capture, Key
    from .situations import Situation

_WHOLE_SCREEN = 0.3
"""How often a screen is left out that the situation does not need."""
_ONE_COUNTER = 0.35
"""How often a counter of another screen is left out."""


def drop(capture: Capture, names: Iterable[str]) -> None:
    """Leave out objects, or counters as `object:counter`."""
    gone = set(names)
    _keep(
        capture,
        [key for key in capture.columns if key.object not in gone and f"{key.object}:{key.counter}" not in gone],
    )


def drop_half(capture: Capture, situation: Situation, seed: int) -> None:
    """Leave out about half of all counters, but none of those without which nobody could see the situation."""
    random = generator(seed, situation.id, "fields")
    needed = set(situation.shows)
    kinds = list(dict.fromkeys(key.object for key in capture.columns))
    gone = {kind for kind in kinds if random.random() < _WHOLE_SCREEN} - {one.partition(":")[0] for one in needed}
    pairs = list(dict.fromkeys((key.object, key.counter) for key in capture.columns))
    out = {f"{kind}:{counter}" for kind, counter in pairs if random.random() < _ONE_COUNTER}
    drop(capture, (gone | out) - needed)


def _keep(capture: Capture, keys: list[Key]) -> None:
    capture.columns = {key: capture.columns[key] for key in keys}
