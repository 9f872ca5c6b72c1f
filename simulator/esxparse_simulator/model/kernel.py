"""What the VMkernel does for guests, in CPU time, and its interrupts: which vectors fire, how often, on which PCPU.

Work that has a world of its own (network, PVSCSI, vmx, helpers) is run time there; work in the context of the vCPU
that asked is system time of that vCPU. Interrupts of a device bound to a single PCPU are run time of the VMkernel's own
worlds on just that PCPU.

Vectors are known by a cookie (a small hexadecimal number, the capture's own). Timers follow each PCPU's busy time,
inter-processor interrupts its wake-ups, adapters their commands, network cards their packets. A device's interrupts
fall on two PCPUs, three quarters of them on the first; on more than two they are spread evenly. A device bound to a
single PCPU has all that follows an interrupt done there too: its interrupts take longer.

Evidence: cookies, and whole microseconds for an interrupt, of a capture of ESXi 6.5. Assumed: all costs and rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from esxparse_simulator.host import Host
from esxparse_simulator.model.layout import Layout, OncePerLayout
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import Interrupts, Loads, PcpuTimes, PortTraffic, StorageSample, WorldTimes
from esxparse_simulator.model.sums import Numbers, added, index
from esxparse_simulator.model.targets import paths_of, shares

_COMMANDS_PER_INTERRUPT = 1.6
_PACKETS_PER_INTERRUPT = 9.0  # interrupts are moderated
_MICROSECONDS = {"adapter": 4.0, "uplink": 2.0, "timer": 1.0, "ipi": 0.0}
_MICROSECONDS_ALONE = {"adapter": 14.0, "uplink": 20.0}  # on a single PCPU, with all that follows
_IPIS = 0.3  # of wake-ups
_TWO = 2  # PCPUs a device's interrupts usually fall on
_MOST_INTERRUPTED = 0.93  # of a PCPU that interrupts take
_TIMERS = 2000.0  # per second of a VM that are part of the ordinary cost of running it
_TIMER_RUN_US = 8.0  # for one more: leaving the guest, delivering the interrupt
_TIMER_SYSTEM_US = 6.0
_VMOTION_PCT = 0.08  # of a core that sending one MB per second takes
_VMOTION_MIGRATES = 0.02  # of helper worlds, for one MB per second
_TRACED = 1e-4  # more run time for each MB per second, while the pages of a VM are traced
_MOST_TRACED = 0.1
_RATES = 0.25  # spread of interrupts, and of their times, on an untidy host
_MOST = 95.0  # percent of a core that one world takes


class _Devices:
    """Vectors of devices, adapters first; the timers' and the IPIs' come after them.

    `binding` [vectors, PCPUs] is the part of a device's interrupts that falls on each PCPU.
    """

    def __init__(self, layout: Layout) -> None:
        scenario, pcpus = layout.scenario, layout.scenario.host.pcpus
        nics = [nic for switch in scenario.switches for nic in switch.uplinks]
        widths = [adapter.interrupt_pcpus for adapter in scenario.adapters] + [nic.interrupt_pcpus for nic in nics]
        binding = np.zeros((len(widths), pcpus))
        for number, width in enumerate(widths):
            parts = (0.75, 0.25) if width == _TWO else (1.0 / max(1, width),) * max(1, width)
            for place, part in enumerate(parts):
                binding[number, (3 * number + _TWO * place) % pcpus] += part
        per_event = [_COMMANDS_PER_INTERRUPT] * len(scenario.adapters) + [_PACKETS_PER_INTERRUPT] * len(nics)
        kinds = [vector.kind for vector in layout.vectors]
        alone = [number for number, width in enumerate(widths) if width < _TWO]
        microseconds = np.array([_MICROSECONDS[kind] for kind in kinds])
        microseconds[alone] = [_MICROSECONDS_ALONE[kinds[number]] for number in alone]
        self.binding = binding
        self.per_event = np.array(per_event, dtype=np.float64)
        self.microseconds = microseconds
        self.alone = np.array(alone, dtype=np.intp)
        # Places among the ports of the uplinks, in the order of their vectors.
        self.ports = index(place for place, port in enumerate(layout.ports) if port.kind == "uplink")


_devices = OncePerLayout(_Devices)
_labels = OncePerLayout(
    lambda layout: (
        *(tuple(f"{what}/{vector.cookie}" for vector in layout.vectors) for what in ("fired", "took", "counted")),
        tuple(f"interrupts/{number}" for number in range(layout.scenario.host.pcpus)),
    )
)


def fire(
    layout: Layout,
    storage: StorageSample,
    ports: PortTraffic,
    pcpus: PcpuTimes,
    worlds: WorldTimes,
    *,
    noise: Noise | None = None,
    seconds: float = 1.0,
) -> Interrupts:
    """The interrupts of one sample."""
    devices = _devices(layout)
    events = np.concatenate([_commands(layout, storage), (ports.tx + ports.rx)[devices.ports]])
    busy = pcpus.util / 100.0
    running = max(1e-9, fsum(busy.tolist()))
    rates = np.empty((len(layout.vectors), len(busy)))
    rates[:-2] = (events / devices.per_event)[:, None] * devices.binding
    rates[-2] = 70.0 + 830.0 * busy
    rates[-1] = _IPIS * fsum(worlds.wakeups.tolist()) * busy / running
    if not noise or not noise.untidy:
        return Interrupts(rates, devices.microseconds)
    vectors, times, draws, cpus = _labels(layout)
    rates = rates * noise.around_each(vectors, 1.0, _RATES)[:, None] * noise.around_each(cpus, 1.0, _RATES)
    # one draw for a vector is another on each PCPU
    part = (noise.uniform_each(draws)[:, None] + 0.618034 * np.arange(len(busy))) % 1.0
    microseconds = np.floor(noise.around_each(times, devices.microseconds, _RATES) + 0.5)
    return Interrupts(np.floor(rates * seconds + part) / seconds, microseconds)


def bound(layout: Layout, before: Interrupts | None) -> Numbers:
    """The part (0..1) of each PCPU that went to the interrupts of devices bound to it alone."""
    devices, pcpus = _devices(layout), layout.scenario.host.pcpus
    if before is None or not devices.alone.size:
        return np.zeros(pcpus)
    mine = before.rates[devices.alone] * before.microseconds[devices.alone][:, None] / 1e6
    where = np.tile(np.arange(pcpus), len(mine))
    return np.minimum(_MOST_INTERRUPTED, added(mine.ravel(), where, pcpus))


def _commands(layout: Layout, storage: StorageSample) -> Numbers:
    """Commands per second of each adapter, over the paths that carry them."""
    count = layout.devices
    commands = added(storage.flows.commands, layout.flow_target, len(layout.targets))[:count]
    paths = paths_of(layout)
    known = paths.adapter >= 0
    carried = commands[paths.device] * shares(layout, storage.alive)
    return added(carried[known], paths.adapter[known], len(layout.scenario.adapters))


class Worlds:
    """Places among the worlds of those that serve (`helpers`: no vCPUs, not idle), and of some of their kinds.

    `busy` is what helpers run in percent whatever is asked; `vm` their VM (0 where `serves` is 0). `own` are the
    VMkernel's own worlds, `movers` those that move data for it and are not among these.
    """

    def __init__(self, layout: Layout) -> None:
        kinds = np.array([world.kind for world in layout.worlds])
        helpers = np.flatnonzero((kinds != "vcpu") & (kinds != "idle"))
        own = [layout.groups[group].own for group in layout.world_group.tolist()]
        moves = [layout.groups[group].label == "helper" for group in layout.world_group.tolist()]
        system = kinds == "system"
        flows = np.array([flow.kind for flow in layout.flows], dtype="U8")
        vm = layout.world_vm[helpers]

        def of(kind: str) -> Numbers:
            mine: Numbers = (kinds[helpers] == kind).astype(np.float64)
            return mine

        self.helpers = helpers
        self.busy = np.array([layout.worlds[place].busy for place in helpers.tolist()], dtype=np.float64)
        self.vm = np.maximum(0, vm)
        self.serves = (vm >= 0).astype(np.float64)
        self.net = of("net")
        self.pvscsi = of("pvscsi")
        self.vmx = of("vmx")
        self.own = np.flatnonzero(system & np.array(own) & ~np.array(moves))
        self.movers = np.flatnonzero(system & np.array(moves))
        self.vcpu_vm = layout.world_vm[layout.vcpus]
        self.vcpus = np.array([each.vcpus for each in layout.vms], dtype=np.float64)
        self.filter_us = np.array([each.io_filter_us for each in layout.vms], dtype=np.float64)
        self.disk_flows = np.flatnonzero(flows == "disk")
        self.kernel_flows = np.flatnonzero((flows == "snapshot") | (flows == "vsan"))


worlds_of = OncePerLayout(Worlds)
"""The places of a layout's worlds."""


