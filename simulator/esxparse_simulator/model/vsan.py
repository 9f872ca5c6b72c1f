"""vSAN: what a datastore does to its members.

The cluster is taken to be even: as many VMs and disks on every host, so that this host's disks and its VMkernel port
see as much for others as others see for it. Each read is served by some host's disks, each write by those of `copies`
hosts; nearly all of it crosses the network. Congestion (0..255) holds every command back before it is let in.

Assumed: caching within vSAN is that of the datastore's own `cache_mb`; the datastore's response times are given, they
do not follow those of the devices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.once import OncePerLayout
from esxparse_simulator.model.traffic import summed

if TYPE_CHECKING:
    from esxparse_simulator.model.asks import Asks, Columns
    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers
    from esxparse_simulator.model.traffic import Traffic

_FULL_CONGESTION = 255.0
_OUTSTANDING = 256.0


@dataclass(frozen=True, slots=True)
class _Places:
    """Flows of vSAN to the host's devices, their datastores among the targets, and how many devices those have."""

    flows: Index
    source: Index
    devices: Numbers


def _make(layout: Layout) -> _Places:
    rows = [(place, flow.source) for place, flow in enumerate(layout.flows) if flow.kind == "vsan"]
    source = np.array([row[1] for row in rows], dtype=np.intp)
    count = np.bincount(source, minlength=len(layout.targets)).astype(np.float64)
    return _Places(np.array([row[0] for row in rows], dtype=np.intp), source, count[source])


component_flows = OncePerLayout(_make)
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
    rows["outstanding"][places.flows] = _OUTSTANDING
    return replace(asks, **rows)
