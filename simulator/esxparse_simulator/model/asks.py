"""What is asked of the targets: the I/O that flows want, and what the targets are in this second, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.once import OncePerLayout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from esxparse_simulator.model.layout import Index, Layout, Target
    from esxparse_simulator.model.sample import Loads, MemorySample, Numbers

_PAGE_KB = 4.0
_PAGES_PER_MB = 256.0
_SWAP_OUT_PAGES = 16.0  # pages of one write to a swap file
_LOG = (1.5, 9.0)  # reads and writes per second of hostd's logs on the first local device
_COPY_KB = 256.0  # what a consolidation reads and writes at a time
_COPY_OUTSTANDING = 8.0
NO_LIMIT = 1e9


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


@dataclass(slots=True)
class Columns:
    """Along the targets: their fields in this second; what a kind of target has not is without effect."""

    read_ms: Numbers
    write_ms: Numbers
    service_ms: Numbers
    mb_per_s: Numbers
    media_ms: Numbers
    cache_mb: Numbers
    read_ahead_kb: Numbers
    block_kb: Numbers
    shared: Numbers
    queue_depth: Numbers
    world_queue_depth: Numbers
    dead_paths: Numbers
    failed_part: Numbers
    aborts: Numbers
    resets: Numbers
    reserves: Numbers
    conflicts: Numbers
    congestion: Numbers
    congestion_ms: Numbers
    copies: Numbers


def columns(targets: Sequence[Target]) -> Columns:
    """The fields of all targets."""
    missing = {"queue_depth": NO_LIMIT}
    return Columns(
        *(
            np.array([getattr(target, name, missing.get(name, 0.0)) for target in targets], dtype=np.float64)
            for name in _COLUMNS
        )
    )


_COLUMNS = tuple(field.name for field in fields(Columns))


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the flows of each kind are, whose they are, and the parts of its VM's I/O that a virtual disk has."""

    disk: Index
    disk_vm: Index
    reads: Numbers
    writes: Numbers
    part: Numbers
    swap: Index
    swap_vm: Index
    copy: Index
    copy_vm: Index
    log: Index


def _make(layout: Layout) -> _Places:
    def places(kind: str) -> Index:
        return _index(place for place, flow in enumerate(layout.flows) if flow.kind == kind)

    disk = [(flow, layout.vms[flow.vm].disks) for flow in layout.flows if flow.kind == "disk"]
    touch = [disks[flow.disk].reads + disks[flow.disk].writes for flow, disks in disk]
    whole = [fsum(each.reads + each.writes for each in disks) for _, disks in disk]
    swap, copy = places("swap"), places("snapshot")
    return _Places(
        disk=places("disk"),
        disk_vm=_index(flow.vm for flow, _ in disk),
        reads=np.array([disks[flow.disk].reads for flow, disks in disk], dtype=np.float64),
        writes=np.array([disks[flow.disk].writes for flow, disks in disk], dtype=np.float64),
        part=np.array([one / all_ if all_ else 0.0 for one, all_ in zip(touch, whole, strict=True)], dtype=np.float64),
        swap=swap,
        swap_vm=layout.flow_vm[swap],
        copy=copy,
        copy_vm=layout.flow_vm[copy],
        log=places("log"),
    )


def _index(values: Iterable[int]) -> Index:
    return np.fromiter(values, dtype=np.intp)


_places = OncePerLayout(_make)


def asked(layout: Layout, loads: Loads, memory: MemorySample) -> Asks:
    """What every flow wants; those of vSAN to the host's devices want nothing yet."""
    at = _places(layout)
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
    put(at.log, reads=_LOG[0], writes=_LOG[1], outstanding=4.0)
    return Asks(**rows)
