"""Which columns an esxtop capture of a simulated host has, in order.

A `Block` is one instance of one object with its counters; the header and every row are the blocks one after another.
The order is that of real 6.5 captures: `Memory` in two runs, `Physical Cpu` counter by counter, each group followed at
once by its worlds, each adapter by its paths, each device by its paths, worlds and partitions, and the per-PCPU cells
of an interrupt counter by counter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from esxparse.errors import EsxparseError
from esxparse_simulator.esxtop.groups import Groups
from esxparse_simulator.esxtop.releases import Counter, Kind, Release
from esxparse_simulator.model.layout import Layout


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring columns of one instance (None for objects without): row `row` of the rows of `table`."""

    table: str
    row: int
    object: str
    instance: str | None
    counters: tuple[Counter, ...]

    @property
    def head(self) -> str:
        """The part of the path before the counter."""
        return self.object if self.instance is None else f"{self.object}({self.instance})"

    def is_of(self, vm: str) -> bool:
        """Whether it is a VM's: of its groups, worlds, disks or ports."""
        return f":{vm}:" in f":{self.instance}:"


_ONLY_VMS = "% VmWait"
_APERF = "% of aperf/mperf"
_PORTS_PER_SWITCH = 16_777_216
_FIRST_VM_PORT = 16
_ROLES = ("Client", "Owner", "CompMgr")
_C_STATES = 3

_Row = tuple[str, int, str | None]


def blocks(
    layout: Layout, release: Release, groups: Groups, *, all_counters: bool = True, only: Sequence[str] | None = None
) -> tuple[Block, ...]:
    """Every block of a capture.

    Raises:
        EsxparseError: `only` names something that is not in the capture.
    """
    made = _Maker(layout, release, groups).everything()
    absent = [vm.name for vm in layout.vms if any(each.load.get("gone") and each.start <= 0.0 for each in vm.phases)]
    present = (block for block in made if not any(block.is_of(vm) for vm in absent))
    default = (block if all_counters else _kept(block, lambda counter: counter.default) for block in present)
    there = tuple(block for block in default if block.counters)
    return there if only is None else _chosen(there, only)


def _kept(block: Block, keep: Callable[[Counter], bool]) -> Block:
    return replace(block, counters=tuple(filter(keep, block.counters)))


