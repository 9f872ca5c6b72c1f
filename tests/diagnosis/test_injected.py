"""Captures with edited troubles agree with themselves: sums, Little's law, 100 % per world."""

import sys
import tomllib

import numpy as np
import pytest
from checkout import ROOT
from compose import real_data

sys.path.insert(0, str(ROOT / "benchmarks"))

from injected import Bench
from injecting.capture import read_capture
from injecting.host import ADAPTER, DEVICE, GROUP, MEMORY, PATH, PER_WORLD, WORLD, Host
from injecting.situations import read_situations
from injecting.stretch import stretched
from judged import ACCEPTED, Judged, Key, Told, on_object

SITUATIONS = read_situations()
SAMPLE = [one for one in SITUATIONS if one.id != "all-paths-down"][::3]
ROUNDING = 0.006
"""What two decimals lose of a cell, and a little."""


@pytest.fixture(scope="module")
def bench():
    return Bench(real_data("esxtop/esxi65_all_counters.csv"))


def check_worlds(host):
    for world in host.instances(WORLD):
        if ":idle" not in world:
            parts = [host.get(WORLD, world, one) for one in ("% Run", "% Ready", "% CoStop", "% Wait")]
            assert np.allclose(np.sum(parts, axis=0), 100, atol=4 * ROUNDING), world
            assert np.all(host.get(WORLD, world, "% Max Limited") <= parts[1] + 2 * ROUNDING), world
            assert np.all(host.get(WORLD, world, "% VmWait") <= parts[3] + 2 * ROUNDING), world


def check_groups(host):
    for group in host.instances(GROUP):
        worlds = [one for one in host.instances(WORLD) if one.startswith(f"{group}:")]
        for counter in ("% Run", "% Ready", "% CoStop", "% Used", "% System"):
            parts = [host.get(WORLD, one, counter) for one in worlds]
            assert np.allclose(
                host.get(GROUP, group, counter), np.sum(parts, axis=0), atol=ROUNDING * (len(worlds) + 1)
            ), group


def check_pcpus(host):
    run = [host.get(WORLD, one, "% Run") for one in host.instances(WORLD) if ":idle" not in one]
    assert np.sum(run, axis=0).max() <= 100 * len(host.pcpus) + 1
    utils = [host.get("Physical Cpu", one, "% Util Time") for one in host.pcpus]
    assert np.max(utils) <= 100 + ROUNDING
    assert np.allclose(host.get("Physical Cpu", "_Total", "% Util Time"), np.mean(utils, axis=0), atol=2 * ROUNDING)


def check_disks(host):
    parts = [(DEVICE, one.name, PER_WORLD, one.worlds) for one in host.devices]
    parts += [(DEVICE, one.name, PATH, one.paths) for one in host.devices]
    paths = host.instances(PATH)
    parts += [
        (ADAPTER, one, PATH, [path for path in paths if path.startswith(f"{one}:")]) for one in host.instances(ADAPTER)
    ]
    for kind, name, of, places in parts:
        for counter in ("Commands/sec", "Reads/sec", "MBytes Written/sec", "Failed Commands/sec") if places else ():
            total = np.sum([host.get(of, one, counter) for one in places], axis=0)
            assert np.allclose(host.get(kind, name, counter), total, atol=ROUNDING * (len(places) + 1)), (name, counter)


def check_latency(host):
    for kind in (DEVICE, PATH, PER_WORLD):
        for one in host.instances(kind):
            driver, kernel, guest, queue = (
                host.get(kind, one, f"Average {part} MilliSec/Command")
                for part in ("Driver", "Kernel", "Guest", "Queue")
            )
            assert np.allclose(guest, driver + kernel, atol=3 * ROUNDING), one
            assert np.all(queue <= kernel + 0.2 * kernel + 2 * ROUNDING), one
    for device in host.devices:
        active = host.get(DEVICE, device.name, "Active Commands")
        answered = (
            host.get(DEVICE, device.name, "Commands/sec")
            / 1000
            * host.get(DEVICE, device.name, "Average Driver MilliSec/Command")
        )
        assert np.all(active <= host.get(DEVICE, device.name, "Device Q Depth"))
        assert np.allclose(active, answered, atol=0.6 + 0.02 * answered.max()), device.name


def check_sizes(host):
    for kind in (DEVICE, PER_WORLD):
        for one in host.instances(kind):
            for way, rate in (("Read", "Reads/sec"), ("Written", "Writes/sec")):
                mb, commands = host.get(kind, one, f"MBytes {way}/sec"), host.get(kind, one, rate)
                assert np.all(mb <= commands + 0.05), "a command of more than 1 MB"


