"""What is asked of the targets, and what stands behind them: paths, the array's cache, vSAN.

Paths that are alive take commands in turn; the dead ones are the last of a device. When none is alive, commands are
tried, and fail, on all of them.

A read that is not in the cache takes `media_ms` more. Sequential reads up to `read_ahead_kb` are there before they are
asked for; a larger one has a part that is not, and is as slow as its slowest part, unless it goes round in a working
set that the cache holds whole. Random reads hit as far as the cache covers the working sets of all who use the target.
A misaligned write does not fill the array's blocks: the old ones (one, or two when it is larger than a block) are read
first, unless they are in the cache; reading ahead hides that from sequential writes. Such an array does not write in
place, so old and new blocks both lie in the cache.

A vSAN cluster is taken to be even: this host's disks and its VMkernel port see as much for others as others see for
it. Each read is served by some host's disks, each write by those of `copies` hosts; nearly all of it crosses the
network. Congestion (0..255) holds every command back before it is let in.

Evidence: none. Assumed, as no array documents it: one coverage for all users of a target; disks behind the cache answer
side by side, so that a miss costs time but not throughput; a vSAN datastore's response times do not follow those of the
devices.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import fsum

import numpy as np

from esxparse_simulator.host import Device, NfsVolume, VsanDatastore
from esxparse_simulator.model.layout import Layout, OncePerLayout, Target
from esxparse_simulator.model.sample import Loads, Matrix, MemorySample, Traffic, summed
from esxparse_simulator.model.sums import Index, Numbers, added, divided, index

_PAGE_KB = 4.0
_PAGES_PER_MB = 256.0
_SWAP_OUT_PAGES = 16.0  # pages of one write to a swap file
_LOG = (1.5, 9.0)  # reads and writes per second of hostd's logs on the first local device
_COPY_KB = 256.0  # what a consolidation reads and writes at a time
_COPY_OUTSTANDING = 8.0
NO_LIMIT = 1e9
_FULL_CONGESTION = 255.0
_VSAN_OUTSTANDING = 256.0


class Paths:
    """Along the paths, device after device: the device, the place among its paths, the adapter (-1: not listed)."""

    def __init__(self, layout: Layout) -> None:
        adapters = {adapter.name: place for place, adapter in enumerate(layout.scenario.adapters)}
        rows = [
            (number, place, adapters.get(path.partition(":")[0], -1))
            for number, device in enumerate(layout.scenario.devices)
            for place, path in enumerate(device.paths)
        ]
        device, place, adapter = (np.array([row[n] for row in rows], dtype=np.intp) for n in range(3))
        count = np.array([len(each.paths) for each in layout.scenario.devices], dtype=np.intp)
        first = np.array([int(device.searchsorted(number)) for number in range(len(count))], dtype=np.intp)
        self.device = device
        self.place = place
        self.adapter = adapter
        # [devices] where the paths of each begin.
        self.first = first
        # [devices] how many there are.
        self.count = count.astype(np.float64)


paths_of = OncePerLayout(Paths)
"""The paths of a layout."""


def shares(layout: Layout, alive: Numbers) -> Numbers:
    """The part (0..1) of its device's commands that each path carries; `alive` is along the targets."""
    paths = paths_of(layout)
    living = np.rint(alive[: len(paths.count)] * paths.count)
    carrying = np.where(living > 0.0, living, paths.count)
    return np.where(paths.place < carrying[paths.device], 1.0 / carrying[paths.device], 0.0)


@dataclass(frozen=True, slots=True)
class Asks:
    """Along the flows: commands per second wanted, their sizes, how many may be in flight, what they touch."""

    reads: Numbers
    writes: Numbers
    read_kb: Numbers
    write_kb: Numbers
    outstanding: Numbers
    sequential: Numbers
    working_set_mb: Numbers
    misaligned: Numbers


class Columns(Matrix):
    """Along the targets: their numbers in this second; those that a kind of target lacks have no effect."""

    names = tuple(
        sorted(
            {
                field.name
                for kind in (Device, NfsVolume, VsanDatastore)
                for field in fields(kind)
                if field.type in {"int", "float"}
            }
        )
    )


