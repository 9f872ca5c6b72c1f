"""One host through time: asks every part of the model what happens in a sample and keeps what outlives it.

`capture` gives a `Capture`; going through it yields a `Snapshot` per sample, computed as it is asked for, so that the
length of a capture costs no memory. Going through it again gives the same snapshots.

Order within a sample: guests' wants, memory, disks, CPU (which waits for disks and swap), clocks, ports, interrupts,
watts.

Evidence: Kernel MBytes that go up and down by half a MB, and samples up to half a second late, of real captures.
Assumed: how often an untidy host skips one, and what a VM that waits for the network leaves undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from math import fsum

from esxparse_simulator.host import Scenario
from esxparse_simulator.model.cpu import HostInputs, run_host
from esxparse_simulator.model.demand import at, wanted
from esxparse_simulator.model.kernel import fire
from esxparse_simulator.model.layout import Group, Layout, over_vcpus
from esxparse_simulator.model.memory import next_memory
from esxparse_simulator.model.network import carry, starved
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.power import group_watts, host_watts
from esxparse_simulator.model.sample import Snapshot, WorldTimes
from esxparse_simulator.model.storage import serve

_LATE = 0.5  # seconds, at most, that an untidy host's sample takes beside its interval
_WAITING = 0.6  # of a VM's CPU that goes with what the network kept from it a sample ago (untidy hosts)
_KERNEL_MB = 0.9  # that the VMkernel's own memory goes up and down
_SKIPPED = 0.002  # of its samples are skipped
_AVERAGES = (60.0, 300.0, 900.0)  # the spans of esxtop's 1, 5 and 15 minute averages


@dataclass(frozen=True, slots=True)
class Capture:
    """A scenario, how often and how many times it is looked at, and the seed of its noise.

    `observers` are called with every snapshot as it goes by: one pass serves all that is recorded of a host.
    """

    scenario: Scenario
    samples: int
    interval: float
    seed: int
    layout: Layout
    observers: tuple[Callable[[Snapshot], None], ...] = ()

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of worlds, in the order of a capture."""
        return self.layout.groups

    def __iter__(self) -> Iterator[Snapshot]:
        noise, before = Noise(self.seed, self.scenario.untidy), None
        for second in moments(self.samples, self.interval, noise):
            before = _sample(self, noise, second, before)
            for observer in self.observers:
                observer(before)
            yield before


def capture(
    scenario: Scenario, *, samples: int | None = None, interval: float | None = None, seed: int | None = None
) -> Capture:
    """A capture of the scenario: `samples` rows, `interval` seconds apart; the scenario says what is not given."""
    return Capture(
        scenario,
        scenario.samples if samples is None else samples,
        scenario.interval if interval is None else interval,
        scenario.seed if seed is None else seed,
        Layout(scenario),
    )


def _sample(of: Capture, noise: Noise, second: float, before: Snapshot | None) -> Snapshot:
    layout = of.layout
    seconds = second - before.second if noise.untidy and before else of.interval
    span = seconds if noise.untidy and before else 0.0
    host = at(of.scenario.host, of.scenario.host.phases, second, span)
    if noise.untidy:
        kernel_mb = round(_KERNEL_MB * noise.untidy * noise.around("kernel", 1.0, 1.0))
        host = replace(host, kernel_mb=host.kernel_mb + kernel_mb)
    targets = tuple(at(target, target.phases, second, span) for target in layout.targets)
    loads = wanted(layout, second, noise, seconds)
    if noise.untidy and before:
        # who waits for the network has less to compute
        loads.cpu[:] *= 1.0 - _WAITING * starved(layout, before.loads, before.ports)
    memory = next_memory(layout, host, loads, before.memory if before else None, seconds)
    storage = serve(layout, targets, loads, memory, noise, second=second, seconds=seconds)
    worlds, pcpus, nodes = run_host(HostInputs(layout, host, loads, memory, storage, noise, seconds), before)
    ready = over_vcpus(layout, worlds.ready)
    ports = carry(layout, loads, storage, ready, second=second, noise=noise, seconds=seconds)
    watts = host_watts(host, pcpus, fsum((storage.flows.read_mb + storage.flows.written_mb).tolist()))
    jumped = sum(jump.by for jump in of.scenario.clock_jumps if jump.second <= second)
    load = _wanting(layout, worlds) / 100.0 / host.pcpus
    return Snapshot(
        second=second,
        time=of.scenario.start + timedelta(seconds=second + jumped),
        host=host,
        targets=targets,
        loads=loads,
        worlds=worlds,
        pcpus=pcpus,
        nodes=nodes,
        cpu_load=_averaged(before.cpu_load, load, seconds) if before else (load,) * len(_AVERAGES),
        memory=memory,
        storage=storage,
        ports=ports,
        interrupts=fire(layout, storage, ports, pcpus, worlds, noise=noise, seconds=seconds),
        watts=watts,
        group_watts=group_watts(layout, host, worlds, watts),
    )


def moments(samples: int, interval: float, noise: Noise) -> Iterator[float]:
    """When samples are taken, in seconds: an untidy host's are a little late, and now and then one is skipped."""
    second = 0.0
    for number in range(samples):
        if number and noise.untidy:
            late, skipped = noise.uniform("late"), noise.uniform("skipped") < _SKIPPED
            second = second + interval * (2.0 if skipped else 1.0) + _LATE * late * late
        yield second if noise.untidy else number * interval


def _wanting(layout: Layout, worlds: WorldTimes) -> float:
    """Time that worlds ran or wanted to, percent; idle worlds want nothing."""
    wanting = worlds.run + worlds.ready - worlds.max_limited
    wanting[layout.idlers] = 0.0
    return fsum(wanting.tolist())


def _averaged(before: tuple[float, ...], now: float, interval: float) -> tuple[float, ...]:
    return tuple(
        value + (now - value) * min(1.0, interval / span) for value, span in zip(before, _AVERAGES, strict=True)
    )
