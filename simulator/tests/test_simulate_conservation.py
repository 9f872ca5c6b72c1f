"""The identities of a host hold in every sample of every written capture, to the rounding of its cells.

Captures are read with `csv` and nothing else: the fault library at any severity, seed and release, and hosts drawn at
random, in whatever trouble.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import compute_host
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from search import examples
from test_simulate_network import hosts as network_hosts
from test_simulate_storage import hosts as storage_hosts

import esxparse_simulator as simulate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from esxparse_simulator import Scenario

    Numbers = NDArray[np.float64]

CELL = 0.005 + 1e-6  # the most that two decimals can be off
WHOLE = 0.5 + 1e-6
# ESXi 6.5 prints A/MPERF without name, quotes and comma: not a cell that csv could tell from the next one
NO_CELL = re.compile(r", +(?:-|[\d.]+)(?=[\"\n])")
IO = ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec")
ERRORS = ("Aborts/sec", "Resets/sec", "Conflicts/sec", "Failed Commands/sec")
STATES = ("% Run", "% Ready", "% CoStop", "% Wait")
SUMMED = (
    *STATES,
    "% Used",
    "% System",
    "% Idle",
    "% Overlap",
    "% Max Limited",
    "% Swap Wait",
    "% CPU Latency",
    "% Memory Latency",
    "Switches/sec",
    "Wakeups/sec",
)
SIGNED = ("Alloc ", "Commit ")  # -1: no limit; -3: normal shares

NAMES = [name for name in simulate.scenario_names() if name != "busy-host"]
RELEASES = simulate.release_names()
every_release = st.one_of(st.sampled_from(RELEASES), st.sampled_from(("3.5", "4.1", "6.5")))


@dataclass
class Sheet:
    """A capture: by object, instance and counter what each sample has; of counters with one name, the first."""

    cells: dict[str, dict[str, dict[str, Numbers]]]

    def __getitem__(self, name: str) -> dict[str, dict[str, Numbers]]:
        return self.cells.get(name, {})

    def total(self, name: str, counter: str, instances: Iterable[str] | None = None) -> Numbers:
        """The sum over instances."""
        rows = self[name]
        added: Numbers = np.sum([rows[each][counter] for each in (rows if instances is None else instances)], axis=0)
        return added


def sheet(scenario: Scenario, release: str, samples: int, interval: float, seed: int) -> Sheet:
    """The scenario's capture, written and read."""
    capture = simulate.capture(scenario, samples=samples, interval=interval, seed=seed)
    text = b"".join(simulate.esxtop_lines(capture, release=release)).decode()
    if release == "6.5":
        text = NO_CELL.sub(",", text)
    header, *rows = csv.reader(io.StringIO(text))
    assert len(rows) == samples
    assert {len(row) for row in rows} == {len(header)}
    cells: dict[str, dict[str, dict[str, Numbers]]] = defaultdict(lambda: defaultdict(dict))
    for cell, column in zip(header[1:], list(zip(*rows, strict=True))[1:], strict=True):
        if not cell:
            continue
        path, counter = re.fullmatch(r"\\\\[^\\]+\\(.*)\\([^\\]+)", cell, re.DOTALL).groups()  # type: ignore[union-attr]
        name, _, instance = path.partition("(")
        if counter == "Exclusive Affinity":
            continue
        numbers = np.array([float(value) for value in column])
        cells[name][instance.removesuffix(")")].setdefault(counter, numbers)
    return Sheet(cells)


def near(one: Numbers | float, other: Numbers | float, slack: Numbers | float, why: object) -> None:
    assert (np.abs(np.asarray(one) - other) <= slack + 1e-9 * np.abs(other)).all(), (why, one, other)


def keeps_the_laws(of: Sheet, scenario: Scenario) -> None:
    nothing_is_impossible(of, scenario)
    times_add_up(of)
    groups_are_their_worlds(of)
    pcpus_are_their_worlds(of)
    disks_are_not_measured_at_first(of)
    commands_add_up(of)
    latencies_add_up(of)
    queues_hold_what_littles_law_says(of)
    uplinks_are_their_ports(of)
    watts_follow_the_processors(of, scenario)
    memory_adds_up(of)


