"""The simulated capture: its bytes, its grammar, and the laws its numbers keep, read back with nothing but `csv`."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse import simulate
from esxparse.errors import EsxparseError
from esxparse.simulate.__main__ import main
from esxparse.simulate.host import Device, Phase
from esxparse.simulate.schedule import Want, run_node
from esxparse.simulate.storage import Flow, serve, together

BUNDLED = Path(__file__).parents[1] / "datasets" / "busy-host" / "busy-host.csv"
CELL = 0.005  # the most that two decimals can be off
LUN = "naa.60000970000120070001533030334101"
VCPUS = {
    "ledger-db": 4,
    "orders-app": 4,
    "analytics-8way": 8,
    "report-batch": 2,
    "files-02": 2,
    "backup-proxy": 2,
    "web 01 (blue) v2.1": 2,
    "print-old": 1,
}


class Sheet:
    """A capture as `csv.reader` sees it: rows of floats by (object, instance) and counter."""

    def __init__(self, text: str) -> None:
        header, *rows = list(csv.reader(io.StringIO(text)))
        self.header, self.rows = header, rows
        self.where: dict[tuple[str, str | None], dict[str, int]] = defaultdict(dict)
        for number, cell in enumerate(header[1:], 1):
            if not cell:
                continue
            _, _, _, path, counter = cell.split("\\")
            name, bracket, instance = path.partition("(")
            self.where[name, instance[:-1] if bracket else None][counter] = number

    def column(self, name: str, instance: str | None, counter: str) -> list[float]:
        number = self.where[name, instance][counter]
        return [float(row[number]) for row in self.rows]

    def instances(self, name: str) -> list[str]:
        return [instance for kind, instance in self.where if kind == name and instance is not None]

    def group(self, vm: str) -> str:
        return next(instance for instance in self.instances("Group Cpu") if instance.endswith(f":{vm}"))

    def per_vcpu(self, vm: str, counter: str) -> list[float]:
        return [value / VCPUS[vm] for value in self.column("Group Cpu", self.group(vm), counter)]


def written(scenario: simulate.Scenario, samples: int, **options: object) -> str:
    capture = simulate.capture(scenario, samples=samples)
    return b"".join(simulate.esxtop_lines(capture, **options)).decode()  # type: ignore[arg-type]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.fixture(scope="module")
def bundled() -> Sheet:
    return Sheet(BUNDLED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def short() -> simulate.Scenario:
    return simulate.busy_host()


# bytes


def test_the_bundled_capture_is_what_the_command_writes(tmp_path: Path) -> None:
    assert main(["busy-host", "-o", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["busy-host.csv"]
    assert (tmp_path / "busy-host.csv").read_bytes() == BUNDLED.read_bytes()


def test_the_bundled_capture_is_small_enough_to_travel() -> None:
    assert BUNDLED.stat().st_size < 5_000_000


def test_going_through_a_capture_twice_gives_the_same(short: simulate.Scenario) -> None:
    capture = simulate.capture(short, samples=3)
    assert list(simulate.esxtop_lines(capture)) == list(simulate.esxtop_lines(capture))


def test_another_seed_gives_other_numbers_under_the_same_header(short: simulate.Scenario) -> None:
    one, other = (list(simulate.esxtop_lines(simulate.capture(short, samples=2, seed=seed))) for seed in (1, 2))
    assert one[0] == other[0]
    assert one[1:] != other[1:]


def test_the_noise_of_a_vm_does_not_depend_on_its_neighbours(short: simulate.Scenario) -> None:
    alone = replace(short, vms=tuple(vm for vm in short.vms if vm.name != "print-old"))
    both = [Sheet(written(scenario, 4)) for scenario in (short, alone)]
    used = [sheet.column("Network Port", _port(sheet, "ledger-db"), "Packets Received/sec") for sheet in both]
    assert used[0] == used[1]


def _port(sheet: Sheet, vm: str) -> str:
    return next(instance for instance in sheet.instances("Network Port") if instance.endswith(f":{vm}"))


def test_a_handle_and_a_path_get_the_same_bytes(short: simulate.Scenario, tmp_path: Path) -> None:
    capture, handle = simulate.capture(short, samples=2), io.BytesIO()
    size = simulate.write_esxtop(handle, capture)
    assert simulate.write_esxtop(tmp_path / "c.csv", capture) == size == len(handle.getvalue())
    assert (tmp_path / "c.csv").read_bytes() == handle.getvalue()


# grammar


def test_every_line_is_quoted_cells_and_line_feeds() -> None:
    lines = BUNDLED.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == 122
    assert all(re.fullmatch(rb'"[^"]*"(,"[^"]*")*', line) for line in lines)
    assert lines[0].startswith(b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx-07.lab.example\\Memory\\Memory Overcommit (1 Minute')
    assert len({line.count(b'","') for line in lines}) == 1


def test_times_step_by_the_interval(bundled: Sheet) -> None:
    times = [row[0] for row in bundled.rows]
    assert times[:2] == ["03/11/2026 09:00:00", "03/11/2026 09:00:05"]
    assert times[-1] == "03/11/2026 09:10:00"
    assert len(set(times)) == 121


def test_cells_are_whole_numbers_or_two_decimals_and_a_column_keeps_to_one(bundled: Sheet) -> None:
    kinds = []
    for column in zip(*(row[1:] for row in bundled.rows), strict=True):
        whole = all(re.fullmatch(r"\d+|-1|-3", cell) for cell in column)
        kinds.append(whole or all(re.fullmatch(r"\d+\.\d\d", cell) for cell in column))
    assert all(kinds)


def test_objects_come_in_the_order_of_a_real_capture(bundled: Sheet) -> None:
    objects = [cell.split("\\")[3].partition("(")[0] for cell in bundled.header[1:]]
    runs = [name for name, _ in groupby(objects)]
    assert runs[:7] == ["Memory", "Physical Cpu Load", "Physical Cpu", "Memory", "Numa Node", "Power", "VSAN"]
    assert runs[-4:] == ["Virtual Disk", "Network Port", "Interrupt Cookie", "PCPU Power State"]
    assert runs[7:36] == ["Group Cpu", "Vcpu"] * 14 + ["Group Memory"]
    assert len(set(bundled.header)) == len(bundled.header)


def test_each_group_is_followed_by_its_own_worlds(bundled: Sheet) -> None:
    current = ""
    for cell in bundled.header[1:]:
        name, _, instance = cell.split("\\")[3].partition("(")
        if name == "Group Cpu":
            current = instance[:-1]
        elif name == "Vcpu":
            assert instance.startswith(f"{current}:")


def test_only_vms_have_vm_wait_in_their_group(bundled: Sheet) -> None:
    having = {
        instance for instance in bundled.instances("Group Cpu") if "% VmWait" in bundled.where["Group Cpu", instance]
    }
    assert having == {bundled.group(vm) for vm in VCPUS}


def test_every_view_is_there(bundled: Sheet) -> None:
    rows = Counter(name for name, _ in bundled.where)
    assert rows["Interrupt Cookie"] == 9 * (1 + 16)
    assert rows["PCPU Power State"] == 16
    assert rows["Numa Node"] == 2
    assert rows["Physical Disk NFS Volume"] == 1
    assert {"vSwitch0:33554435:Shadow of vmnic0", "vSwitch0:33554438:vmk0"} <= set(bundled.instances("Network Port"))
    assert any(re.fullmatch(r"\d+:hostd\.\d+", instance) for instance in bundled.instances("Group Cpu"))


def test_6_5_breaks_its_aperf_cells_as_the_real_one_does(short: simulate.Scenario) -> None:
    header, row = written(short, 1, release="6.5").splitlines()
    assert header.count('",   -"\\\\') == 15
    assert header.endswith('",   -')
    assert "aperf" not in header
    assert len(re.findall(r'",   [ \d]\d\d\.\d"', row)) == 15
    assert re.search(r'",   [ \d]\d\d\.\d$', row)
    assert len(re.findall(r'"[^"]*"', header)) == len(re.findall(r'"[^"]*"', row))
    assert ":65537:idle1" in header


def test_6_7_has_an_ordinary_aperf_column_and_its_own_world_ids(bundled: Sheet) -> None:
    assert len(bundled.column("PCPU Power State", "PCPU 15", "% of aperf/mperf")) == 121
    assert "1:system:2097153:idle1" in bundled.instances("Vcpu")


def test_default_fields_are_fewer_and_end_in_a_comma(short: simulate.Scenario) -> None:
    text = written(short, 2, all_counters=False)
    assert all(line.endswith('",') for line in text.splitlines())
    sheet = Sheet(text)
    assert sheet.header[-1] == ""
    assert all(len(row) == len(sheet.header) and row[-1] == "" for row in sheet.rows)
    objects = {name for name, _ in sheet.where}
    assert objects.isdisjoint({"Power", "VSAN", "PCPU Power State"})
    assert "% CPU Latency" not in sheet.where["Group Cpu", sheet.group("ledger-db")]
    full = Sheet(written(short, 2))
    everywhere = {key: set(counters) for key, counters in full.where.items()}
    assert all(set(counters) <= everywhere[key] for key, counters in sheet.where.items())


# laws


@pytest.fixture(scope="module")
def worlds(bundled: Sheet) -> dict[str, dict[str, list[float]]]:
    return {
        instance: {counter: bundled.column("Vcpu", instance, counter) for counter in bundled.where["Vcpu", instance]}
        for instance in bundled.instances("Vcpu")
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


def test_a_group_is_the_sum_of_its_worlds(bundled: Sheet, worlds: dict[str, dict[str, list[float]]]) -> None:
    added = ("% Used", "% Run", "% System", "% Wait", "% Ready", "% Idle", "% Overlap", "% CoStop", "% Max Limited")
    for group in bundled.instances("Group Cpu"):
        members = [row for name, row in worlds.items() if name.startswith(f"{group}:")]
        assert bundled.column("Group Cpu", group, "Members") == [float(len(members))] * 121
        for counter in (*added, "% Swap Wait", "Switches/sec", "Wakeups/sec", "% CPU Latency"):
            total = [sum(values) for values in zip(*(row[counter] for row in members), strict=True)]
            printed = bundled.column("Group Cpu", group, counter)
            slack = (len(members) + 1) * CELL + 1e-6
            assert all(abs(a - b) <= slack for a, b in zip(total, printed, strict=True)), (group, counter)


def test_used_and_run_of_all_worlds_are_those_of_all_pcpus(
    bundled: Sheet, worlds: dict[str, dict[str, list[float]]]
) -> None:
    busy = [row for name, row in worlds.items() if not re.search(r":idle\d+$", name)]
    for world_counter, pcpu_counter in (("% Used", "% Processor Time"), ("% Run", "% Util Time")):
        by_world = [sum(values) for values in zip(*(row[world_counter] for row in busy), strict=True)]
        by_pcpu = bundled.column("Physical Cpu", "_Total", pcpu_counter)
        assert all(abs(a - 16 * b) <= (len(busy) + 16) * CELL for a, b in zip(by_world, by_pcpu, strict=True))


def test_totals_of_pcpus_are_their_means_and_siblings_share_a_core(bundled: Sheet) -> None:
    for counter in ("% Processor Time", "% Util Time", "% Core Util Time"):
        rows = [bundled.column("Physical Cpu", f"{n}", counter) for n in range(16)]
        for total, values in zip(
            bundled.column("Physical Cpu", "_Total", counter), zip(*rows, strict=True), strict=True
        ):
            assert abs(total - sum(values) / 16) <= 2 * CELL
    for n in range(0, 16, 2):
        core = bundled.column("Physical Cpu", f"{n}", "% Core Util Time")
        assert core == bundled.column("Physical Cpu", f"{n + 1}", "% Core Util Time")
        threads = zip(*(bundled.column("Physical Cpu", f"{n + k}", "% Util Time") for k in (0, 1)), strict=True)
        assert all(
            max(pair) - 2 * CELL <= value <= sum(pair) + 2 * CELL for pair, value in zip(threads, core, strict=True)
        )


@pytest.mark.parametrize("name", ["Adapter", "SCSI Device", "Path", "Per-Device-Per-World", "Partition"])
def test_guest_latency_is_driver_plus_kernel_and_queue_is_part_of_kernel(bundled: Sheet, name: str) -> None:
    for instance in bundled.instances(f"Physical Disk {name}"):
        for per in ("Command", "Read", "Write"):
            driver, kernel, guest, queue = (
                bundled.column(f"Physical Disk {name}", instance, f"Average {part} MilliSec/{per}")
                for part in ("Driver", "Kernel", "Guest", "Queue")
            )
            for d, k, g, q in zip(driver, kernel, guest, queue, strict=True):
                assert abs(g - d - k) <= 3 * CELL + 1e-9
                assert q <= k + 2 * CELL


def test_queues_hold_what_littles_law_says(bundled: Sheet) -> None:
    for device in bundled.instances("Physical Disk SCSI Device"):
        columns = (
            bundled.column("Physical Disk SCSI Device", device, counter)
            for counter in (
                "Commands/sec",
                "Average Driver MilliSec/Command",
                "Average Queue MilliSec/Command",
                "Active Commands",
                "Queued Commands",
                "Device Q Depth",
            )
        )
        for rate, driver, queue, active, queued, depth in zip(*columns, strict=True):
            assert abs(active - rate * driver / 1000) <= 0.5 + rate * CELL / 1000 + 1e-3
            assert abs(queued - rate * queue / 1000) <= 0.5 + rate * CELL / 1000 + 1e-3
            assert active <= depth
            assert queued == 0 or active == depth


def test_adapters_paths_and_worlds_add_up_to_devices(bundled: Sheet) -> None:
    def total(name: str, counter: str, start: str = "") -> list[float]:
        rows = [
            bundled.column(name, instance, counter)
            for instance in bundled.instances(name)
            if instance.startswith(start)
        ]
        return [sum(values) for values in zip(*rows, strict=True)]

    for counter in ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec"):
        devices = total("Physical Disk SCSI Device", counter)
        for other in ("Physical Disk Adapter", "Physical Disk Path"):
            assert total(other, counter) == pytest.approx(devices, abs=10 * CELL)
        for device in bundled.instances("Physical Disk SCSI Device"):
            by_world = total("Physical Disk Per-Device-Per-World", counter, f"{device}-")
            own = bundled.column("Physical Disk SCSI Device", device, counter)
            assert by_world == pytest.approx(own, abs=10 * CELL)


def test_a_vm_row_of_virtual_disks_is_the_sum_of_its_disks(bundled: Sheet) -> None:
    for vm in VCPUS:
        disks = [name for name in bundled.instances("Virtual Disk") if name.startswith(f"{vm}:scsi")]
        assert disks
        for counter in ("Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec"):
            rows = (bundled.column("Virtual Disk", disk, counter) for disk in disks)
            total = [sum(values) for values in zip(*rows, strict=True)]
            assert bundled.column("Virtual Disk", vm, counter) == pytest.approx(total, abs=(len(disks) + 1) * CELL)


def test_an_uplink_carries_its_ports_and_stays_below_its_speed(bundled: Sheet) -> None:
    ports = [name for name in bundled.instances("Network Port") if re.search(r":vmk\d$", name) or name.count(":") == 3]
    uplinks = [name for name in bundled.instances("Network Port") if re.search(r":vmnic\d$", name)]
    for counter in ("Packets Transmitted/sec", "MBits Transmitted/sec"):
        below = [
            sum(values) for values in zip(*(bundled.column("Network Port", p, counter) for p in ports), strict=True)
        ]
        above = [
            sum(values) for values in zip(*(bundled.column("Network Port", u, counter) for u in uplinks), strict=True)
        ]
        assert above == pytest.approx(below, abs=20 * CELL)
    for uplink in uplinks:
        speed = bundled.column("Network Port", uplink, "Link Speed (Mb/s)")
        assert all(
            a < b for a, b in zip(bundled.column("Network Port", uplink, "MBits Received/sec"), speed, strict=True)
        )


def test_power_states_of_each_pcpu_add_up_and_c0_is_the_time_it_ran(bundled: Sheet) -> None:
    for n in range(16):
        states = bundled.where["PCPU Power State", f"PCPU {n}"]
        for letter in "CPT":
            rows = [bundled.column("PCPU Power State", f"PCPU {n}", name) for name in states if name[1] == letter]
            assert all(abs(sum(values) - 100.0) <= (len(rows) + 1) * CELL for values in zip(*rows, strict=True))
        c0 = bundled.column("PCPU Power State", f"PCPU {n}", "%C-State C0")
        assert c0 == bundled.column("Physical Cpu", f"{n}", "% Util Time")


def test_watts_rise_with_utilisation(bundled: Sheet) -> None:
    watts = bundled.column("Power", None, "Power Usage Now Watts")
    used = bundled.column("Physical Cpu", "_Total", "% Processor Time")
    ranked = [watt for _, watt in sorted(zip(used, watts, strict=True))]
    assert mean(ranked[:30]) < mean(ranked[45:75]) < mean(ranked[-30:])
    assert max(watts) < bundled.column("Power", None, "Power Usage Cap Watts")[0]


def test_host_memory_adds_up(bundled: Sheet) -> None:
    parts = [bundled.column("Memory", None, name) for name in ("Kernel MBytes", "NonKernel MBytes", "Free MBytes")]
    machine = bundled.column("Memory", None, "Machine MBytes")
    assert all(abs(sum(values) - total) <= 2 for values, total in zip(zip(*parts, strict=True), machine, strict=True))
    nodes = [bundled.column("Numa Node", f"{n}", "Free MBytes") for n in (0, 1)]
    assert [sum(values) for values in zip(*nodes, strict=True)] == pytest.approx(parts[2], abs=2)


def test_interrupts_of_a_vector_are_those_of_its_pcpus(bundled: Sheet) -> None:
    for cookie in (name for name in bundled.instances("Interrupt Cookie") if ":" not in name):
        rows = (bundled.column("Interrupt Cookie", f"{cookie}:CPU{n}", "Interrupts/second") for n in range(16))
        total = [sum(values) for values in zip(*rows, strict=True)]
        assert bundled.column("Interrupt Cookie", cookie, "Interrupts/second") == pytest.approx(total, abs=17 * CELL)


# the truths the README tells (sample n is second 5 n)


def test_orders_app_is_ready_in_its_burst_and_only_there(bundled: Sheet) -> None:
    ready = bundled.per_vcpu("orders-app", "% Ready")
    assert 15.0 < mean(ready[24:43]) < 20.0
    assert min(ready[24:43]) > 10.0
    assert max(ready[:24] + ready[43:]) < 5.0
    assert max(bundled.per_vcpu("orders-app", "% Max Limited")) == 0.0


def test_analytics_is_costopped_all_along(bundled: Sheet) -> None:
    costop = bundled.per_vcpu("analytics-8way", "% CoStop")
    assert mean(costop[:24] + costop[43:]) > 3.0
    assert mean(costop[24:43]) > 10.0
    assert max(bundled.per_vcpu("analytics-8way", "% Ready")) < 6.0


def test_report_batch_is_held_by_its_limit_alone(bundled: Sheet) -> None:
    ready, limited = (bundled.per_vcpu("report-batch", counter) for counter in ("% Ready", "% Max Limited"))
    assert mean(limited) > 25.0
    assert max(r - m for r, m in zip(ready, limited, strict=True)) < 1.0
    vcpus = [name for name in bundled.instances("Vcpu") if re.search(r":vmx-vcpu-\d:report-batch$", name)]
    used = mean(
        [sum(values) for values in zip(*(bundled.column("Vcpu", name, "% Used") for name in vcpus), strict=True)]
    )
    assert used == pytest.approx(100 * 2000 / 2600, rel=0.02)


def test_files_is_ballooned_and_swapped_while_the_host_has_memory(bundled: Sheet) -> None:
    group = bundled.group("files-02")
    balloon, swapped = (bundled.column("Group Memory", group, name) for name in ("Memctl MBytes", "Swapped MBytes"))
    assert balloon[11] == swapped[11] == 0.0
    assert balloon[-1] > 600.0
    assert 400.0 < max(swapped) < 600.0
    assert bundled.column("Group Memory", group, "Alloc Max")[0] == 10240.0
    assert max(bundled.per_vcpu("files-02", "% Swap Wait")) > 10.0
    assert min(bundled.column("Memory", None, "Free MBytes")) > 25_000
    others = [name for name in bundled.instances("Group Memory") if name != group]
    assert all(max(bundled.column("Group Memory", name, "Memctl MBytes")) == 0.0 for name in others)


def test_the_backup_slows_the_array_then_fills_the_queue(bundled: Sheet) -> None:
    driver, kernel = (
        bundled.column("Physical Disk SCSI Device", LUN, f"Average {part} MilliSec/Command")
        for part in ("Driver", "Kernel")
    )
    queued = bundled.column("Physical Disk SCSI Device", LUN, "Queued Commands")
    assert max(driver[:60] + driver[108:]) < 1.5
    assert min(driver[60:108]) > 15.0
    assert min(kernel[84:96]) > 5.0
    assert min(queued[84:96]) > 10.0
    assert max(kernel[:84] + kernel[96:]) < 0.1
    ledger = bundled.column("Virtual Disk", "ledger-db", "Commands/sec")
    assert mean(ledger[84:96]) < mean(ledger[:60]) / 2
    assert max(bundled.column("Virtual Disk", "backup-proxy", "Commands/sec")[:60]) == 0.0


def test_web_drops_what_its_ring_cannot_take(bundled: Sheet) -> None:
    dropped = bundled.column("Network Port", _port(bundled, "web 01 (blue) v2.1"), "% Received Packets Dropped")
    assert 2.0 < mean(dropped[48:60]) < 6.0
    assert max(dropped[:48] + dropped[60:]) == 0.0
    for name in bundled.instances("Network Port"):
        if name != _port(bundled, "web 01 (blue) v2.1"):
            assert max(bundled.column("Network Port", name, "% Received Packets Dropped")) == 0.0


# parts of the model


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


# what is refused


def test_an_unknown_release_is_refused_before_anything_is_written(short: simulate.Scenario, tmp_path: Path) -> None:
    with pytest.raises(EsxparseError, match=r"no esxtop grammar for release '9\.9'.*6\.5, 6\.7"):
        simulate.write_esxtop(tmp_path / "c.csv", simulate.capture(short, samples=1), release="9.9")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_one_clear_line(short: simulate.Scenario, tmp_path: Path) -> None:
    with pytest.raises(EsxparseError, match=r"cannot write .*Check that the folder is there"):
        simulate.write_esxtop(tmp_path / "no" / "c.csv", simulate.capture(short, samples=1))


def test_a_capture_that_fails_half_way_leaves_nothing_behind(short: simulate.Scenario, tmp_path: Path) -> None:
    odd = replace(short, vms=(replace(short.vms[0], phases=(Phase(5.0, 10.0, {"no_such_load": 1.0}),)),))
    with pytest.raises(TypeError):
        simulate.write_esxtop(tmp_path / "c.csv", simulate.capture(odd, samples=3))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 1\nbogus = 2", "unknown key bogus"),
        ("name = 'x'", "scenario: title is missing"),
        ("name = ", "is not TOML"),
    ],
)
def test_a_scenario_that_makes_no_sense_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(simulate.ScenarioError, match=message):
        simulate.load_scenario(tmp_path / "s.toml")


def test_an_unknown_scenario_names_those_there_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["quiet-host", "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("no scenario quiet-host. There are: busy-host")
    assert not (tmp_path / "out").exists()


def test_a_vm_on_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    source = Path(simulate.__file__).parent / "scenarios" / "busy-host.toml"
    text = source.read_text(encoding="utf-8").replace('target = "backup-nfs"', 'target = "gone"')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(simulate.ScenarioError, match=r"vm backup-proxy stands on something.*gone"):
        simulate.load_scenario(tmp_path / "s.toml")