_last: OncePerLayout[list[tuple[tuple[Target, ...], Numbers]]] = OncePerLayout(lambda _: [])


def columns(layout: Layout, targets: tuple[Target, ...]) -> Columns:
    """The numbers of all targets, kept for as long as these stay as they are."""
    last = _last(layout)
    if not last or targets != last[0][0]:
        none = {"queue_depth": NO_LIMIT}
        rows = ([getattr(target, name, none.get(name, 0.0)) for target in targets] for name in Columns.names)
        last[:] = [(targets, np.array([*rows], dtype=np.float64))]
    return Columns(last[0][1])


class _FlowPlaces:
    """Place and owner of the flows of each kind, and the parts of its VM's I/O that a virtual disk has."""

    def __init__(self, layout: Layout) -> None:

        def places(kind: str) -> Index:
            return index(place for place, flow in enumerate(layout.flows) if flow.kind == kind)

        disk = [(flow, layout.vms[flow.vm].disks) for flow in layout.flows if flow.kind == "disk"]
        touch = [disks[flow.disk].reads + disks[flow.disk].writes for flow, disks in disk]
        whole = [fsum(each.reads + each.writes for each in disks) for _, disks in disk]
        swap, copy = places("swap"), places("snapshot")
        self.disk = places("disk")
        self.disk_vm = index(flow.vm for flow, _ in disk)
        self.reads = np.array([disks[flow.disk].reads for flow, disks in disk], dtype=np.float64)
        self.writes = np.array([disks[flow.disk].writes for flow, disks in disk], dtype=np.float64)
        self.part = np.array(
            [one / all_ if all_ else 0.0 for one, all_ in zip(touch, whole, strict=True)], dtype=np.float64
        )
        self.swap = swap
        self.swap_vm = layout.flow_vm[swap]
        self.copy = copy
        self.copy_vm = layout.flow_vm[copy]
        self.log = places("log")
        self.poll = places("poll")
        self.polled = np.array([target.polled for target in layout.scenario.devices if target.polled], dtype=np.float64)


_flow_places_of = OncePerLayout(_FlowPlaces)


def asks_of(layout: Layout, loads: Loads, memory: MemorySample) -> Asks:
    """What every flow wants; those of vSAN to the host's devices want nothing yet."""
    at = _flow_places_of(layout)
    rows = {field.name: np.zeros(len(layout.flows)) for field in fields(Asks)}
    rows["read_kb"][:] = rows["write_kb"][:] = _PAGE_KB

    def put(where: Index, **values: Numbers | float) -> None:
        for name, value in values.items():
            rows[name][where] = value

    vm = at.disk_vm
    put(
        at.disk,
        reads=loads.read_iops[vm] * at.reads,
        writes=loads.write_iops[vm] * at.writes,
        read_kb=loads.read_kb[vm],
        write_kb=loads.write_kb[vm],
        outstanding=np.maximum(1.0, loads.outstanding[vm] * np.maximum(at.reads, at.writes)),
        sequential=loads.sequential[vm],
        working_set_mb=loads.working_set_mb[vm] * at.part,
        misaligned=loads.misaligned[vm],
    )
    put(
        at.swap,
        reads=memory.swap_in[at.swap_vm] * _PAGES_PER_MB,
        writes=memory.swap_out[at.swap_vm] * _PAGES_PER_MB / _SWAP_OUT_PAGES,
        write_kb=_PAGE_KB * _SWAP_OUT_PAGES,
        outstanding=32.0,
        working_set_mb=memory.swapped[at.swap_vm],
    )
    copied = loads.consolidate_mb_per_s[at.copy_vm] * 1024.0 / _COPY_KB
    put(
        at.copy,
        reads=copied,
        writes=copied,
        read_kb=_COPY_KB,
        write_kb=_COPY_KB,
        outstanding=_COPY_OUTSTANDING,
        sequential=1.0,
    )
    put(at.poll, reads=at.polled, outstanding=1.0)
    put(at.log, reads=_LOG[0], writes=_LOG[1], outstanding=4.0)
    return Asks(**rows)