def nothing_is_impossible(of: Sheet, scenario: Scenario) -> None:
    # up to 4.1 the console's 300 MB are told apart from the kernel's
    assert scenario.host.kernel_mb > 300.0
    for name, instances in of.cells.items():
        for instance, counters in instances.items():
            for counter, values in counters.items():
                assert np.isfinite(values).all(), (name, instance, counter)
                least = -3.0 if counter.startswith(SIGNED) else 0.0
                assert values.min() >= least, (name, instance, counter, values)


def times_add_up(of: Sheet) -> None:
    for world, row in of["Vcpu"].items():
        near(sum(row[state] for state in STATES), 100.0, 4 * CELL, world)
        assert (row["% Max Limited"] <= row["% Ready"] + 2 * CELL).all(), world
        assert (row["% Idle"] + row["% Swap Wait"] <= row["% Wait"] + 3 * CELL).all(), world
    for pcpu, row in of["PCPU Power State"].items():
        for kind in "CPT":
            states = [values for counter, values in row.items() if counter.startswith(f"%{kind}-State")]
            if states:
                near(sum(states), 100.0, len(states) * CELL, (pcpu, kind))


def groups_are_their_worlds(of: Sheet) -> None:
    for group, row in of["Group Cpu"].items():
        worlds = [values for world, values in of["Vcpu"].items() if world.startswith(f"{group}:")]
        assert (row["Members"] == len(worlds)).all(), group
        for counter in SUMMED:
            if counter in row:
                near(row[counter], sum(world[counter] for world in worlds), (len(worlds) + 1) * CELL, (group, counter))


def pcpus_are_their_worlds(of: Sheet) -> None:
    """Run and used time of all worlds that are not idle, and the mean of the PCPUs."""
    pcpus = of["Physical Cpu"]
    count = len(pcpus) - 1
    for counter, time in (("% Processor Time", "% Used"), ("% Util Time", "% Run"), ("% Core Util Time", "")):
        if counter not in pcpus["_Total"]:
            continue
        total = of.total("Physical Cpu", counter, (name for name in pcpus if name != "_Total"))
        near(count * pcpus["_Total"][counter], total, 2 * count * CELL, counter)
        busy = [name for name in of["Vcpu"] if not re.search(r":idle\d+$", name)]
        # a world of 3.5 that stands for several of its VM ran no more than all the time, they did
        full = any((of["Vcpu"][name]["% Run"] > 100.0 - CELL).any() for name in busy)
        worlds = of.total("Vcpu", time, busy) if time else total
        if time == "% Used" and any("% Core Util Time" in row for row in pcpus.values()):
            near(worlds, used_as_worlds_are_charged(pcpus), (len(busy) + 5 * count) * CELL, time)
        elif time == "% Used":
            # How long both threads of a core ran is not printed: at most a quarter more than what PCPUs are charged.
            assert (total - (len(busy) + count) * CELL <= worlds).all()
            assert (worlds <= 1.25 * total + (len(busy) + 2 * count) * CELL).all()
        elif time and not full:
            near(worlds, total, (len(busy) + count) * CELL, time)


def used_as_worlds_are_charged(pcpus: dict[str, dict[str, Numbers]]) -> Numbers:
    """Used time of PCPUs had they been charged 62.5 % while the sibling runs, and not half: with two threads a core."""
    total: Numbers = np.zeros(1)
    for name, row in pcpus.items():
        if name == "_Total":
            continue
        util, core = row["% Util Time"], row["% Core Util Time"]
        both = np.maximum(0.0, util + pcpus[str(int(name) ^ 1)]["% Util Time"] - core)
        charged = util - 0.5 * both
        worlds = util - 0.375 * both
        total = total + row["% Processor Time"] * np.where(charged > CELL, worlds / np.maximum(CELL, charged), 1.0)
    return total


def disks_are_not_measured_at_first(of: Sheet) -> None:
    states = (
        "Adapter Q Depth",
        "Device Q Depth",
        "World Q Depth",
        "Active Commands",
        "Queued Commands",
        "% Used",
        "Load",
    )
    for name, instances in of.cells.items():
        if name.startswith(("Physical Disk", "Virtual Disk")):
            for instance, row in instances.items():
                measured = {counter: values[0] for counter, values in row.items() if counter not in states}
                assert not any(measured.values()), (name, instance, measured)


