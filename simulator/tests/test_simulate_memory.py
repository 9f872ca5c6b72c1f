"""Memory of the simulated host: limits, a host short of memory, and what balloon, compression and swap do about it."""

from __future__ import annotations

from typing import Any

import pytest
from compute_host import Sample, guest, last, machine, samples, scenario

from esxparse_simulator.host import Phase, Vm


def _crowd(used: float, **fields: Any) -> list[Vm]:
    given = {"memory_mb": 8192, "active_mb": 0.4 * used} | fields
    return [guest(f"v{n}", node=n % 2, used_mb=used, **given) for n in range(4)]


def _full(used: float, count: int = 60, host: dict[str, Any] | None = None, **fields: Any) -> Sample:
    """Four VMs on a host that has 21,100 MB for them all, less the minimum of free memory."""
    return last(scenario(_crowd(used, **fields), machine(memory_mb=24_000, **(host or {}))), count)


def test_a_host_with_room_takes_nothing_back() -> None:
    of = _full(4000.0)
    assert of.now.memory.state == 0.0
    assert not any((of.now.memory.balloon.any(), of.now.memory.swapped.any(), of.now.memory.compressed.any()))


def test_balloons_hold_a_host_that_is_a_little_short_in_soft_state() -> None:
    of = _full(6000.0)
    assert of.now.memory.state == 1.0
    assert of.now.memory.balloon.sum() > 1500.0
    assert not of.now.memory.swapped.any()
    assert of.tables["Memory"]["Kernel State"] == 1.0
    assert of.tables["Memory"]["Memctl Current MBytes"] == pytest.approx(of.now.memory.balloon.sum())


def test_without_balloon_drivers_pages_are_compressed_and_swapped() -> None:
    of = _full(6000.0, balloon_driver=False)
    assert of.now.memory.state == 2.0
    assert not of.now.memory.balloon.any()
    assert of.now.memory.swapped.sum() > 500.0
    assert of.now.memory.compressed.sum() > 50.0
    assert of.vm("Group Memory", "Memctl?", "v0") == 0.0
    assert not _full(6000.0, balloon_driver=False, host={"compression": False}).now.memory.compressed.any()


def test_memory_that_grows_at_once_is_swapped_at_once_and_never_more_than_there_is() -> None:
    phases = (Phase(10.0, 1000.0, {"used_mb": 8000.0, "active_mb": 6000.0}),)
    grown = samples(scenario(_crowd(4000.0, phases=phases), machine(memory_mb=24_000)), 40)
    assert [sample.now.memory.state for sample in grown[:2]] == [0.0, 0.0]
    assert grown[2].now.memory.state == 3.0
    assert grown[2].now.memory.swap_out.sum() > 500.0
    assert grown[2].vcpus("swap_wait", "v0") > 5.0
    assert grown[-1].now.memory.balloon.sum() > grown[2].now.memory.balloon.sum()
    assert grown[-1].now.memory.state < 3.0


def test_a_host_long_short_of_memory_begins_as_it_goes_on() -> None:
    first, *_, later = samples(scenario(_crowd(6000.0), machine(memory_mb=24_000)), 20)
    assert first.now.memory.balloon == pytest.approx(later.now.memory.balloon, rel=0.02)


def test_idle_memory_is_taxed_and_reservations_are_kept() -> None:
    idle, busy = (
        guest("idle", memory_mb=16_384, used_mb=14_000.0, active_mb=100.0),
        guest("busy", memory_mb=16_384, used_mb=14_000.0, active_mb=12_000.0),
    )
    of = last(scenario([idle, busy], machine(memory_mb=24_000)), 30)
    assert of.memory("balloon", "idle") > 4 * of.memory("balloon", "busy")
    kept = guest("idle", memory_mb=16_384, used_mb=14_000.0, active_mb=100.0, memory_reservation_mb=16_384)
    of = last(scenario([kept, busy], machine(memory_mb=24_000)), 30)
    assert of.memory("balloon", "idle") == 0.0
    assert of.memory("swapped", "idle") == 0.0
    assert of.vm("Group Memory", "Alloc Min", "idle") == 16_384.0


def test_a_limit_below_what_is_used_balloons_then_swaps_though_the_host_has_room() -> None:
    of = samples(scenario([guest("a", used_mb=3500.0, memory_limit_mb=2500)]), 60)
    assert of[3].memory("swapped", "a") > 0.0
    assert of[-1].memory("balloon", "a") == pytest.approx(3500 * 0.94 - 2500)
    assert of[-1].now.memory.state == 0.0
    assert of[-1].vm("Group Memory", "Alloc Max", "a") == 2500.0


def test_a_limit_below_what_is_touched_never_stops_swapping() -> None:
    mild, hard = (
        last(scenario([guest("a", 1, used_mb=3800.0, active_mb=active, memory_limit_mb=700)]), 120)
        for active in (200.0, 3600.0)
    )
    assert hard.memory("swap_in", "a") > 2.0
    assert hard.memory("swap_out", "a") > 1.0
    assert hard.vcpus("swap_wait", "a") > 20.0
    assert hard.vcpus("memory_latency", "a") == pytest.approx(hard.vcpus("swap_wait", "a"))
    assert mild.vcpus("swap_wait", "a") < 0.5 * hard.vcpus("swap_wait", "a")


def test_a_full_node_overflows_to_the_other_and_what_overflows_is_remote() -> None:
    vms = [guest(f"v{n}", memory_mb=8192, used_mb=8000.0, active_mb=2000.0, node=0) for n in range(5)]
    of = last(scenario(vms))
    assert of.now.memory.state == 0.0
    assert of.memory("remote", "v0") > 500.0
    assert of.vm("Group Memory", "Numa % Local", "v0") < 95.0
    assert of.tables["Numa Node"]["Free MBytes"][0] == pytest.approx(0.0, abs=1e-6)
    assert of.vcpus("memory_latency", "v0") > 0.0
