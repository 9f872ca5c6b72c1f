"""Edits CPU time of worlds; groups, physical CPUs, idle worlds, clocks and load averages follow.

A world's time is 100 % of the wall clock: %RUN + %RDY + %CSTP + %WAIT. %RDY contains %MLMTD; %WAIT contains %VMWAIT,
which contains %SWPWT, and %IDLE (VMware, "Interpreting esxtop statistics"). %USED = %RUN x clock + %SYS - %OVRLP.
"""

from __future__ import annotations

import numpy as np

from .capture import Cells, Key
from .host import GROUP, WORLD, Host, Vm

_CELLS = {
    "run": "% Run",
    "ready": "% Ready",
    "costop": "% CoStop",
    "mlmtd": "% Max Limited",
    "swpwt": "% Swap Wait",
    "vmwait": "% VmWait",
    "sys": "% System",
    "overlap": "% Overlap",
    "switches": "Switches/sec",
    "migrates": "Migrates/sec",
    "wakeups": "Wakeups/sec",
    "latency": "% CPU Latency",
    "memory_latency": "% Memory Latency",
}
_SUMMED = [*_CELLS.values(), "% Wait", "% Idle", "% Used"]
_IDLE = ":idle"
_FULL = 100.0
_MOST_BUSY = 0.99
_MINUTES = {"Cpu Load (1 Minute Avg)": 60.0, "Cpu Load (5 Minute Avg)": 300.0, "Cpu Load (15 Minute Avg)": 900.0}


def edit_vcpus(host: Host, vm: Vm, which: str | int = "all", **levels: float) -> None:
    """Bring vCPUs of a VM to these levels: names of `_CELLS` in percent of one core, `clock` (%USED / %RUN), `timers`.

    which: "all", or how many of them.
    """
    timers = levels.pop("timers", 0.0)
    _edit(host, vm.vcpus if which == "all" else vm.vcpus[: int(which)], levels)
    if timers:
        host.edit(GROUP, vm.group, "Timers/sec", timers)


def edit_helpers(host: Host, vm: Vm, name: str, **levels: float) -> None:
    """Bring the world of a VM that begins with this name, such as NetWorld or vmx, to these levels."""
    _edit(host, [one for one in vm.helpers if one.split(":", 3)[3].startswith(name)][:1], levels)


def edit_group(host: Host, name: str, *, worlds: int = 1, **levels: float) -> None:
    """Bring worlds of a group that is no VM (hostd, vpxa, system) to these levels."""
    group = next(one for one in host.instances(GROUP) if one.partition(":")[2].partition(".")[0] == name)
    mine = [one for one in host.instances(WORLD) if one.startswith(f"{group}:") and _IDLE not in one]
    _edit(host, mine[:worlds], levels)


def limit_cpu(host: Host, vm: Vm, mhz: float) -> None:
    """Set the CPU limit of a VM, throughout."""
    host.put(GROUP, vm.group, "Alloc Max", np.full(host.capture.samples, round(mhz)))


def _edit(host: Host, worlds: list[str], levels: dict[str, float]) -> None:
    levels = dict(levels)
    clock = levels.pop("clock", 0.0)
    for world in worlds:
        for name, level in levels.items():
            host.edit(WORLD, world, _CELLS[name], level)
        if clock:
            host.clocks[world] = _blended(host, host.clocks.get(world, host.clock), clock)


def edit_clock(host: Host, ratio: float) -> None:
    """Run every physical CPU at this share of its nominal clock."""
    host.clock = _blended(host, host.clock, ratio)


def _blended(host: Host, cells: Cells, level: float) -> Cells:
    return cells * (1 - host.window) + level * host.window


