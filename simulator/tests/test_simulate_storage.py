"""Disks of the simulated host: the laws of queues whatever is asked, and every trouble storage can have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_host import device, guest, host, response, sample, volume
from search import examples

from esxparse_simulator.host import Adapter, Nic, Phase, Switch, VsanDatastore
from esxparse_simulator.model.noise import Noise

if TYPE_CHECKING:
    from io_host import Sample

    from esxparse_simulator.host import Device, NfsVolume, Scenario, Vm

IO = ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec")
ERRORS = ("Failed Commands/sec", "Failed Bytes Read/sec", "Aborts/sec", "Resets/sec", "Reserves/sec", "Conflicts/sec")

_part = st.floats(0.0, 1.0)
_array = {
    "read_ms": st.floats(0.05, 20.0),
    "write_ms": st.floats(0.05, 20.0),
    "service_ms": st.floats(0.001, 1.0),
    "mb_per_s": st.floats(20.0, 3000.0),
    "media_ms": st.sampled_from([0.0, 6.0, 15.0]),
    "cache_mb": st.floats(0.0, 8000.0),
    "read_ahead_kb": st.sampled_from([0.0, 64.0, 1024.0]),
    "block_kb": st.sampled_from([0.0, 4.0, 64.0]),
    "failed_part": st.sampled_from([0.0, 0.1, 1.0]),
}
_per_second = st.sampled_from([0.0, 3.0, 60.0])
_device: dict[str, st.SearchStrategy[Any]] = {
    **_array,
    "queue_depth": st.integers(1, 128),
    "partitions": st.integers(1, 3),
    "world_queue_depth": st.sampled_from([0.0, 4.0, 32.0]),
    "dead_paths": st.sampled_from([0.0, 0.0, 1.0, 2.0]),
    "aborts": _per_second,
    "resets": _per_second,
    "reserves": _per_second,
    "conflicts": _per_second,
}
_load = {
    "read_iops": st.sampled_from([0.0, 10.0, 3000.0, 1e6]),
    "write_iops": st.floats(0.0, 20_000.0),
    "read_kb": st.floats(0.5, 512.0),
    "write_kb": st.floats(0.5, 512.0),
    "outstanding": st.floats(1.0, 128.0),
    "sequential": _part,
    "working_set_mb": st.floats(0.0, 20_000.0),
    "misaligned": _part,
    "consolidate_mb_per_s": st.sampled_from([0.0, 0.0, 80.0]),
}


@st.composite
def hosts(draw: st.DrawFn) -> Scenario:
    """Hosts with two LUNs, an NFS volume and a vSAN datastore, in any trouble."""

    def fields(of: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
        return draw(st.fixed_dictionaries(of))

    two = ("vmhba1:C0:T0:L0", "vmhba1:C0:T1:L0", "vmhba0:C0:T2:L0")
    devices = (device("local", **fields(_device)), device("naa.1", paths=two, **fields(_device)))
    network = {"copies": st.integers(1, 3), "congestion": st.floats(0.0, 255.0)}
    vsan = VsanDatastore("vsan", "vmk2", ("local",), **fields({**_array, **network}))
    nic = Nic("vmnic2", draw(st.sampled_from([100, 1000, 25_000])), full_duplex=draw(st.booleans()))
    switches = (Switch("s0", (Nic("vmnic0", 10_000),)), Switch("s1", (nic,), ("vmk1", "vmk2")))
    vms = (
        guest("a", "naa.1", "nfs", **fields(_load)),
        guest("b", "naa.1", "local", "vsan", **fields(_load)),
        guest("c", "naa.1", **fields(_load)),
    )
    depth = draw(st.sampled_from([4, 32, 2048]))
    adapters = (Adapter("vmhba0", depth), Adapter("vmhba1", 2 * depth))
    nfs = (volume(**fields(_array)),)
    return host(vms, devices=devices, nfs=nfs, vsan=(vsan,), switches=switches, adapters=adapters)


@settings(max_examples=examples(60), deadline=None)
@given(scenario=hosts(), seed=st.integers(0, 2**32))
def test_the_laws_of_disks_hold_in_any_trouble(scenario: Scenario, seed: int) -> None:
    now = sample(scenario, noise=Noise(seed))
    for rows in now.tables.values():
        for name, values in rows.items():
            assert np.isfinite(values).all(), name
            assert np.min(values) >= 0.0, name
    _adds_up(now)
    _fits_its_queues(now, scenario)


def _adds_up(now: Sample) -> None:
    devices = now.tables["Physical Disk SCSI Device"]
    for counter in IO + ERRORS:
        of_devices = sum(devices[counter])
        for table in ("Physical Disk Adapter", "Physical Disk", "Physical Disk Path"):
            assert sum(now.tables[table][counter]) == pytest.approx(of_devices, rel=1e-9), (table, counter)
        if counter in IO:
            worlds = now.tables["Physical Disk Per-Device-Per-World"][counter]
            partitions = now.tables["Physical Disk Partition"][counter]
            assert sum(worlds) == pytest.approx(of_devices, rel=1e-9)
            assert sum(partitions) == pytest.approx(of_devices, rel=1e-9)
    for table in ("Physical Disk SCSI Device", "Physical Disk Adapter", "Physical Disk Per-Device-Per-World"):
        rows = now.tables[table]
        for per in ("Command", "Read", "Write"):
            driver, kernel, whole, queue = (
                np.asarray(rows[f"Average {part} MilliSec/{per}"]) for part in ("Driver", "Kernel", "Guest", "Queue")
            )
            assert whole == pytest.approx(driver + kernel)
            assert (queue <= kernel + 1e-9).all()
        assert (np.asarray(rows["Failed Commands/sec"]) <= np.asarray(rows["Commands/sec"]) + 1e-6).all()
    disks = now.tables["Virtual Disk"]["Commands/sec"]
    assert disks[0] == pytest.approx(disks[1] + disks[2])
    assert disks[3] == pytest.approx(disks[4] + disks[5] + disks[6])


def _fits_its_queues(now: Sample, scenario: Scenario) -> None:
    for place, each in enumerate(scenario.devices):
        row = now.target(place)
        driver, _, _ = row.per_command()
        inside = (row.commands * driver)[0] / 1000.0
        assert inside <= each.queue_depth * (1.0 + 1e-6)
    table = now.tables["Physical Disk Adapter"]
    inside = table["Commands/sec"] * table["Average Driver MilliSec/Command"] / 1000.0
    assert (inside <= np.array([each.queue_depth for each in scenario.adapters]) * (1.0 + 1e-6)).all()
    worlds = now.tables["Physical Disk Per-Device-Per-World"]
    inside = worlds["Commands/sec"] * worlds["Average Driver MilliSec/Command"] / 1000.0
    limit = worlds["World Q Depth"]
    alone = sum(worlds["Commands/sec"] > 0.0) < len(limit)  # a device that one world has for itself is not limited
    assert alone or ((limit == 0.0) | (inside <= limit * (1.0 + 1e-6))).all()
    asked = {vm.name: vm.load for vm in scenario.vms}
    rows = now.storage.flows
    for place, flow in enumerate(now.layout.flows):
        row = rows.taken([place])
        if flow.kind == "disk":
            load, parts = asked[now.layout.vms[flow.vm].name], len(now.layout.vms[flow.vm].disks)
            assert row.reads[0] <= load.read_iops / parts * (1.0 + 1e-9)
            assert row.read_mb[0] <= row.reads[0] * load.read_kb / 1024.0 * (1.0 + 1e-9)


@given(
    rates=st.lists(st.tuples(st.floats(0, 5000), st.floats(0, 5000), st.floats(1, 128)), min_size=1, max_size=6),
    depth=st.integers(1, 256),
)
@settings(deadline=None)
def test_clients_have_no_more_in_flight_than_they_may(rates: list[tuple[float, float, float]], depth: int) -> None:
    vms = [
        guest(f"v{n}", "naa.1", read_iops=reads, write_iops=writes, write_kb=64.0, outstanding=out)
        for n, (reads, writes, out) in enumerate(rates)
    ]
    lun = device("naa.1", queue_depth=depth, read_ms=1.0, write_ms=0.5, service_ms=0.1, mb_per_s=400.0)
    now = sample(host(vms, devices=(device("local"), lun)))
    whole = now.target(1)
    driver, _, queue = whole.per_command()
    inside, queued = (float((whole.commands * part)[0]) / 1000 for part in (driver, queue))
    assert inside <= depth + 1e-6
    assert inside + queued <= sum(out for _, _, out in rates) * (1 + 1e-6) + 1e-6


def _on(lun: Device, *vms: Vm, **fields: Any) -> Sample:
    return sample(host(vms, devices=(device("local", paths=("vmhba0:C0:T9:L0",)), lun), **fields))


def test_a_world_at_its_limit_waits_in_the_kernel_only_while_it_shares_the_device() -> None:
    heavy = guest("heavy", "naa.1", read_iops=1e6, outstanding=64.0)
    light = guest("light", "naa.1", read_iops=50.0, outstanding=2.0)
    lun = device(service_ms=0.1, world_queue_depth=8.0)
    alone, shared, free = _on(lun, heavy), _on(lun, heavy, light), _on(device(service_ms=0.1), heavy, light)
    assert alone.flow("heavy").queue_read[0] == 0.0
    held = shared.flow("heavy")
    assert held.reads[0] * held.driver_read[0] / 1000.0 == pytest.approx(8.0)
    assert held.reads[0] * held.queue_read[0] / 1000.0 == pytest.approx(56.0, rel=0.01)
    assert response(shared.flow("light")) < 0.5 * response(free.flow("light"))
    assert sorted(shared.tables["Physical Disk Per-Device-Per-World"]["World Q Depth"]) == [0.0, 8.0, 8.0]


def test_a_full_adapter_queues_in_the_kernel() -> None:
    vms = [guest(f"v{n}", "naa.1", read_iops=1e6, outstanding=20.0) for n in range(3)]
    full = _on(device(), *vms, adapters=(Adapter("vmhba0", 10), Adapter("vmhba1", 2048))).target(1)
    free = _on(device(), *vms).target(1)
    assert full.reads[0] * full.driver_read[0] / 1000.0 == pytest.approx(20.0, rel=1e-3)
    assert full.queue_read[0] > 1.0 > free.queue_read[0] == 0.0
    assert response(full) == pytest.approx(response(free))


def test_living_paths_carry_everything() -> None:
    now = _on(device(dead_paths=1.0), guest("a", "naa.1", read_iops=1000.0))
    reads = now.tables["Physical Disk Path"]["Reads/sec"]
    assert reads.tolist() == pytest.approx([1.5, 1000.0, 0.0])
    assert now.storage.alive.tolist() == [1.0, 0.5]
    assert now.tables["Physical Disk Adapter"]["Reads/sec"].tolist() == pytest.approx([1001.5, 0.0])


def test_a_device_without_a_path_answers_nothing_and_aborts() -> None:
    flapping = device(phases=(Phase(10.0, 15.0, {"dead_paths": 2.0}),))
    scenario = host([guest("a", "naa.1", read_iops=1000.0, outstanding=20.0)], devices=(device("local"), flapping))
    before, dead = sample(scenario, 5.0), sample(scenario, 10.0)
    assert before.target(1).reads[0] == pytest.approx(1000.0)
    table = dead.tables["Physical Disk SCSI Device"]
    assert table["MBytes Read/sec"][1] == 0.0
    assert table["Active Commands"][1] == 20.0
    assert table["Aborts/sec"][1] == table["Failed Commands/sec"][1] == table["Commands/sec"][1] == pytest.approx(2.0)
    assert dead.storage.alive[1] == 0.0


def test_conflicts_are_retries_in_the_kernel() -> None:
    vm = guest("a", "naa.1", read_iops=400.0, outstanding=16.0)
    now = _on(device(conflicts=40.0, reserves=2.0), vm)
    assert now.target(1).kernel_read[0] == pytest.approx(0.02 + 10.0 * 40.0 / 400.0)
    assert now.target(1).queue_read[0] == 0.0
    table = now.tables["Physical Disk SCSI Device"]
    assert (table["Conflicts/sec"][1], table["Reserves/sec"][1]) == (pytest.approx(40.0), 2.0)
    busy = _on(device(conflicts=200.0), guest("a", "naa.1", read_iops=1e6, outstanding=8.0))
    quiet = _on(device(), guest("a", "naa.1", read_iops=1e6, outstanding=8.0))
    assert busy.target(1).reads[0] < 0.9 * quiet.target(1).reads[0]
    assert busy.storage.conflicts[1] == pytest.approx(200.0, rel=0.02)


def test_failed_commands_are_part_of_all_and_aborts_are_as_told() -> None:
    lun = device(failed_part=0.25, aborts=1.5, resets=0.5)
    table = _on(lun, guest("a", "naa.1", read_iops=100.0, write_iops=60.0)).tables["Physical Disk SCSI Device"]
    assert [table[f"Failed {what}/sec"][1] for what in ("Commands", "Reads", "Writes")] == pytest.approx([40, 25, 15])
    assert table["Failed Bytes Read/sec"][1] == pytest.approx(25 * 8192)
    assert (table["Aborts/sec"][1], table["Resets/sec"][1]) == (1.5, 0.5)


def test_a_consolidation_is_the_kernels_own_reading_and_writing() -> None:
    quiet = _on(device(), guest("a", "naa.1", read_iops=100.0))
    now = _on(device(), guest("a", "naa.1", read_iops=100.0, consolidate_mb_per_s=200.0))
    copied = now.flow("a", "snapshot")
    assert copied.read_mb[0] == copied.written_mb[0] == pytest.approx(200.0)
    assert now.tables["Virtual Disk"]["MBytes Read/sec"][0] == quiet.tables["Virtual Disk"]["MBytes Read/sec"][0]
    assert response(now.flow("a")) > 1.5 * response(quiet.flow("a"))


def _vsan(**fields: Any) -> Sample:
    given: dict[str, Any] = {"read_ms": 0.5, "write_ms": 0.8, "service_ms": 0.01, "mb_per_s": 2000.0}
    datastore = VsanDatastore("vsan", "vmk1", ("naa.1", "naa.2"), **(given | fields))
    switches = (Switch("s0", (Nic("vmnic0", 10_000),)), Switch("s1", (Nic("vmnic1", 10_000),), ("vmk1",)))
    devices = (device("local"), device("naa.1"), device("naa.2"))
    vm = guest("a", "vsan", read_iops=2000.0, write_iops=1000.0, read_kb=4.0, write_kb=4.0)
    return sample(host([vm], devices=devices, vsan=(datastore,), switches=switches))


def test_vsan_writes_every_copy_and_reads_once() -> None:
    now = _vsan(copies=3)
    for number in (1, 2):
        assert now.target(number).reads[0] == pytest.approx(1000.0)
        assert now.target(number).writes[0] == pytest.approx(1500.0)
    role = now.tables["VSAN/role"]
    assert role["Writes/sec"] == pytest.approx([1000.0, 1000.0, 3000.0])
    assert role["Avg Write Latency in ms"][0] > role["Avg Write Latency in ms"][2] > 0.0
    payload = (now.port("vmk1", "tx") * (now.port("vmk1", "tx_bytes") - 66.0)) / 2**20
    assert payload == pytest.approx((2000.0 + 3 * 1000.0) * 4.0 / 1024.0)
    assert now.tables["VSAN"]["Enabled?"] == 1.0


def test_vsan_congestion_holds_every_command_back() -> None:
    free, held = _vsan(), _vsan(congestion=51.0)
    assert response(held.target(3)) == pytest.approx(response(free.target(3)) + 8.0, abs=0.1)
    assert held.tables["VSAN/role"]["Congestion"].tolist() == [51.0] * 3


def _one_gbit() -> tuple[Switch, ...]:
    return (Switch("s0", (Nic("vmnic0", 1000),)), Switch("s1", (Nic("vmnic1", 1000),), ("vmk1",)))


def _sweep(disk: NfsVolume, sizes: tuple[int, ...], **load: float) -> list[tuple[float, float]]:
    """MB per second and milliseconds of sequential reads by size, over a 1 GbE link."""
    asks: dict[str, Any] = {"read_iops": 1e6, "outstanding": 2.0, "sequential": 1.0, **load}
    vms = [guest("io", "nfs", read_kb=float(size), **asks) for size in sizes]
    rows = [sample(host([vm], nfs=(disk,), switches=_one_gbit())).target(1) for vm in vms]
    return [(float(row.read_mb[0]), response(row)) for row in rows]


def test_case_study_reads_larger_than_the_read_ahead_fall_below_wire_speed() -> None:
    sizes = (32, 64, 128, 256, 512)
    array = volume(media_ms=12.0, cache_mb=2048.0, read_ahead_kb=128.0)
    lun = _sweep(array, sizes, working_set_mb=20_480.0)
    assert [mb for mb, _ in lun[:3]] == pytest.approx([112.2] * 3, rel=0.01)
    assert all(mb < 85.0 and 10.0 < ms < 20.0 for mb, ms in lun[3:])
    cached = _sweep(array, sizes, working_set_mb=100.0)
    without = _sweep(replace(array, read_ahead_kb=4096.0), sizes, working_set_mb=20_480.0)
    assert [mb for mb, _ in cached + without] == pytest.approx([112.2] * 10, rel=0.01)


@pytest.mark.parametrize("reach", ["device", "nfs"])
def test_case_study_small_misaligned_random_writes_wait_for_old_blocks(reach: str) -> None:
    server: dict[str, Any] = {"media_ms": 20.0, "cache_mb": 3072.0, "block_kb": 4.0}
    target: Device | NfsVolume = device(**server) if reach == "device" else volume("naa.1", **server)
    devices = (device("local"), target) if reach == "device" else (device("local"),)

    def writes(**load: Any) -> tuple[float, float]:
        vm = guest("io", "naa.1", write_iops=1e6, write_kb=1.0, outstanding=16.0, **({"misaligned": 1.0} | load))
        nfs = () if reach == "device" else (target,)
        row = sample(host([vm], devices=devices, nfs=nfs, switches=_one_gbit())).target(1)
        return float(row.writes[0]), response(row)

    sequential, random = writes(sequential=1.0, working_set_mb=4096.0), writes(working_set_mb=4096.0)
    assert random[0] < 0.1 * sequential[0]
    assert sequential[1] < 1.0
    assert 10.0 < random[1] < 21.0
    cached, aligned = writes(working_set_mb=100.0), writes(working_set_mb=4096.0, misaligned=0.0)
    assert cached == pytest.approx(sequential, rel=0.02)
    assert aligned == pytest.approx(sequential, rel=0.02)


def test_random_reads_hit_as_far_as_the_cache_covers_all_who_read() -> None:
    lun = device(media_ms=10.0, cache_mb=1000.0)
    one = _on(lun, guest("a", "naa.1", read_iops=100.0, working_set_mb=2000.0))
    two = _on(lun, *(guest(name, "naa.1", read_iops=100.0, working_set_mb=2000.0) for name in "ab"))
    fits = _on(lun, guest("a", "naa.1", read_iops=100.0, working_set_mb=900.0))
    assert one.flow("a").driver_read[0] == pytest.approx(0.4 + 5.0, abs=0.01)
    assert two.flow("a").driver_read[0] == pytest.approx(0.4 + 7.5, abs=0.01)
    assert fits.flow("a").driver_read[0] == pytest.approx(0.4, abs=0.01)


def test_storage_is_held_to_what_the_uplink_carries() -> None:
    vms = [guest("a", "nfs", read_iops=1e5, read_kb=64.0), guest("b", "nfs", write_iops=1e5, write_kb=64.0)]
    both = sample(host(vms, nfs=(volume(),), switches=_one_gbit())).target(1)
    assert both.read_mb[0] + both.written_mb[0] == pytest.approx(2 * 112.2, rel=0.03)
    half = replace(_one_gbit()[1], uplinks=(Nic("vmnic1", 1000, full_duplex=False),))
    slow = sample(host(vms, nfs=(volume(),), switches=(_one_gbit()[0], half))).target(1)
    assert slow.read_mb[0] + slow.written_mb[0] == pytest.approx(112.2, rel=0.03)
    down = replace(_one_gbit()[1], uplinks=(Nic("vmnic1", 1000, up=False),))
    gone = sample(host(vms, nfs=(volume(),), switches=(_one_gbit()[0], down)))
    assert gone.target(1).read_mb[0] == 0.0
    assert gone.tables["Physical Disk NFS Volume"]["Failed Commands/sec"][0] > 0.0
