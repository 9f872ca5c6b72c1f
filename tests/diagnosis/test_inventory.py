"""What a vCenter knows of VMs, as evidence of findings about them."""

from __future__ import annotations

import gzip
import json

import pytest

import esxparse as ex
from esxparse.cli import main

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
LIMITED = {"vm": "report-batch", "vm_id": "vm-4", "vcpus": 2, "memory_mib": 8192, "cpu_limit_mhz": 2000}
PROXY = {"vm": "backup-proxy", "vm_id": "vm-6", "vcpus": 2, "memory_mib": 8192, "snapshots": 3}


@pytest.fixture
def collected(tmp_path):
    """A collection of the busy host's vCenter."""
    times = ("2026-03-01T22:00:00Z", "2026-03-10T22:00:00Z", "2026-03-12T22:00:00Z")
    snapshots = [{"vm": "backup-proxy", "vm_id": "vm-6", "created": time} for time in times]
    rows = {"inventory_vm": [LIMITED, PROXY], "inventory_snapshot": snapshots}
    tasks = [
        {
            "name": "Create virtual machine snapshot",
            "startTime": f"2026-03-{day}T09:05:01Z",
            "completeTime": f"2026-03-{day}T09:05:04Z",
        }
        | {"entityName": "backup-proxy", "entity": {"type": "VirtualMachine", "value": "vm-6"}}
        | {"reason": {"userName": "LAB\\backup"}}
        for day in (10, 11)
    ]
    value = {"name": "cpu.ready.summation", "unit": "millisecond", "instance": "", "value": [400]}
    sample = {"entity": {"type": "VirtualMachine", "value": "vm-6", "name": "backup-proxy"}, "value": [value]}
    sample["sampleInfo"] = [{"timestamp": "2026-03-11T09:05:00Z", "interval": 20}]
    folder = tmp_path / "vc"
    folder.mkdir()
    (folder / "counters.jsonl.gz").write_bytes(gzip.compress(json.dumps(sample).encode()))
    (folder / "inventory.json").write_text(json.dumps(rows))
    (folder / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    (folder / "collected.jsonl").write_text('{"collector": "esxparse collect vcenter"}\n')
    return folder


def test_snapshots_limits_and_tasks_are_evidence_beside_the_case_s_own(collected):
    rec = ex.open(BUSY)
    plain, found = ex.diagnose(rec), ex.diagnose(rec, inventory=collected)
    assert [(one.trouble, one.confidence) for one in plain] == [(one.trouble, one.confidence) for one in found]
    more = {one.trouble: one.evidence[len(two.evidence) :] for one, two in zip(found, plain, strict=True)}
    assert more["storage.noisy_neighbour"] == (
        # The third snapshot is younger than the capture; of the tasks, one was on the day before.
        "backup-proxy has 2 snapshots, the oldest of 2026-03-01 22:00 UTC",
        "task of the vCenter: Create virtual machine snapshot (backup-proxy), 09:05:01 to 09:05:04 UTC, by LAB\\backup",
    )
    assert more["cpu.limit"] == ("report-batch has a CPU limit of 2,000 MHz",)
    assert more["memory.limit"] == ()


def test_two_vms_of_one_name_are_no_evidence(collected):
    rows = json.loads((collected / "inventory.json").read_text())
    rows["inventory_vm"].append({**LIMITED, "vm_id": "vm-5", "cpu_limit_mhz": 500})
    (collected / "inventory.json").write_text(json.dumps(rows))
    limited = next(one for one in ex.diagnose(BUSY, inventory=collected) if one.trouble == "cpu.limit")
    assert not any("CPU limit of" in text for text in limited.evidence)


def test_the_command_takes_the_directory_and_refuses_another(collected, capsys):
    assert main(["diagnose", str(BUSY), "--inventory", str(collected)]) == 0
    assert "+ backup-proxy has 2 snapshots" in capsys.readouterr().out
    assert main(["diagnose", str(BUSY), "--inventory", str(BUSY)]) == 1
    assert "has no inventory of VMs: give a directory of `esxparse collect vcenter`" in capsys.readouterr().err
