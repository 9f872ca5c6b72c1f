"""The fault library: what each trouble's truth says shows is there, where and when it says, and nothing else is."""

from __future__ import annotations

import pytest
from fault_hosts import FAULTS, INTERVAL, SAMPLES, STANDARD, experiment, judged, mean, said, seen, shown, truths

pytestmark = pytest.mark.search
NAMES = tuple(name for name in FAULTS if name != "clock-jump")
SEVERITIES = (0.0, 0.5, 1.0)

# What of the standard profile a trouble may cross, of the thing it names; of anything, when it is among `also`.
CROSSES = {
    "cpu.contention": {"cpu.ready"},
    "cpu.limit": {"cpu.max_limited"},
    "cpu.costop": {"cpu.costop", "cpu.ready"},
    "cpu.noisy_neighbour": {"cpu.ready", "cpu.costop"},
    "numa.remote": {"memory.numa_local"},
    "numa.wide_vm": {"memory.numa_local"},
    "memory.balloon": {"memory.balloon"},
    "memory.swap": {"memory.swapped", "memory.swap_in", "memory.swap_out", "cpu.swap_wait"},
    "memory.compression": {"memory.compressed", "memory.zip", "memory.unzip"},
    "memory.limit": {name for name in STANDARD if name.startswith("memory.")} | {"cpu.swap_wait"},
    "storage.array_slow": {"disk.davg", "disk.gavg"},
    "storage.read_ahead": {"disk.davg", "disk.gavg"},
    "storage.noisy_neighbour": {"disk.davg", "disk.gavg"},
    "storage.queue_adapter": {"disk.kavg", "disk.queued"},
    "storage.queue_device": {"disk.kavg", "disk.queued"},
    "storage.queue_world": {"disk.kavg", "disk.queued"},
    "storage.path_flapping": {"disk.aborts", "disk.resets"},
    "network.receive_drops": {"network.drop_rx"},
    "network.transmit_drops": {"network.drop_tx"},
}

# Thresholds of the standard profile that a severe trouble must be beyond (critical) in the mean of its spell.
CRITICAL = {
    "cpu-overcommit": ("cpu.ready", "vm stock-db"),
    "cpu-limit": ("cpu.max_limited", "vm logs-01"),
    "oversized-smp": ("cpu.costop", "vm warehouse-01"),
    "noisy-neighbour-cpu": ("cpu.ready", "vm orders-db"),
    "numa-remote": ("memory.numa_local", "vm crm-db"),
    "wide-vm": ("memory.numa_local", "vm solver-01"),
    "balloon": ("memory.balloon", "vm desk-c03"),
    "swap": ("memory.swapped", "vm desk-c03"),
    "compression": ("memory.compressed", "vm desk-c03"),
    "memory-limit-below-active": ("cpu.swap_wait", "vm reports-01"),
    "array-slow": ("disk.davg", "device naa.6006016011223344550000000000000a3"),
    "array-read-ahead": ("disk.davg", "device naa.6006016011223344550000000000000a4"),
    "queue-full-adapter": ("disk.kavg", "device naa.6006016011223344550000000000000a1"),
    "queue-full-device": ("disk.kavg", "device naa.6006016011223344550000000000000a1"),
    "queue-full-world": ("disk.queued", "device naa.6006016011223344550000000000000a1"),
    "noisy-neighbour-storage": ("disk.davg", "device naa.6006016011223344550000000000000a1"),
    "receive-ring-drops": ("network.drop_rx", "vm cache-01"),
    "transmit-drops": ("network.drop_tx", "vm balancer-01"),
    "thermal-cap": ("cpu.ready", "vm job-a1"),
}
# The first pages swapped are more than the 20 MB that are critical: no swapping is mild by that number.
NEVER_MILD = {"swap"}

# Of the others: the first counter of the first truth is at least so much (or, below zero, at most minus that) in the
# mean of a severe spell. 20 for % System, 1,000 for Timers/sec, 25 ms for GAVG and 20 for conflicts are published.
BEYOND = {
    "vmkernel-heavy": 2 * 20.0,
    "interrupt-on-one-pcpu": 90.0,
    "timer-heavy-guest": 1000.0,
    "misaligned-writes": 5 * 0.42,
    "path-flapping": 14.0 / 2.0,
    "scsi-reservations": 20.0,
    "nfs-slow": 25.0,
    "snapshot-consolidation": 500.0,
    "vsan-congestion": 200.0,
    "port-at-line-rate": 0.9 * 10_000,
    "duplex-mismatch": -100.0,
    "speed-mismatch": -100.0,
    "link-flapping": -0.5,
    "vmotion-storm": 0.9 * 10_000,
    "power-policy-p-states": -24 * 108.0,
    "power-policy-c-states": -20 * 1.0,
    "power-cap": -24 * 75.0,
}


