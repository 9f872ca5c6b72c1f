"""The processors and memory of a host or guest: what numactl and /proc/cpuinfo tell of it.

>>> guest = Topology(sockets=2, cores=6, nodes=2, memory_mb=(511, 511))
>>> [guest.cpus_of(node) for node in range(2)]
[[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from esxparse.errors import EsxparseError

__all__ = ["Place", "Topology"]

_MOST_CPUS = 8192
_LOCAL, _REMOTE, _FURTHEST = 10, 20, 254


class Place(NamedTuple):
    """Where a logical processor is; `core` counts within its socket."""

    cpu: int
    socket: int
    core: int
    thread: int
    node: int


@dataclass(frozen=True, slots=True)
class Topology:
    """`sockets` of `cores` each with `threads`, cut into NUMA `nodes` of as many cores each.

    `memory_mb` and `free_mb` are of each node (MB of 2**20 bytes); nothing is free where `free_mb` is left out.
    `distances` is a row for each node; left out, 10 to itself and 20 to every other. `numbering` is how the second
    threads of cores are numbered: `last` after all first ones (most hosts), `next` beside their first ones (VMs).
    """

    sockets: int
    cores: int
    threads: int = 1
    nodes: int = 1
    memory_mb: tuple[int, ...] = (4096,)
    free_mb: tuple[int, ...] = ()
    distances: tuple[tuple[int, ...], ...] = ()
    numbering: Literal["last", "next"] = "last"

    def __post_init__(self) -> None:
        """Refuses what is no machine."""
        what = f"{self.sockets} sockets x {self.cores} cores x {self.threads} threads on {self.nodes} nodes"
        least = min(self.sockets, self.cores, self.threads, self.nodes)
        if least < 1 or self.sockets * self.cores * self.threads > _MOST_CPUS:
            msg = f"{what}: give 1 or more of each, {_MOST_CPUS} processors at most"
            raise EsxparseError(msg)
        if self.sockets * self.cores % self.nodes:
            msg = f"{what}: the cores cannot be shared out evenly: take a number of nodes that divides them"
            raise EsxparseError(msg)
        if len(self.memory_mb) != self.nodes or len(self.free_mb) not in {0, self.nodes}:
            msg = f"{what}: {len(self.memory_mb)} sizes and {len(self.free_mb)} free: give one for each node"
            raise EsxparseError(msg)
        free = self.free_mb or (0,) * self.nodes
        if any(not 0 <= left <= size for size, left in zip(self.memory_mb, free, strict=True)):
            msg = f"{what}: a node has more memory free than it has: give 0 up to its size"
            raise EsxparseError(msg)
        rows = self.distances
        if rows and (len(rows) != self.nodes or any(len(row) != self.nodes for row in rows)):
            msg = f"{what}: distances are no square of {self.nodes}: give a row of distances for each node"
            raise EsxparseError(msg)
        if any(
            not (one == _LOCAL if at == to else _LOCAL < one <= _FURTHEST)
            for at, row in enumerate(rows)
            for to, one in enumerate(row)
        ):
            msg = f"{what}: a distance is none: 10 to itself, 11 to 254 to the others"
            raise EsxparseError(msg)

    @property
    def cpus(self) -> int:
        """How many logical processors."""
        return self.sockets * self.cores * self.threads

    def places(self) -> list[Place]:
        """Where each processor is, by number."""
        every = self.sockets * self.cores
        found = []
        for cpu in range(self.cpus):
            core, thread = divmod(cpu, self.threads) if self.numbering == "next" else (cpu % every, cpu // every)
            node = core // (every // self.nodes)
            found.append(Place(cpu, core // self.cores, core % self.cores, thread, node))
        return found

    def cpus_of(self, node: int) -> list[int]:
        """Numbers of the processors of a node."""
        return [place.cpu for place in self.places() if place.node == node]

    def distance(self, node: int, to_node: int) -> int:
        """How far a node's memory is from another's processors, as ACPI has it."""
        if self.distances:
            return self.distances[node][to_node]
        return _LOCAL if node == to_node else _REMOTE