def _chosen(there: tuple[Block, ...], only: Sequence[str]) -> tuple[Block, ...]:
    r"""Blocks reduced to what `only` names: objects, counters, or `object(instance)\counter`; `*` for any text."""
    wanted = [only] if isinstance(only, str) else only
    patterns = [re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL) for name in wanted]
    met: set[int] = set()
    chosen = []
    for block in there:
        texts = (block.object, block.head)
        whole = {n for n, pattern in enumerate(patterns) if any(map(pattern.fullmatch, texts))}
        counters = []
        for counter in block.counters:
            names = (counter.name, f"{block.object}\\{counter.name}", f"{block.head}\\{counter.name}")
            mine = {n for n, pattern in enumerate(patterns) if any(map(pattern.fullmatch, names))}
            met |= mine
            if mine or whole:
                counters.append(counter)
        met |= whole
        if counters:
            chosen.append(replace(block, counters=tuple(counters)))
    missing = [name for n, name in enumerate(wanted) if n not in met]
    if missing:
        raise EsxparseError(
            f"nothing in the capture is called {', '.join(map(repr, missing))}. "
            "Name an object, a counter, or object(instance)\\counter; * stands for any text."
        )
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Blocks of one host as one release prints them, object after object."""

    layout: Layout
    release: Release
    groups: Groups

    def everything(self) -> Iterator[Block]:
        host = self.layout.scenario.host
        yield from self._rows("Memory/overcommit", [(0, None)])
        yield from self._rows("Physical Cpu Load", [(0, None)])
        tables = ["Physical Cpu/used", "Physical Cpu/util"] + ["Physical Cpu/core"] * (host.threads_per_core > 1)
        for table in tables:
            yield from self._rows(table, [*_numbered(host.pcpus), (host.pcpus, "_Total")])
        yield from self._rows("Memory", [(0, None)])
        if host.sockets > 1:
            yield from self._rows("Numa Node", _numbered(host.sockets))
        yield from self._rows("Power", [(0, None)])
        yield from self._rows("Power/p-state", _numbered(len(host.p_states_mhz)))
        yield from self._rows("VSAN", [(0, None)])
        if self.layout.scenario.vsan:
            yield from self._rows("VSAN/role", list(enumerate(_ROLES)))
        yield from self._cpu()
        yield from self._memory()
        yield from self._disks()
        yield from self._rows("Virtual Disk", list(enumerate(self._virtual_disks())))
        yield from self._rows("Network Port", list(enumerate(self._ports())))
        yield from self._interrupts()
        yield from self._power()

    def _rows(self, table: str, rows: Sequence[tuple[int, str | None]]) -> Iterator[Block]:
        counters = self.release.counters.get(table)
        if counters:
            name = self.release.object(table)
            yield from (Block(table, row, name, instance, counters) for row, instance in rows)

    def _cpu(self) -> Iterator[Block]:
        row = 0
        for place, group in enumerate(self.groups.printed):
            name = f"{group.gid}:{group.name}"
            for block in self._rows("Group Cpu", [(place, name)]):
                yield block if group.vm else _kept(block, lambda counter: counter.name != _ONLY_VMS)
            for world in group.worlds:
                yield from self._rows("Vcpu", [(row, f"{name}:{world.number}:{world.label}")])
                row += 1

    def _memory(self) -> Iterator[Block]:
        for group in self.groups.printed:
            if not group.own:
                yield from self._rows("Group Memory", [(group.of[0], f"{group.gid}:{group.name}")])

    def _disks(self) -> Iterator[Block]:
        scenario = self.layout.scenario
        paths = [path for device in scenario.devices for path in device.paths]
        for place, adapter in enumerate(scenario.adapters):
            yield from self._rows("Physical Disk/adapter", [(place, adapter.name)])
            yield from self._rows("Physical Disk Adapter", [(place, adapter.name)])
            mine = [
                (row, f"{adapter.name}:{path}") for row, path in enumerate(paths) if path.startswith(f"{adapter.name}:")
            ]
            yield from self._rows("Physical Disk", mine)
        yield from self._devices()
        yield from self._rows(
            "Physical Disk NFS Volume", [(row, volume.name) for row, volume in enumerate(scenario.nfs)]
        )

    def _devices(self) -> Iterator[Block]:
        users: dict[int, list[tuple[int, str | None]]] = {}
        devices = self.layout.scenario.devices
        for row, (target, group) in enumerate(self.layout.uses):
            if target < len(devices):
                leader = self.groups.printed[self.groups.by_source[group]].leader
                users.setdefault(target, []).append((row, f"{devices[target].name}-{leader}"))
        path = part = 0
        for place, device in enumerate(devices):
            yield from self._rows("Physical Disk SCSI Device", [(place, device.name)])
            yield from self._rows("Physical Disk Path", list(enumerate(device.paths, path)))
            yield from self._rows("Physical Disk Per-Device-Per-World", users.get(place, []))
            parts = [(part + n, f"{device.name}-{n + 1}") for n in range(device.partitions)]
            yield from self._rows("Physical Disk Partition", parts)
            path += len(device.paths)
            part += device.partitions

    def _virtual_disks(self) -> Iterator[str]:
        for vm in self.layout.vms:
            yield vm.name
            yield from (f"{vm.name}:{disk.slot}" for disk in vm.disks)

    def _ports(self) -> Iterator[str]:
        for switch, number, client in port_names(self.layout, self.release, self.groups):
            yield f"{switch}:{number}:{client}"

    def _interrupts(self) -> Iterator[Block]:
        pcpus = self.layout.scenario.host.pcpus
        for place, vector in enumerate(self.layout.vectors):
            first = place * (1 + pcpus)
            yield from self._rows("Interrupt Cookie", [(first, vector.cookie)])
            each = [(first + 1 + n, f"{vector.cookie}:CPU{n}") for n in range(pcpus)]
            for number in range(len(self.release.counters.get("Interrupt Cookie", ()))):
                for block in self._rows("Interrupt Cookie", each):
                    yield replace(block, counters=(block.counters[number],))

    def _power(self) -> Iterator[Block]:
        host = self.layout.scenario.host
        counts = {"%C": _C_STATES, "%P": len(host.p_states_mhz), "%T": host.t_states}
        counters = [
            replace(counter, name=name, source=name)
            for counter in self.release.counters.get("PCPU Power State", ())
            for name in (counter.name.replace("#", str(n)) for n in range(counts[counter.name[:2]]))
        ]
        if counters and self.release.aperf != "none":
            kind: Kind = "decimal" if self.release.aperf == "column" else "broken"
            counters.append(Counter(_APERF, kind, default=False, source=_APERF))
        for block in self._rows("PCPU Power State", [(n, f"PCPU {n}") for n in range(host.pcpus)]):
            yield replace(block, counters=tuple(counters))


def port_names(layout: Layout, release: Release, groups: Groups) -> Iterator[tuple[str, int, str]]:
    """Switch, id and client of each port of the model; the client of a VM's port begins with its leading world.

    Ports are numbered from the switch's first on; those of VMs from a place further on.
    """
    number, before, guests = 0, -1, 0
    for port in layout.ports:
        first = release.first_port + port.switch * _PORTS_PER_SWITCH
        if port.switch != before:
            number, before, guests = first, port.switch, 0
        switch = layout.scenario.switches[port.switch].name
        if port.kind == "vm":
            group = groups.printed[groups.by_source[int(layout.vm_group[port.number])]]
            yield switch, first + _FIRST_VM_PORT + guests, f"{group.leader}:{port.name}"
            guests += 1
        else:
            yield switch, number, port.name
            number += 1


def _numbered(count: int) -> list[tuple[int, str | None]]:
    return [(n, f"{n}") for n in range(count)]