def settle_cpu(host: Host, *, everything: bool = False) -> None:
    """Make sums true again: worlds to 100 %, groups, physical CPUs and cores, C0, idle worlds, load averages."""
    added = np.zeros(host.capture.samples)
    _share_pcpus(host)
    groups: dict[str, list[str]] = {}
    for world in host.instances(WORLD):
        groups.setdefault(":".join(world.split(":", 2)[:2]), []).append(world)
    for group, worlds in groups.items():
        busy = [one for one in worlds if _IDLE not in one]
        if not everything and not _touched(host, busy):
            continue
        for world in busy:
            _settle_world(host, world)
            if not everything:
                added += host.get(WORLD, world, "% Run") - host.before(WORLD, world, "% Run")
        for counter in _SUMMED:
            host.put(GROUP, group, counter, np.sum([host.get(WORLD, one, counter) for one in worlds], axis=0))
    _settle_pcpus(host, added)
    _settle_idle(host, groups)
    _settle_load(host)


def _share_pcpus(host: Host) -> None:
    """What vCPUs run together beyond the PCPUs they are ready for instead."""
    worlds = [one for one in host.instances(WORLD) if _IDLE not in one]
    total = np.sum([host.get(WORLD, one, "% Run") for one in worlds], axis=0)
    vcpus = [one for vm in host.vms for one in vm.vcpus]
    mine = np.sum([host.get(WORLD, one, "% Run") for one in vcpus], axis=0)
    room = _MOST_BUSY * _FULL * len(host.pcpus) - (total - mine)
    factor = np.minimum(1.0, room / np.maximum(mine, 1e-9))
    if np.all(factor == 1.0):
        return
    for one in vcpus:
        run = host.get(WORLD, one, "% Run")
        host.put(WORLD, one, "% Run", run * factor)
        host.put(WORLD, one, "% Ready", host.get(WORLD, one, "% Ready") + run * (1 - factor))


def _touched(host: Host, worlds: list[str]) -> bool:
    columns, original = host.capture.columns, host.original
    slower = bool(np.any(host.clock != host.clock[0]))
    return slower or any(
        columns.get(Key(WORLD, one, counter)) is not original.get(Key(WORLD, one, counter))
        for one in worlds
        for counter in _CELLS.values()
    )


def _settle_world(host: Host, world: str) -> None:
    run, ready, costop = (host.get(WORLD, world, one) for one in ("% Run", "% Ready", "% CoStop"))
    crowded = np.maximum((run + ready + costop) / _FULL, 1.0)
    run, ready, costop = run / crowded, ready / crowded, costop / crowded
    wait = _FULL - run - ready - costop
    vcpu = ":vmx-vcpu-" in world
    limited = np.minimum(host.get(WORLD, world, "% Max Limited"), ready)
    swapping = np.minimum(host.get(WORLD, world, "% Swap Wait"), wait)
    blocked = np.clip(host.get(WORLD, world, "% VmWait"), swapping, wait) if vcpu else wait
    contended = (ready - limited + costop) - (
        host.before(WORLD, world, "% Ready")
        - host.before(WORLD, world, "% Max Limited")
        + host.before(WORLD, world, "% CoStop")
    )
    latency = host.get(WORLD, world, "% CPU Latency") + np.clip(contended, 0.0, None)
    if host.capture.columns.get(Key(WORLD, world, "% CPU Latency")) is not host.original.get(
        Key(WORLD, world, "% CPU Latency")
    ):
        latency = host.get(WORLD, world, "% CPU Latency")
    used = (
        run * host.clocks.get(world, host.clock)
        + host.get(WORLD, world, "% System")
        - host.get(WORLD, world, "% Overlap")
    )
    for counter, cells in {
        "% Run": run,
        "% Ready": ready,
        "% CoStop": costop,
        "% Wait": wait,
        "% Max Limited": limited,
        "% Swap Wait": swapping,
        "% VmWait": blocked,
        "% Idle": wait - blocked if vcpu else np.zeros_like(wait),
        "% CPU Latency": np.minimum(latency, _FULL),
        "% Used": np.clip(used, 0.0, None),
    }.items():
        host.put(WORLD, world, counter, cells)