def reference(name: str, where: str, counter: str, start: float, end: float) -> float | None:
    """What a counter was in the same spell of the healthy host; else before the spell; None if there is neither."""
    healthy = said(name)["base"]
    there = shown(healthy, 1.0, where, counter, said(name)["file"][0]["release"])
    if there:
        return mean(there, start, end)
    before = shown(name, 1.0, where, counter)
    return mean(before, 0.0, start) if start > 0.0 else None


@pytest.mark.parametrize("name", NAMES)
def test_what_shows_is_there_and_grows_with_severity(name: str) -> None:
    for truth in truths(name):
        where, start, end = truth["where"], truth["start"], truth["end"]
        for place, counter in enumerate(truth["shows"]):
            values = [mean(shown(name, severity, where, counter), start, end) for severity in SEVERITIES]
            severe = values[-1]
            was = reference(name, where, counter, start, end)
            base = values[0] if was is None else was
            assert abs(severe - base) > 0.08 * abs(base) + 0.01, (where, counter, base, severe)
            if place == 0 and truth is truths(name)[0]:
                moved = [abs(value - base) for value in values]
                assert moved == sorted(moved), (counter, base, values)
                assert was is None or moved[0] > 0.05 * abs(base), (counter, base, values)
                assert moved[-1] > moved[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_severe_trouble_is_beyond_the_published_threshold_and_a_mild_one_is_not(name: str) -> None:
    truth = truths(name)[0]
    if name in BEYOND:
        limit, counter = BEYOND[name], truth["shows"][0]
        value = mean(shown(name, 1.0, truth["where"], counter), truth["start"], truth["end"])
        assert value >= limit if limit > 0.0 else value <= -limit, (counter, value)
        return
    what, entity = CRITICAL[name]
    verdicts = {}
    for severity in (0.0, 1.0):
        rows = judged(name, severity).filter(id=what, entity=entity).sort("second").rows(named=True)
        verdicts[severity] = [row["bad"] for row in rows if truth["start"] <= row["second"] < truth["end"]]
    assert sum(bad == 2 for bad in verdicts[1.0]) > len(verdicts[1.0]) / 2, verdicts
    if name not in NEVER_MILD:
        assert sum(bad == 2 for bad in verdicts[0.0]) < len(verdicts[0.0]) / 4, verdicts


@pytest.mark.parametrize("name", NAMES)
def test_everything_else_stays_well(name: str) -> None:
    crossed = judged(name).filter(judged(name)["bad"] > 0)
    start = min(truth["start"] for truth in truths(name))
    assert crossed.filter(crossed["second"] < start).is_empty(), crossed.filter(crossed["second"] < start)
    for what, entity in crossed.select("id", "entity").unique().rows():
        assert any(explains(truth, what, entity) for truth in truths(name)), (what, entity)


def explains(truth: dict[str, object], what: str, entity: str) -> bool:
    where = str(truth["where"])
    named = where in {"host", entity} or (where.startswith("adapter ") and entity.startswith("device "))
    also = truth.get("also", [])
    assert isinstance(also, list)
    return (named and what in CROSSES.get(str(truth["trouble"]), set())) or any(
        what in CROSSES.get(one, ()) for one in also
    )


@pytest.mark.parametrize("name", NAMES)
def test_before_its_spell_a_fault_is_its_healthy_host(name: str) -> None:
    start = min(truth["start"] for truth in truths(name))
    mild, severe = (judged(name, severity) for severity in (0.0, 1.0))
    early = [frame.filter(frame["second"] < start).sort("id", "entity", "second") for frame in (mild, severe)]
    assert early[0].equals(early[1])
    assert not early[0]["bad"].sum()


def test_a_clock_that_jumps_says_so_in_the_times_alone() -> None:
    (truth,) = truths("clock-jump")
    run = experiment("clock-jump").runs[0]
    assert run.scenario
    assert [jump.second for jump in run.scenario.clock_jumps] == [truth["start"], truth["end"]]
    read = seen("clock-jump").recording["physical_cpu_load"].select("time").collect()["time"]
    steps = [step.total_seconds() for step in read.diff().drop_nulls().to_list()]
    assert len(steps) == SAMPLES - 1
    assert sorted(set(steps)) == [INTERVAL - 3600.0, INTERVAL, INTERVAL + 3600.0]
    assert not judged("clock-jump")["bad"].sum()
