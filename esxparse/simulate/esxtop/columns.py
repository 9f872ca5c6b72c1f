"""Which columns an esxtop capture of a simulated host has, in order.

A `Block` is one instance of one object with its counters; the header and every row are the blocks one after another.
The order is that of real 6.5 captures: `Memory` in two runs, `Physical Cpu` counter by counter, each group followed at
once by its worlds, each adapter by its paths, each device by its paths, worlds and partitions, and the per-PCPU cells
of an interrupt counter by counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from esxparse.simulate.esxtop.counters import COUNTERS, Counter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse.simulate.model.engine import Capture
    from esxparse.simulate.host import Device
    from esxparse.simulate.model.worlds import Group

__all__ = ["Block", "Key", "blocks"]

Key = tuple[str, str | int | None, str | int | None]
"""What a block shows: the table of counters (a key of `COUNTERS`) and up to two ids that `rows.py` knows."""


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring columns of one instance; `instance` is None for objects without instances."""

    key: Key
    object: str
    instance: str | None
    counters: tuple[Counter, ...]


_ONLY_VMS = frozenset({"% VmWait"})
_FIRST_PORT = 33_554_433  # 0x2000001: port ids of the first switch
_PORTS_PER_SWITCH = 16_777_216
_FIRST_VM_PORT = 16


def blocks(of: Capture, base: int, all_counters: bool) -> tuple[Block, ...]:
    """Every block of the capture for a release whose first world id is `base`."""
    kept = []
    for key, instance, counters in _everything(of, base):
        chosen = tuple(counter for counter in counters if all_counters or counter.default)
        if chosen:
            kept.append(Block(key, key[0].partition("/")[0], instance, chosen))
    return tuple(kept)


_Row = tuple[Key, str | None, tuple[Counter, ...]]


def _everything(of: Capture, base: int) -> Iterator[_Row]:
    yield _row("Memory/overcommit")
    yield _row("Physical Cpu Load")
    yield from _physical_cpu(of)
    yield _row("Memory")
    if of.scenario.host.sockets > 1:
        yield from (_row("Numa Node", n, instance=f"{n}") for n in range(of.scenario.host.sockets))
    yield _row("Power")
    yield from (_row("Power/p-state", n, instance=f"{n}") for n in range(len(of.scenario.host.p_states_mhz)))
    yield _row("VSAN")
    yield from _cpu(of, base)
    yield from _memory(of, base)
    yield from _disks(of, base)
    yield from _virtual_disks(of)
    yield from _network(of, base)
    yield from _interrupts(of)
    yield from _power(of)


