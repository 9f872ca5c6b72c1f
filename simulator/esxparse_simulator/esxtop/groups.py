"""The groups and worlds of a host as one release prints them, and their rows of `Vcpu` and `Group Cpu`.

Most releases print the groups of the model. Some have fewer, or others, which stand for some of the model's:

* idle worlds in a group of their own (up to 6.0);
* a service console, one world, in place of hostd, vpxa and esxtop (up to 4.1);
* network and SCSI worlds of a VM in its vmx world, and a world beside each vCPU's that only waits (3.5).

World times still sum to 100 and a group is still the sum of its worlds: times and rates add up, what is left of 100 is
% Wait, and settings are those of the first world or group that a row stands for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from esxparse_simulator.esxtop.host_rows import SUMMED, TIMES, Part, part
from esxparse_simulator.esxtop.releases import Release
from esxparse_simulator.model.layout import Group, Layout
from esxparse_simulator.model.sums import Numbers, added_rows, index


@dataclass(frozen=True, slots=True)
class PrintedWorld:
    """A world: its id and name, and the places of the model's worlds it stands for (none: it only waits)."""

    number: int
    label: str
    of: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PrintedGroup:
    """A group: id, name, worlds, and the places of the model's groups it stands for.

    `leader` is the id that ports and disks carry; `own` groups have no row of memory.
    """

    gid: int
    name: str
    leader: int
    worlds: tuple[PrintedWorld, ...]
    of: tuple[int, ...]
    own: bool
    vm: bool


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups of a release, and for each of the model's which of them it is (-1: none)."""

    printed: tuple[PrintedGroup, ...]
    by_source: tuple[int, ...]
    as_they_are: bool

    def worlds(self) -> Iterator[PrintedWorld]:
        """All worlds, group after group."""
        for group in self.printed:
            yield from group.worlds


def groups_of(layout: Layout, release: Release) -> Groups:
    """The groups `release` prints of a host."""
    printed = tuple(_console(_all(layout, release), release))
    by_source = [-1] * len(layout.groups)
    for place, group in enumerate(printed):
        for source in group.of:
            by_source[source] = place
    plain = [(place,) for place in range(len(layout.worlds))]
    same = [world.of for group in printed for world in group.worlds] == plain
    return Groups(printed, tuple(by_source), same and len(printed) == len(layout.groups))


def _all(layout: Layout, release: Release) -> Iterator[PrintedGroup]:
    base, first = release.first_world, 0
    after = 1 + max(world.number for world in layout.worlds)  # ids of worlds the model does not have
    for place, group in enumerate(layout.groups):
        worlds = tuple(_worlds(group, first, release, after))
        gid = release.groups.get(group.label, group.gid) if group.own else group.gid
        # the VMkernel's I/O is not that of an idle world, the first of its group in some releases
        leads = next((world.number for world in group.worlds if world.kind == "system"), group.leader)
        leader = base + (leads if group.own else group.leader)
        whole = PrintedGroup(gid, group.name(base), leader, worlds, (place,), group.own, bool(group.vm))
        if group.label == "system" and release.idle_group:
            yield from _split(whole, group, first)
        else:
            yield whole
        first += len(group.worlds)


def _worlds(group: Group, first: int, release: Release, after: int) -> Iterator[PrintedWorld]:
    base, vm = release.first_world, group.label
    folded = tuple(first + n for n, world in enumerate(group.worlds) if group.vm and world.kind in release.folded)
    for n, world in enumerate(group.worlds):
        if first + n in folded:
            continue
        text = release.worlds.get(world.kind) if group.vm else None
        filled = text and text.format(vm=vm, index=world.index, leader=base + group.leader)
        label = filled or world.label(base, group.leader)
        more = folded if world.kind == "vmx" else ()
        yield PrintedWorld(base + world.number, label, (first + n, *more))
        if world.kind == "vcpu" and release.twins:
            yield PrintedWorld(base + after + world.number, release.twins.format(vm=vm, index=world.index), ())


