"""Every column of the lists of VMs and ports, against arithmetic on the cells of a capture written for it."""

from __future__ import annotations

from statistics import mean

import compose
import pytest
from templated import alone

import esxparse as ex
from esxparse.diagnosis.diagnose import series_of
from esxparse.metrics import network
from esxparse.reports.blocks import ABSENT

STEPS = (1, 2, 4, 8, 16, 32, 64)
"""Seven samples: mean, median, first, last, least and greatest are all different."""
UP, DOWN = STEPS, tuple(reversed(STEPS))
MIXED = (4, 64, 1, 32, 2, 16, 8)


def series(base, factor=1.0, steps=UP):
    return [base + factor * step for step in steps]


def opened(folder, cells):
    """A capture of `{(owner, counter): numbers}`, a sample every 5 s."""
    rows = [[f"{value:.2f}" for value in row] for row in zip(*cells.values(), strict=True)]
    return ex.open(compose.write(folder, compose.text(list(cells), rows)))


def p95(values):
    """Of seven values, linear between the two greatest: 0.95 x 6 = 5.7."""
    *_, low, high = sorted(values)
    return low + 0.7 * (high - low)


def lines(block):
    """The words of each line of a table, by the line's first word."""
    return {words[0]: words[1:] for words in map(str.split, block.text.splitlines()[2:]) if words}


WAITS = ("% Used", "% Run", "% Ready", "% CoStop", "% Max Limited", "% Swap Wait")


def waiting(counter, vm):
    """Cells of a counter in both vCPUs of `db`, or in the one of `web`; limited time is part of ready."""
    base = 10 * WAITS.index(counter) + (3 if vm == "web" else 0)
    if counter == "% Max Limited":
        return series(0.5, 0.01, MIXED)
    return series(base, 0.1, UP if vm == "db" else MIXED)


def test_every_column_of_the_waits_of_vms(tmp_path):
    cells = {}
    for counter in WAITS:
        for world in ("100:vmx-vcpu-0", "101:vmx-vcpu-1"):
            # One of the vCPUs waits twice as long as the other.
            cells[f"Vcpu(7:db:{world}:db)", counter] = [
                (2 if world.startswith("101") else 1) * value for value in waiting(counter, "db")
            ]
        cells["Vcpu(9:web:200:vmx-vcpu-0:web)", counter] = waiting(counter, "web")
        cells["Group Cpu(7:db)", counter] = [3.5 * value for value in waiting(counter, "db")]
        cells["Group Cpu(9:web)", counter] = [1.25 * value for value in waiting(counter, "web")]
    rec = opened(tmp_path, cells)
    found = lines(alone("host_health", "host_health.vm_cpu", vms=series_of(rec).table("vm")))
    for vm, vcpus, share, of_group in (("db", 2, 1.5, 3.5), ("web", 1, 1.0, 1.25)):
        each = {counter: [share * value for value in waiting(counter, vm)] for counter in WAITS}
        ready = [one - other for one, other in zip(each["% Ready"], each["% Max Limited"], strict=True)]
        expected = [
            str(vcpus),
            *(f"{of_group / vcpus * mean(waiting(name, vm)):.1f}" for name in ("% Used", "% Run")),
            f"{p95(ready):.1f}",
            f"{max(ready):.1f}",
            *(f"{p95(each[name]):.1f}" for name in ("% CoStop", "% Max Limited", "% Swap Wait")),
        ]
        assert found[vm][:8] == expected, vm
    # The one that waited longest stands first.
    assert list(found) == ["db", "web"]


PORTS = {
    # port: its cells of (sent Mibit/s, received, packets sent, received, % dropped sent, received)
    "33554434:vmnic0": (series(100, 1, UP), series(50, 2, MIXED), series(900), series(700), series(0, 0.1), series(1)),
    "33554449:444768:db": (series(10), series(20), series(150), series(250, 1, DOWN), series(0, 0), series(0, 0)),
    "33554450:444769:web": (*[series(0, 0)] * 5, [100.0, 0, 0, 100.0, 0, 0, 0]),
    "33554451:444770:idle": tuple([series(0, 0)] * 6),
}
TRAFFIC = (
    "MBits Transmitted/sec",
    "MBits Received/sec",
    "Packets Transmitted/sec",
    "Packets Received/sec",
    "% Outbound Packets Dropped",
    "% Received Packets Dropped",
)


def of_packets(passed, pct):
    """Dropped packets by all, over all samples, in %; and the highest % of a sample with 100 packets a second."""
    dropped = [packets * one / (100 - one) for packets, one in zip(passed, pct, strict=True)]
    every = [one + other for one, other in zip(passed, dropped, strict=True)]
    return 100 * sum(dropped) / sum(every), max(one for one, offered in zip(pct, every, strict=True) if offered >= 100)