@dataclass(frozen=True, slots=True)
class Work:
    """CPU time the VMkernel needs, and the rest that follows from what guests ask.

    `helpers` is percent of a core along the helpers, noise to come on it; `movers` percent and `mover_migrates` per
    second of each mover. Along the VMs: `system` percent of each vCPU, `run` more run time (0..1) of each, `traced`
    what all its run time is multiplied with, `done` the part of its commands that completed, `timers` per second beyond
    the ordinary, of each vCPU.
    """

    helpers: Numbers
    movers: float
    mover_migrates: float
    system: Numbers
    run: Numbers
    traced: Numbers
    done: Numbers
    timers: Numbers


def work_of(layout: Layout, host: Host, loads: Loads, storage: StorageSample) -> Work:
    """The VMkernel's work in one sample."""
    worlds, count = worlds_of(layout), len(layout.vms)
    each = storage.flows.commands
    mine = worlds.disk_flows
    commands = added(each[mine], layout.flow_vm[mine], count)
    wanted = loads.read_iops + loads.write_iops
    packets = loads.tx_pps + loads.rx_pps
    timers = np.maximum(0.0, loads.timers - _TIMERS)
    sent = added(loads.vmotion_mb_per_s, np.zeros(count, dtype=np.intp), 1).item()
    moved = added(each[worlds.kernel_flows], np.zeros(len(worlds.kernel_flows), dtype=np.intp), 1).item()
    movers = max(1, len(worlds.movers))
    return Work(
        helpers=worlds.busy + _microseconds(worlds, host, packets, commands) / 1e4,
        movers=min(_MOST, (sent * _VMOTION_PCT + moved * host.disk_us / 1e4) / movers),
        mover_migrates=sent * _VMOTION_MIGRATES / movers,
        system=(commands * host.sys_disk_us + packets * host.sys_net_us + timers * _TIMER_SYSTEM_US)
        / 1e4
        / worlds.vcpus,
        run=timers * _TIMER_RUN_US / 1e6 / worlds.vcpus,
        traced=1.0 + np.minimum(_MOST_TRACED, loads.vmotion_mb_per_s * _TRACED),
        done=np.where(wanted > 0.0, np.minimum(1.0, commands / np.where(wanted > 0.0, wanted, 1.0)), 1.0),
        timers=timers / worlds.vcpus,
    )


def _microseconds(worlds: Worlds, host: Host, packets: Numbers, commands: Numbers) -> Numbers:
    """Per second, along the helpers."""
    if not worlds.vcpus.size:
        return np.zeros_like(worlds.busy)
    network = (packets * host.net_us)[worlds.vm] * worlds.net
    disk = (commands * host.disk_us)[worlds.vm] * worlds.pvscsi
    filters = (commands * worlds.filter_us)[worlds.vm] * worlds.vmx
    return (network + disk + filters) * worlds.serves