def commands_add_up(of: Sheet) -> None:
    devices = of["Physical Disk SCSI Device"]
    for counter in (*IO, *ERRORS):
        if not all(counter in row for row in devices.values()):
            continue
        whole = of.total("Physical Disk SCSI Device", counter)
        for name in ("Physical Disk Adapter", "Physical Disk Path"):
            if of[name] and counter in next(iter(of[name].values())):
                near(of.total(name, counter), whole, (len(of[name]) + len(devices)) * CELL, (name, counter))
        worlds = of["Physical Disk Per-Device-Per-World"]
        for device, row in devices.items():
            mine = [name for name in worlds if name.startswith(f"{device}-")]
            if counter in IO and mine:
                added = of.total("Physical Disk Per-Device-Per-World", counter, mine)
                near(added, row[counter], (len(mine) + 1) * CELL, (device, counter))
    virtual = of["Virtual Disk"]
    for vm, row in virtual.items():
        disks = [name for name in virtual if name.startswith(f"{vm}:scsi")]
        for counter in IO:
            if disks:
                near(row[counter], of.total("Virtual Disk", counter, disks), (len(disks) + 1) * CELL, (vm, counter))


def latencies_add_up(of: Sheet) -> None:
    for name in ("Adapter", "SCSI Device", "Path", "Per-Device-Per-World", "Partition"):
        for instance, row in of[f"Physical Disk {name}"].items():
            for per in ("Command", "Read", "Write"):
                if f"Average Driver MilliSec/{per}" not in row:
                    continue
                driver, kernel, whole, queue = (
                    row[f"Average {part} MilliSec/{per}"] for part in ("Driver", "Kernel", "Guest", "Queue")
                )
                near(whole, driver + kernel, 3 * CELL, (name, instance, per))
                assert (queue <= kernel + 2 * CELL).all(), (name, instance, per)


def queues_hold_what_littles_law_says(of: Sheet) -> None:
    for name in ("SCSI Device", "Per-Device-Per-World"):
        for instance, row in of[f"Physical Disk {name}"].items():
            rate = row["Commands/sec"]
            for counter, part in (("Active Commands", "Driver"), ("Queued Commands", "Queue")):
                each = row[f"Average {part} MilliSec/Command"]
                slack = WHOLE + (rate + each) * CELL / 1000.0
                # The first sample has the queues' states and no rates.
                near(row[counter][1:], (rate * each / 1000.0)[1:], slack[1:], (name, instance, counter))
            assert (row["Active Commands"] <= row["Device Q Depth"] + WHOLE).all(), instance


def uplinks_are_their_ports(of: Sheet) -> None:
    """What ports send, and what came for them: received and dropped."""
    ports = of["Network Port"]
    for switch in {name.split(":", 1)[0] for name in ports}:
        mine = [name for name in ports if name.startswith(f"{switch}:")]
        uplinks = [name for name in mine if re.fullmatch(r"[^:]+:\d+:vmnic\d+", name)]
        below = [name for name in mine if re.fullmatch(r"[^:]+:\d+:(?:vmk\d+|\d+:.+)", name, re.DOTALL)]
        if not uplinks or not below:
            continue
        slack = len(mine) * CELL
        for counter in ("Packets Transmitted/sec", "MBits Transmitted/sec"):
            sent = of.total("Network Port", counter, below)
            near(of.total("Network Port", counter, uplinks), sent, slack, (switch, counter))
        dropped = np.array([ports[name]["% Received Packets Dropped"] for name in below])
        part = 1.0 - dropped / 100.0
        if (part > 0.01).all():
            received = np.array([ports[name]["Packets Received/sec"] for name in below])
            came = received / part
            # a percentage that is off by a cell, or so small that none is printed
            more = np.sum(came / part * CELL / 100.0, axis=0)
            above = of.total("Network Port", "Packets Received/sec", uplinks)
            near(above, came.sum(axis=0), slack / part.min() + 2 * more, switch)
        for name in uplinks:
            if "Link Speed (Mb/s)" in ports[name]:
                speed = ports[name]["Link Speed (Mb/s)"]
                assert (ports[name]["MBits Transmitted/sec"] * 1.048576 <= speed + WHOLE + CELL).all(), name


