"""Paths of devices: which adapter each goes through, and how much of its device's I/O it carries.

The paths that are alive take commands in turn; the dead ones are the last of a device. When none is alive, commands are
tried, and fail, on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.once import OncePerLayout

if TYPE_CHECKING:
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers


@dataclass(frozen=True, slots=True)
class Paths:
    """Along the paths, device after device: the device, the place among its paths, the adapter (-1: not listed)."""

    device: Index
    place: Index
    adapter: Index
    first: Index
    """[devices] where the paths of each begin."""
    count: Numbers
    """[devices] how many there are."""


def _make(layout: Layout) -> Paths:
    adapters = {adapter.name: place for place, adapter in enumerate(layout.scenario.adapters)}
    rows = [
        (number, place, adapters.get(path.partition(":")[0], -1))
        for number, device in enumerate(layout.scenario.devices)
        for place, path in enumerate(device.paths)
    ]
    device, place, adapter = (np.array([row[n] for row in rows], dtype=np.intp) for n in range(3))
    count = np.array([len(each.paths) for each in layout.scenario.devices], dtype=np.intp)
    first = np.array([int(device.searchsorted(number)) for number in range(len(count))], dtype=np.intp)
    return Paths(device, place, adapter, first, count.astype(np.float64))


paths_of = OncePerLayout(_make)
"""The paths of a layout."""


def shares(layout: Layout, alive: Numbers) -> Numbers:
    """The part (0..1) of its device's commands that each path carries; `alive` is along the targets."""
    paths = paths_of(layout)
    living = np.rint(alive[: len(paths.count)] * paths.count)
    carrying = np.where(living > 0.0, living, paths.count)
    return np.where(paths.place < carrying[paths.device], 1.0 / carrying[paths.device], 0.0)
