"""Captures with edited troubles agree with themselves: sums, Little's law, 100 % per world."""

import sys
from pathlib import Path

import numpy as np
import pytest
from compose import real_data

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from injected import Bench
from injecting.capture import read_capture
from injecting.host import ADAPTER, DEVICE, GROUP, MEMORY, PATH, PER_WORLD, WORLD, Host
from injecting.situations import read_situations

pytestmark = pytest.mark.search

SITUATIONS = read_situations()
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


def check_latency(host, stuck):
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
        if device.name not in stuck:
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


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.id)
def test_captures_agree_with_themselves(bench, situation, tmp_path):
    path = tmp_path / "capture.csv"
    _, _, made = bench.make(situation, "strong", "all", path)
    host = Host(read_capture(path))
    host.capture.paths = made.paths
    host = Host(host.capture)
    check_worlds(host)
    check_groups(host)
    check_pcpus(host)
    check_disks(host) if "Physical Disk Path" not in situation.drops else None
    check_latency(host, {one.name for one in host.devices} if situation.id == "all-paths-down" else set())
    check_sizes(host)
    check_memory(host)
