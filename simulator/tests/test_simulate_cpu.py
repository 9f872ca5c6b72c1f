"""CPU of the simulated host: the laws of its times whatever is asked, and every trouble CPUs can have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from compute_host import guest, hosts, last, machine, samples, scenario
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from esxparse_simulator.host import Adapter, Nic, Switch
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.schedule import Wants, run_nodes

if TYPE_CHECKING:
    from esxparse_simulator.host import Scenario


@settings(max_examples=examples(40), deadline=None)
@given(of=hosts(), seed=st.integers(0, 2**32))
def test_the_laws_hold_for_any_host(of: Scenario, seed: int) -> None:
    assert len(samples(of, 4, seed=seed)) == 4


@given(
    wants=st.lists(st.tuples(st.floats(0.0, 0.99), st.integers(0, 2)), min_size=1, max_size=24),
    limit=st.none() | st.floats(0.05, 1.0),
    swap=st.floats(0.0, 0.6),
    reserved=st.floats(0.0, 0.3),
    pcpus=st.integers(1, 16),
)
def test_a_turn_always_adds_up_and_nobody_runs_on_what_there_is_not(
    wants: list[tuple[float, int]], limit: float | None, swap: float, reserved: float, pcpus: int
) -> None:
    run, node = np.array([want for want, _ in wants]), np.array([node for _, node in wants])
    ones = np.ones(len(wants))
    turns = run_nodes(
        Wants(run, ones * (limit or np.inf), reserved * ones, 1000.0 * ones, len(wants) * ones, swap * ones, node),
        pcpus,
        np.zeros(3),
    )
    assert turns.run + turns.ready + turns.costop + turns.idle + turns.swap_wait == pytest.approx(100.0, abs=1e-6)
    assert (turns.max_limited >= 0.0).all()
    assert (turns.max_limited <= turns.ready + 1e-9).all()
    assert (turns.run <= 100.0 * np.minimum(run, limit or 1.0) + 1e-9).all()
    assert (np.bincount(node, turns.run) <= 100.0 * pcpus + 1e-6).all()


def test_noise_far_ahead_is_the_noise_of_one_by_one() -> None:
    alone, together = Noise(7), Noise(7)
    for _ in range(300):
        drawn = together.around_each(["x", "y"], 1.0, 0.5).tolist()
        assert drawn == [alone.around("x", 1.0, 0.5), alone.around("y", 1.0, 0.5)]


def test_noise_of_a_label_is_asked_for_in_one_way() -> None:
    noise = Noise(7)
    noise.uniform_each(["x", "y"])
    with pytest.raises(ValueError, match="in two ways"):
        noise.uniform_each(["y", "z"])


def test_two_busy_threads_do_what_a_core_and_a_quarter_do() -> None:
    alone = last(scenario([guest("a", 4, cpu=95.0)], machine(threads_per_core=1)))
    full = last(scenario([guest("a", 8, cpu=95.0)]))
    assert alone.now.nodes.threading[0] == 1.0
    # each of two busy threads loses a part of what it would do alone; 8 vCPUs run nearly all the time
    assert 0.625 < full.now.nodes.threading[0] < 0.75
    # esxtop charges the two of a core half each while both run: together what the core was busy, never more than 100 %
    pcpus = full.now.pcpus
    assert (pcpus.used / pcpus.clock).reshape(-1, 2).sum(axis=1) == pytest.approx(pcpus.core_util[::2])
    assert pcpus.util.reshape(-1, 2).sum(axis=1)[:4].min() > 130.0


def test_an_overcommitted_node_makes_vcpus_ready_not_limited() -> None:
    of = last(scenario([guest(f"v{n}", cpu=90.0) for n in range(8)]))
    assert of.vcpus("ready", "v0") > 20.0
    assert of.vcpus("max_limited", "v0") == 0.0
    assert last(scenario([guest("v0", cpu=90.0)])).vcpus("ready", "v0") < 1.0


def test_a_cpu_limit_shows_in_max_limited_and_holds_used_time() -> None:
    of = last(scenario([guest("a", cpu=80.0, cpu_limit_mhz=1500)]), 6)
    assert of.vcpus("max_limited", "a") == pytest.approx(of.vcpus("ready", "a"), rel=0.2)
    assert 2 * of.vcpus("used", "a") / 100.0 * 2600 == pytest.approx(1500.0, rel=0.05)


def test_shares_divide_a_full_node_and_reservations_come_first() -> None:
    others = [guest(f"v{n}", cpu=95.0) for n in range(8)]
    poor = last(scenario([guest("a", cpu=95.0, shares_per_vcpu=200), *others])).vcpus("run", "a")
    fair = last(scenario([guest("a", cpu=95.0), *others])).vcpus("run", "a")
    sure = last(scenario([guest("a", cpu=95.0, shares_per_vcpu=200, cpu_reservation_mhz=2600), *others]), 4)
    assert poor < 0.4 * fair
    assert 2 * sure.vcpus("run", "a") * float(sure.now.nodes.speed[0]) >= 100.0 - 3.0


@pytest.mark.parametrize(
    ("vcpus", "load", "stopped"), [(1, 0.9, False), (4, 0.3, False), (4, 0.9, True), (8, 0.6, True)]
)
def test_vcpus_that_wait_little_stay_in_step_the_longer_the_fewer_they_are(
    vcpus: int, load: float, *, stopped: bool
) -> None:
    ones = np.ones(vcpus)
    wants = Wants(
        load * ones, np.inf * ones, 0.0 * ones, ones, vcpus * ones, 0.0 * ones, np.zeros(vcpus, dtype=np.intp)
    )
    turns = run_nodes(wants, 8, np.array([7.0 - vcpus * load]))
    assert (turns.ready > 0.0).all()
    assert (turns.costop > 0.0).all() == stopped
    assert turns.run + turns.ready + turns.costop + turns.idle == pytest.approx(100.0)


def test_co_stop_is_the_oversized_vms_trouble() -> None:
    crowd = [guest(f"v{n}", cpu=70.0) for n in range(4)]
    wide = last(scenario([guest("a", 8, cpu=50.0), *crowd]))
    narrow = last(scenario([guest("a", 2, cpu=50.0), *crowd]))
    assert wide.vcpus("costop", "a") > 4.0
    assert narrow.vcpus("costop", "a") < 0.2
    assert wide.vcpus("costop", "v0") < 0.5


def test_a_wide_vm_runs_on_all_its_nodes() -> None:
    of = last(scenario([guest("a", 12, cpu=80.0, nodes=(0, 1))]))
    narrow = last(scenario([guest("a", 12, cpu=80.0)]))
    assert of.now.nodes.used[0] == pytest.approx(of.now.nodes.used[1], rel=0.1)
    assert of.vcpus("ready", "a") < 2.0 < narrow.vcpus("ready", "a")
    assert of.vm("Group Memory", "Numa % Local", "a") == 100.0


def test_remote_memory_makes_the_same_work_run_longer() -> None:
    near, far = (last(scenario([guest("a", cpu=40.0, remote_memory=part)])) for part in (0.0, 0.5))
    assert far.vm("Group Memory", "Numa % Local", "a") == pytest.approx(50.0)
    assert far.vm("Group Memory", "Numa Remote Memory MBytes", "a") == pytest.approx(2000 * 0.94 / 2)
    done = far.vcpus("run", "a") - far.vcpus("memory_latency", "a")
    assert done == pytest.approx(near.vcpus("run", "a"), rel=0.02)
    assert near.vcpus("memory_latency", "a") == 0.0


def test_io_costs_the_vmkernel_what_the_host_says() -> None:
    load = {"read_iops": 20_000.0, "outstanding": 64.0, "rx_pps": 100_000.0}
    cheap = last(scenario([guest("a", **load)]))
    dear = last(scenario([guest("a", **load)], machine(disk_us=18.0, sys_disk_us=10.0, net_us=2.2, sys_net_us=0.7)))
    done = float(cheap.now.storage.flows.commands.sum())
    assert 2 * cheap.vcpus("system", "a") == pytest.approx((done * 5 + 100_001 * 0.35) / 1e4, rel=0.02)
    assert dear.vcpus("system", "a") == pytest.approx(2 * cheap.vcpus("system", "a"))
    assert dear.world("run", "PVSCSI") == pytest.approx(2 * cheap.world("run", "PVSCSI"))
    assert dear.world("run", "NetWorld") == pytest.approx(2 * cheap.world("run", "NetWorld"))


def test_an_io_filter_costs_cpu_for_each_command() -> None:
    load = {"read_iops": 20_000.0, "outstanding": 64.0}
    bare, filtered = (last(scenario([guest("a", io_filter_us=cost, **load)])) for cost in (0.0, 10.0))
    assert bare.world("run", "vmx") < 0.1
    done = float(bare.now.storage.flows.commands.sum())
    assert filtered.world("run", "vmx") == pytest.approx(done * 10 / 1e4, rel=0.4)
    assert filtered.now.pcpus.used.sum() > bare.now.pcpus.used.sum()


@pytest.mark.parametrize(("width", "full"), [(1, True), (2, False), (4, False)])
def test_interrupts_on_one_pcpu_fill_it_while_others_idle(width: int, full: bool) -> None:
    switch = Switch("s0", (Nic("vmnic0", 40_000, interrupt_pcpus=width),), ("vmk0",))
    of = last(scenario([guest("a", rx_pps=350_000.0, rx_bytes=100.0)], switches=(switch,)))
    util = np.sort(of.now.pcpus.util)
    assert (util[-1] > 70.0) == full
    assert util[-2] < 50.0
    mine = next(n for n, vector in enumerate(of.layout.vectors) if vector.kind == "uplink")
    assert np.count_nonzero(of.now.interrupts.rates[mine]) == width


def test_an_adapter_bound_to_one_pcpu_costs_it_too() -> None:
    load = {"read_iops": 60_000.0, "outstanding": 200.0}
    one, two = (
        last(scenario([guest("a", **load)], adapters=(Adapter("vmhba0", 2048, width),))).now.pcpus.util.max()
        for width in (1, 2)
    )
    assert one > two + 15.0


def test_a_timer_heavy_guest_wakes_switches_and_costs_system_time() -> None:
    quiet, heavy = (last(scenario([guest("a", 1, cpu=10.0, timers=rate)])) for rate in (1000.0, 12_000.0))
    assert heavy.vm("Group Cpu", "Timers/sec", "a") > 12_000.0
    for what in ("wakeups", "switches"):
        assert heavy.vcpus(what, "a") > quiet.vcpus(what, "a") + 9000.0
    assert heavy.vcpus("system", "a") > quiet.vcpus("system", "a") + 4.0
    assert heavy.vcpus("run", "a") > quiet.vcpus("run", "a") + 4.0


def test_vmotion_keeps_helper_worlds_busy() -> None:
    calm, moving = (last(scenario([guest("a", cpu=40.0, vmotion_mb_per_s=rate)])) for rate in (0.0, 1000.0))
    assert calm.world("run", "HELPER") < 0.1
    assert moving.world("run", "HELPER") > 30.0
    assert moving.world("migrates", "HELPER") > 5.0
    assert moving.vcpus("run", "a") > calm.vcpus("run", "a")


def test_new_physics_leaves_a_host_without_it_as_it_was() -> None:
    plain = scenario([guest("a", cpu=40.0, read_iops=100.0), guest("b", cpu=20.0, rx_pps=5000.0)])
    none = replace(plain, host=replace(plain.host, remote_part=0.9, phases=()))
    for left, right in zip(samples(plain), samples(none), strict=True):
        assert (left.now.worlds.used == right.now.worlds.used).all()
