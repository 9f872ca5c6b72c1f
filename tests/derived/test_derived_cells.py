"""Derived tables of captures written cell by cell: counters that only some captures have, and limits."""

from __future__ import annotations

import cells
import polars as pl
import pytest

import esxparse as ex
from esxparse.derived.tables import clock


def of(frame, instance, column):
    return frame.filter(pl.col("instance") == instance)[column].to_list()


def test_commands_of_disks_that_count_reads_and_writes_alone_are_their_sum(tmp_path):
    """Part of a capture: latencies by direction weigh as many commands as they had."""
    full = {"reads": [60, 0, 30], "writes": [20, 10, 0], "gavg_read": [5, 0, 2], "gavg_write": [9, 4, 0]}
    columns = cells.disk("naa.6", **full) | cells.disk("naa.7", reads=[7, 8, 9], gavg_read=[3, 4, 5])
    rows = ex.open(cells.capture(tmp_path, columns))["device"].collect()
    # The first sample of a disk has no rates.
    assert of(rows, "naa.6", "iops")[1:] == of(rows, "naa.6", "good_iops")[1:] == [10, 30]
    assert of(rows, "naa.6", "gavg_ms")[1:] == [4, 2]
    assert of(rows, "naa.7", "iops")[1:] == [8, 9]
    assert of(rows, "naa.7", "gavg_ms")[1:] == [4, 5]
    full = {"reads": [1, 60, 30], "writes": [1, 20, 10], "gavg_read": [1, 5, 2], "gavg_write": [1, 9, 4]}
    rows = ex.open(cells.capture(tmp_path, cells.disk("naa.8", **full), "both.csv"))["device"].collect()
    assert of(rows, "naa.8", "iops")[1:] == [80, 40]
    assert of(rows, "naa.8", "gavg_ms")[1:] == [(60 * 5 + 20 * 9) / 80, (30 * 2 + 10 * 4) / 40]


def test_a_missing_counter_is_the_reason_before_a_missing_table(tmp_path):
    """Devices come of their own table or of adapters: the table that is there says what it lacks."""
    rec = ex.open(cells.capture(tmp_path, cells.disk("naa.6", reads=[1, 2, 3], writes=[1, 2, 3])))
    told = dict(rec.missing("device").select("column", "reason").iter_rows())
    assert told["depth"].startswith("no counter")
    assert not any(reason.startswith("no table physical_disk_adapter") for reason in told.values())


@pytest.mark.parametrize(("c0", "share"), [(97.0, 50.0), (98.0, None), (99.0, None)])
def test_a_host_that_hardly_idles_does_not_tell_how_deeply_it_sleeps(tmp_path, c0, share):
    asleep = (100 - c0) / 2
    states = {"%C-State C0": c0, "%C-State C1": asleep, "%C-State C2": asleep}
    columns = {
        ("PCPU Power State", f"PCPU {pcpu}", name): [value] * 3 for pcpu in "01" for name, value in states.items()
    }
    rows = ex.open(cells.capture(tmp_path, columns))["host"].collect()
    assert rows["deep_share_pct"].to_list() == [share and pytest.approx(share)] * 3


def test_a_devices_traffic_is_divided_among_vms(tmp_path):
    """Worlds of two VMs and one of the VMkernel, no user. From one command before its end on, a queue is full."""
    names = {
        "iops": "Commands/sec",
        "read": "MBytes Read/sec",
        "written": "MBytes Written/sec",
        "active": "Active Commands",
        "queued": "Queued Commands",
        "depth": "World Q Depth",
    }
    worlds = {
        70: {"iops": 300, "read": 30, "written": 10, "active": 31, "queued": 4, "depth": 32},
        90: {"iops": 100, "read": 5, "written": 15, "active": 30, "queued": 2, "depth": 32},
        91: {"iops": 1, "read": 0, "written": 0, "active": 32, "queued": 0, "depth": 32},
        5: {"iops": 900, "read": 90, "written": 90, "active": 32, "queued": 9, "depth": 32},
    }
    columns = {
        ("Physical Disk Per-Device-Per-World", f"naa.6-{world}", names[name]): [value] * 3
        for world, values in worlds.items()
        for name, value in values.items()
    }
    columns |= cells.disk("naa.6", iops=[1301] * 3, reads=[800] * 3)
    for group, world, vm in ((7, 70, "db"), (9, 90, "web"), (9, 91, "web")):
        columns["Vcpu", f"{group}:{vm}:{world}:vmx-vcpu-{world % 10}:{vm}", "% Used"] = [10] * 3
    *_, row = ex.open(cells.capture(tmp_path, columns))["device"].collect().to_dicts()
    expected = {
        "users": 2,
        "users_mib_per_s": 60,
        "top_mib_per_s": 40,
        "top_share_pct": 100 * 40 / 60,
        "top_iops": 300,
        "full_worlds": 1,
        "queued_worlds": 2,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [({"mib_read": 3}, 3), ({"mib_written": 5}, 5), ({"mib_read": 3, "mib_written": 5}, 8), ({"failed": 1}, None)],
)
def test_throughput_is_what_is_known_of_reads_and_writes(tmp_path, columns, expected):
    disk = cells.disk("naa.6", reads=[1, 2, 3], **{name: [value] * 3 for name, value in columns.items()})
    rows = ex.open(cells.capture(tmp_path, disk))["device"].collect()
    assert (of(rows, "naa.6", "mib_per_s")[1:] if "mib_per_s" in rows.columns else [None] * 2) == [expected] * 2


def test_a_group_without_worlds_has_as_many_vcpus_as_the_sum_of_its_states_needs(tmp_path):
    """Without vCPU worlds, a group's percentages tell how many vCPUs it has at least: 250 % of all states are 3."""
    states = {"% Run": [120, 100], "% Ready": [90, 40], "% CoStop": [40, 10], "% Used": [110, 90]}
    columns = {("Group Cpu", "7001:web-01", name): values for name, values in states.items()}
    rows = ex.open(cells.capture(tmp_path, columns))["vm"].collect()
    assert rows["vcpus"].to_list() == [3, 3]
    assert rows["ready_pct"].to_list() == pytest.approx([30, 40 / 3])


def test_the_clock_counts_every_step_back(tmp_path):
    columns = {("Memory", "", "Free MBytes"): [5.0] * 6}
    rec = ex.open(cells.capture(tmp_path, columns, seconds=(0, 10, 5, 15, 12, 20)))
    rows = clock(rec["memory"].collect()["time"].to_list())
    assert rows["steps_back"].to_list() == [2.0] * 6
    # The first has the usual step.
    assert rows["step_s"].to_list() == [8, 10, -5, 10, -3, 8]
