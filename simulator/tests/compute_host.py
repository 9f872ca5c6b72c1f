"""Hosts for tests of CPU, power and memory, and the laws that every sample of any host keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import strategies as st
from io_host import by_name

import esxparse_simulator as simulate
from esxparse_simulator.esxtop.host_rows import cpu_rows, memory_rows
from esxparse_simulator.host import Adapter, Device, Host, Load, Nic, Phase, Scenario, Switch, VirtualDisk, Vm
from esxparse_simulator.model.sample import Matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.sample import Snapshot

    Numbers = NDArray[np.float64]

DISK = "naa.1"
DISKS: dict[str, Any] = {"read_ms": 0.4, "write_ms": 0.3, "service_ms": 0.002, "mb_per_s": 4000.0}


@dataclass(frozen=True)
class Sample:
    """One sample of a host, and what esxtop would print of its CPUs and memory."""

    layout: Layout
    now: Snapshot
    tables: dict[str, dict[str, Any]]

    def vm(self, table: str, counter: str, name: str) -> float:
        """A number in the row of a VM's group."""
        place = next(place for place, group in enumerate(self.layout.groups) if group.label == name)
        return float(np.broadcast_to(self.tables[table][counter], len(self.layout.groups))[place])

    def world(self, what: str, name: str) -> float:
        """A time of the first world whose name begins like this."""
        place = next(place for place, world in enumerate(self.layout.worlds) if world.name.startswith(name))
        return float(getattr(self.now.worlds, what)[place])

    def vcpus(self, what: str, name: str) -> float:
        """Mean of a time over the vCPUs of a VM."""
        vm = next(place for place, vm in enumerate(self.layout.vms) if vm.name == name)
        mine = self.layout.vcpus[self.layout.world_vm[self.layout.vcpus] == vm]
        return float(np.mean(getattr(self.now.worlds, what)[mine]))

    def memory(self, what: str, name: str) -> float:
        """A number of a VM's memory."""
        vm = next(place for place, vm in enumerate(self.layout.vms) if vm.name == name)
        return float(getattr(self.now.memory, what)[vm])


def machine(**fields: Any) -> Host:
    """Two sockets of four cores with hyper-threading, 64 GB."""
    return replace(simulate.busy_host().host, **({"memory_mb": 65_536} | fields))


def guest(name: str, vcpus: int = 2, **given: Any) -> Vm:
    """A VM on node 0 with one disk, whose load does not vary; fields of `Vm` and of `Load` by name."""
    fields = {key: given.pop(key) for key in list(given) if key in Vm.__dataclass_fields__}
    base: dict[str, Any] = {"memory_mb": 4096, "node": 0, "switch": "s0", "jitter": 0.0}
    used = {"used_mb": 2000.0, "active_mb": 500.0} | given
    return Vm(name, vcpus, disks=(VirtualDisk("scsi0:0", DISK),), load=Load(**used), **(base | fields))


def scenario(vms: Sequence[Vm], host: Host | None = None, **fields: Any) -> Scenario:
    """A host with one LUN and one uplink."""
    given: dict[str, Any] = {
        "adapters": (Adapter("vmhba0", 2048),),
        "devices": (Device(DISK, ("vmhba0:C0:T0:L0",), 256, 1, **DISKS),),
        "switches": (Switch("s0", (Nic("vmnic0", 10_000),), ("vmk0",)),),
        "nfs": (),
        "vsan": (),
    }
    return replace(simulate.busy_host(), host=host or machine(), vms=tuple(vms), **(given | fields))


def samples(of: Scenario, count: int = 3, interval: float = 5.0, seed: int = 1) -> list[Sample]:
    """A capture of a host, each sample checked for the laws."""
    capture = simulate.capture(of, samples=count, interval=interval, seed=seed)
    found = []
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        for now in capture:
            tables = by_name(chain(cpu_rows(now, capture.layout), memory_rows(now, capture.layout)))
            found.append(Sample(capture.layout, now, tables))
            keeps_the_laws(found[-1])
    return found


def last(of: Scenario, count: int = 3, interval: float = 5.0) -> Sample:
    """The last sample of a capture."""
    return samples(of, count, interval)[-1]


def keeps_the_laws(sample: Sample) -> None:
    """Everything is a number and none is negative; times, states, watts and megabytes add up."""
    _is_sane(sample)
    _worlds_add_up(sample)
    _pcpus_add_up(sample)
    _memory_adds_up(sample)


