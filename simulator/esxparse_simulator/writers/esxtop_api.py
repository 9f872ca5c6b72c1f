"""The replies of a host's Esxtop service (vSphere API, ServiceManager): `CounterInfo` and `FetchStats`.

The counters are cumulative whole numbers, as a host sends them: a reader has to take differences. Reply `n` belongs to
sample `n` of the capture.

Evidence: grammar and names of public scripts and their comments (NUMAlocality-esxtop, govmomi pull request 1654,
VMware's sample simplecommand-esxtop.py): the fields of PCPU, LCPU, PMem and NUMANode with their types; names of fields
of SchedGroup, VCPU and NetPort. A VM has three groups: `vm.N`, `uw.N` and `vmm.N`.

Assumptions: the order and the types of the fields of SchedGroup, VCPU and NetPort; that a VM's vCPUs belong to `vm.N`
and its other worlds to `uw.N`; that the client of a VM's port begins with the id of its leading world. Objects whose
fields no public text names (disks, paths, interrupts, power states), and fields such as the ready time of a VCPU, are
left out: nothing here invents a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from esxparse.whole import whole_file
from esxparse_simulator.esxtop.columns import port_names
from esxparse_simulator.esxtop.groups import PrintedGroup, groups_of
from esxparse_simulator.esxtop.host_rows import memory_rows
from esxparse_simulator.esxtop.releases import release_of
from esxparse_simulator.model.engine import Capture
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.model.sums import Numbers

Values = Sequence[Any]

_US: Final = 1_000_000.0
_KB: Final = 1024.0
_PAGES_PER_MB: Final = 256.0
_UPTIME_S: Final = 1_000_000
"""Seconds since the host started: no counter is 0 at the first sample."""
_STATES: Final = ("high", "clear", "soft", "hard", "low")

_FIELDS: Final[Mapping[str, str]] = {
    "PCPU": "NumOfLCPUs,U32 NumOfCores,U32 NumOfPackages,U32",
    "LCPU": "LCPUID,U32 CPUHz,U64 UsedTimeInUsec,U64 HaltTimeInUsec,U64 CoreHaltTimeInUsec,U64 ElapsedTimeInUsec,U64 "
    "BusyWaitTimeInUsec,U64",
    "PMem": "PhysicalMemInKB,U32 COSMemInKB,U32 KernelManagedInKB,U32 NonkernelUsedInKB,U32 FreeMemInKB,U32 "
    "PShareSharedInKB,U32 PShareCommonInKB,U32 SchedManagedInKB,U32 SchedMinFreeInKB,U32 SchedReservedInKB,U32 "
    "SchedAvailInKB,U32 SchedState,U32 SchedStateStr,CSTR MemCtlMaxInKB,U32 MemCtlCurInKB,U32 MemCtlTgtInKB,U32 "
    "SwapUsedInKB,U32 SwapTgtInKB,U32 SwapReadInKB,U32 SwapWrtnInKB,U32 ZippedInKB,U32 ZipSavedInKB,U32 "
    "MemOvercommitInPct1Min,U32 MemOvercommitInPct5Min,U32 MemOvercommitInPct15Min,U32 NumOfNUMANodes,U32",
    "NUMANode": "NodeID,U32 TotalInPages,U32 FreeInPages,U32",
    "SchedGroup": "GroupID,U32 GroupName,STR IsValid,B IsVM,B VMName,STR IsNUMAValid,B HomeNodes,U32 "
    "NumOfBalanceMigrations,U32 NumOfLocalitySwap,U32 NumOfLoadSwap,U32 RemoteMemoryInKB,U32 LocalMemoryInKB,U32 "
    "LocalityPct,U32 PowerInWatt,U32",
    "VCPU": "VCPUID,U32 WorldName,STR UsedTimeInUsec,U64 SysTimeInUsec,U64 CoStopTimeInUsec,U64",
    "NetPort": "PortID,U32 ClientName,STR IsUplink,B TeamUplink,STR NumOfSendPackets,U64 NumOfSendBytes,U64 "
    "NumOfRecvPackets,U64 NumOfRecvBytes,U64",
}


def replies(host: Capture, samples: int | None = None) -> tuple[str, list[str]]:
    """Return the reply of `CounterInfo`, and of `FetchStats` at each of the first `samples` samples (all by default).

    Counters go on from sample to sample: the difference of two replies is what happened in the interval before the
    later one.
    """
    info = "".join(f"|{name}|{''.join(f'{field}|' for field in fields.split())}\n" for name, fields in _FIELDS.items())
    fetched = []
    for place, reply in enumerate(_fetched(host)):
        if place == samples:
            break
        fetched.append(reply)
    return info, fetched


def write_replies(directory: Path, counter_info: str, fetched: Sequence[str]) -> None:
    """Write `counterinfo.txt`, `fetchstats-0001.txt`, `fetchstats-0002.txt` ... into a directory."""
    texts = {"counterinfo.txt": counter_info}
    texts |= {f"fetchstats-{place:04}.txt": reply for place, reply in enumerate(fetched, 1)}
    for name, text in texts.items():
        with whole_file(directory / name) as file:
            file.write(text.encode())


def _fetched(host: Capture) -> Iterator[str]:
    layout = host.layout
    release = release_of("6.7")
    every = groups_of(layout, release)
    counters = _Counters()
    for now in host:
        counters.add(now)
        gone = {vm.name for place, vm in enumerate(layout.vms) if now.loads.gone[place] >= 1.0}
        groups = [group for group in every.printed if not (group.vm and group.name in gone)]
        left = {place for place, port in enumerate(layout.ports) if port.kind == "vm" and port.name in gone}
        port_columns = enumerate(port_names(layout, release, every))
        ports = [(place, *name) for place, name in port_columns if place not in left]
        topology = [*_topology(layout, groups, ports)]
        lines = [
            *(f"|{name}|{'|'.join(f'{one},{value}' for one, value in values)}|" for name, values in topology),
            "==COUNTER-VALUE==",
            *(
                f"|{name}|{'|'.join(map(_text, values))}|"
                for name, values in _values(now, layout, groups, ports, counters)
            ),
        ]
        yield "\n".join(["==NUM-OF-OBJ==", *lines, ""])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(round(float(value)))


class _Counters:
    """What has been counted since the host started, along worlds, PCPUs and ports."""

    def __init__(self) -> None:
        self._before: float | None = None
        self._sums: dict[str, Numbers] = {}

    def add(self, now: Snapshot) -> None:
        """Count what happened since the last sample; before the first one, the host did the same all the time."""
        seconds = float(_UPTIME_S) if self._before is None else now.second - self._before
        self._before = now.second
        percent = {"used": now.worlds.used, "system": now.worlds.system, "costop": now.worlds.costop}
        percent |= {"pcpu_used": now.pcpus.used, "halt": 100.0 - now.pcpus.util}
        percent |= {"core_halt": 100.0 - now.pcpus.core_util, "elapsed": np.full(len(now.pcpus.used), 100.0)}
        ports = now.ports
        rates = {"sent": ports.tx, "sent_bytes": ports.tx * ports.tx_bytes}
        rates |= {"received": ports.rx, "received_bytes": ports.rx * ports.rx_bytes}
        rates |= {"swap_read": np.array([now.memory.swap_in.sum()]) * _KB}
        rates |= {"swap_written": np.array([now.memory.swap_out.sum()]) * _KB}
        grown = {name: values * _US / 100.0 for name, values in percent.items()} | rates
        for name, values in grown.items():
            self._sums[name] = self._sums.get(name, 0.0) + values * seconds

    def __getitem__(self, name: str) -> Numbers:
        return self._sums[name]


_Port = tuple[int, str, int, str]
"""Place among the ports of the model, switch, id and client."""


def _topology(
    layout: Layout, groups: Sequence[PrintedGroup], ports: Sequence[_Port]
) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield a line for each object, parents first: its type, and its properties with the counts of its children."""
    host = layout.scenario.host
    roots = [(name, 1) for name in ("PCPU", "PMem", "Sched", "Net")]
    yield "Server", roots
    yield "PCPU", [("LCPU", host.pcpus)]
    yield "PMem", [("NUMANode", host.sockets)]
    subgroups = [one for group in groups for one in _subgroups(group)]
    yield "Sched", [("SchedGroup", len(subgroups))]
    for gid, name, _, _, worlds in subgroups:
        yield "SchedGroup", [("GroupID", gid), ("GroupName", name), ("CPUClient", len(worlds))]
        for number, label, _ in worlds:
            yield "CPUClient", [("CPUClientID", number), ("VCPUName", label)]
    uplinks = sum(len(switch.uplinks) for switch in layout.scenario.switches)
    yield "Net", [("TotalPorts", len(ports)), ("PNIC", uplinks), ("NetPortset", len(layout.scenario.switches))]
    for switch in layout.scenario.switches:
        mine = [number for _, name, number, _ in ports if name == switch.name]
        yield "NetPortset", [("PortsetName", switch.name), ("NetPort", len(mine))]
        for number in mine:
            yield "NetPort", [("PortID", number), ("PortsetName", switch.name)]


