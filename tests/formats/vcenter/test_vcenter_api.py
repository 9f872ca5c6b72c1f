"""Counters of the API: units, vCPUs and order, whatever their writer; and directories of `esxparse collect vcenter`."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pytest

import esxparse as ex

SAMPLE = ex.datasets_dir() / "formats" / "vcenter_api-govc.json"


def member(vm, name, values, unit="millisecond", instance="", counter="cpu.ready.summation"):
    stamps = ("2026-11-24T07:33:40Z", "2026-11-24T07:34:00Z", "2026-11-24T07:34:20Z")
    return {
        "entity": {"type": "VirtualMachine", "value": vm, "name": name},
        "sampleInfo": [{"timestamp": stamp, "interval": 20} for stamp in stamps],
        "value": [{"name": counter, "unit": unit, "instance": instance, "value": values}],
    }


@pytest.fixture
def collected(tmp_path):
    """A collection of one VM with four vCPUs and a limit."""
    members = [member("vm-52", "web-01", [400, 1600, 800]), member("vm-53", "db-01", [100, 100, 100])]
    lines = "".join(json.dumps(one) + "\n" for one in members)
    (tmp_path / "counters.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    vm = {
        "vm": "web-01",
        "vm_id": "vm-52",
        "vcpus": 4,
        "cpu_limit_mhz": 2000,
        "oldest_snapshot": "2026-10-02T09:00:00Z",
    }
    rows = {"inventory_vm": [vm, {"vm": "db-01", "vm_id": "vm-53", "vcpus": "many", "memory_mib": 4096.0}]}
    (tmp_path / "inventory.json").write_text(json.dumps(rows))
    task = {"name": "Power On virtual machine", "entityName": "web-01", "queueTime": "2026-11-24T07:33:41Z"}
    (tmp_path / "tasks.json").write_text(json.dumps({"tasks": [task]}))
    first = {"collector": "esxparse collect vcenter", "server": "vc.lab", "release": "VMware vCenter Server 8.0.3"}
    failed = {"failed": {"what": "events", "why": "the account lacks a privilege"}}
    (tmp_path / "collected.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(failed)}\n")
    return tmp_path


def test_values_of_govc_are_percent_of_a_vcpu_in_order_of_time():
    rec = ex.open(SAMPLE)
    waits = rec["cpu_waits"].collect().filter(entity_id="VirtualMachine-vm-52", instance="")
    # 1,204 ms of 20 s are 6.02 % of one vCPU, or 3.01 % of two: the instances add up.
    assert waits.row(-1, named=True)["pct"] == pytest.approx(6.02)
    assert waits.row(-1, named=True)["pct_per_vcpu"] == pytest.approx(3.01)
    assert waits["time"].is_sorted()
    samples = rec["samples"].collect()
    usage = samples.filter(entity_id="VirtualMachine-vm-52", counter="cpu.usage.average")
    assert usage["value"].to_list() == [20.75, 22.16, 21.9, 22.08, 31.25, 61.2]
    # The list of counters does not have it.
    assert samples.filter(counter="rescpu.custom.latest").height == 6
    # Four values for six times: those of the first four, which are the latest.
    net = samples.filter(counter="net.usage.average")
    assert (net.height, net["time"].max()) == (4, datetime(2026, 11, 24, 7, 35, 20, tzinfo=UTC))


def test_a_collection_has_vcpus_of_its_inventory_and_notes_what_failed(collected):
    rec = ex.open(collected)
    assert rec.meta["server"] == "vc.lab"
    waits = rec["cpu_waits"].collect()
    assert waits.filter(entity="web-01")["pct_per_vcpu"].to_list() == [0.5, 2.0, 1.0]
    assert waits.filter(entity="db-01")["vcpus"].null_count() == 3
    vms = rec["inventory_vm"].collect()
    assert vms["vcpus"].to_list() == [4, None]
    assert vms["memory_mib"].to_list() == [None, 4096]
    assert vms["oldest_snapshot"][0] == datetime(2026, 10, 2, 9, tzinfo=UTC)
    task = rec["tasks"].collect().row(0, named=True)
    assert (task["time"], task["started"], task["completed"]) == (task["queued"], None, None)
    texts = [note.message for note in rec.notes if note.severity == "warning"]
    assert texts == ["not collected: events (the account lacks a privilege)"]
    later = ex.open(collected, start="2026-11-24T07:34:00")
    assert later["samples"].collect()["time"].min() == datetime(2026, 11, 24, 7, 34, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("inventory.json", b"{", "inventory.json is damaged"),
        ("inventory.json", None, "inventory.json is missing"),
        ("tasks.json", b'{"tasks": [{"name": "x"}]}', "neither a task nor an event with a time"),
    ],
)
def test_a_damaged_file_of_a_collection_is_noted(collected, name, content, message):
    (collected / name).unlink()
    if content is not None:
        (collected / name).write_bytes(content)
    rec = ex.open(collected)
    assert any(message in note.message for note in rec.notes if note.severity == "warning")
    assert rec["samples"].collect().height == 6


def test_a_collection_without_counters_still_has_its_history(collected):
    (collected / "counters.jsonl.gz").unlink()
    rec = ex.open(collected)
    assert set(rec) == {"tasks", "inventory_vm"}
    assert "counters.jsonl.gz is missing: collect again" in rec.notes[-1].message
    (collected / "tasks.json").unlink()
    (collected / "inventory.json").write_text("[]")
    with pytest.raises(ex.EsxparseError, match="nothing in it can be read"):
        ex.open(collected)


@pytest.mark.parametrize(
    "edit",
    [
        {"value": [{"name": "cpu.usage.average", "unit": "percent", "instance": "", "value": [10**400]}]},
        {"sampleInfo": [{"timestamp": "0001-01-01T00:00:00+23:59", "interval": 20}]},
        {"value": {"name": "cpu.usage.average"}},
    ],
)
def test_a_member_that_no_table_can_hold_is_left_out_with_a_warning(collected, edit):
    lines = [member("vm-52", "web-01", [400, 1600, 800]), {**member("vm-53", "db-01", [100]), **edit}]
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (collected / "counters.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    rec = ex.open(collected)
    assert rec["samples"].collect()["entity"].unique().to_list() == ["web-01"]
    assert any("left out" in note.message for note in rec.notes if note.severity == "warning")