def _arrays(thing: Any) -> dict[str, Numbers]:
    if isinstance(thing, Matrix):
        return dict(zip(thing.names, thing.values, strict=True))
    return {name: np.asarray(getattr(thing, name)) for name in thing.__dataclass_fields__}


def _is_sane(sample: Sample) -> None:
    now = sample.now
    for part in (now.worlds, now.pcpus, now.nodes, now.memory, now.interrupts):
        for name, values in _arrays(part).items():
            assert np.isfinite(values).all(), name
            assert (values >= -1e-9).all(), (name, values.min())
    for table, counters in sample.tables.items():
        for counter, values in counters.items():
            assert np.isfinite(values).all(), (table, counter)
            assert (np.asarray(values) >= (-3.0 if counter.startswith(("Alloc", "Commit")) else -1e-6)).all(), (
                table,
                counter,
            )


def _worlds_add_up(sample: Sample) -> None:
    now, layout = sample.now, sample.layout
    worlds, pcpus = now.worlds, now.pcpus
    assert worlds.run + worlds.ready + worlds.costop + worlds.wait == pytest.approx(100.0, abs=1e-6)
    assert (worlds.max_limited <= worlds.ready + 1e-9).all()
    assert (worlds.idle + worlds.swap_wait <= worlds.wait + 1e-6).all()
    assert (worlds.pcpu == np.floor(worlds.pcpu)).all()
    assert worlds.pcpu.max() < now.host.pcpus
    busy = np.ones(len(layout.worlds), dtype=bool)
    busy[layout.idlers] = False
    assert worlds.run[busy].sum() == pytest.approx(pcpus.util.sum(), rel=1e-9, abs=1e-6)
    assert worlds.used[busy].sum() == pytest.approx(_used_of_worlds(now).sum(), rel=1e-9, abs=1e-6)
    assert worlds.system.sum() == pytest.approx(worlds.overlap.sum(), rel=1e-9, abs=1e-9)
    for counter in ("% Used", "% Run", "% System", "% Wait", "% Ready", "% CoStop", "% Memory Latency", "Wakeups/sec"):
        of_worlds, of_groups = sample.tables["Vcpu"][counter], sample.tables["Group Cpu"][counter]
        added = [of_worlds[layout.world_group == number].sum() for number in range(len(layout.groups))]
        assert of_groups == pytest.approx(np.array(added), rel=1e-9, abs=1e-9), counter
    vms = sample.tables["Group Cpu"]["Power Usage Watts"]
    assert vms.sum() <= now.watts - now.host.idle_watts + 1e-6


def _used_of_worlds(now: Snapshot) -> Numbers:
    """Used time of PCPUs as worlds are charged it: while the sibling runs 62.5 %, where the PCPU is charged half."""
    util, core = now.pcpus.util, now.pcpus.core_util
    threads = now.host.threads_per_core
    both = np.zeros_like(util) if threads == 1 else np.repeat(util.reshape(-1, 2).sum(axis=1), 2) - core
    assert now.pcpus.used == pytest.approx((util - 0.5 * both) * now.pcpus.clock, rel=1e-9, abs=1e-6)
    return (util - 0.375 * both) * now.pcpus.clock


def _pcpus_add_up(sample: Sample) -> None:
    host, pcpus = sample.now.host, sample.now.pcpus
    assert (pcpus.util <= 100.0 + 1e-9).all()
    assert (pcpus.core_util <= 100.0 + 1e-9).all()
    assert (pcpus.core_util >= pcpus.util - 1e-9).all()
    for states in (pcpus.c_states, pcpus.p_states, pcpus.t_states):
        assert states.sum(axis=1) == pytest.approx(100.0)
    assert pcpus.c_states[:, 0] == pytest.approx(pcpus.util)
    assert (pcpus.clock <= host.turbo_mhz / host.mhz + 1e-9).all()
    assert sample.now.watts >= host.idle_watts
    rates = sample.tables["Interrupt Cookie"]["Interrupts/second"].reshape(-1, host.pcpus + 1)
    assert rates[:, 0] == pytest.approx(rates[:, 1:].sum(axis=1))


def _memory_adds_up(sample: Sample) -> None:
    memory, host, tables = sample.now.memory, sample.now.host, sample.tables
    printed = tables["Memory"]
    whole = printed["Kernel MBytes"] + printed["NonKernel MBytes"] + printed["Free MBytes"]
    assert whole == pytest.approx(host.memory_mb)
    assert tables["Numa Node"]["Free MBytes"].sum() == pytest.approx(printed["Free MBytes"], abs=1e-3)
    taken = memory.balloon + memory.swapped + memory.compressed
    assert memory.granted == pytest.approx(np.maximum(0.0, memory.used - taken), abs=1e-6)
    resident = memory.used - memory.shared - taken
    assert memory.consumed == pytest.approx(resident + 0.5 * memory.compressed, abs=1e-6)
    assert (memory.remote <= memory.consumed + 1e-6).all()
    assert (memory.active <= memory.used + 1e-6).all()
    assert (memory.swap_wait <= 1.0).all()
    assert memory.state in {0.0, 1.0, 2.0, 3.0}