def _settle_pcpus(host: Host, added: Cells) -> None:
    """Spread what worlds run more over the PCPUs; what one cannot take, the others do."""
    utils = np.array([host.get("Physical Cpu", one, "% Util Time") for one in host.pcpus])
    for _ in range(4):
        room = np.clip((_FULL - utils) if added.mean() > 0 else utils, 1e-9, None)
        step = added * room / room.sum(axis=0)
        moved = np.clip(utils + step, 0.0, _FULL)
        added = added - (moved - utils).sum(axis=0)
        utils = moved
    own = np.sum(
        [host.get(WORLD, one, "% Run") * (clock - host.clock) for one, clock in host.clocks.items()] or [0 * added],
        axis=0,
    )
    uses = np.clip(utils * (host.clock + own / np.maximum(utils.sum(axis=0), 1e-9)), 0.0, None)
    for one, util, used in zip(host.pcpus, utils, uses, strict=True):
        host.put("Physical Cpu", one, "% Util Time", util)
        host.put("Physical Cpu", one, "% Processor Time", used)
        state = f"PCPU {one}"
        idle = [host.get("PCPU Power State", state, f"%C-State C{depth}") for depth in (1, 2, 3)]
        share = (_FULL - util) / np.maximum(np.sum(idle, axis=0), 1e-9)
        host.put("PCPU Power State", state, "%C-State C0", util)
        for depth, cells in enumerate(idle, 1):
            host.put("PCPU Power State", state, f"%C-State C{depth}", cells * share)
    for first, second in zip(host.pcpus[::2], host.pcpus[1::2], strict=False):
        pair = [host.get("Physical Cpu", one, "% Util Time") for one in (first, second)]
        core = np.maximum(_FULL * (1 - (1 - pair[0] / _FULL) * (1 - pair[1] / _FULL)), np.maximum(*pair))
        for one in (first, second):
            host.put("Physical Cpu", one, "% Core Util Time", core)
    for counter in ("% Util Time", "% Processor Time", "% Core Util Time"):
        host.put(
            "Physical Cpu",
            "_Total",
            counter,
            np.mean([host.get("Physical Cpu", one, counter) for one in host.pcpus], axis=0),
        )


def _settle_idle(host: Host, groups: dict[str, list[str]]) -> None:
    """An idle world runs when its PCPU has nothing else to do, and is ready otherwise."""
    for group, worlds in groups.items():
        idle = [one for one in worlds if _IDLE in one]
        for world in idle:
            pcpu = world.rpartition("idle")[2]
            if pcpu in host.pcpus:
                util = host.get("Physical Cpu", pcpu, "% Util Time")
                host.put(WORLD, world, "% Run", _FULL - util)
                host.put(WORLD, world, "% Ready", util)
        if idle:
            for counter in ("% Run", "% Ready"):
                host.put(GROUP, group, counter, np.sum([host.get(WORLD, one, counter) for one in worlds], axis=0))


def _settle_load(host: Host) -> None:
    """Load averages follow what runs or is ready, as exponential means over 1, 5 and 15 minutes."""
    worlds = [one for vm in host.vms for one in vm.vcpus]
    wanted, before = (
        np.sum(
            [
                table(WORLD, one, "% Run") + table(WORLD, one, "% Ready") - table(WORLD, one, "% Max Limited")
                for one in worlds
            ],
            axis=0,
        )
        for table in (host.get, host.before)
    )
    more = (wanted - before) / _FULL / max(len(host.pcpus), 1)
    step = (host.capture.times[1] - host.capture.times[0]).total_seconds()
    for counter, seconds in _MINUTES.items():
        part = 1 - np.exp(-step / seconds)
        mean = np.zeros_like(more)
        for now in range(1, len(more)):
            mean[now] = mean[now - 1] + part * (more[now] - mean[now - 1])
        host.put("Physical Cpu Load", "", counter, host.before("Physical Cpu Load", "", counter) + mean)
