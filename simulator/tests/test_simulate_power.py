"""Power of the simulated host: policies, caps, throttling, and watts that follow the work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compute_host import Sample, guest, last, machine, samples, scenario

from esxparse_simulator.host import Phase


def _at(busy: float, **host: Any) -> Sample:
    vms = [guest(f"v{n}", 4, cpu=busy, node=n % 2) for n in range(4)]
    return last(scenario(vms, machine(**host)))


def _clock(sample: Sample) -> float:
    return float(np.mean(sample.tables["PCPU Power State"]["% of aperf/mperf"]))


def test_high_performance_stays_in_p0_out_of_deep_sleep_and_draws_more() -> None:
    fast, balanced = _at(5.0, policy="high performance"), _at(5.0)
    assert (fast.now.pcpus.p_states[:, 0] == 100.0).all()
    assert (fast.now.pcpus.c_states[:, 2] == 0.0).all()
    assert (balanced.now.pcpus.c_states[:, 2] > 50.0).all()
    assert fast.now.watts > balanced.now.watts + 5.0


def test_low_power_clocks_up_only_when_busy() -> None:
    idle, busy = _at(5.0, policy="low power"), _at(90.0, policy="low power")
    assert _clock(idle) < 65.0 < _clock(_at(5.0))
    assert _clock(busy) > 95.0
    assert (idle.now.pcpus.p_states[:, -1] > 60.0).all()
    assert idle.now.watts < _at(5.0).now.watts


def test_watts_rise_with_work() -> None:
    watts = [_at(busy).now.watts for busy in (1.0, 20.0, 50.0, 90.0)]
    assert watts == sorted(watts)
    assert watts[-1] > watts[0] + 50.0


def test_a_cap_slows_clocks_so_that_used_falls_below_util() -> None:
    capped, free = _at(80.0, cap_mhz=1600.0), _at(80.0)
    assert _clock(capped) <= 100.0 * 1600 / 2600 + 1e-9 < 100.0 < _clock(free)
    assert capped.now.pcpus.used.sum() < 0.75 * free.now.pcpus.used.sum()
    assert capped.now.watts < free.now.watts
    calm, slow = _at(20.0), _at(20.0, cap_mhz=1600.0)
    assert slow.now.pcpus.util.mean() > 1.5 * calm.now.pcpus.util.mean()
    assert slow.now.pcpus.used.sum() == pytest.approx(calm.now.pcpus.used.sum(), rel=0.2)
    assert capped.now.pcpus.p_states == pytest.approx(free.now.pcpus.p_states, abs=8.0)


def test_throttling_shows_in_t_states_and_clock() -> None:
    hot, cool = _at(80.0, throttled_pct=40.0), _at(80.0)
    assert hot.tables["PCPU Power State"]["%T-State T3"] == pytest.approx(40.0)
    assert cool.tables["PCPU Power State"]["%T-State T0"] == pytest.approx(100.0)
    assert _clock(hot) == pytest.approx(_clock(cool) * (1 - 0.4 * 0.75), rel=0.02)


def test_phases_of_the_host_cap_it_for_a_while() -> None:
    host = machine(phases=(Phase(10.0, 20.0, {"cap_mhz": 1500.0}),))
    clocks = [_clock(sample) for sample in samples(scenario([guest("a", cpu=60.0)], host), 6)]
    assert max(clocks[2:4]) < 60.0
    assert min(*clocks[:2], *clocks[4:]) > 100.0


def test_watts_of_vms_are_by_used_time() -> None:
    of = last(scenario([guest("busy", cpu=90.0), guest("calm", cpu=9.0)]))
    watts = [of.vm("Group Cpu", "Power Usage Watts", name) for name in ("busy", "calm")]
    assert watts[0] == pytest.approx(10 * watts[1], rel=0.15)
