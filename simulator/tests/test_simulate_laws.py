"""The laws that the numbers of the bundled capture keep: sums, shares, queues, watts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from sheet import CELL, VCPUS, mean

if TYPE_CHECKING:
    from sheet import Sheet


@pytest.fixture(scope="module")
def worlds(busy_host_sheet: Sheet) -> dict[str, dict[str, list[float]]]:
    return {
        instance: {
            counter: busy_host_sheet.column("Vcpu", instance, counter)
            for counter in busy_host_sheet.where["Vcpu", instance]
        }
        for instance in busy_host_sheet.instances("Vcpu")
    }


def test_the_times_of_each_world_add_up_to_the_sample(worlds: dict[str, dict[str, list[float]]]) -> None:
    for name, row in worlds.items():
        states = zip(row["% Run"], row["% Ready"], row["% CoStop"], row["% Wait"], strict=True)
        assert all(abs(sum(state) - 100.0) <= 4 * CELL + 1e-9 for state in states), name


def test_ready_contains_max_limited_and_wait_contains_idle_and_swap_wait(
    worlds: dict[str, dict[str, list[float]]],
) -> None:
    for name, row in worlds.items():
        for n in range(121):
            assert row["% Ready"][n] >= row["% Max Limited"][n] - 2 * CELL, name
            assert row["% Wait"][n] >= row["% Idle"][n] + row["% Swap Wait"][n] - 3 * CELL, name
            assert abs(row["% Wait"][n] - row["% Idle"][n] - row["% VmWait"][n]) <= 3 * CELL + 1e-9, name


def test_a_group_is_the_sum_of_its_worlds(busy_host_sheet: Sheet, worlds: dict[str, dict[str, list[float]]]) -> None:
    added = ("% Used", "% Run", "% System", "% Wait", "% Ready", "% Idle", "% Overlap", "% CoStop", "% Max Limited")
    for group in busy_host_sheet.instances("Group Cpu"):
        members = [row for name, row in worlds.items() if name.startswith(f"{group}:")]
        assert busy_host_sheet.column("Group Cpu", group, "Members") == [float(len(members))] * 121
        for counter in (*added, "% Swap Wait", "Switches/sec", "Wakeups/sec", "% CPU Latency"):
            total = [sum(values) for values in zip(*(row[counter] for row in members), strict=True)]
            printed = busy_host_sheet.column("Group Cpu", group, counter)
            slack = (len(members) + 1) * CELL + 1e-6
            assert all(abs(a - b) <= slack for a, b in zip(total, printed, strict=True)), (group, counter)


def test_used_and_run_of_all_worlds_are_those_of_all_pcpus(
    busy_host_sheet: Sheet, worlds: dict[str, dict[str, list[float]]]
) -> None:
    """Run is util. Used differs by hyper-threads: beside a busy sibling a world is charged 62.5 %, a PCPU half."""
    busy = [row for name, row in worlds.items() if not re.search(r":idle\d+$", name)]
    run, used = (
        [sum(values) for values in zip(*(row[counter] for row in busy), strict=True)] for counter in ("% Run", "% Used")
    )
    util = busy_host_sheet.column("Physical Cpu", "_Total", "% Util Time")
    assert all(abs(a - 16 * b) <= (len(busy) + 16) * CELL for a, b in zip(run, util, strict=True))
    charged = [0.0] * len(used)
    for n in range(16):
        time, sibling, core, pcpu = (
            busy_host_sheet.column("Physical Cpu", str(place), counter)
            for place, counter in (
                (n, "% Util Time"),
                (n ^ 1, "% Util Time"),
                (n, "% Core Util Time"),
                (n, "% Processor Time"),
            )
        )
        for sample, (one, other, either, half) in enumerate(zip(time, sibling, core, pcpu, strict=True)):
            both = one + other - either
            charged[sample] += half * (one - 0.375 * both) / (one - 0.5 * both)
    assert all(abs(a - b) <= (len(busy) + 5 * 16) * CELL for a, b in zip(used, charged, strict=True))
    half_each = busy_host_sheet.column("Physical Cpu", "_Total", "% Processor Time")
    assert all(1.02 * 16 * b < a <= 1.25 * 16 * b for a, b in zip(used, half_each, strict=True))


def test_totals_of_pcpus_are_their_means_and_siblings_share_a_core(busy_host_sheet: Sheet) -> None:
    for counter in ("% Processor Time", "% Util Time", "% Core Util Time"):
        rows = [busy_host_sheet.column("Physical Cpu", f"{n}", counter) for n in range(16)]
        for total, values in zip(
            busy_host_sheet.column("Physical Cpu", "_Total", counter), zip(*rows, strict=True), strict=True
        ):
            assert abs(total - sum(values) / 16) <= 2 * CELL
    for n in range(0, 16, 2):
        core = busy_host_sheet.column("Physical Cpu", f"{n}", "% Core Util Time")
        assert core == busy_host_sheet.column("Physical Cpu", f"{n + 1}", "% Core Util Time")
        threads = zip(*(busy_host_sheet.column("Physical Cpu", f"{n + k}", "% Util Time") for k in (0, 1)), strict=True)
        assert all(
            max(pair) - 2 * CELL <= value <= sum(pair) + 2 * CELL for pair, value in zip(threads, core, strict=True)
        )


@pytest.mark.parametrize("name", ["Adapter", "SCSI Device", "Path", "Per-Device-Per-World", "Partition"])
def test_guest_latency_is_driver_plus_kernel_and_queue_is_part_of_kernel(busy_host_sheet: Sheet, name: str) -> None:
    for instance in busy_host_sheet.instances(f"Physical Disk {name}"):
        for per in ("Command", "Read", "Write"):
            driver, kernel, guest, queue = (
                busy_host_sheet.column(f"Physical Disk {name}", instance, f"Average {part} MilliSec/{per}")
                for part in ("Driver", "Kernel", "Guest", "Queue")
            )
            for d, k, g, q in zip(driver, kernel, guest, queue, strict=True):
                assert abs(g - d - k) <= 3 * CELL + 1e-9
                assert q <= k + 2 * CELL


def test_queues_hold_what_littles_law_says(busy_host_sheet: Sheet) -> None:
    for device in busy_host_sheet.instances("Physical Disk SCSI Device"):
        columns = (
            busy_host_sheet.column("Physical Disk SCSI Device", device, counter)
            for counter in (
                "Commands/sec",
                "Average Driver MilliSec/Command",
                "Average Queue MilliSec/Command",
                "Active Commands",
                "Queued Commands",
                "Device Q Depth",
            )
        )
        # The first sample has no rates.
        for rate, driver, queue, active, queued, depth in list(zip(*columns, strict=True))[1:]:
            assert abs(active - rate * driver / 1000) <= 0.5 + rate * CELL / 1000 + 1e-3
            assert abs(queued - rate * queue / 1000) <= 0.5 + rate * CELL / 1000 + 1e-3
            assert active <= depth
            assert queued == 0 or active == depth


def test_adapters_paths_and_worlds_add_up_to_devices(busy_host_sheet: Sheet) -> None:
    def total(name: str, counter: str, start: str = "") -> list[float]:
        rows = [
            busy_host_sheet.column(name, instance, counter)
            for instance in busy_host_sheet.instances(name)
            if instance.startswith(start)
        ]
        return [sum(values) for values in zip(*rows, strict=True)]

    for counter in ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec"):
        devices = total("Physical Disk SCSI Device", counter)
        for other in ("Physical Disk Adapter", "Physical Disk Path"):
            assert total(other, counter) == pytest.approx(devices, abs=10 * CELL)
        for device in busy_host_sheet.instances("Physical Disk SCSI Device"):
            by_world = total("Physical Disk Per-Device-Per-World", counter, f"{device}-")
            own = busy_host_sheet.column("Physical Disk SCSI Device", device, counter)
            assert by_world == pytest.approx(own, abs=10 * CELL)


def test_a_vm_row_of_virtual_disks_is_the_sum_of_its_disks(busy_host_sheet: Sheet) -> None:
    for vm in VCPUS:
        disks = [name for name in busy_host_sheet.instances("Virtual Disk") if name.startswith(f"{vm}:scsi")]
        assert disks
        for counter in ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec"):
            rows = (busy_host_sheet.column("Virtual Disk", disk, counter) for disk in disks)
            total = [sum(values) for values in zip(*rows, strict=True)]
            assert busy_host_sheet.column("Virtual Disk", vm, counter) == pytest.approx(
                total, abs=(len(disks) + 1) * CELL
            )


def test_an_uplink_carries_its_ports_and_stays_below_its_speed(busy_host_sheet: Sheet) -> None:
    ports = [
        name
        for name in busy_host_sheet.instances("Network Port")
        if re.search(r":vmk\d$", name) or name.count(":") == 3
    ]
    uplinks = [name for name in busy_host_sheet.instances("Network Port") if re.search(r":vmnic\d$", name)]
    for counter in ("Packets Transmitted/sec", "MBits Transmitted/sec"):
        below = [
            sum(values)
            for values in zip(*(busy_host_sheet.column("Network Port", p, counter) for p in ports), strict=True)
        ]
        above = [
            sum(values)
            for values in zip(*(busy_host_sheet.column("Network Port", u, counter) for u in uplinks), strict=True)
        ]
        assert above == pytest.approx(below, abs=20 * CELL)
    for uplink in uplinks:
        speed = busy_host_sheet.column("Network Port", uplink, "Link Speed (Mb/s)")
        assert all(
            a < b
            for a, b in zip(busy_host_sheet.column("Network Port", uplink, "MBits Received/sec"), speed, strict=True)
        )


def test_power_states_of_each_pcpu_add_up_and_c0_is_the_time_it_ran(busy_host_sheet: Sheet) -> None:
    for n in range(16):
        states = busy_host_sheet.where["PCPU Power State", f"PCPU {n}"]
        for letter in "CPT":
            rows = [
                busy_host_sheet.column("PCPU Power State", f"PCPU {n}", name) for name in states if name[1] == letter
            ]
            assert all(abs(sum(values) - 100.0) <= (len(rows) + 1) * CELL for values in zip(*rows, strict=True))
        c0 = busy_host_sheet.column("PCPU Power State", f"PCPU {n}", "%C-State C0")
        assert c0 == busy_host_sheet.column("Physical Cpu", f"{n}", "% Util Time")


def test_watts_rise_with_utilisation(busy_host_sheet: Sheet) -> None:
    watts = busy_host_sheet.column("Power", None, "Power Usage Now Watts")
    used = busy_host_sheet.column("Physical Cpu", "_Total", "% Processor Time")
    ranked = [watt for _, watt in sorted(zip(used, watts, strict=True))]
    assert mean(ranked[:30]) < mean(ranked[45:75]) < mean(ranked[-30:])
    assert max(watts) < busy_host_sheet.column("Power", None, "Power Usage Cap Watts")[0]


def test_host_memory_adds_up(busy_host_sheet: Sheet) -> None:
    parts = [
        busy_host_sheet.column("Memory", None, name) for name in ("Kernel MBytes", "NonKernel MBytes", "Free MBytes")
    ]
    machine = busy_host_sheet.column("Memory", None, "Machine MBytes")
    assert all(abs(sum(values) - total) <= 2 for values, total in zip(zip(*parts, strict=True), machine, strict=True))
    nodes = [busy_host_sheet.column("Numa Node", f"{n}", "Free MBytes") for n in (0, 1)]
    assert [sum(values) for values in zip(*nodes, strict=True)] == pytest.approx(parts[2], abs=2)


def test_interrupts_of_a_vector_are_those_of_its_pcpus(busy_host_sheet: Sheet) -> None:
    for cookie in (name for name in busy_host_sheet.instances("Interrupt Cookie") if ":" not in name):
        rows = (busy_host_sheet.column("Interrupt Cookie", f"{cookie}:CPU{n}", "Interrupts/second") for n in range(16))
        total = [sum(values) for values in zip(*rows, strict=True)]
        assert busy_host_sheet.column("Interrupt Cookie", cookie, "Interrupts/second") == pytest.approx(
            total, abs=17 * CELL
        )
