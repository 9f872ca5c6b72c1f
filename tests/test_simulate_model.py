"""Parts of the model, whatever is asked of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse import simulate
from esxparse.simulate.host import Device, Phase
from esxparse.simulate.model.schedule import Want, run_node
from esxparse.simulate.model.storage import Flow, serve, together


@given(
    wants=st.lists(st.floats(0.0, 0.99), min_size=1, max_size=24),
    limit=st.none() | st.floats(0.05, 1.0),
    swap=st.floats(0.0, 0.6),
    pcpus=st.integers(1, 16),
)
def test_a_turn_always_adds_up_and_nobody_runs_on_what_there_is_not(
    wants: list[float], limit: float | None, swap: float, pcpus: int
) -> None:
    turns = run_node([Want(want, limit, 1000.0, len(wants), swap) for want in wants], pcpus, 0.0)
    for want, turn in zip(wants, turns, strict=True):
        assert turn.run + turn.ready + turn.costop + turn.idle + turn.swap_wait == pytest.approx(100.0, abs=1e-6)
        assert 0.0 <= turn.max_limited <= turn.ready + 1e-9
        assert turn.run <= 100.0 * min(want, limit or 1.0) + 1e-9
    assert sum(turn.run for turn in turns) <= 100.0 * pcpus + 1e-6


@given(
    rates=st.lists(st.tuples(st.floats(0, 5000), st.floats(0, 5000), st.floats(1, 128)), min_size=1, max_size=6),
    depth=st.integers(1, 256),
)
def test_devices_keep_littles_law_whatever_is_asked(rates: list[tuple[float, float, float]], depth: int) -> None:
    device = Device("d", ("vmhba0:C0:T0:L0",), depth, 1, 1.0, 0.5, 0.1, 400.0)
    flows = [Flow(n, "d", None, reads, writes, 8.0, 64.0, out) for n, (reads, writes, out) in enumerate(rates)]
    served = serve(device, flows)
    for flow, row in zip(flows, served, strict=True):
        assert row.reads <= flow.reads + 1e-9
        assert row.queue <= row.kernel + 1e-9
    whole = together(served)
    assert whole.commands * whole.driver / 1000 <= depth + 1e-6
    assert whole.commands == pytest.approx(sum(row.commands for row in served))
    in_flight = whole.commands * (whole.driver + whole.queue) / 1000
    assert in_flight <= sum(flow.outstanding for flow in flows) * (1 + 1e-6) + 1e-6


@settings(max_examples=12, deadline=None)
@given(
    cpus=st.lists(st.floats(0, 99), min_size=8, max_size=8),
    asked=st.fixed_dictionaries(
        {
            "read_iops": st.floats(0, 20_000),
            "write_iops": st.floats(0, 6_000),
            "rx_pps": st.floats(0, 200_000),
            "used_mb": st.floats(0, 16_000),
        }
    ),
    threads=st.sampled_from([1, 2]),
    seed=st.integers(0, 2**32),
)
def test_the_laws_hold_for_any_load(cpus: list[float], asked: dict[str, float], threads: int, seed: int) -> None:
    base = simulate.busy_host()
    vms = tuple(
        replace(vm, phases=(Phase(0.0, 1e9, {**asked, "cpu": cpu}),)) for vm, cpu in zip(base.vms, cpus, strict=True)
    )
    scenario = replace(base, vms=vms, host=replace(base.host, threads_per_core=threads))
    for snapshot in simulate.capture(scenario, samples=3, seed=seed):
        for times in snapshot.worlds.values():
            assert times.run + times.ready + times.costop + times.wait == pytest.approx(100.0, abs=1e-6)
            assert min(times.used, times.idle, times.wait, times.overlap) >= 0.0
        worked = sum(times.run for times in snapshot.worlds.values() if not times.idler)
        assert worked == pytest.approx(sum(pcpu.util for pcpu in snapshot.pcpus), rel=1e-9)
        for pcpu in snapshot.pcpus:
            assert pcpu.util <= 100.0 + 1e-9
            assert sum(pcpu.power.c_states) == pytest.approx(100.0)
            assert sum(pcpu.power.p_states) == pytest.approx(100.0)
        for memory in snapshot.memory.values():
            assert min(memory.balloon, memory.swapped, memory.compressed, memory.consumed) >= 0.0
