"""What esxtop prints for vSAN: whether the host is a member, and its roles.

The client is where the VMs' I/O comes in, the owner coordinates objects (in an even cluster as many as the client asks
for), the component manager serves the host's own disks. Of each datastore the rows are those three.

Assumed, as no capture of a vSAN host was at hand: what each role counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.traffic import summed
from esxparse_simulator.model.vsan import component_flows

if TYPE_CHECKING:
    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.sample import Numbers, Snapshot
    from esxparse_simulator.model.traffic import Traffic

Table = dict[str, "Numbers | float"]


def rows(now: Snapshot, layout: Layout) -> dict[str, Table]:
    """The tables of vSAN; without a datastore only that there is none."""
    count = len(layout.scenario.vsan)
    if not count:
        return {"VSAN": {"Enabled?": 0.0}}
    first = len(layout.targets) - count
    client = summed(now.storage.flows, layout.flow_target, len(layout.targets)).taken(range(first, first + count))
    places = component_flows(layout)
    disks = summed(now.storage.flows.taken(places.flows), places.source - first, count)
    roles = [_role(traffic) for traffic in (client, client, disks)]
    table: Table = {name: np.stack([role[name] for role in roles], axis=1).ravel() for name in roles[0]}
    return {
        "VSAN": {"Enabled?": 1.0},
        "VSAN/role": {**table, "Congestion": np.repeat(now.storage.congestion[first:], len(roles))},
    }


def _role(traffic: Traffic) -> dict[str, Numbers]:
    return {
        "Reads/sec": traffic.reads,
        "MBRead/sec": traffic.read_mb,
        "Avg Read Latency in ms": traffic.driver_read + traffic.kernel_read,
        "Writes/sec": traffic.writes,
        "MBWrite/sec": traffic.written_mb,
        "Avg Write Latency in ms": traffic.driver_write + traffic.kernel_write,
    }