_World = tuple[int, str, tuple[int, ...]]


def _subgroups(group: PrintedGroup) -> Iterator[tuple[int, str, bool, str, list[_World]]]:
    """Yield id, name, whether it is the VM's own, the VM's name and the worlds of each group on the host."""
    worlds = [(world.number, world.label, world.of) for world in group.worlds]
    if not group.vm:
        yield group.gid, group.name, False, "", worlds
        return
    own = [world for world in worlds if world[1].startswith("vmx-vcpu-")]
    others = [world for world in worlds if world not in own]
    for place, (prefix, mine) in enumerate({"vm": own, "uw": others, "vmm": []}.items()):
        yield group.gid + place, f"{prefix}.{group.leader}", prefix == "vm", group.name, mine


def _values(
    now: Snapshot,
    layout: Layout,
    groups: Sequence[PrintedGroup],
    ports: Sequence[_Port],
    counters: _Counters,
) -> Iterator[tuple[str, Values]]:
    host = layout.scenario.host
    yield "PCPU", (host.pcpus, host.sockets * host.cores_per_socket, host.sockets)
    for place in range(host.pcpus):
        times = [counters[name][place] for name in ("pcpu_used", "halt", "core_halt", "elapsed")]
        yield "LCPU", (place, host.mhz * _US, *times, 0)
    yield "PMem", _memory(now, layout, counters)
    free = (host.memory_mb - host.kernel_mb) / host.sockets - now.memory.taken
    for node in range(host.sockets):
        yield "NUMANode", (node, host.memory_mb / host.sockets * _PAGES_PER_MB, free[node] * _PAGES_PER_MB)
    for group in groups:
        yield from _group(now, layout, group)
    for group in groups:
        for *_, worlds in _subgroups(group):
            for number, label, of in worlds:
                yield "VCPU", (number, label, *(counters[name][of[0]] for name in ("used", "system", "costop")))
    names = ("sent", "sent_bytes", "received", "received_bytes")
    uplinks = [nic.name for switch in layout.scenario.switches for nic in switch.uplinks]
    for place, _, number, client in ports:
        port = layout.ports[place]
        team = uplinks[port.uplink] if port.uplink >= 0 and port.kind != "uplink" else "n/a"
        yield "NetPort", (number, client, port.kind == "uplink", team, *(counters[name][place] for name in names))