def _row(
    table: str,
    first: str | int | None = None,
    second: str | int | None = None,
    *,
    instance: str | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> _Row:
    counters = COUNTERS[table]
    if leave_out:
        counters = tuple(counter for counter in counters if counter.name not in leave_out)
    return (table, first, second), instance, counters


def _physical_cpu(of: Capture) -> Iterator[_Row]:
    tables = ["Physical Cpu/used", "Physical Cpu/util"]
    if of.scenario.host.threads_per_core > 1:
        tables.append("Physical Cpu/core")
    for table in tables:
        yield from (_row(table, n, instance=f"{n}") for n in range(of.scenario.host.pcpus))
        yield _row(table, None, instance="_Total")


def _cpu(of: Capture, base: int) -> Iterator[_Row]:
    for group in of.groups:
        name = f"{group.gid}:{group.name(base)}"
        leave_out = frozenset() if group.vm else _ONLY_VMS
        yield _row("Group Cpu", group.gid, instance=name, leave_out=leave_out)
        for world in group.worlds:
            label = f"{name}:{base + world.number}:{world.label(base, group.leader)}"
            yield _row("Vcpu", group.gid, world.number, instance=label)


def _memory(of: Capture, base: int) -> Iterator[_Row]:
    for group in of.groups:
        if not group.own:
            yield _row("Group Memory", group.gid, instance=f"{group.gid}:{group.name(base)}")


def _disks(of: Capture, base: int) -> Iterator[_Row]:
    scenario = of.scenario
    for adapter in scenario.adapters:
        yield _row("Physical Disk/adapter", adapter.name, instance=adapter.name)
        yield _row("Physical Disk Adapter", adapter.name, instance=adapter.name)
        for device in scenario.devices:
            for path in device.paths:
                if path.startswith(f"{adapter.name}:"):
                    yield _row("Physical Disk", device.name, path, instance=f"{adapter.name}:{path}")
    for device in scenario.devices:
        yield from _device(of, device, base)
    for volume in scenario.nfs:
        yield _row("Physical Disk NFS Volume", volume.name, instance=volume.name)


def _device(of: Capture, device: Device, base: int) -> Iterator[_Row]:
    yield _row("Physical Disk SCSI Device", device.name, instance=device.name)
    for path in device.paths:
        yield _row("Physical Disk Path", device.name, path, instance=path)
    for group in of.groups:
        if _uses(of, group, device.name):
            instance = f"{device.name}-{base + group.leader}"
            yield _row("Physical Disk Per-Device-Per-World", device.name, group.leader, instance=instance)
    for part in range(1, device.partitions + 1):
        yield _row("Physical Disk Partition", device.name, part, instance=f"{device.name}-{part}")


def _uses(of: Capture, group: Group, device: str) -> bool:
    if group.vm:
        return any(disk.target == device for disk in group.vm.disks)
    return group.label == "hostd" and device == of.scenario.devices[0].name


def _virtual_disks(of: Capture) -> Iterator[_Row]:
    for group in of.groups:
        if group.vm:
            yield _row("Virtual Disk", group.gid, None, instance=group.vm.name)
            for disk in group.vm.disks:
                yield _row("Virtual Disk", group.gid, disk.slot, instance=f"{group.vm.name}:{disk.slot}")


def _network(of: Capture, base: int) -> Iterator[_Row]:
    for number, switch in enumerate(of.scenario.switches):
        first = _FIRST_PORT + number * _PORTS_PER_SWITCH
        port = first

        def named(client: str, at: int, name: str = switch.name) -> str:
            return f"{name}:{at}:{client}"

        yield _row("Network Port", "quiet", instance=named("Management", port))
        for nic in switch.uplinks:
            yield _row("Network Port", "uplink", nic.name, instance=named(nic.name, port + 1))
            yield _row("Network Port", "quiet", instance=named(f"Shadow of {nic.name}", port + 2))
            port += 2
        for vmk in switch.vmkernel:
            port += 1
            yield _row("Network Port", "vmk", vmk, instance=named(vmk, port))
        guests = [group for group in of.groups if group.vm and group.vm.switch == switch.name]
        for n, group in enumerate(guests):
            client = f"{base + group.leader}:{group.label}"
            yield _row("Network Port", "vm", group.gid, instance=named(client, first + _FIRST_VM_PORT + n))


def _interrupts(of: Capture) -> Iterator[_Row]:
    scenario = of.scenario
    count = len(scenario.adapters) + sum(len(switch.uplinks) for switch in scenario.switches)
    cookies = [f"0x{0x21 + n:x}" for n in range(count)]
    for number, cookie in enumerate((*cookies, "0xef", "0xf6")):
        yield _row("Interrupt Cookie", number, None, instance=cookie)
        for counter in COUNTERS["Interrupt Cookie"]:
            for cpu in range(scenario.host.pcpus):
                yield ("Interrupt Cookie", number, cpu), f"{cookie}:CPU{cpu}", (counter,)


def _power(of: Capture) -> Iterator[_Row]:
    host = of.scenario.host
    names = [f"%C-State C{n}" for n in range(3)]
    names += [f"%P-State P{n}" for n in range(len(host.p_states_mhz))]
    names += [f"%T-State T{n}" for n in range(host.t_states)]
    counters = tuple(Counter(name, whole=False, default=False) for name in (*names, "% of aperf/mperf"))
    for pcpu in range(host.pcpus):
        yield ("PCPU Power State", pcpu, None), f"PCPU {pcpu}", counters