def test_every_column_of_the_ports(tmp_path):
    cells = {
        (f"Network Port(vSwitch0:{port})", counter): values
        for port, columns in PORTS.items()
        for counter, values in zip(TRAFFIC, columns, strict=True)
    }
    cells["Network Port(vSwitch0:33554434:vmnic0)", "Link Speed (Mb/s)"] = [0, 1000, 1000, 10000, 10000, 1000, 0]
    rec = opened(tmp_path, cells)
    table = rec["network_port"]
    block = alone(
        "host_health",
        "host_health.ports",
        per_port=network.summary(network.ports(table)),
        speeds=network.link_speeds(table),
    )
    found = lines(block)
    assert list(found) == ["vmnic0", "db", "web"]
    assert "1 without traffic left out" in block.text
    for port, kind in (("33554434:vmnic0", "uplink"), ("33554449:444768:db", "vm")):
        sent, received, tx, rx, drop_tx, drop_rx = PORTS[port]
        expected = [kind, "vSwitch0", "10,000" if kind == "uplink" else ABSENT]
        expected += [
            f"{1.048576 * one(values):.2f}" for values in (sent, received) for one in (mean, max)
        ]  # Mibit to Mbit
        expected += [f"{pct:.2f}" for pair in ((tx, drop_tx), (rx, drop_rx)) for pct in of_packets(*pair)]
        assert found[port.split(":")[-1]][:11] == expected, port
    # Two samples in which all packets were dropped: how many is not known.
    assert found["web"][-1] == "2"


def ports_of(rec):
    table = network.summary(network.ports(rec["network_port"]))
    return alone("host_health", "host_health.ports", per_port=table, speeds=None)


def test_ports_are_ordered_by_the_worse_of_what_they_dropped_either_way(tmp_path):
    """% dropped of what is sent and received, in the mean; a single sample of more does not count."""
    dropped = {
        "a": ([2, 2, 2], [0, 0, 0]),
        "b": ([0, 0, 0], [3, 3, 3]),
        "c": ([9, 0, 0], [0, 0, 8]),
        "d": ([4, 4, 4], [1, 1, 1]),
    }
    cells = {}
    for place, (vm, (sent, received)) in enumerate(dropped.items()):
        owner = f"Network Port(vSwitch0:{33554449 + place}:{444768 + place}:{vm})"
        cells |= {(owner, counter): [1000] * 3 for counter in TRAFFIC[:4]}
        cells |= {(owner, TRAFFIC[4]): sent, (owner, TRAFFIC[5]): received}
    found = lines(ports_of(opened(tmp_path, cells)))
    assert list(found) == ["d", "c", "b", "a"]


def test_ports_that_dropped_nothing_are_ordered_by_their_traffic_both_ways(tmp_path):
    traffic = {"a": (60, 1), "b": (40, 40), "c": (0, 70), "d": (30, 20)}
    cells = {}
    for place, (vm, (sent, received)) in enumerate(traffic.items()):
        owner = f"Network Port(vSwitch0:{33554449 + place}:{444768 + place}:{vm})"
        values = (sent, received, 1000, 1000, 0, 0)
        cells |= {(owner, counter): [value] * 3 for counter, value in zip(TRAFFIC, values, strict=True)}
    found = lines(ports_of(opened(tmp_path, cells)))
    assert list(found) == ["b", "c", "a", "d"]


@pytest.mark.parametrize(
    ("costop", "limited", "swap", "said"),
    [
        (0, 0, 0, "No VM had any co-stop, time held back by a limit or swap wait at any time."),
        (1, 0, 0, "No VM had any time held back by a limit or swap wait at any time."),
        (0, 1, 0, "No VM had any co-stop or swap wait at any time."),
        (1, 1, 0, "No VM had any swap wait at any time."),
        (1, 0, 1, "No VM had any time held back by a limit at any time."),
        (1, 1, 1, ""),
    ],
)
def test_waits_that_no_vm_had_are_listed(tmp_path, costop, limited, swap, said):
    counters = {"% Ready": 3, "% CoStop": costop, "% Max Limited": limited, "% Swap Wait": swap}
    owners = ("Vcpu(7:db:100:vmx-vcpu-0:db)", "Group Cpu(7:db)")
    # In one sample alone.
    cells = {(owner, name): [0, value, 0] for owner in owners for name, value in counters.items()}
    rec = opened(tmp_path, cells)
    assert " ".join(alone("host_health", "waits = {", vms=series_of(rec).table("vm")).text.split()) == said


def reclaimed_of(rec):
    return alone("host_health", "taken = [", host=series_of(rec).table("host"))


TAKEN = ("Memctl Current MBytes", "Swap Used MBytes", "Total Compressed MBytes")
TAKEN += ("Swap MBytes Read/sec", "Swap MBytes Write/sec")


@pytest.mark.parametrize("counter", TAKEN)
def test_memory_that_was_taken_back_once_is_not_said_to_be_untouched(tmp_path, counter):
    cells = {("Memory", name): [0, 5 if name == counter else 0, 0] for name in TAKEN}
    assert reclaimed_of(opened(tmp_path, cells)).text == ""


def test_memory_that_was_never_taken_back_and_memory_nobody_counted(tmp_path):
    never = opened(tmp_path, {("Memory", name): [0, 0] for name in TAKEN})
    assert "No memory was ballooned, swapped or compressed" in reclaimed_of(never).text
    other = opened(tmp_path, {("Memory", "Free MBytes"): [5, 6]})
    assert "has no counters" in reclaimed_of(other).text
    part = opened(tmp_path, {("Memory", TAKEN[0]): [0, 0]})
    assert "No memory was" in reclaimed_of(part).text
