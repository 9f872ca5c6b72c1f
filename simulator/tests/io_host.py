"""A small host for tests of storage and network: what its targets and ports do in one sample, without a CPU model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from esxparse_simulator import busy_host
from esxparse_simulator.esxtop.io_rows import disk_rows, port_rows, vsan_rows
from esxparse_simulator.host import Adapter, Device, Load, NfsVolume, Nic, Scenario, Switch, VirtualDisk, Vm
from esxparse_simulator.model.demand import at, wanted
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.network import carry
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import MemorySample, summed
from esxparse_simulator.model.storage import serve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from esxparse_simulator.esxtop.host_rows import Part
    from esxparse_simulator.model.sample import PortTraffic, Snapshot, StorageSample, Traffic

    Numbers = NDArray[np.float64]


class Still(Noise):
    """Noise that does not move: what is asked of the model is what the test says."""

    def around_each(self, labels: Sequence[str], value: Any, spread: Any) -> Numbers:  # noqa: ARG002  there is none
        """The value itself."""
        return np.full(len(labels), value, dtype=np.float64)

    def wobble_each(self, labels: Sequence[str]) -> Numbers:
        """No wobble."""
        return np.zeros(len(labels))


def by_name(parts: Iterable[Part]) -> dict[str, dict[str, Any]]:
    """What the tables of a sample say, by table and counter."""
    found: dict[str, dict[str, Any]] = {}
    for table, names, values in parts:
        found.setdefault(table, {}).update(zip(names, values, strict=True))
    return found


@dataclass(frozen=True)
class Sample:
    """One sample of disks and ports."""

    layout: Layout
    storage: StorageSample
    ports: PortTraffic
    tables: dict[str, dict[str, Any]]

    def target(self, number: int = 0) -> Traffic:
        """All traffic of one target."""
        return summed(self.storage.flows, self.layout.flow_target, len(self.layout.targets)).taken([number])

    def flow(self, vm: str, kind: str = "disk") -> Traffic:
        """The flows of one kind that a VM has, as one."""
        mine = [
            place
            for place, flow in enumerate(self.layout.flows)
            if flow.kind == kind and self.layout.vms[flow.vm].name == vm
        ]
        return summed(self.storage.flows.taken(mine), np.zeros(len(mine), dtype=np.intp), 1)

    def port(self, name: str, what: str) -> float:
        """A number of one port."""
        place = next(place for place, port in enumerate(self.layout.ports) if port.name == name)
        return float(getattr(self.ports, what)[place])


def response(traffic: Traffic) -> float:
    """Mean milliseconds that a guest waits for a command."""
    driver, kernel, _ = traffic.per_command()
    return float((driver + kernel)[0])


def device(name: str = "naa.1", **fields: Any) -> Device:
    """A LUN of an array, fast unless told otherwise, over two adapters."""
    paths = fields.pop("paths", (f"vmhba0:C0:T0:{name}", f"vmhba1:C0:T0:{name}"))
    given = {"queue_depth": 64, "partitions": 1, "read_ms": 0.4, "write_ms": 0.3, "service_ms": 0.02, "mb_per_s": 800.0}
    return Device(name, paths, **cast("Any", given | fields))


def volume(name: str = "nfs", vmk: str = "vmk1", **fields: Any) -> NfsVolume:
    """A file server's volume."""
    given = {"read_ms": 0.4, "write_ms": 0.3, "service_ms": 0.02, "mb_per_s": 2000.0}
    return NfsVolume(name, vmk, **cast("Any", given | fields))


def guest(name: str, *targets: str, switch: str = "s0", **load: float) -> Vm:
    """A VM with a disk on each of the targets, which asks for this."""
    fields: dict[str, Any] = {key: load.pop(key) for key in ("rx_limit_pps", "tx_limit_pps") if key in load}
    part = 1.0 / len(targets) if targets else 0.0
    disks = tuple(VirtualDisk(f"scsi0:{n}", target, part, part) for n, target in enumerate(targets))
    return Vm(name, 1, 1024, 0, switch, disks, Load(**load), jitter=0.0, **fields)


def host(vms: Sequence[Vm], **fields: Any) -> Scenario:
    """A host with two disk adapters and one switch, unless told otherwise."""
    switch = Switch("s0", (Nic("vmnic0", 10_000), Nic("vmnic1", 10_000)), ("vmk0",))
    given: dict[str, Any] = {
        "adapters": (Adapter("vmhba0", 2048), Adapter("vmhba1", 2048)),
        "devices": (device("local", paths=("vmhba0:C0:T0:L0",)),),
        "switches": (switch,),
        "nfs": (),
        "vsan": (),
    }
    return replace(busy_host(), start=datetime(2026, 3, 11, tzinfo=UTC), vms=tuple(vms), **(given | fields))


def sample(scenario: Scenario, second: float = 0.0, *, ready: float = 0.0, noise: Noise | None = None) -> Sample:
    """What the disks and ports of a host do at a second, whose VMs are ready for so many percent of it."""
    layout, still = Layout(scenario), noise or Still(1)
    loads = wanted(layout, second, still)
    none = {name: np.zeros(len(layout.vms)) for name in MemorySample.__dataclass_fields__ if name != "state"}
    targets = tuple(at(target, target.phases, second) for target in layout.targets)
    storage = serve(layout, targets, loads, MemorySample(**none, state=0.0), still)
    ports = carry(layout, loads, storage, np.full(len(layout.vms), ready))
    now = cast("Snapshot", SimpleNamespace(storage=storage, ports=ports, targets=targets))
    tables = by_name(chain(disk_rows(now, layout), port_rows(now, layout), vsan_rows(now, layout)))
    return Sample(layout, storage, ports, tables)
