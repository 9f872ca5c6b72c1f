"""Untidy hosts: noise with memories, tails and bursts, spells that begin anywhere, late samples, side effects."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import esxparse_simulator as simulate
from esxparse_simulator.esxtop.writer import esxtop_lines
from esxparse_simulator.host import Phase
from esxparse_simulator.limits import ScenarioError
from esxparse_simulator.model.demand import at
from esxparse_simulator.model.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from esxparse_simulator import Scenario, Snapshot

    Numbers = NDArray[np.float64]

MANY = tuple(f"label/{number}" for number in range(200))


def untidy(name: str = "healthy-database", **changed: object) -> Scenario:
    return replace(simulate.load_scenario(name), **{"untidy": 1.0, **changed})  # type: ignore[arg-type]


def through(scenario: Scenario, samples: int, look: Callable[[Snapshot], object]) -> Numbers:
    return np.array([look(now) for now in simulate.capture(scenario, samples=samples)])


def autocorrelation(rows: Numbers) -> Numbers:
    away = rows - rows.mean(axis=0)
    found: Numbers = (away[1:] * away[:-1]).sum(axis=0) / (away * away).sum(axis=0)
    return found


def test_untidy_noise_has_many_memories_and_heavy_tails_where_tidy_noise_has_one() -> None:
    tidy, restless = Noise(3), Noise(3, untidy=1.0)
    rows = {
        "tidy": np.array([tidy.wobble_each(MANY) for _ in range(400)]),
        "restless": np.array([restless.wobble_each(MANY) for _ in range(400)]),
    }
    low, high = np.percentile(autocorrelation(rows["restless"]), [5, 95])
    assert low < -0.1
    assert high > 0.6
    assert np.ptp(np.percentile(autocorrelation(rows["tidy"]), [5, 95])) < 0.3
    kurtosis = {name: float(((of / of.std(axis=0)) ** 4).mean()) for name, of in rows.items()}
    assert kurtosis["tidy"] < 3.0
    assert kurtosis["restless"] > 3.6
    assert rows["restless"].std() == pytest.approx(1.0, abs=0.15)


def test_what_a_label_gives_does_not_depend_on_its_company() -> None:
    alone, together = Noise(5, untidy=1.0), Noise(5, untidy=1.0)
    for _ in range(30):
        assert alone.wobble_each(MANY[:1])[0] == together.wobble_each(MANY)[0]
        assert alone.bursts_each(("a",), 5.0)[0] == together.bursts_each(("a", "b"), 5.0)[0]


def test_bursts_begin_and_end_within_samples_and_are_rare() -> None:
    noise = Noise(1, untidy=1.0)
    rows = np.array([noise.bursts_each(MANY, 5.0) for _ in range(300)])
    assert 0.02 < (rows > 0.0).mean() < 0.4
    assert rows.max() < 6.0
    heights = [len(set(np.round(column[column > 0.0], 9))) for column in rows.T]
    assert max(heights) > 3  # parts of bursts beside whole ones


@pytest.mark.parametrize(
    ("phase", "second", "part"),
    [
        (Phase(10.0, 30.0, {}), 15.0, 1.0),
        (Phase(12.0, 30.0, {}), 15.0, 0.6),
        (Phase(12.0, 13.0, {}), 15.0, 0.2),
        (Phase(0.0, 11.0, {}), 15.0, 0.2),
        (Phase(0.0, 10.0, {}), 15.0, 0.0),
        (Phase(10.0, 40.0, {}, rise=10.0), 15.0, 0.25),
        (Phase(0.0, 15.0, {}, fall=5.0), 15.0, 0.5),
    ],
)
def test_a_phase_counts_by_the_part_of_the_sample_that_it_covers(phase: Phase, second: float, part: float) -> None:
    assert phase.part(second, 5.0) == pytest.approx(part)


def test_a_blended_sample_lies_between_what_was_and_what_comes() -> None:
    device = simulate.load_scenario("healthy-database").devices[1]
    phases = (Phase(12.0, 60.0, {"read_ms": 10.5}),)
    assert at(device, phases, 15.0).read_ms == 10.5
    assert at(device, phases, 15.0, 5.0).read_ms == pytest.approx(0.5 + 0.6 * 10.0)
    assert at(device, phases, 10.0, 5.0) is device


def test_samples_are_late_now_and_then_skipped_and_the_same_again() -> None:
    scenario = untidy(vms=(), seed=2)
    times = through(scenario, 400, lambda now: now.second)
    steps = [after - before for before, after in pairwise(times.tolist())]
    assert all(5.0 <= step <= 5.5 or 10.0 <= step <= 10.5 for step in steps)
    assert 0 < sum(step > 9.0 for step in steps) < 10
    assert times[:50].tolist() == through(scenario, 50, lambda now: now.second).tolist()


def test_numbers_of_one_sample_do_not_add_up_exactly_but_nearly() -> None:
    def states(now: Snapshot) -> Numbers:
        return now.worlds.run + now.worlds.ready + now.worlds.costop + now.worlds.wait

    sums = through(untidy(), 60, states)
    assert np.abs(sums - 100.0).max() < 8.0
    assert (np.abs(sums - 100.0) > 0.2).mean() > 0.5
    assert sums.mean() == pytest.approx(100.0, abs=0.2)


def test_an_untidy_host_keeps_the_laws_that_real_ones_keep() -> None:
    for now in simulate.capture(untidy("healthy-storage", idle_worlds=90), samples=30):
        assert (now.pcpus.util <= 100.0 + 1e-9).all()
        assert (now.pcpus.core_util[::2] >= np.maximum(now.pcpus.util[::2], now.pcpus.util[1::2]) - 1e-9).all()
        assert (now.pcpus.core_util[::2] <= now.pcpus.util[::2] + now.pcpus.util[1::2] + 1e-9).all()
        assert (now.storage.flows.values >= 0.0).all()
        assert (now.worlds.wait >= now.worlds.idle - 1e-6).all()
        assert (now.ports.tx >= 0.0).all()


def test_what_is_counted_comes_in_whole_numbers() -> None:
    captured = list(simulate.capture(untidy(), samples=5))
    for before, now in pairwise(captured):
        seconds = now.second - before.second
        for rates in (now.worlds.switches, now.storage.flows.reads, now.interrupts.rates):
            assert np.allclose(rates * seconds, np.rint(rates * seconds), atol=1e-6)


def test_drivers_of_one_vm_go_ways_of_their_own() -> None:
    def drivers(now: Snapshot) -> list[float]:
        loads = now.loads
        return [float(of[0]) for of in (loads.cpu, loads.tx_pps, loads.read_iops, loads.timers, loads.active_mb)]

    restless = replace(simulate.load_scenario("healthy-database").vms[0], jitter=0.6)
    rows = through(untidy(vms=(restless,)), 150, drivers)
    pairs = np.corrcoef(rows.T)[np.triu_indices(rows.shape[1], 1)]
    assert (pairs < 0.97).all()
    assert pairs.max() > 0.1


def test_a_full_link_takes_cpu_from_the_vm_behind_it() -> None:
    slow = simulate.load_experiment("speed-mismatch").runs[0].scenario
    assert slow
    place = [vm.name for vm in slow.vms].index("balancer-01")
    cpu = through(replace(slow, untidy=1.0), 81, lambda now: float(now.loads.cpu[place]))
    well = through(untidy("healthy-web"), 81, lambda now: float(now.loads.cpu[place]))
    assert cpu[45:80].mean() < 0.8 * well[45:80].mean()
    assert cpu[:39].tolist() == well[:39].tolist()


def test_a_vm_that_has_left_prints_zeros() -> None:
    scenario = untidy("healthy-web")
    leaving = replace(scenario.vms[0], phases=(Phase(20.0, 1e6, {"gone": 1.0}),))
    scenario = replace(scenario, vms=(leaving, *scenario.vms[1:]))
    header, *rows = esxtop_lines(simulate.capture(scenario, samples=8))
    names = header.decode().split('","')
    mine = [n for n, name in enumerate(names) if f":{leaving.name}" in name or f"({leaving.name}" in name]
    assert len(mine) > 100
    before, after = (rows[n].decode().strip('"\n').split('","') for n in (3, 7))
    assert any(float(before[n]) > 0.0 for n in mine)
    assert all(float(after[n]) == 0.0 for n in mine)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            '"vm[0].phase" = [{ start = 5, end = 10, rise = 9, cpu = 3.0 }]',
            "rise 9 and fall 0 are not from 0 to its 5 s",
        ),
        ('"untidy" = 9.0', "untidy = 9.0 cannot be"),
        ('"idle_worlds" = -1', "idle_worlds = -1 cannot be"),
    ],
)
def test_what_cannot_be_is_refused(change: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f'base = "healthy-web"\n[[change]]\n[change.set]\n{change}\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match=why):
        simulate.load_experiment(path)
