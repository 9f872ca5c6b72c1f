"""What esxtop prints for the ports of virtual switches.

Only uplinks have a link: the others say 0 for all that is said of one. Sizes are whole bytes, cut off; megabits are
2**20 bits, as a capture of ESXi 6.5 has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.model.links import nics_of
from esxparse_simulator.model.once import OncePerLayout
from esxparse_simulator.model.sums import divided

if TYPE_CHECKING:
    from esxparse_simulator.host import Nic
    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.sample import Numbers, Snapshot

Table = dict[str, "Numbers | float"]

_MEGABIT = 2.0**20


def _make(layout: Layout) -> Table | None:
    """The links of a host whose links stay as they are."""
    moves = any(nic.phases for switch in layout.scenario.switches for nic in switch.uplinks)
    return None if moves else _links(layout, nics_of(layout, 0.0))


_still = OncePerLayout(_make)


def _links(layout: Layout, nics: tuple[Nic, ...]) -> Table:
    """Link up, its speed and its duplex, along the ports."""
    links = np.zeros((3, len(layout.ports)))
    for place, port in enumerate(layout.ports):
        if port.kind == "uplink":
            nic = nics[port.uplink]
            links[:, place] = nic.up, nic.mbits if nic.up else 0, nic.up and nic.full_duplex
    return {"Link Up?": links[0], "Link Speed (Mb/s)": links[1], "Full Duplex?": links[2]}


def rows(now: Snapshot, layout: Layout) -> dict[str, Table]:
    """The table of network ports."""
    of = now.ports
    return {
        "Network Port": {
            **(_still(layout) or _links(layout, nics_of(layout, now.second))),
            "Packets Transmitted/sec": of.tx,
            "MBits Transmitted/sec": of.tx * of.tx_bytes * 8.0 / _MEGABIT,
            "Average Packet Size  Transmitted (Bytes)": np.trunc(of.tx_bytes),
            "Packets Received/sec": of.rx,
            "MBits Received/sec": of.rx * of.rx_bytes * 8.0 / _MEGABIT,
            "Average Packet Size  Received (Bytes)": np.trunc(of.rx_bytes),
            "% Outbound Packets Dropped": _percent(of.tx_dropped, of.tx),
            "% Received Packets Dropped": _percent(of.rx_dropped, of.rx),
            "Multicast Packets Received/sec": of.multicast,
            "Broadcast Packets Received/sec": of.broadcast,
        }
    }


def _percent(dropped: Numbers, passed: Numbers) -> Numbers:
    """Dropped of all there were."""
    there = passed + dropped
    return divided(100.0 * dropped, there)