def _memory(now: Snapshot, layout: Layout, counters: _Counters) -> Values:
    parts = [one for one in memory_rows(now, layout) if one.table.partition("/")[0] == "Memory"]
    of = {name: float(value) for one in parts for name, (value,) in zip(one.names, one.values, strict=True)}
    shared, state = of["PShare Shared MBytes"], int(now.memory.state)
    in_mb = [of["Machine MBytes"], 0.0, of["Kernel Managed MBytes"], of["NonKernel MBytes"], of["Free MBytes"], shared]
    in_mb += [shared - of["PShare Savings MBytes"], of["Kernel Managed MBytes"], of["Kernel MinFree MBytes"]]
    in_mb += [of["Kernel Reserved MBytes"], of["Kernel Unreserved MBytes"]]
    reclaimed = [of[f"{name} MBytes"] for name in ("Memctl Max", "Memctl Current", "Memctl Target")]
    reclaimed += [of["Swap Used MBytes"], of["Swap Target MBytes"]]
    swapped = [float(counters[name][0]) for name in ("swap_read", "swap_written")]
    zipped = [of["Total Compressed MBytes"] * _KB, of["Total Saved By Compression MBytes"] * _KB]
    overcommit = [100.0 * of[f"Memory Overcommit ({span} Minute Avg)"] for span in (1, 5, 15)]
    sizes = [value * _KB for value in in_mb]
    reclaimed = [value * _KB for value in reclaimed]
    nodes = layout.scenario.host.sockets
    return (*sizes, state, _STATES[state], *reclaimed, *swapped, *zipped, *overcommit, nodes)


def _group(now: Snapshot, layout: Layout, group: PrintedGroup) -> Iterator[tuple[str, Values]]:
    for gid, name, is_vm, vm, _ in _subgroups(group):
        if not is_vm:
            yield "SchedGroup", (gid, name, 1, 0, vm, 0, *(0,) * 8)
            continue
        (source,) = group.of
        place = layout.vm_group.tolist().index(source)
        memory, nodes = now.memory, layout.vms[place].nodes or (layout.vms[place].node,)
        remote, consumed = memory.remote[place], memory.consumed[place]
        share = 100.0 * (1.0 - remote / max(1e-9, consumed))
        homes = sum(1 << node for node in nodes)
        sizes = remote * _KB, (consumed - remote) * _KB
        yield "SchedGroup", (gid, name, 1, 1, vm, 1, homes, 0, 0, 0, *sizes, share, now.group_watts[source])
