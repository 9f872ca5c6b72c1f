"""What an instrument notes of a host while it goes by: the guests' I/O, the watts.

Observers are given to `Capture.observers`; each is called with every snapshot, and keeps only sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from esxparse_simulator.distribution import Distribution
from esxparse_simulator.model.sums import over_vcpus
from esxparse_simulator.results import Access, Measured, Side, Worker
from esxparse_simulator.variables import ScenarioError

if TYPE_CHECKING:
    from datetime import datetime

    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.sample import Snapshot

__all__ = ["GuestIo", "Watts"]


@dataclass(slots=True)
class Watts:
    """The host's power at every sample: (time, watts, utilisation of its PCPUs in percent, mean clock in MHz)."""

    readings: list[tuple[datetime, float, float, float]] = field(default_factory=list)

    def __call__(self, now: Snapshot) -> None:
        """Note one sample."""
        count = len(now.pcpus.util)
        util = float(sum(now.pcpus.util.tolist())) / count
        clock = float(sum(now.pcpus.clock.tolist())) / count * now.host.mhz
        self.readings.append((now.time, now.watts, util, clock))


class GuestIo:
    """What load generators in the VMs whose names fit `vms` measured on their disk `disk` after `ramp_s` seconds.

    `vms` then has those VMs, in the order of the workers.

    A sample tells of the interval that ends with it: those of ramp_s < second <= ramp_s + seconds count.
    """

    def __init__(self, layout: Layout, vms: str, disk: int, ramp_s: float, seconds: float) -> None:
        self._layout = layout
        self._flows = [
            place
            for place, flow in enumerate(layout.flows)
            if flow.kind == "disk" and flow.disk == disk and fnmatchcase(layout.vms[flow.vm].name, vms)
        ]
        if not self._flows:
            msg = f"no VM named {vms!r} has a disk {disk}: there are {', '.join(vm.name for vm in layout.vms)}."
            raise ScenarioError(msg)
        self.vms = tuple(layout.vms[layout.flows[place].vm] for place in self._flows)
        self.ramp_s, self.seconds = ramp_s, seconds
        self._samples = 0
        self._sums = np.zeros((5, len(self._flows)))

    def __call__(self, now: Snapshot) -> None:
        """Note one sample, if it is of the measured part."""
        if not self.ramp_s < now.second <= self.ramp_s + self.seconds:
            return
        part = now.storage.flows.taken(self._flows)
        self._samples += 1
        self._sums += np.stack(
            [
                part.reads,
                part.writes,
                part.reads * (part.driver_read + part.kernel_read),
                part.writes * (part.driver_write + part.kernel_write),
                over_vcpus(self._layout, now.worlds.run)[[self._layout.flows[place].vm for place in self._flows]],
            ]
        )

    def measured(self, access: Access, start: datetime, *, shape: str, read_bytes: int, write_bytes: int) -> Measured:
        """The measurement of `access`, latencies spread in `shape`.

        Raises:
            ScenarioError: The measured part holds no sample.
        """
        if not self._samples:
            msg = f"{access.name}: no sample of the capture is in the {self.seconds:g} s after {self.ramp_s:g} s."
            raise ScenarioError(msg)
        workers = []
        for place, sums in zip(self._flows, self._sums.T.tolist(), strict=True):
            flow = self._layout.flows[place]
            reads, writes, read_ms, write_ms, used = sums
            workers.append(
                Worker(
                    name=f"Worker {flow.disk + 1}",
                    manager=self._layout.vms[flow.vm].name,
                    disk=str(flow.slot),
                    read=_side(reads, read_ms, self._samples, read_bytes, shape),
                    write=_side(writes, write_ms, self._samples, write_bytes, shape),
                    cpu_pct=used / self._samples,
                )
            )
        return Measured(access, start, self.ramp_s, self.seconds, tuple(workers))


def _side(total: float, weighted_ms: float, samples: int, block_bytes: int, shape: str) -> Side | None:
    if total <= 0.0:
        return None
    return Side(total / samples, block_bytes, Distribution(weighted_ms / total, shape))