def check_memory(host):
    machine, kernel, vms, free = (
        host.get("Memory", "", f"{one} MBytes") for one in ("Machine", "Kernel", "NonKernel", "Free")
    )
    assert np.allclose(machine, kernel + vms + free, atol=3)
    for total, part in (("Memctl Current MBytes", "Memctl MBytes"), ("Swap Used MBytes", "Swapped MBytes")):
        parts = [host.get(MEMORY, one.group, part) for one in host.vms]
        assert np.allclose(host.get("Memory", "", total), np.sum(parts, axis=0), atol=6), total


@pytest.mark.search
@pytest.mark.parametrize("situation", SAMPLE, ids=lambda one: one.id)
def test_captures_agree_with_themselves(bench, situation, tmp_path):
    path = tmp_path / "capture.csv"
    _, _, made = bench.make(situation, "strong", "all", path)
    written = read_capture(path)
    written.paths = made.paths
    host = Host(written)
    check_worlds(host)
    check_groups(host)
    check_pcpus(host)
    check_memory(host)
    if "Physical Disk Path" not in situation.drops:
        check_disks(host)
        check_latency(host)
        check_sizes(host)


@pytest.mark.search
def test_commands_stay_active_when_all_paths_are_down(bench, tmp_path):
    situation = next(one for one in SITUATIONS if one.id == "all-paths-down")
    roles, (first, last), made = bench.make(situation, "medium", "all", tmp_path / "capture.csv")
    host = Host(made)
    assert np.all(host.get(DEVICE, roles.device, "Active Commands")[first : last + 1] >= 20)
    assert np.all(host.get(DEVICE, roles.device, "Commands/sec")[first : last + 1] == 0)


@pytest.mark.search
@pytest.mark.parametrize("name", ["nothing", "nothing-on-a-larger-host"])
def test_nothing_critical_is_found_where_nothing_is_edited(bench, name, tmp_path):
    situation = next(one for one in SITUATIONS if one.id == name)
    judged = bench.judge(situation, "medium", "all", tmp_path / "capture.csv")
    assert [one for one in judged.found if one.severity == "critical"] == []


@pytest.mark.search
def test_half_of_the_counters_are_left_out_but_not_those_that_show_a_trouble(bench, tmp_path):
    situation = next(one for one in SITUATIONS if one.id == "queue-full")
    (_, _, every), (_, _, half) = (
        bench.make(situation, "strong", one, tmp_path / f"{one}.csv") for one in ("all", "half")
    )
    counters, left = ({f"{key.object}:{key.counter}" for key in one.columns} for one in (every, half))
    assert 0.3 < len(left) / len(counters) < 0.7
    assert set(situation.shows) <= left


@pytest.mark.search
def test_samples_vary_around_the_recorded_level_and_resemble_their_neighbours():
    recorded = read_capture(real_data("esxtop/esxi65_all_counters.csv"))
    made = stretched(recorded, 3)
    alike = []
    for key, cells in made.columns.items():
        level = recorded.columns[key]
        if np.all(level == level[0]):
            assert np.all(cells == level[0]), key
        elif key.object == "Physical Cpu" and level.mean() > 1:
            assert cells.mean() == pytest.approx(level.mean(), rel=0.2)
            alike.append(np.corrcoef(cells[1:], cells[:-1])[0, 1])
    assert 0.3 < np.mean(alike) < 0.95


def test_situations_have_sources_and_troubles_have_right_findings():
    troubles = [one for one in SITUATIONS if not one.harmless]
    accepted = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))
    assert len(troubles) >= 60
    assert len(SITUATIONS) - len(troubles) >= 30
    assert len({one.id for one in SITUATIONS}) == len(SITUATIONS)
    assert all(one.source and one.where for one in SITUATIONS)
    assert {one.id for one in troubles} <= {name for name, entry in accepted.items() if entry.get("right")}
    assert set(accepted) <= {one.id for one in SITUATIONS}


def test_a_finding_is_right_by_its_trouble_and_its_object():
    found = [
        Told("storage.queue_device", "device", name, "warning", 0.9, 30, 60, "", False) for name in ("naa.1", "naa.2")
    ]
    wrong = Told("storage.array_slow", "device", "naa.1", "warning", 0.9, 30, 60, "", False)
    one = Judged(
        "queue-full", "storage", "medium", "all", False, True, "wide", [("device", "naa.1")], (30, 60), [*found, wrong]
    )
    key = Key()
    assert [key.right(one, told) for told in one.found] == [True, False, False]
    assert [key.wrong(one, told) for told in one.found] == [False, True, True]


def test_ports_are_named_by_their_last_part_too():
    told = Told("network.line_rate", "port", "vmnic0", "warning", 0.9, 30, 60, "", False)
    objects = [("port", "vSwitch0:33554434:vmnic0")]
    assert on_object(
        Judged("uplink-full", "network", "weak", "all", False, True, "wide", objects, (30, 60), [told]), told
    )