_part = st.floats(0.0, 1.0)
_load = {
    "cpu": st.floats(0.0, 99.0),
    "io_bound": _part,
    "read_iops": st.sampled_from([0.0, 50.0, 20_000.0]),
    "write_iops": st.floats(0.0, 6000.0),
    "used_mb": st.floats(0.0, 20_000.0),
    "active_mb": st.floats(0.0, 20_000.0),
    "tx_pps": st.sampled_from([0.0, 200.0, 300_000.0]),
    "rx_pps": st.floats(0.0, 500_000.0),
    "timers": st.sampled_from([0.0, 100.0, 20_000.0]),
    "consolidate_mb_per_s": st.sampled_from([0.0, 80.0]),
    "vmotion_mb_per_s": st.sampled_from([0.0, 1000.0]),
}


@st.composite
def _guests(draw: st.DrawFn, number: int, nodes: int) -> Vm:
    load = {name: draw(values) for name, values in _load.items()}
    later = draw(st.dictionaries(st.sampled_from(sorted(_load)), st.none(), max_size=3))
    phase = Phase(5.0, 100.0, {name: draw(_load[name]) for name in later})
    return guest(
        f"vm{number}",
        draw(st.sampled_from([1, 2, 8, 20])),
        memory_mb=draw(st.sampled_from([1024, 8192, 16_384])),
        node=draw(st.integers(0, nodes - 1)),
        nodes=draw(st.sampled_from([(), tuple(range(nodes))])),
        phases=(phase,),
        cpu_limit_mhz=draw(st.sampled_from([None, 500, 4000])),
        cpu_reservation_mhz=draw(st.sampled_from([0, 3000])),
        memory_limit_mb=draw(st.sampled_from([None, 700])),
        memory_reservation_mb=draw(st.sampled_from([0, 1000])),
        shares_per_vcpu=draw(st.sampled_from([500, 1000, 8000])),
        jitter=draw(st.sampled_from([0.0, 0.3])),
        remote_memory=draw(st.sampled_from([0.0, 0.4, 1.0])),
        balloon_driver=draw(st.booleans()),
        io_filter_us=draw(st.sampled_from([0.0, 20.0])),
        **load,
    )


@st.composite
def hosts(draw: st.DrawFn) -> Scenario:
    """Any host: every field that bears on CPU, power and memory."""
    sockets = draw(st.sampled_from([1, 2, 4]))
    states = draw(st.sampled_from([(2601, 2600, 2200, 1800, 1200), (2600,), (2601, 1200)]))
    host = machine(
        sockets=sockets,
        cores_per_socket=draw(st.integers(1, 4)),
        threads_per_core=draw(st.sampled_from([1, 2])),
        p_states_mhz=states,
        t_states=draw(st.sampled_from([1, 4])),
        memory_mb=draw(st.sampled_from([12_000, 24_000, 131_037])),
        policy=cast("Any", draw(st.sampled_from(["high performance", "balanced", "low power"]))),
        cap_mhz=draw(st.sampled_from([0.0, 1500.0])),
        throttled_pct=draw(st.sampled_from([0.0, 30.0])),
        disk_us=draw(st.floats(0.0, 30.0)),
        sys_disk_us=draw(st.floats(0.0, 100.0)),
        net_us=draw(st.floats(0.0, 5.0)),
        sys_net_us=draw(st.floats(0.0, 5.0)),
        remote_part=draw(st.floats(0.0, 0.6)),
        compression=draw(st.booleans()),
        phases=(Phase(5.0, 10.0, {"cap_mhz": 900.0, "throttled_pct": 100.0}),) if draw(st.booleans()) else (),
    )
    vms = [draw(_guests(number, sockets)) for number in range(draw(st.integers(0, 4)))]
    return scenario(
        vms,
        host,
        adapters=(Adapter("vmhba0", 2048, draw(st.integers(1, 4))),),
        switches=(Switch("s0", (Nic("vmnic0", 100_000, interrupt_pcpus=draw(st.integers(1, 4))),), ("vmk0",)),),
    )