@dataclass(frozen=True, slots=True)
class Misses:
    """Along the flows: milliseconds that a read and a write wait for the media, and busy milliseconds per write."""

    read_ms: Numbers
    write_ms: Numbers
    write_cost: Numbers


def behind_the_cache(asks: Asks, of: Columns, target: Index) -> Misses:
    """What the cache of its target leaves each flow to wait for."""
    media, block = of.media_ms[target], of.block_kb[target]
    misaligned = np.where(block > 0.0, asks.misaligned, 0.0)
    blocks = np.where(asks.write_kb > block, 2.0, 1.0)
    covered = _coverage(asks, of, target, misaligned * blocks * block)
    random = 1.0 - asks.sequential
    cached = (asks.working_set_mb > 0.0) & (covered >= 1.0)
    too_large = np.where((asks.read_kb > of.read_ahead_kb[target]) & ~cached, asks.sequential, 0.0)
    old_blocks = misaligned * random * (1.0 - covered)
    return Misses(
        read_ms=media * (too_large + random * (1.0 - covered)),
        write_ms=media * old_blocks,
        write_cost=old_blocks * blocks * (of.service_ms[target] + block / 1024.0 / of.mb_per_s[target] * 1000.0),
    )


def _coverage(asks: Asks, of: Columns, target: Index, old_kb: Numbers) -> Numbers:
    """The part (0..1) of what a flow touches that its target's cache holds; `old_kb` are kept beside each write."""
    wanted = asks.reads + asks.writes
    writing = divided(asks.writes, wanted)
    larger = 1.0 + divided(writing * old_kb, asks.write_kb)
    touched = added(asks.working_set_mb * larger, target, len(of.cache_mb))
    part = np.divide(of.cache_mb, touched, out=np.ones_like(touched), where=touched > of.cache_mb)
    covered: Numbers = part[target]
    return covered


class _Components:
    """Flows of vSAN to the host's devices, their datastores among the targets, and how many devices those have."""

    def __init__(self, layout: Layout) -> None:
        rows = [(place, flow.source) for place, flow in enumerate(layout.flows) if flow.kind == "vsan"]
        source = np.array([row[1] for row in rows], dtype=np.intp)
        count = np.bincount(source, minlength=len(layout.targets)).astype(np.float64)
        self.flows = np.array([row[0] for row in rows], dtype=np.intp)
        self.source = source
        self.devices = count[source]


component_flows = OncePerLayout(_Components)
"""Where a layout has flows of vSAN datastores to the host's own devices."""


def congestion_ms(of: Columns) -> Numbers:
    """What congestion adds to every command."""
    return np.minimum(of.congestion, _FULL_CONGESTION) / _FULL_CONGESTION * of.congestion_ms


def on_devices(layout: Layout, asks: Asks, of: Columns, traffic: Traffic) -> Asks:
    """The same asks, with those that the datastores' `traffic` (along the flows) brings to this host's disks."""
    places = component_flows(layout)
    whole = summed(traffic, layout.flow_target, len(layout.targets))
    rows = {name: getattr(asks, name).copy() for name in ("reads", "writes", "read_kb", "write_kb", "outstanding")}

    def mean_kb(mb: Numbers, commands: Numbers) -> Numbers:
        return np.divide(mb * 1024.0, commands, out=np.full_like(mb, 4.0), where=commands > 0.0)[places.source]

    # what failed on its way moved nothing, and reached no disk
    reads, writes = (
        np.where(mb > 0.0, commands, 0.0)[places.source] / places.devices
        for mb, commands in ((whole.read_mb, whole.reads), (whole.written_mb, whole.writes))
    )
    rows["reads"][places.flows] = reads
    rows["writes"][places.flows] = writes * of.copies[places.source]
    rows["read_kb"][places.flows] = mean_kb(whole.read_mb, whole.reads)
    rows["write_kb"][places.flows] = mean_kb(whole.written_mb, whole.writes)
    rows["outstanding"][places.flows] = _VSAN_OUTSTANDING
    return replace(asks, **rows)
