"""Rows of `Vcpu` and `Group Cpu` for a release whose groups are not the model's.

World times still sum to 100 and a group is still the sum of its worlds: times and rates add up, what is left of 100 is
% Wait, and settings are those of the first world or group that a row stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse_simulator.esxtop.groups import Groups
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers

Rows = dict[str, "Numbers | float"]

_STATES = ("% Run", "% Ready", "% CoStop")  # what is left of 100 is % Wait
_SUMMED = (
    "% Used",
    "% Run",
    "% System",
    "% Wait",
    "% Ready",
    "% Idle",
    "% Overlap",
    "% CoStop",
    "% Max Limited",
    "% Swap Wait",
    "Switches/sec",
    "Migrates/sec",
    "Quantum Expires/sec",
    "Wakeups/sec",
    "% CPU Latency",
    "% Memory Latency",
    "% Demand",
)
_SUMMED_GROUPS = ("Timers/sec", "Power Usage Watts")  # of which worlds know nothing


@dataclass(frozen=True, slots=True)
class Regrouping:
    """How rows of the model's worlds and groups become printed ones, worked out once for a capture."""

    model_worlds: int
    model_groups: int
    worlds: int
    groups: int
    from_worlds: Index
    into_worlds: Index
    first_world: Index
    made: Index
    group_of: Index
    from_groups: Index
    into_groups: Index
    first_group: Index
    members: Numbers


def regrouping(layout: Layout, groups: Groups) -> Regrouping:
    """Index arrays of `regrouped`."""
    worlds = list(groups.worlds())
    printed = groups.printed
    links = [(place, source) for place, world in enumerate(worlds) for source in world.of]
    owners = [place for place, group in enumerate(printed) for _ in group.worlds]
    group_links = [(place, source) for place, group in enumerate(printed) for source in group.of]
    # a group of no other (1:idle) shows the settings of the group it was part of, the first
    return Regrouping(
        model_worlds=len(layout.worlds),
        model_groups=len(layout.groups),
        worlds=len(worlds),
        groups=len(printed),
        from_worlds=_index([source for _, source in links]),
        into_worlds=_index([place for place, _ in links]),
        first_world=_index(
            [world.of[0] if world.of else worlds[place - 1].of[0] for place, world in enumerate(worlds)]
        ),
        made=_index([place for place, world in enumerate(worlds) if len(world.of) != 1]),
        group_of=_index(owners),
        from_groups=_index([source for _, source in group_links]),
        into_groups=_index([place for place, _ in group_links]),
        first_group=_index([group.of[0] if group.of else 0 for group in printed]),
        members=np.array([len(group.worlds) for group in printed], dtype=np.float64),
    )


def regrouped(how: Regrouping, worlds: Rows, groups: Rows) -> tuple[Rows, Rows]:
    """Rows of `Vcpu` and `Group Cpu` as printed, of the model's."""
    vcpu: Rows = {}
    for name, value in worlds.items():
        values = _wide(value, how.model_worlds)
        vcpu[name] = (
            _summed(values[how.from_worlds], how.into_worlds, how.worlds)
            if name in _SUMMED
            else values[how.first_world]
        )
    if len(how.made) and "% Wait" in vcpu:
        run, ready, costop = (_wide(vcpu.get(name, 0.0), how.worlds) for name in _STATES)
        # several worlds may have run or been ready at once, the one that stands for them did so but once
        run[how.made] = np.minimum(run, 100.0 - costop)[how.made]
        ready[how.made] = np.minimum(ready, 100.0 - run - costop)[how.made]
        _wide(vcpu["% Wait"], how.worlds)[how.made] = (100.0 - run - ready - costop)[how.made]
    group: Rows = {}
    for name, value in groups.items():
        if name in _SUMMED and name in vcpu:
            group[name] = _summed(_wide(vcpu[name], how.worlds), how.group_of, how.groups)
        elif name in _SUMMED_GROUPS:
            values = _wide(value, how.model_groups)
            group[name] = _summed(values[how.from_groups], how.into_groups, how.groups)
        else:
            group[name] = _wide(value, how.model_groups)[how.first_group]
    return vcpu, {**group, "Members": how.members}


def _wide(value: Numbers | float, count: int) -> Numbers:
    return np.full(count, value) if isinstance(value, float) else value


def _index(places: Sequence[int]) -> Index:
    return np.array(places, dtype=np.intp)


def _summed(values: Numbers, into: Index, count: int) -> Numbers:
    return np.bincount(into, weights=values, minlength=count).astype(np.float64)
