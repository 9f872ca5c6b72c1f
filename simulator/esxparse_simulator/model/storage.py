"""Disks: closed-loop clients on devices with queues, all targets at once.

Each flow (one group's I/O to one target) asks for a rate and never has more than `outstanding` commands in flight, so
its throughput is min(wanted, outstanding / response). A target's response is its unloaded time plus queueing behind the
array, service x rho / (1 - rho); the rate and the response that fit together are found by bisection. When more commands
are in flight than the device queue (or an adapter's) takes, the rest waits in the VMkernel:

    GAVG = DAVG + KAVG      KAVG = QAVG + a fixed cost      ACTV = commands/s x DAVG      QUED = commands/s x QAVG

What is particular to a flow comes on top of its target's response: misses of the array's cache and vSAN's
congestion, retries after reservation conflicts (in KAVG), and the wait in the VMkernel of a world that may have no more
than `world_queue_depth` in the device. Storage that is reached over the network is held to what its uplink carries.

With no path alive every command fails after `_LOST_MS`, and is counted as an abort.

Evidence: the sums above (VMware's texts); a capture of ESXi 6.5 whose GAVG changes by a third from sample to sample.
Assumed: the queueing, the times of retries and losses, and that a mean is the less sure the fewer its commands.
"""

from __future__ import annotations

from math import fsum

import numpy as np
from numpy.typing import NDArray

from esxparse_simulator.model.layout import Layout, OncePerLayout, Target
from esxparse_simulator.model.loops import Clients, Found, clients_of, found, room_left
from esxparse_simulator.model.network import ACK_PART, links_of
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import Loads, MemorySample, StorageSample, Traffic
from esxparse_simulator.model.sums import Numbers, added, divided
from esxparse_simulator.model.targets import (
    NO_LIMIT,
    Asks,
    Columns,
    Misses,
    asks_of,
    behind_the_cache,
    columns,
    component_flows,
    congestion_ms,
    on_devices,
    paths_of,
    shares,
)

Flags = NDArray[np.bool_]

_KERNEL_MS = 0.02  # the VMkernel's own time on a command
_LOST_MS = 10_000.0  # how long a command waits for a path before it fails (assumed: a driver's loss timeout)
_RETRY_MS = 10.0  # how long a command waits after a reservation conflict (assumed)
_MOST_RETRIES = 5.0
_ROUNDS = 6  # of fitting the retries to the rate
_UNEVEN, _ONE = 0.3, 0.9  # spread of a mean response, and what one command's has beside it


_labels = OncePerLayout(lambda layout: tuple(f"{target.name}/others" for target in layout.targets))
_flow_labels = OncePerLayout(
    lambda layout: tuple(
        tuple(
            f"flow/{flow.group}/{flow.target}/{flow.kind}/{flow.slot}/{way}{what}"
            for way in ("read", "write")
            for flow in layout.flows
        )
        for what in ("s", " times")
    )
)


def serve(
    layout: Layout,
    targets: tuple[Target, ...],
    loads: Loads,
    memory: MemorySample,
    noise: Noise,
    *,
    second: float = 0.0,
    seconds: float = 1.0,
) -> StorageSample:
    """What each of the flows gets from its target; `targets` are this second's, in the order of the layout."""
    of = columns(layout, targets)
    # an array is shared with hosts that are not in the picture
    slower = noise.factors(noise.wobble_each(_labels(layout)), of.shared)
    of.service_ms = of.service_ms * slower
    of.mb_per_s = of.mb_per_s / slower
    asks = asks_of(layout, loads, memory)
    wire, alive = _wires(layout, asks, of, second), _alive(layout, of)
    lost = (alive <= 0.0) | (wire <= 0.0)
    if lost.any():
        alive, wire = np.where(lost, 0.0, alive), np.where(lost, np.inf, wire)
        of.read_ms, of.write_ms = np.where(lost, _LOST_MS, of.read_ms), np.where(lost, _LOST_MS, of.write_ms)
        of.mb_per_s = np.where(lost, NO_LIMIT, of.mb_per_s)
        of.service_ms, of.media_ms = np.where(lost, 0.0, of.service_ms), np.where(lost, 0.0, of.media_ms)
    flows, retries = _fitted(layout, asks, of, wire, alive)
    if len(component_flows(layout).flows):
        moved = _without_data(layout, flows, lost)
        flows, retries = _fitted(layout, on_devices(layout, asks, of, moved), of, wire, alive)
    if noise.untidy:
        flows = _counted(layout, flows, noise, seconds)
    return _sample(layout, of, _without_data(layout, flows, lost), lost, alive, retries)


