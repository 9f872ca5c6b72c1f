"""The metrics on the bundled capture, against the same numbers taken from the raw text by the csv module."""

from __future__ import annotations

import csv
import math
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import pytest

import esxparse as ex
from esxparse.metrics import host_cpu, inventory, memory, network, power, ranking, scheduling, storage

if TYPE_CHECKING:
    from pathlib import Path


@cache
def capture() -> Path:
    return ex.datasets_dir() / "busy-host" / "busy-host.csv"


@cache
def recording() -> ex.Recording:
    return ex.open(capture())


@cache
def raw() -> dict[str, list[float]]:
    """Every column whose cells are all numbers, by its path without the host."""
    with capture().open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    columns: dict[str, list[float]] = {}
    for index, cell in enumerate(header[1:], start=1):
        try:
            columns[cell.split("\\", 3)[3]] = [float(row[index]) for row in rows]
        except (ValueError, IndexError):
            continue
    return columns


def test_vms_and_vcpus_as_the_header_has_them() -> None:
    counted: dict[str, int] = {}
    for path in raw():
        if path.startswith("Vcpu(") and path.endswith("\\% Ready") and ":vmx-vcpu-" in path:
            group = path.removeprefix("Vcpu(").split(":", 1)[0]
            counted[group] = counted.get(group, 0) + 1
    vms = inventory.vms(recording()["vcpu"]).collect()
    assert {str(group): count for group, _, count in vms.rows()} == counted
    assert sorted(vms["vm"]) == sorted(recording().meta["vms"])


def test_every_world_has_a_kind_and_all_vcpus_are_found() -> None:
    vcpu = recording()["vcpu"]
    kinds = vcpu.select("world_id", inventory.world_kind()).unique().collect()
    counts = dict(kinds.group_by("kind").len().rows())
    assert set(counts) == set(inventory.KINDS)
    assert counts["vcpu"] == inventory.vms(vcpu).collect()["vcpus"].sum()
    assert counts["idle"] == recording().meta["pcpus"]


def test_contention_per_vcpu() -> None:
    vms = inventory.vms(recording()["vcpu"])
    top = ranking.top(
        scheduling.per_vcpu(recording()["group_cpu"], vms), ["group_id", "vm"], "contention_pct", n=100, order="mean"
    ).collect()
    vcpus = {group: count for group, _, count in vms.collect().rows()}
    assert top.height == len(vcpus)
    for row in top.iter_rows(named=True):
        group = f"Group Cpu({row['group_id']}:{row['vm']})"
        values = [
            max(ready / vcpus[row["group_id"]] - limited / vcpus[row["group_id"]], 0.0)
            for ready, limited in zip(raw()[f"{group}\\% Ready"], raw()[f"{group}\\% Max Limited"], strict=True)
        ]
        assert row["mean"] == pytest.approx(math.fsum(values) / len(values), abs=1e-9)
        assert row["max"] == pytest.approx(max(values), abs=1e-9)


def test_latency_weighted_by_commands() -> None:
    summary = storage.summary(storage.latency(recording()["physical_disk_scsi_device"])).collect()
    assert summary.height > 0
    for row in summary.iter_rows(named=True):
        device = f"Physical Disk SCSI Device({row['device']})"
        commands = raw()[f"{device}\\Commands/sec"]
        for column, counter in (
            ("gavg_ms", "Guest"),
            ("davg_ms", "Driver"),
            ("kavg_ms", "Kernel"),
            ("qavg_ms", "Queue"),
        ):
            ms = raw()[f"{device}\\Average {counter} MilliSec/Command"]
            wanted = math.fsum(a * b for a, b in zip(commands, ms, strict=True)) / math.fsum(commands)
            assert row[column] == pytest.approx(wanted, rel=1e-9)
        assert row["gavg_ms"] == pytest.approx(row["davg_ms"] + row["kavg_ms"], abs=0.02)  # two decimals each


def test_drops_weighted_by_packets() -> None:
    summary = network.summary(network.ports(recording()["network_port"])).collect()
    assert set(summary["kind"]) == {"uplink", "vm", "vmkernel", "other"}
    for row in summary.filter(pl.col("kind") != "vm").iter_rows(named=True):
        port = f"Network Port({row['switch']}:{row['port_id']}:{row['client']})"
        passed = raw()[f"{port}\\Packets Received/sec"]
        share = raw()[f"{port}\\% Received Packets Dropped"]
        dropped = [count * pct / (100 - pct) for count, pct in zip(passed, share, strict=True)]
        if sum(passed) + sum(dropped) > 0:
            wanted = 100 * sum(dropped) / (sum(passed) + sum(dropped))
            assert row["drop_rx_pct"] == pytest.approx(wanted, abs=1e-9)
        else:
            assert row["drop_rx_pct"] is None


def test_the_total_of_the_pcpus_is_their_mean() -> None:
    pcpus = host_cpu.pcpu(recording()["physical_cpu"]).collect()
    total = pcpus.filter(pl.col("pcpu").is_null())["util_pct"]
    means = host_cpu.imbalance(pcpus.lazy()).collect()["mean_pct"]
    assert total.to_list() == pytest.approx(means.to_list(), abs=0.02)


def test_one_row_a_sample_for_the_host_and_one_a_vm_for_memory() -> None:
    rec = recording()
    samples = rec.meta["samples"]
    host = memory.host(rec["memory"], rec.meta["release"]).collect()
    assert host.height == samples
    assert host["machine_mib"].to_list() == raw()["Memory\\Machine MBytes"]
    vms = inventory.vms(rec["vcpu"])
    assert memory.vms(rec["group_memory"], vms).collect().height == samples * len(rec.meta["vms"])
    assert power.host(rec["power"]).collect()["watts"].to_list() == raw()["Power\\Power Usage Now Watts"]


def test_disks_add_up_to_their_vms() -> None:
    table = recording()["virtual_disk"]
    disks = storage.virtual_disks(table).select(pl.col("commands_per_sec").sum()).collect().item()
    rollups = table.filter(pl.col("disk").is_null()).select(pl.col("commands_per_sec").sum()).collect().item()
    assert disks == pytest.approx(rollups, rel=1e-3)