def watts_follow_the_processors(of: Sheet, scenario: Scenario) -> None:
    """Busy cores draw by the square of their clock, a second thread a third more; idle ones no more than C1 does."""
    host, power = scenario.host, of["Power"].get("", {})
    if "Power Usage Now Watts" not in power:
        return
    watts = power["Power Usage Now Watts"]
    assert (watts >= host.idle_watts - WHOLE).all()
    groups = [row["Power Usage Watts"] for row in of["Group Cpu"].values() if "Power Usage Watts" in row]
    if groups:
        assert (sum(groups) <= watts - host.idle_watts + (len(groups) + 1) * WHOLE).all()
    states = of["PCPU Power State"]
    if not states or "% of aperf/mperf" not in next(iter(states.values())):
        return
    threads, pcpus = host.threads_per_core, of["Physical Cpu"]
    least, most = np.zeros_like(watts), np.zeros_like(watts)
    for first in range(0, host.pcpus, threads):
        util = sum(pcpus[str(first + n)]["% Util Time"] for n in range(threads)) / 100.0
        core = pcpus[str(first)].get("% Core Util Time", 100.0 * util) / 100.0
        clock = np.max([states[f"PCPU {first + n}"]["% of aperf/mperf"] for n in range(threads)], axis=0) / 100.0
        busy = (core + 0.33 * (util - core)) * clock * clock
        least += host.core_watts * busy
        most += host.core_watts * (busy + 0.12 * (1.0 - core))
    tables = ("Physical Disk SCSI Device", "Physical Disk NFS Volume")
    moved = sum(of.total(name, counter) for name in tables if of[name] for counter in IO[3:])
    if scenario.vsan:
        return  # whose I/O is printed for its disks but not for the datastore
    slack = WHOLE + host.cores * host.core_watts * 4.0 * CELL / 100.0 * 4.0 + 1.0
    drawn = watts - host.idle_watts - 0.01 * moved
    assert (least - slack <= drawn).all(), (least, drawn)
    assert (drawn <= most + slack).all(), (drawn, most)


def memory_adds_up(of: Sheet) -> None:
    host = of["Memory"][""]
    parts = [host[f"{part} MBytes"] for part in ("Console", "Kernel", "NonKernel", "Free") if f"{part} MBytes" in host]
    near(sum(parts), host["Machine MBytes"], len(parts) * WHOLE + WHOLE, "machine")
    nodes = [row["Free MBytes"] for row in of["Numa Node"].values()]
    if nodes:
        near(sum(nodes), host["Free MBytes"], (len(nodes) + 1) * WHOLE, "nodes")
    groups = of["Group Memory"]
    for counter, whole in (("Memctl MBytes", "Memctl Current MBytes"), ("Swapped MBytes", "Swap Used MBytes")):
        near(of.total("Group Memory", counter), host[whole], WHOLE + len(groups) * CELL, whole)
    for name, row in groups.items():
        if {"Numa Remote Memory MBytes", "Numa Local Memory MBytes"} <= set(row):
            lies = row["Numa Remote Memory MBytes"] + row["Numa Local Memory MBytes"]
            if lies.max() > 0.0:
                near(lies, row["Memory Consumed Size MBytes"], 3 * CELL, name)


# A capture that breaks a law is small enough as it is drawn: to look for a smaller one takes minutes.
drawn = settings(deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@pytest.mark.search
@settings(drawn, max_examples=examples(60))
@given(
    name=st.sampled_from(NAMES),
    severity=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**32),
    release=every_release,
    interval=st.sampled_from([40.0, 55.0, 70.0]),
)
def test_every_fault_of_any_severity_keeps_the_laws(
    name: str, severity: float, seed: int, release: str, interval: float
) -> None:
    scenario = simulate.load_experiment(name, severity=severity).runs[0].scenario
    assert scenario
    keeps_the_laws(sheet(scenario, release, 8, interval, seed), scenario)


@settings(drawn, max_examples=examples(40))
@given(
    scenario=st.one_of(compute_host.hosts(), storage_hosts(), network_hosts()),
    seed=st.integers(0, 2**32),
    release=every_release,
)
def test_any_host_keeps_the_laws(scenario: Scenario, seed: int, release: str) -> None:
    keeps_the_laws(sheet(scenario, release, 3, 5.0, seed), scenario)


@pytest.mark.search
def test_every_fault_keeps_the_laws_at_its_worst() -> None:
    for name in NAMES:
        scenario = simulate.load_experiment(name, severity=1.0).runs[0].scenario
        assert scenario
        keeps_the_laws(sheet(scenario, "7.0", 3, 120.0, 1), scenario)