def _counted(layout: Layout, flows: Traffic, noise: Noise, seconds: float) -> Traffic:
    """Whole commands, whose mean times are the less sure the fewer they are."""
    values, (counts, times) = flows.values.copy(), _flow_labels(layout)
    values[:2] = noise.counted(counts, flows.values[:2], seconds)
    values[2:4] *= divided(values[:2], flows.values[:2])
    spread = _UNEVEN + _ONE / np.sqrt(1.0 + values[:2] * seconds)
    values[4:].reshape(3, -1)[:] *= noise.factors(noise.wobble_each(times), spread.ravel())
    return Traffic(values)


def _sample(
    layout: Layout, of: Columns, flows: Traffic, lost: Flags, alive: Numbers, retries: Numbers
) -> StorageSample:
    reads, writes = (_by_target(layout, values) for values in (flows.reads, flows.writes))
    failing = np.where(lost, 1.0, np.minimum(1.0, of.failed_part))
    return StorageSample(
        flows=flows,
        failed_reads=reads * failing,
        failed_writes=writes * failing,
        aborts=of.aborts + np.where(lost, reads + writes, 0.0),
        resets=of.resets,
        reserves=of.reserves,
        conflicts=np.minimum(of.conflicts, retries * (reads + writes)),
        alive=alive,
        congestion=of.congestion,
    )


def _without_data(layout: Layout, flows: Traffic, lost: Flags) -> Traffic:
    """A target that does not answer moves no data."""
    if not lost.any():
        return flows
    return flows.moving(np.where(lost, 0.0, 1.0)[layout.flow_target])


def _alive(layout: Layout, of: Columns) -> Numbers:
    """The part of each target's paths that answer; what has no paths is alive."""
    count = paths_of(layout).count
    alive = np.ones(len(layout.targets))
    dead = np.minimum(count, np.maximum(0.0, np.rint(of.dead_paths[: len(count)])))
    alive[: len(count)] = (count - dead) / count
    return alive


def _wires(layout: Layout, asks: Asks, of: Columns, second: float) -> Numbers:
    """MB per second that the network leaves each target: infinite for those that do not use it.

    Targets that together want more than their uplink carries share it by what each wants and its clients can have in
    flight. Full duplex, the busier way counts, with the acknowledgements of the other.
    """
    limits = np.full(len(layout.targets), np.inf)
    links = links_of(layout, second)
    users = np.flatnonzero(links.target_port >= 0)
    if not len(users):
        return limits
    # no more than what can be in flight at the soonest response
    soonest = np.maximum(1e-3, np.minimum(of.read_ms, of.write_ms))[layout.flow_target]
    wanted = np.maximum(1e-9, asks.reads + asks.writes)
    possible = np.minimum(1.0, asks.outstanding * 1000.0 / soonest / wanted)
    read = _by_target(layout, asks.reads * possible * asks.read_kb / 1024.0)
    written = _by_target(layout, asks.writes * possible * asks.write_kb / 1024.0)
    # a vSAN host serves others' reads and keeps copies for others as they do for it
    copied = written * np.maximum(1.0, of.copies)
    out, into = copied + np.where(of.copies > 0.0, read, 0.0), read + np.where(of.copies > 0.0, copied, 0.0)
    out, into = out + ACK_PART * into, into + ACK_PART * out
    for uplink in sorted(set(links.port_uplink[links.target_port[users]].tolist()) - {-1}):
        mine = users[links.port_uplink[links.target_port[users]] == uplink]
        ways = np.maximum(out, into) if links.full_duplex[uplink] else out + into
        together, line = fsum(ways[mine].tolist()), links.payload_mb(uplink)
        if line <= 0.0:
            limits[mine] = 0.0
        elif together > 0.0:
            limits[mine] = np.where(ways[mine] > 0.0, (read + written)[mine] * line / together, np.inf)
    return limits