def _split(system: PrintedGroup, group: Group, first: int) -> Iterator[PrintedGroup]:
    """The idle worlds as 1:idle, the others as 2:system."""
    idlers = {first + n for n, world in enumerate(group.worlds) if world.kind == "idle"}
    idle = tuple(world for world in system.worlds if world.of[0] in idlers)
    rest = tuple(world for world in system.worlds if world.of[0] not in idlers)
    yield PrintedGroup(1, "idle", idle[0].number, idle, (), own=True, vm=False)
    yield PrintedGroup(2, "system", system.leader, rest, system.of, own=True, vm=False)


def _console(groups: Iterator[PrintedGroup], release: Release) -> Iterator[PrintedGroup]:
    """With a service console, its group after the VMkernel's own ones and no processes."""
    if not release.console:
        yield from groups
        return
    every = list(groups)
    processes = [group for group in every if not group.own and not group.vm]
    places = tuple(place for group in processes for world in group.worlds for place in world.of)
    number = processes[0].leader
    world = PrintedWorld(number, "console", places)
    sources = tuple(place for group in processes for place in group.of)
    yield from (group for group in every if group.own)
    yield PrintedGroup(release.console, "console", number, (world,), sources, own=True, vm=False)
    yield from (group for group in every if group.vm)


class Regrouping:
    """How rows of the model's worlds and groups become printed ones, worked out once for a capture."""

    def __init__(self, groups: Groups) -> None:
        """Index arrays of `regrouped`."""
        worlds = list(groups.worlds())
        printed = groups.printed
        links = [(place, source) for place, world in enumerate(worlds) for source in world.of]
        group_links = [(place, source) for place, group in enumerate(printed) for source in group.of]
        # a group of no other (1:idle) shows the settings of the group it was part of, the first
        self.worlds = len(worlds)
        self.groups = len(printed)
        self.from_worlds = index(source for _, source in links)
        self.into_worlds = index(place for place, _ in links)
        self.first_world = index(
            world.of[0] if world.of else worlds[place - 1].of[0] for place, world in enumerate(worlds)
        )
        self.made = index(place for place, world in enumerate(worlds) if len(world.of) != 1)
        self.group_of = index(place for place, group in enumerate(printed) for _ in group.worlds)
        self.from_groups = index(source for _, source in group_links)
        self.into_groups = index(place for place, _ in group_links)
        self.first_group = index(group.of[0] if group.of else 0 for group in printed)
        self.members = np.array([len(group.worlds) for group in printed], dtype=np.float64)


def regrouped(how: Regrouping, parts: Iterable[Part]) -> Iterator[Part]:
    """Parts with the rows of `Vcpu` and `Group Cpu` as printed, of the model's."""
    for table, names, values in parts:
        if table == "Vcpu" and names is TIMES:
            times = _printed_times(how, values)
            yield Part(table, names, times)
            yield Part("Group Cpu", names, added_rows(times, how.group_of, how.groups))
        elif table == "Vcpu":
            yield Part(table, names, values[:, how.first_world])
        elif table == "Group Cpu" and names is SUMMED:
            yield Part(table, names, added_rows(values[:, how.from_groups], how.into_groups, how.groups))
        elif table == "Group Cpu" and names is not TIMES:
            yield Part(table, names, values[:, how.first_group])
        elif table != "Group Cpu":
            yield Part(table, names, values)
    yield part("Group Cpu", {"Members": how.members})


def _printed_times(how: Regrouping, values: Numbers) -> Numbers:
    times = added_rows(values[:, how.from_worlds], how.into_worlds, how.worlds)
    run, ready, costop, wait = (TIMES.index(name) for name in ("% Run", "% Ready", "% CoStop", "% Wait"))
    # several worlds may have run or been ready at once, the one that stands for them did so but once
    made = times[:, how.made]
    made[run] = np.minimum(made[run], 100.0 - made[costop])
    made[ready] = np.minimum(made[ready], 100.0 - made[run] - made[costop])
    made[wait] = 100.0 - made[run] - made[ready] - made[costop]
    times[:, how.made] = made
    return times
