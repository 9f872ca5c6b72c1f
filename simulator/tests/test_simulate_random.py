"""Hosts drawn at random: the same again by their seed, with the truth about them, readable, and not all alike."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import esxparse as ex
import esxparse_simulator as simulate
from esxparse import cli
from esxparse_simulator.limits import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

    from esxparse_simulator import Scenario

TROUBLES = simulate.trouble_names()
SHORT = {"samples": 25, "interval": 5.0}


def recorded(folder: Path, seed: int, **how: Any) -> tuple[Path, dict[str, Any]]:
    experiment = simulate.random_experiment(seed, **{**SHORT, **how})
    simulate.record(experiment, folder, capture={"all_counters": True})
    return folder / f"random-{seed}.csv", tomllib.loads((folder / "truth.toml").read_text(encoding="utf-8"))


def host(seed: int, **how: Any) -> Scenario:
    scenario = simulate.random_experiment(seed, **how).runs[0].scenario
    assert scenario
    return scenario


def test_a_seed_gives_the_same_files_again(tmp_path: Path) -> None:
    made = [recorded(tmp_path / str(n), 12)[0] for n in range(2)]
    for name in (made[0].name, "truth.toml"):
        assert (made[0].parent / name).read_bytes() == (made[1].parent / name).read_bytes()


def test_hosts_differ_in_every_way_they_can() -> None:
    runs = [simulate.random_experiment(seed).runs[0] for seed in range(60)]
    hosts = [run.scenario for run in runs if run.scenario]
    assert len({one.host.pcpus for one in hosts}) >= 5
    assert len({run.files[0].options["release"] for run in runs}) == 6
    assert {run.files[0].options["all_counters"] for run in runs} == {True, False}
    assert len({one.samples * one.interval for one in hosts}) > 8
    assert {bool(one.nfs) for one in hosts} == {bool(one.vsan) for one in hosts} == {True, False}
    assert min(len(one.vms) for one in hosts) <= 4
    assert max(len(one.vms) for one in hosts) >= 30
    assert any(not vm.name.isascii() or " " in vm.name for one in hosts for vm in one.vms)
    troubles = [len(run.without) for run in runs]
    assert {0, 1, 2} == set(troubles)
    assert 0.15 < troubles.count(0) / len(runs) < 0.45


def test_every_trouble_of_the_library_can_be_drawn() -> None:
    assert len(TROUBLES) == 37
    for seed, name in enumerate(TROUBLES):
        (run,) = simulate.random_experiment(seed, troubles=[name]).runs
        truths = [truth for truth in run.truths if "trouble" in truth]
        assert {truth["trouble"] for truth in truths} == {name}
        assert run.without[name] != run.scenario
        assert {vm.name for vm in run.without[name].vms} == {vm.name for vm in run.scenario.vms}  # type: ignore[union-attr]
        assert all(0.0 <= truth["start"] < truth["end"] for truth in truths)


def test_the_truth_says_what_is_wrong_and_what_only_looks_so(tmp_path: Path) -> None:
    path, truth = recorded(tmp_path, 3, troubles=["storage.array_slow"], severity=0.9, background=3)
    (drawn,), rows = truth["drawn"], truth["truth"]
    assert drawn["seed"] == 3
    assert [row["trouble"] for row in rows] == ["storage.array_slow"] * 2
    assert [row["where"].partition(" ")[0] for row in rows] == ["device", "vm"]
    assert len(truth["background"]) == 3
    assert all(row["what"] and row["where"] for row in truth["background"])
    begins = ex.open(path).meta["start"]
    for row in rows:
        assert row["files"] == [path.name]
        assert row["severity"] == 0.9
        assert begins <= row["start"] < row["visible"] <= row["end"] + timedelta(seconds=6)
        assert row["spreads"] > 2.0
    device = rows[0]["where"].partition(" ")[2]
    disks = ex.open(path)["physical_disk_scsi_device"].filter(instance=device).sort("time").collect()
    slow = disks.filter(disks["time"] >= rows[0]["visible"])["average_driver_millisec_per_command"]
    well = disks.filter(disks["time"] <= rows[0]["start"])["average_driver_millisec_per_command"]
    assert slow.max() > 5.0 * well.median()  # type: ignore[operator]


@pytest.mark.search
@pytest.mark.parametrize("name", TROUBLES)
def test_a_severe_trouble_shows_in_what_is_written(tmp_path: Path, name: str) -> None:
    shown = []
    for seed in (7, 8, 9):
        _, truth = recorded(tmp_path / str(seed), seed, troubles=[name], severity=0.7, background=2, samples=61)
        shown.append(any("visible" in row and row.get("spreads", 100.0) >= 3.0 for row in truth["truth"]))
    assert sum(shown) >= 2


@pytest.mark.search
def test_a_vm_comes_or_leaves_by_vmotion(tmp_path: Path) -> None:
    how: dict[str, Any] = {"troubles": ["network.vmotion"], "severity": 0.9, "background": 0}
    seeds = {}
    for seed in range(12):
        (run,) = simulate.random_experiment(seed, **how).runs
        seeds[{name.split()[-1] for truth in run.truths for name in truth.get("shows", ())}.pop()] = seed
    for way, seed in seeds.items():
        path, _ = recorded(tmp_path / str(seed), seed, **how)
        (vm,) = [vm.name for vm in host(seed, **how).vms if any("gone" in phase.load for phase in vm.phases)]
        columns = ex.open(path)["group_cpu"].select("instance").unique().collect()["instance"]
        # esxtop has the columns of its first sample: who comes later is in none of them
        assert any(vm in name for name in columns) == (way == "Transmitted/sec")
    path = tmp_path / str(seeds["Received/sec"]) / f"random-{seeds['Received/sec']}.csv"
    ports = ex.open(path)["network_port"].filter(pl.col("instance").str.ends_with(":vmk1")).collect()
    assert ports["mbits_received_per_sec"].max() > 20.0 * ports["mbits_transmitted_per_sec"].max() > 0.0
    assert len(seeds) == 2


def test_the_truth_is_of_the_file_that_was_written(tmp_path: Path) -> None:
    # samples are late, so that the last comes after samples x interval
    experiment = simulate.random_experiment(6, troubles=["power.p_states"], samples=61, interval=2.0)
    simulate.record(experiment, tmp_path, capture={"release": "8.0", "all_counters": False})
    truth = tomllib.loads((tmp_path / "truth.toml").read_text(encoding="utf-8"))
    assert (truth["drawn"][0]["release"], truth["drawn"][0]["all_counters"]) == ("8.0", False)
    times = ex.open(tmp_path / "random-6.csv")["physical_cpu_load"].collect()["time"]
    (row,) = truth["truth"]
    assert row["shape"] == "whole"
    assert (row["start"], row["end"]) == (times.min(), times.max())
    assert row["end"] - row["start"] > timedelta(seconds=61 * 2.0)
    assert row["spells"] == [[0.0, pytest.approx((row["end"] - row["start"]).total_seconds(), abs=1.0)]]


def test_no_spell_is_told_that_no_sample_falls_into() -> None:
    for seed, name in enumerate(TROUBLES[::5]):
        (run,) = simulate.random_experiment(seed, troubles=[name], samples=4, interval=60.0).runs
        assert run.scenario
        *_, last = (now.second for now in simulate.capture(run.scenario))
        for truth in (truth for truth in run.truths if "spells" in truth):
            first, *more = truth["spells"]
            assert all(begin < last and end <= round(last, 1) for begin, end in more), (name, truth)
            assert truth["start"] <= truth["end"] <= max(last, truth["start"])
            assert first[0] == round(truth["start"], 1)


@pytest.mark.search
def test_what_does_not_show_is_said_to_be_invisible(tmp_path: Path) -> None:
    found = [recorded(tmp_path, seed, troubles=["cpu.interrupts"], severity=0.0)[1]["truth"][0] for seed in (1, 2, 3)]
    assert any("visible" not in row and row["spreads"] < 2.0 for row in found)


def test_what_is_not_written_is_not_visible(tmp_path: Path) -> None:
    experiment = simulate.random_experiment(3, troubles=["storage.array_slow"], severity=1.0, **SHORT)
    simulate.record(experiment, tmp_path, capture={"only": ["Memory"]})
    truth = tomllib.loads((tmp_path / "truth.toml").read_text(encoding="utf-8"))
    assert all("visible" not in row for row in truth["truth"])


def test_two_troubles_are_told_each_against_the_host_that_has_the_other(tmp_path: Path) -> None:
    pair = ["cpu.noisy_neighbour", "network.transmit_drops"]
    _, truth = recorded(tmp_path, 8, troubles=pair, severity=1.0)
    assert {row["trouble"] for row in truth["truth"]} == set(pair)
    without = simulate.random_experiment(8, troubles=pair, severity=1.0).runs[0].without
    assert set(without) == set(pair)
    assert without[pair[0]] != without[pair[1]]


def test_a_trouble_that_leads_to_another_has_its_spells() -> None:
    truths = simulate.random_experiment(2, troubles=["power.thermal", "cpu.contention"], **SHORT).runs[0].truths
    spells = {truth["trouble"]: truth["spells"] for truth in truths if "trouble" in truth}
    assert spells["power.thermal"] == spells["cpu.contention"]
    (alone,) = [truth for truth in truths if truth.get("trouble") == "power.thermal"]
    assert not {"power.thermal", "cpu.contention"} & set(alone["not"])


def test_a_clock_that_jumps_is_seen_by_the_times(tmp_path: Path) -> None:
    path, truth = recorded(tmp_path, 4, troubles=["clock.jump"], severity=1.0)
    (row,) = truth["truth"]
    assert row["start"] <= row["visible"] <= row["start"] + timedelta(seconds=11)
    times = ex.open(path)["physical_cpu_load"].collect()["time"].to_list()
    assert any(after - before > timedelta(minutes=50) for before, after in pairwise(times))


def test_healthy_hosts_have_no_truth_and_are_read_without_a_warning(tmp_path: Path) -> None:
    for seed in range(3):
        path, truth = recorded(tmp_path, seed, troubles=(), background=2)
        assert "truth" not in truth
        assert len(truth["background"]) == 2
        rec = ex.open(path)
        warned = [note.message for note in rec.notes if note.severity == "warning"]
        assert [message for message in warned if "samples are missing" not in message] == []
        assert rec.meta["samples"] == SHORT["samples"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"troubles": ["storage.slow"]}, r"to draw. Did you mean 'storage.nfs_slow'\? There are: clock.jump"),
        ({"severity": 2.0}, "severity 2.0 is not from 0"),
        ({"background": 99}, "background 99 is not from 0 to 14"),
        ({"samples": 0}, "samples = 0 cannot be"),
    ],
)
def test_what_cannot_be_drawn_is_refused(how: dict[str, Any], why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        simulate.random_experiment(1, **how)


def test_the_command_draws_and_says_which_options_are_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", "random", "--seed", "5", "--samples", "7", "--trouble", "none", "--background", "1"]
    assert cli.main([*words, "-o", str(tmp_path)]) == 0
    truth = tomllib.loads((tmp_path / "truth.toml").read_text(encoding="utf-8"))
    assert set(truth) == {"drawn", "background"}
    assert cli.main(["simulate", "busy-host", "--trouble", "cpu.limit", "-o", str(tmp_path)]) != 0
    assert "--trouble is of a random host" in capsys.readouterr().err
    assert cli.main(["simulate", "--list"]) == 0
    assert "storage.array_slow" in capsys.readouterr().out