def _fitted(layout: Layout, asks: Asks, of: Columns, wire: Numbers, alive: Numbers) -> tuple[Traffic, Numbers]:
    """What the flows get, and along the targets how many conflicts a command meets.

    Conflicts are given per second; what they cost a command depends on how many commands there are, and the other way
    round, so the two are fitted to each other in a few rounds.
    """
    misses = behind_the_cache(asks, of, layout.flow_target)
    retries = np.zeros(len(layout.targets))
    flows = _served(layout, asks, of, misses, wire, alive, retries)
    if (of.conflicts > 0.0).any():
        for _ in range(_ROUNDS):
            commands = _by_target(layout, flows.reads + flows.writes)
            before, retries = retries, np.minimum(_MOST_RETRIES, divided(of.conflicts, commands))
            if np.allclose(before, retries, rtol=1e-9, atol=0.0):
                break
            flows = _served(layout, asks, of, misses, wire, alive, retries)
    return flows, retries


def _served(
    layout: Layout, asks: Asks, of: Columns, misses: Misses, wire: Numbers, alive: Numbers, retries: Numbers
) -> Traffic:
    target = layout.flow_target
    congestion = congestion_ms(of)
    again = retries * _RETRY_MS
    clients = clients_of(layout, asks, of, misses, congestion + again)
    fit = found(clients, of, wire)
    read_ms = (of.read_ms + fit.waiting)[target] + (misses.read_ms + congestion[target])
    write_ms = (of.write_ms + fit.waiting)[target] + (misses.write_ms + congestion[target])
    rates = np.zeros(len(target))
    rates[clients.flow] = fit.rates
    outside: Numbers | float = 0.0
    if clients.limited:
        rates, outside = _limited(asks, clients, fit, (read_ms, write_ms), again[target])
    reads, writes = asks.reads * rates, asks.writes * rates
    in_flight = _by_target(layout, reads * read_ms + writes * write_ms) / 1000.0
    inside = _inside(layout, of, in_flight, alive)[target]
    read_queue, write_queue = read_ms * (1.0 - inside) + outside, write_ms * (1.0 - inside) + outside
    kernel, there = _KERNEL_MS + again[target], np.array([reads, writes] * 3) > 0.0
    mb = reads * asks.read_kb / 1024.0, writes * asks.write_kb / 1024.0
    in_device, in_kernel = (read_ms * inside, write_ms * inside), (read_queue + kernel, write_queue + kernel)
    latencies = np.where(there, [*in_device, *in_kernel, read_queue, write_queue], 0.0)
    return Traffic(np.concatenate([[reads, writes, *mb], latencies]))


def _limited(
    asks: Asks, clients: Clients, fit: Found, latency: tuple[Numbers, Numbers], again: Numbers
) -> tuple[Numbers, Numbers]:
    """Rates along the flows, and milliseconds that those of a world at its limit wait outside of the device.

    Such a world has all its outstanding commands in flight: what is not in the device waits.
    """
    flow = clients.flow
    reads, writes = asks.reads[flow], asks.writes[flow]
    response = (reads * latency[0][flow] + writes * latency[1][flow]) / clients.wanted
    left = room_left(clients, clients.wanted * fit.rates * response / 1000.0)
    rates, outside = np.zeros(len(again)), np.zeros(len(again))
    reached = rates[flow] = fit.rates * left
    waits = clients.outstanding * 1000.0 / (clients.wanted * reached) - response - again[flow]
    outside[flow] = np.where(np.minimum(fit.left, left) < 1.0, np.maximum(0.0, waits), 0.0)
    return rates, outside


def _inside(layout: Layout, of: Columns, in_flight: Numbers, alive: Numbers) -> Numbers:
    """The part (0..1) of each target's commands in flight that is in the device, not in the VMkernel's queues."""
    inside = np.divide(of.queue_depth, in_flight, out=np.ones_like(in_flight), where=in_flight > of.queue_depth)
    paths, count = paths_of(layout), layout.devices
    listed = paths.adapter >= 0
    adapter = paths.adapter[listed]
    through = (in_flight * inside)[paths.device[listed]] * shares(layout, alive)[listed]
    depth = np.array([each.queue_depth for each in layout.scenario.adapters], dtype=np.float64)
    load = added(through, adapter, len(depth))
    if not (load > depth).any():
        return inside
    # a device that takes its paths in turn is as slow as the fullest adapter it goes through
    part = np.ones(len(paths.device))
    part[listed] = np.divide(depth, load, out=np.ones_like(depth), where=load > depth)[adapter]
    part = np.where(shares(layout, alive) > 0.0, part, 1.0)
    inside[:count] = inside[:count] * np.minimum.reduceat(part, paths.first)
    return inside


def _by_target(layout: Layout, values: Numbers) -> Numbers:
    return added(values, layout.flow_target, len(layout.targets))
