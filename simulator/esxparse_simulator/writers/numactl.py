"""numactl --hardware of numactl 2.0.5 (Debian 6) and 2.0.14 and later.

Evidence: numactl.c (`hardware`, `print_distances`, `print_node_cpus`), its output here, and that of a guest printed in
an article. What differs: the old one prints nodes as `(0-0)`, the new one as the kernel's list, `(0)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse_simulator.writers.topology import Topology

__all__ = ["Version", "text"]

Version = Literal["2.0.5", "2.0.14"]


def text(machine: Topology, version: Version = "2.0.14") -> str:
    """What `numactl --hardware` prints.

    Raises:
        EsxparseError: The version is not known.
    """
    if version not in get_args(Version):
        msg = f"numactl {version!r} is not written here: take one of {', '.join(get_args(Version))}"
        raise EsxparseError(msg)
    return "".join(f"{line}\n" for line in _lines(machine, version))


def _lines(machine: Topology, version: Version) -> Iterator[str]:
    last = machine.nodes - 1
    named = "0" if last == 0 and version == "2.0.14" else f"0-{last}"
    yield f"available: {machine.nodes} nodes ({named})"
    free = machine.free_mb or (0,) * machine.nodes
    cpus: list[list[int]] = [[] for _ in range(machine.nodes)]
    for place in machine.places():
        cpus[place.node].append(place.cpu)
    for node in range(machine.nodes):
        yield f"node {node} cpus:" + "".join(f" {cpu}" for cpu in cpus[node])
        yield f"node {node} size: {machine.memory_mb[node]} MB"
        yield f"node {node} free: {free[node]} MB"
    yield "node distances:"
    yield "node " + "".join(f"{node:3d} " for node in range(machine.nodes))
    for node in range(machine.nodes):
        row = "".join(f"{machine.distance(node, to):3d} " for to in range(machine.nodes))
        yield f"{node:3d}: {row}"
