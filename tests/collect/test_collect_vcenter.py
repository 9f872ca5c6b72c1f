"""Counters, tasks, events and the inventory of a vCenter, collected from govmomi's simulator."""

from __future__ import annotations

import gzip
import json
import time

import polars as pl
import pytest

import esxparse as ex
from esxparse import collect
from esxparse.cli import main
from esxparse.collect import vcenter_counters, vsphere_session
from esxparse.collect.credentials import VSPHERE_PASSWORD
from esxparse.errors import EsxparseError
from esxparse.formats.events import read_events


@pytest.fixture
def vc(vcsim, monkeypatch):
    one = vcsim(hosts=1, clusters=1, cluster_hosts=2, vms=2)
    monkeypatch.setenv(VSPHERE_PASSWORD, one.password)
    monkeypatch.setenv("NETRC", str(one.folder / "netrc"))
    return one


def changed(vc, name, change):
    """Changes a VM, and waits for each task of the change."""
    vim, _ = vsphere_session.types()
    with vsphere_session.session(vc.server, **vc.login) as session:

        def run(content):
            for task in change(content.searchIndex.FindByInventoryPath(f"DC0/vm/{name}"), vim):
                while (state := task.info.state) in {"queued", "running"}:
                    time.sleep(0.01)
                assert state == "success"

        session.call("changing a VM", run)


def limit_and_snapshots(vm, vim):
    yield vm.ReconfigVM_Task(
        vim.vm.ConfigSpec(numCPUs=4, cpuAllocation=vim.ResourceAllocationInfo(limit=2000, reservation=500))
    )
    yield vm.CreateSnapshot_Task("before the update", "", False, False)
    yield vm.CreateSnapshot_Task("after the update", "", False, False)
    yield vm.PowerOffVM_Task()
    yield vm.PowerOnVM_Task()


def test_a_cluster_with_its_history_and_its_inventory(vc, tmp_path):
    changed(vc, "DC0_C0_RP0_VM1", limit_and_snapshots)
    gathered = collect.vcenter(vc.server, tmp_path / "c0", cluster="DC0_C0", **vc.login)
    rec = ex.open(tmp_path / "c0")
    assert (rec.format, gathered.failed) == ("vcenter_api", ())
    samples = rec["samples"].collect()
    assert set(samples["entity"]) == {
        "DC0_C0",
        "DC0_C0_H0",
        "DC0_C0_H1",
        "DC0_C0_RP0_VM0",
        "DC0_C0_RP0_VM1",
        "LocalDS_0",
    }
    assert samples.filter(pl.col("entity").str.contains("VM"))["interval_s"].unique().to_list() == [20.0]
    assert samples.filter(entity="DC0_C0")["interval_s"].unique().to_list() == [300.0]
    # The simulator answers newest first.
    one = samples.filter(entity="DC0_C0_RP0_VM1", counter="cpu.ready.summation", instance="")
    assert one["time"].is_sorted()
    assert one.height >= 179
    assert one["time"].is_unique().all()
    usage = samples.filter(entity="DC0_C0_RP0_VM1", counter="cpu.usage.average")["value"]
    assert 0 < usage.max() <= 100
    waits = rec["cpu_waits"].collect().filter(entity="DC0_C0_RP0_VM1", counter="cpu.ready.summation", instance="")
    assert waits["vcpus"].unique().to_list() == [4]
    assert waits["pct_per_vcpu"].to_list() == pytest.approx((waits["ms"] / 20 / 10 / 4).to_list())

    tasks = rec["tasks"].collect().filter(entity="DC0_C0_RP0_VM1")
    off = tasks.filter(task="Power Off virtual machine").row(0, named=True)
    assert (off["user"], off["state"], off["entity_id"][:17]) == (
        "vcsim",
        "success",
        "VirtualMachine-vm",
    )
    assert off["queued"] <= off["started"] <= off["completed"]
    events = rec["events"].collect()
    assert {"VmPoweredOffEvent", "VmPoweredOnEvent"} <= set(events.filter(entity="DC0_C0_RP0_VM1")["event"])
    assert "DC0_H0_VM0" not in set(events["entity"])
    steps = [one for one in read_events(str(tmp_path / "c0")).events if one.target == "DC0_C0_RP0_VM1"]
    assert [one.step for one in steps if one.end][-2:] == ["Power Off virtual machine", "Power On virtual machine"]

    vms = rec["inventory_vm"].collect()
    assert vms.height == 2
    vm = vms.filter(vm="DC0_C0_RP0_VM1").row(0, named=True)
    assert (vm["vcpus"], vm["cpu_limit_mhz"], vm["cpu_reservation_mhz"]) == (4, 2000, 500)
    assert vms.filter(vm="DC0_C0_RP0_VM0")["cpu_limit_mhz"].item() is None
    snapshots = rec["inventory_snapshot"].collect()
    assert snapshots["snapshot"].to_list() == ["before the update", "after the update"]
    assert snapshots["depth"].to_list() == [1, 2]
    assert vm["snapshots"] == 2
    assert vm["oldest_snapshot"] == snapshots["created"].min()
    assert rec["inventory_datastore"].collect()["datastore"].to_list() == ["LocalDS_0"]
    hosts = rec["inventory_host"].collect()
    assert hosts["host"].to_list() == ["DC0_C0_H0", "DC0_C0_H1"]
    assert hosts.filter(pl.col("release").str.starts_with("VMware ESXi ")).height == 2


@pytest.mark.search
def test_a_refused_or_cut_query_is_asked_in_smaller_parts_and_a_lost_session_renewed(vc, tmp_path):
    whole = collect.vcenter(vc.server, tmp_path / "whole", host="DC0_H0", **vc.login)
    queries = vc.calls()["QueryPerf"]
    for kind, operation in (("restricted", "QueryPerf"), ("cut", "QueryPerf"), ("expire", "ReadNextEvents")):
        vc.trouble(kind, operation)
        again = collect.vcenter(vc.server, tmp_path / f"{kind}-{operation}", host="DC0_H0", **vc.login)
        assert (again.series, again.failed) == (whole.series, ())
        assert again.events >= whole.events
    # Both halves of the refused batch, and the lost query once more.
    assert vc.calls()["QueryPerf"] == 4 * queries + 2 + 1


def test_what_cannot_be_read_is_noted_and_the_rest_is_there(vc, tmp_path, capsys):
    vc.trouble("restricted", "CreateCollectorForEvents", times=9)
    login = ["--server", vc.server, "--username", vc.user, "--thumbprint", vc.thumbprint]
    assert main(["collect", "vcenter", *login, "--host", "DC0_H0", "-o", str(tmp_path / "h0")]) == 1
    err = capsys.readouterr().err
    assert "not collected: events (reading events: an administrator has disabled this" in err
    vc.trouble("restricted", "QueryAvailablePerfMetric")
    collect.vcenter(vc.server, tmp_path / "h0-again", host="DC0_H0", **vc.login)
    rec, again = ex.open(tmp_path / "h0"), ex.open(tmp_path / "h0-again")
    for one, what in ((rec, "events"), (again, "counters of DC0_H0")):
        warnings = [note.message for note in one.notes if note.severity == "warning"]
        assert [text.partition(" (")[0] for text in warnings] == [f"not collected: {what}"]
    assert "events" not in rec
    assert set(rec["samples"].collect()["entity"]) == {"DC0_H0", "DC0_H0_VM0", "DC0_H0_VM1", "LocalDS_0"}
    assert "DC0_H0" not in set(again["samples"].collect()["entity"])
    files = [file.read_bytes() for file in (tmp_path / "h0").iterdir() if file.suffix != ".gz"]
    files.append(gzip.decompress((tmp_path / "h0" / "counters.jsonl.gz").read_bytes()))
    assert not any(vc.password in text for text in (err, *(content.decode() for content in files)))


def test_a_collection_that_fails_leaves_nothing(vc, tmp_path, monkeypatch):
    monkeypatch.setattr(vcenter_counters, "_PAUSES_S", (0.01,))

    def stop_at_counters(text):
        if text.startswith("reading the counters"):
            vc.stop()

    with pytest.raises(EsxparseError, match="connection refused"):
        collect.vcenter(vc.server, tmp_path / "gone", **vc.login, say=stop_at_counters)
    vc.restart()
    for part, message in (
        ({"vm": "DC0_C0_RP0_VM7"}, "no VM 'DC0_C0_RP0_VM7'; did you mean 'DC0_C0_RP0_VM"),
        ({"cluster": "DC0_C0", "host": "DC0_H0"}, "cannot be combined"),
        ({"last": "10s"}, "give a span from 1m to 366d"),
    ):
        with pytest.raises(EsxparseError, match=message):
            collect.vcenter(vc.server, tmp_path / "none", **vc.login, **part)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(EsxparseError, match="exists already"):
        collect.vcenter(vc.server, tmp_path / "full", **vc.login)
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["notes.txt"]


@pytest.mark.search
def test_a_longer_span_has_stored_values_beside_real_time_and_every_counter_keeps_unknown_ones(vc, tmp_path):
    gathered = collect.vcenter(vc.server, tmp_path / "vm", vm="DC0_H0_VM0", last="2d", every_counter=True, **vc.login)
    rec = ex.open(tmp_path / "vm")
    counters = rec["samples"].collect().filter(entity="DC0_H0_VM0")
    assert set(counters["interval_s"]) == {20.0, 1800.0}
    # The simulator lists a counter that its own catalogue does not have.
    assert any(name.startswith("counter ") for name in counters["counter"])
    usual = collect.vcenter(vc.server, tmp_path / "usual", vm="DC0_H0_VM0", last="2d", **vc.login)
    assert gathered.series > 2 * usual.series
    log = [json.loads(line) for line in (tmp_path / "vm" / "collected.jsonl").read_text().splitlines()]
    assert (log[0]["collector"], log[0]["every_counter"]) == ("esxparse collect vcenter", True)
